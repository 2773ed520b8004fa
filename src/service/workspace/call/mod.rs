//! One call of a front end: who asks, the vault that is read, what is to be recorded of it, and what is
//! said beside the answer.
//!
//! A front end turns its words into a question, asks it here, and prints the report of the answer:
//! a command as text or `--json`, a tool as text and structured content. What left is recorded by
//! [`Call::record`], before its first byte does (`spec/audit.md`, AUDIT-5).
//!
//! `read`, `resolve`, `search`, `list`, `history`, `blame`, `check`, `neighbors`, `diff`, `map`,
//! `packs` (of `pack list`), `replay`, `review` and `verify` are the questions of the verbs of these
//! names (`map` is that of `context`). `submit`, `draft` and `write` are acts: what is submitted and
//! decided, and what a principal writes that is not published, which `own` reads. `source` records
//! what a source gave, `stage` lists staged results and promotes one, `beside` is what stands with an
//! answer of them, `sight` whether a reader's vault is as it was, `told` of which documents a call that
//! writes may speak, and `work` how far a call is.

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
#[cfg(feature = "mcp")]
pub(crate) mod own;
pub(crate) mod packs;
pub(crate) mod read;
pub(crate) mod replay;
pub(crate) mod resolve;
pub(crate) mod review;
pub(crate) mod search;
#[cfg(feature = "mcp")]
pub(crate) mod sight;
pub(crate) mod source;
pub(crate) mod stage;
pub(crate) mod submit;
mod told;
mod verify;
#[cfg(feature = "mcp")]
pub(crate) mod work;
#[cfg(feature = "mcp")]
pub(crate) mod write;

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
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::verb::Verb;
use crate::write::publish::{self, Act, Outcome};

/// A vault and its checkpoints, as a question reads them.
pub(crate) type Places<'p> = (&'p Vault, &'p CheckpointSource);

/// Told how many documents an index has read of how many, where that takes long.
pub(crate) type OnIndexing<'s> = &'s mut dyn FnMut(usize, usize);

/// One call at work.
pub(crate) struct Call<'w> {
    /// Where it works, and on whose behalf.
    pub(crate) workspace: Workspace<'w>,
    /// What is to be recorded of it.
    pub(crate) recording: Recording,
    /// Who asks.
    pub(crate) labels: Labels,
    /// The log that is read in place of the vault's, where a past command is run again.
    pub(crate) pinned: Option<Log>,
    /// How many documents the reader may not read; none where reading is not limited.
    pub(crate) may_not_read: Option<usize>,
    /// Where it is seen from.
    #[cfg(feature = "mcp")]
    pub(crate) work: Option<std::sync::Arc<work::Work>>,
    notes: Vec<Note>,
}

/// How a front end says [`Note::NoInstructions`]: true if they are hidden, and if they are absent.
pub(crate) const NO_INSTRUCTIONS: &str = "there are no instructions that you may read";

/// What is said beside an answer, whatever the question was. A front end puts it into its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// The log does not hold the trusted head.
    LostHead(String),
    /// The reader may not read so many documents of this checkpoint.
    Unreadable(usize, CheckpointNumber),
    /// A key of the user's configuration that nothing reads, in words.
    Setting(String),
    /// The change log lacks what was done, and why.
    NoChange(String),
    /// The program of the user's configuration was not told, and why.
    NotNotified(String),
    /// A staging chain of this source is damaged.
    DamagedChain(DocumentId),
    /// Staged results cannot be read, and why.
    NoStaging(String),
    /// The access logs have so many faults, so that accesses may be missing.
    LogFaults(usize),
    /// A staged result of the answer cannot be read, and why.
    NoContent(String),
    /// The checkpoint has no instructions for agents that the reader may read.
    NoInstructions,
    /// The instructions for agents, so many tokens, do not fit into the answer.
    #[cfg(feature = "mcp")]
    LongInstructions(u64),
}

impl<'w> Call<'w> {
    /// A call of which nothing is to be recorded yet.
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

    /// The vault of the call; what it hands out, or is refused, is recorded of it.
    ///
    /// # Errors
    /// There is none, or its configuration cannot be read.
    pub(crate) fn vault(&mut self) -> Result<Vault, Failure> {
        let vault = self.workspace.vault()?;
        self.recording.is_of(&vault);
        #[cfg(feature = "mcp")]
        if let Some(work) = &self.work {
            work.is_on(&vault);
        }
        Ok(vault)
    }

    /// Where the checkpoints of a vault are read from: the index, or the log.
    ///
    /// # Errors
    /// Neither can be read.
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

    /// The log of a vault, for questions that rely on it.
    ///
    /// # Errors
    /// It cannot be read.
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

    /// Keeps in mind what is recorded of an answer from these checkpoints.
    pub(crate) fn reads(&mut self, vault: &Vault, chronicle: &Chronicle<'_>) {
        let head = chronicle.head();
        self.recording.head = head.map(|head| (head.number, head.hash));
        self.recording.head_at = head.map(|head| head.at);
        let sealed = publish::sealed_config(vault, chronicle).ok().flatten();
        sealed.iter().for_each(|config| self.recording.holds(config));
    }

    /// A value that holds texts of documents, which are recorded before the report leaves.
    pub(crate) fn release<T>(&mut self, traced: Traced<T>) -> T {
        traced.release(&mut self.recording.texts)
    }

    /// Tells the program of the user's configuration of an event, unless the event only published, and
    /// notes if that failed. It is called before the report is made, which has the note. A report of an
    /// event takes nothing but the result, so that no verb can forget it.
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

    /// Records what was released so far, with the bytes that are about to leave. `refused`: with
    /// which code governance refused the call. Nothing of it is recorded twice.
    ///
    /// # Errors
    /// It was not recorded.
    pub(crate) fn record(
        &mut self,
        output: &[u8],
        refused: Option<Code>,
    ) -> Result<(), NotRecorded> {
        let recording = std::mem::replace(&mut self.recording, Recording::begin());
        self.workspace.record(recording, self.labels.clone(), &Printed { output, refused })
    }

    /// Keeps in mind how many documents are withheld from the answer.
    pub(crate) fn withholds(&mut self, withheld: &[Withheld]) {
        self.recording.withheld += withheld.len();
    }

    /// Counts the documents that the reader may not read, without naming one.
    ///
    /// # Errors
    /// What the checkpoint holds is not known.
    pub(crate) fn count_unreadable(&mut self, snapshot: &Snapshot<'_>) -> Result<(), LogError> {
        let count = snapshot.unreadable_count()?;
        self.recording.unreadable = count;
        self.may_not_read = snapshot.is_limited().then_some(count);
        if count > 0 {
            self.note(Note::Unreadable(count, snapshot.checkpoint()));
        }
        Ok(())
    }

    /// Notes keys of the user's configuration that nothing reads: a program that they were to name is
    /// not run.
    pub(crate) fn note_settings(&mut self, vault: &Vault) {
        let unknown = self.workspace.unknown_settings(vault).into_iter().take(10);
        self.notes.extend(unknown.map(Note::Setting));
    }

    /// Says something beside the answer.
    pub(crate) fn note(&mut self, note: Note) {
        // An answer that was too large is made again.
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What is to be said beside the answer, and was not taken yet.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// What is to be said beside the answer.
    #[cfg(feature = "mcp")]
    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Forgets the texts of an answer that is made again, and was not sent.
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
