//! The one write path: live file, version, checkpoint (paper, sections 4.5 and 7;
//! `spec/publish.md`).
//!
//! Every command that changes what is published builds one [`Plan`] and commits it: all bytes
//! are computed before the first write, one event gives one checkpoint, and the checkpoint's line
//! is the commit point ([`commit`]). [`artifact`] makes the next version of one document or
//! governance file; this module chooses which ones an event holds.

mod artifact;
mod commit;
mod moved;
mod retire;
mod stamp;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

pub use artifact::{Change, Item, Live};
pub use commit::Committed;
pub use moved::move_document;
pub use retire::retire;

use crate::checkpoint::log::{Append, Checkpoint, Chronicle, Log, LogError};
use crate::checkpoint::state::{Mark, State};
use crate::document::id::{Id, IdError};
use crate::document::validate::{Problem, Severity};
use crate::live;
use crate::vault::clock::Timestamp;
use crate::vault::config::Governance;
use crate::vault::files::FileError;
use crate::vault::lock::LockError;
use crate::vault::principal::Principal;
use crate::vault::{OpenError, Vault};
use crate::words::{count, nearest};

/// Who publishes, when, and with which remark.
#[derive(Clone, Debug)]
pub struct Author {
    /// Recorded as `edited_by`.
    pub principal: Principal,
    /// Put into documents that have no `author`; the principal where this is absent.
    pub author: Option<String>,
    /// The clock.
    pub now: Timestamp,
    /// A remark that no hash covers.
    pub note: Option<String>,
}

/// Which documents a publication takes.
#[derive(Clone, Debug)]
pub enum Which {
    /// These, drafts or not.
    Ids(Vec<Id>),
    /// Every document that has not been retired.
    All,
    /// Published documents whose live file differs and does not say `draft`.
    Changed,
}

/// A new document that is not on disk yet.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// Its id.
    pub id: Id,
    /// Its text.
    pub text: String,
}

/// What a publication is asked to do.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who, when, why.
    pub author: Author,
    /// Which documents.
    pub which: Which,
    /// Leave invalid documents out instead of refusing all.
    pub skip_invalid: bool,
    /// Compute everything, write nothing.
    pub dry_run: bool,
}

/// Why one document cannot be part of an event.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Path of the file in the vault.
    pub path: String,
    /// The reasons, at least one of them an error.
    pub problems: Vec<Problem>,
}

impl Refusal {
    fn new(path: impl Into<String>, code: &'static str, message: String, hint: &str) -> Self {
        let hint = hint.to_owned();
        let problem = Problem { code, severity: Severity::Error, line: None, message, hint };
        Self { path: path.into(), problems: vec![problem] }
    }
}

/// What a publication did, or would do.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The new checkpoint; none where nothing had to be published.
    pub checkpoint: Option<Checkpoint>,
    /// The new versions in byte order of their ids.
    pub items: Vec<Item>,
    /// Documents that already are what the last checkpoint holds.
    pub unchanged: Vec<Id>,
    /// Documents whose file a former publication could not write, and which it is to catch up with.
    pub behind: Vec<(Id, Live)>,
    /// Documents that were not taken, with the reason.
    pub left_out: Vec<(Id, &'static str)>,
    /// Documents that were refused while others were published.
    pub refused: Vec<Refusal>,
    /// Whether it was written, and what could not be brought up to date afterwards.
    pub committed: Option<Committed>,
}

