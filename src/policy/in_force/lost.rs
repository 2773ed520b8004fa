//! Files of the rules that cannot be read, and what about them is at fault.

use crate::files::vault::config::Config;
use crate::files::vault::files::Files;
use crate::policy::stewards;
use crate::record::chain::error::ChainError;
use crate::record::chain::replay;
use crate::record::chain::vouched;
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::state::Mark;
use crate::values::model::governance_file::GovernanceFile;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// A governance file that decides the rules, but cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct LostRules {
    /// The file.
    pub(crate) id: DocumentId,
    /// Its version in force.
    pub(super) sealed: Sealed,
    /// The versions in force that could not be read when this one was sealed, latest first.
    pub(super) before: Vec<(DocumentId, Sealed)>,
}

/// A version of a governance file that a checkpoint sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    /// The version and its chain hash.
    pub(crate) mark: Mark,
    /// The first checkpoint that seals it.
    pub(crate) since: CheckpointNumber,
}

impl LostRules {
    /// Returns the fault that hides the content of the file.
    pub(crate) fn fault(&self, files: &Files) -> ChainError {
        let of_version = |why| {
            let version = self.sealed.mark.version.unwrap_or_default();
            ChainError::OfVersion(version, Box::new(why))
        };
        match self.sealed.parsed(files, &self.id) {
            Ok(()) => {}
            // These errors name the version, or mean that all versions are lost.
            Err(
                why @ (ChainError::VersionMissing(_)
                | ChainError::HistoryMissing
                | ChainError::HistoryUnreadable(_)
                | ChainError::File(_)),
            ) => return why,
            Err(why) => return of_version(why),
        }
        let before = self.before.iter().map(|(id, sealed)| (id, sealed));
        let mut broken = std::iter::once((&self.id, &self.sealed))
            .chain(before)
            .filter_map(|(id, sealed)| Some((id, sealed.first_broken(files, id)?)));
        of_version(ChainError::Unjudged(match broken.next() {
            Some((id, version)) => format!("version {version} of `{id}` cannot be read"),
            None => "an earlier version does not verify".to_owned(),
        }))
    }
}

impl Sealed {
    /// Checks that the version can be read and parsed.
    ///
    /// # Errors
    /// The chain does not vouch for it, or it cannot be parsed.
    fn parsed(&self, files: &Files, id: &DocumentId) -> Result<(), ChainError> {
        let text = self.text(files, id)?;
        let problem = match id.governance() {
            Some(GovernanceFile::Config) => Config::parse(&text).err().map(|why| why.to_string()),
            _ => stewards::read(&text).problems.first().map(ToString::to_string),
        };
        problem.map_or(Ok(()), |problem| Err(ChainError::Rules(problem)))
    }

    /// Returns the first version of its history, up to it, that cannot be read.
    fn first_broken(&self, files: &Files, id: &DocumentId) -> Option<Version> {
        let own = self.mark.version?;
        if let Ok(history) = replay::load(files, id) {
            let mut walk = Walk::new(files, id, &history);
            while let Some(step) = walk.next() {
                let version = step.slot.version.filter(|version| *version < own);
                let is_broken = step.version.map_or(true, |version| !version.wrong.is_empty());
                if is_broken && version.is_some() {
                    return version;
                }
            }
        }
        self.parsed(files, id).is_err().then_some(own)
    }

    /// Returns the text of the version.
    ///
    /// # Errors
    /// The chain does not vouch for it.
    pub(crate) fn text(&self, files: &Files, id: &DocumentId) -> Result<String, ChainError> {
        let (version, chain_hash) = self.mark.sealed().ok_or(ChainError::HalfSealed)?;
        let history = replay::load(files, id)?;
        let sealed = vouched::sealed(files, id, &history, version, &chain_hash)?;
        Ok(sealed.text)
    }
}
