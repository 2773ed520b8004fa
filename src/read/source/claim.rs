//! What a caller states that it called, compared with what the source says (SRC-8).

use std::io;

use super::call::SourceCall;
use super::received::Received;
use crate::record::audit::{Cached, Hydration, Line, Logs, TraceId};
use crate::values::text_util::beginning;

/// The most bytes of an error that are recorded.
pub(crate) const MAX_ERROR: usize = 4096;

/// The longest duration that is recorded: the largest number that a line of a log holds.
pub(crate) const MAX_DURATION_MS: u64 = (1 << 53) - 1;

/// The name of a tool.
///
/// # Errors
/// It is empty.
pub(crate) fn tool(text: &str) -> Result<String, &'static str> {
    match text.trim().is_empty() {
        true => Err("expected names of tools with one comma between them, none empty"),
        false => Ok(text.to_owned()),
    }
}

/// A type and a subtype, with parameters.
///
/// # Errors
/// The text is none.
pub(crate) fn media_type(text: &str) -> Result<String, &'static str> {
    let form = "expected a media type such as `application/json`";
    let (kind, rest) = text.split_once('/').ok_or(form)?;
    let is_printable = text.len() <= 256 && text.bytes().all(|b| (0x20..0x7f).contains(&b));
    let is_word = |word: &str| {
        let of_word = |b: u8| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b);
        !word.is_empty() && word.bytes().all(of_word)
    };
    let subtype = rest.split(';').next().unwrap_or_default().trim_end();
    let is_one = is_printable && is_word(kind) && is_word(subtype);
    is_one.then(|| text.to_owned()).ok_or(form)
}

/// What a caller states.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claim {
    /// The server.
    pub(crate) server: Option<String>,
    /// The tools, in the order of the calls.
    pub(crate) tools: Vec<String>,
    /// Whether the result came from a cache.
    pub(crate) cache: Option<Cached>,
    /// How long it took.
    pub(crate) duration_ms: Option<u64>,
    /// What went wrong.
    pub(crate) error: Option<String>,
    /// What the result is.
    pub(crate) media_type: Option<String>,
    /// The hydrations whose results were used.
    pub(crate) depends_on: Vec<TraceId>,
}

/// Why what a caller states is not recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClaimError {
    /// The source names another server.
    #[error("`{id}` declares the server `{declared}`, not `{claimed}`")]
    OtherServer {
        /// The source.
        id: String,
        /// Its server.
        declared: String,
        /// The one that the caller states.
        claimed: String,
    },
    /// The source names a server, and the caller none.
    #[error("`{id}` declares the server `{declared}`, and none is given")]
    ServerMissing {
        /// The source.
        id: String,
        /// Its server.
        declared: String,
    },
    /// The source names no server.
    #[error("`{id}` declares no server, and `{claimed}` is given")]
    NoServer {
        /// The source.
        id: String,
        /// The one that the caller states.
        claimed: String,
    },
    /// The source has no such tool.
    #[error("`{id}` does not declare the tool `{tool}`")]
    Tool {
        /// The source.
        id: String,
        /// The tool.
        tool: String,
        /// Those that it declares.
        declared: Vec<String>,
    },
    /// No such hydration is recorded.
    #[error("no hydration `{0}` of this session is recorded in this vault")]
    UnknownTrace(TraceId),
    /// A hydration of something that the source does not depend on.
    #[error("`{trace}` is a hydration of `{found}`, which `{id}` does not depend on")]
    OtherSource {
        /// The source.
        id: String,
        /// The hydration.
        trace: TraceId,
        /// What it is of.
        found: String,
    },
    /// The access logs cannot be read.
    #[error("the access log: {0}")]
    Log(#[from] io::Error),
}

impl Claim {
    /// Compares server and tools with those of the source.
    ///
    /// # Errors
    /// See [`ClaimError`].
    pub(crate) fn check(&self, call: &SourceCall<'_>) -> Result<(), ClaimError> {
        let id = || call.served.id.to_string();
        match (&call.block.server, &self.server) {
            (Some(declared), Some(claimed)) if declared != claimed => {
                let (declared, claimed) = (declared.clone(), claimed.clone());
                return Err(ClaimError::OtherServer { id: id(), declared, claimed });
            }
            (Some(declared), None) => {
                return Err(ClaimError::ServerMissing { id: id(), declared: declared.clone() });
            }
            (None, Some(claimed)) => {
                return Err(ClaimError::NoServer { id: id(), claimed: claimed.clone() });
            }
            _ => {}
        }
        if let Some(tool) = self.tools.iter().find(|tool| !call.block.tools.contains(tool)) {
            let (tool, declared) = (tool.clone(), call.block.tools.clone());
            return Err(ClaimError::Tool { id: id(), tool, declared });
        }
        Ok(())
    }

    /// Compares the results that were used with the hydrations in the logs that are of the caller's
    /// session.
    ///
    /// # Errors
    /// See [`ClaimError`].
    pub(crate) fn check_dependencies(
        &self,
        call: &SourceCall<'_>,
        logs: &Logs,
        is_own: impl Fn(&Line) -> bool,
    ) -> Result<(), ClaimError> {
        let id = || call.served.id.to_string();
        let needed = call.needed();
        for trace in &self.depends_on {
            let Some(found) = logs.hydration(trace, &is_own)? else {
                return Err(ClaimError::UnknownTrace(trace.clone()));
            };
            if !needed.iter().any(|id| id.as_str() == found.source) {
                let (trace, found) = (trace.clone(), found.source);
                return Err(ClaimError::OtherSource { id: id(), trace, found });
            }
        }
        Ok(())
    }

    /// What the log says of it, with what was received.
    pub(crate) fn recorded(self, call: &SourceCall<'_>, received: &Received) -> Hydration {
        let served = call.served;
        Hydration {
            source: served.id.to_string(),
            uri: served.uri().map(ToString::to_string),
            source_version: served.entry.version.0,
            checkpoint: served.checkpoint.0,
            chain_hash: served.entry.chain_hash.to_string(),
            server: self.server,
            tools: self.tools,
            cache: self.cache,
            duration_ms: self.duration_ms,
            media_type: self.media_type,
            bytes: received.bytes,
            result_hash: received.hash.to_string(),
            error: self.error.map(|error| beginning(&error, MAX_ERROR).to_owned()),
            depends_on: self.depends_on.iter().map(ToString::to_string).collect(),
        }
    }
}
