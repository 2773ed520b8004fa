//! The index of a vault: which version of which artifact every checkpoint holds, and where each
//! term stands, so that a question costs what its answer costs (`spec/index.md`).
//!
//! It is in the user's cache directory, is made from a log whose hashes were recomputed and from
//! texts that the chain vouches for, and holds nothing that cannot be made again. It is used only
//! while the log is as long as it was and has the same last hash in its place. What it answers is
//! checked once more: a document is served only if its text leads to the chain hash, and only if
//! that text's own fields fit the question. [`crate::prove::verify`] never looks at it.
//!
//! One row is one version of one artifact with the checkpoints in which it holds; [`At`] is the
//! index at one checkpoint, today's or a past one. `segment` is a file of rows, `build` makes one
//! for new checkpoints and merges small ones, `blocks` notices damage. `staged` is the index of
//! staging chains.

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
    /// Rows that do not hold at the head; gathered when they are first asked for.
    over: OnceLock<Result<RoaringBitmap, Damaged>>,
}

impl Index {
    /// Opens the index in a vault's cache folder if it was made from exactly the log that the
    /// vault has. What it costs does not depend on the vault's size.
    pub(crate) fn open(dir: &Path, vault: &Vault) -> Option<Self> {
        let index = Self::read(dir)?;
        index.manifest.is_of(vault).then_some(index)
    }

    /// Opens the index in a folder, whatever log it was made from.
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

    /// Whether a folder holds an index, of whatever log.
    pub(crate) fn lies_in(dir: &Path) -> bool {
        Manifest::read(dir).is_some()
    }

    /// Takes the index away: something in it is not as it was written. The next one is made again.
    pub(crate) fn discard(&self) {
        manifest::cache(&self.dir).remove();
    }

    /// The number of the last checkpoint.
    pub(crate) fn head(&self) -> CheckpointNumber {
        self.manifest.head
    }

    /// The hash of the last checkpoint.
    pub(crate) fn head_hash(&self) -> Digest {
        self.manifest.head_hash()
    }

    /// The recorded hash of a checkpoint, if there is one of that number.
    pub(crate) fn hash_of(&self, checkpoint: CheckpointNumber) -> Option<Digest> {
        self.checkpoint(checkpoint).ok().map(|(_, hash)| hash)
    }

    /// When a checkpoint was made, and its hash; none where the index is damaged.
    pub(crate) fn made(&self, checkpoint: CheckpointNumber) -> Option<(Timestamp, Digest)> {
        self.checkpoint(checkpoint).ok()
    }

    /// What each checkpoint did, in numbers.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn events(&self) -> Result<Vec<Event>, Damaged> {
        self.segments.iter().flat_map(Segment::events).collect()
    }

    /// The form of the log that it was made from.
    fn log_form(&self) -> LogForm {
        self.manifest.form()
    }

    /// The index at one checkpoint; `None` where its hash was never recomputed, or where there is
    /// none of that number.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn at(&self, checkpoint: CheckpointNumber) -> Result<Option<At<'_>>, Damaged> {
        if !(self.manifest.checked_from..=self.manifest.head).contains(&checkpoint) {
            return Ok(None);
        }
        let (made_at, hash) = self.checkpoint(checkpoint)?;
        let number = u32::try_from(checkpoint.0).map_err(|_| Damaged)?;
        Ok(Some(At { index: self, checkpoint: number, made_at, hash, markup: Markup::Plain }))
    }

    /// Time and hash of a checkpoint.
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

    /// The checkpoints in which a row holds: from the first until before the second.
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

    /// The versions of an artifact that checkpoints held, in no order.
    ///
    /// # Errors
    /// The index is damaged.
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

    /// The number of the row after the last.
    fn end(&self) -> u32 {
        self.segments.last().map_or(0, |s| s.rows().end)
    }
}

/// In which checkpoints a version of an artifact holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    /// The version.
    pub(crate) version: Version,
    /// The hash by which checkpoints seal it.
    pub(crate) chain_hash: Digest,
    /// The first checkpoint in which it holds.
    pub(crate) born: CheckpointNumber,
    /// The first after that in which it does not, and when that was made.
    pub(crate) ended: Option<(CheckpointNumber, Timestamp)>,
}

/// The index at one checkpoint. Rows are numbers that mean something to this index alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'i> {
    index: &'i Index,
    checkpoint: u32,
    made_at: Timestamp,
    hash: Digest,
    /// How the checkpoint has its documents read.
    markup: Markup,
}

/// A version that holds at the checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// The artifact.
    pub(crate) id: DocumentId,
    /// Its version.
    pub(crate) version: Version,
    /// The chain hash that the log records.
    pub(crate) chain_hash: Digest,
    /// When a checkpoint sealed this version first.
    pub(crate) sealed_at: Timestamp,
    /// Whether its approval was valid when it was indexed, or it needed none.
    pub(crate) is_approved: bool,
    /// Its fields; none of a governance file, and none where the chain did not vouch for the text.
    pub(crate) metadata: Option<Metadata>,
}

