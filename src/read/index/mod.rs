//! The index of a vault: the versions that every checkpoint contains, and the documents of each
//! term, so that the cost of a question depends on its answer (`spec/index.md`).
//!
//! The index is in the user's cache directory. It is made from a log whose hashes were recomputed,
//! and from texts that the chain vouches for. It contains nothing that cannot be computed again. It
//! is used only while the log has the same length, and the same last hash in the same place. Its
//! answers are checked once more: a document is served only if its text leads to the chain hash,
//! and the fields of that text match the question. [`crate::prove::verify`] never reads it.
//!
//! One row is one version of one artifact, with the checkpoints that contain it. [`At`] is the
//! index at one checkpoint. `segment` is a file of rows, `build` makes one for new checkpoints and
//! merges small ones, and `blocks` detects damage. `staged` is the index of staging chains.

mod blocks;
mod build;
mod manifest;
mod row;
mod segment;
pub(crate) mod staged;
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests make vaults and damage caches")]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use roaring::RoaringBitmap;

pub(crate) use crate::record::checkpoint::fault::Damaged;
pub(crate) use build::{follow, refresh};
pub(crate) use row::Metadata;

use crate::files::vault::Vault;
use crate::files::vault::config::LogForm;
use crate::record::checkpoint::event::Event;
use crate::record::checkpoint::state::{Mark, PublishedSet};
use crate::text::document::links::LinkKind;
use crate::text::document::obsidian::Markup;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::tag::Tag;
use crate::values::model::timestamp::Timestamp;

use manifest::Manifest;
use row::{Contents, Row, Term};
use segment::{NEVER, Segment};

/// An index that is as new as its vault.
#[derive(Debug)]
pub(crate) struct Index {
    dir: PathBuf,
    manifest: Manifest,
    segments: Vec<Segment>,
    /// Rows that the head does not contain, collected on first use.
    over: OnceLock<Result<RoaringBitmap, Damaged>>,
}

impl Index {
    /// Opens the index in a vault's cache folder, if it was made from exactly the current log. The
    /// cost does not depend on the size of the vault.
    pub(crate) fn open(dir: &Path, vault: &Vault) -> Option<Self> {
        let index = Self::read(dir)?;
        index.manifest.is_of(vault).then_some(index)
    }

    /// Opens the index in a folder, for any log.
    fn read(dir: &Path) -> Option<Self> {
        let manifest = Manifest::read(dir)?;
        let open = |name: &String| Segment::open(&dir.join(name)).ok();
        let segments: Vec<Segment> = manifest.segments.iter().map(open).collect::<Option<_>>()?;
        let (mut rows, mut checkpoints) = (0, CheckpointNumber::FIRST);
        for segment in &segments {
            if segment.rows().start != rows || segment.checkpoints().start != checkpoints {
                return None;
            }
            (rows, checkpoints) = (segment.rows().end, segment.checkpoints().end);
        }
        let dir = dir.to_owned();
        let is_whole = checkpoints == manifest.head.next();
        is_whole.then_some(Self { dir, manifest, segments, over: OnceLock::new() })
    }

    /// Returns true if a folder contains an index of any log.
    pub(crate) fn lies_in(dir: &Path) -> bool {
        Manifest::read(dir).is_some()
    }

    /// Deletes the index because it is damaged. The next reader builds it again.
    pub(crate) fn discard(&self) {
        manifest::cache(&self.dir).remove();
    }

    /// Returns the number of the last checkpoint.
    pub(crate) fn head(&self) -> CheckpointNumber {
        self.manifest.head
    }

    /// Returns the hash of the last checkpoint.
    pub(crate) fn head_hash(&self) -> Digest {
        self.manifest.head_hash()
    }

    /// Returns the recorded hash of a checkpoint; `None` if there is no such checkpoint.
    pub(crate) fn hash_of(&self, checkpoint: CheckpointNumber) -> Option<Digest> {
        self.checkpoint(checkpoint).ok().map(|(_, hash)| hash)
    }

