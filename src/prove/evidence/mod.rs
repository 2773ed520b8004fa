//! Facts that the histories prove about a text beyond its publication (`spec/evidence.md`,
//! `spec/audit.md`).
//!
//! `attribution` follows lines from version to version, and `blame` does so over a verified history
//! and names the makers of the versions. `comparison` and `submission` prepare what a reviewer
//! reads. `replay` reproduces the texts of accesses, and `staged` those that sources returned.
//! `bundle` proves accesses in one file, without the vault. `publications` lists what was published
//! in a period.

pub mod attribution;
pub(crate) mod blame;
pub mod bundle;
pub(crate) mod comparison;
pub(crate) mod publications;
pub(crate) mod replay;
pub(crate) mod staged;
pub(crate) mod submission;
