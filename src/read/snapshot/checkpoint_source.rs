//! The source of snapshots: an index that is as new as the log, or the log itself.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use super::{SealedConfig, Snapshot};
use crate::files::vault::Vault;
use crate::files::vault::config::Config;
use crate::policy::in_force::{InForce, LostRules};
use crate::policy::viewer::{Viewer, check_open};
use crate::read::index::{self, At, Damaged, Index, Life};
use crate::record::checkpoint::event::Event;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::log::Log;
use crate::record::checkpoint::record::{Record, Removal, Seal};
use crate::record::checkpoint::state::{Mark, PublishedSet};
use crate::record::trusted_head::{self, HeadError};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// Source of a vault's checkpoints: the index, if there is one, and the log, which is read if the
/// index cannot answer.
#[derive(Debug, Default)]
pub struct CheckpointSource {
    index: Option<Index>,
    log: OnceLock<Log>,
    /// State at the last checkpoint of the log.
    head_state: OnceLock<PublishedSet>,
    /// Configuration that the head seals.
    pub(super) config: SealedConfig,
    /// Viewer, if not every principal may read.
    viewer: OnceLock<Option<Viewer>>,
    /// Head of the index, with the rules in force.
    in_force: OnceLock<Option<(CheckpointNumber, InForce)>>,
    /// True if a trusted head vouches for what is read, once it was compared.
    vouched: OnceLock<bool>,
}

/// Kind of question that a command will ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Which version of an artifact is published.
    Versions,
    /// Also which documents have a field. Without an index, this reads every document, so an index
    /// is made.
    Fields,
}

