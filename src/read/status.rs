//! Differences between live files and their published versions. An unchanged file that was compared
//! before is not read again: see [`cache`].

pub(crate) mod cache;
mod hints;
pub(crate) mod moved;
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests make and alter vaults and caches")]
mod tests;

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use crate::files::vault::Vault;
use crate::files::vault::copies::copied;
use crate::files::vault::left_out::{LeftOut, Reason};
use crate::read::snapshot::{Served, Snapshot, Withheld};
use crate::read::working::{self, LiveFile};
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, EntryState, History};
use crate::record::chain::replay;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::state::PublishedSet;
use crate::text::document::edit::checksum_of;
use crate::text::document::live_form::{LiveForm, is_edited};
use crate::text::document::stamp::left_behind;
use crate::text::document::text::normalise;
use crate::text::document::utf8;
use crate::text::document::validate::{Problem, Severity};
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;
use crate::write::commit::expect::Expect;
use crate::write::commit::stale;

use cache::{Comparison, Seen, SeenFolder};

/// Number of files that are compared in one batch, with one folder open.
const RUN: usize = 512;

words! {
    /// State of a document compared with its published version.
    #[derive(PartialOrd, Ord)]
    pub(crate) enum DocumentState {
        /// The chain does not vouch for the published text.
        Withheld = "withheld",
        /// The document cannot be published in its current form.
        Invalid = "invalid",
        /// A file that is named like a document but is not one: a link, or a name that cannot be
        /// an id.
        LeftOut = "left-out",
        /// Published; the live file was edited from another version than the published one.
        Stale = "stale",
        /// Published; the live file has the status published, too, and differs.
        Changed = "changed",
        /// Published; git leaves the history or the live file out of the working copy.
        NotCheckedOut = "not-checked-out",
        /// Published; the live file is missing.
        Missing = "missing",
        /// Published; the live file is that of a retirement, which this log does not record.
        RetiredElsewhere = "retired-elsewhere",
        /// Published; the live file is a draft of the next version.
        Draft = "draft",
        /// Never published.
        Unpublished = "unpublished",
        /// The live file contains a submitted text that awaits a decision.
        Submitted = "submitted",
        /// Published once, and retired.
        Retired = "retired",
        /// Published; the live file equals the published text.
        Published = "published",
    }
}

impl Row {
    /// Returns true if the published text is no longer valid.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.end.is_some_and(|end| end <= now)
    }
}

/// One document and its state.
#[derive(Debug)]
pub(crate) struct Row {
    /// Path of the live file.
    pub(crate) path: String,
    /// Id of the document; `None` if the name cannot be an id.
    pub(crate) id: Option<DocumentId>,
    pub(crate) state: DocumentState,
    /// Published version.
    pub(crate) version: Option<Version>,
    /// Time from which on the published text is no longer valid.
    pub(crate) end: Option<Timestamp>,
    /// Problems of the live file.
    pub(crate) problems: Vec<Problem>,
    /// Reason why the published text is withheld.
    pub(crate) withheld: Option<Withheld>,
    /// True if the live file is missing.
    pub(crate) is_gone: bool,
    /// Reason why an event that does not name the document leaves its live file out, from the
    /// content of the file.
    pub(crate) left_out: Option<Reason>,
    /// Other document that seems to contain the file of a missing document, or to be the origin of
    /// a new file.
    pub(crate) moved: Option<DocumentId>,
}

words! {
    /// State of a governance file compared with its published version.
    pub(crate) enum GovernanceState {
        /// No checkpoint contains the file yet.
        New = "new",
        /// The file differs from the last checkpoint.
        Changed = "changed",
        /// Its current text, or its deletion, is submitted and awaits a decision.
        Submitted = "submitted",
        /// Never published; a program wrote it as a copy of another file.
        Copy = "copy",
        /// Git leaves the file out of the working copy.
        NotCheckedOut = "not-checked-out",
        /// Deleted since the last checkpoint.
        Deleted = "deleted",
        /// The file cannot be read, or the chain does not vouch for the sealed text.
        Unreadable = "unreadable",
    }
}

/// State of a whole vault.
#[derive(Debug)]
pub(crate) struct Status {
    /// Documents, in byte order of their paths.
    pub(crate) documents: Vec<Row>,
    /// Governance files that differ from the last checkpoint, in byte order.
    pub(crate) governance: Vec<(DocumentId, GovernanceState)>,
}

