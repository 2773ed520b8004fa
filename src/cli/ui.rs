//! What people and programs read: results on stdout, status and hints on stderr.
//!
//! Text from a vault is hostile. In lines and tables control and invisible characters are always shown
//! escaped; a document's own text goes to a pipe as it is, and to a terminal with everything escaped
//! that could steer it.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

pub(super) use crate::model::visible::shown;
use crate::model::visible::{escaped, steers, steers_text};

/// The two output streams of one command.
pub(super) struct Ui<'w> {
    out: io::BufWriter<&'w mut dyn Write>,
    err: &'w mut dyn Write,
    /// Whether stdout is a terminal.
    terminal: bool,
    /// Whether the result is JSON.
    pub(super) json: bool,
    /// Warnings about the vault itself, which a JSON result repeats under `notes`.
    warnings: Vec<String>,
    failed: Option<io::Error>,
}

/// Every JSON result names its schema.
#[derive(Serialize)]
struct Envelope<'a, T> {
    schema: String,
    schema_version: u32,
    #[serde(flatten)]
    result: &'a T,
}

impl<'w> Ui<'w> {
    pub(super) fn new(out: &'w mut dyn Write, err: &'w mut dyn Write, terminal: bool) -> Self {
        Self {
            out: io::BufWriter::new(out),
            err,
            terminal,
            json: false,
            warnings: Vec::new(),
            failed: None,
        }
    }

    /// Writes one line of a result; the caller has made vault text visible with [`shown`], so that
    /// it brings no line ends along. What a caller missed is spelled out here.
    pub(super) fn line(&mut self, text: &str) {
        self.write(harmless_lines(text).as_bytes());
        self.write(b"\n");
    }

    /// Writes a document's text: exactly to a pipe, harmless to a terminal.
    pub(super) fn text(&mut self, text: &str) {
        if self.terminal {
            let harmless = escaped(text, steers_text);
            self.write(harmless.as_bytes());
        } else {
            self.write(text.as_bytes());
        }
    }

    /// Writes bytes of a log or patch that programs read.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        if self.terminal {
            self.text(&String::from_utf8_lossy(bytes));
        } else {
            self.write(bytes);
        }
    }

    /// Writes the result of a verb as one JSON object.
    pub(super) fn result(&mut self, verb: &str, result: &impl Serialize) {
        let json = match self.warnings.is_empty() {
            true => json_of(verb, result),
            false => json_of(verb, &with_notes(result, &self.warnings)),
        };
        self.line(&json);
    }

    /// Warns of something that concerns the vault and not what was asked: on stderr, and in the `notes`
    /// of a JSON result.
    pub(super) fn warn(&mut self, text: &str) {
        self.note(&format!("warning: {}", shown(text)));
        self.warnings.push(text.to_owned());
    }

    /// Tells something that is not part of the result.
    pub(super) fn note(&mut self, text: &str) {
        // Nobody is left to be told that stderr is closed.
        let _ = writeln!(self.err, "{}", harmless_lines(text));
    }

    /// Puts a line in the place of the last one on a terminal; an empty one takes it away.
    pub(super) fn status(&mut self, line: &str) {
        let _ = write!(self.err, "\r\u{1b}[K{}", shown(line));
        let _ = self.err.flush();
    }

    /// Writes a result in a JSON format of others.
    pub(super) fn json(&mut self, json: String) {
        let json = harmless(json);
        self.line(&json);
    }

    /// Writes an error as JSON or text to stderr.
    pub(super) fn error(&mut self, text: &str, json: &impl Serialize) {
        let text = if self.json { json_of("error", json) } else { text.to_owned() };
        self.note(&text);
    }

    /// Hands everything to the streams; gives the first failure, if there was one.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        match self.failed.take() {
            Some(failed) => Err(failed),
            None => flushed,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
        }
    }
}

