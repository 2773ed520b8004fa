//! Display of a place in a user's text: an excerpt with carets, or a quoted word.

use std::fmt;
use std::ops::Range;

use crate::values::model::visible::steers;

/// Maximum width of an excerpt in columns, without the ellipses.
const EXCERPT: usize = 70;
/// Number of columns that are reserved for text from the caret on.
const AFTER_CARET: usize = 40;
/// Maximum number of characters of a user's text in a message.
const QUOTED: usize = 40;

/// Returns two lines: the part of `text` around a place in it, and carets beneath the place.
///
/// Control and bidirectional characters are escaped, and at most some 70 columns are shown.
pub fn caret(text: &str, span: &Range<usize>) -> String {
    let cells: Vec<(usize, Cell)> = text.char_indices().map(|(i, c)| (i, cell(c))).collect();
    let index_of = |byte: usize| cells.partition_point(|(at, _)| *at < byte);
    let (from, to) = (index_of(span.start), index_of(span.end));
    let width = |range: Range<usize>| -> usize {
        let part = cells.get(range).unwrap_or_default();
        part.iter().map(|(_, cell)| cell.width).sum()
    };
    let before = EXCERPT - width(from..cells.len()).min(AFTER_CARET);
    let begin = from - fitting(cells[..from].iter().rev(), before);
    let end = begin + fitting(cells[begin..].iter(), EXCERPT);
    let mut line = String::new();
    line.push_str(if begin > 0 { "…" } else { "" });
    let shown = cells.get(begin..end).unwrap_or_default();
    line.extend(shown.iter().map(|(_, cell)| cell.text.as_str()));
    line.push_str(if end < cells.len() { "…" } else { "" });
    let indent = usize::from(begin > 0) + width(begin..from);
    let carets = width(from..to.min(end)).max(1);
    format!("{line}\n{}{}", " ".repeat(indent), "^".repeat(carets))
}

/// Returns the number of cells that fit into `columns`. The number is limited, because marks may
/// have zero width.
fn fitting<'c>(cells: impl Iterator<Item = &'c (usize, Cell)>, columns: usize) -> usize {
    let sums = cells.scan(0, |sum, (_, cell)| {
        *sum += cell.width;
        Some(*sum)
    });
    sums.take(2 * EXCERPT).take_while(|sum| *sum <= columns).count()
}

/// A user's text in a message: short, and harmless to a terminal.
pub(super) struct Quoted<'t>(pub(super) &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("the end");
        }
        f.write_str("`")?;
        for c in self.0.chars().take(QUOTED) {
            f.write_str(&cell(c).text)?;
        }
        let cut = self.0.chars().nth(QUOTED).is_some();
        f.write_str(if cut { "…`" } else { "`" })
    }
}

/// A character as a terminal displays it.
struct Cell {
    text: String,
    width: usize,
}

fn cell(c: char) -> Cell {
    if steers(c) {
        let text: String = c.escape_default().collect();
        let width = text.len();
        return Cell { text, width };
    }
    let width = match u32::from(c) {
        // Combining marks.
        0x300..=0x36f => 0,
        // East Asian wide characters and emoji.
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff => 2,
        0xfe30..=0xfe6f | 0xff01..=0xff60 | 0xffe0..=0xffe6 => 2,
        0x1f300..=0x1f64f | 0x1f680..=0x1f9ff | 0x20000..=0x3fffd => 2,
        _ => 1,
    };
    let text = c.to_string();
    Cell { text, width }
}
