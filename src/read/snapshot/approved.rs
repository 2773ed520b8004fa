//! Approval of the versions that a checkpoint contains, and of the removals up to it (RES-30).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::{Snapshot, Withheld};
use crate::files::vault::config::Config;
use crate::policy::in_force::{File, Sealings, TextInForce};
use crate::policy::rules::Track;
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, History};
use crate::record::chain::replay;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::record::Searched;
use crate::text::selector::{Atom, Expr, StatusFilter};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// Approvals of a checkpoint, judged on first use.
#[derive(Debug, Default)]
pub(super) struct Approvals<'v> {
    /// Judge over the checkpoints of a log.
    of_log: Option<Sealings<'v>>,
    /// Judge over the log, if an index answers but the log had to be read.
    late: OnceLock<Sealings<'static>>,
}

impl<'v> Approvals<'v> {
    /// Makes the approvals of the checkpoints of a log.
    pub(super) fn of_log(checkpoints: Vec<&'v Checkpoint>) -> Self {
        let of_log = Some(Sealings::new(Searched::new(checkpoints)));
        Self { of_log, late: OnceLock::new() }
    }
}

impl Snapshot<'_> {
    /// Returns the judge of this checkpoint. An index has judged most versions; the log is read
    /// only for the others. The settings of a snapshot depend on this method, so it must not
    /// use them.
    fn sealings(&self) -> Result<&Sealings<'_>, LogError> {
        if let Some(sealings) = self.approvals.of_log.as_ref().or(self.approvals.late.get()) {
            return Ok(sealings);
        }
        let log = crate::record::trusted_head::read_log(self.vault)?;
        let chronicle = log.sound()?;
        let until = chronicle.checkpoints().len().min(self.checkpoint.count());
        let records = Searched::gathered(&chronicle.checkpoints()[..until]);
        Ok(self.approvals.late.get_or_init(|| Sealings::new(records)))
    }

    /// Refuses a version that a governed vault published without a valid approval.
    pub(super) fn check_approval(
        &self,
        id: &DocumentId,
        history: &History,
        sealed: (Version, &Digest),
    ) -> Result<(), ChainError> {
        let sealings = self.sealings().map_err(|why| ChainError::Log(Box::new(why)))?;
        let found = sealings.version(self.vault.files(), (id, history), sealed);
        found.map_or(Ok(()), Err)
    }

    /// Returns the fault in the approval of a version that a checkpoint up to this one seals;
    /// `None` for every other version. A retirement has the text of the version that was published
    /// last, so the approval of that version is judged (RES-35).
    pub(crate) fn unapproved(
        &self,
        id: &DocumentId,
        version: Version,
        history: &History,
    ) -> Option<ChainError> {
        let mut entry = history.entry(version)?;
        if id.is_document() && entry.is_retirement() {
            let before = history.entries().take_while(|entry| entry.version < version);
            entry = before.filter(|entry| entry.is_published()).last()?;
        }
        self.check_approval(id, history, (entry.version, &entry.chain_hash)).err()
    }

    /// Returns the reviews of a history up to its end, with the faults of its approvals.
    /// Expects the last checkpoint, because a version that it contains by a valid approval was
    /// not disowned.
    ///
    /// # Errors
    /// Returns the first version that the chain does not vouch for.
    pub(crate) fn track(&self, id: &DocumentId, history: &History) -> Result<Track, ChainError> {
        let files = self.vault.files();
        let is_approved = || {
            // An approval does not depend on the reader.
            let held = self.map.recorded(self, id).ok().flatten();
            // A valid retirement does not approve the text that was published before it.
            let is_new = || !history.entries().any(Entry::is_published);
            held.map_or_else(is_new, |recorded| recorded.is_approved)
        };
        if self.map.index().is_some() && is_approved() {
            return Track::of(files, id, history);
        }
        let sealings = self.sealings().map_err(|why| ChainError::Log(Box::new(why)))?;
        sealings.track(files, id, history)
    }

    /// Returns a snapshot that also serves texts without a valid approval, to explain or prove an
    /// access (RES-35).
    pub(crate) fn explaining(self) -> Self {
        Self { explains: true, ..self }
    }

    /// Returns the message about the fault in the approval of a version.
    pub(crate) fn finding(&self, id: &DocumentId, version: Version) -> Option<String> {
        let history = replay::load(self.vault.files(), id).ok()?;
        self.unapproved(id, version, &history).map(|why| why.to_string())
    }

    /// Returns the text of a governance file that the checkpoint seals, whatever the reader may
    /// read; `None` if it may not be served.
    pub(crate) fn governance_text(&self, id: &DocumentId) -> Option<String> {
        Some(self.own(id)?.ok()?.text)
    }

    /// Returns the fault in the approval of each event of a history up to this checkpoint.
    pub(crate) fn unapproved_events(
        &self,
        id: &DocumentId,
        history: &History,
    ) -> BTreeMap<Version, ChainError> {
        let is_governed = || self.config().is_some_and(Config::is_governed);
        // With an index, the log of an ungoverned vault is not read.
        if self.map.index().is_some() && !is_governed() {
            return BTreeMap::new();
        }
        let sealings = self.sealings().ok();
        sealings.map(|of| of.events(self.vault.files(), (id, history))).unwrap_or_default()
    }

    /// Returns the reason why an artifact is missing that was removed without a valid approval.
    /// Returns `None` if the checkpoint contains it, or it was removed validly.
    pub(super) fn removed_unapproved(&self, id: &DocumentId) -> Option<ChainError> {
        if let Some(at) = self.map.index()
            && !at.lost().contains(&id.as_str())
        {
            return None;
        }
        if !self.may_name(id) {
            return None;
        }
        match self.sealings() {
            Ok(sealings) => sealings.removal(self.vault.files(), id),
            Err(why) => Some(ChainError::Log(Box::new(why))),
        }
    }

    /// Returns the documents that were removed without a valid approval, in byte order of their
    /// ids. The governance files without which the reader is unknown come first.
    pub(crate) fn lost_documents(&self) -> Vec<Withheld> {
        let (files, mut lost) = (self.vault.files(), self.lost_rules());
        let found = match self.map.index() {
            Some(at) if at.lost().is_empty() => return lost,
            _ => match self.sealings() {
                Ok(sealings) => sealings.removals(files),
                Err(_) => return lost,
            },
        };
        let found = found.into_iter().filter(|(id, _)| id.is_document() && self.may_name(id));
        lost.extend(found.map(|(id, why)| Withheld { id, why }));
        lost
    }

    /// Returns the lost documents that a selector may match. Their fields are unknown, like those
    /// of an unreadable document.
    pub(super) fn lost_of(&self, expr: &Expr) -> Vec<Withheld> {
        let mut lost = self.lost_documents();
        lost.retain(|withheld| {
            let covers = |atom: &Atom| match atom {
                Atom::Document(id) => Some(*id == withheld.id),
                Atom::Folder(folder) => Some(withheld.id.as_str().starts_with(folder.as_str())),
                Atom::Status(StatusFilter::Draft | StatusFilter::Staged) => Some(false),
                Atom::Tag(_)
                | Atom::Type(_)
                | Atom::Status(StatusFilter::Published)
                | Atom::Transport(_)
                | Atom::Server(_) => None,
            };
            !withheld.id.is_document() || expr.may_hold(&covers)
        });
        lost
    }

    /// Returns the configuration in force, if it is not the one that the checkpoint contains. The
    /// error is the reason why that one is not in force.
    pub(super) fn config_in_force(
        &self,
        why: Withheld,
    ) -> Result<Option<Result<Config, Config>>, Withheld> {
        if !why.why.is_unapproved() {
            return Err(why);
        }
        let Ok(sealings) = self.sealings() else { return Err(why) };
        match sealings.in_force(self.vault.files()).config_at(self.checkpoint) {
            Some(File::Read(_, config)) => Ok(Some(Ok(config.clone()))),
            Some(File::Invalid(_)) => Ok(Some(Err(Config::default()))),
            Some(File::Retired(_)) | None => Ok(None),
            Some(File::Lost(_)) => Err(why),
        }
    }

    /// Returns the text of `stewards.yaml` in force; `None` if the chain vouches for none.
    pub(super) fn stewards_in_force(&self) -> Option<String> {
        let id = DocumentId::stewards();
        match self.own(&id) {
            Some(Ok(sealed)) => Some(sealed.text),
            None => None,
            Some(Err(why)) if !why.why.is_unapproved() => None,
            Some(Err(_)) => {
                let files = self.vault.files();
                let in_force = self.sealings().ok()?.in_force(files);
                match in_force.text(files, self.checkpoint, &id) {
                    Ok(TextInForce::Sealed { text }) => Some(text),
                    _ => None,
                }
            }
        }
    }
}
