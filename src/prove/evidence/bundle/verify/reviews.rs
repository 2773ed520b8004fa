//! Who submitted and who approved a version of a bundle, read from the entries before it by the rule
//! of the vault (REV-20), from nothing that no hash covers; and which of these entries a promotion made
//! (EVID-30).

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
    promoted: Option<Promoted>,
    /// Whether a checkpoint may have sealed it: its text says so, or has no place to say it.
    is_published: bool,
}

/// What an entry says of the staged entry that it was promoted from.
#[derive(Clone, Debug)]
struct Promoted {
    /// The hash of its name, which may be long.
    name: Digest,
    bytes: u64,
    /// The hash of the body.
    body: Digest,
    /// Whether the document says that it is derived from another one, as a move does.
    is_derived: bool,
}

/// The versions of a document up to one that all say that they were promoted from one staged entry.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Their numbers, the last first, with length and hash of the body.
    pub(super) bodies: Vec<(u64, u64, Digest)>,
    /// Whether the version before them says otherwise, or there is none.
    pub(super) is_whole: bool,
    /// Whether the document was made with the first of them, and not from another document.
    pub(super) is_made: bool,
}

/// The entries of a bundle that follow from their chains. A review may begin in another chain than
/// it ends in, because a keyframe lies between them; then the chains follow one another by a hash.
#[derive(Debug, Default)]
pub(super) struct Chains {
    chains: Vec<(Option<Digest>, Vec<Step>)>,
    /// The same entries, as they are stored.
    pub(super) parts: Vec<Part>,
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

    /// The versions up to this one that say that they were promoted from an entry.
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

    /// That the history begins with the entries before a version, and that none of them was published;
    /// or why that is not proved.
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
