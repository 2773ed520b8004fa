//! What the histories prove about a text beyond that it was published (`spec/evidence.md`,
//! `spec/audit.md`).
//!
//! `attribution` follows lines from version to version, `blame` does so over a verified history
//! and says who made the versions that they come from. `comparison` and `submission` are what a
//! reviewer reads. `replay` makes texts of accesses again, `staged` those that sources
//! returned,
//! `bundle` is a file that proves them without the vault, and
//! `publications` lists what was published in a period.

pub mod attribution;
pub(crate) mod blame;
pub mod bundle;
pub(crate) mod comparison;
pub(crate) mod publications;
pub(crate) mod replay;
pub(crate) mod staged;
pub(crate) mod submission;
