//! What is known of the past: whether the texts that were handed out can be made again.

pub(crate) mod replay;
