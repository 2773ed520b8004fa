//! Moving uncommitted out of the way, into a folder of their own. A whole file gets another name;
//! the end of one is copied there first, durable, and only then truncated.

use std::collections::BTreeSet;

use super::uncommitted::UncommittedFile;
use crate::files::vault::files::{FileError, Files};
use crate::files::vault::write::Written;
use crate::values::model::layout;

/// How much is copied at once.
const PIECE: usize = 8 << 20;
/// What is added to the name of a file of which only the end was taken.
const END: &str = ".end";

/// Keeps uncommitted, and takes them away from where they lie; gives the folder that holds them.
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
    // Without the intent record, which goes next, an end that came back would be unexplained.
    let cut = ends.iter().map(|file| Written::Longer(&file.path));
    files.sync(&names.chain(cut).collect::<Vec<_>>())?;
    // A folder of a history that never was.
    for file in uncommitted.iter().filter(|file| file.path.ends_with(layout::HISTORY)) {
        if let Some((folder, _)) = file.path.rsplit_once('/') {
            files.remove_empty_folder(folder);
        }
    }
    Ok(Some(folder))
}

/// A path without the dots before its names: no command takes what is kept for histories.
fn visible(path: &str) -> String {
    let names: Vec<&str> = path.split('/').map(|name| name.trim_start_matches('.')).collect();
    names.join("/")
}

/// The first number that is free.
fn next_folder(files: &Files) -> String {
    let taken: BTreeSet<String> =
        files.names(layout::RECOVERED).unwrap_or_default().into_iter().collect();
    let mut numbers = (1..).map(|n: u64| n.to_string());
    let free = numbers.find(|n| !taken.contains(n)).unwrap_or_default();
    format!("{}/{free}", layout::RECOVERED)
}

/// The first name beside a log that is free for one that is replaced.
pub(crate) fn free_beside(files: &Files, path: &str) -> String {
    let mut names = (1..).map(|n: u64| format!("{path}{}{n}", layout::REPLACED));
    names.find(|name| !files.exists(name)).unwrap_or_default()
}

/// Copies a log beside itself, durable; gives the name of the copy.
pub(crate) fn copy_beside(files: &Files, path: &str) -> Result<String, FileError> {
    let copy = free_beside(files, path);
    let bytes = files.stamp(path)?.length;
    copy_end(files, path, 0, bytes, &copy)?;
    files.sync(&[Written::New(&copy)])?;
    Ok(copy)
}

/// Copies so many bytes of a file from a position on, piece by piece.
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
