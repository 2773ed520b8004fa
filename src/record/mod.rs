//! What is recorded: histories, checkpoints, the logs of writers, and the head that a user trusts.

pub mod audit;
pub mod chain;
pub mod checkpoint;
pub(crate) mod journal;
pub mod staging;
pub(crate) mod torn_tail;
pub mod trusted_head;
