//! The transaction that writes, and what publishes.

pub mod govern;
pub mod txn;
