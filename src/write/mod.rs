//! The transaction that writes, and what publishes.

pub mod commit;
pub mod publish;
