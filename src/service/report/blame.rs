//! Report of the lines of a published text, each with the version that it comes from.

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

/// Maximum number of lines in one answer. In JSON a line takes several times its size in the text.
const MOST_LINES: usize = 1_000_000;

/// The answer of `blame`. Makers and reviewers are listed by version.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct BlameReport<'b> {
    /// Id of the document or governance file.
    id: &'b str,
    /// `contextnest://` URI, pinned to the checkpoint; null if no URI can name the document.
    uri: Option<String>,
    /// Number of the version.
    version: Version,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Section that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<SectionReport<'b>>,
    /// Lines in the order of the text.
    pub lines: Vec<LineReport<'b>>,
    /// Versions that these lines come from, the newest first.
    pub versions: Vec<OriginReport<'b>>,
    /// Number of comments that `text` of the lines omits.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub comments: usize,
    /// Number of further lines, beyond 1,000,000; `-L` chooses other lines.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub omitted: usize,
}

/// One line of the text.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LineReport<'b> {
    /// Number of the line in the whole text, from 1.
    pub line: usize,
    /// Version that added the line.
    pub version: Version,
    /// Text of the line, without its end and without comments.
    pub text: Cow<'b, str>,
    /// Text of the line as it is sealed, without its end.
    #[serde(skip)]
    pub sealed: &'b str,
}

/// A version that lines come from.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct OriginReport<'b> {
    /// Number of the version.
    pub version: Version,
    /// First checkpoint that seals the version; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointNumber>,
    /// Field `author` of the version's text, or otherwise its maker.
    pub author: &'b str,
    /// Principal who made the version.
    pub edited_by: &'b str,
    /// Time at which the version was made, in UTC.
    pub edited_at: String,
    /// Reviewers who approved the version, as a submission or as part of an approval.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub approved_by: &'b [String],
    /// Number of lines that come from the version.
    pub count: usize,
}

impl Report for BlameReport<'_> {
    const SCHEMA: &'static str = "blame";
}

/// The answer of `blame --sections`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct BlameSectionsReport<'b> {
    /// Id of the document or governance file.
    id: &'b str,
    /// `contextnest://` URI, pinned to the checkpoint; null if no URI can name the document.
    uri: Option<String>,
    /// Number of the version.
    version: Version,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Sections in the order of the text, after the part before the first section.
    pub sections: Vec<SectionBlameReport<'b>>,
}

/// One section, with its subsections.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SectionBlameReport<'b> {
    #[serde(flatten)]
    section: SectionReport<'b>,
    /// Section anchor; empty for the part before the first section.
    #[serde(skip)]
    pub anchor: String,
    /// Number of lines in the section.
    pub count: usize,
    /// Versions that the lines come from, the newest first.
    pub versions: Vec<OriginReport<'b>>,
}

impl Report for BlameSectionsReport<'_> {
    const SCHEMA: &'static str = "blame.sections";
}

/// A text with its blame, from which reports are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blamed<'b> {
    /// Text whose lines are attributed.
    pub(crate) served: &'b Served,
    /// Version of each line.
    pub(crate) blame: &'b Blame,
    /// First checkpoint of each version.
    pub(crate) seals: &'b Seals,
}

impl<'b> Blamed<'b> {
    /// Reports the lines of a range, counted from 0; `section` narrows the answer to one section.
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

    /// Reports for every section how many of its lines come from each version.
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

    /// Returns the texts of a range of lines, and the number of comments that are left out.
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
        // A comment that spans several lines is counted once.
        let comments = bytes.map_or(0, |bytes| self.served.shown(bytes).1);
        (reports, comments)
    }

    /// Returns the versions with their numbers of lines, the newest first.
    fn origins(self, counts: BTreeMap<Version, usize>) -> Vec<OriginReport<'b>> {
        let at = self.served.checkpoint;
        let origin = |(version, count)| {
            let origin = self.blame.origins.get(&version)?;
            // A seal after the answered checkpoint must not show.
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

/// Returns the first lines of a range, and the number of further lines.
fn first(most: usize, lines: Range<usize>) -> (Range<usize>, usize) {
    let end = lines.end.min(lines.start.saturating_add(most));
    (lines.start..end, lines.end - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blame_limits_the_number_of_lines() {
        assert_eq!(first(3, 2..5), (2..5, 0));
        assert_eq!(first(3, 2..9), (2..5, 4));
        assert_eq!(first(usize::MAX, 2..9), (2..9, 0));
        assert_eq!(first(3, 4..4), (4..4, 0));
    }
}
