//! Returns the lines of a chain byte for byte as its file has them.

use std::collections::BTreeSet;

use super::chain::{Chain, MAX_CHAIN, path_of};
use super::line::StagedLine;
use crate::files::vault::files::{FileError, Files};
use crate::values::model::digest::Digest;

/// Returns the lines of a chain that have these hashes: their bytes without line ends, and the
/// parsed lines. Of equal lines only the first is returned.
pub(crate) fn raw_lines(
    files: &Files,
    chain: &Chain,
    mut wanted: BTreeSet<Digest>,
) -> Result<Vec<(Vec<u8>, StagedLine)>, FileError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let path = path_of(&chain.source, &chain.writer);
    let bytes = files.read_optional(&path, MAX_CHAIN)?.unwrap_or_default();
    let mut found = Vec::new();
    for text in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = StagedLine::read(text, &chain.source) else { continue };
        if line.hash.is_some_and(|hash| wanted.remove(&hash)) {
            found.push((text.to_vec(), line));
        }
        if wanted.is_empty() {
            break;
        }
    }
    Ok(found)
}
