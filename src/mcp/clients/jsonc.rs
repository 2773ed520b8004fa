//! JSON with comments, changed in place: what is not changed stays as it was, byte for byte, with its
//! comments, spaces and order.

use serde_json::Value;

/// So deep may values be nested.
const DEPTH: usize = 64;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(crate) struct Unread {
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) problem: String,
}

/// A value, and where it is.
#[derive(Debug)]
struct Spanned {
    begin: usize,
    end: usize,
    value: Value,
    /// Of an object: its members.
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    name: String,
    value: Spanned,
    begin: usize,
}

/// The value of a text.
///
/// # Errors
/// It is no JSON with comments.
pub(crate) fn value(text: &str) -> Result<Value, Unread> {
    Ok(Reader::whole(text)?.value)
}

/// The text in which the member at `path` has this value: it takes the place of the one that is there,
/// or is put after the others. Objects that are missing on the way are made.
///
/// # Errors
/// The text is no JSON with comments, or something on the way is no object.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Unread> {
    let root = Reader::whole(text)?;
    let mut at = &root;
    for (depth, name) in path.iter().enumerate() {
        if !at.value.is_object() {
            return Err(unread(text, at.begin, "expected an object"));
        }
        let Some(member) = at.members.iter().find(|member| member.name == *name) else {
            let missing = path[depth + 1..].iter().rev();
            let value = missing.fold(value.clone(), |value, name| {
                Value::Object([((*name).to_owned(), value)].into_iter().collect())
            });
            return Ok(added(text, at, (name, &value)));
        };
        at = &member.value;
    }
    let indent = indent_of(text, at.begin);
    Ok(format!("{}{}{}", &text[..at.begin], printed(text, value, indent), &text[at.end..]))
}

/// The text with one more member in an object.
fn added(text: &str, object: &Spanned, (name, value): (&str, &Value)) -> String {
    let end_of_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let outer = indent_of(text, object.begin);
    let first = object.members.first().map(|member| member.begin);
    let own_line =
        first.filter(|first| text[..*first].trim_end_matches([' ', '\t']).ends_with('\n'));
    let indent =
        own_line.map_or_else(|| format!("{outer}  "), |first| indent_of(text, first).to_owned());
    let member = format!("{}: {}", Value::from(name), printed(text, value, &indent));
    let closing = object.end - 1;
    // After the last value there may be a comma, and comments before and after it.
    let last = object.members.last().map_or(object.begin + 1, |member| member.value.end);
    let has_comma = object.members.is_empty() || Reader { text, at: last }.comma_follows();
    let comma = if has_comma { "" } else { "," };
    let between = text[last..closing].trim_end();
    let trailing = if has_comma && !object.members.is_empty() { "," } else { "" };
    format!(
        "{}{comma}{between}{end_of_line}{indent}{member}{trailing}{end_of_line}{outer}{}",
        &text[..last],
        &text[closing..],
    )
}

/// A value as it stands in a text, after the indent of its line.
fn printed(text: &str, value: &Value, indent: &str) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
    let end_of_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    pretty.replace('\n', &format!("{end_of_line}{indent}"))
}

