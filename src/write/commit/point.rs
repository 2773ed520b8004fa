//! Writing of an event: the hint for the next writer, keyframes and histories, and live files under
//! temporary names; one sync of all of them; the checkpoint's line and its sync; and only then the
//! names of the live files.
//!
//! The line in the checkpoint log is the commit: before it no reader serves what was written, after
//! it the event has happened. If anything fails before it, everything is taken back.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::hint;
use super::item::{Item, Live};
use crate::files::vault::Vault;
use crate::files::vault::files::{FileError, Files};
use crate::files::vault::progress::Phase;
use crate::files::vault::replace::{Prepared, Replacement};
use crate::files::vault::write::Written;
use crate::record::checkpoint::chronicle::Append;
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::timestamp::Timestamp;

/// An event that is durable.
#[derive(Debug, Default)]
pub struct Committed {
    /// Live files that could not be brought up to date, with the reason; the event is committed.
    pub left_alone: Vec<(String, FileError)>,
    /// The failures of the after-commit steps.
    pub after: Vec<StepFailure>,
}

words! {
    /// The name of an after-commit step.
    pub enum AfterCommit {
        /// Writes the line in the change log.
        ChangeLog = "change-log",
        /// Advances the trusted head.
        TrustedHead = "trusted-head",
        /// Updates the index.
        Index = "index",
        /// Writes the derived files.
        Derived = "derived",
    }
}

/// The failure of an after-commit step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFailure {
    /// The name of the step.
    pub step: AfterCommit,
    /// Path of the file in the vault that could not be written, if any.
    pub path: Option<String>,
    /// The reason, for people.
    pub why: String,
}

/// Writes an event, if there is one, and brings live files up to date.
///
/// # Errors
/// A write or sync before the commit failed; everything was taken back as far as possible.
pub(crate) fn commit(
    vault: &Vault,
    items: &[Item],
    behind: &[(DocumentId, Live)],
    event: Option<(&Append, Timestamp)>,
) -> Result<Committed, FileError> {
    let (files, progress) = (vault.files(), vault.progress());
    let lives = lives(items, behind);
    let Some((append, at)) = event else {
        let left_alone = bring_up_to_date(files, &lives)?;
        return Ok(Committed { left_alone, ..Committed::default() });
    };
    let replacements = replacements(&lives);
    // Live files are first written under temporary names, so that one sync covers them and
    // the versions.
    let prepared = files.prepare_all(&replacements);
    progress.begin(Phase::Writing, items.len());
    write_event(vault, items, &prepared, Some(append), at)?;
    progress.begin(Phase::Placing, replacements.len());
    let left_alone = put_in_place(files, &lives, &replacements, prepared);
    Ok(Committed { left_alone, ..Committed::default() })
}

/// Writes the versions of a step, which are committed without a checkpoint.
///
/// A step is committed when all of its versions are durable (REV-10).
///
/// # Errors
/// A write or sync failed; everything was taken back as far as possible.
pub(crate) fn commit_step(
    vault: &Vault,
    items: &[Item],
    at: Timestamp,
) -> Result<Committed, FileError> {
    let lives = lives(items, &[]);
    let replacements = replacements(&lives);
    let prepared = vault.files().prepare_all(&replacements);
    write_event(vault, items, &prepared, None, at)?;
    let left_alone = put_in_place(vault.files(), &lives, &replacements, prepared);
    vault.files().sync(&names_of(&lives))?;
    Ok(Committed { left_alone, ..Committed::default() })
}

/// Writes the published text to live files that no other process changed; returns the other files.
///
/// # Errors
/// The new bytes could not be made durable; no file was changed.
pub(crate) fn bring_up_to_date(
    files: &Files,
    lives: &[(String, &Live)],
) -> Result<Vec<(String, FileError)>, FileError> {
    let replacements = replacements(lives);
    let prepared = files.prepare_all(&replacements);
    files.sync(&prepared.written())?;
    Ok(put_in_place(files, lives, &replacements, prepared))
}

fn replacements<'l>(lives: &'l [(String, &Live)]) -> Vec<Replacement<'l>> {
    let replacement = |(path, live): &'l (String, &Live)| match live {
        Live::Replace { old, new } => {
            Some(Replacement { path, expected: Some(*old), bytes: new.as_bytes() })
        }
        Live::Create(new) => Some(Replacement { path, expected: None, bytes: new }),
        Live::Keep | Live::Remove(_) => None,
    };
    lives.iter().filter_map(replacement).collect()
}

/// Returns the live files of an event, and those that a former event left behind.
pub(crate) fn lives<'l>(
    items: &'l [Item],
    behind: &'l [(DocumentId, Live)],
) -> Vec<(String, &'l Live)> {
    let items = items.iter().map(|item| (item.id.live_path(), &item.live));
    items.chain(behind.iter().map(|(id, live)| (id.live_path(), live))).collect()
}

/// Writes everything up to the commit, or takes it back.
fn write_event(
    vault: &Vault,
    items: &[Item],
    prepared: &Prepared<'_>,
    append: Option<&Append>,
    at: Timestamp,
) -> Result<(), FileError> {
    let files = vault.files();
    hint::write(files, at, items.iter().map(|item| &item.id))?;
    // Done for all files at once, because each copy waits for the disk.
    let histories = items.iter().map(|item| item.history.path.as_str());
    files.unshare(histories.clone().chain(append.map(|append| append.path)))?;
    let folders = histories.filter_map(versions_folder);
    let attributes = write_attributes(files, folders.chain(append.map(|_| layout::VERSIONS)));
    let write = |item| {
        let written = write_version(files, item);
        vault.progress().step();
        written
    };
    let mut written: Vec<WrittenVersion> = items.par_iter().map(write).collect();
    let outcome = match written.iter_mut().find_map(|version| version.failed.take()) {
        Some(failure) => Err(failure),
        None => sync_and_seal(files, items, (prepared, &attributes), append),
    };
    if outcome.is_err() {
        let text = layout::HISTORY_ATTRIBUTES.as_bytes();
        attributes.iter().for_each(|path| files.take_back(path, 0, text));
        items.par_iter().zip(&written).for_each(|(item, w)| take_back(files, item, w));
    }
    outcome
}

