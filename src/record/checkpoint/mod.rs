//! The vault-wide checkpoint log (paper, section 8; `spec/checkpoint.md`).
//!
//! [`log::Log`] reads either form of the log, [`chronicle::Chronicle`] is a log without faults, and
//! [`fault`] contains the possible faults. [`state::PublishedSet`] is the state at one checkpoint
//! and computes its hash, `maps` hashes many checkpoints at once, and [`rebuild`] derives a log
//! from histories. This module never reads live files.

pub mod chronicle;
pub(crate) mod codec;
pub mod event;
pub mod fault;
pub(crate) mod foreign;
pub mod log;
pub(crate) mod maps;
pub mod merge;
pub(crate) mod moved;
pub mod rebuild;
pub(crate) mod record;
pub(crate) mod sealed;
pub mod state;
