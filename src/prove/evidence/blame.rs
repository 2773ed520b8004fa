//! Blame: the version, author and time of each line of a published text (paper, section 12.1;
//! `spec/evidence.md`).
//!
//! The history is recomputed from its first version to the one that the checkpoint seals. If any
//! version on the way does not verify, blame fails: a line is never attributed by guess.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use super::attribution::Attribution;
use crate::files::vault::files::Files;
use crate::policy::rules::Reviewed;
use crate::read::snapshot::Served;
use crate::read::snapshot::provenance::written;
use crate::record::chain::diff::change::{Changes, Work};
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, EntryState, History, Slot, TextStorage};
use crate::record::chain::walk::{Recomputed, Walk};
use crate::text::document::review::ReviewFields;
use crate::text::document::sections::Section;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

/// The lines of a text with the versions that they come from.
#[derive(Debug)]
pub(crate) struct Blame {
    pub(crate) attribution: Attribution,
    /// Every version that a line comes from.
    pub(crate) origins: BTreeMap<Version, Origin>,
}

/// A version that added lines.
#[derive(Debug)]
pub(crate) struct Origin {
    /// Author that the text of the version names, otherwise its maker (EVID-8).
    pub(crate) author: Rc<str>,
    /// Maker of the version.
    pub(crate) edited_by: String,
    pub(crate) edited_at: Timestamp,
    /// Reviewers who approved the submission that the version is or belongs to.
    pub(crate) approved_by: Rc<[String]>,
}

/// Place where a history does not verify.
#[derive(Debug)]
pub(crate) struct Unverified {
    pub(crate) id: DocumentId,
    /// Version number, if the entry has a readable one.
    pub(crate) version: Option<Version>,
    pub(crate) why: ChainError,
}

/// Number of lines that each version contributed to a section, or to the text before the first one.
#[derive(Debug)]
pub(crate) struct SectionBlame {
    /// Section, as a byte range of the text.
    pub(crate) section: Section,
    /// Number of lines from each version.
    pub(crate) counts: BTreeMap<Version, usize>,
}

impl Blame {
    /// Attributes the lines of a served text.
    ///
    /// # Errors
    /// Returns the first version up to it that does not verify.
    pub(crate) fn of(
        files: &Files,
        served: &Served,
        history: &History,
    ) -> Result<Self, Unverified> {
        let sealed = (served.entry.version, served.entry.chain_hash);
        Self::at(files, &served.id, history, sealed)
    }

    /// Attributes the lines of the version that has this number and chain hash.
    ///
    /// # Errors
    /// Returns the first version up to it that does not verify.
    pub(crate) fn at(
        files: &Files,
        id: &DocumentId,
        history: &History,
        sealed: (Version, Digest),
    ) -> Result<Self, Unverified> {
        let mut walk = Walk::new(files, id, history).following_lines();
        let mut follower = Follower::default();
        let mut next = history.slots.iter().skip(1);
        while let Some(step) = walk.next() {
            let slot = step.slot;
            let unverified = |why| Unverified { id: id.clone(), version: slot.version, why };
            let mut version = step
                .version
                .map_err(|faults| unverified(ChainError::Malformed(slot.line, faults.to_vec())))?;
            let is_last = version.entry.version == sealed.0;
            let found = version.entry.chain_hash;
            follower.follow(&mut version, next.next()).map_err(unverified)?;
            if !is_last {
                continue;
            }
            if found != sealed.1 {
                return Err(unverified(ChainError::CrossChain { expected: sealed.1, found }));
            }
            return Ok(follower.finish(files, id, history));
        }
        let why = ChainError::VersionMissing(sealed.0);
        Err(Unverified { id: id.clone(), version: Some(sealed.0), why })
    }

    /// Returns the lines of a byte range of the text, counted from 0.
    pub(crate) fn lines_of(text: &str, bytes: Range<usize>) -> Range<usize> {
        let start = lines_before(text, 0, bytes.start);
        start..start + lines_before(text, bytes.start, bytes.end)
    }

    /// Returns the blame of all sections of a text, or of one section and its subsections. The
    /// first element is the text before all sections, including the frontmatter (EVID-10).
    pub(crate) fn sections(&self, served: &Served, whole: Option<&Section>) -> Vec<SectionBlame> {
        let all = served.sections();
        let start = all.first().map_or(served.text.len(), |first| first.range.start);
        let beginning = (start > 0).then(|| Section::beginning(0..start));
        let inside = |section: &Section| {
            whole.is_none_or(|whole| {
                whole.range.start <= section.range.start && section.range.end <= whole.range.end
            })
        };
        let mut sections: Vec<Section> = beginning.into_iter().chain(all).collect();
        sections.retain(inside);
        let lines = lines_at(&served.text, &sections);
        let counted = |section: Section| {
            let range = lines[&section.range.start]..lines[&section.range.end];
            SectionBlame { counts: self.attribution.counts(range), section }
        };
        sections.into_iter().map(counted).collect()
    }
}

