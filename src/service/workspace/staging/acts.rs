//! Acts on entries, and the roles that they need (STAGE-12, STAGE-14).

use std::collections::{BTreeMap, BTreeSet};

use super::view::{Access, Bounds, Judged, chains_of, judged};
use crate::files::vault::Vault;
use crate::policy::stewards::Role;
use crate::read::index::staged::{Answering, KnownEntry, Sharing};
use crate::record::audit::StagedStep;
use crate::record::staging::{
    Act, ActKind, EntryRef, MOST_ACTS, Staged, StagedEntry, StagedName, StagingError, Unfinished,
    remove_payloads,
};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::Workspace;
use crate::values::model::hint::{Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::STAGING_CHAINS;
use crate::values::model::principal::Principal;
use crate::values::model::timestamp::Timestamp;

/// The result of an act.
#[derive(Debug)]
pub(crate) struct Acted {
    /// The entry before the act.
    pub(crate) entry: StagedEntry,
    /// True if the entry already had this state.
    pub(crate) unchanged: bool,
}

/// The staged entries as they are under the write lock.
pub(super) struct Desk<'d> {
    pub(super) vault: &'d Vault,
    pub(super) staged: Staged,
    /// True if a chain is damaged.
    pub(super) is_damaged: bool,
    pub(super) principal: Principal,
    /// The session, if it was named.
    session: Option<String>,
    pub(super) access: Access,
}

impl<'d> Desk<'d> {
    /// Reads the entry of a name, and other entries as far as they may keep its content. Another
    /// source may have the same content.
    pub(super) fn named(
        workspace: &Workspace<'_>,
        vault: &'d Vault,
        (name, sharing): (&StagedName, Sharing),
    ) -> Result<Self, Failure> {
        let source = name.source.as_ref().filter(|_| sharing == Sharing::Unasked);
        let is_named = |entry: &KnownEntry<'_>| entry.is_named(name);
        Self::open(workspace, vault, &|bounds| {
            chains_of((vault, bounds), source, (&is_named, sharing))
        })
    }

    /// Reads the entries of the chains that `find` returns.
    pub(super) fn open(
        workspace: &Workspace<'_>,
        vault: &'d Vault,
        find: &dyn Fn(&Bounds) -> Result<Answering, Failure>,
    ) -> Result<Self, Failure> {
        let Judged { staged, access, is_damaged, .. } = judged(vault, find)?;
        let (principal, _) = workspace.principal(vault.root(), None)?;
        let labels = workspace.labels()?;
        let session = labels.session.filter(|_| !labels.session_implicit);
        Ok(Self { vault, staged, is_damaged, principal, session, access })
    }

    /// Returns true if the actor may see an entry (STAGE-13).
    pub(super) fn is_visible(&self, entry: &StagedEntry) -> bool {
        entry.is_own(Some(&self.principal.key()), self.session.as_deref())
            || self.access.may_see(Some(&self.principal), &entry.source)
    }

    /// Returns true if the actor may end entries of a source.
    pub(super) fn is_reviewer(&self, source: &DocumentId) -> bool {
        self.access.require(Some(&self.principal), Role::Reviewer, source).is_ok()
    }

    /// Returns true if the actor has a role for every source that could exist.
    pub(super) fn has_role_everywhere(&self, needed: Role) -> bool {
        self.access.is_everywhere(&self.principal, needed)
    }

    /// Returns the entry of a name if the actor has a role for its source. For an entry that the
    /// actor may not see, the error is that of a missing one.
    pub(super) fn find(&self, name: &StagedName, needed: Role) -> Result<&StagedEntry, Failure> {
        let is_visible = |entry: &StagedEntry| self.is_visible(entry);
        let unknown = || unknown_entry(&self.staged, name, &is_visible);
        let entry = self.staged.find(name).ok_or_else(unknown)?;
        match self.access.require(Some(&self.principal), needed, &entry.source) {
            Ok(()) => Ok(entry),
            Err(why) => Err(if self.is_visible(entry) { why } else { unknown() }),
        }
    }

    /// Records an act of the actor on entries durably. The caller holds the lock of
    /// [`Workspace::lock_to_act`].
    pub(super) fn act(
        &self,
        workspace: &Workspace<'_>,
        entries: &[&StagedEntry],
        (kind, at): (ActKind, Timestamp),
        reason: Option<&str>,
    ) -> Result<(), Failure> {
        for entries in entries.chunks(MOST_ACTS) {
            let staged = entries.iter().map(|entry| entry.name().to_string()).collect();
            let reason = reason.map(str::to_owned);
            let step = StagedStep { staged, reason, ..StagedStep::default() };
            let mut by_source: BTreeMap<&DocumentId, Vec<_>> = BTreeMap::new();
            for entry in entries {
                let act = act_upon(entry, self.principal.as_str(), &step);
                by_source.entry(&entry.source).or_default().push(kind.line(act));
            }
            workspace.record_act(self.vault, (kind, at), (step, by_source), None)?;
        }
        Ok(())
    }

