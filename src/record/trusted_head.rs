//! The trusted head: the end of each vault's log as this user last saw it. It is stored outside
//! of the vault, where a process that writes to the vault cannot change it (`spec/verify.md`,
//! section 7).
//!
//! A log only grows. A log that no longer contains the trusted checkpoint was restored to an older
//! state ([`Lost::Rollback`]); a log with another checkpoint in its place was replaced
//! ([`Lost::Fork`]). Writers compare before they write, and a verifier reports. `heads` decides
//! which heads bind a vault, `stored` reads and writes them, and `intent` is the intent record of
//! a writer.

mod heads;
mod intent;
mod merged;
mod stored;

use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::log::Log;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;

pub use heads::{
    Memory, TrustedHead, TrustedHeads, advance, all, forget, forget_everywhere, is_trusted,
    memories, trust, trusted_heads, trusted_heads_in,
};
pub use intent::{
    EventKey, Incomplete, Intent, complete, incomplete, intend, intents, interrupted, withdraw,
};
pub(crate) use merged::{leaves, record_merge};
pub use stored::TrustError;

/// The end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the last checkpoint; 0 for an empty log.
    pub checkpoint: CheckpointNumber,
    /// The hashes of the first and the last checkpoint; `None` for an empty log.
    pub hashes: Option<Hashes>,
}

/// The hashes at both ends of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashes {
    /// The hash of checkpoint 1.
    pub genesis: Digest,
    /// The hash of the last checkpoint.
    pub last: Digest,
}

/// Contradiction between a log and its trusted head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The log no longer has the known checkpoint.
    #[error("the trusted head is checkpoint {checkpoint} ({}), but the log ends at checkpoint {last}", hash.short())]
    Rollback {
        /// The known checkpoint.
        checkpoint: CheckpointNumber,
        /// Its hash.
        hash: Digest,
        /// The last checkpoint of the log.
        last: CheckpointNumber,
    },
    /// The log has another checkpoint in the place of the known one.
    #[error("checkpoint {checkpoint} is trusted with hash {}, but the log has {}", expected.short(), found.short())]
    Fork {
        /// The checkpoint.
        checkpoint: CheckpointNumber,
        /// The known hash.
        expected: Digest,
        /// The hash in the log.
        found: Digest,
    },
}

/// Reason why a writer does not extend a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// The log does not contain the trusted head.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The trusted head cannot be read.
    #[error(transparent)]
    Memory(#[from] TrustError),
}

impl Head {
    /// The end of an empty log.
    pub const NONE: Self = Self { checkpoint: CheckpointNumber::NONE, hashes: None };

    /// Returns the end of a log without faults.
    pub fn of(chronicle: &Chronicle<'_>) -> Self {
        let first = chronicle.checkpoints().first();
        let hashes = first
            .zip(chronicle.head())
            .map(|(first, last)| Hashes { genesis: first.hash, last: last.hash });
        Self { checkpoint: chronicle.head_number(), hashes }
    }

    /// Returns the end of the log after one more checkpoint.
    pub fn after(chronicle: &Chronicle<'_>, next: &Checkpoint) -> Self {
        let genesis = chronicle.checkpoints().first().map_or(next.hash, |first| first.hash);
        let hashes = Some(Hashes { genesis, last: next.hash });
        Self { checkpoint: next.number, hashes }
    }

    /// Returns an error if a log does not contain this head. The log ends at checkpoint `last`, and
    /// `hash_of` returns the hashes of its checkpoints.
    ///
    /// # Errors
    /// Fails with the first contradiction.
    pub fn is_held(
        &self,
        last: CheckpointNumber,
        hash_of: impl Fn(CheckpointNumber) -> Option<Digest>,
    ) -> Result<(), Lost> {
        let Some(known) = self.hashes else {
            return Ok(());
        };
        for (checkpoint, expected) in
            [(CheckpointNumber::FIRST, known.genesis), (self.checkpoint, known.last)]
        {
            if let Some(found) = hash_of(checkpoint).filter(|found| *found != expected) {
                return Err(Lost::Fork { checkpoint, expected, found });
            }
        }
        match hash_of(self.checkpoint) {
            Some(_) => Ok(()),
            None => {
                let (checkpoint, hash) = (self.checkpoint, known.last);
                Err(Lost::Rollback { checkpoint, hash, last })
            }
        }
    }
}

/// Reads the log of a vault. An invalid end is torn if a writer began an event right before it and
/// did not finish it; otherwise it is a fault of the log.
///
/// # Errors
/// Fails like [`Log::read`].
pub fn read_log(vault: &Vault) -> Result<Log, FileError> {
    let mut log = Log::read(vault)?;
    log.excuse_end(|checkpoint, ends| {
        let hashes = ends.map(|(first, last)| Hashes { genesis: first.hash, last: last.hash });
        interrupted(vault, &Head { checkpoint, hashes }).is_some()
    });
    Ok(log)
}

