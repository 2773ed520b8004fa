//! What recomputes the record, attributes it, exports evidence of it and repairs it.

pub mod evidence;
pub(crate) mod recover;
pub mod verify;
