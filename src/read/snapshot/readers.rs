//! What a principal may read in a governed vault with `reads: stewards` (`spec/review.md`, REV-21).
//!
//! [`Snapshot`] applies it to what the checkpoint records, before anything is looked up, ranked or
//! counted: to everything that asks a snapshot, a document that may not be read is not there.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

use rayon::prelude::*;

use super::map::{Map, Recorded};
use super::{CheckpointSource, Served, Snapshot, Withheld};
use crate::files::vault::Vault;
use crate::files::vault::config::Config;
use crate::files::vault::review::Reads;
use crate::policy::in_force::{File, InForce, LostRules};
use crate::policy::rules::Rules;
use crate::policy::stewards::{Scope, ScopeKind, Stewards, Stewardship};
use crate::record::chain::error::ChainError;
use crate::record::chain::replay;
use crate::record::chain::vouched;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::state::PublishedSet;
use crate::text::document::obsidian::Markup;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::principal::PrincipalKey;
use crate::values::model::tag::Tag;

/// Who reads, and what stewards allow.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    who: PrincipalKey,
    stewards: Stewards,
    /// How tags of texts are read.
    markup: Markup,
    /// Whether tags decide about any document.
    by_tags: bool,
    /// The governance files that the chain does not vouch for, or that cannot be parsed, so that it is
    /// unknown who may read.
    lost: Vec<LostRules>,
}

/// Who reads a checkpoint, of which some may not be read.
#[derive(Debug)]
pub(super) struct Limits {
    readers: Readers,
    /// What may be read and what not, once all of the checkpoint was asked for.
    parts: OnceLock<Parts>,
}

/// What of a checkpoint may be read, and what may not.
#[derive(Debug)]
struct Parts {
    readable: Map<'static>,
    hidden: HashSet<DocumentId>,
}

impl Readers {
    /// Who may read upon the head of a source; none where everybody may.
    ///
    /// # Errors
    /// The log cannot be relied on, or no principal is configured.
    pub(crate) fn of(vault: &Vault, source: &CheckpointSource) -> Result<Option<Self>, LogError> {
        let id = DocumentId::config();
        let is_open = match source.head_config(vault)? {
            // Most vaults: what is in force is what the head holds.
            Some(config) => !config.is_limited(),
            None => source.lives(&id).is_some_and(|lives| lives.is_empty()),
        };
        if is_open {
            return Ok(None);
        }
        if let Some(records) = source.rules_recorded()
            && let Some((head, ..)) = source.head(vault)
        {
            return Self::upon(vault, head, &InForce::of(vault.files(), &records));
        }
        Self::of_log(vault, &source.log(vault)?.sound()?)
    }

    /// The same from the log.
    ///
    /// # Errors
    /// No principal is configured.
    pub(crate) fn of_log(
        vault: &Vault,
        chronicle: &Chronicle<'_>,
    ) -> Result<Option<Self>, LogError> {
        let in_force = InForce::of(vault.files(), chronicle);
        Self::upon(vault, chronicle.head_number(), &in_force)
    }

    /// The same by the rules in force upon a head.
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
            // It may have limited readers, whatever the one before it says.
            Some(File::Invalid(_) | File::Lost(_)) => (None, false),
            // The last one that was approved and can be read.
            Some(File::Retired(_)) => {
                (in_force.configs().iter().rev().find_map(|(_, file)| file.read()), false)
            }
        };
        let stewards = in_force.stewards_at(head);
        // Where the last version cannot be read, a vault with stewards is governed (REV-1).
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

    /// Whether this may be read, which has these tags.
    fn may(&self, id: &DocumentId, tags: &[Tag]) -> bool {
        self.stewards.role_of(&self.who, id, tags).is_some()
    }

    /// The same, as far as the id decides it.
    fn by_id(&self, id: &DocumentId) -> Option<bool> {
        let decides = |scope: &Scope| matches!(scope, Scope::Document(_) | Scope::Folder(_));
        let is_decided = !self.by_tags
            || !id.is_document()
            || self.stewards.scope_of(id, &[]).is_some_and(|found| decides(&found.scope));
        is_decided.then(|| self.may(id, &[]))
    }

    /// Whether the id alone says that a text may be read, so that its name may be told (REV-24).
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

    /// Whether a text that is to be served may be.
    pub(super) fn may_serve(&self, served: &Served) -> bool {
        self.by_id(&served.id).unwrap_or_else(|| self.may(&served.id, &served.fields.tags))
    }

    /// Whether a text of an artifact may be read.
    pub(crate) fn may_read(&self, id: &DocumentId, text: &str) -> bool {
        let tags = || {
            let rules = Rules { markup: self.markup, ..Rules::default() };
            self.may(id, &rules.tags(id, text))
        };
        self.by_id(id).unwrap_or_else(|| self.markup != Markup::Unknown && tags())
    }
}

