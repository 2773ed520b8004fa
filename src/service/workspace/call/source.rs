//! Records the result of a source, as a caller reports it (SRC-8).

use super::Call;
use crate::files::vault::Vault;
use crate::read::snapshot::{Need, Served, Snapshot};
use crate::read::source::{Claim, ReceiveError, Received};
use crate::service::report::failure::Failure;
use crate::service::report::source::SourceRecordReport;
use crate::service::workspace::source::{Recorded, call_of};
use crate::service::workspace::version::published;

/// A result that was recorded.
pub(crate) struct RecordedOf {
    pub(crate) served: Served,
    /// The line of the access log, and the staged entry.
    pub(crate) recorded: Recorded,
    session: String,
}

impl Call<'_> {
    /// Records the result of a source in the named session of the call.
    ///
    /// `receive` is called after the claim was checked, and returns the result, with its bytes if
    /// its argument is true because they are kept.
    ///
    /// # Errors
    /// Nothing was recorded; or the result was recorded but could not be staged.
    pub(crate) fn record_result(
        &mut self,
        vault: &Vault,
        (id, claim): (&str, Claim),
        receive: impl FnOnce(bool) -> Result<Received, ReceiveError>,
    ) -> Result<RecordedOf, Failure> {
        let labels = self.workspace.named_session("a hydration")?;
        let id = self.workspace.known_id(vault, id)?;
        let id = self.workspace.nameable(vault, id)?;
        let source = self.source(vault, Need::Versions, &mut |_, _| ())?;
        let head = Snapshot::of(vault, &source, None)?;
        let served = published(vault, &head, &id)?;
        let called = call_of(&served)?;
        self.workspace.check_claim(vault, &called, (&claim, &labels))?;
        let is_kept = self.workspace.staged_for((vault, &source), &called)?.is_some();
        let received = receive(is_kept)?;
        let session = labels.session.clone().unwrap_or_default();
        let recorded = self.workspace.record_hydration(
            (vault, &source),
            (&self.recording, labels),
            (&called, claim),
            received,
        )?;
        Ok(RecordedOf { served, recorded, session })
    }
}

impl RecordedOf {
    pub(crate) fn report(&self) -> SourceRecordReport<'_> {
        SourceRecordReport {
            trace: self.recorded.trace.to_string(),
            session: &self.session,
            hydration: &self.recorded.hydration,
            staged: self.recorded.staged.as_deref(),
        }
    }
}
