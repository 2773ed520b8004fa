//! Hash-chained version histories (paper, section 7; `spec/history.md`).
//!
//! [`preimage`] states the bytes that are hashed, [`diff`] prints and applies diffs, [`form`]
//! decides between diff and full text, [`history`] stores the record, and [`replay`] rebuilds the
//! text of a version and recomputes every hash on the way. Other modules decide which versions
//! are eligible.

pub(crate) mod aside;
pub(crate) mod described;
pub mod diff;
pub mod error;
pub mod form;
pub mod history;
pub mod preimage;
pub mod replay;
pub mod vouched;
pub(crate) mod walk;
