//! Messages to a program of the user that fetches a source (SRC-12).

use serde::Serialize;

use super::call::SourceCall;
use super::fresh::RecordedResult;
use crate::text::document::links;
use crate::values::model::id::DocumentId;
use crate::values::model::transport::Transport;

/// Number of the protocol.
const PROTOCOL: u32 = 1;

/// Input of a program, as JSON on one line.
#[derive(Debug, Serialize)]
struct Message<'m> {
    protocol: u32,
    vault: &'m str,
    source: &'m DocumentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    version: u64,
    checkpoint: u64,
    chain_hash: String,
    transport: &'static str,
    server: &'m str,
    tools: &'m [String],
    session: &'m str,
    depends_on: Vec<UsedResult<'m>>,
}

/// A result of a source that this one depends on.
#[derive(Debug, Serialize)]
struct UsedResult<'m> {
    source: &'m str,
    trace: &'m str,
    result_hash: &'m str,
}

/// Reason why no program can fetch a source.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotFetchable {
    /// The agent must call the tools itself.
    #[error("the transport of `{id}` is {transport}; programs are run for `cli` and `rest` only")]
    Transport {
        /// Id of the source.
        id: DocumentId,
        /// Transport of the source.
        transport: &'static str,
    },
    /// The source does not name a server, so no program can be configured for it.
    #[error("`{0}` does not name a server, but programs are configured by server")]
    NoServer(DocumentId),
}

/// Returns the server whose program fetches a source.
///
/// # Errors
/// Returns a [`NotFetchable`] if no program can.
pub(crate) fn server<'s>(call: &SourceCall<'s>) -> Result<&'s str, NotFetchable> {
    let id = || call.served.id.clone();
    match call.block.transport {
        Some(Transport::Cli | Transport::Rest) => {}
        other => {
            let transport = other.map_or("unknown", Transport::as_str);
            return Err(NotFetchable::Transport { id: id(), transport });
        }
    }
    call.block.server.as_deref().ok_or_else(|| NotFetchable::NoServer(id()))
}

/// Returns the line with the calls; `used` contains the last result of each dependency.
///
/// # Errors
/// Fails if a text cannot be written as JSON, which never happens.
pub(crate) fn message(
    call: &SourceCall<'_>,
    (vault, server, session): (&str, &str, &str),
    used: &[RecordedResult],
) -> Result<Vec<u8>, serde_json::Error> {
    let served = call.served;
    let depends_on = used.iter().map(|result| UsedResult {
        source: &result.hydration.source,
        trace: &result.trace,
        result_hash: &result.hydration.result_hash,
    });
    let mut line = serde_json::to_vec(&Message {
        protocol: PROTOCOL,
        vault,
        source: &served.id,
        uri: served.uri().map(ToString::to_string),
        version: served.entry.version.0,
        checkpoint: served.checkpoint.0,
        chain_hash: served.entry.chain_hash.to_string(),
        transport: call.block.transport.map_or("", Transport::as_str),
        server,
        tools: &call.block.tools,
        session,
        depends_on: depends_on.collect(),
    })?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the dependencies of a source, in the order of its frontmatter.
pub(crate) fn dependencies(call: &SourceCall<'_>) -> Vec<DocumentId> {
    let links = links::dependencies(&call.served.id, &call.served.fields).into_iter();
    let mut ids: Vec<DocumentId> = Vec::new();
    for id in links.filter_map(|link| link.target.document()) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}
