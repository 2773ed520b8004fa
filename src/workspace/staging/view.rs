//! Which staged entries a principal sees, and what is in them (STAGE-13).

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::acts::unknown_entry;
use crate::audit::{Labels, Text, Traced};
use crate::chain::history::{Entry, History};
use crate::chain::{replay, vouched};
use crate::checkpoint::chronicle::Chronicle;
use crate::govern::review::rules_in_force;
use crate::model::digest::Digest;
use crate::model::hint::{Call, Hint, Verb};
use crate::model::id::DocumentId;
use crate::model::number::Version;
use crate::model::principal::{Principal, PrincipalKey};
use crate::report::failure::{Code, Failure};
use crate::resolve::{CheckpointSource, Need, Snapshot};
use crate::review::{ActJudge, Rules, Unfit};
use crate::staging::{
    Canonical, Chains, FoundPayload, Promotion, Staged, StagedEntry, StagedName, payload_text,
    read_payload,
};
use crate::stewards::{Role, Scope, Stewardship};
use crate::trust;
use crate::vault::Vault;
use crate::workspace::Workspace;
use crate::workspace::version::any_text_of;

/// The staged entries of a vault, to a principal in a session.
pub(crate) struct StagedView {
    /// Every entry, visible or not.
    pub(super) staged: Staged,
    pub(super) principal: Option<Principal>,
    /// The session, if it was named.
    session: Option<String>,
    access: Access,
    /// The sources of which a chain is damaged.
    damaged: BTreeSet<DocumentId>,
}

/// What the stewards in force allow.
pub(super) struct Access {
    /// None in an ungoverned vault.
    rules: Option<Rules>,
    /// The texts of sources by which roles are decided; none where a text cannot be read.
    texts: HashMap<DocumentId, Option<String>>,
    /// What was decided of the viewer.
    seen: RefCell<HashMap<DocumentId, bool>>,
}

/// The content of an entry.
pub(crate) struct Content {
    /// The bytes as they were received.
    pub(crate) bytes: Vec<u8>,
}

impl Access {
    /// What is in force for these sources.
    fn of<'s>(
        vault: &Vault,
        chronicle: &Chronicle<'_>,
        sources: impl Iterator<Item = &'s DocumentId>,
    ) -> Result<Self, Failure> {
        let rules = rules_in_force(vault, chronicle)?;
        let mut texts = HashMap::new();
        if rules.is_some() {
            for source in sources {
                if !texts.contains_key(source) {
                    texts.insert(source.clone(), text_of_source(vault, chronicle, source));
                }
            }
        }
        Ok(Self { rules, texts, seen: RefCell::default() })
    }

    /// Refuses a principal who has not this role at the scope of a source of a governed vault.
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
                "{} names who may",
                Call::new(Verb::StewardWho).value(source.as_str()),
            ))
        };
        match self.texts.get(source).and_then(Option::as_ref) {
            Some(text) => rules.require(who, needed, [(source, text.as_str())]).map_err(unfit),
            None => {
                let message = format!("`{source}` cannot be read, so that no role is known for it");
                Err(Failure::new(Code::NotASteward, message))
            }
        }
    }

    /// Whether a principal has a role at every scope. That follows from the stewards alone, so that
    /// it says nothing of what is staged.
    pub(super) fn is_everywhere(&self, who: &Principal, needed: Role) -> bool {
        let Some(rules) = &self.rules else { return true };
        let key = who.key();
        let has_role = |scope: &Stewardship| {
            let holders = rules.stewards.holders(scope);
            holders.iter().any(|holder| holder.principal.key() == key && holder.role >= needed)
        };
        rules.stewards.at(&Scope::Vault).is_some() && rules.stewards.scopes().all(has_role)
    }

    /// Removes from entries the documents that the viewer may not know of: those that the viewer may
    /// not read, and those that await a review at scopes where the viewer has no role (STAGE-13).
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

    /// Whether the viewer is an editor or a reviewer of a source.
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

/// The entries of chains with what stands of the acts upon them (STAGE-19), and what the stewards in
/// force allow. Promotions are compared with documents only where an act depends on them.
pub(super) fn judged(
    vault: &Vault,
    chains: &Chains,
    reads_documents: bool,
) -> Result<(Staged, Access), Failure> {
    let log = trust::open_log(vault)?;
    let chronicle = log.sound()?;
    let judge = ActJudge::new(vault.files(), &chronicle, reads_documents);
    let staged = Staged::judged(chains, &|act| judge.standing(act));
    let access = Access::of(vault, &chronicle, staged.entries.iter().map(|one| &one.source))?;
    Ok((staged, access))
}

/// The text of a source that was sealed last.
fn text_of_source(vault: &Vault, chronicle: &Chronicle<'_>, id: &DocumentId) -> Option<String> {
    let sealed = chronicle.checkpoints().iter().rev().flat_map(|checkpoint| &checkpoint.set);
    let version = sealed.filter(|(set, _)| set == id).find_map(|(_, mark)| mark.version)?;
    any_text_of(vault, chronicle, id, version).ok().map(|(text, _)| text)
}