/// Returns the `.versions` folder that contains the folder of a history.
fn versions_folder(history: &str) -> Option<&str> {
    let (folder, _) = history.rsplit_once('/')?;
    Some(folder.rsplit_once('/')?.0)
}

/// Creates the missing `.gitattributes` of `.versions` folders (VAULT-63), and returns their paths.
///
/// An event does not fail if one cannot be created: no reader of the vault needs it.
fn write_attributes<'f>(files: &Files, folders: impl Iterator<Item = &'f str>) -> Vec<String> {
    let text = layout::HISTORY_ATTRIBUTES.as_bytes();
    let folders: BTreeSet<&str> = folders.collect();
    let paths = folders.into_iter().map(|folder| format!("{folder}/{}", layout::GITATTRIBUTES));
    let missing = paths.filter(|path| !files.exists(path));
    missing.filter(|path| files.create_new(path, text).is_ok()).collect()
}

/// The parts of one version that were written.
#[derive(Default)]
struct WrittenVersion {
    keyframe: bool,
    history: bool,
    failed: Option<FileError>,
}

fn write_version(files: &Files, item: &Item) -> WrittenVersion {
    let mut written = WrittenVersion::default();
    let mut write = || -> Result<(), FileError> {
        if let Some((path, text)) = &item.keyframe {
            files.create_new(path, text.as_bytes())?;
            written.keyframe = true;
        }
        let (path, bytes) = (&item.history.path, item.history.bytes.as_bytes());
        if item.history.length == 0 {
            files.create_new(path, bytes)?;
        } else {
            files.append(path, item.history.length, bytes)?;
        }
        written.history = true;
        Ok(())
    };
    written.failed = write().err();
    written
}

fn sync_and_seal(
    files: &Files,
    items: &[Item],
    (prepared, attributes): (&Prepared<'_>, &[String]),
    append: Option<&Append>,
) -> Result<(), FileError> {
    let state = |path, length| match length {
        0 => Written::New(path),
        _ => Written::Longer(path),
    };
    let mut written = prepared.written();
    // The hint must outlive the commit, because live files are written after it.
    written.push(Written::New(layout::HINT));
    written.extend(attributes.iter().map(|path| Written::New(path)));
    for item in items {
        written.push(state(&item.history.path, item.history.length));
        written.extend(item.keyframe.iter().map(|(path, _)| Written::New(path)));
    }
    files.sync(&written)?;
    let Some(append) = append else { return Ok(()) };
    files.append(append.path, append.length, &append.bytes)?;
    let synced = files.sync(&[state(append.path, append.length)]);
    if synced.is_err() {
        files.take_back(append.path, append.length, &append.bytes);
    }
    synced
}

/// Returns true if the histories, keyframes and log contain nothing of a failed event.
pub(crate) fn is_taken_back(files: &Files, items: &[Item], append: Option<&Append>) -> bool {
    let has_length = |path: &str, length| match files.stamp(path) {
        Ok(stamp) => length > 0 && stamp.length == length,
        Err(_) => length == 0 && !files.exists(path),
    };
    let is_gone = |item: &Item| {
        let keyframe = item.keyframe.as_ref();
        has_length(&item.history.path, item.history.length)
            && keyframe.is_none_or(|(path, _)| !files.exists(path))
    };
    append.is_none_or(|append| has_length(append.path, append.length))
        && items.par_iter().all(is_gone)
}

fn take_back(files: &Files, item: &Item, written: &WrittenVersion) {
    if written.history {
        files.take_back(&item.history.path, item.history.length, item.history.bytes.as_bytes());
    }
    if let (true, Some((path, text))) = (written.keyframe, &item.keyframe) {
        files.take_back(path, 0, text.as_bytes());
    }
    if item.history.length == 0 {
        files.remove_empty_folder(&item.id.history_dir());
    }
}

/// Returns the names of the live files that an event changed.
///
/// These must be durable before the caller returns.
pub(crate) fn names_of<'l>(lives: &'l [(String, &Live)]) -> Vec<Written<'l>> {
    let is_touched = |(_, live): &&(String, &Live)| !matches!(live, Live::Keep);
    lives.iter().filter(is_touched).map(|(path, _)| Written::Named(path)).collect()
}

/// Renames the prepared live files, each only if no other process wrote to it; returns the others.
fn put_in_place(
    files: &Files,
    lives: &[(String, &Live)],
    replacements: &[Replacement<'_>],
    prepared: Prepared<'_>,
) -> Vec<(String, FileError)> {
    let mut left_alone = Vec::new();
    let mut note = |path: &str, outcome: Result<(), FileError>| {
        if let Err(why) = outcome {
            left_alone.push((path.to_owned(), why));
        }
    };
    // New names are created before old ones are removed, so that a moved document always has
    // a file.
    for (replacement, outcome) in replacements.iter().zip(prepared.commit()) {
        note(replacement.path, outcome);
    }
    for (path, live) in lives {
        if let Live::Remove(bytes) = live {
            note(path, files.remove(path, bytes));
        }
    }
    left_alone
}