/// Counts the lines that begin between two places. The first place must begin a line.
fn lines_before(text: &str, start: usize, end: usize) -> usize {
    text[start..end].split_inclusive('\n').count()
}

/// Returns the line at each place where a section begins or ends.
fn lines_at(text: &str, sections: &[Section]) -> BTreeMap<usize, usize> {
    let places: BTreeSet<usize> =
        sections.iter().flat_map(|section| [section.range.start, section.range.end]).collect();
    let (mut at, mut line) = (0, 0);
    let count = |place: usize| {
        line += lines_before(text, at, place);
        at = place;
        (place, line)
    };
    places.into_iter().map(count).collect()
}

type Approvals = BTreeMap<Version, Reviewed>;

/// State after the versions followed so far.
#[derive(Default)]
struct Follower {
    attribution: Attribution,
    work: Work,
    last: Option<Version>,
    /// Text of the last version; empty unless the next version is a keyframe.
    before: String,
    /// Author of each version.
    authors: Vec<(Version, Option<Rc<str>>)>,
    /// Review fields in the texts of published and retiring versions.
    reviews: Vec<(Version, ReviewFields)>,
}

impl Follower {
    /// Follows the lines to the next version, which must verify (EVID-2).
    fn follow(
        &mut self,
        version: &mut Recomputed<'_, '_>,
        next: Option<&Slot>,
    ) -> Result<(), ChainError> {
        let number = version.entry.version;
        if let Some(expected) = self.last.map(Version::next).filter(|next| *next != number) {
            return Err(ChainError::VersionMissing(expected));
        }
        if !version.wrong.is_empty() {
            return Err(version.wrong.swap_remove(0));
        }
        let text = version.text.ok_or(ChainError::NoBase)?;
        version.check_text()?;
        version.check_retirement()?;
        match version.changes {
            Some(changes) => self.attribution.follow(changes, number),
            None => {
                let changes = Changes::between(&self.before, text, &mut self.work);
                self.attribution.follow(&changes, number);
            }
        }
        let is_event = version.entry.state != EntryState::Unpublished;
        let (author, review) = match version.describe()?.map(|described| described.fields) {
            Some(fields) => (fields.author, fields.review),
            None => (None, None),
        };
        let review = review.filter(|_| is_event);
        self.reviews.extend(review.map(|review| (number, *review)));
        self.note(number, author);
        let is_keyframe = |slot: &Slot| {
            slot.entry.as_ref().is_ok_and(|entry| entry.stored == TextStorage::Keyframe)
        };
        self.before.clear();
        if next.is_some_and(is_keyframe) {
            self.before.push_str(text);
        }
        self.last = Some(number);
        Ok(())
    }

    /// Records the author of a version. Consecutive versions with the same author share one string.
    fn note(&mut self, version: Version, author: Option<String>) {
        let before = self.authors.last().and_then(|(_, author)| author.as_ref());
        let author = match (author, before) {
            (Some(author), Some(before)) if *author == **before => Some(before.clone()),
            (author, _) => author.map(Rc::from),
        };
        self.authors.push((version, author));
    }

    /// Returns the reviews by the version of their submission. Its lines are attributed to the
    /// submission, except those that the approval stamps.
    fn approvals(&self, files: &Files, id: &DocumentId, history: &History) -> Approvals {
        let last = self.last.unwrap_or(Version::NONE);
        let of_files = history.entries().filter(|_| !id.is_document()).map(|e| (e.version, None));
        let of_documents = self.reviews.iter().map(|(version, review)| (*version, Some(review)));
        let all = of_documents.chain(of_files).filter(|(version, _)| *version <= last);
        let reviewed =
            all.filter_map(|(version, review)| Reviewed::of(files, id, history, version, review));
        reviewed.map(|reviewed| (reviewed.submission, reviewed)).collect()
    }

    /// Returns the attributed lines with the origins of their versions.
    fn finish(self, files: &Files, id: &DocumentId, history: &History) -> Blame {
        let approvals = self.approvals(files, id, history);
        let used: BTreeSet<Version> =
            self.attribution.spans().iter().map(|span| span.version).collect();
        let origin = |(entry, (version, author)): (&Entry, (Version, Option<Rc<str>>))| {
            let reviewed = approvals.get(&version);
            // The target of a move has the entry of its approver.
            let (edited_by, edited_at) = written(entry, reviewed);
            let origin = Origin {
                author: author.unwrap_or_else(|| edited_by.into()),
                edited_by: edited_by.to_owned(),
                edited_at,
                approved_by: reviewed
                    .map(|one| one.approved_by.as_slice().into())
                    .unwrap_or_default(),
            };
            (version, origin)
        };
        let entries = history.entries().zip(self.authors);
        let origins = entries.filter(|(_, (version, _))| used.contains(version)).map(origin);
        Blame { origins: origins.collect(), attribution: self.attribution }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests write keyframes")]
mod tests;