impl Workspace<'_> {
    /// The entries of a vault, as who acts sees them in the session of these labels.
    ///
    /// # Errors
    /// The chains, or what is in force, cannot be read.
    pub(crate) fn staged(&self, vault: &Vault, labels: &Labels) -> Result<StagedView, Failure> {
        let chains = Chains::read(vault.files())?;
        self.view(vault, labels, &chains)
    }

    /// The same of the entries that may have a name.
    ///
    /// # Errors
    /// As [`Workspace::staged`].
    pub(crate) fn staged_named(
        &self,
        vault: &Vault,
        labels: &Labels,
        name: &StagedName,
    ) -> Result<StagedView, Failure> {
        let chains = match &name.source {
            Some(source) => Chains::of_source(vault.files(), source)?,
            None => Chains::of_writer(vault.files(), &name.line.writer)?,
        };
        self.view(vault, labels, &chains)
    }

    /// The same of the entries of a source.
    ///
    /// # Errors
    /// As [`Workspace::staged`].
    pub(crate) fn staged_of_source(
        &self,
        vault: &Vault,
        labels: &Labels,
        source: &DocumentId,
    ) -> Result<StagedView, Failure> {
        self.view(vault, labels, &Chains::of_source(vault.files(), source)?)
    }

    pub(in crate::workspace) fn view(
        &self,
        vault: &Vault,
        labels: &Labels,
        chains: &Chains,
    ) -> Result<StagedView, Failure> {
        let (mut staged, access) = judged(vault, chains, false)?;
        let principal = vault.reader().principal().map(|(principal, _)| principal.clone());
        let session = labels.session.clone().filter(|_| !labels.session_implicit);
        access.withhold_documents(vault, principal.as_ref(), &mut staged)?;
        let damaged = chains.chains.iter().filter(|chain| chain.is_damaged());
        let damaged = damaged.map(|chain| chain.source.clone()).collect();
        Ok(StagedView { staged, principal, session, access, damaged })
    }
}

impl StagedView {
    /// Whether the viewer recorded it in this session.
    pub(crate) fn is_own(&self, entry: &StagedEntry) -> bool {
        let key = self.principal.as_ref().map(Principal::key);
        entry.is_own(key.as_ref(), self.session.as_deref())
    }

    /// Whether the viewer may see an entry at all.
    pub(crate) fn is_visible(&self, entry: &StagedEntry) -> bool {
        self.is_own(entry) || self.access.may_see(self.principal.as_ref(), &entry.source)
    }

    /// The sources of which a chain is damaged, so that entries and acts may be missing: those whose
    /// entries the viewer sees.
    pub(crate) fn damaged(&self) -> impl Iterator<Item = &DocumentId> {
        let principal = self.principal.as_ref();
        let has_own = |source: &DocumentId| {
            self.staged.entries.iter().any(|entry| entry.source == *source && self.is_own(entry))
        };
        self.damaged
            .iter()
            .filter(move |source| self.access.may_see(principal, source) || has_own(source))
    }

    /// How many live entries the viewer recorded in other sessions, and may not see in this one.
    pub(crate) fn own_elsewhere(&self, of: impl Fn(&StagedEntry) -> bool) -> usize {
        let key = self.principal.as_ref().map(Principal::key);
        let is_mine = |entry: &&StagedEntry| {
            let recorded = entry.entry.principal.as_deref().map(PrincipalKey::of);
            recorded.is_some() && recorded == key && entry.is_live()
        };
        let mine = self.staged.entries.iter().filter(is_mine);
        mine.filter(|entry| of(entry) && !self.is_visible(entry)).count()
    }

    /// The entries that the viewer may see, in the order in which they were staged.
    pub(crate) fn visible(&self) -> Vec<&StagedEntry> {
        let mut seen: Vec<&StagedEntry> =
            self.staged.entries.iter().filter(|entry| self.is_visible(entry)).collect();
        // Times are written in one form, so that they compare as texts.
        seen.sort_by(|a, b| {
            (&a.at, &a.source, &a.writer, a.seq).cmp(&(&b.at, &b.source, &b.writer, b.seq))
        });
        seen
    }

    /// The entry of a name. What the viewer may not see is unknown.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn find(&self, name: &StagedName) -> Result<&StagedEntry, Failure> {
        let found = self.staged.find(name).filter(|entry| self.is_visible(entry));
        let is_visible = |entry: &StagedEntry| self.is_visible(entry);
        found.ok_or_else(|| unknown_entry(&self.staged, name, &is_visible))
    }

    /// The content of an entry, which is what was received.
    ///
    /// # Errors
    /// It is gone, or is not what was received.
    pub(crate) fn content(&self, vault: &Vault, entry: &StagedEntry) -> Result<Content, Failure> {
        content(vault, entry)
    }
}

/// The content of an entry, which is what was received.
pub(super) fn content(vault: &Vault, entry: &StagedEntry) -> Result<Content, Failure> {
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

/// What the access log says of the content of an entry (STAGE-15).
pub(crate) fn recorded(entry: &StagedEntry, handed_out: &[u8]) -> Text {
    entry.text(handed_out)
}

impl Content {
    /// The content to be handed out, with what is recorded of that.
    pub(crate) fn handed_out(self, entry: &StagedEntry) -> Traced<Self> {
        let texts = vec![recorded(entry, &self.bytes)];
        Traced::new(self, texts)
    }

    /// The content as text; none where it is none.
    pub(crate) fn text(&self) -> Option<&str> {
        payload_text(&self.bytes)
    }
}

/// A content in lines to compare it by: of JSON, its value with keys in order. None where it is no
/// text.
pub(crate) fn lines_of(content: &Content, canonical: Option<Canonical>) -> Option<String> {
    let mut text = match canonical {
        Some(Canonical::Jcs) => {
            // By way of the canonical form, so that one number has one spelling.
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