impl CheckpointSource {
    /// Opens the source of a vault. `at_work` receives the number of documents read and their total
    /// while an index is built.
    ///
    /// # Errors
    /// Fails if the index is missing or unusable, and the log is unreliable.
    pub fn open(
        vault: &Vault,
        need: Need,
        at_work: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, LogError> {
        if let Some(index) = vault.cache().and_then(|dir| Index::open(dir, vault)) {
            return Ok(Self::from(index));
        }
        let source = Self::default();
        let log = source.log(vault)?;
        let wanted = |dir: &&Path| need == Need::Fields || Index::lies_in(dir);
        if let Some(dir) = vault.cache().filter(wanted) {
            let chronicle = log.sound()?;
            source.head_state(vault)?;
            if let Some(index) = index::refresh(dir, vault, &chronicle, at_work) {
                // The log takes memory, and is read again if the index turns out to be damaged.
                return Ok(Self::from(index));
            }
        }
        Ok(source)
    }

    /// Returns the configuration that the head seals; `None` if it seals none, or an
    /// unreadable one.
    ///
    /// # Errors
    /// Fails if the index is missing or unusable, and the log is unreliable.
    pub(crate) fn head_config(&self, vault: &Vault) -> Result<Option<&Config>, LogError> {
        if self.config.get().is_none() {
            // A configuration that the chain does not vouch for is read again.
            Snapshot::whole_of(vault, self, None)?.config();
        }
        Ok(self.config.get().and_then(|read| read.as_ref()?.as_ref().ok()))
    }

    /// Returns the viewer of the head; `None` if every principal may read.
    ///
    /// # Errors
    /// Fails if the log is unreliable, or like [`Viewer::of_log`].
    pub(crate) fn viewer(&self, vault: &Vault) -> Result<Option<Viewer>, LogError> {
        if let Some(known) = self.viewer.get() {
            return Ok(known.clone());
        }
        let found = self.find_viewer(vault)?;
        Ok(self.viewer.get_or_init(|| found).clone())
    }

    /// Returns the rule files that cannot be read at the head, by the index; empty without
    /// an index.
    pub(crate) fn lost_rules(&self, vault: &Vault) -> Vec<LostRules> {
        self.in_force(vault).map_or_else(Vec::new, |(head, in_force)| in_force.lost_at(*head))
    }

    /// Returns the head of the index, with the rules in force at each of its checkpoints.
    fn in_force(&self, vault: &Vault) -> Option<&(CheckpointNumber, InForce)> {
        let find = || {
            let (records, (head, ..)) = self.rules_recorded().zip(self.head(vault))?;
            Some((head, InForce::of(vault.files(), &records)))
        };
        self.in_force.get_or_init(find).as_ref()
    }

    /// The last version of the configuration that a checkpoint sealed.
    fn sealed_config(&self, vault: &Vault) -> Result<Option<Mark>, LogError> {
        let id = DocumentId::config();
        if let Some(record) = self.recorded(&id) {
            return Ok(record.seals.last().map(|seal| seal.mark));
        }
        Ok(self.log(vault)?.sound()?.bound().remove(&id))
    }

    fn find_viewer(&self, vault: &Vault) -> Result<Option<Viewer>, LogError> {
        let is_open = match self.head_config(vault)? {
            // In most vaults, the configuration in force is the one in the head.
            Some(config) => !config.is_limited(),
            None => self.lives(&DocumentId::config()).is_some_and(|lives| lives.is_empty()),
        };
        // A log that no trusted head vouches for may have lost what limits readers.
        let is_vouched = matches!(self.vouched(vault), Ok(true));
        if is_open {
            if !is_vouched {
                check_open(vault, self.sealed_config(vault)?.as_ref())?;
            }
            return Ok(None);
        }
        if is_vouched && let Some((head, in_force)) = self.in_force(vault) {
            return Viewer::upon(vault, *head, in_force);
        }
        Viewer::of_log(vault, &self.log(vault)?.sound()?)
    }

    /// Returns the index at a checkpoint, or at the last one; `None` if the log must answer.
    pub(super) fn index_at(
        &self,
        number: Option<CheckpointNumber>,
    ) -> Result<Option<At<'_>>, LogError> {
        let Some(index) = &self.index else { return Ok(None) };
        let (asked, last) = (number.unwrap_or(index.head()), index.head());
        match index.at(asked) {
            Ok(None) if asked > last || asked == CheckpointNumber::NONE => {
                Err(LogError::Unknown { asked, last })
            }
            Ok(at) => Ok(at),
            Err(Damaged) => {
                index.discard();
                Ok(None)
            }
        }
    }

    /// Returns true if an index answers, so that the log is not read.
    pub(crate) fn is_indexed(&self) -> bool {
        self.index.is_some()
    }

    /// Returns the hash of a checkpoint; `None` if there is no such checkpoint, or no index.
    pub(crate) fn hash_of(&self, number: CheckpointNumber) -> Option<Digest> {
        self.index.as_ref()?.hash_of(number)
    }

    /// Returns the versions of an artifact that an index contains; `None` if the log must answer.
    pub(crate) fn lives(&self, id: &DocumentId) -> Option<Vec<Life>> {
        let index = self.index.as_ref()?;
        index.lives(id.as_str()).inspect_err(|Damaged| index.discard()).ok()
    }

    /// Returns the record of an artifact in the checkpoints; `None` if the log must answer.
    pub(super) fn recorded(&self, id: &DocumentId) -> Option<Record> {
        let index = self.index.as_ref()?;
        let mut record = Record::default();
        let mut lives = self.lives(id)?;
        lives.sort_unstable_by_key(|life| life.born);
        for (n, life) in lives.iter().enumerate() {
            let (at, _) = index.made(life.born)?;
            let mark = Mark::new(life.version, life.chain_hash);
            record.seals.push(Seal { checkpoint: life.born, at, mark });
            // A checkpoint that sets the file does not remove it.
            let is_followed =
                |(ended, _): &(_, _)| lives.get(n + 1).is_some_and(|next| next.born == *ended);
            let removed = life.ended.filter(|ended| !is_followed(ended));
            let removal = removed.map(|(checkpoint, at)| {
                let head = checkpoint.previous();
                Removal { checkpoint, at, head }
            });
            record.removals.extend(removal);
        }
        Some(record)
    }

