//! Counts of the published documents of a checkpoint by type, tag, folder and server. An index
//! counts without reading the fields of rows, so the cost is small in a vault of any size.

use std::collections::{BTreeMap, BTreeSet};

use roaring::RoaringBitmap;

use super::{Listed, Listing, Snapshot, Withheld};
use crate::read::index::{At, Damaged};
use crate::record::checkpoint::fault::LogError;
use crate::text::document::obsidian::Markup;
use crate::values::model::id::{fold, folder_of};

/// Number of documents that have each word.
pub(crate) type Counts = BTreeMap<String, usize>;

/// Counts of the documents of a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct Overview {
    /// Number of documents.
    pub(crate) documents: usize,
    /// Documents by type.
    pub(crate) types: Counts,
    /// Documents by tag.
    pub(crate) tags: Counts,
    /// Documents by the folder that directly contains them.
    pub(crate) folders: Counts,
    /// Sources by server.
    pub(crate) servers: Counts,
    /// Documents that the chain does not vouch for, which are not counted.
    pub(crate) withheld: Vec<Withheld>,
}

impl Overview {
    /// Counts listed documents.
    fn of(listing: Listing, markup: Markup) -> Self {
        let all = &listing.documents;
        Self {
            documents: all.len(),
            types: counted(all, |one| vec![one.metadata.node_type.as_str()]),
            tags: counted_tags(tags_of(all), markup),
            folders: counted(all, |one| folder_of(one.id.as_str()).into_iter().collect()),
            servers: counted(all, |one| {
                let source = one.metadata.source.as_ref();
                source.and_then(|source| source.server.as_deref()).into_iter().collect()
            }),
            withheld: listing.withheld,
        }
    }
}

fn counted<'l>(all: &'l [Listed], words: impl Fn(&'l Listed) -> Vec<&'l str>) -> Counts {
    let mut counts = Counts::new();
    for one in all {
        // A document counts once, even if it repeats a word.
        for word in words(one).into_iter().collect::<BTreeSet<_>>() {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// Returns the documents of each tag, by their index in the list.
fn tags_of(all: &[Listed]) -> BTreeMap<String, RoaringBitmap> {
    let mut tags: BTreeMap<String, RoaringBitmap> = BTreeMap::new();
    for (n, one) in (0..).zip(all) {
        for tag in &one.metadata.tags {
            tags.entry(tag.to_string()).or_default().insert(n);
        }
    }
    tags
}

/// Counts the documents that each tag selects. Of equivalent tags, the first in byte order
/// is named.
fn counted_tags(tags: BTreeMap<String, RoaringBitmap>, markup: Markup) -> Counts {
    let size = |rows: &RoaringBitmap| usize::try_from(rows.len()).unwrap_or(usize::MAX);
    if markup != Markup::Obsidian {
        return tags.iter().map(|(tag, rows)| (tag.clone(), size(rows))).collect();
    }
    let mut same: BTreeMap<String, (String, RoaringBitmap)> = BTreeMap::new();
    for (tag, rows) in tags {
        same.entry(fold(&tag)).or_insert_with(|| (tag, RoaringBitmap::new())).1 |= rows;
    }
    let count = |(folded, (tag, rows)): (&String, &(String, RoaringBitmap))| {
        let above = format!("{folded}/");
        let below = same.range(above.clone()..).take_while(|(tag, _)| tag.starts_with(&above));
        let all = below.fold(rows.clone(), |all, (_, (_, rows))| all | rows);
        (tag.clone(), size(&all))
    };
    same.iter().map(count).collect()
}

impl Snapshot<'_> {
    /// Counts the documents of the checkpoint. An index counts by the fields that the texts had
    /// when they were verified, without reading the texts again.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(crate) fn overview(&self) -> Result<Overview, LogError> {
        if let Some(overview) = self.indexed(|at| self.overview_of(at)) {
            return Ok(overview);
        }
        Ok(Overview::of(self.read_listing()?, self.markup()))
    }

    fn overview_of(&self, at: At<'_>) -> Result<Overview, Damaged> {
        let held = at.holding(at.known()?)?;
        let count = |terms: BTreeMap<String, RoaringBitmap>| -> Result<Counts, Damaged> {
            let counted = terms.into_iter().map(|(word, rows)| {
                let rows = rows.intersection_len(&held);
                Ok((word, usize::try_from(rows).map_err(|_| Damaged)?))
            });
            let counted: Result<Counts, Damaged> = counted.collect();
            Ok(counted?.into_iter().filter(|(_, n)| *n > 0).collect())
        };
        let mut folders = Counts::new();
        at.each_id(&held, |id| {
            let Some(folder) = folder_of(id) else { return };
            match folders.get_mut(folder) {
                Some(n) => *n += 1,
                None => drop(folders.insert(folder.to_owned(), 1)),
            }
        })?;
        Ok(Overview {
            documents: usize::try_from(held.len()).map_err(|_| Damaged)?,
            types: count(at.rows_by_type()?)?,
            tags: counted_tags(at.rows_by_tag()?, self.markup()),
            folders,
            servers: count(at.rows_by_server()?)?,
            withheld: self.unreadable(at)?,
        })
    }
}
