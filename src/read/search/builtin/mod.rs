//! The built-in back-end: an embedded full-text index over the current published versions, ranked
//! by BM25.
//!
//! The index names its head. If that differs from the current one, only documents whose chain hash
//! or markup differs are read again. The index is in the user's caches. If the cache is missing or
//! unusable, the index is built in memory for each search, with the same answer. The index only
//! ranks: ids and places come from it, but texts never do.

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

/// Name of the built-in back-end.
pub(crate) const NAME: &str = "builtin";

/// Duration of a build after which a progress line is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// Number of documents that are read before they are indexed.
const CHUNK: usize = 256;
/// Number of bytes that one writer collects before it makes a segment.
const WRITER_BYTES: usize = 64 << 20;
/// Maximum number of writers of a full build.
const MAX_WRITERS: usize = 4;

/// The built-in index of a vault's head.
pub(crate) struct Builtin<'a, 'v> {
    snapshot: &'a Snapshot<'v>,
    head: Digest,
    cache: Option<PathBuf>,
    on_slow: &'a dyn Fn(usize),
}

impl<'a, 'v> Builtin<'a, 'v> {
    /// Makes the index of `snapshot`, a head with the hash `head`. `cache` is the cache folder of
    /// the vault. `on_slow` receives the number of documents that are read if that takes longer
    /// than a second.
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
            // If an index on disk cannot be used, the next attempt does not rely on it.
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

/// Returns true if an index was made for the vault with this cache folder.
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
        // One more hit shows whether there are more.
        let most = limit.saturating_add(1);
        let mut hits = score::best(segments, fields, &ready.totals, (query, &near), most)?;
        let goes_on = hits.len() > limit;
        hits.truncate(limit);
        let notes = near.iter().filter_map(near::Near::note).collect();
        let near = near.into_iter().flat_map(|near| near.words).collect();
        Ok(Proposals { hits, unread: ready.unread.clone(), near, notes, goes_on })
    }

    /// Returns the documents of the head that the index lacks or has in another version.
    /// Also returns the ids that the index must drop, because the head lacks them or has
    /// another version.
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

    /// Adds documents to an index. Returns those that the chain does not vouch for.
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

/// An open index.
struct Ready {
    fields: Fields,
    segments: Vec<Segment>,
    totals: Totals,
    unread: Vec<DocumentId>,
}

impl Ready {
    /// Opens an index and counts its contents.
    fn open(index: &Index, fields: Fields, unread: Vec<DocumentId>) -> tantivy::Result<Self> {
        let segments = segment::segments(index)?;
        let mut totals = Totals::default();
        segments.iter().try_for_each(|segment| segment.count(&mut totals))?;
        Ok(Self { fields, segments, totals, unread })
    }
}

/// Deletes documents from an index, and adds others or other versions.
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
            // The entries of a document are next to each other in one segment, so that words of its
            // title reach its sections.
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

/// Runs code that may panic on untrusted bytes, and suppresses the panic message.
fn quietly<T>(run: impl FnOnce() -> Option<T>) -> Option<T> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(run));
    std::panic::set_hook(hook);
    result.ok().flatten()
}
