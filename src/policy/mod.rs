//! The rules in force at a checkpoint, and what makes an approval valid.
//!
//! `viewer` decides which texts a principal may read, `stewards` reads the roles of
//! principals, `rules` judges submissions and decisions, and `in_force` finds the rules in
//! force at a checkpoint.

pub(crate) mod in_force;
pub mod rules;
pub mod stewards;
pub(crate) mod viewer;
