//! The rules in force at every checkpoint of a log (REV-1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::approvals::{Approvals, Around};
use super::lost::{LostRules, Sealed};
use crate::files::vault::config::Config;
use crate::files::vault::files::Files;
use crate::policy::rules::{Fault, Rules};
use crate::policy::stewards::{self, Basis, Stewards};
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, History};
use crate::record::chain::replay::Histories;
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::record::{Brought, Record, Records};
use crate::record::checkpoint::state::Mark;
use crate::values::model::digest::Digest;
use crate::values::model::governance_file::GovernanceFile;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// The rules in force at every checkpoint of a log.
///
/// A version of the configuration or of `stewards.yaml` that a governed vault published without a
/// valid approval never comes into force: the versions before it stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct InForce {
    /// The configuration, from each checkpoint that changed it.
    config: Vec<(CheckpointNumber, File<Config>)>,
    /// The stewards, from each checkpoint that changed them.
    stewards: Vec<(CheckpointNumber, File<Stewards>)>,
    eras: Vec<Era>,
    /// The histories from which the rules were read.
    histories: BTreeMap<DocumentId, Arc<History>>,
}

/// The mode from a checkpoint on.
#[derive(Clone, Debug)]
struct Era {
    from: CheckpointNumber,
    at: Timestamp,
    mode: Mode,
}

/// The governance of a vault in an era.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    /// No review is required.
    Ungoverned,
    /// These rules judge every event.
    Governed(Rules),
    /// The configuration or the stewards cannot be read.
    Unreadable {
        /// Rules without stewards.
        rules: Rules,
        /// True if the vault is known to be governed, so that no principal has a role.
        is_governed: bool,
    },
}

/// The version of a governance file that is in force.
#[derive(Clone, Debug)]
pub(crate) enum File<T> {
    /// The file was retired after this version.
    Retired(Sealed),
    /// A version that can be read.
    Read(Sealed, T),
    /// A version with problems.
    Invalid(Sealed),
    /// A version that the chain does not vouch for.
    Lost(Sealed),
}

impl Mode {
    /// Returns the rules that judge an event; `None` if the vault is not known to be governed.
    pub(crate) fn rules(&self) -> Option<&Rules> {
        match self {
            Self::Ungoverned => None,
            Self::Governed(rules) => Some(rules),
            Self::Unreadable { rules, is_governed } => is_governed.then_some(rules),
        }
    }
}

impl<T> File<T> {
    /// Returns the content of the version, if it can be read.
    pub(crate) fn read(&self) -> Option<&T> {
        match self {
            Self::Read(_, found) => Some(found),
            Self::Retired(_) | Self::Invalid(_) | Self::Lost(_) => None,
        }
    }

    /// Returns the version that was sealed last, if the chain does not vouch for it or it cannot
    /// be parsed.
    pub(crate) fn lost(&self) -> Option<Sealed> {
        match self {
            Self::Lost(sealed) | Self::Invalid(sealed) => Some(*sealed),
            Self::Read(..) | Self::Retired(_) => None,
        }
    }

    /// Returns the version that was sealed last, even if the file was retired.
    pub(crate) fn sealed(&self) -> Sealed {
        match self {
            Self::Read(sealed, _)
            | Self::Invalid(sealed)
            | Self::Retired(sealed)
            | Self::Lost(sealed) => *sealed,
        }
    }
}