/// The spaces at the beginning of the line of a place.
fn indent_of(text: &str, at: usize) -> &str {
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[begin..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn unread(text: &str, at: usize, problem: impl Into<String>) -> Unread {
    let before = text.as_bytes().iter().take(at);
    let line = before.filter(|byte| **byte == b'\n').count() + 1;
    Unread { line, problem: problem.into() }
}

/// Reads a text from a place on.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn whole(text: &'t str) -> Result<Spanned, Unread> {
        let mut reader = Self { text, at: 0 };
        if text.starts_with('\u{feff}') {
            reader.at = '\u{feff}'.len_utf8();
        }
        let root = reader.value(0)?;
        reader.skip()?;
        match reader.rest().is_empty() {
            true => Ok(root),
            false => Err(reader.fails("expected the end")),
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn fails(&self, problem: impl Into<String>) -> Unread {
        unread(self.text, self.at, problem)
    }

    /// Skips spaces and comments.
    fn skip(&mut self) -> Result<(), Unread> {
        loop {
            let rest = self.rest();
            let spaces = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += spaces;
            let rest = self.rest();
            let end = if rest.starts_with("//") {
                Some(rest.find('\n').unwrap_or(rest.len()))
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(|| self.fails("a comment has no end"))?;
                Some(end + 4)
            } else {
                None
            };
            let Some(end) = end else { return Ok(()) };
            self.at += end;
        }
    }

    fn comma_follows(mut self) -> bool {
        self.skip().is_ok() && self.rest().starts_with(',')
    }

    fn value(&mut self, depth: usize) -> Result<Spanned, Unread> {
        self.skip()?;
        if depth == DEPTH {
            return Err(self.fails("the values are nested too deeply"));
        }
        let begin = self.at;
        let (value, members) = match self.rest().as_bytes().first() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => (self.array(depth)?, Vec::new()),
            _ => (self.plain()?, Vec::new()),
        };
        Ok(Spanned { begin, end: self.at, value, members })
    }

    fn object(&mut self, depth: usize) -> Result<(Value, Vec<Member>), Unread> {
        let mut members: Vec<Member> = Vec::new();
        self.list('}', |reader| {
            let begin = reader.at;
            let Value::String(name) = reader.plain()? else {
                return Err(unread(reader.text, begin, "expected a name between quotation marks"));
            };
            // Programs disagree on which of the two is meant.
            if members.iter().any(|member| member.name == name) {
                return Err(unread(
                    reader.text,
                    begin,
                    "the object has two members with this name",
                ));
            }
            reader.skip()?;
            reader.expect(':')?;
            let value = reader.value(depth + 1)?;
            members.push(Member { name, value, begin });
            Ok(())
        })?;
        let plain = members.iter().map(|one| (one.name.clone(), one.value.value.clone()));
        Ok((Value::Object(plain.collect()), members))
    }

    fn array(&mut self, depth: usize) -> Result<Value, Unread> {
        let mut values = Vec::new();
        self.list(']', |reader| {
            values.push(reader.value(depth + 1)?.value);
            Ok(())
        })?;
        Ok(Value::Array(values))
    }

    /// What is between two brackets, separated by commas; one may follow the last.
    fn list(
        &mut self,
        closing: char,
        mut one: impl FnMut(&mut Self) -> Result<(), Unread>,
    ) -> Result<(), Unread> {
        self.at += 1;
        loop {
            self.skip()?;
            if self.rest().starts_with(closing) {
                self.at += 1;
                return Ok(());
            }
            one(self)?;
            self.skip()?;
            if !self.rest().starts_with(closing) {
                self.expect(',')?;
            }
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), Unread> {
        if !self.rest().starts_with(wanted) {
            return Err(self.fails(format!("expected `{wanted}`")));
        }
        self.at += wanted.len_utf8();
        Ok(())
    }

    /// A text, a number, or a word of JSON.
    fn plain(&mut self) -> Result<Value, Unread> {
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<Value>();
        let read = match self.rest().as_bytes().first() {
            Some(b'{' | b'[') | None => None,
            Some(_) => values.next(),
        };
        let length = values.byte_offset();
        match read {
            Some(Ok(value)) => {
                self.at += length;
                Ok(value)
            }
            _ => Err(self.fails("expected a value of JSON")),
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
        {"t": [1, 2,], "s": {"b": {}, /* last */
          "a": {
            "x": 1
          },
        }}
        "#);
        assert_eq!(with("\u{feff}{\r\n\t\"t\": 1\r\n}\r\n").matches('\n').count(), 8);
        assert!(!with("{\r\n}").replace("\r\n", "").contains('\n'));
    }

    #[test]
    fn a_value_takes_the_place_of_another() {
        let text = "{\"s\": {\"a\": [1], \"b\": 2}}";
        assert_eq!(with(text), "{\"s\": {\"a\": {\n  \"x\": 1\n}, \"b\": 2}}");
    }

    #[test]
    fn what_is_no_json_or_no_object_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("{\n", 2),
            ("{\"s\"\n\n 1}", 3),
            ("{\"s\": {},\n \"s\": {}}", 2),
            ("{}\n{}", 2),
            ("[]", 1),
            ("{\n\"s\": [] }", 2),
            ("{/*", 1),
            ("{'s': 1}", 1),
            ("{\"s\": 01}", 1),
            ("{\"s\": nan}", 1),
            ("{\"s\": \"\n\"}", 1),
            ("{,}", 1),
        ] {
            assert_eq!(
                set(text, &["s", "a"], &json!(1)).map_err(|why| why.line),
                Err(line),
                "{text}"
            );
        }
        assert!(value(&"[".repeat(100_000)).is_err());
    }
}
