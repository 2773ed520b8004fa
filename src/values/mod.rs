//! Values, their spelling, and the sets of stable codes.
//!
//! `model` has the values that all modules share, `yaml` reads and writes YAML, `text_util` has
//! helpers for messages, and `codes` declares sets of codes.

pub mod codes;
pub mod model;
pub(crate) mod text_util;
pub mod yaml;
