//! Published documents page by page: no document of another page is read.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{Resolution, Snapshot};
use crate::checkpoint::fault::LogError;
use crate::model::id::DocumentId;

impl Snapshot<'_> {
    /// The published documents, with those that are withheld, in byte order of their ids: at most
    /// `most` after the first `skipped`, and how many come after them. No other is read.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub(crate) fn page(
        &self,
        (skipped, most): (usize, usize),
    ) -> Result<(Resolution, usize), LogError> {
        let ids = self.ids()?;
        let here = skipped.min(ids.len())..skipped.saturating_add(most).min(ids.len());
        let (end, all) = (here.end, ids.len());
        // No thread of those that read documents waits for another one to decide this.
        self.markup();
        let get = |id: &Cow<'_, str>| self.get(&id.parse::<DocumentId>().ok()?);
        let read: Vec<_> = ids[here].par_iter().filter_map(get).collect();
        let mut resolution = Resolution::default();
        for read in read {
            match read {
                Ok(served) => resolution.documents.push(served),
                Err(withheld) => resolution.withheld.push(withheld),
            }
        }
        Ok((resolution, all - end))
    }

    /// The ids of the published documents, in byte order.
    fn ids(&self) -> Result<Vec<Cow<'_, str>>, LogError> {
        let indexed = self.indexed(|at| at.ids(&at.holding(at.known()? | at.unreadable()?)?));
        match indexed {
            Some(ids) => Ok(ids.into_iter().map(Cow::Owned).collect()),
            None => Ok(self.documents()?.map(|id| Cow::Borrowed(id.as_str())).collect()),
        }
    }
}
