//! What a program of the user is told, and what became of it (SRC-12).

use serde::Serialize;

use super::call::SourceCall;
use super::fresh::RecordedResult;
use crate::text::document::links;
use crate::values::model::id::DocumentId;
use crate::values::model::transport::Transport;

/// The number of the protocol.
const PROTOCOL: u32 = 1;

/// What a program gets on its input, as JSON on one line.
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

/// Why no program can be asked for a source.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotFetchable {
    /// The agent has to call the tools.
    #[error("the transport of `{id}` is {transport}; programs are run for `cli` and `rest` only")]
    Transport {
        /// The source.
        id: DocumentId,
        /// Its transport.
        transport: &'static str,
    },
    /// There is nothing to configure a program for.
    #[error("`{0}` names no server, and programs are configured by server")]
    NoServer(DocumentId),
}

/// The server whose program fetches for a source.
///
/// # Errors
/// See [`NotFetchable`].
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

/// The line that says what is to be called; `used` has the last result of each dependency.
///
/// # Errors
/// A text cannot be written as JSON, which all can.
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

/// The sources that a source depends on, in the order of its frontmatter.
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
