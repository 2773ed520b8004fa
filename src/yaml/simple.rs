//! A scan of the YAML that nearly every frontmatter is: `key: value` lines and lists of one level.
//!
//! A verifier reads the frontmatter of every version, and the reader of all YAML is the slowest
//! part of that. The scan knows keys of letters, digits and `_`, values in single quotes or of
//! harmless characters, and lists of such values. It builds the same tree, to the last position;
//! whatever it does not know it leaves to the other reader.

use super::{Node, Value};

/// Texts of more lines are for the other reader: keys are compared one with another.
const MAX_LINES: usize = 64;

/// The tree of a text of this kind; `None` for any other.
pub(super) fn read(text: &str) -> Option<Node> {
    let mut entries: Vec<(Node, Node)> = Vec::new();
    let mut lines = Lines { text, at: 0, number: 0 };
    while let Some(line) = lines.next() {
        let (name, value) = line.text.split_once(':')?;
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let is_key =
            name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().all(is_name);
        let is_new = entries.iter().all(|(key, _)| key.text() != Some(name));
        if !is_key || !is_new || line.number > MAX_LINES {
            return None;
        }
        let value = match value.strip_prefix(' ') {
            Some(value) => scalar(value, line.at + name.len() + 2, line.number, name.len() + 3)?,
            None if value.is_empty() => list(&mut lines)?,
            None => return None,
        };
        let key = Value::Scalar { text: name.to_owned(), plain: true };
        entries.push((node(key, line.at, line.at + name.len(), line.number, 1), value));
    }
    let value = Value::Mapping { entries, flow: false };
    (!text.is_empty()).then(|| node(value, 0, text.len(), 1, 1))
}

/// A line without its end.
struct Line<'t> {
    text: &'t str,
    at: usize,
    /// From 1.
    number: usize,
}

struct Lines<'t> {
    text: &'t str,
    at: usize,
    number: usize,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<Line<'t>> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let length = rest.find('\n').unwrap_or(rest.len());
        let line = Line { text: &rest[..length], at: self.at, number: self.number + 1 };
        self.at += (length + 1).min(rest.len());
        self.number += 1;
        Some(line)
    }
}

/// The items that follow, all with the same indentation.
fn list(lines: &mut Lines<'_>) -> Option<Node> {
    let begin = lines.at;
    let rest = &lines.text[begin..];
    let indent = rest.len() - rest.trim_start_matches(' ').len();
    let first = lines.number + 1;
    let mut items = Vec::new();
    while let Some(item) =
        lines.text[lines.at..].get(indent..).filter(|_| lines.is_indented(indent))
    {
        if !item.starts_with("- ") {
            break;
        }
        let line = lines.next()?;
        items.push(scalar(
            &line.text[indent + 2..],
            line.at + indent + 2,
            line.number,
            indent + 3,
        )?);
    }
    // What is indented more goes on with the item before.
    let goes_on = lines.text[lines.at..].starts_with([' ', '-', '\n']);
    if items.is_empty() || goes_on {
        return None;
    }
    let value = Value::Sequence { items, flow: false };
    // The list begins at its first dash; one without indentation, for that reader, after it.
    let dash = if indent == 0 { "- ".len() } else { indent };
    Some(node(value, begin + dash, lines.at, first, dash + 1))
}

impl Lines<'_> {
    fn is_indented(&self, indent: usize) -> bool {
        self.text[self.at..].bytes().take(indent).all(|b| b == b' ')
    }
}

/// A value that is the rest of its line.
fn scalar(spelled: &str, at: usize, line: usize, column: usize) -> Option<Node> {
    let (text, plain) = match spelled.strip_prefix('\'') {
        Some(quoted) => (quoted.strip_suffix('\'').filter(|text| is_harmless(text))?, false),
        None => (Some(spelled).filter(|text| is_plain(text))?, true),
    };
    let value = Value::Scalar { text: text.to_owned(), plain };
    Some(node(value, at, at + spelled.len(), line, column))
}

/// Characters that stand for themselves between single quotes.
fn is_harmless(text: &str) -> bool {
    text.chars().all(|c| match c {
        '\'' => false,
        ' '..='~' => true,
        c => c.is_alphanumeric(),
    })
}

/// A number, or a text that begins with a letter and holds only characters without meaning.
fn is_plain(text: &str) -> bool {
    let number = |b: u8| b.is_ascii_digit();
    let inner = |c: char| c.is_ascii_alphanumeric() || "_./@+- :".contains(c);
    let word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(inner)
        && !text.contains(": ")
        && !text.ends_with([' ', ':']);
    word || (!text.is_empty() && text.bytes().all(number))
}

fn node(value: Value, start: usize, end: usize, line: usize, column: usize) -> Node {
    Node { value, span: start..end, line, column, decorated: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Dialect, tree};
    use proptest::prelude::*;

    fn is_read_alike(text: &str) -> bool {
        let Some(scanned) = read(text) else {
            return false;
        };
        for dialect in [Dialect::Format, Dialect::Frontmatter] {
            let built = tree::build(text, dialect, None);
            assert_eq!(Ok(&scanned), built.as_ref(), "{text:?}");
        }
        true
    }

    const USUAL: &str = "title: Deploy rollback runbook\ntype: document\ntags:\n  - '#deploy'\n  - ops\n\
                         status: published\nversion: 3\nnodes:\n- a/b\nauthor: ana@example.com\n\
                         updated_at: '2026-11-21T20:06:06.689Z'\nlast:\n    - 'été'\n";

    #[test]
    fn the_usual_frontmatter_is_scanned() {
        assert!(is_read_alike(USUAL));
        assert!(is_read_alike(USUAL.trim_end()));
        assert!(is_read_alike("a: b"));
    }

    #[test]
    fn a_text_that_one_byte_alters_is_read_as_by_the_other_reader_or_left_to_it() {
        let mut taken = 0;
        for at in 0..USUAL.len() {
            for byte in b" \t\n\r'\"|:-#0aZ\x00~{[&*!%@,?.".iter().map(|b| vec![*b]).chain([vec![]])
            {
                for after in [at, at + 1] {
                    let mutant = [&USUAL.as_bytes()[..at], &byte, &USUAL.as_bytes()[after..]];
                    let mutant = String::from_utf8(mutant.concat());
                    taken += usize::from(mutant.is_ok_and(|mutant| is_read_alike(&mutant)));
                }
            }
        }
        assert!(taken > 2 * USUAL.len(), "{taken}");
    }

    proptest! {
        #[test]
        fn what_is_scanned_is_read_alike(
            lines in prop::collection::vec("[a-c_]{1,2}:( [ -~é]{0,8}|\n( {0,3}- ['a-c# :]{1,5}\n?){1,3}| '[^']{0,4}'| [a-zA-Z0-9 :./-]{1,6})?", 0..8)
        ) {
            is_read_alike(&(lines.join("\n") + "\n"));
            is_read_alike(&lines.join("\n"));
        }
    }
}