    /// Returns the time and hash of a checkpoint; `None` if the index is damaged.
    pub(crate) fn made(&self, checkpoint: CheckpointNumber) -> Option<(Timestamp, Digest)> {
        self.checkpoint(checkpoint).ok()
    }

    /// Returns the events of all checkpoints, in numbers.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn events(&self) -> Result<Vec<Event>, Damaged> {
        self.segments.iter().flat_map(Segment::events).collect()
    }

    /// Returns the form of the log that the index was made from.
    fn log_form(&self) -> LogForm {
        self.manifest.form()
    }

    /// Returns the index at one checkpoint; `None` if the checkpoint does not exist, or its hash
    /// was never recomputed.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn at(&self, checkpoint: CheckpointNumber) -> Result<Option<At<'_>>, Damaged> {
        if !(self.manifest.checked_from..=self.manifest.head).contains(&checkpoint) {
            return Ok(None);
        }
        let (made_at, hash) = self.checkpoint(checkpoint)?;
        let number = u32::try_from(checkpoint.0).map_err(|_| Damaged)?;
        Ok(Some(At { index: self, checkpoint: number, made_at, hash, markup: Markup::Plain }))
    }

    /// Returns the time and hash of a checkpoint.
    fn checkpoint(&self, number: CheckpointNumber) -> Result<(Timestamp, Digest), Damaged> {
        let segment = self.segments.iter().find(|s| s.checkpoints().contains(&number));
        segment.ok_or(Damaged)?.checkpoint(number)
    }

    fn of_row(&self, row: u32) -> Result<(usize, &Segment), Damaged> {
        let found = self.segments.iter().enumerate().find(|(_, s)| s.rows().contains(&row));
        found.ok_or(Damaged)
    }

    fn row(&self, row: u32) -> Result<Row, Damaged> {
        self.of_row(row)?.1.row(row)
    }

    /// Returns the checkpoints that contain a row: the first one, and the first one after them.
    fn life(&self, row: u32) -> Result<(u32, u32), Damaged> {
        let (n, segment) = self.of_row(row)?;
        let (born, ended) = segment.life(row)?;
        if ended != NEVER {
            return Ok((born, ended));
        }
        for later in &self.segments[n + 1..] {
            if let Some(ended) = later.ending(row)? {
                return Ok((born, ended));
            }
        }
        Ok((born, NEVER))
    }

    /// Returns the versions of an artifact that checkpoints contain, in any order.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn lives(&self, id: &str) -> Result<Vec<Life>, Damaged> {
        let mut lives = Vec::new();
        for row in self.segments.iter().map(|segment| segment.rows_of(id)) {
            for row in row? {
                let (born, ended) = self.life(row)?;
                let ended = match ended {
                    NEVER => None,
                    ended => {
                        let ended = CheckpointNumber(ended.into());
                        Some((ended, self.checkpoint(ended)?.0))
                    }
                };
                let row = self.row(row)?;
                let chain_hash = Digest::from_bytes(row.chain_hash);
                let born = CheckpointNumber(born.into());
                lives.push(Life { version: row.version, chain_hash, born, ended });
            }
        }
        Ok(lives)
    }

    fn over(&self) -> Result<&RoaringBitmap, Damaged> {
        let gather = || {
            let mut all = RoaringBitmap::new();
            for segment in &self.segments {
                all |= segment.over()?;
            }
            Ok(all)
        };
        self.over.get_or_init(gather).as_ref().map_err(|damaged| *damaged)
    }

    /// Returns the number of the row after the last one.
    fn end(&self) -> u32 {
        self.segments.last().map_or(0, |s| s.rows().end)
    }
}

