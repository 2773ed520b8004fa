//! Units of a document: its sections, each without its subsections, so that every byte of a text
//! belongs to one unit (`spec/search.md`, section 4).

use std::ops::Range;

use crate::read::snapshot::Served;
use crate::text::document::sections::Section;

/// Maximum number of units of one document; the last one contains the rest of the text.
pub(super) const MAX_UNITS: usize = 10_000;

/// One unit of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// Anchor of the section; `None` for the text before the first heading.
    pub(super) anchor: Option<String>,
    /// Text of the heading.
    pub(super) heading: String,
    /// Byte range in [`Served::text`], including the line of the heading.
    pub(super) range: Range<usize>,
}

impl Unit {
    /// Returns true if the unit contains only a heading. `text` is the visible text of
    /// the document.
    pub(super) fn is_heading(&self, text: &str) -> bool {
        let (_, rest) = text[self.range.clone()].split_once('\n').unwrap_or_default();
        // A heading may be underlined.
        rest.chars().all(|c| c.is_whitespace() || matches!(c, '=' | '-'))
    }
}

/// Returns the units of a document in order; at least one.
pub(super) fn units(served: &Served, sections: &[Section]) -> Vec<Unit> {
    let Range { start: body, end } = served.body_range();
    let first = sections.first().map_or(end, |section| section.range.start);
    let mut units = Vec::with_capacity(sections.len() + 1);
    if sections.is_empty() || !served.visible()[body..first].trim().is_empty() {
        units.push(Unit { anchor: None, heading: String::new(), range: body..first });
    }
    for (n, section) in sections.iter().enumerate() {
        let next = sections.get(n + 1).map_or(end, |next| next.range.start);
        if units.len() == MAX_UNITS {
            if let Some(last) = units.last_mut() {
                last.range.end = end;
            }
            break;
        }
        let (anchor, heading) = (Some(section.anchor.clone()), section.title.clone());
        units.push(Unit { anchor, heading, range: section.range.start..next });
    }
    units
}
