//! Bytes of a writer that was interrupted before its commit: what histories and their folders hold
//! beyond what the log seals, the torn end of the log, files that never got their name.

use std::collections::{BTreeMap, BTreeSet};

use super::beyond::Beyond;
use crate::files::vault::Vault;
use crate::files::vault::config::{Config, LogForm};
use crate::files::vault::files::Files;
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{AppendError, History};
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::codec::path_of;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::log::Log;
use crate::record::checkpoint::sealed::sealed_text;
use crate::record::trusted_head::EventKey;
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::number::Version;

words! {
    /// What something is that a writer left.
    pub enum UncommittedKind {
        /// A file that never got its name.
        Temporary = "temporary file",
        /// A full text, or a diff, that no entry of a history has.
        Text = "text without an entry",
        /// A history without a sealed version.
        History = "unsealed history",
        /// Entries at the end of a history, whole or torn.
        Entries = "unsealed entries",
        /// The end of the log, after its last whole entry.
        Log = "bytes after the last checkpoint",
        /// The log in the form that it was converted from.
        Duplicate = "duplicate log",
    }
}

impl UncommittedKind {
    /// Whether only a writer's intent record distinguishes it from a truncated record.
    fn is_of_the_record(self) -> bool {
        !matches!(self, Self::Temporary | Self::Duplicate)
    }
}

/// Bytes that a writer left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncommittedFile {
    /// The file.
    pub path: String,
    /// What it is.
    pub remains: UncommittedKind,
    /// Where it begins in the file; 0 for a whole file.
    pub from: u64,
    /// How many bytes.
    pub bytes: u64,
    /// The events that recorded the entries in it, and of a text the one that has it; none where
    /// that cannot be read.
    pub events: Vec<Option<EventKey>>,
}

impl UncommittedFile {
    /// Whether a writer left it that did not bring this event to an end; none where no writer was
    /// interrupted here. What is not of the record is nothing else than a file.
    pub fn is_of(&self, interrupted: Option<&EventKey>) -> bool {
        let is_of_it = |event| are_of(event, &self.events);
        !self.remains.is_of_the_record() || interrupted.is_some_and(is_of_it)
    }
}

