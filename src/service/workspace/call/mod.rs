//! One call of a front end: who calls, the vault that is read, the recording, and the notes that go
//! with the answer.
//!
//! A front end turns its words into a question, asks it here, and prints the report of the answer:
//! a command as text or `--json`, a tool as text and structured content. [`Call::record`] records
//! the output before its first byte leaves (`spec/audit.md`, AUDIT-5).
//!
//! `read`, `resolve`, `search`, `list`, `history`, `blame`, `check`, `neighbors`, `diff`, `map`,
//! `packs` (of `pack list`), `replay`, `review` and `verify` are the questions of the verbs of these
//! names (`map` is that of `context`). `restore` prepares files that get an earlier text, and
//! `version` returns the text of one version. `submit` submits texts and decides about them.
//! `draft` and `write` write unpublished texts of a principal, which `own` reads. `source` records
//! results of sources, `stage` lists and promotes them, and `beside` adds them to answers. `sight`
//! detects changes of a reader's vault, `told` names the documents that a writing call may mention,
//! and `work` is the progress of a call.

pub(crate) mod beside;
pub(crate) mod blame;
pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod draft;
mod explained;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod map;
#[cfg(feature = "mcp")]
pub(crate) mod names;
pub(crate) mod neighbors;
mod note;
#[cfg(feature = "mcp")]
pub(crate) mod own;
pub(crate) mod packs;
pub(crate) mod read;
pub(crate) mod replay;
pub(crate) mod resolve;
pub(crate) mod restore;
pub(crate) mod review;
pub(crate) mod search;
#[cfg(feature = "mcp")]
pub(crate) mod sight;
pub(crate) mod source;
pub(crate) mod stage;
pub(crate) mod submit;
mod told;
mod verify;
mod version;
#[cfg(feature = "mcp")]
pub(crate) mod work;
#[cfg(feature = "mcp")]
pub(crate) mod write;

pub(crate) use note::{Note, Weight};

use super::Workspace;
use super::recording::{NotRecorded, Printed, Recording};
use crate::files::vault::Vault;
use crate::read::snapshot::{CheckpointSource, Need, Snapshot, Withheld};
use crate::record::audit::{Labels, Traced};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head::{self, HeadError};
use crate::service::report::event::Acted;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::verb::Verb;
use crate::write::publish::{self, Act, Outcome};

/// A vault and its checkpoints, as a question reads them.
pub(crate) type Places<'p> = (&'p Vault, &'p CheckpointSource);

/// Gets the number of documents that an index has read, and of all, if indexing takes long.
pub(crate) type OnIndexing<'s> = &'s mut dyn FnMut(usize, usize);

/// One call of a front end.
pub(crate) struct Call<'w> {
    /// The vault's folder and the principal who acts.
    pub(crate) workspace: Workspace<'w>,
    /// The record of this call for the access log.
    pub(crate) recording: Recording,
    /// The labels of the caller.
    pub(crate) labels: Labels,
    /// The log that replaces the vault's, if a past command is run again.
    pub(crate) pinned: Option<Log>,
    /// Number of documents that the reader may not read; `None` if reading is not limited.
    pub(crate) may_not_read: Option<usize>,
    /// The progress that other threads can see.
    #[cfg(feature = "mcp")]
    pub(crate) work: Option<std::sync::Arc<work::Work>>,
    notes: Vec<Note>,
}

impl<'w> Call<'w> {
    /// Begins a call with an empty recording.
    pub(crate) fn new(workspace: Workspace<'w>, labels: Labels) -> Self {
        Self {
            workspace,
            recording: Recording::begin(),
            labels,
            pinned: None,
            may_not_read: None,
            #[cfg(feature = "mcp")]
            work: None,
            notes: Vec::new(),
        }
    }

    /// Opens the vault of the call, and makes the recording one of this vault.
    ///
    /// # Errors
    /// The vault does not exist, or its configuration cannot be read.
    pub(crate) fn vault(&mut self) -> Result<Vault, Failure> {
        let vault = self.workspace.vault()?;
        self.recording.is_of(&vault);
        #[cfg(feature = "mcp")]
        if let Some(work) = &self.work {
            work.is_on(&vault);
        }
        Ok(vault)
    }

