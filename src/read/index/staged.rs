//! Selects the staged entries for a question, without reading everything that is staged (IDX-13
//! to IDX-15).
//!
//! The cache has a row for each line of each chain. Rows are only proposals: the lines that they
//! name are read and checked like any others. The answer contains chains without the lines that the
//! question does not need. So the rules for whole chains also decide the state of an entry. An
//! entry always comes with the acts on it, and a damaged chain is returned as a whole. `row` is the
//! record of a line, `cache` the cache, `chains` compares it with the files, and `chosen` selects.

mod cache;
mod chains;
mod chosen;
mod row;
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests damage chains and caches")]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(crate) use row::{principal_key, session_key};

use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::record::audit::WriterId;
use crate::record::checkpoint::state::Mark;
use crate::record::staging::{Chains, SeenChain, StagedName, damaged_sources};
use crate::values::model::id::DocumentId;
use crate::values::model::timestamp::Timestamp;

use cache::{Kept, SETTLED};
use chains::NotOpened;
use chosen::Ledger;
use row::Key;

/// Facts about an entry before its line is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownEntry<'k> {
    pub(crate) source: &'k DocumentId,
    /// Writer of its chain, and its number.
    place: (&'k WriterId, u64),
    /// Session that consumed the entry.
    pub(crate) session: Key,
    pub(crate) principal: Key,
    /// Hash of its content.
    pub(crate) content: [u8; 32],
    /// Time from which on it may be collected, in milliseconds.
    until: i64,
    /// True if it was collected after that time, which ends it for certain.
    is_collected: bool,
    /// True if another act names it.
    is_acted: bool,
}

impl KnownEntry<'_> {
    /// Returns true if the name is the name of this entry.
    pub(crate) fn is_named(&self, name: &StagedName) -> bool {
        let (writer, seq) = self.place;
        seq == name.line.seq && name.names(self.source, writer, seq)
    }

    /// Returns true if the entry may be live.
    pub(crate) fn may_be_live(&self) -> bool {
        !self.is_collected
    }

    /// Returns true if the entry was collected, and no other act names it.
    pub(crate) fn is_only_collected(&self) -> bool {
        self.is_collected && !self.is_acted
    }

    /// Returns true if the entry may be due for collection.
    pub(crate) fn may_be_due(&self, now: Timestamp) -> bool {
        self.may_be_live() && self.until <= now.millis()
    }
}

/// Further entries that are needed because they share the contents of wanted entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// No further entries.
    Unasked,
    /// Every entry with the same content.
    All,
    /// Enough entries to show whether one claims the content at this time (STAGE-17).
    Claims(Timestamp),
}

/// Selection of entries that a question needs.
pub(crate) struct Wanted<'w> {
    /// Source of the entries; `None` for all sources.
    pub(crate) source: Option<&'w DocumentId>,
    /// Returns true for a wanted entry.
    pub(crate) entries: &'w dyn Fn(&KnownEntry<'_>) -> bool,
    /// Further entries with the same content.
    pub(crate) sharing: Sharing,
    /// Returns true for an entry that is counted if it is live and not wanted.
    pub(crate) counted: &'w dyn Fn(&KnownEntry<'_>) -> bool,
    /// Chains that the last checkpoint binds (STAGE-21).
    pub(crate) bound: &'w BTreeMap<DocumentId, Mark>,
}

/// The chains that answer a question.
#[derive(Debug, Default)]
pub(crate) struct Answering {
    /// Chains, without the lines that the question does not need.
    pub(crate) chains: Chains,
    /// Number of counted live entries of each source that are not in these chains.
    pub(crate) counted: BTreeMap<DocumentId, usize>,
    /// Sources with a damaged chain. All their entries are in the chains.
    pub(crate) damaged: BTreeSet<DocumentId>,
}

impl Answering {
    /// Makes an answer of chains that were read as a whole.
    pub(crate) fn whole(
        chains: Chains,
        bound: (&BTreeMap<DocumentId, Mark>, Option<&DocumentId>),
    ) -> Self {
        let seen: Vec<_> = chains.chains.iter().map(SeenChain::of).collect();
        let damaged = damaged_sources(&seen, &chains.strays, bound);
        drop(seen);
        Self { chains, counted: BTreeMap::new(), damaged }
    }
}

/// Returns the chains that a question needs.
///
/// # Errors
/// Fails if the folder of chains cannot be listed.
pub(crate) fn answering(vault: &Vault, wanted: &Wanted<'_>) -> Result<Answering, FileError> {
    answering_after(vault, wanted, SETTLED)
}

/// Answers like [`answering`]. Stamps of files are trusted if the files were unchanged
/// for `settled`.
fn answering_after(
    vault: &Vault,
    wanted: &Wanted<'_>,
    settled: Duration,
) -> Result<Answering, FileError> {
    let kept = Kept::open(vault, settled);
    let (chains, strays) = match chains::open(vault.files(), kept.as_ref(), wanted.source) {
        Ok(opened) => opened,
        Err(NotOpened::Folder(why)) => return Err(why),
        Err(NotOpened::Cache) => return without(vault, kept.as_ref(), wanted),
    };
    let answered = Ledger::new(vault.files(), kept.as_ref(), chains).and_then(|mut ledger| {
        let damaged = damaged_sources(&ledger.seen(), &strays, (wanted.bound, wanted.source));
        let (chains, counted) = ledger.answer(wanted, &damaged)?;
        let answering = Answering { chains: Chains { chains, strays }, counted, damaged };
        Ok((answering, ledger.chains))
    });
    let Ok((answering, opened)) = answered else {
        return without(vault, kept.as_ref(), wanted);
    };
    if let Some(kept) = &kept {
        kept.keep(&opened, wanted.source);
    }
    Ok(answering)
}

/// Reads whole chains, because the cache is damaged or another program writes to a chain.
fn without(
    vault: &Vault,
    kept: Option<&Kept>,
    wanted: &Wanted<'_>,
) -> Result<Answering, FileError> {
    if let Some(kept) = kept {
        kept.discard();
    }
    let chains = match wanted.source {
        Some(source) => Chains::of_source(vault.files(), source)?,
        None => Chains::read(vault.files())?,
    };
    Ok(Answering::whole(chains, (wanted.bound, wanted.source)))
}