impl InForce {
    /// Reads the histories of the configuration and of `stewards.yaml`.
    pub(crate) fn of(files: &dyn Histories, records: &(impl Records + ?Sized)) -> Self {
        let ids = DocumentId::rules();
        let records = ids.each_ref().map(|id| records.record(id));
        let histories = ids.each_ref().map(|id| files.history(id).ok());
        let reader = |n: usize| Reader::new(files, &ids[n], histories[n].as_ref(), &records[n]);
        let (mut config, mut stewards) = (reader(0), reader(1));
        let events = config.events.keys().chain(stewards.events.keys());
        let events: BTreeSet<Brought> = events.copied().collect();
        let mut in_force = Self::default();
        for (number, at) in events {
            // Both files are judged by the rules before their event.
            let event = (number, at);
            let changed = (config.reach(event, &in_force), stewards.reach(event, &in_force));
            let parsed = changed.0.map(|file| file.parsed(|text| Config::parse(text).ok()));
            in_force.config.extend(parsed.map(|file| (number, file)));
            let parsed = changed.1.map(|file| file.parsed(|text| stewards::read(text).stewards));
            in_force.stewards.extend(parsed.map(|file| (number, file)));
            let mode = in_force.next_mode();
            in_force.eras.push(Era { from: number, at, mode });
        }
        drop((config, stewards));
        let read = ids.into_iter().zip(histories);
        in_force.histories =
            read.filter_map(|(id, history)| Some((id, Arc::new(history?)))).collect();
        in_force
    }

    /// Returns the mode after the files that were sealed last.
    ///
    /// While a file is lost or cannot be read, a governed vault stays governed, without stewards.
    fn next_mode(&self) -> Mode {
        let before = self.eras.last().map(|era| &era.mode);
        let was_governed = before.is_some_and(|mode| mode.rules().is_some());
        let stewards = self.stewards.last().map(|(_, file)| file);
        let lost = self.first_lost(CheckpointNumber(u64::MAX));
        match self.config.last().map(|(_, file)| file) {
            None => Mode::Ungoverned,
            Some(File::Retired(_)) => match before {
                Some(Mode::Unreadable { .. }) => before.cloned().unwrap_or(Mode::Ungoverned),
                _ => Mode::Ungoverned,
            },
            Some(File::Read(_, config)) if !config.is_governed() => Mode::Ungoverned,
            Some(File::Read(_, config)) => {
                let found = stewards.and_then(File::read).cloned().unwrap_or_default();
                let rules = Rules { lost, ..Rules::of(config, found) };
                match stewards {
                    Some(File::Lost(_)) => Mode::Unreadable { rules, is_governed: true },
                    _ => Mode::Governed(rules),
                }
            }
            // A vault that was governed has sealed its stewards.
            Some(File::Invalid(_) | File::Lost(_)) => Mode::Unreadable {
                rules: Rules { lost, ..Rules::default() },
                is_governed: was_governed || stewards.is_some(),
            },
        }
    }

    /// Returns true if the vault was governed at some checkpoint.
    pub(crate) fn was_governed(&self) -> bool {
        self.eras.iter().any(|era| era.mode.rules().is_some())
    }

    /// Returns true if the vault may have been governed at some checkpoint, because its
    /// configuration was governed or could not be read.
    pub(crate) fn may_have_governed(&self) -> bool {
        self.config.iter().any(|(_, file)| match file {
            File::Read(_, config) => config.is_governed(),
            File::Retired(_) => false,
            File::Invalid(_) | File::Lost(_) => true,
        })
    }

    /// Returns the history of a governance file as it was when the rules were read.
    ///
    /// `None` if it could not be read, or the artifact is not one of the two files.
    pub(crate) fn history(&self, id: &DocumentId) -> Option<Arc<History>> {
        self.histories.get(id).cloned()
    }

    /// Returns the modes, each with the checkpoint that began it and its time.
    pub(crate) fn modes(&self) -> impl Iterator<Item = (CheckpointNumber, Timestamp, &Mode)> {
        self.eras.iter().map(|era| (era.from, era.at, &era.mode))
    }

    /// Returns the mode after a checkpoint; number 0 is the empty vault.
    pub(crate) fn at(&self, checkpoint: CheckpointNumber) -> &Mode {
        let era = self.eras.iter().rfind(|era| era.from <= checkpoint);
        era.map_or(&Mode::Ungoverned, |era| &era.mode)
    }

    /// Returns the rules in force before the event of a checkpoint; `None` if the vault was
    /// not governed.
    pub(crate) fn rules_before(&self, checkpoint: CheckpointNumber) -> Option<&Rules> {
        let before = self.eras.iter().rfind(|era| era.from < checkpoint);
        before.and_then(|era| era.mode.rules())
    }

