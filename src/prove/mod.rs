//! Recomputes the record (`verify`), attributes it and exports evidence of it (`evidence`), and
//! repairs it (`recover`).

pub mod evidence;
pub(crate) mod recover;
pub mod verify;
