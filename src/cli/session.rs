//! What every verb needs: the workspace, the streams, and warnings about the vault itself.

use std::cell::RefCell;
use std::io::Read;

use super::ui::{Ui, shown};
use super::{Acting, Answer, Locking, document};
use crate::audit::{Change, Labels, Traced};
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::log::Log;
use crate::govern::{self, Outcome};
use crate::report::failure::{Code, Failure};
use crate::resolve::{CheckpointSource, Need, Snapshot, Withheld};
use crate::trust::{self, HeadError};
use crate::vault::Vault;
use crate::words::count;
use crate::workspace::Workspace;
use crate::workspace::recording::{NotRecorded, Printed, Recording};

/// One command at work.
pub(super) struct Session<'w> {
    pub(super) ui: Ui<'w>,
    pub(super) workspace: Workspace<'w>,
    pub(super) stdin: &'w mut dyn Read,
    /// What is to be recorded of it.
    pub(super) recording: Recording,
    /// Who asks.
    pub(super) labels: Labels,
    /// The log that is read in place of the vault's, where a past command is run again.
    pub(super) pinned: Option<Log>,
}

impl Session<'_> {
    /// The vault of a verb; what it hands out, or is refused, is recorded of it.
    pub(super) fn vault(&mut self) -> Result<Vault, Failure> {
        let vault = self.workspace.vault()?;
        self.ui.is_about(&vault);
        self.recording.is_of(&vault);
        Ok(vault)
    }

    /// A value that holds texts of documents, which are recorded before the report leaves.
    pub(super) fn release<T>(&mut self, traced: Traced<T>) -> T {
        traced.release(&mut self.recording.texts)
    }

    /// Records what was released so far, before the first byte of it leaves (AUDIT-5): a verb that
    /// writes texts into files calls it before the first one; of all others it is called at the end.
    /// `refused`: with which code governance refused the command.
    ///
    /// # Errors
    /// It was not recorded, and the vault has every access durable: the report is dropped.
    pub(super) fn record(&mut self, refused: Option<Code>) -> Result<(), Failure> {
        let recording = std::mem::replace(&mut self.recording, Recording::begin());
        let is_required = recording.must_be_durable() && refused.is_none();
        let printed = Printed { output: self.ui.held(), refused };
        match self.workspace.record(recording, self.labels.clone(), &printed) {
            Err(why) if is_required => {
                self.ui.discard();
                Err(why.into())
            }
            Err(why) => {
                let hint = match &why {
                    NotRecorded::NoPlace | NotRecorded::NamedPlace { .. } => String::new(),
                    NotRecorded::Append { .. } => format!("; {}", why.hint()),
                };
                self.ui.note(&format!("warning: the access was not recorded: {why}{hint}"));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Keeps in mind what is withheld from the answer, and gives how the verb ends.
    pub(super) fn answer(&mut self, withheld: &[Withheld]) -> Answer {
        self.recording.withheld += withheld.len();
        document::note_withheld(self, withheld);
        Answer::of(withheld)
    }

    /// Says how many documents the reader may not read, without naming one; before the report, which
    /// has the number in JSON.
    pub(super) fn note_unreadable(&mut self, snapshot: &Snapshot<'_>) {
        self.recording.unreadable = snapshot.unreadable_count();
        self.ui.may_not_read = snapshot.is_limited().then_some(self.recording.unreadable);
        if self.recording.unreadable > 0 {
            let what = count(self.recording.unreadable, "document");
            let at = snapshot.checkpoint();
            self.ui.note(&format!("note: {what} of checkpoint {at} may not be read by you"));
        }
    }

    /// The vault of a verb that records who acts.
    pub(super) fn acting(&mut self, acting: &Acting) -> Result<Vault, Failure> {
        self.locking(&acting.lock)
    }

    /// The vault of a verb that takes the write lock.
    pub(super) fn locking(&mut self, locking: &Locking) -> Result<Vault, Failure> {
        self.workspace.options.lock_timeout = locking.lock_timeout;
        self.vault()
    }

    /// Records a change that made no checkpoint, if there was one, and what an interrupted command
    /// did not record.
    pub(super) fn changed(&mut self, vault: &Vault, change: Option<Change>) {
        if let Err(why) = self.workspace.record_change(vault, change) {
            let why = why.to_string();
            self.ui.warn(&format!("the change log lacks this command: {}", shown(&why)));
        }
    }

    /// Tells the program of the user's configuration what was submitted or decided.
    pub(super) fn notify(&mut self, vault: &Vault, outcome: &Outcome, what: (&str, Option<&str>)) {
        if let Err(why) = self.workspace.notify(vault, outcome, what) {
            let why = shown(&why).into_owned();
            self.ui.note(&format!("warning: recorded, but the notification failed: {why}"));
        }
        self.warn_of_settings(vault);
    }

    /// Warns of keys of the user's configuration that nothing reads: a program that they were to name
    /// is not run.
    pub(super) fn warn_of_settings(&mut self, vault: &Vault) {
        for unknown in self.workspace.unknown_settings(vault).iter().take(10) {
            self.ui.note(&format!("warning: {}", shown(unknown)));
        }
    }

    /// Warns where the nearest vault is inside of another one, which the user may mean.
    pub(super) fn warn_of_nested(&mut self) {
        if let Some((inner, outer)) = self.workspace.nested() {
            let (inner, outer) = (inner.display().to_string(), outer.display().to_string());
            let (inner, outer) = (shown(&inner), shown(&outer));
            self.ui.note(&format!(
                "warning: the vault `{inner}` is inside the vault `{outer}`; choose one with `--vault`"
            ));
        }
    }

    /// Where the checkpoints of a vault are read from: the index, or the log.
    pub(super) fn source(
        &mut self,
        vault: &Vault,
        need: Need,
    ) -> Result<CheckpointSource, Failure> {
        if let Some(log) = &self.pinned {
            return Ok(CheckpointSource::from(log.clone()));
        }
        let mut line = self.ui.progress();
        let source = CheckpointSource::open(vault, need, &mut |done, all| {
            line.tell(|| format!("indexing: {done} of {}", count(all, "document")));
        })?;
        drop(line);
        if self.workspace.environment.is_recorded {
            self.recording.reads(vault, &source);
        }
        self.warn_of_lost_head(source.check_head(vault));
        Ok(source)
    }

    /// The log of a vault, for verbs that rely on it.
    pub(super) fn log(&mut self, vault: &Vault) -> Result<Log, Failure> {
        if let Some(log) = &self.pinned {
            return Ok(log.clone());
        }
        let log = trust::open_log(vault)?;
        if let Ok(chronicle) = log.sound() {
            self.reads(vault, &chronicle);
            self.warn_of_lost_head(trust::check(vault, &chronicle));
        }
        Ok(log)
    }

    /// Keeps in mind what is recorded of an answer from these checkpoints.
    pub(super) fn reads(&mut self, vault: &Vault, chronicle: &Chronicle<'_>) {
        let head = chronicle.head();
        self.recording.head = head.map(|head| (head.number, head.hash));
        self.recording.head_at = head.map(|head| head.at);
        let sealed = govern::sealed_config(vault, chronicle).ok().flatten();
        sealed.iter().for_each(|config| self.recording.holds(config));
    }

    /// Runs a search that may tell on a terminal what it reads into its index.
    pub(super) fn with_search<T>(
        &mut self,
        ask: impl FnOnce(&Workspace<'_>, &dyn Fn(usize)) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let line = RefCell::new(self.ui.progress());
        let on_slow = |documents| {
            let what = count(documents, "document");
            line.borrow_mut().tell(|| format!("reading {what} into the search index"));
        };
        ask(&self.workspace, &on_slow)
    }

    /// Warns where a reader answers from a log that does not hold the trusted head.
    fn warn_of_lost_head(&mut self, checked: Result<(), HeadError>) {
        if let Err(why) = checked {
            self.ui.warn(&format!("the log may be truncated or replaced: {why}; run `ctx verify`"));
        }
    }
}
