//! Which staged entries a question concerns, without reading all that is staged (IDX-13 to IDX-15).
//!
//! The cache has a row for each line of each chain. Rows are proposals: the lines that they name are
//! read and checked like any others, and handed on as chains that lack what the question does not
//! need, so that one set of rules says what became of an entry. An entry is never without the acts
//! upon it, and a chain that is damaged is handed on as a whole. `row` is what is kept of a line,
//! `cache` the cache, `chains` compares it with the files, and `chosen` selects.

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

/// What is known of an entry before its line is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownEntry<'k> {
    /// Its source.
    pub(crate) source: &'k DocumentId,
    /// The writer of its chain, and its number.
    place: (&'k WriterId, u64),
    /// The session that consumed it.
    pub(crate) session: Key,
    /// The principal.
    pub(crate) principal: Key,
    /// The hash of its content.
    pub(crate) content: [u8; 32],
    /// When it may be collected, in milliseconds.
    until: i64,
    /// Whether it was collected after that, which ends it for certain.
    is_collected: bool,
    /// Whether another act names it.
    is_acted: bool,
}

impl KnownEntry<'_> {
    /// Whether this names it.
    pub(crate) fn is_named(&self, name: &StagedName) -> bool {
        let (writer, seq) = self.place;
        seq == name.line.seq && name.names(self.source, writer, seq)
    }

    /// Whether it may be live.
    pub(crate) fn may_be_live(&self) -> bool {
        !self.is_collected
    }

    /// Whether it was collected, and nothing else was done to it.
    pub(crate) fn is_only_collected(&self) -> bool {
        self.is_collected && !self.is_acted
    }

    /// Whether it may be due for collection.
    pub(crate) fn may_be_due(&self, now: Timestamp) -> bool {
        self.may_be_live() && self.until <= now.millis()
    }
}

/// Which other entries are wanted for the sake of the contents of those that are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// None.
    Unasked,
    /// Each that has the same content.
    All,
    /// So many that it shows whether an entry claims the content by this clock (STAGE-17).
    Claims(Timestamp),
}

/// What a question needs of the chains.
pub(crate) struct Wanted<'w> {
    /// The source whose entries it concerns; none where it concerns those of all.
    pub(crate) source: Option<&'w DocumentId>,
    /// Whether it concerns an entry.
    pub(crate) entries: &'w dyn Fn(&KnownEntry<'_>) -> bool,
    /// What of others.
    pub(crate) sharing: Sharing,
    /// Which of the other entries are counted, if they are live.
    pub(crate) counted: &'w dyn Fn(&KnownEntry<'_>) -> bool,
    /// What the last checkpoint binds of chains (STAGE-21).
    pub(crate) bound: &'w BTreeMap<DocumentId, Mark>,
}

/// The chains that answer a question.
#[derive(Debug, Default)]
pub(crate) struct Answering {
    /// The chains, which lack what the question does not need.
    pub(crate) chains: Chains,
    /// How many entries are counted of each source that are live and not in these chains.
    pub(crate) counted: BTreeMap<DocumentId, usize>,
    /// The sources of which a chain is damaged. Every entry of theirs is in the chains.
    pub(crate) damaged: BTreeSet<DocumentId>,
}

impl Answering {
    /// Of chains that were read as a whole.
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

/// The chains that a question needs.
///
/// # Errors
/// The folder of chains cannot be listed.
pub(crate) fn answering(vault: &Vault, wanted: &Wanted<'_>) -> Result<Answering, FileError> {
    answering_after(vault, wanted, SETTLED)
}

/// The same, where stamps of files are relied on that were left alone for so long.
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

/// The chains as a whole, where the cache is damaged, or a chain is written to by another program.
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
