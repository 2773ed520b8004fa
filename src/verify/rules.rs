//! What the sealed configuration says about the record itself: how strictly the log follows from
//! the histories, and which keyframe interval a history began with.

use super::changes::Acknowledgers;
use super::finding::{Code, Finding};
use super::log::{Record, Seal, View};
use crate::chain::replay;
use crate::chain::walk::Walk;
use crate::checkpoint::foreign::Foreign;
use crate::checkpoint::in_force::says_governed;
use crate::model::id::DocumentId;
use crate::model::layout;
use crate::model::number::{CheckpointNumber, Version};
use crate::model::timestamp::Timestamp;
use crate::review;
use crate::stewards;
use crate::vault::Vault;
use crate::vault::config::{
    Config, DEFAULT_KEYFRAME_INTERVAL, FrontmatterMode, Governance, LogForm,
};
use std::collections::{BTreeMap, BTreeSet};

/// The rules that hold for a record, from which checkpoint on.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// From which checkpoint on `ctx` alone can have made them, so that they follow from the
    /// histories to the last byte (THREAT-9), and from which on it cannot; in order. None in a log
    /// that the reference implementation may have written.
    strict: Vec<(CheckpointNumber, bool)>,
    /// The keyframe intervals, each with the checkpoint that sealed it, in order.
    intervals: Vec<(CheckpointNumber, u64)>,
    /// From which checkpoint on each event of ours has a line in a change log.
    pub(super) recorded_from: Option<CheckpointNumber>,
    /// The rules of reviews from each checkpoint on at which they changed, with its time; none where
    /// the vault is not governed.
    reviews: Vec<((CheckpointNumber, Timestamp), Option<review::Rules>)>,
    /// From which checkpoint on each event of ours binds a change log, and from which on it need not;
    /// in order.
    bound: Vec<(CheckpointNumber, bool)>,
    /// The foreign part of the log.
    pub(super) foreign: Foreign,
    /// Whether publishing edits live files, as the last sealed configuration has it.
    pub(super) frontmatter: FrontmatterMode,
}

impl Rules {
    /// Reads every sealed version of the configuration.
    pub(super) fn of(vault: &Vault, view: &View) -> (Self, Vec<Finding>) {
        let nothing = Record::default();
        let id = DocumentId::config();
        let record = view.records.get(&id).unwrap_or(&nothing);
        let mut times = times_of(record);
        let mut texts = sealed_texts(vault, &id, record);
        drop_void_retirements(&mut texts);
        let configs = configurations(&texts);
        let mut rules = Self::default();
        let mut findings = Vec::new();
        // Without a configuration a log keeps the form that it has.
        let forms: Vec<(CheckpointNumber, Option<LogForm>)> = configs
            .iter()
            .filter_map(|(checkpoint, config)| Some((*checkpoint, config.as_ref()?.checkpoint_log)))
            .collect();
        if let Some(form) = view.form {
            rules.strict = strictness(form, &forms, view.begun_by_ctx);
        }
        // Only a configuration that asks for it makes us write whole maps.
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
                (*checkpoint, config.as_ref().map_or(DEFAULT_KEYFRAME_INTERVAL, interval))
            })
            .collect();
        // No later configuration takes it back.
        let is_recorded = |(_, config): &&(_, Option<Config>)| {
            config.as_ref().is_some_and(|config| config.audit.is_some())
        };
        rules.recorded_from = configs.iter().find(is_recorded).map(|(checkpoint, _)| *checkpoint);
        let id = DocumentId::stewards();
        let record = view.records.get(&id).unwrap_or(&nothing);
        times.extend(times_of(record));
        let mut stewards = sealed_texts(vault, &id, record);
        stewards.retain(|(number, text)| {
            !matches!(text, SealedText::Retired) || !is_governed_before(&texts, *number)
        });
        let found = reviews(&texts, &stewards).into_iter();
        let found = found.filter_map(|(n, rules)| Some(((n, *times.get(&n)?), rules)));
        rules.reviews = found.collect();
        let bound = configs.iter().map(|(checkpoint, config)| {
            (*checkpoint, config.as_ref().is_some_and(Config::binds_changes))
        });
        rules.bound = bound.collect();
        let last = configs.last().and_then(|(_, config)| config.as_ref());
        rules.frontmatter = last.map(|config| config.frontmatter).unwrap_or_default();
        (rules, findings)
    }

    /// Whether a checkpoint must follow from the histories to the last byte.
    pub(super) fn is_strict(&self, checkpoint: CheckpointNumber) -> bool {
        let strict = self.strict.iter().rfind(|(from, _)| *from <= checkpoint);
        strict.is_some_and(|(_, strict)| *strict)
    }

    /// Whether the vault was governed at some checkpoint.
    pub(super) fn was_governed(&self) -> bool {
        self.reviews.iter().any(|(_, rules)| rules.is_some())
    }

    /// The rules of reviews in force before the event of a checkpoint; none where the vault was not
    /// governed.
    pub(super) fn review_before(&self, checkpoint: CheckpointNumber) -> Option<&review::Rules> {
        let before = self.reviews.iter().rfind(|((from, _), _)| *from < checkpoint);
        before.and_then(|(_, rules)| rules.as_ref())
    }

    /// The rules of reviews that judge a step of this time: those in force, and where the vault was not
    /// governed then, those of the next checkpoint from which it was. A step is later than the checkpoint
    /// that it follows, so that no checkpoint has its time.
    pub(super) fn review_at(&self, at: Timestamp) -> Option<&review::Rules> {
        let (before, after) =
            self.reviews.split_at(self.reviews.partition_point(|((_, from), _)| *from < at));
        let in_force = before.last().and_then(|(_, rules)| rules.as_ref());
        in_force.or_else(|| after.iter().find_map(|(_, rules)| rules.as_ref()))
    }

    /// From which checkpoint on who may acknowledge that an event has no line, in order.
    pub(super) fn acknowledgers(&self) -> Vec<(CheckpointNumber, Acknowledgers)> {
        let rules = self.reviews.iter();
        rules.map(|((from, _), rules)| (*from, Acknowledgers::of(rules.as_ref()))).collect()
    }

    /// Whether a checkpoint must bind a change log.
    pub(super) fn is_bound(&self, checkpoint: CheckpointNumber) -> bool {
        let bound = self.bound.iter().rfind(|(from, _)| *from <= checkpoint);
        bound.is_some_and(|(_, bound)| *bound) && self.is_strict(checkpoint)
    }

    /// The interval that a history gets which begins at a checkpoint.
    pub(super) fn interval_at(&self, checkpoint: CheckpointNumber) -> u64 {
        let sealed = self.intervals.iter().rfind(|(from, _)| *from <= checkpoint);
        sealed.map_or(DEFAULT_KEYFRAME_INTERVAL, |(_, interval)| *interval)
    }
}

