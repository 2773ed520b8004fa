//! The vault as the writer of one event finds it: the head, the histories that may be extended, and
//! the artifacts of the event.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::before_event::BeforeEvent;
use super::bound::Binds;
use super::governance_files::Includes;
use super::{Author, Event, Gate, NewDocument, Outcome, PublishError, Refusal, Which};
use crate::files::vault::Vault;
use crate::files::vault::config::FrontmatterMode;
use crate::files::vault::left_out::{LeftOut, Reason};
use crate::policy::viewer::Viewer;
use crate::read::snapshot::Snapshot;
use crate::read::status;
use crate::read::working;
use crate::read::working::inbound::{Leaving, LinksTo};
use crate::record::chain::history::History;
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::{Append, Chronicle};
use crate::record::checkpoint::event::{Checkpoint, trigger};
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::moved::MissingHistories;
use crate::record::checkpoint::state::{Bound, Mark, PublishedSet};
use crate::text::document::{Document, utf8};
use crate::values::model::digest::Digest;
use crate::values::model::emoji::difference;
use crate::values::model::id::{DocumentId, fold, folder_of};
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;
use crate::write::commit::expect::Expect;
use crate::write::commit::{Beyond, Change, Item, Step};

/// Maximum lead of the head over the clock, in milliseconds.
pub(crate) const MAX_AHEAD_MILLIS: i64 = 24 * 3_600_000;

/// The vault as the writer of one event finds it.
pub(super) struct Transaction<'a> {
    pub(super) vault: &'a Vault,
    pub(super) chronicle: &'a Chronicle<'a>,
    pub(super) state: PublishedSet,
    pub(super) at: Timestamp,
    pub(super) author: &'a Author,
    /// The version or head that the writer has read, which was compared.
    pub(super) expect: Expect,
    /// True if an event of all documents includes drafts.
    pub(super) drafts: bool,
    /// The rules in force before the event.
    pub(super) in_force: Arc<BeforeEvent>,
    /// The entries that may follow the sealed versions of a history.
    pub(super) beyond: Beyond,
    /// Set if texts are submitted instead of published.
    pub(super) submits: Option<Submits>,
    /// True if the versions are a step of a review, which does not make a checkpoint.
    pub(super) is_step: bool,
    /// Governance files that get back into the maps as they are.
    resealed: Vec<(DocumentId, Mark)>,
    /// Documents without a history that leave the maps.
    dropped: Vec<DocumentId>,
    /// The data that the checkpoint binds.
    pub(super) binds: Binds,
    /// The artifacts whose histories are missing.
    gone: OnceLock<MissingHistories>,
    /// The viewer of the head, read on first use; `None` if all principals may read.
    viewer: OnceLock<Option<Viewer>>,
}

/// Returns the first time after the last entry of each of these histories.
///
/// A step has a time of its own.
fn after_steps(vault: &Vault, ids: &[&DocumentId]) -> Timestamp {
    let last = ids.iter().filter_map(|id| {
        let history = replay::load(vault.files(), id).ok()?;
        history.entries().map(|entry| entry.edited_at).max()?.next()
    });
    last.max().unwrap_or(Timestamp::MIN)
}

/// The sets of the submitted texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Submits {
    /// Name of the set in the command, if any.
    pub(super) change: Option<String>,
    /// The sets of the submissions that are replaced: a part of a set stays a part.
    pub(super) kept: BTreeMap<DocumentId, String>,
}

impl Submits {
    /// Returns the name of the set that contains a submission of an artifact.
    pub(super) fn set_of(&self, id: &DocumentId) -> Option<String> {
        self.change.as_ref().or_else(|| self.kept.get(id)).cloned()
    }
}