    /// Returns the rules in force before an event; `None` if the vault was not governed.
    ///
    /// Of an event that a merge brought, these are the rules of the trunk, with the files that earlier
    /// events of the merge changed (MERGE-17). While these files turn reviews off, the trunk's rules
    /// go on.
    pub(crate) fn rules_before_event(&self, (checkpoint, at): Brought) -> Option<&Rules> {
        let before = self.eras.iter().rfind(|era| (era.from, era.at) < (checkpoint, at));
        before.and_then(|era| era.mode.rules()).or_else(|| self.rules_before(checkpoint))
    }

    /// Returns the rules of a time (REV-31).
    ///
    /// These are the rules in force, or, if the vault was not governed, those of the next
    /// checkpoint from which it was. A step is later than the checkpoint that it follows, so that
    /// no checkpoint has its time.
    pub(crate) fn rules_at(&self, at: Timestamp) -> Option<&Rules> {
        let (before, after) = self.eras.split_at(self.eras.partition_point(|era| era.at < at));
        let in_force = before.last().and_then(|era| era.mode.rules());
        in_force.or_else(|| after.iter().find_map(|era| era.mode.rules()))
    }

    /// Returns the configuration from each checkpoint that changed it.
    pub(crate) fn configs(&self) -> &[(CheckpointNumber, File<Config>)] {
        &self.config
    }

    /// Returns the configuration after a checkpoint; `None` if it was never sealed.
    pub(crate) fn config_at(&self, checkpoint: CheckpointNumber) -> Option<&File<Config>> {
        file_at(&self.config, checkpoint)
    }

    /// Returns `stewards.yaml` after a checkpoint; `None` if it was never sealed.
    pub(crate) fn stewards_at(&self, checkpoint: CheckpointNumber) -> Option<&File<Stewards>> {
        file_at(&self.stewards, checkpoint)
    }

    /// Returns the governance files that decide the rules after a checkpoint, but cannot be read.
    ///
    /// The chain does not vouch for their versions, or these cannot be parsed.
    pub(crate) fn lost_at(&self, checkpoint: CheckpointNumber) -> Vec<LostRules> {
        let lost = self.sealed_and_lost(checkpoint);
        lost.map(|(id, sealed)| LostRules { id, sealed, before: self.lost_before(sealed) })
            .collect()
    }

    /// Returns the files of [`InForce::lost_at`], each with the version that was sealed last.
    fn sealed_and_lost(
        &self,
        checkpoint: CheckpointNumber,
    ) -> impl Iterator<Item = (DocumentId, Sealed)> {
        let config = self.config_at(checkpoint).and_then(File::lost);
        let stewards = self.stewards_at(checkpoint).and_then(File::lost);
        let lost = DocumentId::rules().into_iter().zip([config, stewards]);
        lost.filter_map(|(id, sealed)| Some((id, sealed?)))
    }

    /// Returns the versions in force that could not be read when a version was sealed, and
    /// recursively when these were sealed.
    fn lost_before(&self, sealed: Sealed) -> Vec<(DocumentId, Sealed)> {
        let mut before = Vec::new();
        let mut since = sealed.since;
        while let Some(found) =
            self.sealed_and_lost(since.previous()).min_by_key(|(_, sealed)| sealed.since)
        {
            since = found.1.since;
            before.push(found);
        }
        before
    }

    /// Returns the first of the files of [`InForce::lost_at`].
    fn first_lost(&self, checkpoint: CheckpointNumber) -> Option<DocumentId> {
        self.sealed_and_lost(checkpoint).next().map(|(id, _)| id)
    }
}

fn file_at<T>(
    files: &[(CheckpointNumber, File<T>)],
    checkpoint: CheckpointNumber,
) -> Option<&File<T>> {
    files.iter().rfind(|(from, _)| *from <= checkpoint).map(|(_, file)| file)
}

