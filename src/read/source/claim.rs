//! Claims of a caller about its calls, compared with the source (SRC-8).

use std::io;

use super::call::SourceCall;
use super::received::Received;
use crate::record::audit::{Cached, Hydration, Line, Logs, TraceId};
use crate::values::text_util::beginning;

/// Maximum number of recorded bytes of an error.
pub(crate) const MAX_ERROR: usize = 4096;

/// Maximum recorded duration: the largest number that a line of a log can contain.
pub(crate) const MAX_DURATION_MS: u64 = (1 << 53) - 1;

/// Parses the name of a tool.
///
/// # Errors
/// Fails if it is empty.
pub(crate) fn tool(text: &str) -> Result<String, &'static str> {
    match text.trim().is_empty() {
        true => Err("expected names of tools with one comma between them, none empty"),
        false => Ok(text.to_owned()),
    }
}

/// Parses a type and a subtype, with parameters.
///
/// # Errors
/// Fails if the text is not a media type.
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

/// Claims of a caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claim {
    pub(crate) server: Option<String>,
    /// Tools, in the order of the calls.
    pub(crate) tools: Vec<String>,
    /// Origin of the result in a cache, if the caller states one.
    pub(crate) cache: Option<Cached>,
    /// Duration of the calls in milliseconds.
    pub(crate) duration_ms: Option<u64>,
    /// Error of the call, if it failed.
    pub(crate) error: Option<String>,
    /// Media type of the result.
    pub(crate) media_type: Option<String>,
    /// Hydrations whose results were used.
    pub(crate) depends_on: Vec<TraceId>,
}

/// Reason why a claim is not recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClaimError {
    /// The source declares another server.
    #[error("`{id}` declares the server `{declared}`, not `{claimed}`")]
    OtherServer {
        /// Id of the source.
        id: String,
        /// Server of the source.
        declared: String,
        /// Server that the caller states.
        claimed: String,
    },
    /// The source declares a server, but the caller states none.
    #[error("`{id}` declares the server `{declared}`, but none is given")]
    ServerMissing {
        /// Id of the source.
        id: String,
        /// Server of the source.
        declared: String,
    },
    /// The source does not declare a server.
    #[error("`{id}` does not declare a server, but `{claimed}` is given")]
    NoServer {
        /// Id of the source.
        id: String,
        /// Server that the caller states.
        claimed: String,
    },
    /// The source does not declare the tool.
    #[error("`{id}` does not declare the tool `{tool}`")]
    Tool {
        /// Id of the source.
        id: String,
        /// Name of the tool.
        tool: String,
        /// Tools that the source declares.
        declared: Vec<String>,
    },
    /// No such hydration is recorded.
    #[error("no hydration `{0}` of this session is recorded in this vault")]
    UnknownTrace(TraceId),
    /// The hydration is of something that the source does not depend on.
    #[error("`{trace}` is a hydration of `{found}`, which `{id}` does not depend on")]
    OtherSource {
        /// Id of the source.
        id: String,
        /// Trace of the hydration.
        trace: TraceId,
        /// Source of the hydration.
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
    /// Returns a [`ClaimError`] if they do not match.
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

    /// Compares the results that were used with the hydrations of the caller's session in the logs.
    ///
    /// # Errors
    /// Returns a [`ClaimError`] if they do not match.
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

    /// Returns the record for the access log, with what was received.
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
