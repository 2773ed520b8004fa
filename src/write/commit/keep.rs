//! Moves uncommitted files out of the way, into a folder of their own. A whole file is renamed; the
//! end of a file is first copied there and synced, and only then truncated.

use std::collections::BTreeSet;

use super::uncommitted::UncommittedFile;
use crate::files::vault::files::{FileError, Files};
use crate::files::vault::write::Written;
use crate::values::model::layout;

/// Number of bytes that are copied at once.
const PIECE: usize = 8 << 20;
/// Suffix of the name of a copy that contains only the end of a file.
const END: &str = ".end";

/// Moves uncommitted bytes out of the way; returns the folder that contains them.
pub(super) fn keep(
    files: &Files,
    uncommitted: &[UncommittedFile],
) -> Result<Option<String>, FileError> {
    if uncommitted.is_empty() {
        return Ok(None);
    }
    let folder = next_folder(files);
    let mut kept: BTreeSet<String> = BTreeSet::new();
    let (ends, whole): (Vec<&UncommittedFile>, Vec<&UncommittedFile>) =
        uncommitted.iter().partition(|file| file.from > 0);
    let mut name = |file: &UncommittedFile, end: &str| {
        let mut copy = format!("{folder}/{}{end}", visible(&file.path));
        while !kept.insert(copy.clone()) {
            copy.push('~');
        }
        copy
    };
    let copies: Vec<String> = ends.iter().map(|file| name(file, END)).collect();
    for (file, copy) in ends.iter().zip(&copies) {
        copy_end(files, &file.path, file.from, file.bytes, copy)?;
    }
    let written: Vec<Written<'_>> = copies.iter().map(|copy| Written::New(copy)).collect();
    files.sync(&written)?;
    for file in &ends {
        files.cut(&file.path, file.from + file.bytes, file.from)?;
    }
    let moved: Vec<String> = whole.iter().map(|file| name(file, "")).collect();
    for (file, new) in whole.iter().zip(&moved) {
        files.move_new(&file.path, new)?;
    }
    let old = whole.iter().map(|file| file.path.as_str());
    let names = moved.iter().map(String::as_str).chain(old).map(Written::Named);
    // The intent record is removed next. Without it, an end that reappeared would be unexplained.
    let cut = ends.iter().map(|file| Written::Longer(&file.path));
    files.sync(&names.chain(cut).collect::<Vec<_>>())?;
    // Removes the folder of a history without committed entries.
    for file in uncommitted.iter().filter(|file| file.path.ends_with(layout::HISTORY)) {
        if let Some((folder, _)) = file.path.rsplit_once('/') {
            files.remove_empty_folder(folder);
        }
    }
    Ok(Some(folder))
}

/// Returns a path without dots before its names, so that no command takes a kept file for
/// a history.
fn visible(path: &str) -> String {
    let names: Vec<&str> = path.split('/').map(|name| name.trim_start_matches('.')).collect();
    names.join("/")
}

/// Returns the path of a new folder, with the first number that is free.
fn next_folder(files: &Files) -> String {
    let taken: BTreeSet<String> =
        files.names(layout::RECOVERED).unwrap_or_default().into_iter().collect();
    let mut numbers = (1..).map(|n: u64| n.to_string());
    let free = numbers.find(|n| !taken.contains(n)).unwrap_or_default();
    format!("{}/{free}", layout::RECOVERED)
}

/// Returns the first free name next to a log for a replaced copy of it.
pub(crate) fn free_beside(files: &Files, path: &str) -> String {
    let mut names = (1..).map(|n: u64| format!("{path}{}{n}", layout::REPLACED));
    names.find(|name| !files.exists(name)).unwrap_or_default()
}

/// Copies a log to a name next to it and syncs it; returns the name of the copy.
pub(crate) fn copy_beside(files: &Files, path: &str) -> Result<String, FileError> {
    let copy = free_beside(files, path);
    let bytes = files.stamp(path)?.length;
    copy_end(files, path, 0, bytes, &copy)?;
    files.sync(&[Written::New(&copy)])?;
    Ok(copy)
}

/// Copies a number of bytes of a file from a position on, piece by piece.
fn copy_end(files: &Files, path: &str, from: u64, bytes: u64, copy: &str) -> Result<(), FileError> {
    let mut copied: u64 = 0;
    loop {
        let rest = bytes - copied;
        let length = usize::try_from(rest).map_or(PIECE, |rest| rest.min(PIECE));
        let piece = files.read_at(path, from + copied, length)?;
        match copied {
            0 => files.create_new(copy, &piece)?,
            _ => files.append(copy, copied, &piece)?,
        }
        copied += length as u64;
        if copied == bytes {
            return Ok(());
        }
    }
}
