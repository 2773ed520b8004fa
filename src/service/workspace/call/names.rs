//! A page of the names in a vault: documents and packs that can be read by URI.

use super::{Call, Places};
use crate::read::snapshot::packs::SealedPack;
use crate::read::snapshot::{Known, Listed, Need, Snapshot};
use crate::service::report::failure::Failure;
use crate::text::uri::Uri;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;

/// The data that an answer needs. An index answers fast, so it is built if it is missing.
pub(crate) const NEED: Need = Need::Fields;

/// A page of published artifacts: documents in byte order of their ids, then packs in that of
/// their files.
pub(crate) struct Page {
    pub(crate) checkpoint: CheckpointNumber,
    /// Documents that a URI can name.
    pub(crate) documents: Vec<(Uri, Listed)>,
    /// Packs that a URI can name.
    pub(crate) packs: Vec<(Uri, SealedPack)>,
    /// Number of all names.
    pub(crate) all: usize,
    /// The hash of everything at the checkpoint that the reader may read.
    pub(crate) seen: Option<Digest>,
}

impl Call<'_> {
    /// Returns at most `most` names after the first `skipped`, at a checkpoint or at the head.
    /// Withheld artifacts are left out.
    ///
    /// # Errors
    /// The log is not valid.
    pub(crate) fn names(
        &mut self,
        (vault, source): Places<'_>,
        at: Option<CheckpointNumber>,
        (skipped, most): (usize, usize),
    ) -> Result<Page, Failure> {
        let snapshot = Snapshot::of(vault, source, at)?;
        snapshot.check_rules()?;
        self.count_unreadable(&snapshot)?;
        let ids = snapshot.ids_below("")?;
        let end = skipped.saturating_add(most);
        let here = ids.get(skipped..end.min(ids.len())).unwrap_or_default();
        let mut documents = Vec::with_capacity(here.len());
        for id in here.iter().filter_map(|id| id.parse::<DocumentId>().ok()) {
            match (snapshot.uri_of_newest(&id), snapshot.listed(&id)) {
                (Some(uri), Some(Ok(listed))) => documents.push((uri, listed)),
                (_, Some(Err(_))) => self.recording.withheld += 1,
                _ => {}
            }
        }
        let (mut packs, mut all) = (Vec::new(), ids.len());
        if end >= ids.len() {
            // Packs are few, and only read after the last document.
            let usable = snapshot.packs().map(|packs| packs.usable).unwrap_or_default();
            all += usable.len();
            let first = skipped.saturating_sub(ids.len());
            let room = end.saturating_sub(skipped.max(ids.len()));
            packs = usable
                .into_iter()
                .skip(first)
                .take(room)
                .filter_map(|pack| Some((snapshot.uri_of_newest(&pack.file)?, pack)))
                .collect();
        }
        self.recording.listed = Some(documents.len() + packs.len());
        let (checkpoint, seen) = (snapshot.checkpoint(), snapshot.hash_for_reader()?);
        Ok(Page { checkpoint, documents, packs, all, seen })
    }

    /// Returns the first documents whose ids begin with `beginning`, in byte order, and the number
    /// of all of them. Documents that the reader cannot know of are left out of both; documents
    /// without a URI are counted only.
    ///
    /// # Errors
    /// The log is not valid.
    pub(crate) fn first_below(
        &mut self,
        (vault, source): Places<'_>,
        beginning: &str,
        most: usize,
    ) -> Result<(Vec<(DocumentId, Uri)>, usize), Failure> {
        let snapshot = Snapshot::of(vault, source, None)?;
        self.count_unreadable(&snapshot)?;
        let ids = snapshot.ids_below(beginning)?;
        let first = ids.iter().take(most).filter_map(|id| {
            let id: DocumentId = id.parse().ok()?;
            let uri = snapshot.uri_of_newest(&id)?;
            Some((id, uri))
        });
        Ok((first.collect(), ids.len()))
    }

    /// Returns the tags of the documents that the reader may read, in byte order.
    ///
    /// # Errors
    /// The log is not valid.
    pub(crate) fn tags(&mut self, (vault, source): Places<'_>) -> Result<Vec<String>, Failure> {
        let snapshot = Snapshot::of(vault, source, None)?;
        self.count_unreadable(&snapshot)?;
        Ok(snapshot.known(Known::Tags)?.into_iter().collect())
    }
}
