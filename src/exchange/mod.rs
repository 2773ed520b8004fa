//! Conversion between the formats of a vault.

pub(crate) mod convert;
