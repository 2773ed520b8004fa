//! Reports of staged entries and of acts on them.

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
    /// URI of the entry.
    pub uri: String,
    /// `staged`, `pinned`, `promoted`, `discarded`, `collected` or `erased`.
    pub state: EntryState,
    /// Id of the source.
    pub source: String,
    /// URI of the source at the checkpoint that was used.
    pub source_uri: String,
    /// Version of the source.
    pub source_version: u64,
    /// Time at which the entry was staged, in UTC.
    pub at: String,
    /// Principal who recorded the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// Session that recorded the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Other labels of the caller.
    pub labels: Labels,
    /// True if this principal recorded the entry in this session.
    pub own: bool,
    /// Media type of the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Number of bytes received.
    pub bytes: u64,
    /// Form that `content_hash` is computed from: `jcs` or `raw`.
    pub canonical: Canonical,
    /// Hash of the content.
    pub content_hash: String,
    /// Hash of the received bytes.
    pub raw_hash: String,
    /// Hash of the line.
    pub chain_hash: String,
    /// Names of the tools that were called.
    pub tools: Vec<String>,
    /// Name of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `hit` or `miss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Number of seconds for which the result may be reused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// Names of the accesses whose results the entry depends on.
    pub depends_on: Vec<String>,
    /// Time from which the entry may be collected.
    pub retention_until: String,
    /// True if the entry is pinned.
    pub pinned: bool,
    /// Documents to which the entry was promoted.
    pub promoted: Vec<PromotionReport>,
    /// Act that ended the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndedReport>,
    /// Number of tokens of its block, if there is a budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Content, if it was requested and is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Content in hexadecimal digits, if it was requested and is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_hex: Option<String>,
}

/// A staged entry that exceeded the budget.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedLeftOutReport {
    /// URI of the entry.
    pub uri: String,
    /// Number of tokens of its block.
    pub tokens: u64,
    /// Number of tokens that were left of the budget.
    pub left: u64,
}

/// A document to which an entry was promoted.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PromotionReport {
    /// Id of the document.
    pub document: String,
    /// Number of the version.
    pub version: u64,
    /// Principal who promoted the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Time of the promotion, in UTC.
    pub at: String,
}

/// The act that ended an entry.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EndedReport {
    /// `discard`, `collect` or `erase`.
    pub act: ActKind,
    /// Principal who ended the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Time of the act, in UTC.
    pub at: String,
    /// Reason that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl StagedReport {
    /// Reports an entry; `own` is true if it is of this principal and session.
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

    /// Adds the content, as text if possible and otherwise in hexadecimal digits.
    #[must_use]
    pub(crate) fn with(mut self, content: &[u8]) -> Self {
        match payload_text(content) {
            Some(text) => self.content = Some(text.to_owned()),
            None => self.content_hex = Some(hex(content)),
        }
        self
    }
}

/// Returns bytes in hexadecimal digits.
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

/// Returns a content as a block: between two lines that mark it as data.
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

/// Returns the diff of two contents of the same form as a block.
pub(crate) fn diff_block(from: &StagedEntry, to: &StagedEntry, diff: &str) -> String {
    let (older, newer) = (from.name().to_string(), to.name().to_string());
    let facts = [("status", "staged"), ("form", "diff"), ("from", older.as_str())];
    staged_block((&newer, &facts), &[&from.hash, &to.hash], diff)
}

/// Returns the changes between two contents as a block: between two lines that mark them as data.
///
/// The mark is computed from both hashes, so that neither content can contain it.
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
    /// Entries, the oldest first.
    pub staged: Vec<StagedReport>,
    /// Number of live entries that the principal recorded in other sessions and may not see here.
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
    /// URI of the older entry.
    pub from: String,
    /// URI of the newer entry.
    pub to: String,
    /// True if both entries have the same content.
    pub equal: bool,
    /// Diff of the texts, or of the JSON values written on several lines.
    pub diff: String,
}

impl Report for StagedDiffReport {
    const SCHEMA: &'static str = "stage.diff";
}

/// The answer of `stage pin`, `unpin` and `discard`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedActReport {
    /// Act that was recorded.
    pub act: ActKind,
    /// URI of the entry.
    pub uri: String,
    /// True if the entry had that state already.
    pub unchanged: bool,
}

impl Report for StagedActReport {
    const SCHEMA: &'static str = "stage.act";
}

/// The answer of `stage promote`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedPromoteReport<'p> {
    /// URI of the entry.
    pub uri: String,
    /// Id of the document.
    pub document: String,
    /// Number of the version.
    pub version: u64,
    /// True if the version was submitted and awaits a reviewer.
    pub submitted: bool,
    /// Publication or submission; null if an interrupted command had made it already.
    pub event: Option<EventReport<'p>>,
}

impl Report for StagedPromoteReport<'_> {
    const SCHEMA: &'static str = "stage.promote";
}

/// The answer of `stage gc`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StagedGcReport {
    /// True if nothing was collected.
    pub dry_run: bool,
    /// URIs of the collected entries that the principal may see.
    pub collected: Vec<String>,
    /// Number of removed content files; absent if the principal may not see every entry.
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
    /// True if nothing was erased.
    pub dry_run: bool,
    /// URIs of the entries that were ended; empty if they were erased before.
    pub erased: Vec<String>,
    /// True if the principal is a reviewer at every scope, so that no entry keeps the content.
    pub everywhere: bool,
    /// Git commits that added the file and still contain it; searched only with `everywhere`.
    pub commits: Vec<String>,
    /// True if there are more such commits than listed.
    pub more_commits: bool,
    /// Reason why git could not be queried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<String>,
}

impl Report for StagedEraseReport {
    const SCHEMA: &'static str = "stage.erase";
}