/// Checkpoints that contain a version of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) version: Version,
    /// Chain hash that the checkpoints record.
    pub(crate) chain_hash: Digest,
    /// First checkpoint that contains the version.
    pub(crate) born: CheckpointNumber,
    /// First checkpoint after it that does not, and its time.
    pub(crate) ended: Option<(CheckpointNumber, Timestamp)>,
}

/// The index at one checkpoint. Row numbers are only valid for this index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'i> {
    index: &'i Index,
    checkpoint: u32,
    made_at: Timestamp,
    hash: Digest,
    /// Markup of the documents at the checkpoint.
    markup: Markup,
}

/// A version that the checkpoint contains.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) id: DocumentId,
    pub(crate) version: Version,
    /// Chain hash that the log records.
    pub(crate) chain_hash: Digest,
    /// Time of the first checkpoint that sealed this version.
    pub(crate) sealed_at: Timestamp,
    /// True if its approval was valid when it was indexed, or was not required.
    pub(crate) is_approved: bool,
    /// Fields of the document; `None` for a governance file, or if the chain did not vouch for
    /// the text.
    pub(crate) metadata: Option<Metadata>,
}

impl At<'_> {
    /// Returns this index for documents that are read in another markup.
    pub(crate) fn under(self, markup: Markup) -> Self {
        Self { markup, ..self }
    }

    /// Deletes the index.
    pub(crate) fn discard(&self) {
        self.index.discard();
    }

    /// Returns the time of the checkpoint.
    pub(crate) fn made_at(&self) -> Timestamp {
        self.made_at
    }

    /// Returns the number of the checkpoint.
    pub(crate) fn checkpoint(&self) -> CheckpointNumber {
        CheckpointNumber(self.checkpoint.into())
    }

    /// Returns the hash of the checkpoint.
    pub(crate) fn hash(&self) -> Digest {
        self.hash
    }

    /// Returns the artifacts that a checkpoint up to this one removed without a valid approval.
    /// This checkpoint may contain some of them again.
    pub(crate) fn lost(&self) -> Vec<&str> {
        let lost = self.index.manifest.lost.iter();
        lost.filter(|(at, _)| *at <= self.checkpoint).map(|(_, id)| id.as_str()).collect()
    }

    /// Returns the version of an artifact that the checkpoint contains.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn get(&self, id: &str) -> Result<Option<Held>, Damaged> {
        self.row_of(id)?.map(|row| self.held(row)).transpose()
    }

    /// Returns the row of an artifact.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn row_of(&self, id: &str) -> Result<Option<u32>, Damaged> {
        for segment in &self.index.segments {
            for row in segment.rows_of(id)? {
                if self.holds(row)? {
                    return Ok(Some(row));
                }
            }
        }
        Ok(None)
    }

    /// Returns the version of a row.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn held(&self, row: u32) -> Result<Held, Damaged> {
        let row = self.index.row(row)?;
        let is_approved = !matches!(row.contents, Contents::Unapproved | Contents::Unreadable);
        let metadata = match row.contents {
            Contents::Document(contents) => {
                let (metadata, additions) = *contents;
                Some(match self.markup {
                    Markup::Plain | Markup::Unknown => metadata,
                    Markup::Obsidian => metadata.with(additions),
                })
            }
            Contents::Governance | Contents::Unapproved | Contents::Unreadable => None,
        };
        Ok(Held {
            id: row.id.parse().map_err(|_| Damaged)?,
            version: row.version,
            chain_hash: Digest::from_bytes(row.chain_hash),
            sealed_at: self.index.checkpoint(row.sealed)?.0,
            is_approved,
            metadata,
        })
    }

    fn holds(&self, row: u32) -> Result<bool, Damaged> {
        let (born, ended) = self.index.life(row)?;
        Ok((born..ended).contains(&self.checkpoint))
    }

    /// Returns those of some rows that the checkpoint contains.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn holding(&self, mut rows: RoaringBitmap) -> Result<RoaringBitmap, Damaged> {
        if self.checkpoint() == self.index.head() {
            rows -= self.index.over()?;
            return Ok(rows);
        }
        let mut held = RoaringBitmap::new();
        for row in &rows {
            if self.holds(row)? {
                held.insert(row);
            }
        }
        Ok(held)
    }

    /// Returns the rows of a document.
    pub(crate) fn of_document(&self, id: &DocumentId) -> Result<RoaringBitmap, Damaged> {
        Ok(self.row_of(id.as_str())?.into_iter().collect())
    }

    /// Returns the rows of documents beneath a folder, at any checkpoint.
    pub(crate) fn of_folder(&self, folder: &str) -> Result<RoaringBitmap, Damaged> {
        let mut rows = RoaringBitmap::new();
        for segment in &self.index.segments {
            rows.insert_range(segment.rows_below(folder)?);
        }
        Ok(rows)
    }

    /// Returns the rows of documents with a tag, at any checkpoint. The results of the methods
    /// below are for any checkpoint, too.
    pub(crate) fn of_tag(&self, tag: &Tag) -> Result<RoaringBitmap, Damaged> {
        if self.markup != Markup::Obsidian {
            return self.posting(&Term::Tag(tag));
        }
        let folded = tag.folded();
        let mut rows = RoaringBitmap::new();
        for kind in self.tag_keys() {
            for end in [row::FOLDED_END, '/'] {
                let below = format!("{kind}{folded}{end}");
                for term in self.terms(&[&below]) {
                    rows |= term?.1;
                }
            }
        }
        Ok(rows)
    }

    /// Returns the rows of documents of a type.
    pub(crate) fn of_type(&self, word: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Type(word))
    }

    /// Returns the rows of sources with a transport.
    pub(crate) fn of_transport(&self, word: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Transport(word))
    }

    /// Returns the rows of sources of a server.
    pub(crate) fn of_server(&self, name: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Server(name))
    }

    /// Returns the rows of documents whose fields are known.
    pub(crate) fn known(&self) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Known)
    }

    /// Returns the rows of documents that the chain did not vouch for when they were indexed.
    pub(crate) fn unreadable(&self) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Unreadable)
    }

    /// Returns the rows of documents that mention an id, in any case.
    pub(crate) fn linking(
        &self,
        kind: LinkKind,
        id: &DocumentId,
    ) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Link(kind, &id.folded()))
    }

    /// Returns the rows of documents that link to a path from the root of a site.
    pub(crate) fn linking_site(&self, path: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Site(path))
    }

    /// Returns the rows of documents that mention a name with this key.
    pub(crate) fn naming(&self, key: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Named(key))
    }

    /// Returns the rows of documents whose id has this key.
    pub(crate) fn named(&self, key: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Name(key))
    }

    /// Returns the rows of documents with an alias that folds to this text.
    pub(crate) fn aliased(&self, folded: &str) -> Result<RoaringBitmap, Damaged> {
        match self.markup {
            Markup::Plain | Markup::Unknown => Ok(RoaringBitmap::new()),
            Markup::Obsidian => self.posting(&Term::Alias(folded)),
        }
    }

    fn posting(&self, term: &Term<'_>) -> Result<RoaringBitmap, Damaged> {
        let mut rows = RoaringBitmap::new();
        for segment in &self.index.segments {
            rows |= segment.posting(term)?;
        }
        Ok(rows)
    }

    /// Returns every tag of a published document, in byte order.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn tags(&self) -> Result<BTreeSet<String>, Damaged> {
        Ok(self.rows_by_tag()?.into_keys().collect())
    }

    /// Returns every server of a published source, in byte order.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn servers(&self) -> Result<BTreeSet<String>, Damaged> {
        self.names(&[row::SERVERS])
    }

    /// Returns every type of a published document, in byte order.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn types(&self) -> Result<BTreeSet<String>, Damaged> {
        self.names(&[row::TYPES])
    }

    /// Returns the rows of each tag that the checkpoint contains.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn rows_by_tag(&self) -> Result<BTreeMap<String, RoaringBitmap>, Damaged> {
        let mut found: BTreeMap<String, RoaringBitmap> = BTreeMap::new();
        for term in self.terms(self.tag_keys()) {
            let (key, rows) = term?;
            let (_, tag) = key.split_once(row::FOLDED_END).ok_or(Damaged)?;
            let rows = self.holding(rows)?;
            if !rows.is_empty() {
                *found.entry(tag.to_owned()).or_default() |= rows;
            }
        }
        Ok(found)
    }

    /// Returns the rows of each type, at any checkpoint.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn rows_by_type(&self) -> Result<BTreeMap<String, RoaringBitmap>, Damaged> {
        self.rows_by(&[row::TYPES])
    }

    /// Returns the rows of the sources of each server, at any checkpoint.
    pub(crate) fn rows_by_server(&self) -> Result<BTreeMap<String, RoaringBitmap>, Damaged> {
        self.rows_by(&[row::SERVERS])
    }

    /// Returns the prefixes of the keys that find documents by tag.
    fn tag_keys(&self) -> &'static [&'static str] {
        match self.markup {
            Markup::Plain | Markup::Unknown => &[row::TAGS],
            Markup::Obsidian => &[row::TAGS, row::ADDED_TAGS],
        }
    }

    /// Returns the names of the terms whose keys have one of these prefixes, with their rows.
    fn terms(
        &self,
        prefixes: &[&str],
    ) -> impl Iterator<Item = Result<(String, RoaringBitmap), Damaged>> {
        let segments = self.index.segments.iter();
        let each = segments.flat_map(move |s| prefixes.iter().map(|p| s.terms_below(p)));
        each.flat_map(|terms| match terms {
            Ok(terms) => terms.into_iter().map(Ok).collect(),
            Err(damaged) => vec![Err(damaged)],
        })
    }

    fn rows_by(&self, prefixes: &[&str]) -> Result<BTreeMap<String, RoaringBitmap>, Damaged> {
        let mut found: BTreeMap<String, RoaringBitmap> = BTreeMap::new();
        for term in self.terms(prefixes) {
            let (name, rows) = term?;
            *found.entry(name).or_default() |= rows;
        }
        Ok(found)
    }

    /// Passes the id of each row to `take`, without reading the rest of the row.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn each_id(
        &self,
        rows: &RoaringBitmap,
        mut take: impl FnMut(&str),
    ) -> Result<(), Damaged> {
        for segment in &self.index.segments {
            let of_segment = rows.range(segment.rows());
            for row in of_segment {
                take(segment.id(row)?);
            }
        }
        Ok(())
    }

    /// Returns the ids of some rows, in byte order.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn ids(&self, rows: &RoaringBitmap) -> Result<Vec<String>, Damaged> {
        let mut ids = Vec::new();
        self.each_id(rows, |id| ids.push(id.to_owned()))?;
        ids.sort_unstable();
        Ok(ids)
    }

    fn names(&self, prefixes: &[&str]) -> Result<BTreeSet<String>, Damaged> {
        let mut names = BTreeSet::new();
        for term in self.terms(prefixes) {
            let (name, rows) = term?;
            if !names.contains(&name) && !self.holding(rows)?.is_empty() {
                names.insert(name);
            }
        }
        Ok(names)
    }

    /// Returns the state of the vault at the checkpoint.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn state(&self) -> Result<PublishedSet, Damaged> {
        let mut all = RoaringBitmap::new();
        all.insert_range(0..self.index.end());
        let mark = |row| {
            let row = self.index.row(row)?;
            let id = row.id.parse().map_err(|_| Damaged)?;
            Ok((id, Mark::new(row.version, Digest::from_bytes(row.chain_hash))))
        };
        self.holding(all)?.iter().map(mark).collect()
    }
}
