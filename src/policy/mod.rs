//! The rules in force at a checkpoint, and what makes an approval valid.
//!
//! `viewer` says who may see what, `stewards` reads who may read, edit and approve, `rules` judges submissions and decisions, and
//! `in_force` says which rules count at a checkpoint.

pub(crate) mod in_force;
pub mod rules;
pub mod stewards;
pub(crate) mod viewer;
