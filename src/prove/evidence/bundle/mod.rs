//! A bundle of evidence: accesses, the texts that they handed out, and what proves both, in one file
//! that is verified without the vault (`spec/evidence.md`, sections 3 to 5).
//!
//! `export` makes one, [`verify`] reads one. What both know is in `manifest`, `segment`, `staged` and `tar`;
//! each hash is computed where the vault's own hashes are: `audit`, `chain` and `checkpoint`.
//! Nothing of a bundle is written to the disk, and no name in it is followed.

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

/// No bundle is larger: it is read into memory.
pub(crate) const MAX_BUNDLE: u64 = 512 << 20;
/// No manifest is larger: a reader holds it as values, which take many times its bytes.
pub(crate) const MAX_MANIFEST: usize = 32 << 20;
/// A bundle has no more files.
pub(crate) const MAX_FILES: usize = 100_000;