/// Which ids a reader may be told, and which texts, apart from any snapshot.
#[derive(Debug)]
pub(crate) struct Told {
    readers: Readers,
    /// What the last checkpoint holds, and whether that may be read.
    held: HashMap<DocumentId, bool>,
}

impl Told {
    /// Whether the reader has a role at the vault.
    pub(crate) fn has_role_at_vault(&self) -> bool {
        self.readers.may(&DocumentId::config(), &[])
    }

    /// Which artifacts the last checkpoint holds that may not be read.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = &DocumentId> {
        self.held.iter().filter(|(_, is_readable)| !**is_readable).map(|(id, _)| id)
    }

    /// Whether the reader may be told that there is an artifact of this id, as
    /// [`Snapshot::may_name`].
    pub(crate) fn may_name(&self, id: &DocumentId) -> bool {
        let held = self.held.get(id).copied();
        held.unwrap_or_else(|| self.readers.by_id(id) == Some(true))
    }

    /// The same of a version of it, whose text is read only where its tags decide.
    pub(crate) fn may_name_version(
        &self,
        id: &DocumentId,
        text: impl FnOnce() -> Option<String>,
    ) -> bool {
        let by_text = || text().is_some_and(|text| self.readers.may_read(id, &text));
        self.may_name(id) && self.readers.by_id(id).unwrap_or_else(by_text)
    }
}

/// Whether only stewards read a vault whose log or configuration cannot be relied on.
pub(crate) fn is_limited_at_last(vault: &Vault) -> bool {
    let (files, id) = (vault.files(), DocumentId::config());
    // A version that cannot be read may have limited them, in a vault that has stewards.
    let is_supposed = || replay::has_files(files, &DocumentId::stewards());
    let history = match replay::load(files, &id) {
        Ok(history) => history,
        Err(ChainError::HistoryMissing) if !replay::has_files(files, &id) => return false,
        Err(_) => return is_supposed(),
    };
    let read = |version| {
        let text = vouched::vouched(files, &id, &history, version).ok()?;
        Config::parse(&text).ok()
    };
    let mut published = history.entries().filter(|entry| entry.is_published());
    published
        .any(|entry| read(entry.version).map_or_else(is_supposed, |config| config.is_limited()))
}

impl Limits {
    pub(super) fn readers(&self) -> &Readers {
        &self.readers
    }
}