/// Why nothing is cleared away beside an artifact's history.
#[derive(Debug, thiserror::Error)]
pub enum Uncleared {
    /// It is broken in what is sealed.
    #[error(transparent)]
    Broken(#[from] ChainError),
    /// Its end cannot be truncated.
    #[error(transparent)]
    Spelled(#[from] AppendError),
}

/// What the log says of some artifacts.
pub(super) struct SealedVersions<'i> {
    beyond: Beyond,
    /// The last version that any checkpoint seals.
    last: BTreeMap<&'i DocumentId, Version>,
    /// Those that the head has.
    published: BTreeSet<&'i DocumentId>,
}

impl<'i> SealedVersions<'i> {
    pub(super) fn of(
        vault: &Vault,
        chronicle: &Chronicle<'_>,
        ids: &'i BTreeSet<DocumentId>,
    ) -> Self {
        let beyond = Beyond::of(vault, chronicle);
        let last = chronicle.last_sealed(vault.files(), ids);
        let mut sealed = Self { beyond, last, published: BTreeSet::new() };
        for checkpoint in chronicle.checkpoints() {
            for id in checkpoint.removed.iter().filter_map(|id| ids.get(id)) {
                sealed.published.remove(id);
            }
            sealed.published.extend(checkpoint.set.iter().filter_map(|(id, _)| ids.get(id)));
        }
        sealed
    }
}

/// The events that recorded what a history has from one of its entries on; none for an entry that
/// cannot be read.
pub(crate) fn events_from(history: &History, next: usize) -> Vec<Option<EventKey>> {
    let beyond = history.slots.iter().skip(next);
    beyond.map(|slot| slot.entry.as_ref().ok().map(EventKey::of)).collect()
}

/// Whether all of this is of one event.
pub(crate) fn are_of(event: &EventKey, events: &[Option<EventKey>]) -> bool {
    events.iter().all(|found| found.as_ref() == Some(event))
}

/// Every artifact that the log or a folder of histories names.
pub(super) fn everything(vault: &Vault, chronicle: &Chronicle<'_>) -> BTreeSet<DocumentId> {
    let recorded = chronicle.checkpoints().iter().flat_map(|c| c.set.iter().map(|(id, _)| id));
    let mut ids: BTreeSet<DocumentId> = recorded.cloned().collect();
    ids.extend(
        vault.history_folders().iter().filter_map(|dir| DocumentId::of_history_dir(dir).ok()),
    );
    ids
}

/// Every artifact that a log seals, however broken it is, with its versions in order.
pub(crate) fn recorded(log: &Log) -> BTreeMap<DocumentId, Vec<Version>> {
    let mut ids: BTreeMap<DocumentId, Vec<Version>> = BTreeMap::new();
    for (id, mark) in log.entries.iter().flatten().flat_map(|checkpoint| &checkpoint.set) {
        ids.entry(id.clone()).or_default().extend(mark.version);
    }
    for versions in ids.values_mut() {
        versions.sort_unstable();
        versions.dedup();
    }
    ids
}

/// What is in no history: the torn end of the log, or the log in another form, and files that
/// never got their name.
pub(super) fn of_vault(vault: &Vault, chronicle: &Chronicle<'_>) -> Vec<UncommittedFile> {
    let temporaries = vault.files().temporaries().into_iter();
    let mut found: Vec<UncommittedFile> = temporaries
        .filter_map(|name| {
            whole(
                vault.files(),
                format!("{}/{name}", layout::LOCAL_DIR),
                UncommittedKind::Temporary,
            )
        })
        .collect();
    let torn = chronicle.torn() as u64;
    if torn > 0 {
        let from = chronicle.length() - torn;
        let path = chronicle.path().to_owned();
        let remains = UncommittedKind::Log;
        found.push(UncommittedFile { path, remains, from, bytes: torn, events: Vec::new() });
    }
    if let Some(duplicate) = chronicle.duplicate() {
        // Both say the same. A log that we began has whole maps only where a configuration says so.
        let by_default =
            if chronicle.is_begun_by_ctx() { LogForm::Delta } else { chronicle.form() };
        let wanted = sealed_form(vault, chronicle).ok().flatten().unwrap_or(by_default);
        let path = if wanted == duplicate { chronicle.path() } else { path_of(duplicate) };
        found.extend(whole(vault.files(), path.to_owned(), UncommittedKind::Duplicate));
    }
    found
}

/// The form that the configuration asks for which the head seals.
///
/// # Errors
/// The head does not follow.
pub(crate) fn sealed_form(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
) -> Result<Option<LogForm>, LogError> {
    let state = chronicle.state_at(chronicle.head_number())?;
    let text = sealed_text(vault, &state, &DocumentId::config()).and_then(Result::ok);
    Ok(text.and_then(|text| Config::parse(&text).ok()?.checkpoint_log))
}

fn whole(files: &Files, path: String, remains: UncommittedKind) -> Option<UncommittedFile> {
    let bytes = files.stamp(&path).ok()?.length;
    Some(UncommittedFile { path, remains, from: 0, bytes, events: Vec::new() })
}

/// What is beyond the sealed versions of one artifact.
///
/// # Errors
/// What is sealed cannot be distinguished from what is not.
pub(super) fn of_artifact(
    vault: &Vault,
    id: &DocumentId,
    sealed: &SealedVersions<'_>,
) -> Result<Vec<UncommittedFile>, Uncleared> {
    let last_sealed = sealed.last.get(id).copied().unwrap_or(Version::NONE);
    let history = match replay::load(vault.files(), id) {
        Ok(history) => Some(history),
        Err(ChainError::HistoryMissing | ChainError::HistoryUnreadable(_))
            if last_sealed == Version::NONE =>
        {
            None
        }
        Err(why) => return Err(why.into()),
    };
    let path = id.history_path();
    let mut found = Vec::new();
    let (mut stored, mut owners) = (BTreeSet::new(), BTreeMap::new());
    match &history {
        None => found.extend(whole(vault.files(), path, UncommittedKind::History)),
        Some(history) => {
            let is_published = sealed.published.contains(id);
            let next = sealed.beyond.first_unsealed(id, history, last_sealed, is_published);
            if next == 0 && last_sealed > Version::NONE {
                return Err(ChainError::VersionMissing(last_sealed).into());
            }
            let total = history.length + history.torn;
            let from = match history.slots.get(next) {
                Some(slot) if next > 0 => slot.at,
                Some(_) => 0,
                None => history.length,
            };
            if from < total {
                // A list that is not in block form has no end that could be truncated.
                if from > 0 && !history.is_appendable() {
                    return Err(AppendError::Spelling.into());
                }
                let remains =
                    if from == 0 { UncommittedKind::History } else { UncommittedKind::Entries };
                let (bytes, events) = (total - from, events_from(history, next));
                found.push(UncommittedFile { path, remains, from, bytes, events });
            }
            for (n, slot) in history.slots.iter().enumerate() {
                let Ok(entry) = &slot.entry else { continue };
                let Some(path) = entry.text_path(id) else { continue };
                match n < next {
                    true => drop(stored.insert(path)),
                    false => drop(owners.insert(path, Some(EventKey::of(entry)))),
                }
            }
            // A faulty entry may own any file.
            if history.slots[..next].iter().any(|slot| slot.entry.is_err()) {
                return Ok(found);
            }
        }
    }
    let dir = id.history_dir();
    let names = vault.files().names(&dir).unwrap_or_default();
    let texts = names
        .iter()
        .filter(|name| layout::is_version_file(name))
        .map(|name| format!("{dir}/{name}"));
    let unowned = texts.filter(|path| !stored.contains(path));
    found.extend(unowned.filter_map(|path| {
        let events = owners.get(&path).cloned().into_iter().collect();
        Some(UncommittedFile { events, ..whole(vault.files(), path, UncommittedKind::Text)? })
    }));
    Ok(found)
}