/// Why nothing was published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// Some documents are invalid. Nothing was published.
    #[error("{} refused", count(.0.len(), "file"))]
    Refused(Vec<Refusal>),
    /// The vault is governed.
    #[error("this vault is governed: publication needs a review")]
    Governed,
    /// No document and no history has this id.
    #[error("there is no document `{id}`")]
    UnknownId {
        /// The id.
        id: Id,
        /// An id that exists and looks like it.
        near: Option<String>,
    },
    /// The clock is far behind the last checkpoint.
    #[error("the clock says {now}, but the last checkpoint is of {head}")]
    ClockBehind {
        /// The clock.
        now: Timestamp,
        /// The last checkpoint.
        head: Timestamp,
    },
    /// A file of this name exists.
    #[error("`{0}` exists already")]
    Exists(String),
    /// The id lies where this layout has no documents.
    #[error("`{path}` is not where this vault's layout has documents")]
    Misplaced {
        /// Path of the file.
        path: String,
    },
    /// The log cannot be relied on.
    #[error("the checkpoint log cannot be extended: {0}")]
    Log(#[from] LogError),
    /// Another writer holds the lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The configuration cannot be read.
    #[error(transparent)]
    Config(#[from] OpenError),
    /// The governance files of the last checkpoint cannot be had.
    #[error("`{id}` of the last checkpoint cannot be read: {why}")]
    Policy {
        /// The governance file.
        id: Id,
        /// Why.
        why: crate::chain::replay::ChainError,
    },
    /// Writing failed; what was written has been taken back.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A head this far ahead of the clock stops a publication.
const MAX_AHEAD_MILLIS: i64 = 24 * 3_600_000;

/// The vault as the writer of one event finds it.
struct Desk<'a> {
    vault: &'a Vault,
    chronicle: &'a Chronicle<'a>,
    state: State,
    at: Timestamp,
    author: &'a Author,
}

impl<'a> Desk<'a> {
    fn open(
        vault: &'a Vault,
        chronicle: &'a Chronicle<'a>,
        author: &'a Author,
    ) -> Result<Self, PublishError> {
        chronicle.check_appendable()?;
        let state = chronicle.state_at(chronicle.head_number())?;
        let mut at = author.now;
        if let Some(head) = chronicle.head() {
            if head.at.millis() - at.millis() > MAX_AHEAD_MILLIS {
                return Err(PublishError::ClockBehind { now: at, head: head.at });
            }
            at = at.max(head.at.plus_millis(1));
        }
        if vault.usable_config()?.governance == Governance::Governed
            || sealed_governance(vault, &state)? == Governance::Governed
        {
            return Err(PublishError::Governed);
        }
        Ok(Self { vault, chronicle, state, at, author })
    }

    /// The last sealed version of each of these artifacts, whether or not the head still has it.
    fn last_sealed<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> BTreeMap<&'i Id, u64> {
        let mut wanted: BTreeMap<&Id, u64> = ids.into_iter().map(|id| (id, 0)).collect();
        for checkpoint in self.chronicle.checkpoints() {
            for (id, mark) in &checkpoint.set {
                if let (Some(last), Some(version)) = (wanted.get_mut(id), mark.version) {
                    *last = (*last).max(version);
                }
            }
        }
        wanted.retain(|_, version| *version > 0);
        wanted
    }

    /// Refuses new ids that a file system or a reader may take for another one. A retired id counts:
    /// its history stays.
    fn collisions(&self, items: &[Item]) -> Vec<Refusal> {
        let new: Vec<&Id> = items
            .iter()
            .filter(|item| self.state.get(item.id.as_str()).is_none() && !item.is_retirement())
            .map(|item| &item.id)
            .collect();
        if new.is_empty() {
            return Vec::new();
        }
        let mut taken: BTreeMap<String, BTreeSet<&Id>> = BTreeMap::new();
        let recorded = self.chronicle.checkpoints().iter().flat_map(|c| &c.set);
        let recorded: BTreeSet<&Id> = recorded.map(|(id, _)| id).collect();
        for id in recorded.into_iter().chain(new.iter().copied()) {
            taken.entry(id.folded()).or_default().insert(id);
        }
        let refuse = |id: &&Id| {
            let other = taken.get(&id.folded())?.iter().find(|other| *other != id)?;
            let message = format!("its id and `{other}` differ only in case or Unicode form");
            let hint = "choose another name; a retired id is taken too, because its history stays";
            Some(Refusal::new(id.live_path(), "id-collision", message, hint))
        };
        new.iter().filter_map(refuse).collect()
    }

    /// The event of these items: the checkpoint, and the line that commits it.
    fn seal(mut self, items: &[Item], resealed: &[(Id, Mark)]) -> Option<(Checkpoint, Append)> {
        let greatest = |documents: bool| {
            let ids = items.iter().map(|item| &item.id).chain(resealed.iter().map(|(id, _)| id));
            ids.filter(|id| id.is_document() || !documents).max().cloned()
        };
        let trigger = greatest(true).or_else(|| greatest(false))?;
        let mark = |item: &Item| (item.id.clone(), Mark::new(item.version, item.chain_hash));
        let (retired, set): (Vec<&Item>, Vec<&Item>) =
            items.iter().partition(|item| item.is_retirement());
        let mut set: Vec<(Id, Mark)> =
            set.into_iter().map(mark).chain(resealed.iter().cloned()).collect();
        set.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut removed: Vec<Id> = retired.into_iter().map(|item| item.id.clone()).collect();
        removed.sort_unstable();
        Some(self.chronicle.next(&mut self.state, self.at, trigger, set, removed))
    }
}

