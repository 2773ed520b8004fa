//! Parts of a version's text that a line of the access log can record as handed out (AUDIT-7).
//!
//! An answer hands out a whole text, its body, the part of the body before the first section, one
//! section, or, as `blame` does, lines; each with or without comments. A line with any other range
//! was not written by `ctx`, even if its hashes are valid.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use super::served::Visible;
use crate::record::audit::Text;
use crate::text::document::Document;
use crate::text::document::obsidian::{Comments, Markup};
use crate::text::document::sections::Section;
use crate::text::uri::{MAX_URI_BYTES, encode};
use crate::values::model::id::DocumentId;

/// Command whose answers are lines.
const BLAME: &str = "blame";

/// Reason why a line cannot be valid for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RangeFault {
    /// The text is shorter, or a character is cut.
    #[error("a byte range exceeds the text of the version")]
    Outside,
    /// The URI names a section that the text does not have.
    #[error("the version does not have a section with this anchor")]
    NoSection,
    /// The URI names another section.
    #[error("its bytes do not match the section that its URI names")]
    OtherSection,
    /// The URI does not name a section, and no answer hands out these bytes under it.
    #[error(
        "its URI does not name a section, but its bytes are not the whole text or the whole body"
    )]
    NoPart,
}

/// Parts of a version's text. The text itself is passed with each question.
#[derive(Debug)]
pub(crate) struct Ranges {
    markup: Markup,
    /// Offset of the body.
    body: usize,
    /// Offset of the body in instructions for agents.
    instructions: usize,
    comments: Comments,
    sections: OnceCell<Sections>,
}

/// Sections of a text. A log may ask for one very often.
#[derive(Debug)]
struct Sections {
    /// Ranges of the sections, in order.
    ranges: Vec<SectionRange>,
    /// Index of each section by its anchor, as URIs spell it.
    by_anchor: HashMap<String, usize>,
}

impl Sections {
    fn named(&self, anchor: &str) -> Option<&SectionRange> {
        self.by_anchor.get(anchor).map(|n| &self.ranges[*n])
    }

    /// Returns true if a range is a section that no URI names. `uri` is the URI of the document, if
    /// it has one.
    fn have_unnamed(&self, range: &Range<usize>, uri: Option<&str>) -> bool {
        let n = self.ranges.partition_point(|section| section.range.start < range.start);
        let is_unnamed = |section: &SectionRange| {
            uri.is_none_or(|uri| uri.len() + 1 + section.anchor > MAX_URI_BYTES)
        };
        self.ranges.get(n).is_some_and(|section| section.is(range) && is_unnamed(section))
    }
}

/// A section: its range, the start of its first subsection, and the length of its anchor in a URI.
#[derive(Debug)]
struct SectionRange {
    range: Range<usize>,
    own: usize,
    anchor: usize,
}

impl SectionRange {
    fn is(&self, range: &Range<usize>) -> bool {
        range.start == self.range.start && [self.range.end, self.own].contains(&range.end)
    }
}

impl Ranges {
    /// Returns the parts of a text of an artifact, in the markup of documents.
    pub(crate) fn of(id: &DocumentId, text: &str, of_documents: Markup) -> Self {
        let begin = || Document::parse(text).map_or(0, |read| read.parts.body);
        let instructions = if id.is_markdown() { begin() } else { 0 };
        let body = if id.is_document() { instructions } else { 0 };
        let markup = Visible::markup(id, of_documents);
        let comments = Visible::of(text, body, markup).comments;
        Self { markup, body, instructions, comments, sections: OnceCell::new() }
    }