impl<'a> Transaction<'a> {
    pub(super) fn open(
        vault: &'a Vault,
        chronicle: &'a Chronicle<'a>,
        event: &Event<'a>,
        in_force: Arc<BeforeEvent>,
    ) -> Result<Self, PublishError> {
        let (author, expect, drafts) = (event.author, event.mode.expect, event.mode.drafts);
        chronicle.check_appendable()?;
        let state = chronicle.state_at(chronicle.head_number())?;
        let mut at = author.now;
        if let Some(head) = chronicle.head() {
            if head.at.millis() - at.millis() > MAX_AHEAD_MILLIS {
                return Err(PublishError::ClockBehind { now: at, head: head.at });
            }
            at = at.max(head.at.next().ok_or(PublishError::ClockEnded { head: head.at })?);
        }
        let config = vault.usable_config()?;
        if config.frontmatter == FrontmatterMode::Untouched && chronicle.form().is_shared() {
            return Err(PublishError::SharedUntouched);
        }
        let is_reviewed = in_force.timeline.may_have_governed();
        let beyond = Beyond::known(vault, chronicle, is_reviewed);
        if beyond.is_reviewed() {
            at = at.max(after_steps(vault, event.subjects));
        }
        let (submits, resealed, dropped) = (None, Vec::new(), Vec::new());
        Ok(Self {
            vault,
            chronicle,
            state,
            at,
            author,
            expect,
            drafts,
            in_force,
            beyond,
            submits,
            is_step: event.gate == Gate::Steps,
            resealed,
            dropped,
            binds: Binds::default(),
            gone: OnceLock::new(),
            viewer: OnceLock::new(),
        })
    }

    /// Returns the artifact whose history was moved to this place.
    pub(super) fn moved_from(&self, history: &History) -> Option<&DocumentId> {
        let gone = self.gone.get_or_init(|| MissingHistories::of(self.vault.files(), &self.state));
        let found = gone.found_in(history);
        found.filter(|id| self.may_name(id))
    }

    /// Returns the viewer of the head; `None` if all principals may read.
    ///
    /// # Errors
    /// No principal is configured.
    pub(super) fn viewer(&self) -> Result<Option<&Viewer>, LogError> {
        if let Some(known) = self.viewer.get() {
            return Ok(known.as_ref());
        }
        let (head, in_force) = (self.chronicle.head_number(), &self.in_force.timeline);
        let found = Viewer::upon(self.vault, head, in_force)?;
        Ok(self.viewer.get_or_init(|| found).as_ref())
    }

    /// Removes from the maps the documents without a history.
    ///
    /// The reference implementation deleted their histories, or recorded them before their first
    /// version (CKPT-42).
    pub(super) fn drop_without_history(&mut self) {
        let files = self.vault.files();
        let held = self.state.iter().map(|(id, _)| id);
        let gone = held.filter(|id| id.is_document() && !replay::has_history(files, id));
        self.dropped = gone.cloned().collect();
    }

    /// Moves the time of the event after the last entry of each of these histories.
    ///
    /// The histories that the command named were considered when the transaction was opened.
    pub(super) fn begin_after(&mut self, ids: &[DocumentId]) {
        if self.beyond.is_reviewed() {
            let ids: Vec<&DocumentId> = ids.iter().collect();
            self.at = self.at.max(after_steps(self.vault, &ids));
        }
    }

    /// Completes an event of these versions.
    ///
    /// Includes governance files, sorts by id, and refuses versions that conflict with
    /// published ones.
    pub(super) fn complete(&mut self, outcome: &mut Outcome, includes: Includes<'_>) {
        let collisions = self.collisions(&outcome.items);
        let refused: HashSet<&str> = collisions.iter().map(|c| c.path.as_str()).collect();
        outcome.items.retain(|item| !refused.contains(item.id.live_path().as_str()));
        outcome.refused.extend(collisions);
        self.refuse_other_dependencies(outcome);
        self.refuse_cycles(outcome);
        if self.in_force.is_governed {
            // Unreviewed files are not published here, but files that the reference implementation
            // dropped from the maps return to them.
            if !outcome.items.is_empty() {
                let left_out = outcome.left_out.len();
                self.resealed = self.include_governance_files(outcome, false);
                outcome.left_out.truncate(left_out);
            }
        } else if matches!(includes, Includes::Changed) || !outcome.items.is_empty() {
            self.refuse_new_instructions(outcome);
            let all = includes.all(self.chronicle);
            self.resealed = self.include_governance_files(outcome, all);
        }
        outcome.items.sort_by(|a, b| a.id.cmp(&b.id));
    }

