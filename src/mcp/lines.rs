//! Messages over a pair of streams: one JSON object a line (MCP-2). What is no message is answered
//! with an error, and does not end the connection.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read};
use std::sync::mpsc::SyncSender;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, RequestId,
    RequestMetaObject, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender};

/// The longest message, in bytes.
const MAX_LINE: u64 = 16 << 20;
/// So many messages wait to be read, or to be written; then the other side waits.
pub(super) const WAITING: usize = 4;

/// A line of the client.
pub(super) enum Line {
    /// Its bytes.
    Whole(Vec<u8>),
    /// It is longer than a message may be.
    TooLong,
}

/// Reads lines until the input ends, or nothing takes them any more.
pub(super) fn read(input: &mut (dyn Read + Send), lines: &Sender<Line>) {
    let mut input = BufReader::new(input);
    let mut is_rest = false;
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_end = line.last() == Some(&b'\n');
        let is_cut = !is_end && line.len() as u64 == MAX_LINE;
        let whole = match (is_rest, is_cut) {
            (false, false) => Some(Line::Whole(line)),
            (false, true) => Some(Line::TooLong),
            (true, _) => None,
        };
        is_rest = is_cut;
        if whole.is_some_and(|line| lines.blocking_send(line).is_err()) {
            return;
        }
    }
}

/// The other side is gone.
#[derive(Debug, thiserror::Error)]
#[error("the output is closed")]
pub(super) struct Closed;

/// The connection to a client.
pub(super) struct Lines {
    incoming: Receiver<Line>,
    outgoing: SyncSender<Vec<u8>>,
    /// Whether a request has begun the exchange, by `initialize` or by what it says of itself.
    is_open: bool,
    /// The requests that are not answered yet.
    asked: HashSet<RequestId>,
}

impl Lines {
    pub(super) fn new(incoming: Receiver<Line>, outgoing: SyncSender<Vec<u8>>) -> Self {
        Self { incoming, outgoing, is_open: false, asked: HashSet::new() }
    }

    fn write(&mut self, message: &ServerJsonRpcMessage) -> Result<(), Closed> {
        let answered = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        answered.iter().for_each(|id| _ = self.asked.remove(*id));
        let mut line = serde_json::to_vec(message).map_err(|_| Closed)?;
        line.push(b'\n');
        self.outgoing.send(line).map_err(|_| Closed)
    }

    /// The message of a line, or the error to answer with; nothing where there is nothing to answer.
    fn understood(&mut self, line: Line) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        let Line::Whole(bytes) = line else {
            let why = format!("the message is longer than {MAX_LINE} bytes");
            return Err(Refusal { id: None, error: ErrorData::invalid_request(why, None) });
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(&bytes).map_err(|why| Refusal {
            id: None,
            error: ErrorData::parse_error(format!("the message is not JSON: {why}"), None),
        })?;
        let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
        let is_request = value.get("method").is_some();
        if value.get("id").is_some() && id.is_none() && is_request {
            let why = "`id` of a request is a text, or an integer of at most 64 bits";
            return Err(Refusal { id: None, error: ErrorData::invalid_request(why, None) });
        }
        let message = match serde_json::from_value(value) {
            Ok(message) => message,
            // A notification has no answer.
            Err(_) if id.is_none() && is_request => return Ok(None),
            Err(why) => {
                let why = format!("the message is none of the protocol: {why}");
                return Err(Refusal { id, error: ErrorData::invalid_request(why, None) });
            }
        };
        self.opened(message)
    }

    /// Which requests are to be answered: a cancelled one is not.
    fn keep_in_mind(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => _ = self.asked.insert(request.id.clone()),
            ClientJsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.asked.remove(id);
                }
            }
            _ => {}
        }
    }

    /// A message that may be answered now: the first request is `initialize`, or says of itself what
    /// the protocol asks of each.
    fn opened(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        if self.is_open {
            return Ok(Some(message));
        }
        let ClientJsonRpcMessage::Request(request) = &message else { return Ok(None) };
        let begins = match &request.request {
            ClientRequest::PingRequest(_) => return Ok(Some(message)),
            // It only asks what may be begun.
            asked @ ClientRequest::DiscoverRequest(_) if says_of_itself(asked) => {
                return Ok(Some(message));
            }
            ClientRequest::InitializeRequest(_) => true,
            other => says_of_itself(other),
        };
        if !begins {
            let why = "the first request is `initialize`, or has `io.modelcontextprotocol/protocolVersion` \
                       and `io.modelcontextprotocol/clientCapabilities` in `_meta`";
            let error = ErrorData::invalid_request(why, None);
            return Err(Refusal { id: Some(request.id.clone()), error });
        }
        self.is_open = true;
        Ok(Some(message))
    }
}

fn says_of_itself(request: &ClientRequest) -> bool {
    use rmcp::model::{GetMeta as _, ProtocolVersion};
    let meta: &RequestMetaObject = request.get_meta();
    meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
}

/// An error in the place of a message.
struct Refusal {
    id: Option<RequestId>,
    error: ErrorData,
}

impl Transport<RoleServer> for Lines {
    type Error = Closed;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Closed>> + Send + 'static {
        std::future::ready(self.write(&message))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(line) = self.incoming.recv().await else {
                // Answers come between two calls of this function; the last one ends the wait.
                return if self.asked.is_empty() { None } else { std::future::pending().await };
            };
            match self.understood(line) {
                Ok(Some(message)) => {
                    self.keep_in_mind(&message);
                    return Some(message);
                }
                Ok(None) => {}
                Err(Refusal { id, error }) => {
                    self.write(&ServerJsonRpcMessage::error(error, id)).ok()?;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Closed> {
        self.incoming.close();
        Ok(())
    }
}
