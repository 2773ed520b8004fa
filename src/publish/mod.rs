//! The one write path: live file, version, checkpoint (paper, sections 4.5 and 7;
//! `spec/publish.md`).
//!
//! Every command that changes what is published is one event: all bytes are computed before the
//! first write, one event gives one checkpoint, and the checkpoint's line is the commit point.
//! `desk` chooses what an event holds, `artifact` makes the next version of each document or
//! governance file, `stamp` says what publishing does to a text, `commit` writes.

mod artifact;
mod commit;
mod cycles;
mod desk;
mod moved;
mod retire;
mod stamp;

use rayon::prelude::*;

pub use artifact::{Change, Item, Live};
pub use commit::Committed;
pub use moved::move_document;
pub use retire::retire;

use crate::checkpoint::log::{Checkpoint, Log, LogError};
use crate::derived;
use crate::document::id::Id;
use crate::document::validate::{Problem, Severity};
use crate::head::{self, Head, HeadError};
use crate::index;
use crate::vault::clock::Timestamp;
use crate::vault::files::FileError;
use crate::vault::lock::LockError;
use crate::vault::principal::Principal;
use crate::vault::{OpenError, Vault};
use crate::words::count;

use desk::Desk;

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
    /// The log does not hold the head that is remembered of it.
    #[error(transparent)]
    Head(#[from] HeadError),
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
    head::check(vault, &chronicle)?;
    let desk = Desk::open(vault, &chronicle, author)?;
    let mut outcome = Outcome::default();
    let policy_alone = choose(&desk, &mut outcome)?;
    let collisions = desk.collisions(&outcome.items);
    outcome.items.retain(|item| !collisions.iter().any(|c| c.path == item.id.live_path()));
    outcome.refused.extend(collisions);
    desk.refuse_cycles(&mut outcome);
    let mut resealed = Vec::new();
    if policy_alone || !outcome.items.is_empty() {
        resealed = desk.take_governance_along(&mut outcome);
    }
    if !outcome.refused.is_empty() && !mode.skip_invalid {
        return Err(PublishError::Refused(outcome.refused));
    }
    outcome.items.sort_by(|a, b| a.id.cmp(&b.id));
    let is_small = vault.config().index.is_automatic(desk.documents_after(&outcome.items));
    let sealed = desk.seal(&outcome.items, &resealed);
    if !mode.dry_run {
        let append = sealed.as_ref().map(|(_, append)| append);
        let mut committed = commit::commit(vault.files(), &outcome.items, &outcome.behind, append)?;
        if let Some((checkpoint, _)) = &sealed {
            let head = Head::after(&chronicle, checkpoint);
            committed.forgotten = head::advance(vault, &head, author.now).err();
            if let Some(dir) = vault.cache() {
                index::follow(dir, vault, &chronicle, checkpoint);
            }
            if is_small {
                committed.derived = derived::after_publication(vault);
            }
        }
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