/// The governance mode that the last checkpoint seals.
fn sealed_governance(vault: &Vault, state: &State) -> Result<Governance, PublishError> {
    let Ok(id) = crate::vault::layout::CONFIG.parse::<Id>() else {
        return Ok(Governance::Ungoverned);
    };
    match artifact::sealed_text(vault, state, &id) {
        None => Ok(Governance::Ungoverned),
        Some(Err(why)) => Err(PublishError::Policy { id, why }),
        Some(Ok(text)) => {
            let config = crate::vault::config::Config::parse(&text);
            Ok(config.map_or(Governance::Ungoverned, |config| config.governance))
        }
    }
}

/// Publishes documents as one event.
///
/// # Errors
/// Nothing was published; see [`PublishError`].
pub fn publish(vault: &Vault, request: &Request) -> Result<Outcome, PublishError> {
    run(vault, request, &[])
}

/// Creates a document and publishes it, as one event.
///
/// # Errors
/// The file exists, or nothing could be published; the file is then not created.
pub fn add(vault: &Vault, new: NewDocument, request: &Request) -> Result<Outcome, PublishError> {
    check_place(vault, &new.id)?;
    run(vault, request, &[new])
}

/// Refuses a name for a new document that is taken or that this vault would not look at.
///
/// # Errors
/// [`PublishError::Exists`] or [`PublishError::Misplaced`].
pub fn check_place(vault: &Vault, id: &Id) -> Result<(), PublishError> {
    let path = id.live_path();
    if Id::of_document_file(&path).is_err() || !vault.is_document_path(&path) {
        return Err(PublishError::Misplaced { path });
    }
    if vault.files().exists(&path) {
        return Err(PublishError::Exists(path));
    }
    Ok(())
}

/// How an event treats what it cannot take, and whether it is written.
#[derive(Clone, Copy, Debug)]
struct Mode {
    skip_invalid: bool,
    dry_run: bool,
}