impl Around for InForce {
    fn rules_before(&self, event: Brought) -> Option<&Rules> {
        self.rules_before_event(event)
    }

    fn rules_at(&self, at: Timestamp) -> Option<&Rules> {
        self.rules_at(at)
    }

    // A governance file cannot be moved.
    fn moved_here(
        &self,
        _: &DocumentId,
        _: &Entry,
        _: &str,
        _: CheckpointNumber,
    ) -> Option<Vec<Fault>> {
        None
    }

    fn begins(&self, _: &DocumentId, _: Brought) -> bool {
        false
    }
}

/// Reads the history of a governance file in step with the checkpoints that seal it.
struct Reader<'v> {
    walk: Option<Walk<'v>>,
    history: Option<&'v History>,
    record: &'v Record,
    /// The versions that events are the first to seal; `None` for an event that removes the file.
    events: BTreeMap<Brought, Option<Mark>>,
    approvals: Approvals,
    /// True while no fault was found in the versions so far.
    is_whole: bool,
    /// The version that came into force last.
    last: Option<Sealed>,
}

impl<'v> Reader<'v> {
    fn new(
        files: &'v dyn Histories,
        id: &'v DocumentId,
        history: Option<&'v History>,
        record: &'v Record,
    ) -> Self {
        let mut events = BTreeMap::new();
        for removal in &record.removals {
            events.insert((removal.checkpoint, removal.at), None);
        }
        let mut seen = BTreeSet::new();
        for seal in &record.seals {
            if seen.insert(seal.mark.version) {
                events.insert((seal.checkpoint, seal.at), Some(seal.mark));
            }
        }
        let walk = history.map(|history| Walk::new(files, id, history));
        let approvals = Approvals::new(id);
        Self { walk, history, record, events, approvals, is_whole: true, last: None }
    }

    /// Returns the version that comes into force by an event; `None` if nothing changes.
    fn reach(&mut self, event: Brought, around: &InForce) -> Option<File<String>> {
        let (mark, (number, at)) = (*self.events.get(&event)?, event);
        let Some(mark) = mark else {
            // The reference implementation drops such files from its events, but they stay
            // in force.
            let is_it = |entry: &Entry| entry.retired_at() == Some(at);
            self.history?.entries().find(|entry| is_it(entry))?;
            let reached = self.walk_to(is_it, around);
            let is_governed = around.rules_before_event(event).is_some();
            let is_approved = reached.map_or(!is_governed, |reached| reached.is_approved);
            return self.last.filter(|_| is_approved).map(File::Retired);
        };
        let sealed = Sealed { mark, since: number };
        let reached = self.walk_to(|entry| Some(entry.version) == mark.version, around);
        let reached = reached.filter(|reached| Some(reached.chain_hash) == mark.chain_hash);
        let file = match reached {
            Some(Reached { text: Some(_), is_approved: false, .. }) => {
                // While the rules cannot be read, its approvals cannot be judged: either this
                // version or the one before it may be in force.
                match around.first_lost(CheckpointNumber(number.0.saturating_sub(1))) {
                    None => return None,
                    Some(_) => File::Lost(sealed),
                }
            }
            Some(Reached { text: Some(text), .. }) => File::Read(sealed, text),
            _ => File::Lost(sealed),
        };
        self.last = Some(sealed);
        Some(file)
    }

