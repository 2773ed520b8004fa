//! Read limits of a principal in a governed vault with `reads: stewards`
//! (`spec/review.md`, REV-21).
//!
//! A [`Viewer`] decides what may be read. [`Snapshot`] applies it to the state of the checkpoint
//! before anything is looked up, ranked or counted. So a document that may not be read does not
//! exist for any user of a snapshot.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use rayon::prelude::*;

use super::checkpoint_maps::{Map, Recorded};
use super::{Snapshot, Withheld};
use crate::policy::viewer::{Nameable, Viewer};
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::state::PublishedSet;
use crate::text::document::obsidian::Markup;
use crate::values::model::id::DocumentId;

/// Reader of a checkpoint, and the part of it that they may read.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) viewer: Viewer,
    /// Readable and hidden artifacts, after all of the checkpoint was needed.
    parts: OnceLock<Parts>,
}

/// Readable and hidden parts of a checkpoint.
#[derive(Debug)]
struct Parts {
    readable: Map<'static>,
    hidden: HashSet<DocumentId>,
}

impl<'v> Snapshot<'v> {
    /// Limits the snapshot to what a reader may read. With an index, texts are judged on demand.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(super) fn limited(self, viewer: Option<Viewer>) -> Result<Self, LogError> {
        let Some(viewer) = viewer else { return Ok(self) };
        // These come from governance files, for every reader.
        self.settings();
        self.names.get_or_init(|| self.authorities().ok());
        let limited = Self { limits: Some(Limits { viewer, parts: OnceLock::new() }), ..self };
        if limited.map.index().is_none() {
            limited.readable()?;
        }
        Ok(limited)
    }

    /// Returns the maps that the reader may read.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(super) fn readable(&self) -> Result<&Map<'v>, LogError> {
        match &self.limits {
            Some(limits) => Ok(&self.parts(limits)?.readable),
            None => Ok(&self.map),
        }
    }

    fn parts<'s>(&self, limits: &'s Limits) -> Result<&'s Parts, LogError> {
        if let Some(parts) = limits.parts.get() {
            return Ok(parts);
        }
        let all: Vec<DocumentId> = self.map.state(self)?.iter().map(|(id, _)| id.clone()).collect();
        let judge = |id: DocumentId| {
            let is_readable = self.judged(&limits.viewer, &id);
            let recorded = self.map.recorded(self, &id)?;
            Ok(recorded.map(|recorded| (id, recorded, is_readable)))
        };
        let judged: Result<Vec<_>, LogError> = all.into_par_iter().map(judge).collect();
        let (readable, hidden): (Vec<_>, Vec<_>) =
            judged?.into_iter().flatten().partition(|(_, _, is_readable)| *is_readable);
        let approved = readable.iter().filter(|(_, recorded, _)| recorded.is_approved);
        let approved = approved.map(|(id, ..)| id.clone()).collect();
        let bound = self.map.state(self)?.bound().clone();
        let without = |(id, recorded, _)| (id, recorded);
        let readable = Map::of_recorded(readable.into_iter().map(without), bound, approved);
        let hidden = hidden.into_iter().map(|(id, ..)| id).collect();
        Ok(limits.parts.get_or_init(|| Parts { readable, hidden }))
    }

    /// Returns the record of one artifact, if the reader may read it.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(super) fn recorded(&self, id: &DocumentId) -> Result<Option<Recorded>, LogError> {
        match &self.limits {
            Some(limits) if limits.parts.get().is_none() && self.map.index().is_some() => {
                let is_readable = self.judged(&limits.viewer, id);
                Ok(self.map.recorded(self, id)?.filter(|_| is_readable))
            }
            _ => self.readable()?.recorded(self, id),
        }
    }

    /// Returns true if a reader may read an artifact of the checkpoint.
    fn judged(&self, viewer: &Viewer, id: &DocumentId) -> bool {
        viewer.by_id(id).unwrap_or_else(|| self.may_by_tags(viewer, id))
    }

    /// Returns true if a reader may read a document by its tags. Documents with unknown tags may
    /// not be read.
    fn may_by_tags(&self, viewer: &Viewer, id: &DocumentId) -> bool {
        let markup = self.markup();
        if markup == Markup::Unknown {
            return false;
        }
        if let Some(Ok(Some(held))) = self.map.index().map(|at| at.under(markup).get(id.as_str())) {
            return held.metadata.is_some_and(|metadata| viewer.may(id, &metadata.tags));
        }
        let serve = |version, hash: &_, recorded: &_| self.serve(id, version, hash, recorded);
        matches!(self.found(id, true, serve), Some(Ok(served)) if viewer.may(id, &served.fields.tags))
    }

    /// Returns the governance files whose damage hides everything from this reader. Every answer
    /// names them, because the role of the reader is unknown without them.
    pub(crate) fn lost_rules(&self) -> Vec<Withheld> {
        let lost = self.limits.iter().flat_map(|limits| &limits.viewer.lost);
        lost.map(|lost| Withheld::of_rules(self.vault, lost)).collect()
    }

    /// Refuses a question if damage of one of these files makes its answer empty.
    ///
    /// # Errors
    /// Returns the first of these files.
    pub(crate) fn check_rules(&self) -> Result<(), Withheld> {
        self.lost_rules().into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns true if the vault limits what this reader may read.
    pub(crate) fn is_limited(&self) -> bool {
        self.limits.is_some()
    }

    /// Returns true unless the reader may read everything that the log names, as far as that
    /// is known. Artifacts that were retired before the checkpoint count, too.
    pub(crate) fn hides_anything(&self) -> bool {
        let Some(limits) = &self.limits else { return false };
        !limits.viewer.has_every_role()
            || self.parts(limits).map_or(true, |parts| !parts.hidden.is_empty())
    }

    /// Returns the ids that the reader may learn; `None` if these are all that the log names.
    pub(crate) fn told(&self) -> Result<Option<Nameable>, LogError> {
        let Some(limits) = &self.limits else { return Ok(None) };
        if !self.hides_anything() {
            return Ok(None);
        }
        let hidden = self.parts(limits)?.hidden.iter().map(|id| (id.clone(), false));
        let readable = self.state()?.iter().map(|(id, _)| (id.clone(), true));
        let held = readable.chain(hidden).collect();
        Ok(Some(Nameable::new(limits.viewer.clone(), held)))
    }

    /// Counts the documents of the checkpoint that may not be read.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(crate) fn unreadable_count(&self) -> Result<usize, LogError> {
        let Some(limits) = &self.limits else { return Ok(0) };
        Ok(self.parts(limits)?.hidden.iter().filter(|id| id.is_document()).count())
    }

    /// Returns true if the reader may learn that an artifact with this id exists. An artifact
    /// outside of the checkpoint is judged by its id alone.
    pub(crate) fn may_name(&self, id: &DocumentId) -> bool {
        let Some(limits) = &self.limits else { return true };
        match self.map.recorded(self, id) {
            Ok(Some(_)) => self.holds(id).unwrap_or(false),
            Ok(None) => limits.viewer.may_know(id),
            Err(_) => false,
        }
    }

    /// Returns true if the reader may read this text of an artifact, which may be unpublished. If
    /// `is_step`, the version of the artifact in the checkpoint must be readable, too.
    pub(crate) fn may_read(&self, id: &DocumentId, text: &str, is_step: bool) -> bool {
        let Some(limits) = &self.limits else { return true };
        let is_hidden = || match self.map.recorded(self, id) {
            Ok(Some(_)) => !self.holds(id).unwrap_or(false),
            Ok(None) => false,
            Err(_) => true,
        };
        !(is_step && is_hidden()) && limits.viewer.may_read(id, text)
    }
}

impl Map<'static> {
    /// Makes the maps of the readable artifacts of a checkpoint.
    fn of_recorded(
        recorded: impl Iterator<Item = (DocumentId, Recorded)>,
        bound: std::collections::BTreeMap<DocumentId, crate::record::checkpoint::state::Mark>,
        approved: HashSet<DocumentId>,
    ) -> Self {
        let (mut marks, mut sealed) = (Vec::new(), HashMap::new());
        for (id, Recorded { mark, sealed_at, .. }) in recorded {
            if let Some(at) = sealed_at {
                sealed.insert(id.clone(), at);
            }
            marks.push((id, mark));
        }
        Self::of_set(PublishedSet::of(marks, bound), sealed, approved)
    }
}