/// Runs one event from the lock to the commit. `choose` fills in the versions and says whether
/// changed governance files are an event of their own.
fn event(
    vault: &Vault,
    author: &Author,
    mode: Mode,
    choose: impl FnOnce(&Desk<'_>, &mut Outcome) -> Result<bool, PublishError>,
) -> Result<Outcome, PublishError> {
    let _lock = if mode.dry_run { None } else { Some(vault.lock()?) };
    let log = Log::read(vault)?;
    log.check_against_histories(vault)?;
    let chronicle = log.sound()?;
    let desk = Desk::open(vault, &chronicle, author)?;
    let mut outcome = Outcome::default();
    let policy_alone = choose(&desk, &mut outcome)?;
    let collisions = desk.collisions(&outcome.items);
    outcome.items.retain(|item| !collisions.iter().any(|c| c.path == item.id.live_path()));
    outcome.refused.extend(collisions);
    let mut resealed = Vec::new();
    if policy_alone || !outcome.items.is_empty() {
        resealed = desk.take_governance_along(&mut outcome);
    }
    if !outcome.refused.is_empty() && !mode.skip_invalid {
        return Err(PublishError::Refused(outcome.refused));
    }
    outcome.items.sort_by(|a, b| a.id.cmp(&b.id));
    let sealed = desk.seal(&outcome.items, &resealed);
    if !mode.dry_run {
        let append = sealed.as_ref().map(|(_, append)| append);
        let committed = commit::commit(vault.files(), &outcome.items, &outcome.behind, append)?;
        outcome.committed = Some(committed);
    }
    outcome.checkpoint = sealed.map(|(checkpoint, _)| checkpoint);
    Ok(outcome)
}

fn run(vault: &Vault, request: &Request, new: &[NewDocument]) -> Result<Outcome, PublishError> {
    // A dry run shows everything: what would be refused, and what the others would become.
    let skip_invalid = request.skip_invalid || request.dry_run;
    let mode = Mode { skip_invalid, dry_run: request.dry_run };
    event(vault, &request.author, mode, |desk, outcome| {
        let ids = desk.candidates(&request.which, outcome);
        desk.check_known(&request.which, new)?;
        let last_sealed = desk.last_sealed(&ids);
        let prepare = |id: &Id| {
            let fresh = new.iter().find(|new| new.id == *id).map(|new| new.text.as_str());
            desk.prepare(id, fresh, last_sealed.get(id).copied(), &request.which)
        };
        let prepared: Vec<artifact::Prepared> = ids.par_iter().map(prepare).collect();
        for (id, prepared) in ids.iter().zip(prepared) {
            match prepared {
                artifact::Prepared::Version(item) => outcome.items.push(*item),
                artifact::Prepared::Unchanged => outcome.unchanged.push(id.clone()),
                artifact::Prepared::Behind(live) => outcome.behind.push((id.clone(), live)),
                artifact::Prepared::LeftOut(why) => outcome.left_out.push((id.clone(), why)),
                artifact::Prepared::Refused(refusal) => outcome.refused.push(refusal),
            }
        }
        Ok(!matches!(request.which, Which::Ids(_)))
    })
}

impl Desk<'_> {
    /// Refuses ids that name nothing at all.
    fn check_known(&self, which: &Which, new: &[NewDocument]) -> Result<(), PublishError> {
        let Which::Ids(ids) = which else {
            return Ok(());
        };
        let is_new = |id: &Id| new.iter().any(|new| new.id == *id);
        let files = self.vault.files();
        let exists = |id: &Id| files.exists(&id.live_path()) || files.exists(&id.history_path());
        match ids.iter().find(|id| !is_new(id) && !exists(id)) {
            None => Ok(()),
            Some(id) => Err(self.unknown(id)),
        }
    }

    fn unknown(&self, id: &Id) -> PublishError {
        let live = self.vault.documents().documents;
        let live = live.iter().filter_map(|path| path.strip_suffix(".md"));
        let known = self.state.iter().map(|(id, _)| id.as_str()).chain(live);
        PublishError::UnknownId {
            id: id.clone(),
            near: nearest(id.as_str(), known).map(str::to_owned),
        }
    }

    /// The artifacts to look at, each once, in byte order.
    fn candidates(&self, which: &Which, outcome: &mut Outcome) -> Vec<Id> {
        match which {
            Which::Ids(ids) => {
                let ids: BTreeSet<&Id> = ids.iter().collect();
                ids.into_iter().cloned().collect()
            }
            Which::All => {
                let found = self.vault.documents();
                let mut ids = Vec::with_capacity(found.documents.len());
                for path in &found.documents {
                    match Id::of_document_file(path) {
                        Ok(id) => ids.push(id),
                        Err(why) => outcome.refused.push(refused_name(path, &why)),
                    }
                }
                let odd = live::irregular(&found).into_iter();
                outcome
                    .refused
                    .extend(odd.map(|(path, problem)| Refusal { path, problems: vec![problem] }));
                // Published documents whose file is gone are named, not passed over.
                let published = self.state.iter().map(|(id, _)| id).filter(|id| id.is_document());
                ids.extend(published.cloned());
                ids.sort_unstable();
                ids.dedup();
                ids
            }
            Which::Changed => {
                let documents = self.state.iter().map(|(id, _)| id).filter(|id| id.is_document());
                documents.cloned().collect()
            }
        }
    }

    /// Adds the governance files that changed since the last checkpoint, and gives those back
    /// that did not change but that the last checkpoint has lost (the other tool drops them).
    fn take_governance_along(&self, outcome: &mut Outcome) -> Vec<(Id, Mark)> {
        let live: Vec<Id> =
            self.vault.governance_files().iter().filter_map(|path| path.parse().ok()).collect();
        let sealed = self.state.iter().map(|(id, _)| id).filter(|id| !id.is_document()).cloned();
        let mut ids: BTreeSet<Id> = sealed.chain(live).collect();
        ids.retain(|id| !outcome.items.iter().any(|item| item.id == *id));
        let last_sealed = self.last_sealed(&ids);
        let mut resealed = Vec::new();
        for id in &ids {
            match self.prepare_governance(id, last_sealed.get(id).copied()) {
                artifact::Governed::Version(item) => outcome.items.push(*item),
                artifact::Governed::Reseal(mark) => resealed.push((id.clone(), mark)),
                artifact::Governed::Unchanged => {}
                artifact::Governed::Refused(refusal) => {
                    if !outcome.refused.iter().any(|r| r.path == refusal.path) {
                        outcome.refused.push(refusal);
                    }
                }
            }
        }
        resealed
    }
}

pub(crate) fn refused_name(path: &str, why: &IdError) -> Refusal {
    Refusal::new(path, "id-invalid", why.to_string(), "rename the file")
}
