//! The rules in force at a checkpoint, and what makes an approval valid.

pub(crate) mod in_force;
pub mod rules;
pub mod stewards;
