//! Decides which staged entries a principal sees, and reads their contents (STAGE-13).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::acts::unknown_entry;
use crate::files::vault::Vault;
use crate::policy::in_force::ActJudge;
use crate::policy::rules::{Rules, Unfit};
use crate::policy::stewards::Role;
use crate::read::index::staged::{
    Answering, KnownEntry, Sharing, Wanted, answering, principal_key, session_key,
};
use crate::read::snapshot::{CheckpointSource, Need, Snapshot};
use crate::record::audit::{Labels, Text, Traced};
use crate::record::chain::history::{Entry, History};
use crate::record::chain::{replay, vouched};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::state::Mark;
use crate::record::staging::{
    Canonical, Chains, FoundPayload, Promotion, Staged, StagedEntry, StagedName, lost_sources,
    payload_text, read_payload,
};
use crate::record::trusted_head;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::Workspace;
use crate::service::workspace::version::any_text_of;
use crate::values::model::digest::Digest;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::write::publish::review::rules_in_force;

/// The staged entries of a vault, as a principal sees them in a session.
pub(crate) struct StagedView {
    /// Every entry, visible or not.
    pub(super) staged: Staged,
    pub(super) principal: Option<Principal>,
    /// The session, if it was named.
    session: Option<String>,
    access: Access,
    /// Number of live entries of each source that the viewer recorded in other sessions and that
    /// were not read.
    counted: BTreeMap<DocumentId, usize>,
    /// The sources with a damaged chain.
    damaged: BTreeSet<DocumentId>,
}

/// The entries to list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Listed<'l> {
    /// Only entries of this source.
    pub(crate) source: Option<&'l DocumentId>,
    /// Only entries of this session.
    pub(crate) session: Option<&'l str>,
    /// Also entries that have ended.
    pub(crate) ended: bool,
}

/// The permissions by the stewards in force.
pub(super) struct Access {
    /// The rules; `None` in an ungoverned vault.
    rules: Option<Rules>,
    /// The texts of sources, whose tags decide about roles; `None` if a text cannot be read.
    texts: HashMap<DocumentId, Option<String>>,
    /// Caches if the viewer may see the entries of sources.
    seen: RefCell<HashMap<DocumentId, bool>>,
}

/// The content of an entry.
pub(crate) struct Content {
    /// The bytes as they were received.
    pub(crate) bytes: Vec<u8>,
}

impl Access {
    /// Returns the permissions for these sources.
    fn of<'s>(
        (vault, chronicle): (&Vault, &Chronicle<'_>),
        rules: Option<Rules>,
        sources: impl Iterator<Item = &'s DocumentId>,
    ) -> Self {
        let mut texts = HashMap::new();
        if rules.is_some() {
            for source in sources {
                if !texts.contains_key(source) {
                    texts.insert(source.clone(), last_text(vault, chronicle, source));
                }
            }
        }
        Self { rules, texts, seen: RefCell::default() }
    }

    /// Refuses a principal who does not have this role for a source of a governed vault.
    pub(super) fn require(
        &self,
        who: Option<&Principal>,
        needed: Role,
        source: &DocumentId,
    ) -> Result<(), Failure> {
        let Some(rules) = &self.rules else { return Ok(()) };
        let who = who.map_or("", Principal::as_str);
        let unfit = |why: Unfit| {
            Failure::new(Code::NotASteward, format!("`{source}`: {why}")).hint(Hint::call(
                "{} shows who may",
                Call::new(Verb::StewardWho).value(source.as_str()),
            ))
        };
        match self.texts.get(source).and_then(Option::as_ref) {
            Some(text) => rules.require(who, needed, [(source, text.as_str())]).map_err(unfit),
            None => {
                let message = format!("`{source}` cannot be read, so its roles are unknown");
                Err(Failure::new(Code::NotASteward, message))
            }
        }
    }

    /// Returns true if a principal has a role at every scope. The answer follows from the stewards
    /// alone, so it reveals nothing about staged entries.
    pub(super) fn is_everywhere(&self, who: &Principal, needed: Role) -> bool {
        let Some(rules) = &self.rules else { return true };
        rules.stewards.has_everywhere(&who.key(), needed)
    }

