//! Hash-chained version histories (paper, section 7; `spec/history.md`).
//!
//! [`preimage`] says what is hashed, [`diff`] how a version becomes the next one, [`form`] whether
//! it is stored as a diff or in full, [`history`] how the record is stored, [`replay`] how the text
//! of version n is restored with every hash on the way recomputed. What is eligible is not decided
//! here.

pub(crate) mod described;
pub mod diff;
pub mod error;
pub mod form;
pub mod history;
pub mod preimage;
pub mod replay;
pub mod vouched;
pub(crate) mod walk;