/// From which checkpoint on a log that has this form now follows from the histories, and from which
/// on it need not.
///
/// A log of deltas is ours, but for what was written while it had the other form: before it was
/// converted, or between two conversions. That a configuration asks for the form that the log has
/// anyway converts nothing, nor does one at the end that asks for a form which the log does not
/// have: else it would free everything before it, or after it, from these rules. A log of whole
/// maps that we began was one of deltas until a configuration asked for it.
fn strictness(
    form: LogForm,
    forms: &[(CheckpointNumber, Option<LogForm>)],
    begun_by_ctx: bool,
) -> Vec<(CheckpointNumber, bool)> {
    let says = |wanted| forms.iter().any(|(_, form)| *form == Some(wanted));
    // The first event of ours seals the configuration, if there is one, that chose the form.
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

/// What a checkpoint seals of a governance file.
enum SealedText {
    /// This text.
    Text(String),
    /// A version that cannot be restored, or is not the one that the log seals.
    Lost,
    /// It is retired.
    Retired,
}

impl SealedText {
    /// Whether it is a configuration that can be read, and says governed.
    fn says_governed(&self) -> bool {
        matches!(self, Self::Text(text) if says_governed(text))
    }
}

/// What the checkpoints seal of a governance file, each with the first that does, in order.
fn sealed_texts(
    vault: &Vault,
    id: &DocumentId,
    record: &Record,
) -> Vec<(CheckpointNumber, SealedText)> {
    let mut found: BTreeMap<CheckpointNumber, SealedText> = BTreeMap::new();
    let mut seals: BTreeMap<Option<Version>, &Seal> = BTreeMap::new();
    for seal in record.seals.iter().rev() {
        seals.insert(seal.mark.version, seal);
    }
    found.extend(seals.values().map(|seal| (seal.checkpoint, SealedText::Lost)));
    let Ok(history) = replay::load(vault.files(), id) else {
        return found.into_iter().collect();
    };
    let mut walk = Walk::new(vault.files(), id, &history);
    while let Some(step) = walk.next() {
        let Ok(version) = step.version else { continue };
        let entry = version.entry;
        if let Some(retired) = entry.retired_at() {
            let removal = record.removals.iter().find(|removal| removal.at == retired);
            found.extend(removal.map(|removal| (removal.checkpoint, SealedText::Retired)));
        }
        let seal = seals.get(&Some(entry.version));
        let seal = seal.filter(|seal| seal.mark.chain_hash == Some(entry.chain_hash));
        if let (Some(seal), Some(text)) = (seal, version.text) {
            found.insert(seal.checkpoint, SealedText::Text(text.to_owned()));
        }
    }
    found.into_iter().collect()
}

/// Drops the retirements of the configuration that count for nothing, because they were made in a
/// governed vault (REV-1).
fn drop_void_retirements(configs: &mut Vec<(CheckpointNumber, SealedText)>) {
    let mut is_governed = false;
    configs.retain(|(_, text)| match text {
        SealedText::Retired if is_governed => false,
        _ => {
            is_governed = text.says_governed();
            true
        }
    });
}

/// Whether the configuration that is in force before a checkpoint can be read, and says governed.
fn is_governed_before(
    configs: &[(CheckpointNumber, SealedText)],
    checkpoint: CheckpointNumber,
) -> bool {
    let last = configs.iter().rfind(|(number, _)| *number < checkpoint);
    last.is_some_and(|(_, text)| text.says_governed())
}

/// The sealed versions of the configuration that can be read, and nothing from the checkpoint on that
/// retires it. What cannot be read is reported where its history is checked.
fn configurations(
    texts: &[(CheckpointNumber, SealedText)],
) -> Vec<(CheckpointNumber, Option<Config>)> {
    let config = |(checkpoint, text): &(CheckpointNumber, SealedText)| match text {
        SealedText::Text(text) => Some((*checkpoint, Some(Config::parse(text).ok()?))),
        SealedText::Lost => None,
        SealedText::Retired => Some((*checkpoint, None)),
    };
    texts.iter().filter_map(config).collect()
}

/// The times of the checkpoints that seal an artifact, or remove it.
fn times_of(record: &Record) -> BTreeMap<CheckpointNumber, Timestamp> {
    let sealed = record.seals.iter().map(|seal| (seal.checkpoint, seal.at));
    let removed = record.removals.iter().map(|removal| (removal.checkpoint, removal.at));
    sealed.chain(removed).collect()
}

/// The rules of reviews from each checkpoint on that seals the configuration or the stewards. A vault
/// that is governed stays so, and has no stewards, while one of both is lost or cannot be read.
fn reviews(
    configs: &[(CheckpointNumber, SealedText)],
    stewards: &[(CheckpointNumber, SealedText)],
) -> Vec<(CheckpointNumber, Option<review::Rules>)> {
    let mut numbers: BTreeSet<CheckpointNumber> = configs.iter().map(|(n, _)| *n).collect();
    numbers.extend(stewards.iter().map(|(n, _)| *n));
    let at = |texts: &'_ [(CheckpointNumber, SealedText)], number| {
        texts.iter().rposition(|(from, _)| *from <= number)
    };
    let mut is_governed = false;
    let mut rules = Vec::with_capacity(numbers.len());
    for number in numbers {
        let config = at(configs, number).and_then(|n| match &configs[n].1 {
            SealedText::Text(text) => Config::parse(text).ok(),
            SealedText::Lost | SealedText::Retired => None,
        });
        let has_config = at(configs, number).is_some();
        is_governed = match &config {
            Some(config) => config.governance == Governance::Governed,
            None => is_governed && has_config,
        };
        let found = at(stewards, number).and_then(|n| match &stewards[n].1 {
            SealedText::Text(text) => stewards::read(text).stewards,
            SealedText::Lost | SealedText::Retired => None,
        });
        let found = found.filter(|_| config.is_some()).unwrap_or_default();
        let found = review::Rules::of(&config.unwrap_or_default(), found);
        rules.push((number, is_governed.then_some(found)));
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use LogForm::{Delta, Full};

    #[test]
    fn only_a_log_that_may_have_had_the_other_form_is_freed_from_the_rules() {
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
        // Wishes that were never granted.
        assert_eq!(strict(Delta, true, &[(1, full)]), "!!!!!!");
        assert_eq!(strict(Delta, true, &[(1, None), (3, full)]), "!!!!!!");
        assert_eq!(strict(Delta, true, &[(2, delta), (3, full)]), "!!!!!!");
        assert_eq!(strict(Delta, false, &[(4, None), (5, delta)]), "....!!");
        assert_eq!(strict(Delta, false, &[]), "!!!!!!");
        // Whole maps since a setting asked for them.
        assert_eq!(strict(Full, true, &[(1, None), (4, full)]), "!!!...");
        assert_eq!(strict(Full, true, &[(1, full), (4, delta)]), "......");
        assert_eq!(strict(Full, true, &[(1, None), (3, full), (5, delta)]), "!!....");
        assert_eq!(strict(Full, false, &[(4, full)]), "......");
    }
}