    /// Removes documents that the viewer cannot know of from the entries: those that the viewer may
    /// not read, and those that await a review at scopes where the viewer lacks a role (STAGE-13).
    fn withhold_documents(
        &self,
        vault: &Vault,
        who: Option<&Principal>,
        staged: &mut Staged,
    ) -> Result<(), Failure> {
        let mut promoted =
            staged.entries.iter_mut().filter(|entry| !entry.promoted.is_empty()).peekable();
        let (Some(rules), true) = (&self.rules, promoted.peek().is_some()) else { return Ok(()) };
        let source = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())?;
        let told = Snapshot::of(vault, &source, None)?.told()?;
        let who = who.map_or("", Principal::as_str);
        let may_name = |one: &Promotion| {
            let history = replay::load(vault.files(), &one.document).ok();
            let text = || {
                let history = history.as_ref()?;
                vouched::vouched(vault.files(), &one.document, history, Version(one.version)).ok()
            };
            let is_published = || {
                let entries = history.iter().flat_map(History::entries);
                entries.into_iter().any(Entry::is_published)
            };
            let has_role = || {
                let text = text().unwrap_or_default();
                rules.require(who, Role::Viewer, [(&one.document, text.as_str())]).is_ok()
            };
            told.as_ref().is_none_or(|told| told.may_name_version(&one.document, text))
                && (is_published() || has_role())
        };
        for entry in promoted {
            let all = entry.promoted.len();
            entry.promoted.retain(may_name);
            entry.withheld_documents = all - entry.promoted.len();
        }
        Ok(())
    }

    /// Returns true if the viewer is an editor or a reviewer of a source.
    pub(super) fn may_see(&self, who: Option<&Principal>, source: &DocumentId) -> bool {
        if self.rules.is_none() {
            return true;
        }
        let known = self.seen.borrow().get(source).copied();
        known.unwrap_or_else(|| {
            let may = self.require(who, Role::Editor, source).is_ok();
            self.seen.borrow_mut().insert(source.clone(), may);
            may
        })
    }
}

/// The entries that were found, with the permissions.
pub(super) struct Judged {
    pub(super) staged: Staged,
    pub(super) access: Access,
    /// Number of entries that are only counted, see [`Answering::counted`].
    counted: BTreeMap<DocumentId, usize>,
    /// True if a chain is damaged.
    pub(super) is_damaged: bool,
    /// The sources with a damaged chain.
    damaged: BTreeSet<DocumentId>,
    chains: Chains,
}

/// Facts that limit the search for chains.
pub(super) struct Bounds {
    /// True if stewards decide who sees entries.
    is_governed: bool,
    /// The chains that the head binds.
    bound: BTreeMap<DocumentId, Mark>,
}

/// Returns the entries of the chains that `find` returns, with the valid acts on them (STAGE-19),
/// and the permissions by the stewards in force.
pub(super) fn judged(
    vault: &Vault,
    find: &dyn Fn(&Bounds) -> Result<Answering, Failure>,
) -> Result<Judged, Failure> {
    let log = trusted_head::open_log(vault)?;
    let chronicle = log.sound()?;
    let rules = rules_in_force(vault, &chronicle)?;
    let bounds = Bounds { is_governed: rules.is_some(), bound: chronicle.bound() };
    let Answering { chains, counted, mut damaged } = find(&bounds)?;
    if chains.chains.iter().all(|chain| chain.lines.is_empty()) {
        // Chains that lost all lines look like chains without any.
        let lost = lost_sources(vault);
        damaged.extend(lost.map_err(|why| {
            Failure::new(Code::Io, format!("the chains of staged results: {why}"))
        })?);
    }
    // An unreadable or missing line may name a content.
    let is_damaged = !chains.strays.is_empty() || !damaged.is_empty();
    let judge = ActJudge::new(vault.files(), &chronicle);
    let staged = Staged::judged(&chains, &|act| judge.standing(act));
    let sources = staged.entries.iter().map(|one| &one.source);
    let sources = sources.chain(counted.keys()).chain(&damaged);
    let access = Access::of((vault, &chronicle), rules, sources);
    Ok(Judged { staged, access, counted, is_damaged, damaged, chains })
}

