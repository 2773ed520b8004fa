//! Records of the access log for texts that are handed out.

use std::borrow::Cow;
use std::ops::Range;

use super::Served;
use super::portion::Portion;
use super::provenance::{Provenance, written};
use crate::policy::rules::Reviewed;
use crate::record::audit::{Part, Text, Traced};
use crate::record::chain::history::Entry;
use crate::text::document::sections::Section;
use crate::text::uri::Uri;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;

/// Facts about the version of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'o> {
    pub(crate) id: &'o DocumentId,
    /// Checkpoint that was answered.
    pub(crate) checkpoint: Option<CheckpointNumber>,
    /// Entry of the version.
    pub(crate) entry: &'o Entry,
    /// Field `author` of the version.
    pub(crate) author: Option<&'o str>,
    /// Review of the version.
    pub(crate) reviewed: Option<&'o Reviewed>,
}

impl Origin<'_> {
    /// Returns the record of `text`, which was made from the version.
    pub(crate) fn text(&self, text: &str) -> Text {
        let nameable = self.checkpoint.filter(|_| Uri::can_name(self.id));
        let uri = nameable.map(|number| Uri::pinned(self.id.clone(), number).to_string());
        let id = uri.is_none().then(|| self.id.to_string());
        let (edited_by, edited_at) = written(self.entry, self.reviewed);
        Text {
            uri,
            id,
            version: self.entry.version.0,
            checkpoint: self.checkpoint.map(|checkpoint| checkpoint.0),
            chain_hash: self.entry.chain_hash.to_string(),
            range: None,
            part: None,
            author: self.author.map(str::to_owned),
            edited_by: edited_by.to_owned(),
            edited_at: edited_at.to_string(),
            approved_by: self.reviewed.map(|of| of.approved_by.clone()).unwrap_or_default(),
            approved_at: self.reviewed.map(|of| of.approved_at.to_string()),
            steward: None,
            review_due: None,
            bytes: text.len() as u64,
            sha256: Digest::of(text.as_bytes()).to_string(),
        }
    }
}

impl Served {
    /// Returns the origin of the text.
    pub(crate) fn origin(&self) -> Origin<'_> {
        let author = self.fields.author.as_deref();
        let (checkpoint, reviewed) = (Some(self.checkpoint), self.provenance.reviewed.as_ref());
        Origin { id: &self.id, checkpoint, entry: &self.entry, author, reviewed }
    }

    /// Returns the record of `text`, which was made from this text.
    pub(crate) fn recorded(&self, text: &str) -> Text {
        let Provenance { steward, review_due, .. } = &self.provenance;
        let review_due = review_due.map(|due| due.to_string());
        Text { steward: steward.clone(), review_due, ..self.origin().text(text) }
    }

    /// Returns the record of a range of lines, counted from 0, that are handed out one by one. With
    /// `with_comments`, comments are included.
    pub(crate) fn lines(&self, lines: Range<usize>, with_comments: bool) -> Traced<()> {
        let before = |n| self.text.split_inclusive('\n').take(n).map(str::len).sum();
        let range = before(lines.start)..before(lines.end);
        let text = match with_comments {
            true => Cow::Borrowed(&self.text[range.clone()]),
            false => self.shown(range.clone()).0,
        };
        let recorded = self.recorded(&text);
        Traced::new((), vec![Text { range: Some(as_bytes(&range)), ..recorded }])
    }

    /// Returns the whole text or a section, as sealed, with its record.
    pub(crate) fn sealed(&self, section: Option<&Section>) -> Traced<&str> {
        let range = section.map_or(0..self.text.len(), |section| section.range.clone());
        let text = &self.text[range.clone()];
        let uri = Portion { section, ..Portion::whole(self) }.uri();
        let range = section.map(|_| as_bytes(&range));
        Traced::new(text, vec![Text { range, ..self.recorded(text).named(uri) }])
    }
}

impl Portion<'_> {
    /// Returns the record of the text.
    pub(crate) fn recorded(&self) -> Text {
        let range = match (self.section, self.instructions) {
            (_, Some(instructions)) => instructions.range(),
            (Some(section), None) => Some(section.range.clone()),
            (None, None) => Some(self.served.body_range()),
        };
        let recorded = self.served.recorded(&self.text()).named(self.uri());
        let is_of_pack = self.instructions.is_some_and(|of| of.pack().is_some());
        let part = is_of_pack.then_some(Part::Instructions);
        Text { range: range.as_ref().map(as_bytes), part, ..recorded }
    }

    /// Returns the text without lines around it.
    pub(crate) fn handed_out(&self) -> Traced<String> {
        Traced::new(self.text().into_owned(), vec![self.recorded()])
    }

    /// Returns the text between two lines, with its own mark, outside of a block.
    pub(crate) fn handed_out_alone(&self) -> Traced<String> {
        Traced::new(self.alone(), vec![self.recorded()])
    }
}

fn as_bytes(range: &Range<usize>) -> [u64; 2] {
    [range.start as u64, range.end as u64]
}