    /// Returns the records of the configuration and of `stewards.yaml` in the checkpoints; `None`
    /// if the log must answer.
    pub(super) fn rules_recorded(&self) -> Option<HashMap<DocumentId, Record>> {
        let ids = DocumentId::rules().into_iter();
        ids.map(|id| self.recorded(&id).map(|record| (id, record))).collect()
    }

    /// Returns the events of all checkpoints, in numbers.
    ///
    /// # Errors
    /// Fails if the index is missing or unusable, and the log is unreliable.
    pub(crate) fn events(&self, vault: &Vault) -> Result<Vec<Event>, LogError> {
        if let Some(index) = &self.index {
            match index.events() {
                Ok(events) => return Ok(events),
                Err(Damaged) => index.discard(),
            }
        }
        Ok(self.log(vault)?.sound()?.checkpoints().iter().map(|c| Event::from(*c)).collect())
    }

    /// Returns the last checkpoint, its hash and its time; `None` before the first one, or if the
    /// log is not sound.
    pub(crate) fn head(&self, vault: &Vault) -> Option<(CheckpointNumber, Digest, Timestamp)> {
        if let Some(index) = &self.index
            && let Some((at, hash)) = index.made(index.head())
        {
            return Some((index.head(), hash, at));
        }
        let chronicle = self.log(vault).ok()?.sound().ok()?;
        chronicle.head().map(|head| (head.number, head.hash, head.at))
    }

    /// Compares the source with the trusted head of the vault. Readers answer even if this fails,
    /// and report it.
    ///
    /// # Errors
    /// Returns a [`HeadError`] if the head does not match.
    pub fn check_head(&self, vault: &Vault) -> Result<(), HeadError> {
        self.vouched(vault).map(|_| ())
    }

    /// Returns true if a trusted head vouches for what is read; false if no head is trusted.
    fn vouched(&self, vault: &Vault) -> Result<bool, HeadError> {
        if let Some(known) = self.vouched.get() {
            return Ok(*known);
        }
        let is_vouched = match (&self.index, self.log.get()) {
            (Some(index), _) => trusted_head::vouches(vault, index.head(), |n| index.hash_of(n))?,
            (None, Some(log)) => match log.sound() {
                Ok(log) => trusted_head::vouches_for(vault, &log)?,
                Err(_) => false,
            },
            (None, None) => return Ok(false),
        };
        Ok(*self.vouched.get_or_init(|| is_vouched))
    }

    /// Returns the state at the last checkpoint of the log. Its hash is recomputed only once.
    ///
    /// # Errors
    /// Fails if the log is unreliable.
    pub(super) fn head_state(&self, vault: &Vault) -> Result<&PublishedSet, LogError> {
        if let Some(state) = self.head_state.get() {
            return Ok(state);
        }
        let chronicle = self.log(vault)?.sound()?;
        let state = chronicle.state_at(chronicle.head_number())?;
        Ok(self.head_state.get_or_init(|| state))
    }

    /// Returns the log, which must not be empty if there are histories.
    ///
    /// # Errors
    /// Fails if the log cannot be read, or is empty although versions were published.
    pub fn log(&self, vault: &Vault) -> Result<&Log, LogError> {
        if let Some(log) = self.log.get() {
            return Ok(log);
        }
        let log = trusted_head::open_log(vault)?;
        Ok(self.log.get_or_init(|| log))
    }
}

impl From<Log> for CheckpointSource {
    fn from(log: Log) -> Self {
        Self { log: OnceLock::from(log), ..Self::default() }
    }
}

impl From<Index> for CheckpointSource {
    fn from(index: Index) -> Self {
        Self { index: Some(index), ..Self::default() }
    }
}
