//! Sections that have words.

use super::{Call, Places};
use crate::audit::Traced;
use crate::model::digest::Digest;
use crate::model::number::CheckpointNumber;
use crate::report::failure::Failure;
use crate::report::search::SearchReport;
use crate::resolve::{Need, Snapshot};
use crate::search::{self, Answer, Query};
use crate::uri::Class;
use crate::vault::Vault;
use crate::workspace::search::{Answered, OnSlow, ask};

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
    query: String,
}

/// What it takes to answer.
pub(crate) fn need(vault: &Vault) -> Need {
    // Who has searched before will again: the log is large, and the index says the same.
    let is_second = vault.cache().is_some_and(search::builtin::is_made);
    if is_second { Need::Fields } else { Need::Versions }
}

impl Call<'_> {
    /// Finds at most `limit` sections.
    ///
    /// # Errors
    /// The back-end or its configuration failed.
    pub(crate) fn search(
        &mut self,
        (vault, source): Places<'_>,
        (query, limit): (&Query, usize),
        on_slow: OnSlow<'_>,
    ) -> Result<Found, Failure> {
        self.note_settings(vault);
        let snapshot = Snapshot::of(vault, source, None)?;
        let asked = ask(&self.workspace, vault, &snapshot, (query, limit), on_slow)?;
        let Answered { backend, answer } = asked;
        self.recording.class = Some(Class::Delegated);
        self.recording.query = Some(query.text().to_owned());
        self.recording.listed = Some(answer.hits.len());
        let (checkpoint, hash) = (snapshot.checkpoint(), snapshot.hash());
        Ok(Found { backend, answer, checkpoint, hash, query: query.text().to_owned() })
    }
}

impl Found {
    /// The report, with or without how each score is made.
    pub(crate) fn report(&self, explain: bool) -> Traced<SearchReport<'_>> {
        let about = (self.query.as_str(), self.backend.as_str());
        SearchReport::new(about, self.checkpoint, &self.answer, explain)
    }
}
