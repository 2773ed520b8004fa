//! Where a snapshot is taken from: an index that is as new as the log, or the log itself.

use std::path::Path;

use crate::checkpoint::log::{Log, LogError};
use crate::index::{self, Damaged, Index};
use crate::vault::Vault;

/// What a vault's checkpoints are read from.
#[derive(Debug)]
pub enum Source {
    /// The index in the user's cache, which was made from exactly the log that is there.
    Index(Index),
    /// The log.
    Log(Log),
}

/// What a command will ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Which version of an artifact is published.
    Versions,
    /// Also which documents have a field: without an index every document is read for that, so that
    /// it is worth making one.
    Fields,
}

impl Source {
    /// Opens the source for questions about a checkpoint, or about the last one. `cache` is the
    /// vault's folder in the user's caches; `at_work` is told how many of how many documents were
    /// read while an index is made.
    ///
    /// # Errors
    /// There is no usable index, and the log cannot be relied on.
    pub fn open(
        vault: &Vault,
        cache: Option<&Path>,
        at: Option<u64>,
        need: Need,
        at_work: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, LogError> {
        let asked = |index: &Index| at.unwrap_or(index.head());
        let knows = |index: &Index| index.at(asked(index)).is_ok_and(|at| at.is_some());
        if let Some(index) = cache.and_then(|dir| Index::open(dir, vault)) {
            match index.at(asked(&index)) {
                Ok(Some(_)) => return Ok(Self::Index(index)),
                // There is no such checkpoint, which the index knows as well as the log does.
                Ok(None) if asked(&index) > index.head() => return Ok(Self::Index(index)),
                // A past whose hashes nobody recomputed is read from the log.
                Ok(None) => return Self::log(vault),
                Err(Damaged) => index.discard(),
            }
        }
        let log = match Self::log(vault)? {
            Self::Log(log) => log,
            index => return Ok(index),
        };
        if let Some(dir) = cache.filter(|dir| need == Need::Fields || Index::lies_in(dir)) {
            let chronicle = log.sound()?;
            chronicle.state_at(chronicle.head_number())?;
            let made = index::refresh(dir, vault, &chronicle, at_work);
            if let Some(index) = made.filter(knows) {
                return Ok(Self::Index(index));
            }
        }
        Ok(Self::Log(log))
    }

    /// The log, which must not be empty where there are histories.
    ///
    /// # Errors
    /// It cannot be read, or is empty though versions were published.
    pub fn log(vault: &Vault) -> Result<Self, LogError> {
        let log = Log::read(vault)?;
        log.check_against_histories(vault)?;
        Ok(Self::Log(log))
    }
}
