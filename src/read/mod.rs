//! Everything that is served, found and compared: the vault at a checkpoint (`snapshot`), its
//! indexes, and the live files (`working`).

pub(crate) mod derived;
pub(crate) mod graph;
pub(crate) mod index;
pub(crate) mod search;
pub mod snapshot;
pub(crate) mod source;
pub(crate) mod status;
pub mod working;
