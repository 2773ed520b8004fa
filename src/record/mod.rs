//! What is recorded: histories (`chain`), checkpoints, access and change logs (`audit`), staged results
//! (`staging`), and the head that a user trusts.
//!
//! `journal` is the log of one writer; `audit` and `staging` define its lines. `torn_tail`
//! finds where a file that is appended to is still whole.

pub mod audit;
pub mod chain;
pub mod checkpoint;
pub(crate) mod journal;
pub mod staging;
pub(crate) mod torn_tail;
pub mod trusted_head;
