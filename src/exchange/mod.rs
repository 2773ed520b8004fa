//! Other formats of a vault.

pub(crate) mod convert;
