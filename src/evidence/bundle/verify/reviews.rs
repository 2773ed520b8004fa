//! Who submitted and who approved a version of a bundle, read from the entries before it by the rule
//! of the vault (REV-20), from nothing that no hash covers.

use std::collections::BTreeMap;

use super::{Verdict, not_proved, unprovable};
use crate::chain::history::{Entry, EntryState, TextStorage};
use crate::document::Document;
use crate::document::review::ReviewFields;
use crate::model::digest::{Digest, Sink as _};
use crate::model::id::DocumentId;
use crate::model::number::Version;
use crate::review::{Reviewed, Versions};

/// A review has no more entries: a hundred approvals, and what they are of.
const MOST_ENTRIES: usize = 128;

/// The review of a version, none where it has none; or why that is not proved.
pub(super) type Review = Result<Option<Reviewed>, (Verdict, String)>;

/// An entry that is proved, as a review reads it.
#[derive(Debug)]
pub(super) struct Step {
    entry: Entry,
    /// The names of an approval in part, by their hash: they may be long, and are only compared.
    in_part: Option<Digest>,
}

/// The entries of a bundle that follow from their chains. A review may begin in another chain than
/// it ends in, because a keyframe lies between them; then the chains follow one another by a hash.
#[derive(Debug, Default)]
pub(super) struct Chains {
    chains: Vec<(Option<Digest>, Vec<Step>)>,
    /// The chain of an entry, and its place there.
    places: BTreeMap<(DocumentId, Digest), (usize, usize)>,
}

impl Chains {
    /// Adds what is proved of a chain: the hash before it, and its entries.
    pub(super) fn add(&mut self, id: &DocumentId, previous: Option<Digest>, steps: Vec<Step>) {
        for (place, step) in steps.iter().enumerate() {
            let place = (self.chains.len(), place);
            self.places.entry((id.clone(), step.entry.chain_hash)).or_insert(place);
        }
        self.chains.push((previous, steps));
    }

    /// The review of a version, which is proved and has this text.
    pub(super) fn review(&self, id: &DocumentId, entry: &Entry, text: &str) -> Review {
        let fields = fields_of(id, text);
        let fields = fields.as_ref();
        if let Some(source) = fields.and_then(|fields| Reviewed::moved_from(entry, fields)) {
            // Nothing leads from a checkpoint to who retired a document (HIST-33), nor to the steps
            // before that: a chain of the source could be made by anyone.
            return unprovable(&format!(
                "who moved it is in the history of {source}, whose end no checkpoint seals"
            ));
        }
        if !Reviewed::is_claimed(id, entry, fields) {
            return Ok(None);
        }
        let (steps, is_whole) = self.before(id, entry);
        let step = |version: Version| steps.iter().find(|step| step.entry.version == version);
        let of_version = |version| step(version).map(|step| &step.entry);
        let is_partial_by = |version, names: &[String]| {
            step(version).is_some_and(|step| step.in_part == Some(hash_of(names)))
        };
        let versions = Versions { entry: &of_version, is_partial_by: &is_partial_by };
        match Reviewed::in_history(id, versions, entry.version, fields) {
            None if !is_whole => not_proved("the bundle does not have the entries of its review"),
            found => Ok(found),
        }
    }

    /// The entries up to a version as far as a review goes back, and whether they begin with the
    /// first of the history.
    fn before(&self, id: &DocumentId, last: &Entry) -> (Vec<&Step>, bool) {
        let (mut steps, mut next) = (Vec::new(), Some(last.chain_hash));
        while let Some(hash) = next
            && let Some((chain, place)) = self.places.get(&(id.clone(), hash))
        {
            let (previous, of_chain) = &self.chains[*chain];
            let most = MOST_ENTRIES - steps.len();
            steps.extend(of_chain[..=*place].iter().rev().take(most));
            if *place >= most {
                break;
            }
            next = *previous;
        }
        (steps, next.is_none())
    }
}

/// An entry as a review reads it. Whether it is a step follows from its text or its mark, because no
/// hash covers that it was published. Of a document no diff is kept.
pub(super) fn of_review(id: &DocumentId, entry: &Entry, text: &str) -> Step {
    let fields = fields_of(id, text);
    let is_step = Reviewed::is_step(id, entry, fields.as_ref());
    let state = if is_step { EntryState::Unpublished } else { entry.state };
    let stored = match id.is_document() {
        true => TextStorage::Keyframe,
        false => entry.stored.clone(),
    };
    let entry = Entry { state, stored, ..entry.clone() };
    let in_part = fields.filter(ReviewFields::is_partial);
    Step { entry, in_part: in_part.map(|partial| hash_of(&partial.approved_by)) }
}

fn hash_of(names: &[String]) -> Digest {
    Digest::of_written(|out| {
        for name in names {
            out.put(&(name.len() as u64).to_be_bytes());
            out.put(name.as_bytes());
        }
    })
}

fn fields_of(id: &DocumentId, text: &str) -> Option<ReviewFields> {
    let document = id.is_document().then(|| Document::parse(text).ok()).flatten()?;
    ReviewFields::of(&document.frontmatter)
}