    /// Returns the bytes of `whole`, the text of the version, that a line of a command records as
    /// handed out.
    ///
    /// # Errors
    /// Fails if no answer of this command hands out these bytes under this name.
    pub(crate) fn said(
        &self,
        whole: &str,
        text: &Text,
        verb: &str,
    ) -> Result<Range<usize>, RangeFault> {
        let range = match text.range {
            None => 0..whole.len(),
            Some([start, end]) => {
                let place = |n| usize::try_from(n).map_err(|_| RangeFault::Outside);
                place(start)?..place(end)?
            }
        };
        whole.get(range.clone()).ok_or(RangeFault::Outside)?;
        let is_allowed = match text.anchor() {
            Some(anchor) => {
                let named = self.sections(whole).named(anchor).ok_or(RangeFault::NoSection)?;
                return match text.part.is_none() && text.range.is_some() && named.is(&range) {
                    true => Ok(range),
                    false => Err(RangeFault::OtherSection),
                };
            }
            None if text.part.is_some() || text.range.is_none() => text.range.is_none(),
            None if verb == BLAME => are_lines(whole, &range),
            None => self.is_part(whole, text, &range),
        };
        if is_allowed { Ok(range) } else { Err(RangeFault::NoPart) }
    }

    /// Returns true if a line can name a range without an anchor. The anchor of a section is
    /// omitted if it is empty, too long for a URI, or the document cannot have a URI.
    fn is_part(&self, whole: &str, text: &Text, range: &Range<usize>) -> bool {
        let begins = range.start == self.body || range.start == self.instructions;
        if begins && range.end == whole.len() {
            return true;
        }
        let sections = self.sections(whole);
        let first = sections.ranges.first().map_or(whole.len(), |first| first.range.start);
        *range == (self.body..first)
            || sections.have_unnamed(range, text.uri.as_deref())
            || sections.named("").is_some_and(|section| section.is(range))
    }

    /// Returns true if pieces are what is handed out of a range: all of it, or what its
    /// comments leave.
    pub(crate) fn are(&self, pieces: &[[u64; 2]], range: &Range<usize>) -> bool {
        let Some(pieces) = joined(pieces) else { return false };
        let is_all = match pieces.as_slice() {
            [] => range.is_empty(),
            [one] => one == range,
            _ => false,
        };
        // A text has at most one piece more than comments, so checking a few pieces takes little
        // work.
        is_all
            || self.comments.count(range) <= pieces.len() + 1
                && self.comments.kept(range.clone()).0 == pieces
    }

    fn sections(&self, whole: &str) -> &Sections {
        self.sections.get_or_init(|| {
            let all = Visible::of(whole, self.body, self.markup).sections(whole, self.body);
            let starts = all.iter().skip(1).map(|section| section.range.start);
            let next = starts.chain([whole.len()]);
            let anchors: Vec<String> = all.iter().map(|section| encode(&section.anchor)).collect();
            let own = |((section, next), anchor): ((&Section, usize), &String)| {
                let range = section.range.clone();
                SectionRange { own: range.end.min(next), range, anchor: anchor.len() }
            };
            let ranges = all.iter().zip(next).zip(&anchors).map(own).collect();
            Sections { ranges, by_anchor: anchors.into_iter().zip(0..).collect() }
        })
    }
}

/// Returns true if a range begins and ends with lines.
fn are_lines(whole: &str, range: &Range<usize>) -> bool {
    let is_border = |at| at == 0 || at == whole.len() || whole.as_bytes()[at - 1] == b'\n';
    is_border(range.start) && is_border(range.end)
}