/// Returns the chains of a vault, or of a source, as far as these entries need them.
pub(super) fn chains_of(
    (vault, bounds): (&Vault, &Bounds),
    source: Option<&DocumentId>,
    (entries, sharing): (&dyn Fn(&KnownEntry<'_>) -> bool, Sharing),
) -> Result<Answering, Failure> {
    let (counted, bound) = (&|_: &KnownEntry<'_>| false, &bounds.bound);
    Ok(answering(vault, &Wanted { source, entries, sharing, counted, bound })?)
}

/// Returns the last sealed text of a document.
pub(in crate::library::service::workspace) fn last_text(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    id: &DocumentId,
) -> Option<String> {
    let sealed = chronicle.checkpoints().iter().rev().flat_map(|checkpoint| &checkpoint.set);
    let version = sealed.filter(|(set, _)| set == id).find_map(|(_, mark)| mark.version)?;
    any_text_of(vault, chronicle, id, version).ok().map(|(text, _)| text)
}

impl Workspace<'_> {
    /// Returns the entries of a list, as the principal who acts sees them in the session of
    /// these labels.
    ///
    /// # Errors
    /// The chains, or the configuration and stewards in force, cannot be read.
    pub(crate) fn staged_listed(
        &self,
        vault: &Vault,
        labels: &Labels,
        listed: Listed<'_>,
    ) -> Result<StagedView, Failure> {
        let own = Own::of(vault, labels);
        let session = listed.session.map(|session| session_key(Some(session)));
        let is_listed = |entry: &KnownEntry<'_>| {
            (listed.ended || entry.may_be_live())
                && session.is_none_or(|session| entry.session == session)
        };
        self.view(vault, labels, &|bounds| {
            // Without stewards, every principal sees every entry, so none is only counted.
            let counted = |entry: &KnownEntry<'_>| bounds.is_governed && own.is_elsewhere(entry);
            let (source, sharing, bound) = (listed.source, Sharing::Unasked, &bounds.bound);
            let wanted = Wanted { source, entries: &is_listed, sharing, counted: &counted, bound };
            Ok(answering(vault, &wanted)?)
        })
    }

    /// Returns the entries of a source, or of all, that the viewer recorded in the session of these
    /// labels and that `concerns` selects; with `others` also those of others.
    ///
    /// # Errors
    /// See [`Workspace::staged_listed`].
    pub(crate) fn staged_own(
        &self,
        (vault, labels): (&Vault, &Labels),
        source: Option<&DocumentId>,
        others: bool,
        concerns: &dyn Fn(&KnownEntry<'_>) -> bool,
    ) -> Result<StagedView, Failure> {
        let own = Own::of(vault, labels);
        let is_wanted = |entry: &KnownEntry<'_>| concerns(entry) && (others || own.is(entry));
        let find =
            |bounds: &Bounds| chains_of((vault, bounds), source, (&is_wanted, Sharing::Unasked));
        self.view(vault, labels, &find)
    }

    /// Returns the entries that may have one of these names.
    ///
    /// # Errors
    /// See [`Workspace::staged_listed`].
    pub(crate) fn staged_named(
        &self,
        vault: &Vault,
        labels: &Labels,
        names: &[&StagedName],
    ) -> Result<StagedView, Failure> {
        let is_named = |entry: &KnownEntry<'_>| names.iter().any(|name| entry.is_named(name));
        let find = |bounds: &Bounds| {
            chains_of((vault, bounds), source_of(names), (&is_named, Sharing::Unasked))
        };
        self.view(vault, labels, &find)
    }

    /// Returns the entries that may have a name, and the live ones of their sources.
    ///
    /// # Errors
    /// See [`Workspace::staged_listed`].
    pub(crate) fn staged_beside(
        &self,
        vault: &Vault,
        labels: &Labels,
        name: &StagedName,
    ) -> Result<StagedView, Failure> {
        let is_beside = |entry: &KnownEntry<'_>| entry.may_be_live() || entry.is_named(name);
        let find = |bounds: &Bounds| {
            chains_of((vault, bounds), name.source.as_ref(), (&is_beside, Sharing::Unasked))
        };
        self.view(vault, labels, &find)
    }

    /// Returns the entries of a source, without those that were collected and had no other act.
    ///
    /// # Errors
    /// See [`Workspace::staged_listed`].
    pub(crate) fn staged_of_source(
        &self,
        vault: &Vault,
        labels: &Labels,
        source: &DocumentId,
    ) -> Result<StagedView, Failure> {
        let is_left = |entry: &KnownEntry<'_>| !entry.is_only_collected();
        let find = |bounds: &Bounds| {
            chains_of((vault, bounds), Some(source), (&is_left, Sharing::Unasked))
        };
        self.view(vault, labels, &find)
    }

    /// Returns every entry of a source, and its chains.
    ///
    /// # Errors
    /// See [`Workspace::staged_listed`].
    pub(crate) fn staged_whole(
        &self,
        vault: &Vault,
        labels: &Labels,
        source: &DocumentId,
    ) -> Result<(StagedView, Chains), Failure> {
        self.view_with_chains(vault, labels, &|bounds| {
            let chains = Chains::of_source(vault.files(), source)?;
            Ok(Answering::whole(chains, (&bounds.bound, Some(source))))
        })
    }

    /// Returns the entries of the chains that `find` returns.
    fn view(
        &self,
        vault: &Vault,
        labels: &Labels,
        find: &dyn Fn(&Bounds) -> Result<Answering, Failure>,
    ) -> Result<StagedView, Failure> {
        Ok(self.view_with_chains(vault, labels, find)?.0)
    }

    fn view_with_chains(
        &self,
        vault: &Vault,
        labels: &Labels,
        find: &dyn Fn(&Bounds) -> Result<Answering, Failure>,
    ) -> Result<(StagedView, Chains), Failure> {
        let Judged { mut staged, access, counted, chains, damaged, .. } = judged(vault, find)?;
        let principal = vault.reader().principal().map(|(principal, _)| principal.clone());
        let session = labels.session.clone().filter(|_| !labels.session_implicit);
        access.withhold_documents(vault, principal.as_ref(), &mut staged)?;
        Ok((StagedView { staged, principal, session, access, counted, damaged }, chains))
    }
}

/// Returns the source of the entries with these names; `None` if there may be several sources.
fn source_of<'n>(names: &[&'n StagedName]) -> Option<&'n DocumentId> {
    let first = names.first()?.source.as_ref()?;
    names.iter().all(|name| name.source.as_ref() == Some(first)).then_some(first)
}