/// Compares every working copy with the head. Files that `cache` knows to be unchanged are not
/// read again.
///
/// # Errors
/// Fails if the published state cannot be read.
pub(crate) fn status(vault: &Vault, head: &Snapshot<'_>, seen: &Seen) -> Result<Status, LogError> {
    let state = head.state()?;
    let found = vault.documents();
    let compared: Vec<(Row, Option<Comparison>)> = in_folders(&found.documents)
        .into_par_iter()
        .flat_map_iter(|paths| {
            let folder = seen.folder(vault, head, paths.first().map_or("", |path| path));
            paths.iter().filter_map(move |path| compared(vault, head, state, &folder, path))
        })
        .collect();
    let odd: Vec<LiveFile> = working::odd(&found).collect();
    let (mut documents, mut learnt) = (Vec::with_capacity(compared.len()), Vec::new());
    for (row, comparison) in compared {
        documents.push(row);
        learnt.extend(comparison);
    }
    documents.extend(odd.into_iter().map(|file| row(vault, head, state, file).0));
    seen.keep(&learnt);
    let missing: Vec<&DocumentId> = {
        let present: HashSet<&DocumentId> =
            documents.iter().filter_map(|row| row.id.as_ref()).collect();
        head.documents()?.filter(|id| !present.contains(id)).collect()
    };
    let gone: Vec<&DocumentId> =
        missing.iter().copied().filter(|id| !vault.files().exists(&id.live_path())).collect();
    let new = documents.par_iter().filter(|row| row.version.is_none());
    let moves = moved::moves(vault, head, &gone, new.map(|row| row.path.as_str()));
    let gone: Vec<Row> = missing
        .into_par_iter()
        .map(|id| match working::read(vault, &id.live_path()) {
            // Published, but no longer a document by the layout.
            Some(file) => row(vault, head, state, file).0,
            None => gone_row(vault, head, state, id),
        })
        .collect();
    documents.extend(gone);
    let other: HashMap<&DocumentId, &DocumentId> =
        moves.iter().flat_map(|(old, new)| [(old, new), (new, old)]).collect();
    let recased = vault.recased_files();
    for row in &mut documents {
        if let Some(there) = recased.get(&row.path) {
            row.path.clone_from(there);
        }
        row.moved = row.id.as_ref().and_then(|id| other.get(id)).map(|other| (*other).clone());
    }
    documents.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Status { documents, governance: governance(vault, head, state) })
}

/// Returns those of some documents that an earlier comparison found unchanged, and whose files were
/// not changed since.
pub(crate) fn unchanged<'i>(
    vault: &Vault,
    head: &Snapshot<'_>,
    ids: impl Iterator<Item = &'i DocumentId>,
) -> HashSet<DocumentId> {
    let seen = Seen::open(vault);
    if seen.is_empty() {
        return HashSet::new();
    }
    let mut paths: Vec<String> =
        ids.filter(|id| id.is_document()).map(DocumentId::live_path).collect();
    paths.sort_unstable();
    let in_folder = |paths: &[String]| -> Vec<DocumentId> {
        let folder = seen.folder(vault, head, paths.first().map_or("", |path| path));
        paths.iter().filter_map(|path| Some(folder.is_unchanged(path)?.0)).collect()
    };
    in_folders(&paths).into_par_iter().flat_map_iter(in_folder).collect()
}