impl At<'_> {
    /// The same where the documents are read in a certain way.
    pub(crate) fn under(self, markup: Markup) -> Self {
        Self { markup, ..self }
    }

    /// Takes the index away.
    pub(crate) fn discard(&self) {
        self.index.discard();
    }

    /// When the checkpoint was made.
    pub(crate) fn made_at(&self) -> Timestamp {
        self.made_at
    }

    /// The number of the checkpoint.
    pub(crate) fn checkpoint(&self) -> CheckpointNumber {
        CheckpointNumber(self.checkpoint.into())
    }

    /// The hash of the checkpoint.
    pub(crate) fn hash(&self) -> Digest {
        self.hash
    }

    /// The artifacts that some checkpoint up to this one removed without a valid approval. Some may
    /// be held again.
    pub(crate) fn lost(&self) -> Vec<&str> {
        let lost = self.index.manifest.lost.iter();
        lost.filter(|(at, _)| *at <= self.checkpoint).map(|(_, id)| id.as_str()).collect()
    }

    /// What the checkpoint holds of an artifact.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn get(&self, id: &str) -> Result<Option<Held>, Damaged> {
        self.row_of(id)?.map(|row| self.held(row)).transpose()
    }

    /// The row of an artifact.
    ///
    /// # Errors
    /// The index is damaged.
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

    /// The version of a row.
    ///
    /// # Errors
    /// The index is damaged.
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

    /// Those of some rows that hold at the checkpoint.
    ///
    /// # Errors
    /// The index is damaged.
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

    /// Rows of a document.
    pub(crate) fn of_document(&self, id: &DocumentId) -> Result<RoaringBitmap, Damaged> {
        Ok(self.row_of(id.as_str())?.into_iter().collect())
    }

    /// Rows of documents beneath a folder, whenever they held.
    pub(crate) fn of_folder(&self, folder: &str) -> Result<RoaringBitmap, Damaged> {
        let mut rows = RoaringBitmap::new();
        for segment in &self.index.segments {
            rows.insert_range(segment.rows_below(folder)?);
        }
        Ok(rows)
    }

    /// Rows with a tag, whenever they held. So are the answers of the following.
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

    /// Rows of documents of a type.
    pub(crate) fn of_type(&self, word: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Type(word))
    }

    /// Rows of sources with a transport.
    pub(crate) fn of_transport(&self, word: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Transport(word))
    }

    /// Rows of sources of a server.
    pub(crate) fn of_server(&self, name: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Server(name))
    }

    /// Rows of documents whose fields are known.
    pub(crate) fn known(&self) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Known)
    }

    /// Rows of documents that the chain did not vouch for when they were indexed.
    pub(crate) fn unreadable(&self) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Unreadable)
    }

    /// Rows of documents that mention an id, in any case.
    pub(crate) fn linking(
        &self,
        kind: LinkKind,
        id: &DocumentId,
    ) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Link(kind, &id.folded()))
    }

    /// Rows of documents that link to a path from the root of a site.
    pub(crate) fn linking_site(&self, path: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Site(path))
    }

    /// Rows of documents that mention a name with this key.
    pub(crate) fn naming(&self, key: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Named(key))
    }

    /// Rows of documents whose id has this key.
    pub(crate) fn named(&self, key: &str) -> Result<RoaringBitmap, Damaged> {
        self.posting(&Term::Name(key))
    }

    /// Rows of documents that have another name which folds to this.
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

    /// Every tag of a published document, in byte order.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn tags(&self) -> Result<BTreeSet<String>, Damaged> {
        Ok(self.rows_by_tag()?.into_keys().collect())
    }

    /// Every server of a published source, in byte order.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn servers(&self) -> Result<BTreeSet<String>, Damaged> {
        self.names(&[row::SERVERS])
    }

    /// Every type of a published document, in byte order.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn types(&self) -> Result<BTreeSet<String>, Damaged> {
        self.names(&[row::TYPES])
    }

    /// The rows of each tag that hold.
    ///
    /// # Errors
    /// The index is damaged.
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

    /// The rows of each type, whenever they held.
    ///
    /// # Errors
    /// The index is damaged. So are the answers of the following.
    pub(crate) fn rows_by_type(&self) -> Result<BTreeMap<String, RoaringBitmap>, Damaged> {
        self.rows_by(&[row::TYPES])
    }

    /// The rows of the sources of each server.
    pub(crate) fn rows_by_server(&self) -> Result<BTreeMap<String, RoaringBitmap>, Damaged> {
        self.rows_by(&[row::SERVERS])
    }

    /// How the keys of the terms begin by which documents with a tag are found.
    fn tag_keys(&self) -> &'static [&'static str] {
        match self.markup {
            Markup::Plain | Markup::Unknown => &[row::TAGS],
            Markup::Obsidian => &[row::TAGS, row::ADDED_TAGS],
        }
    }

    /// The names of the terms whose keys begin in one of these ways, with their rows.
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

    /// Hands the id of each of some rows to `take`, without reading what else the row holds.
    ///
    /// # Errors
    /// The index is damaged.
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

    /// The ids of some rows, in byte order.
    ///
    /// # Errors
    /// The index is damaged.
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

    /// What the checkpoint holds, as the log says it.
    ///
    /// # Errors
    /// The index is damaged.
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
