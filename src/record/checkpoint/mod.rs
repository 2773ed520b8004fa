//! The vault-wide checkpoint log (paper, section 8; `spec/checkpoint.md`).
//!
//! [`log::Log`] reads either form of the log, [`chronicle::Chronicle`] is one without fault, and
//! what may be wrong is in [`fault`]. [`state::PublishedSet`] is what is published at one checkpoint and
//! how that is hashed, `maps` hashes many checkpoints at once, [`rebuild`] makes a log from
//! histories. Live files are never read here.

pub mod chronicle;
pub(crate) mod codec;
pub mod event;
pub mod fault;
pub(crate) mod foreign;
pub mod log;
pub(crate) mod maps;
pub(crate) mod moved;
pub mod rebuild;
pub(crate) mod record;
pub(crate) mod sealed;
pub mod state;
