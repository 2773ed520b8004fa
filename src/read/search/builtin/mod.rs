//! The built-in back-end: an embedded full-text index over the published, current versions, ranked
//! by BM25.
//!
//! The index names the head that it holds. Where it holds another one, only documents whose chain
//! hash or reading differs are read again. It is in the user's caches; without such a place, or where that
//! cannot be used, it is built in memory for each search, with the same answer. It only ranks: ids
//! and places come from it, texts never do.

mod article;
mod cache;
mod near;
mod score;
mod segment;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use tantivy::indexer::{LogMergePolicy, UserOperation};
use tantivy::{Index, IndexWriter};

use super::{Backend, Proposals, Query, SearchError};
use crate::read::snapshot::Snapshot;
use crate::record::checkpoint::fault::LogError;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;

use article::{Article, Fields, Mark, mark};
use cache::BuildError;
use cache::{Cache, Freshness};
use segment::{Segment, Totals};

/// What the built-in back-end is called.
pub(crate) const NAME: &str = "builtin";

/// How long a build takes before a progress line is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// Documents that are read before they are handed on.
const CHUNK: usize = 256;
/// Bytes that one writer gathers before it makes a segment of them.
const WRITER_BYTES: usize = 64 << 20;
/// Writers of a full build.
const MAX_WRITERS: usize = 4;

/// The built-in index of a vault's head.
pub(crate) struct Builtin<'a, 'v> {
    snapshot: &'a Snapshot<'v>,
    head: Digest,
    cache: Option<PathBuf>,
    on_slow: &'a dyn Fn(usize),
}

impl<'a, 'v> Builtin<'a, 'v> {
    /// The index of the head that `snapshot` is, whose hash is `head`. `cache` is the vault's
    /// folder in the user's caches. `on_slow` hears how many documents are being read once that
    /// takes longer than a second.
    pub(crate) fn new(
        snapshot: &'a Snapshot<'v>,
        head: Digest,
        cache: Option<PathBuf>,
        on_slow: &'a dyn Fn(usize),
    ) -> Self {
        Self { snapshot, head, cache, on_slow }
    }
}

impl Backend for Builtin<'_, '_> {
    fn name(&self) -> &str {
        NAME
    }

    fn search(&self, query: &Query, limit: usize) -> Result<Proposals, SearchError> {
        let cache = self.cache.as_ref().and_then(|dir| Cache::at(dir));
        let answered = cache.and_then(|cache| {
            // Whatever is wrong with an index on disk, the next attempt does not rely on it.
            [Freshness::AsItIs, Freshness::Extended, Freshness::Rebuilt].into_iter().find_map(
                |how| {
                    quietly(|| {
                        let ready = cache.open(self, how)?;
                        self.answer(&ready, query, limit).ok()
                    })
                },
            )
        });
        match answered {
            Some(found) => Ok(found),
            None => self.in_memory(query, limit).map_err(|why| SearchError::Index(why.to_string())),
        }
    }
}

/// Whether an index was made for a vault, whose folder of the caches this is.
pub(crate) fn is_made(cache: &Path) -> bool {
    cache.join(cache::FOLDER).is_dir()
}

impl Builtin<'_, '_> {
    fn in_memory(&self, query: &Query, limit: usize) -> Result<Proposals, BuildError> {
        let (schema, fields) = article::schema();
        let index = Index::create_in_ram(schema);
        article::teach(&index);
        let wanted: Vec<&DocumentId> = self.snapshot.documents()?.collect();
        let unread = self.fill(&index, &fields, &[], &wanted)?;
        let ready = Ready::open(&index, fields, unread)?;
        Ok(self.answer(&ready, query, limit)?)
    }

    fn answer(&self, ready: &Ready, query: &Query, limit: usize) -> tantivy::Result<Proposals> {
        let (segments, fields) = (&ready.segments, &ready.fields);
        let near = near::words(segments, fields, query)?;
        // One more says whether there are more.
        let most = limit.saturating_add(1);
        let mut hits = score::best(segments, fields, &ready.totals, (query, &near), most)?;
        let goes_on = hits.len() > limit;
        hits.truncate(limit);
        let notes = near.iter().filter_map(near::Near::note).collect();
        let near = near.into_iter().flat_map(|near| near.words).collect();
        Ok(Proposals { hits, unread: ready.unread.clone(), near, notes, goes_on })
    }

