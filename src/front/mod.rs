//! Front ends: words in, words out. `http` is what every server over HTTP needs.

pub mod cli;
#[cfg(feature = "mcp")]
pub(crate) mod http;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
