//! The file of a payload, named by the digest of its bytes (STAGE-5).

use rayon::prelude::*;

use crate::files::vault::files::{FileError, Files};
use crate::files::vault::write::Written;
use crate::values::model::digest::Digest;
use crate::values::model::layout::{STAGING_OBJECTS, limit};

/// Maximum number of payloads that are removed one after another.
const FEW: usize = 16;

/// Result of reading a payload.
#[derive(Debug)]
pub(crate) enum FoundPayload {
    /// The bytes that were received.
    Whole(Vec<u8>),
    /// Other bytes, with this digest.
    Altered(Digest),
    /// The file is missing.
    Missing,
    /// The file cannot be read.
    Unreadable(FileError),
}

/// Returns a payload as text; `None` if it is not UTF-8 or contains NUL, which documents cannot
/// contain (STAGE-15).
pub(crate) fn text(payload: &[u8]) -> Option<&str> {
    std::str::from_utf8(payload).ok().filter(|_| !payload.contains(&0))
}

/// Returns the path of a payload.
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

/// Writes and syncs a payload. Other bytes in its place are replaced, because the new entry would
/// otherwise vouch for them. After an interrupted command (`is_after_one`) the names of existing
/// folders may not be durable.
pub(super) fn keep(
    files: &Files,
    (raw, bytes): (Digest, &[u8]),
    is_after_one: bool,
) -> Result<(), FileError> {
    let path = path_of(raw);
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let written = match !is_after_one && files.is_folder(folder) {
        true => Written::NewIn(&path),
        false => Written::New(&path),
    };
    match files.read_optional(&path, limit::STAGED)? {
        // An interrupted command may have written it without a sync.
        Some(found) if found == bytes => files.sync(&[Written::New(&path)]),
        Some(found) => files.replace(&path, &found, bytes),
        // Bytes and name become durable together: no line names the payload before that.
        None => files.create_new(&path, bytes).and_then(|()| files.sync(&[written])),
    }
}

/// Removes payloads that no live entry names, syncs the folders, and returns how many existed.
pub(crate) fn remove(files: &Files, all: &[Digest]) -> Result<usize, FileError> {
    let one = |raw: &Digest| {
        let path = path_of(*raw);
        match files.stamp(&path) {
            Err(why) if why.is_absent() => Ok(None),
            Err(why) => Err(why),
            Ok(stamp) => files.remove_of_length(&path, stamp.length).map(|()| Some(path)),
        }
    };
    // A disk may be slow for each file; parallel removals share the time.
    let removed: Vec<_> = match all.len() {
        ..=FEW => all.iter().map(one).collect(),
        _ => all.par_iter().map(one).collect(),
    };
    let (mut gone, mut failed) = (Vec::new(), None);
    for one in removed {
        match one {
            Ok(path) => gone.extend(path),
            // The other payloads can still be removed.
            Err(why) => failed = failed.or(Some(why)),
        }
    }
    let written: Vec<Written<'_>> = gone.iter().map(|path| Written::Named(path)).collect();
    files.sync(&written)?;
    let mut folders: Vec<&str> =
        gone.iter().filter_map(|path| Some(path.rsplit_once('/')?.0)).collect();
    folders.sort_unstable();
    folders.dedup();
    folders.into_iter().for_each(|folder| files.remove_empty_folder(folder));
    failed.map_or(Ok(gone.len()), Err)
}

/// Returns the digests of all existing payloads.
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
