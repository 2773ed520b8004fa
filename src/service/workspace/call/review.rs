//! The submissions that await a decision: a list of them, or one as its reviewer reads it.

use super::{Call, Places};
use crate::files::vault::Vault;
use crate::prove::evidence::submission::Submitted;
use crate::read::snapshot::{Need, Withheld};
use crate::service::report::failure::Failure;
use crate::service::report::review::QueueReport;
use crate::text::uri::Class;
#[cfg(feature = "mcp")]
use crate::values::model::digest::Digest;
use crate::values::model::number::Version;
use crate::values::model::principal::Principal;
use crate::write::publish::review::{self, Queue};

/// The data that a list of submissions needs.
pub(crate) const NEED: Need = Need::Versions;

/// The submissions that await a decision, and the principal who lists them.
pub(crate) struct Queued {
    queue: Queue,
    principal: Option<Principal>,
    all: bool,
}

impl Call<'_> {
    /// Returns the submissions that this principal may decide, or all that await a decision.
    ///
    /// # Errors
    /// The vault is not governed, or the log is not valid.
    pub(crate) fn queue(
        &mut self,
        (vault, source): Places<'_>,
        all: bool,
    ) -> Result<Queued, Failure> {
        let principal = self.workspace.principal(vault.root(), None);
        let principal = match all {
            true => principal.ok(),
            false => Some(principal?),
        };
        let principal = principal.map(|(principal, _)| principal);
        let queue = review::queue(vault, source, principal.as_ref())?;
        let queued = Queued { queue, principal, all };
        self.recording.listed = Some(queued.report().waiting.len());
        self.withholds(&queued.queue.withheld);
        Ok(queued)
    }

    /// Returns one submission, decided or not, as its reviewer reads it.
    ///
    /// # Errors
    /// The submission does not exist, the principal lacks a role there, or the chain does not vouch
    /// for a text.
    pub(crate) fn submission(
        &mut self,
        vault: &Vault,
        id: &str,
        version: Option<Version>,
    ) -> Result<Submitted, Failure> {
        let named = self.workspace.named(vault, id)?;
        if vault.reader().is_of_published() {
            // The check comes before anything of the document is read.
            self.workspace.check_writable(vault, &named)?;
        }
        self.workspace.check_told(vault, &named)?;
        let log = self.log(vault)?;
        let submitted = self.workspace.submission((vault, &log), &named, version);
        // A principal who may not read the submission cannot find out either if the
        // document exists.
        let submitted = match submitted {
            Err(_) if vault.reader().is_of_published() => {
                self.workspace.nameable(vault, named.clone())?;
                submitted
            }
            submitted => submitted,
        };
        let submitted = submitted?;
        self.recording.class = Some(Class::Direct);
        self.recording.query = Some(id.to_owned());
        self.recording.listed = Some(1);
        Ok(self.release(submitted))
    }
}

/// Returns a hash that identifies a list of submissions.
#[cfg(feature = "mcp")]
pub(crate) fn hash(report: &QueueReport<'_>) -> Digest {
    let rows = report.waiting.iter();
    let rows: String = rows.map(|one| format!("{} {}\n", one.version, one.id)).collect();
    Digest::of(rows.as_bytes())
}

#[cfg(feature = "mcp")]
impl Call<'_> {
    /// Cuts a list to at most `limit` submissions after the first `skipped`. Returns how many are
    /// left out after them.
    pub(crate) fn cut_queue(
        &mut self,
        report: &mut QueueReport<'_>,
        (skipped, limit): (usize, usize),
    ) -> usize {
        let waiting = &mut report.waiting;
        waiting.drain(..skipped.min(waiting.len()));
        let all = waiting.len();
        waiting.truncate(limit);
        self.recording.listed = Some(waiting.len());
        all - waiting.len()
    }
}

impl Queued {
    /// Returns the artifacts that are withheld because their histories cannot be read.
    pub(crate) fn withheld(&self) -> &[Withheld] {
        &self.queue.withheld
    }

    pub(crate) fn report(&self) -> QueueReport<'_> {
        QueueReport::new(&self.queue, self.principal.as_ref(), self.all)
    }
}
