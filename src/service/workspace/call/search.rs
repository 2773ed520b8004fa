//! Searches for sections that contain words.

use super::{Call, Places};
use crate::files::vault::Vault;
use crate::read::search::{self, Answer, Query};
use crate::read::snapshot::{Need, Snapshot};
use crate::record::audit::Traced;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::search::SearchReport;
use crate::service::workspace::search::{Answered, OnSlow, ask};
use crate::text::uri::Class;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;

/// The hits of a search.
pub(crate) struct Found {
    /// The name of the back-end.
    pub(crate) backend: String,
    /// The hits.
    pub(crate) answer: Answer,
    /// The checkpoint that was searched: the head.
    pub(crate) checkpoint: CheckpointNumber,
    /// The hash of the checkpoint; `None` if nothing is published.
    pub(crate) hash: Option<Digest>,
    /// The hash of everything at the checkpoint that the reader may read.
    #[cfg(feature = "mcp")]
    pub(crate) seen: Option<Digest>,
    /// True if `skipped` exceeds the number of hits.
    #[cfg(feature = "mcp")]
    pub(crate) is_past: bool,
    query: String,
}

/// Returns the data that a search needs.
pub(crate) fn need(vault: &Vault) -> Need {
    // A user who has searched before will do it again. The index is smaller than the log.
    let is_second = vault.cache().is_some_and(search::builtin::is_made);
    if is_second { Need::Fields } else { Need::Versions }
}

/// The page of hits to return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hits {
    /// Maximum number of hits.
    pub(crate) limit: usize,
    /// Number of better hits to leave out, because earlier pages have them.
    pub(crate) skipped: usize,
    /// The checkpoint of the earlier pages.
    pub(crate) at: Option<CheckpointNumber>,
}

impl Hits {
    /// Returns the first page of at most `limit` hits.
    pub(crate) fn best(limit: usize) -> Self {
        Self { limit, skipped: 0, at: None }
    }
}

impl Call<'_> {
    /// Finds sections: at most [`MAX_HITS`](search::MAX_HITS), including those that are left out.
    ///
    /// # Errors
    /// The back-end or its configuration failed, or the earlier pages are from another checkpoint
    /// than the head.
    pub(crate) fn search(
        &mut self,
        (vault, source): Places<'_>,
        (query, wanted): (&Query, Hits),
        on_slow: OnSlow<'_>,
    ) -> Result<Found, Failure> {
        self.note_settings(vault);
        let snapshot = Snapshot::of(vault, source, None)?;
        wanted.at.map_or(Ok(()), |at| check_page(at, snapshot.checkpoint()))?;
        let mut limit = wanted.skipped.saturating_add(wanted.limit).min(search::MAX_HITS);
        let Answered { backend, mut answer } = loop {
            let asked = ask(&self.workspace, vault, &snapshot, (query, limit), on_slow)?;
            let is_empty = asked.answer.hits.len() <= wanted.skipped;
            if !is_empty || !asked.answer.goes_on || limit == search::MAX_HITS {
                break asked;
            }
            // The reader may not see some proposed hits. A page without a hit would lead to itself.
            limit = limit.saturating_mul(2).min(search::MAX_HITS);
        };
        #[cfg(feature = "mcp")]
        let is_past = answer.hits.len() < wanted.skipped;
        answer.hits.drain(..wanted.skipped.min(answer.hits.len()));
        answer.goes_on &= limit < search::MAX_HITS;
        answer.goes_on |= answer.hits.len() > wanted.limit;
        answer.hits.truncate(wanted.limit);
        self.recording.class = Some(Class::Delegated);
        self.recording.query = Some(query.text().to_owned());
        self.recording.listed = Some(answer.hits.len());
        let (checkpoint, hash) = (snapshot.checkpoint(), snapshot.hash());
        Ok(Found {
            backend,
            answer,
            checkpoint,
            hash,
            #[cfg(feature = "mcp")]
            seen: snapshot.hash_for_reader()?,
            #[cfg(feature = "mcp")]
            is_past,
            query: query.text().to_owned(),
        })
    }
}

/// Refuses a page from another checkpoint than the head, because only the head can be searched.
fn check_page(at: CheckpointNumber, head: CheckpointNumber) -> Result<(), Failure> {
    if at == head {
        return Ok(());
    }
    if at > head {
        let message = format!("checkpoint {at} does not exist: {head} is the last one");
        return Err(Failure::new(Code::UnknownCheckpoint, message));
    }
    let message = format!(
        "a search answers for the last checkpoint, {head}, but the previous page is from \
         checkpoint {at}"
    );
    Err(Failure::new(Code::SearchPast, message).hint("search again from the first page"))
}

impl Found {
    /// Returns the report, with or without the parts of each score.
    pub(crate) fn report(&self, explain: bool) -> Traced<SearchReport<'_>> {
        let about = (self.query.as_str(), self.backend.as_str());
        SearchReport::new(about, self.checkpoint, &self.answer, explain)
    }
}
