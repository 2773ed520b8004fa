//! What of a vault has a name that may be read by it: a page of its documents and packs.

use super::{Call, Places};
use crate::read::snapshot::packs::SealedPack;
use crate::read::snapshot::{Known, Listed, Need, Snapshot};
use crate::service::report::failure::Failure;
use crate::text::uri::Uri;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;

/// What it takes to answer: an index makes it cheap, so that one is made.
pub(crate) const NEED: Need = Need::Fields;

/// A page of what a checkpoint publishes: documents in byte order of their ids, then packs in that of
/// their files.
pub(crate) struct Page {
    /// The checkpoint.
    pub(crate) checkpoint: CheckpointNumber,
    /// Documents that a URI can name.
    pub(crate) documents: Vec<(Uri, Listed)>,
    /// Packs.
    pub(crate) packs: Vec<(Uri, SealedPack)>,
    /// How many names there are.
    pub(crate) all: usize,
    /// The hash of what the reader may read of the checkpoint.
    pub(crate) seen: Option<Digest>,
}

impl Call<'_> {
    /// At most `most` names after the first `skipped`, at a checkpoint or the last one. What is
    /// withheld is left out.
    ///
    /// # Errors
    /// The log cannot be relied on.
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
            // They are few, and read only where the documents end.
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

    /// The first documents whose ids begin so, in byte order, and how many there are, as far as the
    /// reader may know of them. Those that no URI can name are left out of the first ones.
    ///
    /// # Errors
    /// The log cannot be relied on.
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

    /// The tags of the documents that the reader may read, in byte order.
    ///
    /// # Errors
    /// The log cannot be relied on.
    pub(crate) fn tags(&mut self, (vault, source): Places<'_>) -> Result<Vec<String>, Failure> {
        let snapshot = Snapshot::of(vault, source, None)?;
        self.count_unreadable(&snapshot)?;
        Ok(snapshot.known(Known::Tags)?.into_iter().collect())
    }
}
