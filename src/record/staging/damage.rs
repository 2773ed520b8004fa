//! Finds the sources with a damaged chain, for which entries and acts may be missing (STAGE-13).

use std::collections::{BTreeMap, BTreeSet};

use super::chain::{Chain, StrayFile, path_of};
use crate::record::audit::TraceId;
use crate::record::checkpoint::state::Mark;
use crate::record::journal::WriterId;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// The parts of a chain that are checked for damage.
pub(crate) struct SeenChain<'c> {
    pub(crate) source: &'c DocumentId,
    pub(crate) writer: &'c WriterId,
    /// True if a line is not sound, or does not follow the one before it.
    pub(crate) is_damaged: bool,
    /// Returns the hash of the line with a number.
    pub(crate) hash: Box<dyn Fn(u64) -> Option<Digest> + 'c>,
}

impl<'c> SeenChain<'c> {
    /// Returns the parts of a chain that was read as a whole.
    pub(crate) fn of(chain: &'c Chain) -> Self {
        let hash = |seq| chain.lines.iter().find(|line| line.seq == seq).and_then(|line| line.hash);
        let (source, writer) = (&chain.source, &chain.writer);
        Self { source, writer, is_damaged: chain.is_damaged(), hash: Box::new(hash) }
    }
}

/// Returns true if entries of two chains have the same names: both are of one source, and their
/// writers begin with the same digits (STAGE-6).
pub(crate) fn share_names(a: (&DocumentId, &WriterId), b: (&DocumentId, &WriterId)) -> bool {
    let digits = |writer: &WriterId| TraceId::of(&writer.to_string(), 1);
    a.0 == b.0 && digits(a.1) == digits(b.1)
}

/// Returns the sources that have a chain which is damaged, cannot be read, lacks the line that a
/// checkpoint binds (STAGE-22), or shares names with another chain (STAGE-6). `bound` contains the
/// chains that the last checkpoint binds. `chains`, in the order of sources and writers, are all
/// chains, or those `of` one source.
pub(crate) fn damaged_sources(
    chains: &[SeenChain<'_>],
    strays: &[StrayFile],
    (bound, of): (&BTreeMap<DocumentId, Mark>, Option<&DocumentId>),
) -> BTreeSet<DocumentId> {
    let damaged = chains.iter().filter(|chain| chain.is_damaged).map(|chain| chain.source.clone());
    let mut found: BTreeSet<DocumentId> = damaged.collect();
    found.extend(strays.iter().filter_map(StrayFile::source));
    let namesakes = chains.windows(2).filter(|pair| {
        share_names((pair[0].source, pair[0].writer), (pair[1].source, pair[1].writer))
    });
    found.extend(namesakes.map(|pair| pair[0].source.clone()));
    if !bound.is_empty() {
        let path = |chain: &SeenChain<'_>| path_of(chain.source, chain.writer);
        let seen: BTreeMap<String, _> = chains.iter().map(|chain| (path(chain), chain)).collect();
        let has = |path: &DocumentId, (seq, hash): (Version, Digest)| {
            let chain = seen.get(path.as_str());
            chain.is_some_and(|chain| (chain.hash)(seq.0) == Some(hash))
        };
        let lost = bound.iter().filter(|(path, mark)| !mark.sealed().is_some_and(|l| has(path, l)));
        let lost = lost.filter_map(|(path, _)| path.source_of_chain());
        found.extend(lost.filter(|source| of.is_none_or(|of| of == source)));
    }
    found
}