impl<'v> Snapshot<'v> {
    /// The same without what a reader may not read. With an index the texts are judged when they are asked
    /// for.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub(super) fn limited(self, readers: Option<Readers>) -> Result<Self, LogError> {
        let Some(readers) = readers else { return Ok(self) };
        // These are read from governance files, whoever reads.
        self.settings();
        self.names.get_or_init(|| self.authorities().ok());
        let limited = Self { limits: Some(Limits { readers, parts: OnceLock::new() }), ..self };
        if limited.map.index().is_none() {
            limited.readable()?;
        }
        Ok(limited)
    }

    /// What the checkpoint records and the reader may read.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub(super) fn readable(&self) -> Result<&Map<'v>, LogError> {
        match &self.limits {
            Some(limits) => Ok(&self.parts(limits)?.readable),
            None => Ok(&self.map),
        }
    }

    fn parts<'s>(&self, limits: &'s Limits) -> Result<&'s Parts, LogError> {
        if let Some(parts) = limits.parts.get() {
            return Ok(parts);
        }
        let all: Vec<DocumentId> = self.map.state(self)?.iter().map(|(id, _)| id.clone()).collect();
        let judge = |id: DocumentId| {
            let is_readable = self.judged(&limits.readers, &id);
            let recorded = self.map.recorded(self, &id)?;
            Ok(recorded.map(|recorded| (id, recorded, is_readable)))
        };
        let judged: Result<Vec<_>, LogError> = all.into_par_iter().map(judge).collect();
        let (readable, hidden): (Vec<_>, Vec<_>) =
            judged?.into_iter().flatten().partition(|(_, _, is_readable)| *is_readable);
        let approved = readable.iter().filter(|(_, recorded, _)| recorded.is_approved);
        let approved = approved.map(|(id, ..)| id.clone()).collect();
        let bound = self.map.state(self)?.bound().clone();
        let without = |(id, recorded, _)| (id, recorded);
        let readable = Map::of_recorded(readable.into_iter().map(without), bound, approved);
        let hidden = hidden.into_iter().map(|(id, ..)| id).collect();
        Ok(limits.parts.get_or_init(|| Parts { readable, hidden }))
    }

    /// What the checkpoint records of one artifact, if the reader may read it.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub(super) fn recorded(&self, id: &DocumentId) -> Result<Option<Recorded>, LogError> {
        match &self.limits {
            Some(limits) if limits.parts.get().is_none() && self.map.index().is_some() => {
                let is_readable = self.judged(&limits.readers, id);
                Ok(self.map.recorded(self, id)?.filter(|_| is_readable))
            }
            _ => self.readable()?.recorded(self, id),
        }
    }

    /// Whether a reader may read what the checkpoint holds of an artifact.
    fn judged(&self, readers: &Readers, id: &DocumentId) -> bool {
        readers.by_id(id).unwrap_or_else(|| self.may_by_tags(readers, id))
    }

    /// Whether a document may be read whose tags decide that. One whose tags are not known may not.
    fn may_by_tags(&self, readers: &Readers, id: &DocumentId) -> bool {
        let markup = self.markup();
        if markup == Markup::Unknown {
            return false;
        }
        if let Some(Ok(Some(held))) = self.map.index().map(|at| at.under(markup).get(id.as_str())) {
            return held.metadata.is_some_and(|metadata| readers.may(id, &metadata.tags));
        }
        let serve = |version, hash: &_, recorded: &_| self.serve(id, version, hash, recorded);
        matches!(self.found(id, true, serve), Some(Ok(served)) if readers.may(id, &served.fields.tags))
    }

    /// The governance files whose damage hides everything from this reader. Every answer names them:
    /// the reader has no role because the roles are unknown.
    pub(crate) fn lost_rules(&self) -> Vec<Withheld> {
        let lost = self.limits.iter().flat_map(|limits| &limits.readers.lost);
        lost.map(|lost| Withheld::of_rules(self.vault, lost)).collect()
    }

    /// Refuses a question whose answer the damage of one of these files empties.
    ///
    /// # Errors
    /// The first of the files.
    pub(crate) fn check_rules(&self) -> Result<(), Withheld> {
        self.lost_rules().into_iter().next().map_or(Ok(()), Err)
    }

    /// Whether some documents may not be read.
    pub(crate) fn is_limited(&self) -> bool {
        self.limits.is_some()
    }

    /// Returns true unless the reader may read everything that the log names, as far as that is known.
    pub(crate) fn hides_anything(&self) -> bool {
        let Some(limits) = &self.limits else { return false };
        let is_everywhere = limits.readers.may(&DocumentId::config(), &[]);
        !is_everywhere || self.parts(limits).map_or(true, |parts| !parts.hidden.is_empty())
    }

    /// What the reader may be told; none where that is everything that the log names.
    pub(crate) fn told(&self) -> Result<Option<Told>, LogError> {
        let Some(limits) = &self.limits else { return Ok(None) };
        if !self.hides_anything() {
            return Ok(None);
        }
        let hidden = self.parts(limits)?.hidden.iter().map(|id| (id.clone(), false));
        let readable = self.state()?.iter().map(|(id, _)| (id.clone(), true));
        let held = readable.chain(hidden).collect();
        Ok(Some(Told { readers: limits.readers.clone(), held }))
    }

    /// How many documents of the checkpoint may not be read.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub(crate) fn unreadable_count(&self) -> Result<usize, LogError> {
        let Some(limits) = &self.limits else { return Ok(0) };
        Ok(self.parts(limits)?.hidden.iter().filter(|id| id.is_document()).count())
    }

    /// Whether the reader may be told that there is an artifact of this id. One that the checkpoint
    /// does not hold is judged by its id alone.
    pub(crate) fn may_name(&self, id: &DocumentId) -> bool {
        let Some(limits) = &self.limits else { return true };
        match self.map.recorded(self, id) {
            Ok(Some(_)) => self.holds(id).unwrap_or(false),
            Ok(None) => limits.readers.may_know(id),
            Err(_) => false,
        }
    }

    /// Whether the reader may read this text of an artifact, a version that may be unpublished. Of an
    /// artifact that the checkpoint holds, that must be readable, too, if `is_step`.
    pub(crate) fn may_read(&self, id: &DocumentId, text: &str, is_step: bool) -> bool {
        let Some(limits) = &self.limits else { return true };
        let is_hidden = || match self.map.recorded(self, id) {
            Ok(Some(_)) => !self.holds(id).unwrap_or(false),
            Ok(None) => false,
            Err(_) => true,
        };
        !(is_step && is_hidden()) && limits.readers.may_read(id, text)
    }
}

impl Map<'static> {
    /// What of a checkpoint may be read.
    fn of_recorded(
        recorded: impl Iterator<Item = (DocumentId, Recorded)>,
        bound: std::collections::BTreeMap<DocumentId, crate::record::checkpoint::state::Mark>,
        approved: HashSet<DocumentId>,
    ) -> Self {
        let (mut marks, mut sealed) = (Vec::new(), HashMap::new());
        for (id, Recorded { mark, sealed_at, .. }) in recorded {
            if let Some(at) = sealed_at {
                sealed.insert(id.clone(), at);
            }
            marks.push((id, mark));
        }
        Self::of_set(PublishedSet::of(marks, bound), sealed, approved)
    }
}
