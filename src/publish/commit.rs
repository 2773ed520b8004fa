//! Writing an event: keyframes and histories, one sync, the checkpoint's line, its sync, and only
//! then the live files.
//!
//! The line in the checkpoint log is the commit: before it nobody serves what was written, after
//! it the event has happened. Whatever fails before it is taken back.

use rayon::prelude::*;

use super::artifact::{Item, Live};
use crate::checkpoint::log::Append;
use crate::document::id::Id;
use crate::vault::files::{FileError, Files, Replacement};

/// An event that is durable.
#[derive(Debug, Default)]
pub struct Committed {
    /// Live files that could not be brought up to date, and why; the event stands all the same.
    pub left_alone: Vec<(String, FileError)>,
}

/// Writes an event, if there is one, and brings live files up to date.
///
/// # Errors
/// A write or sync before the commit failed; everything was taken back as far as the disk let us.
pub(super) fn commit(
    files: &Files,
    items: &[Item],
    behind: &[(Id, Live)],
    append: Option<&Append>,
) -> Result<Committed, FileError> {
    let lives: Vec<(String, &Live)> = items
        .iter()
        .map(|item| (item.id.live_path(), &item.live))
        .chain(behind.iter().map(|(id, live)| (id.live_path(), live)))
        .collect();
    let Some(append) = append else {
        return Ok(bring_up_to_date(files, &lives));
    };
    let mut written: Vec<Written> =
        items.par_iter().map(|item| write_version(files, item)).collect();
    let outcome = match written.iter_mut().find_map(|w| w.failed.take()) {
        Some(failure) => Err(failure),
        None => sync_and_seal(files, items, append),
    };
    match outcome {
        Ok(()) => Ok(bring_up_to_date(files, &lives)),
        Err(failure) => {
            items.par_iter().zip(&written).for_each(|(item, w)| take_back(files, item, w));
            Err(failure)
        }
    }
}

/// How far the writing of one version came.
#[derive(Default)]
struct Written {
    keyframe: bool,
    history: bool,
    failed: Option<FileError>,
}

fn write_version(files: &Files, item: &Item) -> Written {
    let mut written = Written::default();
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

fn sync_and_seal(files: &Files, items: &[Item], append: &Append) -> Result<(), FileError> {
    let mut paths: Vec<&str> = Vec::with_capacity(items.len() * 2);
    for item in items {
        paths.push(&item.history.path);
        paths.extend(item.keyframe.iter().map(|(path, _)| path.as_str()));
    }
    files.sync(&paths)?;
    files.append(append.path, append.length, &append.bytes)?;
    let synced =
        if append.length == 0 { files.sync(&[append.path]) } else { files.sync_data(append.path) };
    if synced.is_err() {
        files.take_back(append.path, append.length, &append.bytes);
    }
    synced
}

fn take_back(files: &Files, item: &Item, written: &Written) {
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

/// Brings live files to what was published, each only if nobody wrote to it meanwhile.
fn bring_up_to_date(files: &Files, lives: &[(String, &Live)]) -> Committed {
    let mut replacements = Vec::new();
    let mut left_alone = Vec::new();
    let mut note = |path: &str, outcome: Result<(), FileError>| {
        if let Err(why) = outcome {
            left_alone.push((path.to_owned(), why));
        }
    };
    // New names come before old ones go: a moved document is never without a file.
    for (path, live) in lives {
        match live {
            Live::Create(bytes) => {
                let created = files.create_new(path, bytes).and_then(|()| files.sync(&[path]));
                note(path, created);
            }
            Live::Replace { old, new } => {
                replacements.push(Replacement { path, expected: old, bytes: new });
            }
            Live::Keep | Live::Remove(_) => {}
        }
    }
    let outcomes = files.replace_all(&replacements);
    for (replacement, outcome) in replacements.iter().zip(outcomes) {
        note(replacement.path, outcome);
    }
    for (path, live) in lives {
        if let Live::Remove(bytes) = live {
            note(path, files.remove(path, bytes));
        }
    }
    Committed { left_alone }
}