/// A result with these notes before its own.
fn with_notes(result: &impl Serialize, notes: &[String]) -> Value {
    let mut result = serde_json::to_value(result).unwrap_or_default();
    if let Value::Object(fields) = &mut result {
        let own = fields.remove("notes").and_then(|own| own.as_array().cloned());
        let notes = notes.iter().cloned().map(Value::String);
        fields.insert("notes".to_owned(), notes.chain(own.unwrap_or_default()).collect());
    }
    result
}

fn json_of(verb: &str, result: &impl Serialize) -> String {
    let envelope = Envelope { schema: format!("ctx.{verb}"), schema_version: 1, result };
    let json = serde_json::to_string_pretty(&envelope).unwrap_or_else(|why| {
        // Only maps with keys that are no text could fail, and there are none.
        format!("{{\"schema\": \"ctx.error\", \"message\": \"{why}\"}}")
    });
    harmless(json)
}

/// Lines of ours, with everything spelled out that is not.
pub(super) fn harmless_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && steers(c))
}

/// JSON leaves DEL, C1 and bidirectional characters as they are; a terminal would obey them.
fn harmless(json: String) -> String {
    if !json.chars().any(|c| c != '\n' && steers(c)) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && steers(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// How many lines of a list people are shown; as JSON all of them are.
pub(super) const SHOWN: usize = 20;

/// The first lines of a list, and how many more it has.
pub(super) fn first<T>(
    most: usize,
    items: impl ExactSizeIterator<Item = T>,
    line: impl FnMut(T) -> String,
) -> Vec<String> {
    let more = items.len().saturating_sub(most);
    let mut lines: Vec<String> = items.take(most).map(line).collect();
    if more > 0 {
        lines.push(format!("… {more} more"));
    }
    lines
}

/// The widest column of a table. A wider cell stands out of it: else one cell of a hostile vault
/// would make every row as long as it is.
const MAX_COLUMN: usize = 512;

/// Rows as aligned columns, two blanks between them, none at the end of a line.
pub(super) fn table(rows: &[Vec<String>]) -> Vec<String> {
    let width = |text: &str| text.chars().count();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|n| rows.iter().filter_map(|r| r.get(n)).map(|cell| width(cell)).max().unwrap_or(0))
        .map(|width| width.min(MAX_COLUMN))
        .collect();
    rows.iter()
        .map(|row| {
            let mut line = String::new();
            for (cell, size) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(
                    ' ',
                    (size + 2).saturating_sub(width(cell)).max(2),
                ));
            }
            line.trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vault_text_cannot_steer_a_terminal() {
        let hostile = "a\u{1b}[31m\u{202e}\u{9b}b\nc\u{7f}";
        assert_eq!(shown(hostile), "a\\u{1b}[31m\\u{202e}\\u{9b}b\\nc\\u{7f}");
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui::new(&mut out, &mut err, true);
        ui.text(hostile);
        ui.finish().unwrap();
        drop(ui);
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{1b}[31m\\u{202e}\\u{9b}b\nc\\u{7f}");
    }

    #[test]
    fn json_says_the_same_to_a_program() {
        let json = json_of("x", &serde_json::json!({"title": "\u{1b}\u{202e}\u{e0001}é"}));
        assert!(json.is_ascii() || !json.chars().any(|c| c != '\n' && steers(c)), "{json}");
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["title"], "\u{1b}\u{202e}\u{e0001}é");
        assert_eq!((&value["schema"], &value["schema_version"]), (&"ctx.x".into(), &1.into()));
    }

    #[test]
    fn one_wide_cell_makes_no_other_row_wide() {
        let wide = "x".repeat(MAX_COLUMN + 1);
        let rows = [vec![wide.clone(), "a".to_owned()], vec!["b".to_owned(), "c".to_owned()]];
        let lines = table(&rows);
        assert_eq!(lines[0], format!("{wide}  a"));
        assert_eq!(lines[1].len(), MAX_COLUMN + 3);
    }

    #[test]
    fn a_pipe_gets_the_bytes_as_they_are() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui::new(&mut out, &mut err, false);
        ui.text("\u{1b}\r\n");
        ui.finish().unwrap();
        drop(ui);
        assert_eq!(out, b"\x1b\r\n");
    }
}