/// Joins adjacent pieces and drops empty ones; `None` if they are out of order.
fn joined(pieces: &[[u64; 2]]) -> Option<Vec<Range<usize>>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for [start, end] in pieces {
        let (start, end) = (usize::try_from(*start).ok()?, usize::try_from(*end).ok()?);
        if start < at || end < start {
            return None;
        }
        at = end;
        match out.last_mut().filter(|last| last.end == start) {
            Some(last) => last.end = end,
            None if start < end => out.push(start..end),
            None => {}
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::audit::Part;

    const WHOLE: &str =
        "---\ntitle: A\n---\nintro\n\n# A %%x%%\n\nDo not\npay.\n\n## B\n\nb\n\n# C\n";

    fn text(uri: Option<&str>, range: Option<Range<usize>>, part: Option<Part>) -> Text {
        let value = serde_json::json!({
            "version": 1, "chain_hash": "", "edited_by": "", "edited_at": "", "bytes": 0, "sha256": "",
            "uri": uri, "range": range.map(|range| [range.start, range.end]), "part": part,
        });
        serde_json::from_value(value).unwrap()
    }

    fn at(words: &str) -> usize {
        WHOLE.find(words).unwrap()
    }

    #[test]
    fn line_range_is_a_section_the_body_or_the_whole_text() {
        let id: DocumentId = "nodes/a".parse().unwrap();
        let ranges = Ranges::of(&id, WHOLE, Markup::Obsidian);
        let (a, b, c, end) = (at("# A"), at("## B"), at("# C"), WHOLE.len());
        let said = |verb: &str, uri: &str, range: Option<Range<usize>>| {
            let anchor = uri.trim_start_matches('@');
            let uri = (!uri.is_empty()).then(|| format!("contextnest://nodes/a@1{anchor}"));
            ranges.said(WHOLE, &text(uri.as_deref(), range, None), verb).err()
        };
        for (uri, range) in [
            ("@", None),
            ("@", Some(at("intro")..end)),
            ("@", Some(at("intro")..a)),
            ("#a", Some(a..c)),
            ("#a", Some(a..b)),
            ("#b", Some(b..c)),
            ("#c", Some(c..end)),
            // URIs cannot name it.
            ("", Some(b..c)),
        ] {
            assert_eq!(said("read", uri, range.clone()), None, "{uri} {range:?}");
        }
        for (uri, range, fault) in [
            ("#gone", Some(a..c), RangeFault::NoSection),
            ("#b", Some(a..c), RangeFault::OtherSection),
            ("#a", Some(a..end), RangeFault::OtherSection),
            ("#a", None, RangeFault::OtherSection),
            ("#a", Some(a + 1..c), RangeFault::OtherSection),
            ("@", Some(at("pay")..end), RangeFault::NoPart),
            ("@", Some(b..c), RangeFault::NoPart),
            ("@", Some(0..end), RangeFault::NoPart),
            ("@", Some(a..end + 1), RangeFault::Outside),
        ] {
            let found = said("read", uri, range.clone());
            assert_eq!(found, Some(fault), "{uri} {range:?}");
        }
        // Blame prints lines.
        assert_eq!(said("blame", "@", Some(at("pay")..end)), None);
        assert_eq!(said("blame", "@", Some(at("pay") + 1..end)), Some(RangeFault::NoPart));
        let uri = Some("contextnest://nodes/a@1");
        let of_part = |range| ranges.said(WHOLE, &text(uri, range, Some(Part::Submission)), "read");
        assert_eq!((of_part(None), of_part(Some(a..c))), (Ok(0..end), Err(RangeFault::NoPart)));
    }

    #[test]
    fn pieces_leave_out_comments_and_nothing_else() {
        let id: DocumentId = "nodes/a".parse().unwrap();
        let (body, end) = (at("intro"), WHOLE.len());
        let (open, close) = (at("%%x"), at("%%x") + 5);
        let are = |markup, pieces: &[[usize; 2]]| {
            let pieces: Vec<[u64; 2]> =
                pieces.iter().map(|piece| piece.map(|n| n as u64)).collect();
            Ranges::of(&id, WHOLE, markup).are(&pieces, &(body..end))
        };
        for markup in [Markup::Plain, Markup::Obsidian] {
            assert!(are(markup, &[[body, end]]));
            assert!(are(markup, &[[body, open], [open, open], [open, end]]));
            for other in [
                &[][..],
                &[[body, at("Do not")], [at("pay"), end]],
                &[[body, open], [close, at("Do not")], [at("pay"), end]],
                &[[body, at("Do not")]],
                &[[at("pay"), end]],
                &[[close, end], [body, open]],
            ] {
                assert!(!are(markup, other), "{other:?}");
            }
        }
        let kept = [[body, open], [close, end]];
        assert!(are(Markup::Obsidian, &kept) && !are(Markup::Plain, &kept));
        let comment = Ranges::of(&id, "---\n---\n%%all%%", Markup::Obsidian);
        assert!(comment.are(&[], &(8..15)) && comment.are(&[[8, 15]], &(8..15)));
    }
}
