//! The records of a vault: histories (`chain`), checkpoints, access and change logs (`audit`),
//! staged results (`staging`), and the head that a user trusts.
//!
//! `journal` is the log of one writer; `audit` and `staging` define its lines. `torn_tail` finds
//! the end of the whole entries in a file that is appended to.

pub mod audit;
pub mod chain;
pub mod checkpoint;
pub(crate) mod journal;
pub mod staging;
pub(crate) mod torn_tail;
pub mod trusted_head;
