//! Messages over a pair of streams: one JSON object a line (MCP-2). An invalid message is answered
//! with an error, and does not end the connection.

use std::collections::{HashSet, VecDeque};
use std::io::{BufRead as _, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, JsonRpcRequest, RequestId, RequestMetaObject, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::sync::mpsc::{Receiver, Sender};

use super::message::{self, Refusal};

/// Maximum length of a message, in bytes.
const MAX_LINE: u64 = 16 << 20;
/// Number of messages that may wait to be read or written; beyond it, the other side waits.
pub(super) const WAITING: usize = 4;
/// Number of cancelled requests that are remembered.
const CANCELLED: usize = 1_024;

/// A line of the client.
pub(super) enum Line {
    /// A complete line.
    Whole(Vec<u8>),
    /// A line above the maximum length.
    TooLong,
}

/// Reads lines until the input ends, or until they are no longer received.
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
    /// True once a request began the exchange, by `initialize` or by describing its client.
    is_open: bool,
    /// The requests without an answer so far.
    asked: HashSet<RequestId>,
    /// The last requests that the client cancelled, the latest first.
    cancelled: VecDeque<RequestId>,
    /// Questions to the client without an answer so far.
    asking: Vec<RequestId>,
    /// The requests that wait for changes, until the client cancels them.
    listening: Vec<RequestId>,
    /// True if the client no longer reads answers.
    gone: Arc<AtomicBool>,
}

impl Lines {
    /// Returns the lines of a client, who is gone once `gone` is set.
    pub(super) fn new(
        incoming: Receiver<Line>,
        outgoing: SyncSender<Vec<u8>>,
        gone: Arc<AtomicBool>,
    ) -> Self {
        let (asked, cancelled) = (HashSet::new(), VecDeque::new());
        let (asking, listening) = (Vec::new(), Vec::new());
        Self { incoming, outgoing, is_open: false, asked, cancelled, asking, listening, gone }
    }

    /// Answers a request, or asks the client.
    fn answer(&mut self, message: &ServerJsonRpcMessage) -> Result<(), Closed> {
        let answered = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        answered.iter().for_each(|id| _ = self.asked.remove(*id));
        self.listening.retain(|id| self.asked.contains(id));
        if let ServerJsonRpcMessage::Request(question) = message {
            self.asking.push(question.id.clone());
        }
        self.write(message)
    }

    fn write(&self, message: &ServerJsonRpcMessage) -> Result<(), Closed> {
        let mut line = serde_json::to_vec(message).map_err(|_| Closed)?;
        line.push(b'\n');
        self.outgoing.send(line).map_err(|_| Closed)
    }

    /// Parses a line; returns the error to answer with if it is invalid, or `None` if there is
    /// nothing to answer.
    fn understood(&mut self, line: Line) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        let Line::Whole(bytes) = line else {
            let why = format!("the message is longer than {MAX_LINE} bytes");
            return Err(Refusal::invalid(None, why));
        };
        let bytes = message::without_mark(&bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let Some(message) = message::understood(bytes)? else { return Ok(None) };
        self.is_new(&message)?;
        self.opened(message)
    }

    /// Refuses a request with the id of a running one: their answers could not be distinguished. A
    /// cancelled request may still be running.
    fn is_new(&self, message: &ClientJsonRpcMessage) -> Result<(), Refusal> {
        match message {
            ClientJsonRpcMessage::Request(JsonRpcRequest { id, .. })
                if self.asked.contains(id) || self.cancelled.contains(id) =>
            {
                let why = "a request with this `id` is not answered yet; give each its own";
                Err(Refusal::invalid(Some(id.clone()), why))
            }
            _ => Ok(()),
        }
    }

    /// Records which requests must be answered: a cancelled one must not.
    fn keep_in_mind(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                self.asked.insert(request.id.clone());
                if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) {
                    self.listening.push(request.id.clone());
                }
            }
            ClientJsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                    && self.asked.remove(id)
                {
                    self.listening.retain(|listening| listening != id);
                    self.cancelled.truncate(CANCELLED - 1);
                    self.cancelled.push_front(id.clone());
                }
            }
            ClientJsonRpcMessage::Response(answer) => {
                self.asking.retain(|asked| *asked != answer.id);
            }
            ClientJsonRpcMessage::Error(refusal) => {
                self.asking.retain(|asked| Some(asked) != refusal.id.as_ref());
            }
        }
    }

    /// Checks that a message may be answered now: the first request is `initialize`, or describes
    /// its client as the protocol demands.
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
            // The request only asks what can be begun.
            asked @ ClientRequest::DiscoverRequest(_) if says_of_itself(asked) => {
                return Ok(Some(message));
            }
            ClientRequest::InitializeRequest(_) => true,
            other => says_of_itself(other),
        };
        if !begins {
            let why = "the first request must be `initialize`, or have \
                       `io.modelcontextprotocol/protocolVersion` and `io.modelcontextprotocol/clientCapabilities` in `_meta`";
            return Err(Refusal::invalid(Some(request.id.clone()), why));
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

impl Transport<RoleServer> for Lines {
    type Error = Closed;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Closed>> + Send + 'static {
        std::future::ready(self.answer(&message))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let line = self.incoming.recv().await;
            if self.gone.load(Ordering::Relaxed) {
                return None;
            }
            let Some(line) = line else {
                // The client no longer answers its questions.
                if let Some(id) = self.asking.pop() {
                    let ended =
                        rmcp::ErrorData::internal_error("the input of the client ended", None);
                    return Some(ClientJsonRpcMessage::error(ended, Some(id)));
                }
                // Requests that wait for changes do not end otherwise.
                if let Some(id) = self.listening.pop() {
                    self.asked.remove(&id);
                    let params = CancelledNotificationParam::new(Some(id), None);
                    let cancelled = CancelledNotification::new(params);
                    return Some(ClientJsonRpcMessage::notification(cancelled.into()));
                }
                // Answers are sent between two calls of this function; the last one ends the wait.
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
