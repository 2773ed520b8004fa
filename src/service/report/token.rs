//! What is said of bearer tokens of `ctx mcp`.

use serde::Serialize;

use super::Report;

/// A token, without its text.
#[derive(Debug, Serialize)]
pub struct TokenRow {
    /// What names it in the file.
    pub token_id: String,
    /// For whom it stands.
    pub principal: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// Until when it stands for its principal.
    pub expires_at: String,
    /// Whether that is over.
    pub is_expired: bool,
}

/// The answer of `mcp token add`.
#[derive(Debug, Serialize)]
pub struct TokenAdded {
    /// What is known of it.
    #[serde(flatten)]
    pub row: TokenRow,
    /// Its text, which is kept nowhere.
    pub token: String,
}

impl Report for TokenAdded {
    const SCHEMA: &'static str = "mcp.token.add";
}

/// The answer of `mcp token list`.
#[derive(Debug, Serialize)]
pub struct TokensReport {
    /// The tokens of the file, in the order in which they were added.
    pub tokens: Vec<TokenRow>,
}

impl Report for TokensReport {
    const SCHEMA: &'static str = "mcp.token.list";
}

/// The answer of `mcp token revoke`.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct TokenRevoked(pub TokenRow);

impl Report for TokenRevoked {
    const SCHEMA: &'static str = "mcp.token.revoke";
}
