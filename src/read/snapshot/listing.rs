//! Lists of published documents with their fields, without their texts.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::{Served, Snapshot, Withheld};
use crate::files::vault::site::SiteLinks;
use crate::read::graph::memory::Memory;
use crate::read::index::{At, Damaged, Metadata};
use crate::record::checkpoint::fault::LogError;
use crate::text::document::links::LinkKind;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// A published document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) id: DocumentId,
    pub(crate) version: Version,
    /// Fields of its text, which was verified when they were read.
    pub(crate) metadata: Metadata,
}

/// Every document of a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Documents, in byte order of their ids.
    pub(crate) documents: Vec<Listed>,
    /// Documents that the chain does not vouch for.
    pub(crate) withheld: Vec<Withheld>,
}

impl Listed {
    /// Returns the title, or the id if there is none.
    pub(crate) fn title(&self) -> &str {
        self.metadata.title.as_deref().unwrap_or_else(|| self.id.as_str())
    }

    /// Returns the dependencies of a source.
    pub(crate) fn needed(&self) -> BTreeSet<DocumentId> {
        let mentions = self.metadata.mentions.iter().filter(|m| m.kind == LinkKind::DependsOn);
        mentions.filter_map(|mention| mention.target.document()).collect()
    }
}

impl From<&Served> for Listed {
    fn from(served: &Served) -> Self {
        let aliases = served.aliases.clone();
        let metadata = Metadata { aliases, ..Metadata::new(&served.fields, served.links().links) };
        Self { id: served.id.clone(), version: served.entry.version, metadata }
    }
}

/// Returns the graph of some documents, with the links from the root of a site as a checkpoint
/// maps them. Mentions move into the graph, because they take most of the memory; only sources
/// keep theirs.
pub(crate) fn graph(documents: &mut [Listed], sites: SiteLinks) -> Memory {
    let aliased = documents.iter().filter(|l| !l.metadata.aliases.is_empty());
    let aliases: Vec<_> = aliased.map(|l| (l.id.clone(), l.metadata.aliases.clone())).collect();
    let mentions = documents.iter_mut().map(|listed| {
        let mentions = &mut listed.metadata.mentions;
        let is_source = listed.metadata.source.is_some();
        let moved = if is_source { mentions.clone() } else { std::mem::take(mentions) };
        (listed.id.clone(), moved)
    });
    Memory::new(mentions, sites).with_aliases(aliases)
}

impl Snapshot<'_> {
    /// Returns the targets of links from the root of a site, as the checkpoint seals them.
    ///
    /// # Errors
    /// Fails if the chain does not vouch for the configuration, so that they are unknown.
    pub(crate) fn sites(&self) -> Result<SiteLinks, Withheld> {
        Ok(self.sealed_config()?.map(|config| config.links.clone()).unwrap_or_default())
    }

    /// Lists every published document with its fields. An index returns the fields as they were
    /// when the text was verified, without reading the text again.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(crate) fn listing(&self) -> Result<Listing, LogError> {
        if let Some(listing) = self.indexed(|at| self.listing_of(at)) {
            return Ok(listing);
        }
        self.read_listing()
    }

    /// Lists like [`Snapshot::listing`], but reads every text.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(crate) fn read_listing(&self) -> Result<Listing, LogError> {
        let mut listing = Listing::default();
        self.page((0, usize::MAX))?.read(|part| {
            listing.documents.par_extend(part.documents.par_iter().map(Listed::from));
            listing.withheld.extend(part.withheld);
        });
        Ok(listing)
    }

    fn listing_of(&self, at: At<'_>) -> Result<Listing, Damaged> {
        let mut listing = Listing::default();
        for row in &at.holding(at.known()?)? {
            let held = at.held(row)?;
            let metadata = held.metadata.ok_or(Damaged)?;
            listing.documents.push(Listed { id: held.id, version: held.version, metadata });
        }
        listing.documents.sort_by(|a, b| a.id.cmp(&b.id));
        listing.withheld = self.unreadable(at)?;
        Ok(listing)
    }

    /// Returns the documents that the chain or their approvals did not vouch for when they were
    /// indexed, and still do not; and those that were removed without an approval.
    pub(super) fn unreadable(&self, at: At<'_>) -> Result<Vec<Withheld>, Damaged> {
        let mut withheld = Vec::new();
        for row in &at.holding(at.unreadable()?)? {
            match self.get(&at.held(row)?.id) {
                Some(Err(why)) => withheld.push(why),
                // It was repaired, so its fields must be indexed.
                _ => return Err(Damaged),
            }
        }
        withheld.append(&mut self.lost_documents());
        withheld.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(withheld)
    }
}