    /// Completes a step: refuses submissions that conflict with published documents.
    pub(super) fn complete_step(&self, outcome: &mut Outcome) {
        self.refuse_new_instructions(outcome);
        let collisions = self.collisions(&outcome.items);
        outcome.items.retain(|item| !collisions.iter().any(|c| c.path == item.id.live_path()));
        outcome.refused.extend(collisions);
        self.refuse_other_dependencies(outcome);
        self.refuse_cycles(outcome);
        outcome.items.sort_by(|a, b| a.id.cmp(&b.id));
    }

    /// Returns the last sealed version of each of these artifacts, even if the head no longer
    /// has it.
    pub(super) fn last_sealed<'i>(
        &self,
        ids: impl IntoIterator<Item = &'i DocumentId>,
    ) -> BTreeMap<&'i DocumentId, Version> {
        self.chronicle.last_sealed(self.vault.files(), ids)
    }

    /// Refuses new ids that a file system or a reader may confuse with another one.
    ///
    /// The ids of retired documents are included, because their histories stay.
    pub(super) fn collisions(&self, items: &[Item]) -> Vec<Refusal> {
        let new: Vec<&DocumentId> = items
            .iter()
            .filter(|item| self.state.get(item.id.as_str()).is_none() && !item.is_retirement())
            // A version that ends a submission does not claim its id.
            .filter(|item| match item.change {
                Change::Step(step) => step == Step::Submit,
                _ => true,
            })
            .map(|item| &item.id)
            .collect();
        self.collisions_of(&new)
    }

    /// Refuses ids of this list that a file system or a reader may confuse with another one.
    pub(super) fn collisions_of(&self, new: &[&DocumentId]) -> Vec<Refusal> {
        if new.is_empty() {
            return Vec::new();
        }
        // An id and every folder above it must have one spelling: a file system that folds case
        // would join the folders, and with them the histories.
        let mut spelled: HashMap<String, BTreeSet<&str>> = HashMap::new();
        for (claim, name) in new.iter().flat_map(|id| id.claims_with_folders()) {
            spelled.entry(claim).or_default().insert(name);
        }
        let is_met = |id: &DocumentId| {
            id.claims_with_folders().any(|(claim, name)| {
                spelled.get(&claim).is_some_and(|spellings| !spellings.contains(name))
            })
        };
        // Collisions are rare, so few files are looked for.
        let mut unpublished = self.folders_beside(new);
        unpublished.retain(|id| is_met(id) && self.vault.files().exists(&id.history_path()));
        let recorded = self.chronicle.checkpoints().iter().flat_map(|c| &c.set);
        let recorded = recorded.map(|(id, _)| id).chain(&unpublished);
        // Ids that the principal may not read collide, but are not named.
        let mut named: HashSet<&str> = new.iter().flat_map(|id| id.with_folders()).collect();
        for id in recorded {
            for (claim, name) in id.claims_with_folders() {
                let Some(spellings) = spelled.get_mut(&claim) else { continue };
                spellings.insert(name);
                if !named.contains(name) && self.may_name(id) {
                    named.insert(name);
                }
            }
        }
        const OF_NAME: &str = "choose another name; ids of retired documents and of submissions \
                               are taken, too, because their histories stay";
        let refuse = |id: &&DocumentId| {
            let duplicate = |(claim, name): (String, _)| {
                let other = spelled.get(&claim)?.iter().find(|other| **other != name)?;
                Some((name, other))
            };
            let (name, other) = id.claims_with_folders().find_map(duplicate)?;
            let is_named = named.contains(other);
            // The user can move the file to the other spelling of a folder, but not to one that is
            // not named.
            let above = if name == id.as_str() { folder_of(other) } else { Some(*other) };
            let above = above.filter(|above| is_named && folder_of(id.as_str()) != Some(above));
            let hint = above.map_or_else(
                || OF_NAME.to_owned(),
                |above| format!("move the file to the folder `{above}`, or choose another name"),
            );
            // The form would reveal an id that is not named.
            let form = difference(name, if is_named { other } else { "" });
            let other = if is_named { format!("`{other}`") } else { "another id".to_owned() };
            let message = format!("`{name}` and {other} differ only in {form}");
            Some(Refusal::new(id.live_path(), "id-collision", message, hint))
        };
        new.iter().filter_map(refuse).collect()
    }

    /// Returns ids near new ones that may have a history, by the names of folders.
    ///
    /// These are in the folders of the new histories, and in folders whose names differ from those
    /// in case or Unicode form only. A history that was never published is not in any checkpoint.
    fn folders_beside(&self, ids: &[&DocumentId]) -> BTreeSet<DocumentId> {
        let files = self.vault.files();
        let first = ids.iter().filter(|id| !files.exists(&id.history_path()));
        let (mut folders, mut dirs) = (BTreeSet::new(), BTreeSet::new());
        for id in first {
            folders.extend(id.with_folders().skip(1));
            dirs.extend(id.history_dir().rsplit_once('/').map(|(dir, _)| dir.to_owned()));
        }
        let names = |folder: &str| files.names(folder).unwrap_or_default();
        let beside = dirs
            .iter()
            .flat_map(|dir| names(dir).into_iter().map(move |name| format!("{dir}/{name}")));
        let is_alike = |folder: &&str| {
            let (above, own) = folder.rsplit_once('/').unwrap_or((".", folder));
            names(above).iter().any(|name| name != own && fold(name) == fold(own))
        };
        let all = folders.iter().any(is_alike).then(|| self.vault.history_folders());
        let found = beside.chain(all.into_iter().flatten());
        found.filter_map(|dir| DocumentId::of_history_dir(&dir).ok()).collect()
    }

    /// Refuses a new document over MCP whose file coding agents would load as
    /// instructions (VAULT-67).
    ///
    /// Such a name must be chosen by a person.
    pub(super) fn refuse_instructions(&self, id: &DocumentId) -> Result<(), Refusal> {
        let is_new = || self.state.get(id.as_str()).is_none();
        match working::instructions(id)
            .filter(|_| self.vault.reader().is_of_published() && is_new())
        {
            None => Ok(()),
            Some(found) => {
                let hint = "choose another name; a person can create this file with a command";
                Err(Refusal::new(id.live_path(), found.code, found.message, hint))
            }
        }
    }

    /// Refuses such documents among those that an event publishes or a step submits.
    fn refuse_new_instructions(&self, outcome: &mut Outcome) {
        let proposes = |item: &Item| {
            !item.is_retirement()
                && matches!(
                    item.change,
                    Change::New | Change::Restored | Change::Step(Step::Submit)
                )
        };
        let refused = outcome.items.iter().filter(|item| proposes(item));
        let refused = refused.filter_map(|item| self.refuse_instructions(&item.id).err());
        let refused: Vec<Refusal> = refused.collect();
        let is_refused = |item: &Item| refused.iter().any(|one| one.path == item.id.live_path());
        outcome.items.retain(|item| !is_refused(item));
        outcome.refused.extend(refused);
    }

    /// Returns the links of live documents and packs to documents that leave the maps.
    pub(super) fn links_to<'t>(&'t self, leaving: Leaving<'t>) -> LinksTo<'t> {
        let published = self.state.iter().map(|(id, _)| id).filter(|id| id.is_document());
        LinksTo::new(self.vault, published.cloned(), leaving)
    }

    /// Returns the number of documents in the next checkpoint.
    pub(super) fn documents_after(&self, items: &[Item]) -> usize {
        let before = self.state.iter().filter(|(id, _)| id.is_document()).count();
        let is_held = |item: &&Item| self.state.get(item.id.as_str()).is_some();
        let items = items.iter().filter(|item| item.id.is_document());
        let (retired, made): (Vec<&Item>, Vec<&Item>) = items.partition(|i| i.is_retirement());
        let new = made.iter().filter(|item| !is_held(item)).count();
        before + new - retired.iter().filter(|item| is_held(item)).count()
    }

    /// Returns the checkpoint of these items, and the line that commits it.
    ///
    /// `None` if nothing changes. `bind` returns the data that the checkpoint binds.
    pub(super) fn seal<E>(
        mut self,
        items: &[Item],
        bind: impl FnOnce(&Self) -> Result<Vec<Bound>, E>,
    ) -> Result<Option<(Checkpoint, Append)>, E> {
        let resealed = std::mem::take(&mut self.resealed);
        let dropped = std::mem::take(&mut self.dropped);
        let ids = items.iter().map(|item| &item.id).chain(resealed.iter().map(|(id, _)| id));
        let ids = ids.chain(&dropped);
        let Some(trigger) = trigger(ids).cloned() else { return Ok(None) };
        let bound = bind(&self)?;
        let mark = |item: &Item| (item.id.clone(), Mark::new(item.version, item.chain_hash));
        let (retired, set): (Vec<&Item>, Vec<&Item>) =
            items.iter().partition(|item| item.is_retirement());
        let mut set: Vec<(DocumentId, Mark)> = set.into_iter().map(mark).chain(resealed).collect();
        set.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut removed: Vec<DocumentId> =
            retired.into_iter().map(|item| item.id.clone()).chain(dropped).collect();
        removed.sort_unstable();
        let sets = (set, removed);
        Ok(Some(self.chronicle.next(&mut self.state, self.at, trigger, sets, bound)))
    }
}

