//! Read access in a governed vault with `reads: stewards` (`spec/review.md`, REV-21 to REV-26).
//!
//! Snapshots, the review queue, logs and staged results ask a [`Viewer`], or a [`Nameable`] made
//! from one; none of them decides by itself. If all principals may read, no viewer is created.

use std::collections::{BTreeSet, HashMap};

use crate::files::vault::Vault;
use crate::files::vault::config::Config;
use crate::files::vault::review::Reads;
use crate::policy::in_force::{File, InForce, LostRules};
use crate::policy::rules::{Rules, Track};
use crate::policy::stewards::{Scope, ScopeKind, Stewards, Stewardship};
use crate::record::chain::{replay, vouched};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::state::Mark;
use crate::record::trusted_head;
use crate::text::document::obsidian::Markup;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::principal::PrincipalKey;
use crate::values::model::tag::Tag;

/// A reader, and the stewards that decide what they may read.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    who: PrincipalKey,
    stewards: Stewards,
    /// How tags of texts are read.
    markup: Markup,
    /// True if tags decide about any document.
    by_tags: bool,
    /// The governance files that the chain does not vouch for, or that cannot be parsed, so that it
    /// is unknown who may read.
    pub(crate) lost: Vec<LostRules>,
}

impl Viewer {
    /// Returns the viewer of the head of a log; `None` if every principal may read.
    ///
    /// # Errors
    /// No principal is configured; or all principals may read by a log that no trusted head vouches for,
    /// and a version of the configuration that it does not seal limits readers.
    pub(crate) fn of_log(
        vault: &Vault,
        chronicle: &Chronicle<'_>,
    ) -> Result<Option<Self>, LogError> {
        Self::by_rules(vault, chronicle, &InForce::of(vault.files(), chronicle))
    }

    /// Returns the viewer of the head of a log, by a known timeline of the rules.
    ///
    /// # Errors
    /// As [`Viewer::of_log`].
    pub(crate) fn by_rules(
        vault: &Vault,
        chronicle: &Chronicle<'_>,
        in_force: &InForce,
    ) -> Result<Option<Self>, LogError> {
        let viewer = Self::upon(vault, chronicle.head_number(), in_force)?;
        // Cutting the log must not open the vault.
        if viewer.is_none() && !matches!(trusted_head::vouches_for(vault, chronicle), Ok(true)) {
            check_open(vault, chronicle.bound().get(&DocumentId::config()))?;
        }
        Ok(viewer)
    }

    /// Returns the viewer at a head, by the rules in force there. The caller checks what limits readers
    /// after the head.
    ///
    /// # Errors
    /// No principal is configured.
    pub(crate) fn upon(
        vault: &Vault,
        head: CheckpointNumber,
        in_force: &InForce,
    ) -> Result<Option<Self>, LogError> {
        let (config, is_readable) = match in_force.config_at(head) {
            None => return Ok(None),
            Some(File::Read(_, config)) => (Some(config), true),
            // This version may have limited the readers, whatever the one before it contains.
            Some(File::Invalid(_) | File::Lost(_)) => (None, false),
            // The last version that was approved and can be read.
            Some(File::Retired(_)) => {
                (in_force.configs().iter().rev().find_map(|(_, file)| file.read()), false)
            }
        };
        let stewards = in_force.stewards_at(head);
        // If the last version cannot be read, a vault with stewards is governed (REV-1).
        let is_supposed = |config: &Config| {
            !is_readable && stewards.is_some() && config.review.reads == Reads::Stewards
        };
        let (markup, stewards) = match config {
            Some(config) if !(config.is_limited() || is_supposed(config)) => return Ok(None),
            Some(config) if is_readable => {
                (Markup::of(config), stewards.and_then(File::read).cloned().unwrap_or_default())
            }
            Some(config) => (Markup::of(config), Stewards::default()),
            // A vault that was governed has sealed its stewards.
            None if stewards.is_none() => return Ok(None),
            None => (Markup::Unknown, Stewards::default()),
        };
        let (who, _) = vault.reader().principal().ok_or(LogError::NoReader)?;
        let by_tags = stewards.scopes().any(|one| one.scope.kind() == ScopeKind::Tag);
        let lost = in_force.lost_at(head);
        Ok(Some(Self { who: who.key(), stewards, markup, by_tags, lost }))
    }

    /// Returns true if the reader may read an artifact with these tags.
    pub(crate) fn may(&self, id: &DocumentId, tags: &[Tag]) -> bool {
        self.stewards.role_of(&self.who, id, tags).is_some()
    }

    /// Returns the decision that follows from the id alone; `None` if tags decide.
    pub(crate) fn by_id(&self, id: &DocumentId) -> Option<bool> {
        let decides = |scope: &Scope| matches!(scope, Scope::Document(_) | Scope::Folder(_));
        let is_decided = !self.by_tags
            || !id.is_document()
            || self.stewards.scope_of(id, &[]).is_some_and(|found| decides(&found.scope));
        is_decided.then(|| self.may(id, &[]))
    }

    /// Returns true if the id alone allows reading a text, so that its name may be shown (REV-24).
    pub(crate) fn may_know(&self, id: &DocumentId) -> bool {
        self.by_id(id) == Some(true)
    }

