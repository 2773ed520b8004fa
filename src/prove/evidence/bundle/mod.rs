//! A bundle of evidence: accesses, the texts that they handed out, and the proofs of both, in one
//! file that can be verified without the vault (`spec/evidence.md`, sections 3 and 4).
//!
//! `export` makes a bundle, [`verify`] checks one. Both use the formats in `manifest`, `segment`,
//! `staged` and `tar`. Hashes are computed by `audit`, `chain` and `checkpoint`, as for the vault
//! itself. No file of a bundle is written to disk, and no name in it is followed.

pub(crate) mod export;
mod judged;
pub(crate) mod manifest;
pub(crate) mod page;
mod pieces;
mod proofs;
mod sealed;
mod segment;
mod staged;
mod tar;
pub mod verify;

/// Maximum size of a bundle in bytes. A bundle is read into memory.
pub(crate) const MAX_BUNDLE: u64 = 512 << 20;
/// Maximum size of a manifest in bytes. Its parsed values take many times its size.
pub(crate) const MAX_MANIFEST: usize = 32 << 20;
/// Maximum number of files in a bundle.
pub(crate) const MAX_FILES: usize = 100_000;
