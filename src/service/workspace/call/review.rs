//! What awaits a decision: all of it, or one submission as its reviewer reads it.

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

/// What it takes to list what awaits a decision.
pub(crate) const NEED: Need = Need::Versions;

/// What awaits a decision, and who asks.
pub(crate) struct Queued {
    queue: Queue,
    principal: Option<Principal>,
    all: bool,
}

impl Call<'_> {
    /// What this principal may decide, or everything that awaits a decision.
    ///
    /// # Errors
    /// The vault is not governed, or the log cannot be relied on.
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

    /// One submission, decided or not, as its reviewer reads it.
    ///
    /// # Errors
    /// There is none, the principal has no role there, or the chain does not vouch for a text.
    pub(crate) fn submission(
        &mut self,
        vault: &Vault,
        id: &str,
        version: Option<Version>,
    ) -> Result<Submitted, Failure> {
        let named = self.workspace.named(vault, id)?;
        if vault.reader().is_of_published() {
            // Before anything of it is looked at.
            self.workspace.check_writable(vault, &named)?;
        }
        self.workspace.check_told(vault, &named)?;
        let log = self.log(vault)?;
        let submitted = self.workspace.submission((vault, &log), &named, version);
        // Who may not read what was submitted is not told either whether there is such a document.
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

/// What names a list of what awaits a decision: another list has another hash.
#[cfg(feature = "mcp")]
pub(crate) fn hash(report: &QueueReport<'_>) -> Digest {
    let rows = report.waiting.iter();
    let rows: String = rows.map(|one| format!("{} {}\n", one.version, one.id)).collect();
    Digest::of(rows.as_bytes())
}

#[cfg(feature = "mcp")]
impl Call<'_> {
    /// Cuts a list to what is answered of it: at most `limit` after the first `skipped`. Gives how
    /// many are left out after them.
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
    /// What is withheld because its history cannot be read.
    pub(crate) fn withheld(&self) -> &[Withheld] {
        &self.queue.withheld
    }

    /// The report.
    pub(crate) fn report(&self) -> QueueReport<'_> {
        QueueReport::new(&self.queue, self.principal.as_ref(), self.all)
    }
}
