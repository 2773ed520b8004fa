//! The file of a payload, named by the digest of its bytes (STAGE-5).

use crate::model::digest::Digest;
use crate::model::layout::{STAGING_OBJECTS, limit};
use crate::vault::files::{FileError, Files};
use crate::vault::write::Written;

/// What is found under the name of a payload.
#[derive(Debug)]
pub(crate) enum FoundPayload {
    /// The bytes that were received.
    Whole(Vec<u8>),
    /// Other bytes, with this digest.
    Altered(Digest),
    /// Nothing.
    Missing,
    /// Something that cannot be read.
    Unreadable(FileError),
}

/// A payload as text; none where it is not UTF-8 or holds NUL, which no document may (STAGE-15).
pub(crate) fn text(payload: &[u8]) -> Option<&str> {
    std::str::from_utf8(payload).ok().filter(|_| !payload.contains(&0))
}

/// Where a payload is.
pub(crate) fn path_of(raw: Digest) -> String {
    let hex = raw.hex();
    format!("{STAGING_OBJECTS}/{}/{}", &hex[..2], &hex[2..])
}

/// Reads a payload, and compares it with its name.
pub(crate) fn read(files: &Files, raw: Digest) -> FoundPayload {
    match files.read_optional(&path_of(raw), limit::STAGED) {
        Ok(None) => FoundPayload::Missing,
        Ok(Some(bytes)) => match Digest::of(&bytes) {
            found if found == raw => FoundPayload::Whole(bytes),
            found => FoundPayload::Altered(found),
        },
        Err(why) => FoundPayload::Unreadable(why),
    }
}

/// Keeps a payload, durable. Bytes that another program put in its place go away: the entry that is
/// about to name it would otherwise vouch for them.
pub(super) fn keep(files: &Files, raw: Digest, bytes: &[u8]) -> Result<(), FileError> {
    let path = path_of(raw);
    match files.read_optional(&path, limit::STAGED)? {
        // An interrupted command may have left it without a sync.
        Some(found) if found == bytes => files.sync(&[Written::New(&path)]),
        Some(found) => files.replace(&path, &found, bytes),
        None => files.create_durable(&path, bytes),
    }
}

/// Removes payloads that no live entry names, durable; gives how many were there.
pub(crate) fn remove(files: &Files, all: &[Digest]) -> Result<usize, FileError> {
    let mut gone = Vec::new();
    let mut failed = None;
    for path in all.iter().copied().map(path_of) {
        let removed = match files.stamp(&path) {
            Err(why) if why.is_absent() => continue,
            Err(why) => Err(why),
            Ok(stamp) => files.remove_of_length(&path, stamp.length),
        };
        match removed {
            Ok(()) => gone.push(path),
            // The others can go.
            Err(why) => failed = failed.or(Some(why)),
        }
    }
    let written: Vec<Written<'_>> = gone.iter().map(|path| Written::Named(path)).collect();
    files.sync(&written)?;
    for path in &gone {
        if let Some((folder, _)) = path.rsplit_once('/') {
            files.remove_empty_folder(folder);
        }
    }
    failed.map_or(Ok(gone.len()), Err)
}

/// The digests of all payloads that are there.
pub(crate) fn all(files: &Files) -> Result<Vec<Digest>, FileError> {
    let names = |folder: &str| match files.names(folder) {
        Err(why) if why.is_absent() => Ok(Vec::new()),
        names => names,
    };
    let mut found = Vec::new();
    for folder in names(STAGING_OBJECTS)? {
        let path = format!("{STAGING_OBJECTS}/{folder}");
        if folder.len() != 2 || files.is_file(&path) {
            continue;
        }
        let digests = names(&path)?.into_iter();
        let digest = |name: String| format!("sha256:{folder}{name}").parse::<Digest>().ok();
        found.extend(digests.filter_map(digest));
    }
    found.sort_unstable();
    Ok(found)
}
