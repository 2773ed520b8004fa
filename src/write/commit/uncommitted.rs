//! Bytes of a writer that was interrupted before its commit: the parts of histories and their
//! folders that the log does not seal, the torn end of the log, and temporary files.

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
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::log::Log;
use crate::record::checkpoint::sealed::sealed_text;
use crate::record::trusted_head::EventKey;
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::number::Version;

words! {
    /// The kind of bytes that a writer left.
    pub enum UncommittedKind {
        /// A file under a temporary name.
        Temporary = "temporary file",
        /// A full text or a diff without an entry in a history.
        Text = "text without an entry",
        /// A history without a sealed version.
        History = "unsealed history",
        /// Entries at the end of a history, whole or torn.
        Entries = "unsealed entries",
        /// The end of the log after its last whole entry.
        Log = "bytes after the last checkpoint",
        /// The log in the form from which it was converted.
        Duplicate = "duplicate log",
    }
}

impl UncommittedKind {
    /// Returns true if the bytes may also be a record that was truncated.
    ///
    /// Only the intent record of the writer distinguishes the two.
    fn is_of_the_record(self) -> bool {
        !matches!(self, Self::Temporary | Self::Duplicate)
    }
}

/// A file, or the end of one, that a writer left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncommittedFile {
    /// Path of the file in the vault.
    pub path: String,
    /// The kind of bytes.
    pub remains: UncommittedKind,
    /// Offset of the first byte; 0 for a whole file.
    pub from: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// The events that recorded the entries in it, or the entry of a text; `None` for an entry that
    /// cannot be read.
    pub events: Vec<Option<EventKey>>,
}

impl UncommittedFile {
    /// Returns true if an interrupted writer of this event left it.
    ///
    /// `interrupted` is `None` if no writer was interrupted here. Temporary files and duplicate
    /// logs may always be moved.
    pub fn is_of(&self, interrupted: Option<&EventKey>) -> bool {
        let is_of_it = |event| are_of(event, &self.events);
        !self.remains.is_of_the_record() || interrupted.is_some_and(is_of_it)
    }
}

/// The reason for which the folder of an artifact is not cleaned up.
#[derive(Debug, thiserror::Error)]
pub enum Uncleared {
    /// The sealed part of the history is broken.
    #[error(transparent)]
    Broken(#[from] ChainError),
    /// The end of the history cannot be truncated.
    #[error(transparent)]
    Spelled(#[from] AppendError),
}

/// The sealed versions of some artifacts.
pub(super) struct SealedVersions<'i> {
    beyond: Beyond,
    /// The last version that any checkpoint seals.
    last: BTreeMap<&'i DocumentId, Version>,
    /// The artifacts that are published at the head.
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

/// Returns the events that recorded the entries of a history from `next` on; `None` for an entry
/// that cannot be read.
pub(crate) fn events_from(history: &History, next: usize) -> Vec<Option<EventKey>> {
    let beyond = history.slots.iter().skip(next);
    beyond.map(|slot| slot.entry.as_ref().ok().map(EventKey::of)).collect()
}

/// Returns true if all of these are one event.
pub(crate) fn are_of(event: &EventKey, events: &[Option<EventKey>]) -> bool {
    events.iter().all(|found| found.as_ref() == Some(event))
}

/// Returns every artifact that the log or a folder of histories names.
pub(super) fn everything(vault: &Vault, chronicle: &Chronicle<'_>) -> BTreeSet<DocumentId> {
    let recorded = chronicle.checkpoints().iter().flat_map(|c| c.set.iter().map(|(id, _)| id));
    let mut ids: BTreeSet<DocumentId> = recorded.cloned().collect();
    ids.extend(
        vault.history_folders().iter().filter_map(|dir| DocumentId::of_history_dir(dir).ok()),
    );
    ids
}

/// Returns every artifact that a log seals, even if the log is broken, with its versions in order.
pub(crate) fn recorded(log: &Log) -> BTreeMap<DocumentId, Vec<Version>> {
    let mut ids: BTreeMap<DocumentId, Vec<Version>> = BTreeMap::new();
    for (id, _, mark) in log.entries.iter().flatten().flat_map(Checkpoint::changes) {
        if let Some(mark) = mark {
            ids.entry(id.clone()).or_default().extend(mark.version);
        }
    }
    for versions in ids.values_mut() {
        versions.sort_unstable();
        versions.dedup();
    }
    ids
}

/// Returns the bytes outside of histories: the torn end of the log, the log in another form, and
/// temporary files.
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
        // Both logs have the same content. A log that ctx began has full maps only if a
        // configuration sets that form.
        let by_default =
            if chronicle.is_begun_by_ctx() { LogForm::Delta } else { chronicle.form() };
        let wanted = sealed_form(vault, chronicle).ok().flatten().unwrap_or(by_default);
        let path = if wanted == duplicate { chronicle.path() } else { path_of(duplicate) };
        found.extend(whole(vault.files(), path.to_owned(), UncommittedKind::Duplicate));
    }
    found
}

/// Returns the form of the log in the configuration that the head seals.
///
/// # Errors
/// The state of the head cannot be read.
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

/// Returns the bytes after the sealed versions of one artifact.
///
/// # Errors
/// The sealed part cannot be determined.
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
                // A list that is not in block form does not have an end that could be truncated.
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
