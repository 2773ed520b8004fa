//! The one write path: live file, version, checkpoint (paper, sections 4.5 and
//! 7; `spec/publish.md`).
//!
//! Every command that publishes is one event: all bytes are computed before the first write, one
//! event makes one checkpoint, and the checkpoint's line is the commit point. `request` describes
//! an event before it runs, and `outcome` afterwards; `transaction` chooses the versions of an
//! event, `artifact` makes the next version of each document or governance file,
//! [`crate::write::commit`] writes.

mod after;
mod artifact;
mod before_event;
mod bound;
mod cycles;
mod draft;
mod governance_files;
mod moved;
mod outcome;
mod request;
mod restore;
mod retire;
pub mod review;
mod step;
mod transaction;

use std::sync::Arc;

use rayon::prelude::*;

pub(crate) use before_event::{RulesUpon, head_named};
pub use draft::{Draft, DraftRequest, Upon, draft};
pub(crate) use governance_files::{adopt, sealed_config};
pub use governance_files::{change_governance_file, set_governance_file};
pub use moved::move_document;
pub use outcome::{Act, Outcome, Recased, Refusal, Unapprovable};
pub use request::{Author, Mode, NewDocument, Request, Which};
pub(crate) use restore::as_edit_of;
pub use restore::{RestoreError, RestoreRequest, RestoredFile, Restoring, Standing, restore};
pub use retire::retire;

use crate::files::vault::files::FileError;
use crate::files::vault::ignored::Rule;
use crate::files::vault::left_out::LeftOut;
use crate::files::vault::lock::LockError;
use crate::files::vault::progress::Phase;
use crate::files::vault::{OpenError, Vault};
use crate::read::snapshot::Withheld;
use crate::record::audit::{ChangeError, changes};
use crate::record::checkpoint::chronicle::{Append, Chronicle};
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::fault::LogError;
use crate::record::trusted_head::{self, EventKey, Head, HeadError, Intent};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::timestamp::Timestamp;
use crate::values::text_util::count;
use crate::write::commit::expect::{self, ExpectError};
use crate::write::commit::{
    self, AfterCommit, Committed, Item, Live, Recovered, SettleError, hint, point,
};

use after::Commit;
use before_event::BeforeEvent;
use bound::Binds;
use governance_files::Includes;
pub(crate) use transaction::MAX_AHEAD_MILLIS;
use transaction::Transaction;