    /// Takes the versions up to the next one that satisfies `is_it`.
    fn walk_to(&mut self, is_it: impl Fn(&Entry) -> bool, around: &InForce) -> Option<Reached> {
        let walk = self.walk.as_mut()?;
        while let Some(step) = walk.next() {
            let Ok(version) = step.version else {
                self.approvals.lose(None);
                self.is_whole = false;
                continue;
            };
            self.is_whole &= version.wrong.is_empty();
            let (entry, is_sound) = (version.entry, version.is_sound);
            let taken = version.text.map(|text| {
                let checkpoint = self.record.event_of(entry);
                self.approvals.take((entry, text), checkpoint, around)
            });
            if taken.is_none() {
                self.approvals.lose(Some(entry));
            }
            if is_it(entry) {
                let is_approved = taken.as_ref()?.faults.is_empty();
                // An approval is valid only if the steps before it are intact.
                let is_judged = taken?.decided.is_some();
                let is_vouched = is_sound && (self.is_whole || !is_judged);
                let text = version.text.filter(|_| is_vouched && entry.is_published());
                let (text, chain_hash) = (text.map(str::to_owned), entry.chain_hash);
                return Some(Reached { chain_hash, text, is_approved });
            }
        }
        None
    }
}

/// A version of a governance file.
struct Reached {
    chain_hash: Digest,
    /// Text of the version, if the chain vouches for it.
    text: Option<String>,
    is_approved: bool,
}

impl File<String> {
    fn parsed<T>(self, parse: impl FnOnce(&str) -> Option<T>) -> File<T> {
        match self {
            Self::Read(sealed, text) => match parse(&text) {
                Some(found) => File::Read(sealed, found),
                None => File::Invalid(sealed),
            },
            Self::Retired(sealed) => File::Retired(sealed),
            Self::Invalid(sealed) => File::Invalid(sealed),
            Self::Lost(sealed) => File::Lost(sealed),
        }
    }
}

/// The text of one governance file that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextInForce {
    /// No checkpoint ever sealed the file.
    Never,
    /// The file was retired after it was sealed.
    Retired {
        /// The text that was sealed last, if the chain vouches for it.
        before: Option<String>,
    },
    /// The text that was sealed last.
    Sealed {
        /// The text.
        text: String,
    },
}

impl InForce {
    /// Returns the text in force of the configuration or of `stewards.yaml` after a checkpoint.
    ///
    /// Checkpoint 0 is the empty vault.
    ///
    /// # Errors
    /// The chain does not vouch for the version in force.
    pub(crate) fn text(
        &self,
        files: &Files,
        at: CheckpointNumber,
        id: &DocumentId,
    ) -> Result<TextInForce, ChainError> {
        let found = match id.governance() {
            Some(GovernanceFile::Config) => {
                self.config_at(at).map(|file| (file.sealed(), file.is_retired()))
            }
            _ => self.stewards_at(at).map(|file| (file.sealed(), file.is_retired())),
        };
        let Some((sealed, is_retired)) = found else { return Ok(TextInForce::Never) };
        let text = sealed.text(files, id);
        match is_retired {
            true => Ok(TextInForce::Retired { before: text.ok() }),
            false => text.map(|text| TextInForce::Sealed { text }),
        }
    }

    /// Returns the stewards in force after a checkpoint, and the version that they are read from.
    pub(crate) fn stewards(
        &self,
        files: &Files,
        at: CheckpointNumber,
    ) -> stewards::StewardsInForce {
        let found = self.stewards_at(at);
        let basis = match found {
            None => Basis::Never,
            Some(File::Retired(_)) => Basis::Retired,
            Some(File::Read(Sealed { mark, since }, _)) => {
                Basis::Sealed { version: mark.version.unwrap_or_default(), since: *since }
            }
            Some(File::Invalid(sealed) | File::Lost(sealed)) => {
                let id = DocumentId::stewards();
                let text = sealed.text(files, &id);
                let problems = text.map(|text| stewards::read(&text).problems).unwrap_or_default();
                let version = sealed.mark.version.unwrap_or_default();
                match problems.is_empty() {
                    false => Basis::Invalid { version, problems },
                    true => {
                        let before = self.lost_before(*sealed);
                        Basis::Unreadable(LostRules { id, sealed: *sealed, before }.fault(files))
                    }
                }
            }
        };
        let stewards = found.and_then(File::read).cloned().unwrap_or_default();
        stewards::StewardsInForce { stewards, basis }
    }
}

impl<T> File<T> {
    fn is_retired(&self) -> bool {
        matches!(self, Self::Retired(_))
    }
}