/// Returns the Markdown files that are not documents, in byte order of their paths. A published
/// file is always a document.
///
/// # Errors
/// Fails if the published state cannot be read.
pub(crate) fn left_out(vault: &Vault, head: &Snapshot<'_>) -> Result<Vec<LeftOut>, LogError> {
    let published: HashSet<String> = head.documents()?.map(DocumentId::live_path).collect();
    let mut found = vault.left_out();
    let in_root = vault.documents().documents.into_iter().filter(|path| !path.contains('/'));
    let is_plain = |path: &String| {
        let content = working::read(vault, path).and_then(|file| file.content.ok());
        content.is_some_and(|text| working::is_plain_root_file(vault, path, &text.document))
    };
    let why = Reason::NoFrontmatter;
    found.extend(in_root.filter(is_plain).map(|path| LeftOut::file(path, why.clone())));
    found.retain(|file| !published.contains(&file.path));
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Splits sorted paths into runs of limited length, each in one folder.
fn in_folders(paths: &[String]) -> Vec<&[String]> {
    let folder = |path: &str| path.rfind('/').map_or(0, |at| at);
    let same = |a: &String, b: &String| a[..folder(a)] == b[..folder(b)];
    paths.chunk_by(same).flat_map(|run| run.chunks(RUN)).collect()
}

/// Returns the state of one document of the layout, and the comparison to record.
fn compared(
    vault: &Vault,
    head: &Snapshot<'_>,
    state: &PublishedSet,
    folder: &SeenFolder<'_>,
    path: &str,
) -> Option<(Row, Option<Comparison>)> {
    if let Some((id, version, end)) = folder.is_unchanged(path) {
        let row = Row {
            path: path.to_owned(),
            id: Some(id),
            state: DocumentState::Published,
            version: Some(version),
            end,
            problems: Vec::new(),
            withheld: None,
            is_gone: false,
            left_out: None,
            moved: None,
        };
        return Some((row, None));
    }
    let file = working::document(vault, path)?;
    let stamp = file.stamp;
    let (row, keyframe) = row(vault, head, state, file);
    let is_whole = row.state == DocumentState::Published && row.problems.is_empty();
    let learnt = (row.id.as_ref().filter(|_| is_whole))
        .and_then(|id| folder.learn(path, id, (keyframe?, row.end), stamp?));
    Some((row, learnt))
}

/// Returns the state of a live file, and the keyframe of the published text.
fn row(
    vault: &Vault,
    head: &Snapshot<'_>,
    state: &PublishedSet,
    file: LiveFile,
) -> (Row, Option<Version>) {
    let problems = file.problems(vault);
    let mut row = Row {
        path: file.path,
        id: file.id,
        state: DocumentState::Unpublished,
        version: None,
        end: None,
        problems,
        withheld: None,
        is_gone: false,
        left_out: None,
        moved: None,
    };
    let published = row.id.as_ref().and_then(|id| head.get(id));
    row.version = match (&published, &row.id) {
        (Some(_), Some(id)) => state.get(id.as_str()).and_then(|mark| mark.version),
        _ => None,
    };
    if let Ok(live) = &file.content {
        let form =
            published.as_ref().and_then(|served| Some(LiveForm::of(&served.as_ref().ok()?.text)));
        let place = (vault, row.path.as_str());
        row.left_out = working::why_left_out(place, (&live.text, &live.document), form.as_ref());
    }
    row.end = (published.as_ref()).and_then(|served| served.as_ref().ok()?.fields.validity.end());
    let keyframe = published.as_ref().and_then(|served| served.as_ref().ok()?.keyframe);
    let invalid = row.problems.iter().any(|p| p.severity == Severity::Error);
    row.state = match (published, &file.content) {
        (Some(Err(withheld)), _) => {
            let state = withheld_state(&withheld);
            row.withheld = Some(withheld);
            state
        }
        (Some(Ok(served)), Ok(live)) => {
            let form = LiveForm::of(&served.text);
            match form.is_draft(&live.document, vault.config().frontmatter) {
                _ if form.is_of(&live.text) => DocumentState::Published,
                _ if invalid => DocumentState::Invalid,
                true if is_retired_elsewhere(live, row.version) => DocumentState::RetiredElsewhere,
                true => DocumentState::Draft,
                false => match stale(vault, &served, &form, live) {
                    Some(problem) => {
                        row.problems.push(problem);
                        DocumentState::Stale
                    }
                    None => DocumentState::Changed,
                },
            }
        }
        _ if invalid => DocumentState::Invalid,
        _ if row.id.is_none() => DocumentState::LeftOut,
        (None, _) => match row.id.as_ref().and_then(|id| replay::load(vault.files(), id).ok()) {
            Some(history) if is_retired(&history) => DocumentState::Retired,
            Some(history) if history.is_erased() => {
                row.left_out = Some(Reason::Erased);
                DocumentState::Unpublished
            }
            _ => DocumentState::Unpublished,
        },
        (Some(_), Err(_)) => DocumentState::Unpublished,
    };
    if row.state == DocumentState::Retired {
        row.left_out = None;
    }
    (row, keyframe)
}

/// Returns true if a draft is the unedited text of a later version than the published one, as a
/// retirement on another branch leaves it.
fn is_retired_elsewhere(live: &working::Text, published: Option<Version>) -> bool {
    let fields = &live.document.frontmatter;
    let is_unedited = fields.checksum.is_some() && fields.checksum == checksum_of(&live.text).ok();
    fields.version > published && is_unedited
}

/// Returns the reason why a publication would refuse a live file that was edited from another
/// version than the published one.
pub(crate) fn stale_file(vault: &Vault, head: &Snapshot<'_>, file: &LiveFile) -> Option<Problem> {
    let (id, live) = (file.id.as_ref()?, file.content.as_ref().ok()?);
    let served = head.get(id)?.ok()?;
    let form = LiveForm::of(&served.text);
    let is_draft = form.is_draft(&live.document, vault.config().frontmatter);
    let is_changed = !is_draft && !form.is_of(&live.text);
    is_changed.then(|| stale(vault, &served, &form, live)).flatten()
}

/// Returns the reason why a publication would refuse a changed live file that is not a draft.
fn stale(
    vault: &Vault,
    served: &Served,
    form: &LiveForm<'_>,
    live: &working::Text,
) -> Option<Problem> {
    let (id, document, mode) = (&served.id, &live.document, vault.config().frontmatter);
    let history = replay::load(vault.files(), id).ok()?;
    let (place, fields) = ((vault.files(), id), &document.frontmatter);
    // An interrupted publication is completed.
    if is_edited(document, mode)
        && left_behind(id, &live.text, document, &served.text).is_some()
        && stale::changed_by_hand(place, fields, (&served.text, &history)).is_none()
    {
        return None;
    }
    let last = stale::Last {
        version: served.entry.version,
        chain_hash: &served.entry.chain_hash,
        text: &served.text,
        history: &history,
    };
    let text = (live.text.as_str(), document);
    let edit = stale::Edit { expect: Expect::default(), is_handed_in: false };
    let found = stale::find(place, text, (form, mode), &last, edit)?;
    Some(Problem {
        code: "stale",
        severity: Severity::Error,
        line: None,
        message: found.message,
        hint: found.hint,
    })
}

/// Returns the state of a document that is not served.
fn withheld_state(withheld: &Withheld) -> DocumentState {
    match withheld.why {
        ChainError::LeftOut => DocumentState::NotCheckedOut,
        _ => DocumentState::Withheld,
    }
}

/// Returns the state of a published document without a live file.
fn gone_row(vault: &Vault, head: &Snapshot<'_>, state: &PublishedSet, id: &DocumentId) -> Row {
    let (end, withheld) = match head.get(id) {
        Some(Ok(served)) => (served.fields.validity.end(), None),
        Some(Err(withheld)) => (None, Some(withheld)),
        None => (None, None),
    };
    let path = id.live_path();
    let state_of = match &withheld {
        Some(withheld) => withheld_state(withheld),
        None if vault.gone().has(&path) => DocumentState::NotCheckedOut,
        None => DocumentState::Missing,
    };
    Row {
        path,
        id: Some(id.clone()),
        state: state_of,
        version: state.get(id.as_str()).and_then(|mark| mark.version),
        end,
        problems: Vec::new(),
        withheld,
        is_gone: true,
        left_out: None,
        moved: None,
    }
}

/// Returns true if the history of an unpublished document ends in its retirement.
fn is_retired(history: &History) -> bool {
    // Steps of reviews neither publish nor retire.
    let mut last = history.entries().rev().filter(|entry| entry.state != EntryState::Unpublished);
    last.next().is_some_and(Entry::is_retirement)
}

fn governance(
    vault: &Vault,
    head: &Snapshot<'_>,
    state: &PublishedSet,
) -> Vec<(DocumentId, GovernanceState)> {
    let live = vault.governance_files();
    let sealed = state.iter().map(|(id, _)| id).filter(|id| !id.is_document());
    let mut ids: Vec<DocumentId> =
        sealed.cloned().chain(live.iter().filter_map(|path| path.parse().ok())).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter()
        .filter_map(|id| Some((governance_state(vault, head, &id)?, id)))
        .map(|(s, id)| (id, s))
        .collect()
}

fn governance_state(
    vault: &Vault,
    head: &Snapshot<'_>,
    id: &DocumentId,
) -> Option<GovernanceState> {
    let live = match vault.files().read_optional(&id.live_path(), limit::DOCUMENT) {
        Ok(live) => live,
        Err(_) => return Some(GovernanceState::Unreadable),
    };
    let sealed = match head.get(id) {
        None => None,
        Some(Ok(served)) => Some(served.text),
        Some(Err(Withheld { why: ChainError::LeftOut, .. })) => {
            return Some(GovernanceState::NotCheckedOut);
        }
        Some(Err(_)) => return Some(GovernanceState::Unreadable),
    };
    match (live, sealed) {
        (None, None) => None,
        (None, Some(_)) if vault.gone().has(&id.live_path()) => {
            Some(GovernanceState::NotCheckedOut)
        }
        (None, Some(_)) => Some(GovernanceState::Deleted),
        (Some(_), None) if id.is_pack() && copied(vault, id.as_str()).is_some() => {
            Some(GovernanceState::Copy)
        }
        (Some(_), None) => Some(GovernanceState::New),
        (Some(live), Some(sealed)) => match utf8(&live) {
            Err(_) => Some(GovernanceState::Unreadable),
            Ok(text) if *normalise(text) == *sealed => None,
            Ok(_) => Some(GovernanceState::Changed),
        },
    }
}
