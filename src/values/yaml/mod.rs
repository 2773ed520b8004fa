//! YAML from any writer, read into a tree with limits and positions.
//!
//! One reader serves frontmatter, histories, logs, packs and configuration. It builds [`Node`]s
//! from parser events. Every refusal names a line and a column, and every value has the span of its
//! bytes, which in-place edits need. The cost of an input is bounded by its size: nesting and the
//! number of values are limited, duplicate keys are refused, and aliases are refused or expanded
//! within a budget. Scalars stay text, which the caller interprets.
//!
//! `edit` changes a value in place. `emit` is the only writer: it has a fixed spelling for each
//! value, so that no upgrade of a library changes a byte of a vault. `exact` reads that spelling.
//! Rules: `spec/yaml.md`.

pub(crate) mod edit;
pub(crate) mod emit;
pub(crate) mod exact;
mod tree;

use std::ops::Range;

/// Maximum nesting of collections.
pub const MAX_DEPTH: usize = 32;

/// Maximum number of bytes that expanded aliases may add to one document.
pub const MAX_ALIAS_BYTES: usize = 64 * 1024;

/// Maximum number of values in memory at once: a value can be two bytes of text, but needs a
/// hundred bytes of memory.
pub const MAX_NODES: usize = 1 << 20;

/// The features that a reader accepts beyond plain collections and scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Files whose format `ctx` defines: no anchors, aliases, tags, directives or merge keys.
    Format,
    /// Frontmatter written by people and other programs: aliases within a budget, tags ignored.
    Frontmatter,
}

/// A value and the bytes that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Bytes of the value in the source text, without tag, anchor or block-scalar header.
    pub span: Range<usize>,
    /// Line of the value's first byte, from 1.
    pub line: usize,
    /// Column of the value's first byte, from 1, in characters.
    pub column: usize,
    /// True if the node has an anchor, alias or tag, so that its bytes are not the value.
    pub decorated: bool,
}

/// A YAML value; scalars stay text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A scalar, and whether it was written without quotes.
    Scalar {
        /// The text after unescaping and folding.
        text: String,
        /// True if written plain, so that `3`, `true` or `null` have a type.
        plain: bool,
    },
    /// A sequence.
    Sequence {
        /// The items in order.
        items: Vec<Node>,
        /// True if written in `[...]` form.
        flow: bool,
    },
    /// A mapping with scalar keys, in source order, without duplicate keys.
    Mapping {
        /// Keys and values in order.
        entries: Vec<(Node, Node)>,
        /// True if written in `{...}` form.
        flow: bool,
    },
}

/// A place where a text is not YAML within the accepted features and limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct Error {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// Description of the problem.
    pub problem: String,
}

impl Node {
    /// Returns the text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns true if this is an absent value: `~`, `null` or an empty text.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, plain: true }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Returns a plain decimal number without sign or leading zero.
    pub fn number(&self) -> Option<u64> {
        match &self.value {
            Value::Scalar { text, plain: true } => canonical_number(text),
            _ => None,
        }
    }

    /// Returns a plain `true` or `false`.
    pub fn boolean(&self) -> Option<bool> {
        match &self.value {
            Value::Scalar { text, plain: true } => match text.as_str() {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the entries of a mapping.
    pub fn entries(&self) -> Option<&[(Self, Self)]> {
        match &self.value {
            Value::Mapping { entries, .. } => Some(entries),
            _ => None,
        }
    }

    /// Returns the items of a sequence.
    pub fn items(&self) -> Option<&[Self]> {
        match &self.value {
            Value::Sequence { items, .. } => Some(items),
            _ => None,
        }
    }

    /// Returns the value under a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()?.iter().find(|(k, _)| k.text() == Some(key)).map(|(_, v)| v)
    }

    /// Returns true if two nodes have the same value, in any spelling.
    pub fn same_value(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Scalar { text: a, plain: p }, Value::Scalar { text: b, plain: q }) => {
                a == b && p == q
            }
            (Value::Sequence { items: a, .. }, Value::Sequence { items: b, .. }) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same_value(y))
            }
            (Value::Mapping { entries: a, .. }, Value::Mapping { entries: b, .. }) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(x, y)| x.0.same_value(&y.0) && x.1.same_value(&y.1))
            }
            _ => false,
        }
    }

    /// Removes the position from the node and its parts: line and column become 0, and spans empty.
    pub(crate) fn forget_place(&mut self) {
        (self.span, self.line, self.column) = (0..0, 0, 0);
        match &mut self.value {
            Value::Scalar { .. } => {}
            Value::Sequence { items, .. } => items.iter_mut().for_each(Self::forget_place),
            Value::Mapping { entries, .. } => {
                for (key, value) in entries {
                    key.forget_place();
                    value.forget_place();
                }
            }
        }
    }

    /// Makes an error at this node.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error { line: self.line, column: self.column, problem: problem.into() }
    }

    fn weight(&self) -> usize {
        16 + match &self.value {
            Value::Scalar { text, .. } => text.len(),
            Value::Sequence { items, .. } => items.iter().map(Self::weight).sum(),
            Value::Mapping { entries, .. } => {
                entries.iter().map(|(k, v)| k.weight() + v.weight()).sum()
            }
        }
    }
}

