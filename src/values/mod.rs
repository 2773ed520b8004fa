//! Values, their spelling, and the codes of what is said about them.

pub mod codes;
pub mod model;
pub(crate) mod text_util;
pub mod yaml;