impl Transaction<'_> {
    /// Refuses ids without a document or history.
    pub(super) fn check_known(
        &self,
        which: &Which,
        new: &[NewDocument],
    ) -> Result<(), PublishError> {
        let is_new = |id: &DocumentId| new.iter().any(|new| new.id == *id);
        let mut ids = which.ids().into_iter();
        // A published document without any file is refused later, with the reason.
        let is_recorded = |id: &DocumentId| {
            !self.vault.reader().is_of_published() && self.state.get(id.as_str()).is_some()
        };
        let is_known =
            |id: &DocumentId| is_new(id) || working::is_known(self.vault, id) || is_recorded(id);
        match ids.find(|id| !is_known(id)) {
            None => Ok(()),
            Some(id) => Err(self.unknown(id)),
        }
    }

    /// Refuses live files that are not the ones that the caller has read.
    ///
    /// The lock is held, so other writers of this program cannot change them.
    pub(super) fn check_read(&self, which: &Which) -> Result<(), PublishError> {
        let Which::Read(read) = which else { return Ok(()) };
        for (id, hash) in read {
            let path = id.live_path();
            let bytes = self.vault.files().read_optional(&path, limit::DOCUMENT)?;
            if bytes.as_deref().map(Digest::of) != Some(*hash) {
                return Err(PublishError::Unread { path, found: true });
            }
        }
        Ok(())
    }

    pub(super) fn unknown(&self, id: &DocumentId) -> PublishError {
        let published = self.state.iter().map(|(id, _)| id.as_str());
        // Ids that a reader may not know must not be suggested.
        let is_limited =
            !matches!(self.viewer(), Ok(None)) || self.vault.reader().is_of_published();
        let near = working::nearest_id(self.vault, id, published);
        PublishError::UnknownId { id: id.clone(), near: near.filter(|_| !is_limited) }
    }

    /// Removes from a list the documents that were compared before and not changed since (IDX-9).
    pub(super) fn take_unchanged(&self, ids: &mut Vec<DocumentId>) -> Vec<DocumentId> {
        let (head, state) = (self.chronicle.head_number(), Cow::Borrowed(&self.state));
        let head = Snapshot::of_state((self.vault, self.chronicle), head, state);
        let unchanged = status::unchanged(self.vault, &head, ids.iter());
        ids.extract_if(.., |id| unchanged.contains(id)).collect()
    }

    /// Returns the unpublished documents whose live file is marked as a draft or not for use.
    fn not_for_use(&self, is_new: impl Fn(&DocumentId) -> bool) -> Vec<LeftOut> {
        let why = |id: &DocumentId| {
            let path = id.live_path();
            let bytes = self.vault.files().read_optional(&path, limit::DOCUMENT).ok()??;
            let text = utf8(&bytes).ok()?;
            let document = Document::of_live(text).ok()?;
            working::why_left_out((self.vault, &path), (text, &document), None)
        };
        let found = self.vault.documents().documents;
        let ids = found.iter().filter_map(|path| DocumentId::of_document_file(path).ok());
        let new = ids.filter(is_new);
        let why = |id: &DocumentId| match working::is_erased(self.vault, id) {
            true => Some(Reason::Erased),
            false => why(id),
        };
        new.filter_map(|id| Some(LeftOut::artifact(&id, why(&id)?))).collect()
    }

    /// Leaves out new files with the text of a published document whose file is missing.
    ///
    /// Publishing such a file would publish the text twice, and lose its history.
    fn take_renamed(&self, ids: &mut Vec<DocumentId>, outcome: &mut Outcome) {
        let is_new = |id: &&DocumentId| self.state.get(id.as_str()).is_none();
        let new: Vec<String> = ids.iter().filter(is_new).map(DocumentId::live_path).collect();
        if new.is_empty() {
            return;
        }
        let is_gone =
            |id: &&DocumentId| id.is_document() && !self.vault.files().exists(&id.live_path());
        let missing: Vec<&DocumentId> =
            self.state.iter().map(|(id, _)| id).filter(is_gone).collect();
        let (number, state) = (self.chronicle.head_number(), Cow::Borrowed(&self.state));
        let head = Snapshot::of_state((self.vault, self.chronicle), number, state);
        let new = new.par_iter().map(String::as_str);
        let mut moves = status::moved::moves(self.vault, &head, &missing, new);
        // Colliding ids are refused.
        moves.retain(|(old, new)| old.collision_with(new).is_none());
        for (old, new) in moves {
            ids.retain(|id| *id != new);
            outcome.left_out.push(LeftOut::artifact(&new, Reason::Renamed(old)));
        }
    }

    /// Returns the artifacts to look at, each once, in byte order.
    pub(super) fn candidates(&self, which: &Which, outcome: &mut Outcome) -> Vec<DocumentId> {
        match which {
            Which::Ids(_) | Which::Read(_) => {
                let ids: BTreeSet<&DocumentId> = which.ids().into_iter().collect();
                ids.into_iter().cloned().collect()
            }
            Which::Within { ids, folders } => {
                let is_within = |id: &DocumentId| {
                    folders.iter().any(|folder| id.live_path().starts_with(folder.as_str()))
                };
                let live = working::governance_ids(self.vault);
                let published = self.state.iter().map(|(id, _)| id.clone());
                let all = published.chain(live).filter(|id| id.is_document() || id.is_pack());
                let all: BTreeSet<DocumentId> =
                    all.filter(is_within).chain(ids.iter().cloned()).collect();
                // Over MCP, unpublished files do not exist.
                if !self.vault.reader().is_of_published() {
                    let is_new = |id: &DocumentId| is_within(id) && !all.contains(id);
                    outcome.left_out.extend(self.not_for_use(is_new));
                }
                all.into_iter().collect()
            }
            Which::All => {
                let found = self.vault.documents();
                let mut ids = Vec::with_capacity(found.documents.len());
                let mut odd = working::not_documents(&found);
                odd.extend(self.vault.odd_packs());
                for path in &found.documents {
                    match DocumentId::of_document_file(path) {
                        Ok(id) => ids.push(id),
                        Err(why) => odd.push(LeftOut::file(path.clone(), Reason::NameInvalid(why))),
                    }
                }
                // A published document stays one, even if its file was replaced.
                let is_published = |file: &LeftOut| {
                    let id = DocumentId::of_document_file(&file.path);
                    id.is_ok_and(|id| self.state.get(id.as_str()).is_some())
                };
                odd.retain(|file| !is_published(file));
                odd.sort_unstable_by(|a, b| a.path.cmp(&b.path));
                outcome.left_out.extend(odd);
                // Without these rules, ignored files would be published.
                let rules = working::unusable_rules(&found).into_iter();
                outcome
                    .refused
                    .extend(rules.map(|(path, problem)| Refusal { path, problems: vec![problem] }));
                self.take_renamed(&mut ids, outcome);
                // Published documents whose file is missing are reported, not skipped.
                let published = self.state.iter().map(|(id, _)| id).filter(|id| id.is_document());
                ids.extend(published.cloned());
                ids.sort_unstable();
                ids.dedup();
                ids
            }
            Which::Changed => {
                let documents = self.state.iter().map(|(id, _)| id).filter(|id| id.is_document());
                documents.cloned().collect()
            }
        }
    }
}