/// Reads the log of a vault for callers that rely on it. If the log seems to be missing, the first
/// event of a new vault may be in progress. It is then read again while no writer works.
///
/// # Errors
/// Fails like [`open_log_locked`].
pub fn open_log(vault: &Vault) -> Result<Log, LogError> {
    match open_log_locked(vault) {
        Err(LogError::Missing { .. }) => {
            let _held_off = vault.hold_off_writers();
            open_log_locked(vault)
        }
        other => other,
    }
}

/// Reads the log of a vault for the holder of the write lock.
///
/// # Errors
/// Fails if the log cannot be read, or is empty although versions were published. Versions of an
/// interrupted first event of a new vault are ignored.
pub fn open_log_locked(vault: &Vault) -> Result<Log, LogError> {
    let log = read_log(vault)?;
    if !(log.is_blank() && interrupted(vault, &Head::NONE).is_some()) {
        log.check_against_histories(vault)?;
    }
    Ok(log)
}

/// Refuses a log that does not contain the trusted head.
///
/// # Errors
/// See [`HeadError`].
pub fn check(vault: &Vault, chronicle: &Chronicle<'_>) -> Result<(), HeadError> {
    vouches_for(vault, chronicle).map(|_| ())
}

/// Returns true if a trusted head vouches for a log; false if no head is trusted.
///
/// # Errors
/// As [`check`].
pub fn vouches_for(vault: &Vault, chronicle: &Chronicle<'_>) -> Result<bool, HeadError> {
    let is_merged = |head: &Head| leaves(vault, chronicle, head).is_some();
    compare(vault, chronicle.head_number(), |number| chronicle.hash_of(number), is_merged)
}

/// Returns true if a trusted head vouches for a log that ends at checkpoint `last`, and whose
/// checkpoints have the hashes that `hash_of` returns; false if no head is trusted.
///
/// # Errors
/// As [`check`].
pub fn vouches(
    vault: &Vault,
    last: CheckpointNumber,
    hash_of: impl Fn(CheckpointNumber) -> Option<Digest>,
) -> Result<bool, HeadError> {
    let is_merged = |head: &Head| {
        let log = read_log(vault);
        let chronicle = log.as_ref().ok().and_then(|log| log.sound().ok());
        chronicle.is_some_and(|chronicle| leaves(vault, &chronicle, head).is_some())
    };
    compare(vault, last, hash_of, is_merged)
}

fn compare(
    vault: &Vault,
    last: CheckpointNumber,
    hash_of: impl Fn(CheckpointNumber) -> Option<Digest>,
    is_merged: impl Fn(&Head) -> bool,
) -> Result<bool, HeadError> {
    let mut is_vouched = false;
    for known in trusted_heads(vault)?.binding() {
        match known.head.is_held(last, &hash_of) {
            Err(why) if !is_merged(&known.head) => return Err(why.into()),
            _ => is_vouched = true,
        }
    }
    Ok(is_vouched)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(of: &str, length: u64) -> Vec<Digest> {
        (1..=length).map(|n| Digest::of(format!("{of}{n}").as_bytes())).collect()
    }

    fn end(log: &[Digest]) -> Head {
        let hashes = log.first().zip(log.last());
        let hashes = hashes.map(|(first, last)| Hashes { genesis: *first, last: *last });
        Head { checkpoint: CheckpointNumber::of_count(log.len()), hashes }
    }

    fn held(known: Head, log: &[Digest]) -> String {
        let hash_of = |n: CheckpointNumber| log.get(n.count() - 1).copied();
        match known.is_held(CheckpointNumber::of_count(log.len()), hash_of) {
            Ok(()) => "held".to_owned(),
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn head_is_held_by_a_log_that_only_grew() {
        assert_eq!(held(end(&[]), &log("a", 3)), "held");
        assert_eq!(held(end(&[]), &[]), "held");
        for length in 1..5 {
            assert_eq!(held(end(&log("a", length)), &log("a", 4)) == "held", length <= 4);
        }
    }

    #[test]
    fn head_reports_a_shorter_log_as_rollback_and_another_as_fork() {
        let known = end(&log("a", 3));
        insta::assert_snapshot!(held(known, &log("a", 2)), @"the trusted head is checkpoint 3 (f46dd28a5499), but the log ends at checkpoint 2");
        insta::assert_snapshot!(held(known, &[]), @"the trusted head is checkpoint 3 (f46dd28a5499), but the log ends at checkpoint 0");
        insta::assert_snapshot!(held(known, &log("b", 2)), @"checkpoint 1 is trusted with hash f55ff16f66f4, but the log has 7dc96f776c84");
        let mut other = log("a", 3);
        other[2] = Digest::of(b"other");
        insta::assert_snapshot!(held(known, &other), @"checkpoint 3 is trusted with hash f46dd28a5499, but the log has d9298a10d1b0");
    }
}