/// The viewer of entries and the named session, in the form of the index.
#[derive(Clone, Copy)]
struct Own {
    principal: [u8; 16],
    is_known: bool,
    session: Option<[u8; 16]>,
}

impl Own {
    fn of(vault: &Vault, labels: &Labels) -> Self {
        let principal = vault.reader().principal().map(|(principal, _)| principal.key());
        let session = labels.session.as_deref().filter(|_| !labels.session_implicit);
        Self {
            principal: principal_key(principal.as_ref()),
            is_known: principal.is_some(),
            session: session.map(|session| session_key(Some(session))),
        }
    }

    /// Returns true if this principal recorded the entry in this session.
    fn is(self, entry: &KnownEntry<'_>) -> bool {
        self.session == Some(entry.session) && self.principal == entry.principal
    }

    /// Returns true if this principal recorded the entry in another session.
    fn is_elsewhere(self, entry: &KnownEntry<'_>) -> bool {
        self.is_known && self.principal == entry.principal && self.session != Some(entry.session)
    }
}

impl StagedView {
    /// Returns true if this principal recorded the entry in this session.
    pub(crate) fn is_own(&self, entry: &StagedEntry) -> bool {
        let key = self.principal.as_ref().map(Principal::key);
        entry.is_own(key.as_ref(), self.session.as_deref())
    }

    /// Returns true if the viewer may see an entry.
    pub(crate) fn is_visible(&self, entry: &StagedEntry) -> bool {
        self.is_own(entry) || self.access.may_see(self.principal.as_ref(), &entry.source)
    }

    /// Returns the sources with a damaged chain, so that entries and acts may be missing, as far as
    /// the viewer sees their entries.
    pub(crate) fn damaged(&self) -> impl Iterator<Item = &DocumentId> {
        let principal = self.principal.as_ref();
        let has_own = |source: &DocumentId| {
            self.staged.entries.iter().any(|entry| entry.source == *source && self.is_own(entry))
        };
        self.damaged
            .iter()
            .filter(move |source| self.access.may_see(principal, source) || has_own(source))
    }

    /// Returns the number of live entries of a source, or of all, that the viewer recorded in other
    /// sessions and may not see in this one.
    pub(crate) fn own_elsewhere(&self, source: Option<&DocumentId>) -> usize {
        let key = self.principal.as_ref().map(Principal::key);
        let is_mine = |entry: &&StagedEntry| {
            let recorded = entry.entry.principal.as_deref().map(PrincipalKey::of);
            recorded.is_some() && recorded == key && entry.is_live()
        };
        let is_of = |of: &DocumentId| source.is_none_or(|source| source == of);
        let mine = self.staged.entries.iter().filter(is_mine);
        let read = mine.filter(|entry| is_of(&entry.source) && !self.is_visible(entry)).count();
        let may_see = |of: &DocumentId| self.access.may_see(self.principal.as_ref(), of);
        let counted = self.counted.iter().filter(|(of, _)| is_of(of) && !may_see(of));
        read + counted.map(|(_, count)| count).sum::<usize>()
    }

