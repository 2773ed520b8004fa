//! The rules in force at a checkpoint, and what makes an approval valid.

pub(crate) mod policy;
pub mod review;
pub mod stewards;
