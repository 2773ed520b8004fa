//! The two pre-images of the specification, each stated once (`spec/history.md`, section 3 and
//! `spec/checkpoint.md`, section 2).
//!
//! Fields are joined by `:`. The join is unambiguous only because the outer fields have one fixed
//! form: digests are `sha256:` and 64 digits, numbers are decimal without leading zero, and
//! timestamps have a fixed length and end in `Z`. The fields between them (`edited_by`,
//! `triggered_by`) may contain a `:` and are still delimited on both sides.

use crate::values::model::digest::{Digest, Hasher, Sink as _};
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// Placeholder for the previous hash in the first entry of a chain.
pub const GENESIS: &str = "contextnest:genesis:v1";

/// Returns the chain hash of one version (paper, equation 1).
///
/// The pre-image is `prev:content_hash:version:edited_by:edited_at`, raw values in UTF-8.
pub fn chain_hash(
    previous: Option<&Digest>,
    content: &Digest,
    version: Version,
    edited_by: &str,
    edited_at: Timestamp,
) -> Digest {
    let mut text = Vec::with_capacity(256);
    match previous {
        Some(previous) => previous.write_to(&mut text),
        None => text.put(GENESIS.as_bytes()),
    }
    text.put(b":");
    content.write_to(&mut text);
    text.put(format!(":{version}:{edited_by}:{edited_at}").as_bytes());
    Digest::of(&text)
}

/// Returns the hash of one checkpoint (paper, equation 2).
///
/// The pre-image is `prev:checkpoint:at:triggered_by:V:H`, where V and H are the RFC 8785 forms
/// of the complete maps from id to version and from id to chain hash. The two functions write
/// the maps.
pub fn checkpoint_hash(
    previous: Option<&Digest>,
    checkpoint: CheckpointNumber,
    at: Timestamp,
    triggered_by: &str,
    versions: impl FnOnce(&mut Hasher),
    chain_hashes: impl FnOnce(&mut Hasher),
) -> Digest {
    let previous = previous.map_or_else(|| GENESIS.to_owned(), Digest::to_string);
    let head = format!("{previous}:{checkpoint}:{at}:{triggered_by}:");
    Digest::of_written(|out| {
        out.put(head.as_bytes());
        versions(out);
        out.put(b":");
        chain_hashes(out);
    })
}