    /// Returns the entries that the viewer may see, in the order in which they were staged.
    pub(crate) fn visible(&self) -> Vec<&StagedEntry> {
        let mut seen: Vec<&StagedEntry> =
            self.staged.entries.iter().filter(|entry| self.is_visible(entry)).collect();
        // All times are in one form, so they can be compared as texts.
        seen.sort_by(|a, b| {
            (&a.at, &a.source, &a.writer, a.seq).cmp(&(&b.at, &b.source, &b.writer, b.seq))
        });
        seen
    }

    /// Returns the entry of a name. An entry that the viewer may not see looks like a missing one.
    ///
    /// # Errors
    /// There is no such entry.
    pub(crate) fn find(&self, name: &StagedName) -> Result<&StagedEntry, Failure> {
        let found = self.staged.find(name).filter(|entry| self.is_visible(entry));
        let is_visible = |entry: &StagedEntry| self.is_visible(entry);
        let is_of = |source: &&DocumentId| name.source.as_ref().is_none_or(|of| of == *source);
        found.ok_or_else(|| {
            let mut failure = unknown_entry(&self.staged, name, &is_visible);
            let detail = |source: &DocumentId| {
                format!("a staging chain of `{source}` is damaged: the entry may be missing")
            };
            failure.details.extend(self.damaged().filter(is_of).map(detail));
            match failure.details.is_empty() {
                true => failure,
                false => failure.hint(Hint::call("run {} for a full report", Verb::Verify)),
            }
        })
    }

    /// Returns the content of an entry, which is what was received, to be handed out.
    ///
    /// # Errors
    /// A content that is gone, or that is not what was received.
    pub(crate) fn content(
        &self,
        vault: &Vault,
        entry: &StagedEntry,
    ) -> Result<Traced<Content>, Failure> {
        content(vault, entry).map(|content| content.handed_out(entry))
    }
}

/// The content of an entry, which is what was received.
pub(in crate::library::service::workspace) fn content(
    vault: &Vault,
    entry: &StagedEntry,
) -> Result<Content, Failure> {
    let name = entry.name();
    if let Some(ended) = &entry.ended {
        return Err(Failure::new(
            Code::StagedEnded,
            format!("`{name}` is {}, since {}: its content is gone", entry.state(), ended.at),
        ));
    }
    let withheld = |why: String| {
        Failure::new(Code::Withheld, format!("the content of `{name}` {why}"))
            .hint(Hint::call("run {} for a full report", Verb::Verify))
    };
    // A line without a digest is not read.
    let raw = entry.entry.raw().unwrap_or_else(|| Digest::of(b""));
    match read_payload(vault.files(), raw) {
        FoundPayload::Whole(bytes) => Ok(Content { bytes }),
        FoundPayload::Altered(_) => Err(withheld("is not what was received".to_owned())),
        FoundPayload::Missing => Err(withheld("is missing".to_owned())),
        FoundPayload::Unreadable(why) => Err(withheld(format!("cannot be read: {why}"))),
    }
}

/// Returns the record of a handed out content for the access log (STAGE-15).
pub(super) fn recorded(entry: &StagedEntry, handed_out: &[u8]) -> Text {
    entry.text(handed_out)
}

impl Content {
    /// The content to be handed out, with what is recorded of that.
    pub(in crate::library::service::workspace) fn handed_out(
        self,
        entry: &StagedEntry,
    ) -> Traced<Self> {
        let texts = vec![recorded(entry, &self.bytes)];
        Traced::new(self, texts)
    }

    /// Returns the content as text; `None` if it is not a text.
    pub(crate) fn text(&self) -> Option<&str> {
        payload_text(&self.bytes)
    }
}

/// Returns the lines of a content for a comparison: of JSON, its value with keys in order. `None`
/// if it is not text.
pub(in crate::library::service::workspace) fn lines_of(
    content: &Content,
    canonical: Option<Canonical>,
) -> Option<String> {
    let mut text = match canonical {
        Some(Canonical::Jcs) => {
            // The canonical form gives each number one spelling.
            let value: serde_json::Value = serde_json::from_slice(&content.bytes).ok()?;
            let value: serde_json::Value =
                serde_json::from_str(&serde_jcs::to_string(&value).ok()?).ok()?;
            serde_json::to_string_pretty(&value).ok()?
        }
        _ => content.text()?.to_owned(),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Some(text)
}
