//! The map of a vault: what an agent needs to choose a selector, in few bytes however large the vault.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Report;
use super::document::WithheldReport;
use super::pack::PackReport;
use crate::read::snapshot::overview::{Counts, Overview};
use crate::read::snapshot::packs::{Packs, SealedPack};
use crate::read::snapshot::{Served, Snapshot};
use crate::record::audit::Traced;
use crate::record::checkpoint::fault::LogError;
use crate::values::model::number::CheckpointNumber;

/// The answer of `context`: the instructions for agents and a map of what is published.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct MapReport<'c> {
    /// The name of the vault.
    pub name: String,
    /// The checkpoint that all of it is of.
    pub checkpoint: CheckpointNumber,
    /// `CONTEXT.md`, as the checkpoint seals it.
    pub instructions: Option<&'c str>,
    /// How many documents are published.
    pub documents: usize,
    /// Documents by type.
    pub types: Counted<'c>,
    /// Documents by tag.
    pub tags: Counted<'c>,
    /// Documents by folder.
    pub folders: Counted<'c>,
    /// Sources by server.
    pub servers: Counted<'c>,
    /// The packs, in byte order of their files.
    pub packs: Vec<PackReport<'c>>,
    /// How many types, tags, folders, servers and packs there are beyond those that are named.
    pub omitted: Omitted,
    withheld: Vec<WithheldReport>,
}

/// Words in byte order, each with the number of documents that have it.
pub type Counted<'c> = BTreeMap<&'c str, usize>;

/// How many of each there are beyond those that a map names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Omitted {
    /// Types.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub types: usize,
    /// Tags.
    pub tags: usize,
    /// Folders.
    pub folders: usize,
    /// Servers.
    pub servers: usize,
    /// Packs.
    pub packs: usize,
}

/// How much of a vault a map names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Of each kind what most documents have, up to so many, so that an agent can read it.
    Bounded(usize),
    /// All of it.
    Whole,
}

/// The most words of one kind that a bounded map usually names.
pub(crate) const NAMED: usize = 100;
/// The most bytes of these.
const MOST_BYTES: usize = 4_000;

impl Default for Extent {
    fn default() -> Self {
        Self::Bounded(NAMED)
    }
}

impl Extent {
    /// Of words with their counts those that most documents have, and how many others there are.
    /// Of words with equal counts the first in byte order come first.
    fn most(self, counts: &Counts) -> (Counted<'_>, usize) {
        let mut words: Vec<(&str, usize)> = counts.iter().map(|(w, n)| (w.as_str(), *n)).collect();
        words.sort_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
        let kept = self.fitting(words.iter().map(|(word, _)| word.len()));
        let omitted = words.split_off(kept).len();
        (words.into_iter().collect(), omitted)
    }

    /// How many of some texts of these lengths a map names.
    fn fitting(self, lengths: impl Iterator<Item = usize>) -> usize {
        let Self::Bounded(most) = self else { return lengths.count() };
        let mut bytes = 0;
        let fits = lengths.take(most).take_while(|length| {
            bytes += length;
            bytes <= MOST_BYTES
        });
        fits.count()
    }
}

impl Report for MapReport<'_> {
    const SCHEMA: &'static str = "context";
}

impl<'c> MapReport<'c> {
    /// The map of a snapshot, without its `CONTEXT.md`.
    ///
    /// # Errors
    /// The log cannot be relied on.
    pub(crate) fn new(
        snapshot: &Snapshot<'_>,
        overview: &'c Overview,
        packs: &'c Packs,
        extent: Extent,
    ) -> Result<Self, LogError> {
        let (types, more_types) = extent.most(&overview.types);
        let (tags, more_tags) = extent.most(&overview.tags);
        let (folders, more_folders) = extent.most(&overview.folders);
        let (servers, more_servers) = extent.most(&overview.servers);
        let length = |sealed: &SealedPack| {
            let label = sealed.pack.label.as_deref().unwrap_or_default();
            sealed.pack.id.len() + sealed.file.as_str().len() + label.len()
        };
        let (named, others) =
            packs.usable.split_at(extent.fitting(packs.usable.iter().map(length)));
        Ok(Self {
            name: snapshot.name(),
            checkpoint: snapshot.checkpoint(),
            instructions: None,
            documents: overview.documents,
            types,
            tags,
            folders,
            servers,
            packs: named
                .iter()
                .map(|one| PackReport::new(one, snapshot))
                .collect::<Result<_, _>>()?,
            omitted: Omitted {
                types: more_types,
                tags: more_tags,
                folders: more_folders,
                servers: more_servers,
                packs: others.len(),
            },
            withheld: WithheldReport::all(&overview.withheld),
        })
    }

    /// The map with the verified `CONTEXT.md`.
    pub(crate) fn with(self, instructions: Option<&'c Served>) -> Traced<Self> {
        let Some(served) = instructions else { return Traced::new(self, Vec::new()) };
        let whole = served.sealed(None);
        whole.map(|text| Self { instructions: Some(text), ..self })
    }
}