    /// Removes the payloads of ended entries, if no live entry names them, and returns
    /// their number.
    pub(super) fn remove(&self, ended: &[&StagedEntry]) -> Result<usize, Failure> {
        let places: BTreeSet<_> = ended.iter().map(|one| one.place()).collect();
        let is_left = |one: &&StagedEntry| one.is_live() && !places.contains(&one.place());
        let live = self.staged.entries.iter().filter(is_left);
        let kept: BTreeSet<_> = live.filter_map(|one| one.entry.raw()).collect();
        let mut gone: Vec<_> = ended.iter().filter_map(|one| one.entry.raw()).collect();
        gone.sort_unstable();
        gone.dedup();
        gone.retain(|raw| !kept.contains(raw));
        Ok(remove_payloads(self.vault.files(), &gone)?)
    }
}

impl Workspace<'_> {
    /// Pins, unpins or discards an entry.
    ///
    /// # Errors
    /// The entry does not exist or has ended, or the principal does not have the role.
    pub(crate) fn act_on_staged(
        &self,
        vault: &Vault,
        name: &StagedName,
        kind: ActKind,
    ) -> Result<Acted, Failure> {
        let _lock = self.lock_to_act(vault)?;
        let sharing = match kind {
            ActKind::Discard => Sharing::Claims(self.now()?),
            _ => Sharing::Unasked,
        };
        let desk = Desk::named(self, vault, (name, sharing))?;
        let entry = desk.find(name, Role::Reviewer)?.clone();
        if entry.ended.is_some() {
            let (state, act) = (entry.state(), kind.as_str());
            let message = match kind {
                ActKind::Discard => format!("`{name}` is {state} already"),
                _ => format!("`{name}` is {state}, so there is nothing to {act}"),
            };
            return Err(Failure::new(Code::StagedEnded, message));
        }
        let unchanged = match kind {
            ActKind::Pin => entry.pinned,
            ActKind::Unpin => !entry.pinned,
            _ => {
                refuse_promoted(&entry)?;
                false
            }
        };
        if unchanged {
            return Ok(Acted { entry, unchanged });
        }
        // The latest pin or unpin is valid, and another clock may be ahead of this one.
        let last = entry.pin_at.as_ref().and_then(|at| at.parse::<Timestamp>().ok());
        let at = match last.filter(|_| kind != ActKind::Discard) {
            Some(last) => self.now()?.max(last.next().unwrap_or(last)),
            None => self.now()?,
        };
        let unfinished = match kind {
            ActKind::Discard => Some(Unfinished::begin(vault.files())?),
            _ => None,
        };
        desk.act(self, &[&entry], (kind, at), None)?;
        if let Some(unfinished) = unfinished {
            desk.remove(&[&entry])?;
            unfinished.end();
        }
        Ok(Acted { entry, unchanged })
    }
}

/// Returns the line for an act of a principal on an entry.
pub(super) fn act_upon(entry: &StagedEntry, principal: &str, step: &StagedStep) -> Act {
    Act {
        entry: EntryRef {
            writer: entry.writer.to_string(),
            seq: entry.seq,
            hash: entry.hash.to_string(),
        },
        principal: Some(principal.to_owned()),
        document: step.document.clone(),
        version: step.document_version,
        reason: step.reason.clone(),
    }
}

/// Returns the failure if no entry has a name, or if more than one visible entry has it.
pub(super) fn unknown_entry(
    staged: &Staged,
    name: &StagedName,
    is_visible: &dyn Fn(&StagedEntry) -> bool,
) -> Failure {
    let mut named = staged.all_named(name);
    named.retain(|entry| is_visible(entry));
    if let [entry, _, ..] = named[..] {
        let message = format!("more than one staged entry has the name `{name}`");
        let (writer, seq) = (&entry.writer, entry.seq);
        return Failure::new(Code::UnknownStaged, message).hint(format!(
            "name one by all digits of its writer, as in `{writer}-{seq}`, the name of a file in \
             `{STAGING_CHAINS}/{}`; `ctx verify` reports more",
            entry.source
        ));
    }
    Failure::new(Code::UnknownStaged, format!("no staged entry `{name}`"))
        .hint(Hint::call("{} lists those that you may see", Verb::StageList))
}

/// Refuses to end an entry that was promoted to a document.
pub(super) fn refuse_promoted(entry: &StagedEntry) -> Result<(), Failure> {
    if !entry.is_promoted() {
        return Ok(());
    }
    // The actor may not know of the document.
    let message = format!("`{}` was promoted: the history of a document contains it", entry.name());
    Err(Failure::new(Code::StagedPromoted, message)
        .hint("the entry is kept, so that `promoted_from` keeps its meaning"))
}

impl From<StagingError> for Failure {
    fn from(why: StagingError) -> Self {
        match why {
            StagingError::Lock(why) => why.into(),
            StagingError::File(why) => why.into(),
            StagingError::TooLarge { .. } => Self::new(Code::Refused, why.to_string()),
            why => Self::new(Code::Io, why.to_string()),
        }
    }
}