    /// The documents that the head has and an index has not, or has in another version; and those
    /// that an index has and the head has not, or has in another version.
    fn difference(
        &self,
        mut indexed: HashMap<String, Mark>,
    ) -> Result<(Vec<&DocumentId>, Vec<String>), LogError> {
        let mut wanted = Vec::new();
        let (state, markup) = (self.snapshot.state()?, self.snapshot.markup());
        for id in self.snapshot.documents()? {
            let sealed = state.get(id.as_str()).and_then(|mark| mark.chain_hash);
            match (indexed.get(id.as_str()), sealed) {
                (Some(found), Some(hash)) if *found == mark(&hash, markup) => {
                    indexed.remove(id.as_str());
                }
                _ => wanted.push(id),
            }
        }
        Ok((wanted, indexed.into_keys().collect()))
    }

    /// Puts documents into an index; gives those that the chain does not vouch for.
    fn fill(
        &self,
        index: &Index,
        fields: &Fields,
        gone: &[String],
        wanted: &[&DocumentId],
    ) -> tantivy::Result<Vec<DocumentId>> {
        let markup = self.snapshot.markup();
        let read = |id: &DocumentId| match self.snapshot.get(id) {
            Some(Ok(served)) => Some(Article::new(&served, markup)),
            _ => None,
        };
        fill(index, fields, gone, wanted, &read, self.on_slow)
    }
}

/// An index that can be asked.
struct Ready {
    fields: Fields,
    segments: Vec<Segment>,
    totals: Totals,
    unread: Vec<DocumentId>,
}

impl Ready {
    /// Opens an index and counts what is in it.
    fn open(index: &Index, fields: Fields, unread: Vec<DocumentId>) -> tantivy::Result<Self> {
        let segments = segment::segments(index)?;
        let mut totals = Totals::default();
        segments.iter().try_for_each(|segment| segment.count(&mut totals))?;
        Ok(Self { fields, segments, totals, unread })
    }
}

/// Takes documents out of an index, and puts others or other versions in.
fn fill<R>(
    index: &Index,
    fields: &Fields,
    gone: &[String],
    wanted: &[&DocumentId],
    read: &R,
    on_slow: &dyn Fn(usize),
) -> tantivy::Result<Vec<DocumentId>>
where
    R: Fn(&DocumentId) -> Option<Article> + Sync,
{
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let writers = if wanted.len() <= CHUNK { 1 } else { cores.div_ceil(2).min(MAX_WRITERS) };
    let mut writer: IndexWriter = index.writer_with_num_threads(writers, writers * WRITER_BYTES)?;
    let mut policy = LogMergePolicy::default();
    policy.set_del_docs_ratio_before_merge(0.3);
    writer.set_merge_policy(Box::new(policy));
    for id in gone {
        writer.delete_term(fields.name_of(id));
    }
    let (began, mut told, mut unread) = (Instant::now(), false, Vec::new());
    for chunk in wanted.chunks(CHUNK) {
        let articles: Vec<Option<Article>> = chunk.par_iter().map(|id| read(id)).collect();
        for (id, article) in chunk.iter().zip(articles) {
            let Some(article) = article else {
                unread.push((*id).clone());
                continue;
            };
            // The entries of a document lie side by side in one segment: that is how what its title
            // says reaches its sections.
            let entries = fields.entries(&article);
            writer.run(entries.into_iter().map(UserOperation::Add).collect::<Vec<_>>())?;
        }
        if !told && began.elapsed() > PATIENCE {
            on_slow(wanted.len());
            told = true;
        }
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(unread)
}

/// Runs something that may panic over bytes that it cannot trust, and says nothing of it.
fn quietly<T>(run: impl FnOnce() -> Option<T>) -> Option<T> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(run));
    std::panic::set_hook(hook);
    result.ok().flatten()
}