    /// Opens the source of checkpoints: the index, or the log.
    ///
    /// # Errors
    /// Neither of them can be read.
    pub(crate) fn source(
        &mut self,
        vault: &Vault,
        need: Need,
        on_indexing: OnIndexing<'_>,
    ) -> Result<CheckpointSource, Failure> {
        if let Some(log) = &self.pinned {
            return Ok(CheckpointSource::from(log.clone()));
        }
        let source = CheckpointSource::open(vault, need, on_indexing)?;
        if self.workspace.environment.is_recorded {
            self.recording.reads(vault, &source);
        }
        self.note_lost_head(source.check_head(vault));
        Ok(source)
    }

    /// Reads the log of a vault, for questions that need a valid one.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) fn log(&mut self, vault: &Vault) -> Result<Log, Failure> {
        if let Some(log) = &self.pinned {
            return Ok(log.clone());
        }
        let log = trusted_head::open_log(vault)?;
        if let Ok(chronicle) = log.sound() {
            self.reads(vault, &chronicle);
            self.note_lost_head(trusted_head::check(vault, &chronicle));
        }
        Ok(log)
    }

    /// Records which checkpoints the answer is read from.
    pub(crate) fn reads(&mut self, vault: &Vault, chronicle: &Chronicle<'_>) {
        let head = chronicle.head();
        self.recording.head = head.map(|head| (head.number, head.hash));
        self.recording.head_at = head.map(|head| head.at);
        let sealed = publish::sealed_config(vault, chronicle).ok().flatten();
        sealed.iter().for_each(|config| self.recording.holds(config));
    }

    /// Returns the value, and records the texts of documents in it.
    pub(crate) fn release<T>(&mut self, traced: Traced<T>) -> T {
        traced.release(&mut self.recording.texts)
    }

    /// Notifies the program of the user's configuration of an event, unless the event only
    /// published, and adds a note if that failed.
    ///
    /// The note goes into the report, so this is called before. A report of an event can only be
    /// made from the result, so that no verb can forget the call.
    pub(crate) fn acted(&mut self, vault: &Vault, outcome: Outcome) -> Acted {
        if outcome.act != Act::Publish {
            debug_assert!(
                Verb::of_words(&self.workspace.options.command.verb).is_none_or(Verb::notifies),
                "the row of the verb says that it neither submits nor decides"
            );
            if let Err(why) = self.workspace.notify(vault, &outcome) {
                self.note(Note::NotNotified(why));
            }
            self.note_settings(vault);
        }
        Acted::told(outcome)
    }

    /// Records what was released since the last record, with the output that is about to leave.
    /// `refused`: the code with which governance refused the call.
    ///
    /// # Errors
    /// The access log could not be written.
    pub(crate) fn record(
        &mut self,
        output: &[u8],
        refused: Option<Code>,
    ) -> Result<(), NotRecorded> {
        let recording = std::mem::replace(&mut self.recording, Recording::begin());
        self.workspace.record(recording, self.labels.clone(), &Printed { output, refused })
    }

    /// Adds to the number of withheld documents in the recording.
    pub(crate) fn withholds(&mut self, withheld: &[Withheld]) {
        self.recording.withheld += withheld.len();
    }

    /// Counts the documents that the reader may not read, without naming one.
    ///
    /// # Errors
    /// The state of the checkpoint cannot be read.
    pub(crate) fn count_unreadable(&mut self, snapshot: &Snapshot<'_>) -> Result<(), LogError> {
        let count = snapshot.unreadable_count()?;
        self.recording.unreadable = count;
        self.may_not_read = snapshot.is_limited().then_some(count);
        if count > 0 {
            self.note(Note::Unreadable(count, snapshot.checkpoint()));
        }
        Ok(())
    }

    /// Adds a note for each key of the user's configuration that nothing reads. A misspelt key may
    /// be the reason why a program is not run.
    pub(crate) fn note_settings(&mut self, vault: &Vault) {
        let unknown = self.workspace.unknown_settings(vault).into_iter().take(10);
        self.notes.extend(unknown.map(Note::Setting));
    }

    /// Adds a note, once.
    pub(crate) fn note(&mut self, note: Note) {
        // A too large answer is made again, with the same notes.
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the notes, and removes them.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Returns the notes.
    #[cfg(feature = "mcp")]
    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Forgets the texts of an answer that was not sent and is made again.
    #[cfg(feature = "mcp")]
    pub(crate) fn unsend(&mut self) {
        self.recording.texts.clear();
    }

    fn note_lost_head(&mut self, checked: Result<(), HeadError>) {
        if let Err(why) = checked {
            self.note(Note::LostHead(why.to_string()));
        }
    }
}