    /// Returns the scopes of stewards at which the reader has a role, if the reader may not read
    /// `stewards.yaml` itself; `None` if all scopes are shown (REV-25).
    pub(crate) fn own_scopes(&self, stewards: &Stewards) -> Option<BTreeSet<Scope>> {
        if self.may_read(&DocumentId::stewards(), "") {
            return None;
        }
        let is_own = |scope: &&Stewardship| {
            stewards.holders(scope).iter().any(|holder| holder.principal.key() == self.who)
        };
        Some(stewards.scopes().filter(is_own).map(|at| at.scope.clone()).collect())
    }

    /// Returns true if the reader has a role at the vault and at each scope of stewards, so that
    /// no id is hidden, published or retired.
    pub(crate) fn has_every_role(&self) -> bool {
        let has_role = |scope| self.stewards.role_in(scope, &self.who).is_some();
        self.may(&DocumentId::config(), &[]) && self.stewards.scopes().all(has_role)
    }

    /// Returns true if a text with these tags may be read.
    pub(crate) fn may_read_tagged(&self, id: &DocumentId, tags: &[Tag]) -> bool {
        self.by_id(id).unwrap_or_else(|| self.may(id, tags))
    }

    /// Returns true if this text of an artifact may be read.
    pub(crate) fn may_read(&self, id: &DocumentId, text: &str) -> bool {
        let tags = || {
            let rules = Rules { markup: self.markup, ..Rules::default() };
            self.may(id, &rules.tags(id, text))
        };
        self.by_id(id).unwrap_or_else(|| self.markup != Markup::Unknown && tags())
    }

    /// Returns true if the versions of an artifact that await a decision, and its published one,
    /// may be read.
    pub(crate) fn may_read_track(&self, track: &Track) -> bool {
        let pending = track.pending.iter().map(|pending| &pending.text);
        let published = track.last_published().into_iter().map(|published| &published.text);
        let emergency = track.emergency.iter().map(|emergency| &emergency.text);
        let mut texts = pending.chain(published).chain(emergency);
        texts.all(|text| self.may_read(track.id(), text))
    }
}

/// The ids and texts that a reader may learn about without a snapshot.
#[derive(Debug)]
pub(crate) struct Nameable {
    viewer: Viewer,
    /// The artifacts of the last checkpoint, each with true if it may be read.
    held: HashMap<DocumentId, bool>,
}

impl Nameable {
    /// Creates it from a viewer and the artifacts of the last checkpoint, each with true if it may
    /// be read.
    pub(crate) fn new(viewer: Viewer, held: HashMap<DocumentId, bool>) -> Self {
        Self { viewer, held }
    }

    /// Returns true if the reader has a role at the vault.
    pub(crate) fn has_role_at_vault(&self) -> bool {
        self.viewer.may(&DocumentId::config(), &[])
    }

    /// Returns the artifacts of the last checkpoint that may not be read.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = &DocumentId> {
        self.held.iter().filter(|(_, is_readable)| !**is_readable).map(|(id, _)| id)
    }

    /// Returns true if the reader may learn that an artifact of this id exists, as in a snapshot.
    pub(crate) fn may_name(&self, id: &DocumentId) -> bool {
        let held = self.held.get(id).copied();
        held.unwrap_or_else(|| self.viewer.by_id(id) == Some(true))
    }

    /// Returns true if the reader may learn about a version of an artifact.
    ///
    /// `text` is called only if the tags of the version decide.
    pub(crate) fn may_name_version(
        &self,
        id: &DocumentId,
        text: impl FnOnce() -> Option<String>,
    ) -> bool {
        let by_text = || text().is_some_and(|text| self.viewer.may_read(id, &text));
        self.may_name(id) && self.viewer.by_id(id).unwrap_or_else(by_text)
    }
}

/// Returns true if only stewards read a vault whose log or configuration cannot be relied on.
pub(crate) fn is_limited_at_last(vault: &Vault) -> bool {
    is_limited_after(vault, None)
}

/// Refuses a log that lets all principals read, if no trusted head vouches for it and a version of
/// the configuration after the sealed one limits readers (REV-21).
///
/// # Errors
/// [`LogError::LostLimit`]
pub(crate) fn check_open(vault: &Vault, sealed: Option<&Mark>) -> Result<(), LogError> {
    if is_limited_after(vault, sealed) { Err(LogError::LostLimit) } else { Ok(()) }
}

/// Returns true if a version of the configuration after the sealed one limits readers.
fn is_limited_after(vault: &Vault, sealed: Option<&Mark>) -> bool {
    let (files, id) = (vault.files(), DocumentId::config());
    // A version that cannot be read may have limited them, in a vault that has stewards.
    let is_supposed = || replay::has_files(files, &DocumentId::stewards());
    // Stewards without a history of the configuration show a vault that was governed (TXN-33).
    let Ok(history) = replay::load(files, &id) else { return is_supposed() };
    let read = |version| {
        let text = vouched::vouched(files, &id, &history, version).ok()?;
        Config::parse(&text).ok()
    };
    let is_later = |version| sealed.is_none_or(|sealed| Some(version) > sealed.version);
    let mut later =
        history.entries().filter(|entry| entry.is_published() && is_later(entry.version));
    later.any(|entry| read(entry.version).map_or_else(is_supposed, |config| config.is_limited()))
}
