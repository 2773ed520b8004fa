//! Pages of published documents. Documents of other pages are not read.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{Resolution, Snapshot};
use crate::record::checkpoint::fault::LogError;
use crate::values::model::id::DocumentId;

/// Maximum number of documents whose texts are in memory at once while all of them are read.
const AT_ONCE: usize = 1024;

/// Documents of a page, by id. Their texts are read on demand.
#[derive(Debug)]
pub(crate) struct Page<'s, 'v> {
    snapshot: &'s Snapshot<'v>,
    ids: Vec<Cow<'s, str>>,
    /// Number of documents after the page.
    pub(crate) omitted: usize,
}

impl Page<'_, '_> {
    /// Calls `see` with the documents of the page and the withheld ones, in byte order of their
    /// ids. A bounded number of texts is in memory at once.
    pub(crate) fn read(&self, mut see: impl FnMut(Resolution)) {
        // Decided here, so that no reading thread waits for another one to decide it.
        self.snapshot.markup();
        let get = |id: &Cow<'_, str>| self.snapshot.get(&id.parse::<DocumentId>().ok()?);
        for ids in self.ids.chunks(AT_ONCE) {
            let mut part = Resolution::default();
            for read in ids.par_iter().filter_map(get).collect::<Vec<_>>() {
                match read {
                    Ok(served) => part.documents.push(served),
                    Err(withheld) => part.withheld.push(withheld),
                }
            }
            see(part);
        }
        if self.omitted == 0 {
            let withheld = self.snapshot.lost_documents();
            see(Resolution { withheld, ..Resolution::default() });
        }
    }

    /// Reads the whole page.
    pub(crate) fn whole(&self) -> Resolution {
        let mut whole = Resolution::default();
        self.read(|mut part| {
            whole.documents.append(&mut part.documents);
            whole.withheld.append(&mut part.withheld);
        });
        whole
    }
}

impl<'v> Snapshot<'v> {
    /// Returns a page of the published documents in byte order of their ids: at most `most` after
    /// the first `skipped`. Documents of other pages are not read.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(crate) fn page(&self, (skipped, most): (usize, usize)) -> Result<Page<'_, 'v>, LogError> {
        let mut ids = self.ids()?;
        let here = skipped.min(ids.len())..skipped.saturating_add(most).min(ids.len());
        let omitted = ids.len() - here.end;
        ids.truncate(here.end);
        ids.drain(..here.start);
        Ok(Page { snapshot: self, ids, omitted })
    }

    /// Returns the ids of the published documents, in byte order.
    fn ids(&self) -> Result<Vec<Cow<'_, str>>, LogError> {
        let indexed = self.indexed(|at| at.ids(&at.holding(at.known()? | at.unreadable()?)?));
        match indexed {
            Some(ids) => Ok(ids.into_iter().map(Cow::Owned).collect()),
            None => Ok(self.documents()?.map(|id| Cow::Borrowed(id.as_str())).collect()),
        }
    }
}
