//! Reports of bearer tokens of `ctx mcp`.

use serde::Serialize;

use super::Report;

/// A token, without its text.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TokenRow {
    /// Id of the token in the file.
    pub token_id: String,
    /// Principal whom the token identifies.
    pub principal: String,
    /// Purpose of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Time at which the token was made, in UTC.
    pub created_at: String,
    /// Time at which the token expires, in UTC.
    pub expires_at: String,
    /// True if the token has expired.
    pub is_expired: bool,
}

/// The answer of `mcp token add`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TokenAdded {
    /// Properties of the token.
    #[serde(flatten)]
    pub row: TokenRow,
    /// Bearer token, which is printed this once and not stored.
    pub token: String,
}

impl Report for TokenAdded {
    const SCHEMA: &'static str = "mcp.token.add";
}

/// The answer of `mcp token list`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TokensReport {
    /// Tokens of the file, in the order in which they were added.
    pub tokens: Vec<TokenRow>,
}

impl Report for TokensReport {
    const SCHEMA: &'static str = "mcp.token.list";
}

/// The answer of `mcp token revoke`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct TokenRevoked(pub TokenRow);

impl Report for TokenRevoked {
    const SCHEMA: &'static str = "mcp.token.revoke";
}
