//! The part of a vault that changed since an earlier state, such as the last commit. The earlier
//! state is trusted, so that only this part is checked again.

use std::collections::BTreeSet;

use super::log::View;
use super::review_steps::Steps;
use super::rules::Rules;
use crate::files::vault::Vault;
use crate::record::audit::past::PastLogs;
use crate::record::checkpoint::record::Record;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::number::CheckpointNumber;

/// The changes of a vault since an earlier state.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// Paths of the files that were added, changed or removed.
    pub(crate) paths: BTreeSet<String>,
    /// Number of checkpoints of the earlier log. The present log must begin with them.
    pub(crate) checkpoints: u64,
    /// The earlier audit logs and staging chains; empty if none of them changed.
    pub(crate) logs: PastLogs,
}

impl Changed {
    /// Returns true if a recorded file changed: a log, a history or a staged result.
    pub(super) fn is_of_record(&self) -> bool {
        self.paths.iter().any(|path| layout::is_of_record(path))
    }

    /// Returns true if a file in a folder changed.
    pub(super) fn has_within(&self, folder: &str) -> bool {
        let folder = format!("{folder}/");
        self.paths.range(folder.clone()..).next().is_some_and(|path| path.starts_with(&folder))
    }

    /// Returns true if a checkpoint after the earlier log seals or removes an artifact.
    pub(super) fn is_sealed_since(&self, record: Option<&Record>) -> bool {
        let last = CheckpointNumber(self.checkpoints);
        record.is_some_and(|record| {
            record.seals.last().is_some_and(|seal| seal.checkpoint > last)
                || record.removals.last().is_some_and(|removal| removal.checkpoint > last)
        })
    }

    /// Returns the artifacts whose findings may differ from those in the earlier state: a file of
    /// theirs changed, a new checkpoint or a new line of a change log names them, or they belong to
    /// the same change as one of these.
    pub(super) fn artifacts(
        &self,
        vault: &Vault,
        ids: BTreeSet<DocumentId>,
        (view, rules, steps): (&View, &Rules, &Steps),
    ) -> BTreeSet<DocumentId> {
        // Only the change logs show which artifacts belong to one change.
        if rules.in_force.was_governed() && self.is_of_record() && !steps.is_begun() {
            return ids;
        }
        let said = match self.has_within(layout::AUDIT_DIR) {
            true => steps.named_after(&self.logs),
            false => BTreeSet::new(),
        };
        let has_changed = |id: &DocumentId| {
            let live = id.live_path();
            self.paths.contains(&live)
                || self.paths.contains(vault.files().spelled(&live).as_ref())
                || self.has_within(&id.history_dir())
        };
        let is_one = |id: &&DocumentId| {
            said.contains(id.as_str())
                || self.is_sealed_since(view.records.get(*id))
                || has_changed(id)
        };
        let mut found: BTreeSet<DocumentId> = ids.iter().filter(is_one).cloned().collect();
        let beside = steps.in_changes_with(&found);
        found.extend(ids.iter().filter(|id| beside.contains(id.as_str())).cloned());
        found
    }
}
