//! Front ends: words in, words out.

pub mod cli;
#[cfg(feature = "mcp")]
pub(crate) mod http;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
