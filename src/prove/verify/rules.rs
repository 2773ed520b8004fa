//! Rules of the sealed configuration about the record itself: how strictly the log follows from the
//! histories, and the keyframe interval with which a history began.

use super::changes::Acknowledgers;
use super::finding::{Code, Finding};
use super::log::View;
use crate::files::vault::Vault;
use crate::files::vault::audit::Audit;
use crate::files::vault::config::{Config, DEFAULT_KEYFRAME_INTERVAL, FrontmatterMode, LogForm};
use crate::policy::in_force::{File, InForce};
use crate::record::checkpoint::foreign::Foreign;
use crate::values::model::layout;
use crate::values::model::number::CheckpointNumber;

/// Rules for the record, with the checkpoints at which they begin.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Checkpoints from which on the log must, or need not, follow exactly from the histories
    /// (THREAT-9), in order. It must if only ctx can have written it. The list is empty if the
    /// reference implementation may have written the log.
    strict: Vec<(CheckpointNumber, bool)>,
    /// Keyframe intervals, each with the checkpoint that sealed it, in order.
    intervals: Vec<(CheckpointNumber, u64)>,
    /// First checkpoint from which on each event of ctx has a line in a change log.
    pub(super) recorded_from: Option<CheckpointNumber>,
    /// Mode and review rules at each checkpoint.
    pub(super) in_force: InForce,
    /// Checkpoints from which on each event of ctx must, or need not, bind a change log, in order.
    bound: Vec<(CheckpointNumber, bool)>,
    /// Fewest days for which a sealed configuration keeps accesses.
    pub(super) retention: Option<u64>,
    /// The foreign part of the log.
    pub(super) foreign: Foreign,
    /// Mode of the last sealed configuration: whether publishing edits live files.
    pub(super) frontmatter: FrontmatterMode,
}

impl Rules {
    /// Reads every sealed version of the configuration.
    pub(super) fn of(vault: &Vault, view: &View) -> (Self, Vec<Finding>) {
        let in_force = InForce::of(vault.files(), &view.records);
        // Unreadable versions are reported with their history.
        let configs = in_force.configs().iter().filter_map(|(checkpoint, file)| match file {
            File::Read(_, config) => Some((*checkpoint, Some(config))),
            File::Retired(_) => Some((*checkpoint, None)),
            File::Invalid(_) | File::Lost(_) => None,
        });
        let configs: Vec<(CheckpointNumber, Option<&Config>)> = configs.collect();
        let mut rules = Self::default();
        let mut findings = Vec::new();
        // Without a configuration, a log keeps its form.
        let forms: Vec<(CheckpointNumber, Option<LogForm>)> = configs
            .iter()
            .filter_map(|(checkpoint, config)| Some((*checkpoint, (*config)?.checkpoint_log)))
            .collect();
        if let Some(form) = view.form {
            rules.strict = strictness(form, &forms, view.begun_by_ctx);
        }
        // Only a configuration that asks for whole maps makes ctx write them.
        if view.form == Some(LogForm::Full)
            && view.begun_by_ctx
            && !forms.iter().any(|(_, form)| *form == Some(LogForm::Full))
        {
            let message =
                "this vault's log has the other form: no configuration ever asked for whole maps";
            findings.push(Finding::new(Code::ForeignLog, layout::FULL_LOG, message));
        }
        let interval = |config: &Config| config.keyframe_interval;
        rules.intervals = configs
            .iter()
            .map(|(checkpoint, config)| {
                (*checkpoint, config.map_or(DEFAULT_KEYFRAME_INTERVAL, interval))
            })
            .collect();
        // No later configuration revokes it.
        let is_recorded = |(_, config): &&(_, Option<&Config>)| {
            config.is_some_and(|config| config.audit.is_some())
        };
        rules.recorded_from = configs.iter().find(is_recorded).map(|(checkpoint, _)| *checkpoint);
        let bound = configs
            .iter()
            .map(|(checkpoint, config)| (*checkpoint, config.is_some_and(Config::binds_changes)));
        rules.bound = bound.collect();
        let kept = configs.iter().filter_map(|(_, config)| Some(Audit::of((*config)?).retention));
        rules.retention = kept.min();
        let last = configs.last().and_then(|(_, config)| *config);
        rules.frontmatter = last.map(|config| config.frontmatter).unwrap_or_default();
        rules.in_force = in_force;
        (rules, findings)
    }

    /// Returns true if a checkpoint must follow exactly from the histories. In a governed vault
    /// every checkpoint must, in either form of the log, because only ctx publishes there.
    pub(super) fn is_strict(&self, checkpoint: CheckpointNumber) -> bool {
        self.is_strict_by_form(checkpoint) || self.in_force.rules_before(checkpoint).is_some()
    }

    fn is_strict_by_form(&self, checkpoint: CheckpointNumber) -> bool {
        let strict = self.strict.iter().rfind(|(from, _)| *from <= checkpoint);
        strict.is_some_and(|(_, strict)| *strict)
    }