/// Parses a decimal number that has exactly one spelling.
pub(crate) fn canonical_number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let leading_zero = text.len() > 1 && text.starts_with('0');
    if digits && !leading_zero { text.parse().ok() } else { None }
}

/// A list in the mapping at the root that may be long: each item is passed on when it is read, and
/// not kept.
pub(crate) struct List<'l> {
    /// Key of the list.
    pub(crate) key: &'static str,
    /// Maximum number of values in one item.
    pub(crate) nodes: usize,
    /// Callback that receives an item, or returns an error that refuses the whole text.
    pub(crate) take: &'l mut dyn FnMut(Node) -> Result<(), Error>,
}

/// Parses one YAML document; an empty text is a null scalar.
///
/// # Errors
/// The first place where the text is not YAML, or exceeds `dialect` or the limits of this module.
pub fn parse(text: &str, dialect: Dialect) -> Result<Node, Error> {
    tree::build(text, dialect, None)
}

/// Parses one YAML document and passes on the items of a list one by one; the list of the result is
/// empty. The text may be refused after an item was passed on.
///
/// # Errors
/// The errors of [`parse`], and those that `list` returns.
pub(crate) fn parse_list(text: &str, dialect: Dialect, list: List<'_>) -> Result<Node, Error> {
    tree::build(text, dialect, Some(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str, dialect: Dialect) -> String {
        parse(text, dialect).map(|n| format!("{n:?}")).unwrap_err().to_string()
    }

    #[test]
    fn spans_are_the_bytes_of_the_values() {
        let text = "é: 'x y'\nlist: [1, {a: b}]\nblock:\n  - one\n  - two\nlast: |\n  text\n";
        let root = parse(text, Dialect::Format).unwrap();
        let slices: Vec<&str> =
            root.entries().unwrap().iter().map(|(_, v)| &text[v.span.clone()]).collect();
        assert_eq!(slices[0], "'x y'");
        assert_eq!(slices[1], "[1, {a: b}]");
        assert!(slices[2].starts_with("- one\n  - two"), "{:?}", slices[2]);
        assert_eq!(slices[3], "text\n", "a block scalar's span is its content, not its header");
    }

    #[test]
    fn flow_and_block_collections_are_distinguished() {
        let root = parse("a: [1]\nb:\n  - 1\nc: {d: 1}\ne:\n  f: 1\n", Dialect::Format).unwrap();
        let flow = |key: &str| match &root.get(key).unwrap().value {
            Value::Sequence { flow, .. } | Value::Mapping { flow, .. } => *flow,
            Value::Scalar { .. } => panic!("{key} is a scalar"),
        };
        assert_eq!(["a", "b", "c", "e"].map(flow), [true, false, true, false]);
        assert!(matches!(root.value, Value::Mapping { flow: false, .. }));
    }

    #[test]
    fn hostile_yaml_is_refused_with_a_place() {
        let cases = [
            ("a: 1\nb: 2\na: 3\n", "line 3, column 1: duplicate key `a`, first 2 lines above"),
            ("a: &x 1\nb: *x\n", "line 1, column 7: anchors and aliases are not allowed here"),
            ("a: !!str 1\n", "line 1, column 10: tags are not allowed here"),
            ("<<: {a: 1}\n", "line 1, column 1: merge keys are not allowed here"),
            (
                "? [a]\n: b\n",
                "line 1, column 3: a key is a collection, but keys must be plain texts",
            ),
            (
                "a: 1\n---\nb: 2\n",
                "line 2, column 1: expected one YAML document, but found a second",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(refusal(text, Dialect::Format), expected, "{text:?}");
        }
        for text in [
            "[".repeat(100),
            "- ".repeat(100),
            format!("a: {}", "{a: ".repeat(20_000)),
            (0..100).map(|n| format!("{}a:\n", " ".repeat(n))).collect::<String>(),
        ] {
            assert!(refusal(&text, Dialect::Frontmatter).starts_with("line "), "{text:.40}");
        }
    }

    #[test]
    fn alias_bombs_stop_at_the_budget() {
        let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for n in 1..12 {
            let list = vec![format!("*a{}", n - 1); 8].join(", ");
            laughs.push_str(&format!("a{n}: &a{n} [{list}]\n"));
        }
        assert!(refusal(&laughs, Dialect::Frontmatter).contains("KiB"));
        let honest = parse("a: &x [1, 2]\nb: *x\n", Dialect::Frontmatter).unwrap();
        assert!(honest.get("a").unwrap().same_value(honest.get("b").unwrap()));
    }

    #[test]
    fn numbers_have_one_spelling() {
        assert_eq!(
            ["0", "7", "18446744073709551615"].map(canonical_number).map(|n| n.is_some()),
            [true, true, true]
        );
        for text in ["", "00", "01", "+1", "-1", "1.0", "0x1", "1_0", "18446744073709551616"] {
            assert_eq!(canonical_number(text), None, "{text}");
        }
    }
}
