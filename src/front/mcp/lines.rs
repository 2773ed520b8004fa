//! Messages over a pair of streams: one JSON object a line (MCP-2). What is no message is answered
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

/// The longest message, in bytes.
const MAX_LINE: u64 = 16 << 20;
/// So many messages wait to be read, or to be written; then the other side waits.
pub(super) const WAITING: usize = 4;
/// So many cancelled requests are kept in mind.
const CANCELLED: usize = 1_024;

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
    /// The last of those that the client waits for no more, the last one first.
    cancelled: VecDeque<RequestId>,
    /// What the client is asked, and has not answered yet.
    asking: Vec<RequestId>,
    /// The requests that wait for changes, for as long as the client does.
    listening: Vec<RequestId>,
    /// Whether the client reads no answers any more.
    gone: Arc<AtomicBool>,
}

impl Lines {
    /// The lines of a client, who is gone once `gone` is set.
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

    /// The message of a line, or the error to answer with; nothing where there is nothing to answer.
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

    /// Refuses a request with the id of one that is at work: an answer would be taken for that of the
    /// other. One that was cancelled may be at work still.
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

    /// Which requests are to be answered: a cancelled one is not.
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
                // What the client was asked is not answered any more.
                if let Some(id) = self.asking.pop() {
                    let ended =
                        rmcp::ErrorData::internal_error("the input of the client ended", None);
                    return Some(ClientJsonRpcMessage::error(ended, Some(id)));
                }
                // What waits for changes has no other end.
                if let Some(id) = self.listening.pop() {
                    self.asked.remove(&id);
                    let params = CancelledNotificationParam::new(Some(id), None);
                    let cancelled = CancelledNotification::new(params);
                    return Some(ClientJsonRpcMessage::notification(cancelled.into()));
                }
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