/// The reason for which nothing was published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// Some documents are invalid.
    #[error("{} refused", count(.0.len(), "file"))]
    Refused(Vec<Refusal>),
    /// The vault is governed.
    #[error("this vault is governed: publication needs a review")]
    Governed,
    /// The live configuration says so, and no checkpoint does.
    #[error("the configuration says `governance: governed`, which is not published")]
    GovernedLive,
    /// The vault is not governed, so that nothing is submitted.
    #[error("this vault is not governed: documents are published without a review")]
    Ungoverned,
    /// A rule of reviews does not allow it.
    #[error(transparent)]
    Review(#[from] review::ReviewError),
    /// The id names neither a document nor a history.
    #[error("no document has the id `{id}`")]
    UnknownId {
        /// The id.
        id: DocumentId,
        /// An existing id with a similar spelling.
        near: Option<String>,
    },
    /// The clock is far behind the last checkpoint.
    #[error("the clock shows {now}, but the last checkpoint was made at {head}")]
    ClockBehind {
        /// Time of the clock.
        now: Timestamp,
        /// Time of the last checkpoint.
        head: Timestamp,
    },
    /// The time of the last checkpoint is the last one that can be recorded.
    #[error("the last checkpoint was made at {head}, and no later time can be recorded")]
    ClockEnded {
        /// Time of the last checkpoint.
        head: Timestamp,
    },
    /// A file with this name exists.
    #[error("`{0}` exists already")]
    Exists(String),
    /// The live file is not the one that the writer has read.
    #[error("{}", unread(.path, *.found))]
    Unread {
        /// Path of the file.
        path: String,
        /// True if the file exists.
        found: bool,
    },
    /// The layout of the vault does not allow a document with this id.
    #[error("`{path}` is not a place for documents in the layout of this vault")]
    Misplaced {
        /// Path of the file.
        path: String,
    },
    /// Git ignores the file of the document.
    #[error("git ignores `{path}`, by {rule}")]
    Ignored {
        /// Path of the file.
        path: String,
        /// The rule that ignores it.
        rule: Rule,
    },
    /// The published version is not the one that the writer has read.
    #[error(transparent)]
    Expected(#[from] ExpectError),
    /// The log cannot be relied on.
    #[error("the checkpoint log cannot be extended: {0}")]
    Log(#[from] LogError),
    /// The log does not contain the trusted head.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// Another writer holds the lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The configuration cannot be read.
    #[error(transparent)]
    Config(#[from] OpenError),
    /// The reference implementation would report unedited files as changed.
    #[error(
        "`frontmatter: untouched` is not possible in a vault that the reference implementation shares"
    )]
    SharedUntouched,
    /// The history of an artifact that may await a decision cannot be read.
    #[error("`{}` is withheld: {}", .0.id, .0.why)]
    Withheld(Withheld),
    /// A governance file of the last checkpoint cannot be read.
    #[error("`{id}` of the last checkpoint cannot be read: {why}")]
    Policy {
        /// The governance file.
        id: DocumentId,
        /// The fault of the file.
        why: crate::record::chain::error::ChainError,
    },
    /// A required line of the change log could not be written.
    ///
    /// This is a line that the checkpoint must bind, or that of a step whose writer
    /// was interrupted.
    #[error("the change log: {0}")]
    Unbound(ChangeError),
    /// The line of a comment could not be written, or not be recorded as the last one.
    #[error("the change log: {0}")]
    Comment(ChangeError),
    /// Writing failed; everything written was taken back.
    #[error(transparent)]
    File(#[from] FileError),
}

fn unread(path: &str, found: bool) -> String {
    match found {
        true => {
            format!("`{path}` has unpublished changes that the writer has not read")
        }
        false => format!("`{path}` does not exist, but the writer has read such a file"),
    }
}

impl From<SettleError> for PublishError {
    fn from(why: SettleError) -> Self {
        match why {
            SettleError::Log(why) => why.into(),
            SettleError::Head(why) => why.into(),
            SettleError::File(why) => why.into(),
        }
    }
}

/// Returns true if publication needs a review after the last checkpoint.
///
/// # Errors
/// The configuration in force cannot be read.
pub fn is_governed(vault: &Vault, chronicle: &Chronicle<'_>) -> Result<bool, PublishError> {
    Ok(BeforeEvent::of(vault, chronicle)?.is_governed)
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
    run(vault, request, &[new])
}

/// Refuses the name of a new document if it is taken, or if the vault would ignore the file.
///
/// # Errors
/// [`PublishError::Exists`], [`PublishError::Misplaced`] or [`PublishError::Ignored`].
pub fn check_place(vault: &Vault, id: &DocumentId) -> Result<(), PublishError> {
    check_layout(vault, id)?;
    let path = id.live_path();
    if let Some(rule) = vault.ignore_rule(&path) {
        return Err(PublishError::Ignored { path, rule });
    }
    if vault.files().exists(&path) {
        return Err(PublishError::Exists(path));
    }
    Ok(())
}

/// Refuses the name of a document that the layout of the vault does not allow.
fn check_layout(vault: &Vault, id: &DocumentId) -> Result<(), PublishError> {
    let path = id.live_path();
    match DocumentId::of_document_file(&path).is_err() || !vault.is_document_path(&path) {
        true => Err(PublishError::Misplaced { path }),
        false => Ok(()),
    }
}

/// An event before it runs: its writer, its mode, the documents that it names, and the changed
/// governance files that it includes.
struct Event<'e> {
    author: &'e Author,
    mode: Mode,
    subjects: &'e [&'e DocumentId],
    includes: Includes<'e>,
    gate: Gate,
}

/// The vaults in which an operation is allowed, and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    /// Publishes without a review; not allowed in a governed vault.
    Ungoverned,
    /// Publishes, or submits if the vault is governed.
    Either,
    /// Writes live files only, unless the vault is ungoverned.
    Live,
    /// Makes the vault governed.
    Begins,
    /// Decides about publication in a governed vault.
    Decides,
    /// Makes a step of a review, without a checkpoint.
    Steps,
}

