//! What is served, found and compared: the vault at a checkpoint, its indexes, and the live files.

pub(crate) mod derived;
pub(crate) mod graph;
pub(crate) mod index;
pub mod live;
pub mod resolve;
pub(crate) mod search;
pub(crate) mod source;
pub(crate) mod status;
