//! Sections that have words.

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

/// What a search found.
pub(crate) struct Found {
    /// Which back-end found it.
    pub(crate) backend: String,
    /// What it found.
    pub(crate) answer: Answer,
    /// The checkpoint that it searched, the last one.
    pub(crate) checkpoint: CheckpointNumber,
    /// The hash of that; none where nothing is published.
    pub(crate) hash: Option<Digest>,
    /// The hash of what the reader may read of the checkpoint.
    #[cfg(feature = "mcp")]
    pub(crate) seen: Option<Digest>,
    /// Whether more hits were to be left out than there are.
    #[cfg(feature = "mcp")]
    pub(crate) is_past: bool,
    query: String,
}

/// What it takes to answer.
pub(crate) fn need(vault: &Vault) -> Need {
    // Who has searched before will again: the log is large, and the index says the same.
    let is_second = vault.cache().is_some_and(search::builtin::is_made);
    if is_second { Need::Fields } else { Need::Versions }
}

/// Which of the hits are answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hits {
    /// The most of them.
    pub(crate) limit: usize,
    /// How many better ones are left out, because they were answered before.
    pub(crate) skipped: usize,
    /// The checkpoint that they were answered at.
    pub(crate) at: Option<CheckpointNumber>,
}

impl Hits {
    /// The best ones.
    pub(crate) fn best(limit: usize) -> Self {
        Self { limit, skipped: 0, at: None }
    }
}

impl Call<'_> {
    /// Finds sections, [`MAX_HITS`](search::MAX_HITS) at most with those that are left out.
    ///
    /// # Errors
    /// The back-end or its configuration failed, or the hits that are left out were answered at
    /// another checkpoint than the last one.
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
            // What was proposed may not be shown. A page without a hit would be its own next one.
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

/// Refuses a page of another checkpoint than the last one, which is the only one that is searched.
fn check_page(at: CheckpointNumber, head: CheckpointNumber) -> Result<(), Failure> {
    if at == head {
        return Ok(());
    }
    if at > head {
        let message = format!("checkpoint {at} does not exist: {head} is the last one");
        return Err(Failure::new(Code::UnknownCheckpoint, message));
    }
    let message = format!(
        "a search answers for the last checkpoint, {head}, but the page before is of checkpoint {at}"
    );
    Err(Failure::new(Code::SearchPast, message).hint("search again from the first page"))
}

impl Found {
    /// The report, with or without how each score is made.
    pub(crate) fn report(&self, explain: bool) -> Traced<SearchReport<'_>> {
        let about = (self.query.as_str(), self.backend.as_str());
        SearchReport::new(about, self.checkpoint, &self.answer, explain)
    }
}
