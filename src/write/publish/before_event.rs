//! The rules in force before an event: the mode of the vault, its configuration, its stewards
//! (`spec/review.md`, section 1).

use super::governance_files::{Includes, config_in_force};
use super::{Author, Gate, PublishError};
use crate::files::vault::Vault;
use crate::files::vault::config::Config;
use crate::files::vault::review::Reads;
use crate::policy::in_force::{self, File, Mode};
use crate::policy::rules::Rules;
use crate::policy::stewards;
use crate::read::snapshot::Snapshot;
use crate::record::audit::{Line, Recorder};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;

/// The rules in force before an event.
#[derive(Debug)]
pub(crate) struct BeforeEvent {
    /// The configuration that a checkpoint sealed last.
    config: Option<Config>,
    /// True if publication needs a review.
    pub(crate) is_governed: bool,
    /// True if a configuration that can no longer be read made the vault governed, so that no
    /// principal has a role (REV-1).
    is_lost: bool,
    /// The rules in force at each checkpoint.
    pub(super) timeline: in_force::InForce,
}

impl BeforeEvent {
    /// Returns the rules in force at the head of a log.
    ///
    /// # Errors
    /// The configuration that was sealed last cannot be read.
    pub(crate) fn of(vault: &Vault, chronicle: &Chronicle<'_>) -> Result<Self, PublishError> {
        let timeline = in_force::InForce::of(vault.files(), chronicle);
        let config = config_in_force(vault, chronicle, &timeline)?;
        let says_governed = config.as_ref().is_some_and(Config::is_governed);
        let id = DocumentId::config();
        let (head, files) = (chronicle.head_number(), vault.files());
        // A governed vault must not lose its mode with the file that sets it. A retired
        // configuration stays in force; only if its text cannot be read is it unknown that it
        // was governed.
        let was_unreadable = match timeline.config_at(head) {
            Some(File::Retired(sealed)) => {
                let before = sealed.text(files, &id);
                before.ok().and_then(|text| Config::parse(&text).ok()).is_none()
            }
            _ => false,
        };
        let is_lost = was_unreadable && timeline.may_have_governed();
        Ok(Self { is_governed: says_governed || is_lost, is_lost, config, timeline })
    }

    /// Returns the mode and the rules in the state of the last checkpoint.
    ///
    /// These are in force if both files are in that state (VAULT-26); `None` if the log must
    /// be read.
    pub(crate) fn held(head: &Snapshot<'_>) -> Option<(bool, Rules)> {
        let text = |id: &DocumentId| head.governance_text(id);
        let config = Config::parse(&text(&DocumentId::config())?).ok()?;
        let stewards = stewards::read(&text(&DocumentId::stewards())?).stewards?;
        Some((config.is_governed(), Rules::of(&config, stewards)))
    }

    /// Returns the recorder of the change log, under the configuration in force.
    pub(super) fn recorder(&self, author: &Author) -> Recorder {
        author.recorder.under(Some(self.config.as_ref()))
    }

    /// Refuses an operation that is not possible in the mode of the vault, or of the
    /// live configuration.
    ///
    /// # Errors
    /// [`PublishError::Governed`], [`PublishError::GovernedLive`], [`PublishError::Ungoverned`].
    pub(super) fn admit(&self, gate: Gate, live: &Config) -> Result<(), PublishError> {
        match (gate, self.is_governed) {
            // Nothing is published past a review that the user asks for.
            (Gate::Ungoverned | Gate::Either, false) if live.is_governed() => {
                Err(PublishError::GovernedLive)
            }
            (Gate::Ungoverned | Gate::Begins, true) => Err(PublishError::Governed),
            (Gate::Decides | Gate::Steps, false) => Err(PublishError::Ungoverned),
            _ => Ok(()),
        }
    }

    /// Returns the vault under the configuration in force, for an event that does not include it.
    ///
    /// `None` if the live file is in force. If no checkpoint sealed a configuration, the live one
    /// is used except for its keyframe interval (VER-23).
    ///
    /// # Errors
    /// The live configuration is to be used, but cannot be read.
    pub(super) fn vault(
        &self,
        vault: &Vault,
        chronicle: &Chronicle<'_>,
        includes: Includes<'_>,
    ) -> Result<Option<Vault>, PublishError> {
        let id = DocumentId::config();
        let is_named = matches!(includes, Includes::Only(ids) if ids.contains(&&id));
        if !self.is_governed && (is_named || includes.all(chronicle)) {
            return Ok(None);
        }
        let config = match &self.config {
            Some(config) => config.clone(),
            None => {
                let keyframe_interval = Config::default().keyframe_interval;
                Config { keyframe_interval, ..vault.usable_config()?.clone() }
            }
        };
        Ok(Some(vault.under(config)))
    }

    /// Refuses an operation that needs a role, if a file of the rules cannot be read (REV-1).
    ///
    /// A vault that is not governed requires no role.
    ///
    /// # Errors
    /// [`PublishError::Policy`] with that file.
    pub(crate) fn check_rules(
        &self,
        vault: &Vault,
        chronicle: &Chronicle<'_>,
    ) -> Result<(), PublishError> {
        let lost = self.timeline.lost_at(chronicle.head_number()).into_iter().next();
        match lost.filter(|_| self.is_governed) {
            Some(lost) => {
                let why = lost.fault(vault.files());
                Err(PublishError::Policy { id: lost.id, why })
            }
            None => Ok(()),
        }
    }

    /// Returns the rules of reviews.
    pub(crate) fn rules(&self, chronicle: &Chronicle<'_>) -> Rules {
        if self.is_lost {
            return Rules::default();
        }
        let found = self.timeline.stewards_at(chronicle.head_number());
        let stewards = found.and_then(File::read).cloned().unwrap_or_default();
        Rules::of(&self.config.clone().unwrap_or_default(), stewards)
    }
}

/// The rules of reviews in force at a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct RulesUpon {
    /// The rules.
    pub(crate) rules: Rules,
    /// True if stewards decide who may read (REV-21).
    pub(crate) is_limited: bool,
}

impl RulesUpon {
    /// Returns the rules of reviews in force at a checkpoint; `None` if the vault was not governed.
    ///
    /// A configuration that cannot be read may have been governed: then no principal has a role.
    pub(crate) fn of(in_force: &in_force::InForce, number: CheckpointNumber) -> Option<Self> {
        let config = in_force.config_at(number).and_then(File::read);
        let reads = config.map(|config| config.review.reads);
        let is_limited = reads == Some(Reads::Stewards);
        match in_force.at(number) {
            Mode::Ungoverned => None,
            Mode::Governed(rules) | Mode::Unreadable { rules, .. } => {
                Some(Self { rules: rules.clone(), is_limited })
            }
        }
    }
}

/// Returns the head that a line of a change log names, if the log contains that checkpoint.
pub(crate) fn head_named(chronicle: &Chronicle<'_>, line: &Line) -> Option<CheckpointNumber> {
    let head = line.request.head.as_ref()?;
    let held = chronicle.checkpoint(CheckpointNumber(head.checkpoint)).ok()?;
    (held.hash.to_string() == head.hash).then_some(held.number)
}