    /// Returns who may acknowledge that the line of an event is missing, from each checkpoint on,
    /// in order.
    pub(super) fn acknowledgers(&self) -> Vec<(CheckpointNumber, Acknowledgers)> {
        let modes = self.in_force.modes();
        modes.map(|(from, _, mode)| (from, Acknowledgers::of(mode.rules()))).collect()
    }

    /// Returns true if a checkpoint must bind a change log.
    pub(super) fn is_bound(&self, checkpoint: CheckpointNumber) -> bool {
        let bound = self.bound.iter().rfind(|(from, _)| *from <= checkpoint);
        bound.is_some_and(|(_, bound)| *bound) && self.is_strict_by_form(checkpoint)
    }

    /// Returns the keyframe interval of a history that begins at a checkpoint.
    pub(super) fn interval_at(&self, checkpoint: CheckpointNumber) -> u64 {
        let sealed = self.intervals.iter().rfind(|(from, _)| *from <= checkpoint);
        sealed.map_or(DEFAULT_KEYFRAME_INTERVAL, |(_, interval)| *interval)
    }
}

/// Returns the checkpoints from which on a log in this form must, or need not, follow from
/// the histories.
///
/// A delta log is written by ctx, except for the part written while it had the other form: before
/// it was converted, or between two conversions. A configuration that asks for the current form
/// converts nothing, and neither does a last one whose form the log does not have. Otherwise such a
/// configuration would exempt everything before or after it from these rules. A full log begun by
/// ctx was a delta log until a configuration asked for whole maps.
fn strictness(
    form: LogForm,
    forms: &[(CheckpointNumber, Option<LogForm>)],
    begun_by_ctx: bool,
) -> Vec<(CheckpointNumber, bool)> {
    let says = |wanted| forms.iter().any(|(_, form)| *form == Some(wanted));
    // The first event of ctx seals the configuration, if any, that chose the form.
    let began_full = forms.first() == Some(&(CheckpointNumber::FIRST, Some(LogForm::Full)));
    let first_full = forms.iter().find(|(_, form)| *form == Some(LogForm::Full));
    if form == LogForm::Full {
        let freed = first_full.map(|(checkpoint, _)| (*checkpoint, false));
        return [(CheckpointNumber::NONE, begun_by_ctx && !began_full)]
            .into_iter()
            .chain(freed)
            .collect();
    }
    let began_strict = match begun_by_ctx {
        true => !(began_full && says(LogForm::Delta)),
        false => !says(LogForm::Delta),
    };
    let last_delta = forms.iter().rfind(|(_, form)| *form == Some(LogForm::Delta));
    let changes = forms.iter().filter_map(|(checkpoint, form)| match form {
        Some(LogForm::Delta) => Some((*checkpoint, true)),
        // It was granted if there was something to convert back.
        Some(LogForm::Full) if last_delta.is_some_and(|(last, _)| last > checkpoint) => {
            Some((*checkpoint, false))
        }
        Some(LogForm::Full) | None => None,
    });
    [(CheckpointNumber::NONE, began_strict)].into_iter().chain(changes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use LogForm::{Delta, Full};

    #[test]
    fn strictness_exempts_only_a_log_that_may_have_been_converted() {
        let strict = |form, begun_by_ctx, forms: &[(u64, Option<LogForm>)]| -> String {
            let forms: Vec<_> =
                forms.iter().map(|(n, form)| (CheckpointNumber(*n), *form)).collect();
            let strict = strictness(form, &forms, begun_by_ctx);
            let rules = Rules { strict, ..Rules::default() };
            (1..=6).map(|n| if rules.is_strict(CheckpointNumber(n)) { '!' } else { '.' }).collect()
        };
        let (full, delta) = (Some(Full), Some(Delta));
        assert_eq!(strict(Delta, true, &[]), "!!!!!!");
        assert_eq!(strict(Delta, true, &[(1, None), (5, delta)]), "!!!!!!");
        assert_eq!(strict(Delta, true, &[(1, delta), (3, None), (5, delta)]), "!!!!!!");
        assert_eq!(strict(Delta, true, &[(1, full), (5, delta)]), "....!!");
        assert_eq!(strict(Delta, true, &[(1, None), (3, full), (5, delta)]), "!!..!!");
        // Requests that were never granted.
        assert_eq!(strict(Delta, true, &[(1, full)]), "!!!!!!");
        assert_eq!(strict(Delta, true, &[(1, None), (3, full)]), "!!!!!!");
        assert_eq!(strict(Delta, true, &[(2, delta), (3, full)]), "!!!!!!");
        assert_eq!(strict(Delta, false, &[(4, None), (5, delta)]), "....!!");
        assert_eq!(strict(Delta, false, &[]), "!!!!!!");
        // Whole maps since a configuration asked for them.
        assert_eq!(strict(Full, true, &[(1, None), (4, full)]), "!!!...");
        assert_eq!(strict(Full, true, &[(1, full), (4, delta)]), "......");
        assert_eq!(strict(Full, true, &[(1, None), (3, full), (5, delta)]), "!!....");
        assert_eq!(strict(Full, false, &[(4, full)]), "......");
    }
}
