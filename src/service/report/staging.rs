//! Staged entries, and what was done to them.

use serde::Serialize;

use super::Report;
use super::event::EventReport;
use crate::read::snapshot::portion::staged_block;
use crate::record::audit::Labels;
use crate::record::staging::{ActKind, Canonical, EntryState, StagedEntry, payload_text};

/// A staged entry.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedReport {
    /// Its URI.
    pub uri: String,
    /// `staged`, `pinned`, `promoted`, `discarded`, `collected` or `erased`.
    pub state: EntryState,
    /// The id of its source.
    pub source: String,
    /// The URI of the source at the checkpoint that was consumed.
    pub source_uri: String,
    /// The version of the source.
    pub source_version: u64,
    /// When it was staged.
    pub at: String,
    /// Who recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// In which session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The other labels.
    pub labels: Labels,
    /// Whether it is of this principal and session.
    pub own: bool,
    /// The media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// How many bytes were received.
    pub bytes: u64,
    /// What `content_hash` is of: `jcs` or `raw`.
    pub canonical: Canonical,
    /// The hash of the content.
    pub content_hash: String,
    /// The hash of the bytes.
    pub raw_hash: String,
    /// The hash of the line.
    pub chain_hash: String,
    /// The tools that were called.
    pub tools: Vec<String>,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `hit` or `miss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// For how many seconds it is fresh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// The accesses whose results it depends on.
    pub depends_on: Vec<String>,
    /// When it may be collected.
    pub retention_until: String,
    /// Whether it is pinned.
    pub pinned: bool,
    /// The documents that it was promoted to.
    pub promoted: Vec<PromotionReport>,
    /// What ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndedReport>,
    /// What its block costs, where there is a budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The content, where it was asked for and is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The content in hexadecimal digits, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_hex: Option<String>,
}

/// A staged entry that did not fit into a budget.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedLeftOutReport {
    /// Its URI.
    pub uri: String,
    /// What its block costs.
    pub tokens: u64,
    /// What was left of the budget.
    pub left: u64,
}

/// A document that an entry was promoted to.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PromotionReport {
    /// The document.
    pub document: String,
    /// Its version.
    pub version: u64,
    /// Who promoted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    pub at: String,
}

/// What ended an entry.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EndedReport {
    /// `discard`, `collect` or `erase`.
    pub act: ActKind,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    pub at: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl StagedReport {
    /// An entry, of this principal and session or not.
    pub(crate) fn of(entry: &StagedEntry, own: bool) -> Self {
        let promoted = entry.promoted.iter().map(|promotion| PromotionReport {
            document: promotion.document.to_string(),
            version: promotion.version,
            by: promotion.by.clone(),
            at: promotion.at.clone(),
        });
        let ended = entry.ended.as_ref().map(|ended| EndedReport {
            act: ended.kind,
            by: ended.by.clone(),
            at: ended.at.clone(),
            reason: ended.reason.clone(),
        });
        let recorded = entry.entry.clone();
        Self {
            uri: entry.name().to_string(),
            state: entry.state(),
            source: entry.source.to_string(),
            source_uri: recorded.source,
            source_version: recorded.source_version,
            at: entry.at.clone(),
            principal: recorded.principal,
            session: recorded.session,
            labels: recorded.labels,
            own,
            media_type: recorded.media_type,
            bytes: recorded.bytes,
            canonical: recorded.canonical,
            content_hash: recorded.content_hash,
            raw_hash: recorded.raw_hash,
            chain_hash: entry.hash.to_string(),
            tools: recorded.tools,
            server: recorded.server,
            cache: recorded.cache,
            ttl: recorded.ttl,
            depends_on: recorded.depends_on,
            retention_until: recorded.retention_until,
            pinned: entry.pinned,
            promoted: promoted.collect(),
            ended,
            tokens: None,
            content: None,
            content_hex: None,
        }
    }

    /// The same with its content.
    #[must_use]
    pub(crate) fn with(mut self, content: &[u8]) -> Self {
        match payload_text(content) {
            Some(text) => self.content = Some(text.to_owned()),
            None => self.content_hex = Some(hex(content)),
        }
        self
    }
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out
}

/// A content as a reader or an agent gets it: between two lines that say that it is data.
pub(crate) fn block(entry: &StagedEntry, content: &[u8]) -> String {
    let (bytes, text);
    let (form, shown) = match payload_text(content) {
        Some(text) => ("text", text),
        None => {
            text = hex(content);
            ("hex", text.as_str())
        }
    };
    bytes = content.len().to_string();
    let name = entry.name().to_string();
    let mut facts = vec![
        ("status", "staged"),
        ("source", entry.entry.source.as_str()),
        ("at", entry.at.as_str()),
        ("sha256", entry.entry.raw_hash.as_str()),
        ("bytes", bytes.as_str()),
        ("form", form),
    ];
    facts.extend(entry.entry.principal.as_deref().map(|principal| ("principal", principal)));
    staged_block((&name, &facts), &[&entry.hash], shown)
}

/// The difference of two contents in the same form.
pub(crate) fn diff_block(from: &StagedEntry, to: &StagedEntry, diff: &str) -> String {
    let (older, newer) = (from.name().to_string(), to.name().to_string());
    let facts = [("status", "staged"), ("form", "diff"), ("from", older.as_str())];
    staged_block((&newer, &facts), &[&from.hash, &to.hash], diff)
}

/// What changed between two contents, as a reader or an agent gets it: between two lines that say that
/// it is data. The mark follows from both hashes, so that neither content can hold it.
pub(crate) fn difference_block(
    (old, new): (&StagedEntry, &StagedEntry),
    form: &str,
    lines: &str,
) -> String {
    let (name, from) = (new.name().to_string(), old.name().to_string());
    let facts = [
        ("status", "staged"),
        ("from", from.as_str()),
        ("source", new.entry.source.as_str()),
        ("from-at", old.at.as_str()),
        ("at", new.at.as_str()),
        ("form", form),
    ];
    staged_block((&name, &facts), &[&old.hash, &new.hash], lines)
}

/// The answer of `stage list`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedListReport {
    /// The entries, the oldest first.
    pub staged: Vec<StagedReport>,
    /// How many live entries the principal recorded in other sessions, and may not see in this one.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub own_elsewhere: usize,
}

impl Report for StagedListReport {
    const SCHEMA: &'static str = "stage.list";
}

/// The answer of `stage show`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct StagedShowReport(pub StagedReport);

impl Report for StagedShowReport {
    const SCHEMA: &'static str = "stage.show";
}

/// The answer of `stage diff`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedDiffReport {
    /// The older entry.
    pub from: String,
    /// The newer one.
    pub to: String,
    /// Whether both have the same content.
    pub equal: bool,
    /// The difference of JSON values, spelled line by line, or of texts.
    pub diff: String,
}

impl Report for StagedDiffReport {
    const SCHEMA: &'static str = "stage.diff";
}

/// The answer of `stage pin`, `unpin` and `discard`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedActReport {
    /// What was done.
    pub act: ActKind,
    /// The entry.
    pub uri: String,
    /// Whether it was so already.
    pub unchanged: bool,
}

impl Report for StagedActReport {
    const SCHEMA: &'static str = "stage.act";
}

/// The answer of `stage promote`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedPromoteReport<'p> {
    /// The entry.
    pub uri: String,
    /// The document.
    pub document: String,
    /// Its version.
    pub version: u64,
    /// Whether it awaits a reviewer.
    pub submitted: bool,
    /// The publication or submission; none where an interrupted command had made it.
    pub event: Option<EventReport<'p>>,
}

impl Report for StagedPromoteReport<'_> {
    const SCHEMA: &'static str = "stage.promote";
}

/// The answer of `stage gc`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedGcReport {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// The URIs of the entries that the principal may see.
    pub collected: Vec<String>,
    /// How many files of contents went; absent for a principal who may not see every entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
}

impl Report for StagedGcReport {
    const SCHEMA: &'static str = "stage.gc";
}

/// The answer of `stage erase`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedEraseReport {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// The URIs of the entries that were ended; none if they were erased before.
    pub erased: Vec<String>,
    /// Whether the principal is a reviewer at every scope, so that no entry keeps the content.
    pub everywhere: bool,
    /// Commits of git that brought the file and still hold it; looked for only with `everywhere`.
    pub commits: Vec<String>,
    /// Whether there are more of them.
    pub more_commits: bool,
    /// Why git did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<String>,
}

impl Report for StagedEraseReport {
    const SCHEMA: &'static str = "stage.erase";
}
