//! The vault-wide checkpoint log (paper, section 8; `spec/checkpoint.md`).
//!
//! [`log::Log`] reads either form of the log, [`state::State`] is what is published at one
//! checkpoint and how that is hashed, `maps` hashes many checkpoints at once, [`rebuild`] makes a log from histories. Live files are never read here.

mod delta;
mod full;
mod lines;
pub mod log;
pub(crate) mod maps;
pub mod rebuild;
pub mod state;
