//! Conversion between the formats of a vault, and merging of its branches.

pub(crate) mod convert;
pub(crate) mod merge;
