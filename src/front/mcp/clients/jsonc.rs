//! Edits JSON with comments in place: unchanged values keep their spelling, comments and order.

use std::collections::HashSet;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

const BOM: char = '\u{feff}';

/// The fault of a text, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unread {
    /// The text is not JSON with comments.
    #[error("line {line}: {problem}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The fault.
        problem: String,
    },
    /// An object has two members with this name, and programs disagree on which one is valid.
    #[error("an object has two members with the name `{0}`")]
    Twice(String),
    /// A value that needs members is not an object.
    #[error("`{0}` is not an object")]
    NoObject(String),
}

/// Parses a text.
///
/// # Errors
/// The text is not JSON with comments.
pub(crate) fn value(text: &str) -> Result<Value, Unread> {
    Ok(read(text)?.to_serde_value().unwrap_or_default())
}

/// Returns the text in which the member at `path` has this value: it replaces the existing one, or
/// is appended to the others. Missing objects on the way are made.
///
/// # Errors
/// The text is not JSON with comments, or a value on the way is not an object.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Unread> {
    let root = read(text)?;
    let no_object = |name: &str| Unread::NoObject(name.to_owned());
    let whole = || Unread::Syntax { line: 1, problem: "expected an object".to_owned() };
    let mut object = root.object_value().ok_or_else(whole)?;
    let Some((last, parents)) = path.split_last() else { return Ok(text.to_owned()) };
    for name in parents {
        object = object.object_value_or_create(name).ok_or_else(|| no_object(name))?;
    }
    match object.get(last) {
        Some(member) => member.set_value(input(value)),
        None => drop(object.append(last, input(value))),
    }
    let bom = if text.starts_with(BOM) { "\u{feff}" } else { "" };
    Ok(format!("{bom}{root}"))
}

fn read(text: &str) -> Result<CstRootNode, Unread> {
    // Editors with comments in their settings also accept commas after the last value.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let read = CstRootNode::parse(text.strip_prefix(BOM).unwrap_or(text), &options);
    let root = read.map_err(|why| Unread::Syntax {
        line: why.line_display(),
        problem: why.kind().to_string(),
    })?;
    let Some(whole) = root.value() else {
        return Err(Unread::Syntax { line: 1, problem: "a value is missing".to_owned() });
    };
    check_names(&whole)?;
    Ok(root)
}

/// Refuses objects with two members of the same name.
fn check_names(node: &CstNode) -> Result<(), Unread> {
    let mut names = HashSet::new();
    let members = node.as_object().iter().flat_map(CstObject::properties).collect::<Vec<_>>();
    for name in members.iter().filter_map(CstObjectProp::decoded_name) {
        if let Some(twice) = names.replace(name) {
            return Err(Unread::Twice(twice));
        }
    }
    node.children().iter().try_for_each(check_names)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| (name.clone(), input(value));
            CstInputValue::Object(members.iter().map(member).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(text: &str) -> String {
        let set = set(text, &["s", "a"], &json!({"x": 1})).unwrap();
        let mut wanted = value(text).unwrap();
        wanted["s"]["a"] = json!({"x": 1});
        assert_eq!(value(&set).unwrap(), wanted, "{set}");
        set
    }

    #[test]
    fn a_member_is_added_and_all_else_stays() {
        insta::assert_snapshot!(with("{}"), @r#"
        {
          "s": {
            "a": {
              "x": 1
            }
          }
        }
        "#);
        insta::assert_snapshot!(with("// mine\n{\n    // one\n    \"s\": {\n        \"b\": 2 // two\n    } /* three */,\n}\n"), @r#"
        // mine
        {
            // one
            "s": {
                "b": 2, // two
                "a": {
                    "x": 1
                }
            } /* three */,
        }
        "#);
        insta::assert_snapshot!(with("{\"t\": [1, 2,], \"s\": {\"b\": {}, /* last */ }}"), @r#"
        {"t": [1, 2,], "s": {
            "b": {},
            "a": {
              "x": 1,
            },
            /* last */
          }}
        "#);
        assert_eq!(with("\u{feff}{\r\n\t\"t\": 1\r\n}\r\n").matches('\n').count(), 8);
        assert!(!with("{\r\n}").replace("\r\n", "").contains('\n'));
    }

    #[test]
    fn a_value_takes_the_place_of_another() {
        let text = "{\"s\": {\"a\": [1], \"b\": 2}}";
        assert_eq!(with(text), "{\"s\": {\"a\": {\n      \"x\": 1\n    }, \"b\": 2}}");
    }

    #[test]
    fn set_refuses_text_that_is_not_a_json_object() {
        let refused = |text: &str| set(text, &["s", "a"], &json!(1)).unwrap_err().to_string();
        let texts = [
            "",
            "{\n",
            "{\"s\"\n\n 1}",
            "{\"s\": {},\n \"s\": {}}",
            "{}\n{}",
            "[]",
            "{\n\"s\": [] }",
            "{/*",
            "{'s': 1}",
            "{s: 1}",
            "{\"s\": 01}",
            "{\"s\": nan}",
            "{\"s\": \"\n\"}",
            "{,}",
            "{\"t\": [{\"\\u0061\": 1, \"a\": 2}]}",
        ];
        let all: Vec<String> = texts.into_iter().map(refused).collect();
        insta::assert_snapshot!(all.join("\n"), @"
        line 1: a value is missing
        line 1: Unterminated object
        line 3: Expected colon after the string or word in object property
        an object has two members with the name `s`
        line 2: Text cannot contain more than one JSON value
        line 1: expected an object
        `s` is not an object
        line 1: Unterminated comment block
        line 1: Single-quoted strings are not allowed
        line 1: Expected string for object property
        line 1: Expected comma
        line 1: Unexpected token
        `s` is not an object
        line 1: Unexpected token in object
        an object has two members with the name `a`
        ");
        assert!(value(&"[".repeat(100_000)).is_err());
    }
}
