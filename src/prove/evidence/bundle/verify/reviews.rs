//! Finds who submitted and who approved a version of a bundle. The rule of the vault reads it from
//! the entries before the version (REV-20), and uses nothing that no hash covers. Also finds the
//! entries that a promotion made (EVID-30).

use std::collections::BTreeMap;

use super::super::staged::promoted_from;
use super::histories::Part;
use super::{Judged, Verdict, not_proved, unprovable};
use crate::policy::rules::{Reviewed, Versions};
use crate::record::chain::history::{Entry, EntryState, TextStorage};
use crate::record::staging::StagedName;
use crate::text::document::Document;
use crate::text::document::frontmatter::Status;
use crate::text::document::review::ReviewFields;
use crate::values::model::digest::{Digest, Sink as _};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// Maximum number of entries of a review: a hundred approvals, and the entries that they refer to.
const MOST_ENTRIES: usize = 128;

/// Review of a version, `None` if it had none; or the reason why that is not proved.
pub(super) type Review = Result<Option<Reviewed>, (Verdict, String)>;

/// A proved entry, in the form in which a review reads it.
#[derive(Debug)]
pub(super) struct Step {
    entry: Entry,
    /// Hash of the names in an approval in part. The names may be long, and are only compared.
    in_part: Option<Digest>,
    promoted: Option<Promoted>,
    /// True if a checkpoint may have sealed the entry: its text says so, or its
    /// format cannot say so.
    is_published: bool,
}

/// Record in an entry of the staged entry that it was promoted from.
#[derive(Clone, Debug)]
struct Promoted {
    /// Hash of the name of the staged entry, which may be long.
    name: Digest,
    bytes: u64,
    /// Hash of the body.
    body: Digest,
    /// True if the document is derived from another one, for example by a move.
    is_derived: bool,
}

/// Versions of a document up to a given one that all name the same staged entry as their origin.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Version numbers, last first, each with the length and hash of its body.
    pub(super) bodies: Vec<(u64, u64, Digest)>,
    /// True if the version before them has another origin, or does not exist.
    pub(super) is_whole: bool,
    /// True if the first of them created the document, and not from another document.
    pub(super) is_made: bool,
}

/// Entries of a bundle that follow from their chains. If a keyframe is within a review, the review
/// begins in one chain and ends in another; then a hash links the two chains.
#[derive(Debug, Default)]
pub(super) struct Chains {
    chains: Vec<(Option<Digest>, Vec<Step>)>,
    /// Entries of the chains, as they are stored.
    pub(super) parts: Vec<Part>,
    /// Index of the chain of an entry, and its index in that chain.
    places: BTreeMap<(DocumentId, Digest), (usize, usize)>,
}

impl Chains {
    /// Adds the proved part of a chain: the hash before it, and its entries.
    pub(super) fn add(&mut self, id: &DocumentId, previous: Option<Digest>, steps: Vec<Step>) {
        for (place, step) in steps.iter().enumerate() {
            let place = (self.chains.len(), place);
            self.places.entry((id.clone(), step.entry.chain_hash)).or_insert(place);
        }
        self.chains.push((previous, steps));
    }

    /// Returns the review of a version that is proved and has this text.
    pub(super) fn review(&self, id: &DocumentId, entry: &Entry, text: &str) -> Review {
        let fields = fields_of(id, text);
        let fields = fields.as_ref();
        if let Some(source) = fields.and_then(|fields| Reviewed::moved_from(entry, fields)) {
            // No checkpoint leads to the entry that retired a document (HIST-33), nor to the steps
            // before it: anyone could make a chain of the source.
            return unprovable(&format!(
                "the history of {source} records the move, but no checkpoint seals its end"
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

    /// Returns the versions up to this one that name an entry as their origin.
    pub(super) fn run(&self, id: &DocumentId, last: &Entry, name: &StagedName) -> Run {
        let name = Digest::of(name.to_string().as_bytes());
        let (steps, begins) = self.before(id, last);
        let promoted = steps.iter().map_while(|step| {
            let promoted = step.promoted.as_ref().filter(|promoted| promoted.name == name)?;
            Some((step.entry.version, promoted))
        });
        let promoted: Vec<_> = promoted.collect();
        let is_whole = promoted.len() < steps.len() || begins;
        let is_first =
            |(version, from): &(Version, &Promoted)| *version == Version::FIRST && !from.is_derived;
        Run {
            is_made: promoted.last().is_some_and(is_first),
            bodies: promoted.into_iter().map(|(n, of)| (n.0, of.bytes, of.body)).collect(),
            is_whole,
        }
    }

    /// Checks that the history begins with the entries before a version, and that none of
    /// them was published.
    pub(super) fn begin_with(&self, id: &DocumentId, first: &Entry) -> Judged {
        let (mut next, mut number) = (Some(first.chain_hash), first.version);
        while let Some(hash) = next {
            let Some((chain, place)) = self.places.get(&(id.clone(), hash)) else {
                return not_proved(format!(
                    "the bundle does not have the entries before version {number}"
                ));
            };
            let (previous, of_chain) = &self.chains[*chain];
            for step in of_chain[..=*place].iter().rev() {
                number = step.entry.version;
                if step.is_published && number != first.version {
                    return not_proved(format!(
                        "version {number} was published, by a checkpoint that the bundle does not have"
                    ));
                }
            }
            next = *previous;
        }
        Ok(())
    }

    /// Returns the entries up to a version, as far as a review goes back, and true if they begin
    /// with the first entry of the history.
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

/// Converts an entry to the form in which a review reads it. The text or its mark decides whether
/// it is a step, because no hash covers that it was published. The diff of a document is not kept.
pub(super) fn of_review(id: &DocumentId, entry: &Entry, text: &str) -> Step {
    let document = document_of(id, text);
    let is_published =
        document.as_ref().is_none_or(|document| document.frontmatter.status == Status::Published);
    let fields = document.and_then(|document| ReviewFields::of(&document.frontmatter));
    let is_step = Reviewed::is_step(id, entry, fields.as_ref());
    let state = if is_step { EntryState::Unpublished } else { entry.state };
    let stored = match id.is_document() {
        true => TextStorage::Keyframe,
        false => entry.stored.clone(),
    };
    let entry = Entry { state, stored, ..entry.clone() };
    let in_part = fields.filter(ReviewFields::is_partial);
    let in_part = in_part.map(|partial| hash_of(&partial.approved_by));
    Step { entry, in_part, promoted: promoted(id, text), is_published }
}

fn promoted(id: &DocumentId, text: &str) -> Option<Promoted> {
    let (name, body) = promoted_from(id.as_str(), text)?;
    let head = text.get(..text.len() - body.len()).unwrap_or_default();
    Some(Promoted {
        name: Digest::of(name.to_string().as_bytes()),
        bytes: body.len() as u64,
        body: Digest::of(body.as_bytes()),
        is_derived: head.lines().any(|line| line.starts_with("derived_from:")),
    })
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
    ReviewFields::of(&document_of(id, text)?.frontmatter)
}

fn document_of(id: &DocumentId, text: &str) -> Option<Document> {
    id.is_document().then(|| Document::parse(text).ok()).flatten()
}
