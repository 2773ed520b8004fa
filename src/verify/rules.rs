//! What the sealed configuration says about the record itself: how strictly the log follows from
//! the histories, and which keyframe interval a history began with.

use super::finding::{Code, Finding};
use super::log::{Record, View};
use crate::chain::replay::{self, Replay};
use crate::document::id::Id;
use crate::vault::Vault;
use crate::vault::config::{Config, DEFAULT_KEYFRAME_INTERVAL, LogForm};
use crate::vault::layout;

/// The rules that hold for a record, from which checkpoint on.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// The first checkpoint that `ctx` alone can have made, so that it follows from the histories
    /// to the last byte (THREAT-9); none in a log that the other tool may have written.
    strict_from: Option<u64>,
    /// The keyframe intervals, each with the checkpoint that sealed it, in order.
    intervals: Vec<(u64, u64)>,
}

impl Rules {
    /// Reads every sealed version of the configuration.
    pub(super) fn of(vault: &Vault, view: &View) -> (Self, Vec<Finding>) {
        let nothing = Record::default();
        let id = Id::config();
        let record = view.records.get(&id).unwrap_or(&nothing);
        let configs = configurations(vault, &id, record);
        let mut rules = Self::default();
        let mut findings = Vec::new();
        // Without a configuration a log keeps the form that it has.
        let forms: Vec<(u64, Option<LogForm>)> = configs
            .iter()
            .filter_map(|(checkpoint, config)| Some((*checkpoint, config.as_ref()?.checkpoint_log)))
            .collect();
        match view.form {
            Some(LogForm::Delta) => rules.strict_from = Some(strict_from(&forms)),
            // Only a configuration that asks for it makes us write whole maps.
            Some(LogForm::Full)
                if view.begun_by_ctx
                    && !forms.iter().any(|(_, form)| *form == Some(LogForm::Full)) =>
            {
                let message = "this vault's log has the other form: no configuration ever asked for whole maps";
                findings.push(Finding::new(Code::ForeignLog, layout::FULL_LOG, message));
            }
            _ => {}
        }
        let interval = |config: &Config| config.keyframe_interval;
        rules.intervals = configs
            .iter()
            .map(|(checkpoint, config)| {
                (*checkpoint, config.as_ref().map_or(DEFAULT_KEYFRAME_INTERVAL, interval))
            })
            .collect();
        (rules, findings)
    }

    /// Whether a checkpoint must follow from the histories to the last byte.
    pub(super) fn is_strict(&self, checkpoint: u64) -> bool {
        self.strict_from.is_some_and(|from| checkpoint >= from)
    }

    /// The interval that a history gets which begins at a checkpoint.
    pub(super) fn interval_at(&self, checkpoint: u64) -> u64 {
        let sealed = self.intervals.iter().rfind(|(from, _)| *from <= checkpoint);
        sealed.map_or(DEFAULT_KEYFRAME_INTERVAL, |(_, interval)| *interval)
    }
}

/// A log of deltas is ours from its beginning, unless a configuration says that it was converted:
/// what lies before that may be the other tool's.
fn strict_from(forms: &[(u64, Option<LogForm>)]) -> u64 {
    let mut before = None;
    let mut from = 1;
    for (n, (checkpoint, form)) in forms.iter().enumerate() {
        let was_said_first = n == 0 && *checkpoint == 1;
        if *form == Some(LogForm::Delta) && before != *form && !was_said_first {
            from = *checkpoint;
        }
        before = *form;
    }
    from
}

/// The sealed versions of the configuration that can be had and read, each with the checkpoint that
/// seals it first, and nothing from the checkpoint on that retires it. What cannot be had is reported
/// where its history is checked.
fn configurations(vault: &Vault, id: &Id, record: &Record) -> Vec<(u64, Option<Config>)> {
    let mut found = Vec::new();
    let Ok(history) = replay::load(vault.files(), id) else {
        return found;
    };
    let mut replay = Replay::new(vault.files(), id, None);
    for slot in &history.slots {
        let Ok(entry) = &slot.entry else {
            replay.lose();
            continue;
        };
        let _ = replay.step(entry);
        if let Some(retired) = entry.retired_at {
            let removal = record.removals.iter().find(|removal| removal.at == retired);
            found.extend(removal.map(|removal| (removal.checkpoint, None)));
        }
        let seal = record.seals.iter().find(|seal| {
            seal.mark.version == Some(entry.version)
                && seal.mark.chain_hash == Some(entry.chain_hash)
        });
        if let (Some(seal), Some(text)) = (seal, replay.text())
            && let Ok(config) = Config::parse(text)
        {
            found.push((seal.checkpoint, Some(config)));
        }
    }
    found
}