/// Runs one event from the lock to the commit. `choose` adds the versions.
fn event(
    vault: &Vault,
    event: &Event<'_>,
    choose: impl Fn(&mut Transaction<'_>, &mut Outcome) -> Result<(), PublishError>,
) -> Result<Outcome, PublishError> {
    let holder = event.author.holder();
    let _lock = if event.mode.dry_run { None } else { Some(vault.lock(&holder)?) };
    let (log, recovered) = match event.mode.dry_run {
        true => {
            let log = trusted_head::open_log(vault)?;
            trusted_head::check(vault, &log.sound()?)?;
            (log, Recovered::default())
        }
        false => commit::settled_log(vault)?,
    };
    let chronicle = log.sound()?;
    let in_force = BeforeEvent::of(vault, &chronicle);
    if !event.mode.dry_run {
        // Done even if this command fails: pending submissions are found by these lines.
        let in_force = in_force.as_ref().ok();
        let recorder = in_force
            .map_or_else(|| event.author.recorder.under(None), |of| of.recorder(event.author));
        review::catch_up(vault, &chronicle, &recorder, event.author.now)
            .map_err(PublishError::Unbound)?;
    }
    if !matches!(event.gate, Gate::Decides | Gate::Steps) {
        check_expected(vault, &chronicle, event)?;
    }
    let in_force = in_force?;
    in_force.admit(event.gate, vault.config())?;
    let asks_for_roles = match event.gate {
        Gate::Decides | Gate::Steps => true,
        Gate::Either => in_force.is_governed,
        Gate::Ungoverned | Gate::Live | Gate::Begins => false,
    };
    if asks_for_roles {
        in_force.check_rules(vault, &chronicle)?;
    }
    let sealed = in_force.vault(vault, &chronicle, event.includes)?;
    if !event.mode.dry_run {
        match changes::is_begun_at(vault, &chronicle) {
            // If the line cannot be written now, the next writer adds it; a verifier reports it
            // until then.
            true => {
                let recorder = in_force.recorder(event.author);
                let _ = review::catch_up_event(vault, &chronicle, &recorder, event.author.now);
            }
            false => commit::complete(vault, &chronicle),
        }
    }
    let live_mode = vault.config().frontmatter;
    let binds = Binds::of(vault.config());
    let binds = binds.or(sealed.as_ref().map(|vault| Binds::of(vault.config())));
    let vault = sealed.as_ref().unwrap_or(vault);
    let unpublished_mode = Some(live_mode).filter(|mode| *mode != vault.config().frontmatter);
    let mut transaction = Transaction::open(vault, &chronicle, event, Arc::new(in_force))?;
    transaction.binds = binds;
    let mut outcome = Outcome { recovered, unpublished_mode, ..Outcome::default() };
    choose(&mut transaction, &mut outcome)?;
    if matches!(event.gate, Gate::Decides | Gate::Steps) {
        debug_assert!(outcome.items.is_empty() || outcome.act != Act::Publish, "no act is set");
        check_expected(transaction.vault, &chronicle, event)?;
    }
    if transaction.is_step {
        transaction.complete_step(&mut outcome);
        return step::write(&transaction, outcome, event);
    }
    transaction.complete(&mut outcome, event.includes);
    write(transaction, outcome, event)
}

/// Refuses an event whose writer has read another version than the published one.
///
/// Artifacts that the writer may not read are treated as unpublished (REV-25).
fn check_expected(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    event: &Event<'_>,
) -> Result<(), ExpectError> {
    let may_name = review::may_name(vault, chronicle);
    expect::check((vault, chronicle), event.subjects, event.mode.expect, may_name)
}

/// Writes a complete event, unless it is refused or a dry run.
fn write(
    transaction: Transaction<'_>,
    mut outcome: Outcome,
    event: &Event<'_>,
) -> Result<Outcome, PublishError> {
    if !outcome.refused.is_empty() && !event.mode.skip_invalid {
        return Err(PublishError::Refused(outcome.refused));
    }
    let (vault, before, now) = (transaction.vault, transaction.chronicle, event.author.now);
    let lives = outcome.other_lives();
    let documents = transaction.documents_after(&outcome.items);
    let (author, in_force) = (event.author, Arc::clone(&transaction.in_force));
    let sealed = transaction.seal(&outcome.items, |transaction| match event.mode.dry_run {
        true => Ok(Vec::new()),
        false => transaction.bind(&author.recorder, now),
    })?;
    if !event.mode.dry_run {
        let mut committed = match &sealed {
            Some(sealed) => commit_event((vault, before), (&outcome, &lives), event, sealed)?,
            None => point::commit(vault, &outcome.items, &lives, None)?,
        };
        if let Some((checkpoint, _)) = &sealed {
            let commit =
                Commit { vault, before, checkpoint, in_force: &in_force, documents, author };
            let lives = point::lives(&outcome.items, &lives);
            // Both wait for the disk, so they run in parallel.
            let (failures, named) = rayon::join(
                || after::run(&commit),
                || vault.files().sync(&point::names_of(&lives)),
            );
            committed.after = failures;
            // If a file could not be written, the next writer tries again. A file that another
            // process changed is left to that process.
            if named.is_ok() && committed.left_alone.iter().all(|(_, why)| why.is_changed()) {
                hint::remove(vault.files());
                // Without the line the event is not complete: the next writer adds it.
                if committed.after.iter().all(|failure| failure.step != AfterCommit::ChangeLog) {
                    trusted_head::complete(vault, |intent| intent.makes == Some(checkpoint.hash));
                }
            }
        }
        outcome.committed = Some(committed);
    }
    outcome.checkpoint = sealed.map(|(checkpoint, _)| checkpoint);
    Ok(outcome)
}

/// Commits an event under an intent record, which is withdrawn if the whole event is taken back.
fn commit_event(
    (vault, before): (&Vault, &Chronicle<'_>),
    (outcome, lives): (&Outcome, &[(DocumentId, Live)]),
    event: &Event<'_>,
    (checkpoint, append): &(Checkpoint, Append),
) -> Result<Committed, PublishError> {
    let intent = intend((vault, before), event.author, checkpoint.at, Some(checkpoint.hash));
    let at = Some((append, checkpoint.at));
    point::commit(vault, &outcome.items, lives, at).map_err(|why| {
        taken_back(vault, &outcome.items, Some(append), &intent);
        why.into()
    })
}

/// Writes the intent record of an event or a step, with the hash of the checkpoint that it makes.
fn intend(
    (vault, before): (&Vault, &Chronicle<'_>),
    author: &Author,
    at: Timestamp,
    makes: Option<Digest>,
) -> Intent {
    let key = EventKey { at, by: author.principal.to_string() };
    let intent = Intent { upon: Head::of(before), event: key, makes };
    // The last acknowledged commit of an interrupted writer is trusted from here on.
    let holds = |hash: &Digest| before.holds(hash);
    let _ = trusted_head::advance(vault, &intent.upon, holds, author.now);
    let _ = trusted_head::intend(vault, &intent);
    intent
}

/// Withdraws the intent record of an event that failed, if all of it was taken back.
fn taken_back(vault: &Vault, items: &[Item], append: Option<&Append>, intent: &Intent) {
    hint::remove(vault.files());
    // Without remains, the intent record must not explain other uncommitted files later.
    if point::is_taken_back(vault.files(), items, append) {
        trusted_head::withdraw(vault, |left| left.event == intent.event);
    }
}

fn run(vault: &Vault, request: &Request, new: &[NewDocument]) -> Result<Outcome, PublishError> {
    let subjects = request.which.ids();
    let includes = match request.which.is_named() {
        true => Includes::Only(&subjects),
        false => Includes::Changed,
    };
    let mode = request.mode;
    let gate = Gate::Ungoverned;
    let what = Event { author: &request.author, mode, subjects: &subjects, includes, gate };
    event(vault, &what, |transaction, outcome| {
        for new in new {
            check_place(transaction.vault, &new.id)?;
        }
        transaction.check_read(&request.which)?;
        let mut ids = transaction.candidates(&request.which, outcome);
        if matches!(request.which, Which::Changed) {
            outcome.unchanged = transaction.take_unchanged(&mut ids);
        }
        transaction.check_known(&request.which, new)?;
        transaction.prepare_all(&ids, new, &request.which, outcome);
        Ok(())
    })
}

impl Transaction<'_> {
    /// Prepares the next version of each of these artifacts.
    fn prepare_all(
        &self,
        ids: &[DocumentId],
        new: &[NewDocument],
        which: &Which,
        outcome: &mut Outcome,
    ) {
        let last_sealed = self.last_sealed(ids);
        let progress = self.vault.progress();
        progress.begin(Phase::Preparing, ids.len());
        let prepare = |id: &DocumentId| {
            let fresh = new.iter().find(|new| new.id == *id).map(|new| new.text.as_str());
            let prepared = self.prepare(id, fresh, last_sealed.get(id).copied(), which.of(id));
            progress.step();
            prepared
        };
        let prepared: Vec<artifact::Prepared> = ids.par_iter().map(prepare).collect();
        for (id, prepared) in ids.iter().zip(prepared) {
            match prepared {
                artifact::Prepared::Version(item) => outcome.items.push(*item),
                artifact::Prepared::Unchanged => outcome.unchanged.push(id.clone()),
                artifact::Prepared::Behind(live) => outcome.behind.push((id.clone(), live)),
                artifact::Prepared::LeftOut(why) => {
                    outcome.left_out.push(LeftOut::artifact(id, why));
                }
                artifact::Prepared::Refused(refusal) => outcome.refused.push(refusal),
            }
        }
        outcome.unchanged.sort_unstable();
    }
}
