//! Settings of git that make ctx its driver for files of a vault. `.gitattributes` names the drivers
//! (VAULT-63), and the configuration of each clone names the programs.

/// The driver of diffs of logs and histories: each setting with its value.
pub const TEXTCONV: [(&str, &str); 1] = [("diff.ctx.textconv", "ctx textconv")];
