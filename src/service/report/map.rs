//! The map of a vault, from which an agent chooses a selector. Its size is bounded.

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

/// The answer of `context`: the instructions for agents and a map of the published documents.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct MapReport<'c> {
    /// Name of the vault.
    pub name: String,
    /// Checkpoint that the map describes.
    pub checkpoint: CheckpointNumber,
    /// Text of `CONTEXT.md`, as the checkpoint seals it.
    pub instructions: Option<&'c str>,
    /// Number of published documents.
    pub documents: usize,
    /// Number of documents by type.
    pub types: Counted<'c>,
    /// Number of documents by tag.
    pub tags: Counted<'c>,
    /// Number of documents by folder.
    pub folders: Counted<'c>,
    /// Number of sources by server.
    pub servers: Counted<'c>,
    /// Packs, in byte order of their files.
    pub packs: Vec<PackReport<'c>>,
    /// Numbers of types, tags, folders, servers and packs that are not listed.
    pub omitted: Omitted,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
}

/// Words in byte order, each with its number of documents.
pub type Counted<'c> = BTreeMap<&'c str, usize>;

/// Numbers of entries that a map does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Omitted {
    /// Number of types.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub types: usize,
    /// Number of tags.
    pub tags: usize,
    /// Number of folders.
    pub folders: usize,
    /// Number of servers.
    pub servers: usize,
    /// Number of packs.
    pub packs: usize,
}

/// Extent of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Up to this number of the most frequent entries of each kind, for an agent to read.
    Bounded(usize),
    /// All entries.
    Whole,
}

/// Default maximum number of entries of one kind in a bounded map.
pub(crate) const NAMED: usize = 100;
/// Maximum length of these entries together, in bytes.
const MOST_BYTES: usize = 4_000;

impl Default for Extent {
    fn default() -> Self {
        Self::Bounded(NAMED)
    }
}

impl Extent {
    /// Returns the most frequent words, and the number of words that are left out.
    ///
    /// Words with equal counts are ordered by bytes.
    fn most(self, counts: &Counts) -> (Counted<'_>, usize) {
        let mut words: Vec<(&str, usize)> = counts.iter().map(|(w, n)| (w.as_str(), *n)).collect();
        words.sort_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
        let kept = self.fitting(words.iter().map(|(word, _)| word.len()));
        let omitted = words.split_off(kept).len();
        (words.into_iter().collect(), omitted)
    }

    /// Returns how many texts of these lengths a map lists.
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
    /// Returns the map of a snapshot, without its `CONTEXT.md`.
    ///
    /// # Errors
    /// Fails if the log is not reliable.
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

    /// Adds the verified text of `CONTEXT.md`.
    pub(crate) fn with(self, instructions: Option<&'c Served>) -> Traced<Self> {
        let Some(served) = instructions else { return Traced::new(self, Vec::new()) };
        let whole = served.sealed(None);
        whole.map(|text| Self { instructions: Some(text), ..self })
    }
}
