//! What the histories prove about a text beyond that it was published (`spec/evidence.md`,
//! `spec/audit.md`).
//!
//! `attribution` follows lines from version to version, `blame` does so over a verified history
//! and says who made the versions that they come from. `replay` makes texts of accesses again.

pub mod attribution;
pub(crate) mod blame;
pub(crate) mod replay;
