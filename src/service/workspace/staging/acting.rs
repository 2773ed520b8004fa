//! Records acts on entries: lines in the chains, and one in the change log. If an act is
//! interrupted between them, a later command completes it (STAGE-24).

use std::collections::{BTreeMap, BTreeSet};

use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::files::vault::lock::WriteLock;
use crate::prove::recover::CompletedAct;
use crate::record::audit::{Change, Event, Line, Logs, StagedStep, changes};
use crate::record::staging::{self, Act, ActKind, Acting, Chains, EntryRef, LineKind, StagedName};
use crate::service::report::failure::Failure;
use crate::service::workspace::Workspace;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::model::timestamp::Timestamp;

impl Workspace<'_> {
    /// Takes the write lock for an act, and completes an act that was interrupted before.
    ///
    /// # Errors
    /// Another process holds the lock, or something was not recorded.
    pub(super) fn lock_to_act(&self, vault: &Vault) -> Result<WriteLock, Failure> {
        let lock = vault.lock(&self.holder()?)?;
        self.complete_act(vault, true)?;
        Ok(lock)
    }

    /// Records an act durably: its lines in the chains of their sources, and then the line of the
    /// change log, if there is one. The caller holds the lock of [`Self::lock_to_act`]. `made_by`
    /// is the principal of an interrupted command.
    ///
    /// # Errors
    /// Not everything was recorded.
    pub(super) fn record_act(
        &self,
        vault: &Vault,
        (kind, at): (ActKind, Timestamp),
        (step, lines): (StagedStep, BTreeMap<&DocumentId, Vec<LineKind>>),
        made_by: Option<&str>,
    ) -> Result<(), Failure> {
        let (files, is_begun) = (vault.files(), changes::is_begun(vault));
        if is_begun {
            let tails = changes::tails(vault.state());
            let after = tails.last().map(|tail| (tail.writer.to_string(), tail.seq));
            Acting::of((kind, at), &step.staged, self.now()?, after).begin(files)?;
        }
        for (source, lines) in lines {
            staging::append((vault, self.environment.random), source, at, lines)?;
        }
        if is_begun {
            self.record_made_by(vault, Some(kind.change(step)), made_by)?;
            Acting::end(files);
        }
        Ok(())
    }

    /// Adds the missing line of an interrupted act to the change log, as an act of the principal
    /// whom the chain names, and returns the act. If `is_done` is false, writes nothing.
    ///
    /// # Errors
    /// Something could not be read or recorded.
    pub(crate) fn settle_act(
        &self,
        vault: &Vault,
        is_done: bool,
    ) -> Result<Option<CompletedAct>, Failure> {
        let _lock = match is_done && Acting::is_left(vault.files()) {
            true => Some(vault.lock(&self.holder()?)?),
            false => None,
        };
        self.complete_act(vault, is_done)
    }

    fn complete_act(&self, vault: &Vault, is_done: bool) -> Result<Option<CompletedAct>, Failure> {
        let files = vault.files();
        if !Acting::is_left(files) {
            return Ok(None);
        }
        let lacks = match Acting::interrupted(files) {
            Some(mark) if changes::is_begun(vault) => lacking(vault, &mark)?,
            _ => None,
        };
        let completed = lacks.as_ref().and_then(|Lacking { change, .. }| {
            let staged = change.staged()?.staged.clone();
            Some(CompletedAct { action: change.as_str(), staged })
        });
        if is_done {
            if let Some(Lacking { lines, at, change, by }) = lacks {
                for (source, lines) in lines {
                    staging::append((vault, self.environment.random), &source, at, lines)?;
                }
                self.record_made_by(vault, Some(change), Some(&by))?;
            }
            Acting::end(files);
        }
        Ok(completed)
    }
}

/// The missing records of an interrupted act.
struct Lacking {
    /// The act lines of entries that have none.
    lines: BTreeMap<DocumentId, Vec<LineKind>>,
    /// The time of the act.
    at: Timestamp,
    /// The line of the change log.
    change: Change,
    /// The principal of the act.
    by: String,
}

/// Returns the missing records of an interrupted act; `None` if nothing is missing, or if no chain
/// has a line of it, so that it did not happen.
fn lacking(vault: &Vault, mark: &Acting) -> Result<Option<Lacking>, Failure> {
    let (Some((kind, names)), Ok(at)) = (mark.names(), mark.at.parse()) else { return Ok(None) };
    let mut acts: BTreeMap<String, Act> = BTreeMap::new();
    let mut entries: BTreeMap<String, (DocumentId, EntryRef)> = BTreeMap::new();
    let sources: BTreeSet<&DocumentId> =
        names.iter().filter_map(|name| name.source.as_ref()).collect();
    let names: BTreeSet<&StagedName> = names.iter().collect();
    for source in sources {
        let chains = Chains::of_source(vault.files(), source)?.chains;
        for (chain, line) in chains.iter().flat_map(|c| c.lines.iter().map(move |line| (c, line))) {
            let Some((found, act)) = line.kind.act() else {
                let name = StagedName::of(source, &chain.writer, line.seq);
                if let Some(hash) = line.hash.filter(|_| names.contains(&name)) {
                    let (writer, hash) = (chain.writer.to_string(), hash.to_string());
                    let entry = EntryRef { writer, seq: line.seq, hash };
                    entries.insert(name.to_string(), (source.clone(), entry));
                }
                continue;
            };
            let Ok(writer) = act.entry.writer.parse() else { continue };
            let name = StagedName::of(source, &writer, act.entry.seq);
            if found == kind && line.at == mark.at && names.contains(&name) {
                acts.insert(name.to_string(), act.clone());
            }
        }
    }
    // The lines of one act only differ in the entry.
    let Some(Act { principal: Some(by), document, version, reason, .. }) =
        acts.values().next().cloned()
    else {
        return Ok(None);
    };
    acts.retain(|_, act| {
        let is_by = act.principal.as_ref() == Some(&by);
        is_by && (&act.document, act.version, &act.reason) == (&document, version, &reason)
    });
    // An act on several entries is completed for all of them.
    entries.retain(|name, _| !acts.contains_key(name));
    let mut lines: BTreeMap<DocumentId, Vec<LineKind>> = BTreeMap::new();
    for (name, (source, entry)) in entries {
        let (principal, document, reason) = (Some(by.clone()), document.clone(), reason.clone());
        let act = Act { entry, principal, document, version, reason };
        lines.entry(source).or_default().push(kind.line(act.clone()));
        acts.insert(name, act);
    }
    let is_later = |line: &Line| match &mark.after {
        Some((writer, seq)) if *writer == line.writer => line.seq > *seq,
        // All times are in one form, so they can be compared as texts.
        _ => line.at >= mark.began && line.request.principal.as_ref() == Some(&by),
    };
    let logs = Logs::of_changes(vault).and_then(|logs| {
        logs.each(&mut |line| {
            let Event::Change(change) = &line.event else { return };
            if let Some(step) = change.staged()
                && change.as_str() == kind.as_str()
                && is_later(&line)
            {
                step.staged.iter().for_each(|name| drop(acts.remove(name)));
            }
        })
    });
    logs.map_err(FileError::io("read", AUDIT_DIR))?;
    let (staged, document_version) = (acts.into_keys().collect::<Vec<_>>(), version);
    let is_open = !staged.is_empty();
    let step = StagedStep { staged, document, document_version, reason };
    Ok(is_open.then(|| Lacking { lines, at, change: kind.change(step), by }))
}
