//! Who submitted and who approved a version of a bundle, read from the entries before it by the rule
//! of the vault (REV-20), from nothing that no hash covers.

use std::collections::BTreeMap;

use super::{Verdict, not_proved};
use crate::chain::history::{Entry, EntryState, History, TextStorage};
use crate::document::Document;
use crate::document::review::ReviewFields;
use crate::model::digest::Digest;
use crate::model::id::DocumentId;
use crate::review::Reviewed;

/// A review has no more entries: a hundred approvals, and what they are of.
const MOST_ENTRIES: usize = 128;

/// The review of a version, none where it has none; or why that is not proved.
pub(super) type Review = Result<Option<Reviewed>, (Verdict, String)>;

/// The entries of a bundle that follow from their chains. A review may begin in another chain than
/// it ends in, because a keyframe lies between them; then the chains follow one another by a hash.
#[derive(Debug, Default)]
pub(super) struct Chains {
    chains: Vec<(Option<Digest>, Vec<Entry>)>,
    /// The chain of an entry, and its place there.
    places: BTreeMap<(DocumentId, Digest), (usize, usize)>,
}

impl Chains {
    /// Adds what is proved of a chain: the hash before it, and its entries.
    pub(super) fn add(&mut self, id: &DocumentId, previous: Option<Digest>, entries: Vec<Entry>) {
        for (place, entry) in entries.iter().enumerate() {
            let place = (self.chains.len(), place);
            self.places.entry((id.clone(), entry.chain_hash)).or_insert(place);
        }
        self.chains.push((previous, entries));
    }

    /// The review of a version, which is proved and has this text.
    pub(super) fn review(&self, id: &DocumentId, entry: &Entry, text: &str) -> Review {
        let fields = fields_of(id, text);
        if !Reviewed::is_claimed(id, entry, fields.as_ref()) {
            return Ok(None);
        }
        let (history, is_whole) = self.before(id, entry);
        match Reviewed::of(id, &history, entry.version, fields.as_ref()) {
            None if !is_whole => not_proved("the bundle does not have the entries of its review"),
            found => Ok(found),
        }
    }

    /// The entries up to a version as far as a review goes back, and whether they begin with the
    /// first of the history.
    fn before(&self, id: &DocumentId, last: &Entry) -> (History, bool) {
        let (mut entries, mut next) = (Vec::new(), Some(last.chain_hash));
        while let Some(hash) = next
            && let Some((chain, place)) = self.places.get(&(id.clone(), hash))
        {
            let (previous, of_chain) = &self.chains[*chain];
            let most = MOST_ENTRIES - entries.len();
            entries.extend(of_chain[..=*place].iter().rev().take(most).cloned());
            if *place >= most {
                break;
            }
            next = *previous;
        }
        entries.reverse();
        (History::of_entries(entries), next.is_none())
    }
}

/// An entry as a review reads it. Whether it is a step follows from its text or its mark, because no
/// hash covers that it was published. Of a document no diff is kept.
pub(super) fn of_review(id: &DocumentId, entry: &Entry, text: &str) -> Entry {
    let is_step = Reviewed::is_step(id, entry, fields_of(id, text).as_ref());
    let state = if is_step { EntryState::Unpublished } else { entry.state };
    let stored = match id.is_document() {
        true => TextStorage::Keyframe,
        false => entry.stored.clone(),
    };
    Entry { state, stored, ..entry.clone() }
}

fn fields_of(id: &DocumentId, text: &str) -> Option<ReviewFields> {
    let document = id.is_document().then(|| Document::parse(text).ok()).flatten()?;
    ReviewFields::of(&document.frontmatter)
}
