//! The session of a verb: the workspace, the streams, and warnings about the vault itself.

use std::cell::RefCell;
use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use super::failure::command;
use super::ui::{Ui, shown};
use super::{Answer, Locking, document};
use crate::files::vault::Vault;
use crate::files::vault::left_out::Reason;
use crate::read::snapshot::{CheckpointSource, Need, Snapshot, Withheld};
use crate::record::audit::Change;
use crate::record::checkpoint::log::Log;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::{Report, Spell};
use crate::service::workspace::Workspace;
use crate::service::workspace::call::{Call, Note, Weight};
use crate::service::workspace::recording::NotRecorded;
use crate::service::workspace::search::OnSlow;
use crate::values::model::hint::Mode;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::text_util::count;

/// One command at work: a call, and the streams of a process. A verb asks the call as if it were
/// the session.
pub(super) struct Session<'w> {
    pub(super) ui: Ui<'w>,
    pub(super) call: Call<'w>,
    pub(super) stdin: &'w mut (dyn Read + Send),
    /// The folder of logs that the user named.
    pub(super) named_logs: Option<PathBuf>,
}

impl<'w> Deref for Session<'w> {
    type Target = Call<'w>;

    fn deref(&self) -> &Call<'w> {
        &self.call
    }
}

impl DerefMut for Session<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.call
    }
}

impl<'w> Session<'w> {
    /// The vault of a verb; what it hands out, or is refused, is recorded of it.
    pub(super) fn vault(&mut self) -> Result<Vault, Failure> {
        let vault = self.call.vault()?;
        self.ui.is_about(&vault);
        Ok(vault)
    }

