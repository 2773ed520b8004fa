//! The lines of a published text with the versions that they come from.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use super::Report;
use super::document::SectionReport;
use crate::prove::evidence::blame::Blame;
use crate::read::snapshot::Served;
use crate::read::snapshot::seals::Seals;
use crate::text::document::sections::Section;
use crate::values::model::number::{CheckpointNumber, Version};

/// The most lines of one answer. In JSON a line takes many times the bytes that it has in the text.
const MOST_LINES: usize = 1_000_000;

/// The answer of `blame`. The versions say who made and who approved them.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct BlameReport<'b> {
    id: &'b str,
    uri: Option<String>,
    version: Version,
    checkpoint: CheckpointNumber,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<SectionReport<'b>>,
    /// The lines in the order of the text.
    pub lines: Vec<LineReport<'b>>,
    /// The versions that these lines come from, the newest first.
    pub versions: Vec<OriginReport<'b>>,
    /// How many comments `text` of the lines lacks.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub comments: usize,
    /// How many more lines there are.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub omitted: usize,
}

/// One line.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LineReport<'b> {
    /// Its number in the whole text, from 1.
    pub line: usize,
    /// The version that added it.
    pub version: Version,
    /// The line without its end and without comments.
    pub text: Cow<'b, str>,
    /// The line as it is sealed, without its end.
    #[serde(skip)]
    pub sealed: &'b str,
}

/// A version that lines come from.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct OriginReport<'b> {
    /// Its number.
    pub version: Version,
    /// The first checkpoint that seals it; absent of a version that none seals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointNumber>,
    /// The author that its text names, otherwise who made it.
    pub author: &'b str,
    /// Who made it.
    pub edited_by: &'b str,
    /// When.
    pub edited_at: String,
    /// Who approved it, as a submission or as what the approval wrote.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub approved_by: &'b [String],
    /// How many of the lines come from it.
    pub count: usize,
}

impl Report for BlameReport<'_> {
    const SCHEMA: &'static str = "blame";
}

/// The answer of `blame --sections`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct BlameSectionsReport<'b> {
    id: &'b str,
    uri: Option<String>,
    version: Version,
    checkpoint: CheckpointNumber,
    /// What is before the first section, then the sections in the order of the text.
    pub sections: Vec<SectionBlameReport<'b>>,
}

/// One section, with its subsections.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SectionBlameReport<'b> {
    #[serde(flatten)]
    section: SectionReport<'b>,
    /// Its section anchor; empty for what is before the first section.
    #[serde(skip)]
    pub anchor: String,
    /// How many lines it has.
    pub count: usize,
    /// The versions that its lines come from, the newest first.
    pub versions: Vec<OriginReport<'b>>,
}

impl Report for BlameSectionsReport<'_> {
    const SCHEMA: &'static str = "blame.sections";
}

/// What an answer is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blamed<'b> {
    /// The text.
    pub(crate) served: &'b Served,
    /// Where its lines come from.
    pub(crate) blame: &'b Blame,
    /// The first checkpoint of each version.
    pub(crate) seals: &'b Seals,
}

impl<'b> Blamed<'b> {
    /// Some of the lines, from 0; those of `section`, where the answer is narrowed to one.
    pub(crate) fn lines(
        self,
        (lines, most): (Range<usize>, usize),
        section: Option<&Section>,
    ) -> BlameReport<'b> {
        let (range, omitted) = first(most.min(MOST_LINES), lines);
        let (lines, comments) = self.texts(range.clone());
        BlameReport {
            id: self.served.id.as_str(),
            uri: self.served.uri().map(ToString::to_string),
            version: self.served.entry.version,
            checkpoint: self.served.checkpoint,
            section: section.map(SectionReport::from),
            lines,
            versions: self.origins(self.blame.attribution.counts(range)),
            comments,
            omitted,
        }
    }

    /// What a section has of each version, for every section.
    pub(crate) fn sections(self, whole: Option<&Section>) -> BlameSectionsReport<'b> {
        let sections = self.blame.sections(self.served, whole).into_iter();
        let sections = sections.map(|found| SectionBlameReport {
            section: (&found.section).into(),
            anchor: found.section.anchor,
            count: found.counts.values().sum(),
            versions: self.origins(found.counts),
        });
        BlameSectionsReport {
            id: self.served.id.as_str(),
            uri: self.served.uri().map(ToString::to_string),
            version: self.served.entry.version,
            checkpoint: self.served.checkpoint,
            sections: sections.collect(),
        }
    }

    /// The texts of some lines, and how many comments are left out of them.
    fn texts(self, lines: Range<usize>) -> (Vec<LineReport<'b>>, usize) {
        let spans = self.blame.attribution.within(lines.clone());
        let versions = spans.flat_map(|span| (span.start..span.end).map(move |_| span.version));
        let text = &self.served.text;
        let all = text.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line.strip_suffix('\n').unwrap_or(line)))
        });
        let wanted = all.enumerate().skip(lines.start).zip(versions);
        let mut bytes = None::<Range<usize>>;
        let reports = wanted.map(|((number, (start, sealed)), version)| {
            let range = start..start + sealed.len();
            bytes.get_or_insert(range.clone()).end = range.end;
            let (text, _) = self.served.shown(range);
            LineReport { line: number + 1, version, text, sealed }
        });
        let reports = reports.collect();
        // A comment of several lines is one.
        let comments = bytes.map_or(0, |bytes| self.served.shown(bytes).1);
        (reports, comments)
    }

    /// Versions with the number of lines that come from each, the newest first.
    fn origins(self, counts: BTreeMap<Version, usize>) -> Vec<OriginReport<'b>> {
        let at = self.served.checkpoint;
        let origin = |(version, count)| {
            let origin = self.blame.origins.get(&version)?;
            // What a later checkpoint seals is no part of this answer.
            let checkpoint = self.seals.get(&version).copied().filter(|seal| *seal <= at);
            Some(OriginReport {
                version,
                checkpoint,
                author: &origin.author,
                edited_by: &origin.edited_by,
                edited_at: origin.edited_at.to_string(),
                approved_by: &origin.approved_by,
                count,
            })
        };
        counts.into_iter().rev().filter_map(origin).collect()
    }
}

/// The first lines of a range, and how many more it has.
fn first(most: usize, lines: Range<usize>) -> (Range<usize>, usize) {
    let end = lines.end.min(lines.start.saturating_add(most));
    (lines.start..end, lines.end - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_bounded_number_of_lines() {
        assert_eq!(first(3, 2..5), (2..5, 0));
        assert_eq!(first(3, 2..9), (2..5, 4));
        assert_eq!(first(usize::MAX, 2..9), (2..9, 0));
        assert_eq!(first(3, 4..4), (4..4, 0));
    }
}
