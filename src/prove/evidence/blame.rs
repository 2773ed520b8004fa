//! Blame: the version, author and time of each line of a published text (paper, section 12.1;
//! `spec/evidence.md`).
//!
//! The history is recomputed from its first version to the one that the checkpoint seals. If
//! anything on the way does not verify, there is no answer: a line is never attributed by guess.

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
    /// Which version each line comes from.
    pub(crate) attribution: Attribution,
    /// Those versions.
    pub(crate) origins: BTreeMap<Version, Origin>,
}

/// A version that lines come from.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The author that the text of the version names, otherwise who made it (EVID-8).
    pub(crate) author: Rc<str>,
    /// Who made it.
    pub(crate) edited_by: String,
    /// When.
    pub(crate) edited_at: Timestamp,
    /// Who approved the submission that it is or belongs to.
    pub(crate) approved_by: Rc<[String]>,
}

/// The place where a history does not verify.
#[derive(Debug)]
pub(crate) struct Unverified {
    /// The artifact.
    pub(crate) id: DocumentId,
    /// The version, if its entry says which one it is.
    pub(crate) version: Option<Version>,
    /// What is wrong with it.
    pub(crate) why: ChainError,
}

/// A section, or what is before the first one, with the lines that it has of each version.
#[derive(Debug)]
pub(crate) struct SectionBlame {
    /// The section, as bytes of the text.
    pub(crate) section: Section,
    /// How many of its lines come from each version.
    pub(crate) counts: BTreeMap<Version, usize>,
}

impl Blame {
    /// Attributes the lines of a text that the chain vouches for.
    ///
    /// # Errors
    /// The first version up to it that does not verify.
    pub(crate) fn of(
        files: &Files,
        served: &Served,
        history: &History,
    ) -> Result<Self, Unverified> {
        let sealed = (served.entry.version, served.entry.chain_hash);
        Self::at(files, &served.id, history, sealed)
    }

    /// Attributes the lines of a version with this chain hash.
    ///
    /// # Errors
    /// The first version up to it that does not verify.
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

    /// The lines that a part of the text has, from 0.
    pub(crate) fn lines_of(text: &str, bytes: Range<usize>) -> Range<usize> {
        let start = lines_before(text, 0, bytes.start);
        start..start + lines_before(text, bytes.start, bytes.end)
    }

    /// The sections of a text, or of one of its sections, each with its subsections; first what is
    /// before all of them, the frontmatter included (EVID-10).
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

/// How many lines begin between two places, the first of which begins a line.
fn lines_before(text: &str, start: usize, end: usize) -> usize {
    text[start..end].split_inclusive('\n').count()
}

/// The line that begins at each place where a section begins or ends.
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

/// What is known after some versions.
#[derive(Default)]
struct Follower {
    attribution: Attribution,
    work: Work,
    last: Option<Version>,
    /// The text of the last version, where the next one is stored in full.
    before: String,
    /// The author of each version.
    authors: Vec<(Version, Option<Rc<str>>)>,
    /// What the texts of published and retiring versions say of their reviews.
    reviews: Vec<(Version, ReviewFields)>,
}

impl Follower {
    /// Follows the lines to the next version, which has to verify (EVID-2).
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

    /// Keeps the author of a version; one name for as many versions as have it.
    fn note(&mut self, version: Version, author: Option<String>) {
        let before = self.authors.last().and_then(|(_, author)| author.as_ref());
        let author = match (author, before) {
            (Some(author), Some(before)) if *author == **before => Some(before.clone()),
            (author, _) => author.map(Rc::from),
        };
        self.authors.push((version, author));
    }

    /// The reviews of versions, by the submission, whose lines they are about: what an approval
    /// stamps is its own.
    fn approvals(&self, files: &Files, id: &DocumentId, history: &History) -> Approvals {
        let last = self.last.unwrap_or(Version::NONE);
        let of_files = history.entries().filter(|_| !id.is_document()).map(|e| (e.version, None));
        let of_documents = self.reviews.iter().map(|(version, review)| (*version, Some(review)));
        let all = of_documents.chain(of_files).filter(|(version, _)| *version <= last);
        let reviewed =
            all.filter_map(|(version, review)| Reviewed::of(files, id, history, version, review));
        reviewed.map(|reviewed| (reviewed.submission, reviewed)).collect()
    }

    /// The lines, with the versions that they come from.
    fn finish(self, files: &Files, id: &DocumentId, history: &History) -> Blame {
        let approvals = self.approvals(files, id, history);
        let used: BTreeSet<Version> =
            self.attribution.spans().iter().map(|span| span.version).collect();
        let origin = |(entry, (version, author)): (&Entry, (Version, Option<Rc<str>>))| {
            let reviewed = approvals.get(&version);
            // The entry of the target of a move is its approver's.
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