    /// Warns if a clone of the repository lacks the record of these artifacts or has other bytes.
    pub(super) fn warn_of_clones<'i>(
        &mut self,
        vault: &Vault,
        ids: impl IntoIterator<Item = &'i DocumentId>,
    ) {
        let warnings = self.call.workspace.clone_warnings(vault, ids);
        warnings.iter().for_each(|warning| self.ui.warn(warning));
    }

    /// Asks a question, while a search may show the progress of its index on a terminal.
    pub(super) fn ask<T>(
        &mut self,
        ask: impl FnOnce(&mut Call<'w>, OnSlow<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let answer = self.ask_quietly(ask);
        self.tell();
        answer
    }

    /// Asks a question, and keeps the notes on its answer for [`Session::tell`].
    pub(super) fn ask_quietly<T>(
        &mut self,
        ask: impl FnOnce(&mut Call<'w>, OnSlow<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let line = RefCell::new(self.ui.progress());
        let on_slow = |documents| {
            let what = count(documents, "document");
            line.borrow_mut().tell(|| format!("reading {what} into the search index"));
        };
        ask(&mut self.call, &on_slow)
    }

    /// Prints the notes of the call.
    pub(super) fn tell(&mut self) {
        self.ui.may_not_read = self.call.may_not_read;
        // No note names a call that depends on the mode of the vault.
        let spell = Spell::new(command, Mode::Publishes);
        for note in self.call.take_notes() {
            let text = note.text(spell);
            match note.weight() {
                Weight::Damage => self.ui.warn(&text),
                Weight::Warning => self.ui.note(&format!("warning: {text}")),
                Weight::Remark => self.ui.note(&format!("note: {text}")),
            }
        }
    }

    /// Records what was released so far, before the first byte of it leaves (AUDIT-5): a verb that
    /// writes texts into files calls it before the first one; of all others it is called at the end.
    /// `refused`: with which code governance refused the command.
    ///
    /// # Errors
    /// The access was not recorded, and the vault requires that: the report is dropped.
    pub(super) fn record(&mut self, refused: Option<Code>) -> Result<(), Failure> {
        self.record_output(None, refused)
    }

    /// Records what is printed: the text of a failure, or the report.
    fn record_output(
        &mut self,
        failure: Option<&str>,
        refused: Option<Code>,
    ) -> Result<(), Failure> {
        let output = failure.map_or_else(|| self.ui.held(), str::as_bytes);
        let is_required = self.call.recording.must_be_durable() && refused.is_none();
        match self.call.record(output, refused) {
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

    /// Records the texts that a failure has, before it is printed.
    ///
    /// # Errors
    /// As [`Session::record`].
    pub(super) fn record_failure(&mut self, failure: &Failure) -> Result<(), Failure> {
        let text = self.ui.failure_text(failure);
        self.record_output(Some(&text), None)
    }

    /// Keeps in mind what is withheld from the answer, and gives how the verb ends.
    pub(super) fn answer(&mut self, withheld: &[Withheld]) -> Answer {
        self.call.withholds(withheld);
        document::note_withheld(self, withheld);
        Answer::of(withheld)
    }

    /// Says how many documents the reader may not read, without naming one; before the report, which
    /// has the number in JSON.
    ///
    /// # Errors
    /// The state of the checkpoint is unknown.
    pub(super) fn note_unreadable(&mut self, snapshot: &Snapshot<'_>) -> Result<(), Failure> {
        self.call.count_unreadable(snapshot)?;
        self.tell();
        Ok(())
    }

    /// Notes Markdown files that are not documents because of their folder, which a command that found
    /// no document may be expected to name.
    pub(super) fn note_outside_layout(&mut self, vault: &Vault) {
        let mut found = vault.left_out();
        found.retain(|file| file.why == Reason::OutsideLayout);
        if !found.is_empty() {
            let files = count(found.len(), "Markdown file");
            let (are, them) = if found.len() == 1 { ("is", "it") } else { ("are", "them") };
            self.ui.note(&format!(
                "note: {files} {are} not in nodes/ or sources/: `ctx status --ignored` lists {them}"
            ));
        }
    }

    /// The vault of a verb that takes the write lock.
    pub(super) fn locking(&mut self, locking: &Locking) -> Result<Vault, Failure> {
        self.call.workspace.options.lock_timeout = locking.lock_timeout;
        self.vault()
    }

    /// Records a change that made no checkpoint, if there was one, and what an interrupted command
    /// did not record: returns the checkpoints of that, or `None` if something was not recorded.
    pub(super) fn changed(
        &mut self,
        vault: &Vault,
        change: Option<Change>,
    ) -> Option<Vec<CheckpointNumber>> {
        let recorded = self.workspace.record_change(vault, change);
        if let Err(why) = &recorded {
            self.call.note(Note::NoChange(why.to_string()));
            self.tell();
        }
        recorded.ok()
    }

    /// Warns of keys of the user's configuration that nothing reads: a program that they were to name
    /// is not run.
    pub(super) fn warn_of_settings(&mut self, vault: &Vault) {
        self.call.note_settings(vault);
        self.tell();
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
        let mut line = self.ui.progress();
        let source = self.call.source(vault, need, &mut |done, all| {
            line.tell(|| format!("indexing: {done} of {}", count(all, "document")));
        });
        drop(line);
        self.tell();
        source
    }

    /// The log of a vault, for verbs that rely on it.
    pub(super) fn log(&mut self, vault: &Vault) -> Result<Log, Failure> {
        let log = self.call.log(vault);
        self.tell();
        log
    }

    /// Runs a search that may tell on a terminal what it reads into its index.
    pub(super) fn with_search<T>(
        &mut self,
        ask: impl FnOnce(&Workspace<'_>, OnSlow<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.ask(|call, on_slow| ask(&call.workspace, on_slow))
    }

    /// Prints a report: as JSON, or as the text that `text` prints.
    pub(super) fn print<R: Report>(&mut self, report: &R, text: impl FnOnce(&mut Self, &R)) {
        match self.ui.json {
            true => self.ui.report(report),
            false => text(self, report),
        }
    }
}
