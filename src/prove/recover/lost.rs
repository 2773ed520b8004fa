//! Lost data: versions whose text cannot be rebuilt, and checkpoints that the log no longer
//! contains or no longer vouches for. Recovery cannot restore them; a copy can.

use rayon::prelude::*;

use crate::files::vault::Vault;
use crate::files::vault::git_past::Gone;
use crate::record::chain::error::ChainError;
use crate::record::chain::replay;
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

use crate::write::commit::uncommitted;

/// Maximum number of missing checkpoints at the end of the log that are listed one by one.
const MOST_GONE: usize = 1000;

/// A version that cannot be read.
#[derive(Debug)]
pub(crate) struct LostVersion {
    pub(crate) id: DocumentId,
    pub(crate) version: Version,
    pub(crate) why: ChainError,
}

/// Versions and checkpoints that cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// Versions that the log seals, in byte order of their ids.
    pub(crate) versions: Vec<LostVersion>,
    /// Files that git leaves out of the working copy. Versions that lack only these are not lost.
    pub(crate) left_out: Gone,
    /// Positions of log entries from 1, with the reason. These entries are malformed, do not follow
    /// the one before, or are missing.
    pub(crate) checkpoints: Vec<(usize, String)>,
}

impl Lost {
    /// Returns true if every version and checkpoint can be read.
    pub(crate) fn is_empty(&self) -> bool {
        self.versions.is_empty() && self.checkpoints.is_empty() && self.left_out.count() == 0
    }
}

/// Finds everything that the log seals and the files no longer contain. `faults` are the faults of
/// its hashes ([`Chronicle::hash_faults`](crate::record::checkpoint::chronicle::Chronicle)).
pub(crate) fn lost(vault: &Vault, log: &Log, faults: &[LogError]) -> Lost {
    let mut lost = Lost::default();
    for (n, entry) in log.entries.iter().enumerate() {
        if let Err(fault) = entry {
            lost.checkpoints.push((n + 1, fault.to_string()));
        }
    }
    for fault in faults {
        if let LogError::Hash { number, .. } | LogError::NotCompared { from: number } = fault {
            lost.checkpoints.push((number.count(), fault.to_string()));
        }
    }
    let last = trusted_head::trusted_heads(vault).ok().and_then(|heads| heads.last()).unwrap_or(0);
    let gone = (log.entries.len() + 1..=last).take(MOST_GONE);
    lost.checkpoints.extend(gone.map(|n| (n, format!("the trusted head is checkpoint {last}"))));
    let mut ids = uncommitted::recorded(log);
    // Files that the reference implementation deleted or erased must not be restored.
    ids.retain(|id, versions| {
        log.foreign.retain_present(vault.files(), id, log, versions);
        !versions.is_empty()
    });
    let looked: Vec<Vec<LostVersion>> =
        ids.par_iter().map(|(id, versions)| of_artifact(vault, id, versions)).collect();
    lost.versions = looked.into_iter().flatten().collect();
    if !lost.versions.is_empty() {
        let left_out = vault.gone().clone();
        lost.versions.retain(|lost| !left_out.has_within(&lost.id.history_dir()));
        lost.left_out = left_out;
    }
    lost
}

fn of_artifact(vault: &Vault, id: &DocumentId, versions: &[Version]) -> Vec<LostVersion> {
    let all = |why: &dyn Fn(Version) -> ChainError| {
        let gone = versions.iter();
        gone.map(|n| LostVersion { id: id.clone(), version: *n, why: why(*n) }).collect()
    };
    let history = match replay::load(vault.files(), id) {
        Ok(history) => history,
        Err(ChainError::HistoryUnreadable(why)) => {
            return all(&|_| ChainError::HistoryUnreadable(why.clone()));
        }
        Err(_) => return all(&|_| ChainError::HistoryMissing),
    };
    let mut walk = Walk::new(vault.files(), id, &history);
    let mut lost = Vec::new();
    let mut found = Vec::new();
    while let Some(step) = walk.next() {
        let Ok(recomputed) = step.version else { continue };
        let version = recomputed.entry.version;
        if versions.binary_search(&version).is_ok() {
            found.push(version);
            let is_lost = |why: &ChainError| !matches!(why, ChainError::Forgotten);
            let why = recomputed.wrong.into_iter().find(is_lost);
            lost.extend(why.map(|why| LostVersion { id: id.clone(), version, why }));
        }
    }
    let missing = versions.iter().filter(|version| !found.contains(version));
    lost.extend(missing.map(|version| {
        let why = ChainError::VersionMissing(*version);
        LostVersion { id: id.clone(), version: *version, why }
    }));
    lost
}
