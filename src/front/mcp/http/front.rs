//! Checks of a request before `rmcp` answers it: host and origin, token, limits, and message (MCP-9
//! to MCP-13).

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::http::response::Builder;
use hyper::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use hyper::{Request, Response};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcRequest, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::form::{Form, Streamed, Untaken};
use super::sessions::Sessions;
use crate::front::http::guard::{Guard, Unfit, check_direct, only};
use crate::front::http::quotas::{Exceeded, Owners};
use crate::front::http::reply::{Reply, Until};
use crate::front::http::tokens::{Denied, Token, Tokens};
use crate::front::mcp::message::{Refusal, respelled, understood, without_mark};
use crate::front::mcp::metrics::Metrics;
use crate::front::mcp::server::{Caller, Server};
use crate::front::mcp::shares::{Held, Shares};
use crate::values::model::timestamp::Timestamp;

/// Maximum length of a message, in bytes.
pub(super) const MOST_BYTES: usize = 4 << 20;
/// Longer messages, and those of unknown length, are limited by [`LARGE`].
const SMALL: u64 = 64 << 10;
/// Maximum number of longer messages that are read at the same time.
pub(super) const LARGE: usize = 4;
/// Time limit for a client to send a message.
const PATIENCE: Duration = Duration::from_secs(30);
/// The header that names a session.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// State that all connections share.
pub(super) struct Front {
    pub(super) mcp: StreamableHttpService<Server, LocalSessionManager>,
    pub(super) guard: Guard,
    pub(super) tokens: Option<Tokens>,
    pub(super) owners: Arc<Owners>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) large: Shares,
    pub(super) now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// True once the server ends.
    pub(super) ends: AtomicBool,
    /// Messages for the operator of the server.
    pub(super) notes: mpsc::Sender<String>,
}

/// A request that `rmcp` does not answer.
struct Refused {
    status: StatusCode,
    /// The reason in the metrics.
    reason: &'static str,
    message: Refusal,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refused {
    fn new(status: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        let error = ErrorData::new(ErrorCode(-32_000), message.into(), None);
        Self { status, reason, message: Refusal { id: None, error }, header: None }
    }

    fn with(mut self, name: HeaderName, value: impl TryInto<HeaderValue>) -> Self {
        self.header = value.try_into().ok().map(|value| (name, value));
        self
    }
}

impl From<Unfit> for Refused {
    fn from(why: Unfit) -> Self {
        let (status, reason, message) = match why {
            Unfit::NoHost => (StatusCode::BAD_REQUEST, "host", "the request names no host"),
            Unfit::Host => {
                let message = "the request names another host; `--allow-host` allows one";
                (StatusCode::MISDIRECTED_REQUEST, "host", message)
            }
            Unfit::Origin => {
                let message = "a page of this origin may not call; `--allow-origin` allows one";
                (StatusCode::FORBIDDEN, "origin", message)
            }
            Unfit::Proxied => {
                let message = "a server behind a proxy needs `--tokens`";
                (StatusCode::FORBIDDEN, "proxied", message)
            }
        };
        Self::new(status, reason, message)
    }
}

impl From<Streamed> for Refused {
    fn from(why: Streamed) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "accept", why.to_string())
    }
}

impl From<Untaken> for Refused {
    fn from(why: Untaken) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "accept", why.to_string())
    }
}

impl From<Exceeded> for Refused {
    fn from(why: Exceeded) -> Self {
        let status = StatusCode::TOO_MANY_REQUESTS;
        match why {
            Exceeded::Rate(wait) => {
                let seconds = wait.as_secs() + 1;
                let message = format!("too many requests in a minute; wait {seconds} s");
                Self::new(status, "rate", message).with(header::RETRY_AFTER, seconds.to_string())
            }
            Exceeded::Open => {
                let message = "too many requests at the same time; wait for their answers";
                Self::new(status, "open", message).with(header::RETRY_AFTER, "1")
            }
        }
    }
}

impl Front {
    /// Answers a request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Reply> {
        let (parts, body) = request.into_parts();
        self.routed(parts, body).await.unwrap_or_else(|refused| self.refuse(refused))
    }

    async fn routed(
        self: &Arc<Self>,
        parts: Parts,
        body: Incoming,
    ) -> Result<Response<Reply>, Refused> {
        let path = parts.uri.path();
        if path == "/healthz" {
            return self.health(&parts.method);
        }
        self.guard.check_host(&parts)?;
        let origin = self.guard.origin(&parts.headers)?;
        if self.tokens.is_none() {
            check_direct(&parts.headers)?;
        }
        let mut response = match path {
            "/mcp" | "/mcp/" if parts.method == Method::OPTIONS => preflight(),
            "/mcp" | "/mcp/" => self.message(parts, body).await?,
            "/metrics" => self.counts(&parts).await?,
            _ => {
                let message = "the server has /mcp, /healthz and /metrics";
                return Err(Refused::new(StatusCode::NOT_FOUND, "path", message));
            }
        };
        if let Some(origin) = origin.and_then(|origin| HeaderValue::try_from(origin).ok()) {
            let headers = response.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::VARY, HeaderValue::from_static("Origin"));
            let exposed = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate");
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
        Ok(response)
    }

    fn refuse(&self, refused: Refused) -> Response<Reply> {
        let Refused { status, reason, message: Refusal { id, error }, header } = refused;
        self.metrics.refused(reason);
        let message = ServerJsonRpcMessage::error(error, id);
        let text = serde_json::to_string(&message).unwrap_or_default();
        let mut response =
            Response::builder().status(status).header(header::CONTENT_TYPE, "application/json");
        if let Some((name, value)) = header {
            response = response.header(name, value);
        }
        whole(response, text)
    }

    /// Returns whether the server accepts requests. It reveals nothing else, and needs no token.
    fn health(&self, method: &Method) -> Result<Response<Reply>, Refused> {
        only_get(method)?;
        let (status, text) = match self.ends.load(Ordering::Relaxed) {
            false => (StatusCode::OK, "ok\n"),
            true => (StatusCode::SERVICE_UNAVAILABLE, "the server ends\n"),
        };
        Ok(plain(status, text.to_owned()))
    }

    async fn counts(&self, parts: &Parts) -> Result<Response<Reply>, Refused> {
        self.token(&parts.headers)?;
        only_get(&parts.method)?;
        Ok(plain(StatusCode::OK, self.metrics.text(self.sessions.count().await)))
    }

    /// Returns the token of a request; `None` if the server needs no tokens.
    fn token(&self, headers: &HeaderMap) -> Result<Option<Arc<Token>>, Refused> {
        let Some(tokens) = &self.tokens else { return Ok(None) };
        let unknown = |challenge: &'static str, message: &str| {
            Refused::new(StatusCode::UNAUTHORIZED, "token", message)
                .with(header::WWW_AUTHENTICATE, challenge)
        };
        if !headers.contains_key(header::AUTHORIZATION) {
            return Err(unknown("Bearer", "the request has no bearer token"));
        }
        let given = only(headers, &header::AUTHORIZATION).and_then(|value| value.split_once(' '));
        let secret = given
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map_or("", |(_, secret)| secret.trim_start_matches(' '));
        match tokens.find(secret, (self.now)()) {
            Ok(token) => Ok(Some(token)),
            Err(Denied::Unknown) => {
                let message = "the token is unknown, expired or revoked";
                Err(unknown("Bearer error=\"invalid_token\"", message))
            }
            Err(Denied::Unreadable(why)) => {
                // If a note waits already, this one is dropped.
                let note = format!("error: the file of tokens {why}; every request is refused");
                let _ = self.notes.try_send(note);
                let message = "the server cannot read its file of tokens";
                Err(Refused::new(StatusCode::SERVICE_UNAVAILABLE, "tokens-unreadable", message))
            }
        }
    }

    async fn message(
        self: &Arc<Self>,
        mut parts: Parts,
        body: Incoming,
    ) -> Result<Response<Reply>, Refused> {
        let token = self.token(&parts.headers)?;
        if self.ends.load(Ordering::Relaxed) {
            let message = "the server ends";
            return Err(Refused::new(StatusCode::SERVICE_UNAVAILABLE, "ends", message));
        }
        // No later code needs the header.
        parts.headers.remove(header::AUTHORIZATION);
        let name = token.as_ref().map_or("", |token| token.id.as_str());
        let open = self.owners.enter(name, Instant::now())?;
        let principal = token.as_ref().map(|token| token.principal.clone());
        let owner =
            principal.as_ref().map_or_else(String::new, |one| one.key().as_str().to_owned());
        let session = self.session(&parts.headers, &owner)?;
        let form = Form::take(&mut parts.headers, &parts.method)?;
        parts.extensions.insert(Caller { principal });
        let until = token.map(|token| self.until_invalid(token));
        let (request, asked) = match parts.method {
            Method::POST => {
                let _one_of_few = self.room_for(&body, &owner).await?;
                let bytes = read(body).await?;
                let bytes = bytes.slice_ref(without_mark(&bytes));
                let Some(message) = understood(&bytes).map_err(malformed)? else {
                    return Ok(plain(StatusCode::ACCEPTED, String::new()));
                };
                let asked = match (&message, &session) {
                    (ClientJsonRpcMessage::Request(JsonRpcRequest { id, .. }), Some(session)) => {
                        let asked = self.sessions.asks(session, id).ok_or_else(|| {
                            let why = "a request with this `id` is not answered yet";
                            malformed(Refusal::invalid(Some(id.clone()), why))
                        })?;
                        Some(asked)
                    }
                    _ => None,
                };
                if session.is_none() && begins_session(&message) {
                    self.sessions.make_room(&owner).await;
                }
                let bytes = respelled(&bytes).map_or(bytes, Bytes::from);
                (Request::from_parts(parts, Full::new(bytes)), asked)
            }
            Method::GET | Method::DELETE => {
                (Request::from_parts(parts, Full::new(Bytes::new())), None)
            }
            _ => {
                let message = "/mcp accepts POST, GET and DELETE";
                return Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, "method", message)
                    .with(header::ALLOW, "POST, GET, DELETE, OPTIONS"));
            }
        };
        let ends_session = request.method() == Method::DELETE;
        let mut response = form.convert(self.mcp.handle(request).await).await?;
        if ends_session && response.status() == StatusCode::ACCEPTED {
            // The request succeeded: clients accept no other status as a success.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if let Some(began) = only(response.headers(), &SESSION) {
            self.sessions.began(began, &owner);
        }
        Ok(response.map(|body| Reply::new(body, until, (open, asked))))
    }

    /// Returns the session that a request names, which must belong to its principal.
    fn session(&self, headers: &HeaderMap, owner: &str) -> Result<Option<String>, Refused> {
        if !headers.contains_key(&SESSION) {
            return Ok(None);
        }
        let session = only(headers, &SESSION).filter(|session| self.sessions.is_of(session, owner));
        let unknown = "there is no such session; begin one with `initialize`";
        session
            .map(|session| Some(session.to_owned()))
            .ok_or_else(|| Refused::new(StatusCode::NOT_FOUND, "session", unknown))
    }

    /// Waits until a longer message may be read.
    async fn room_for(&self, body: &Incoming, owner: &str) -> Result<Option<Held>, Refused> {
        let size = body.size_hint();
        if size.lower() > MOST_BYTES as u64 {
            return Err(too_long());
        }
        if size.upper().is_some_and(|bytes| bytes <= SMALL) {
            return Ok(None);
        }
        match timeout(PATIENCE, self.large.take(Some(owner).filter(|owner| !owner.is_empty())))
            .await
        {
            Ok(held) => Ok(Some(held)),
            Err(_) => {
                let message = "too many long messages at the same time";
                Err(Refused::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
                    .with(header::RETRY_AFTER, "5"))
            }
        }
    }

    /// Completes when a token is no longer valid.
    fn until_invalid(self: &Arc<Self>, token: Arc<Token>) -> Until {
        let front = Arc::clone(self);
        Box::pin(async move {
            loop {
                tokio::time::sleep(super::LOOKS).await;
                let tokens = front.tokens.as_ref();
                if !tokens.is_some_and(|tokens| tokens.is_valid(&token, (front.now)())) {
                    return;
                }
            }
        })
    }
}

fn begins_session(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    matches!(request.request, ClientRequest::InitializeRequest(_))
}

/// Reads the bytes of a message.
async fn read(body: Incoming) -> Result<Bytes, Refused> {
    match timeout(PATIENCE, Limited::new(body, MOST_BYTES).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(why)) if why.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(_)) => {
            let message = "the message ends too early";
            Err(Refused::new(StatusCode::BAD_REQUEST, "broken", message))
        }
        Err(_) => {
            let message = format!("the message took more than {} s", PATIENCE.as_secs());
            Err(Refused::new(StatusCode::REQUEST_TIMEOUT, "slow", message)
                .with(header::CONNECTION, "close"))
        }
    }
}

fn too_long() -> Refused {
    let message = format!("the message has more than {MOST_BYTES} bytes");
    Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "size", message).with(header::CONNECTION, "close")
}

fn malformed(message: Refusal) -> Refused {
    // A message with a valid form, but an invalid request: its error is an ordinary answer.
    let status = match message.error.code {
        ErrorCode::INVALID_PARAMS => StatusCode::OK,
        _ => StatusCode::BAD_REQUEST,
    };
    Refused { status, reason: "message", message, header: None }
}

/// Answers the question of a browser before a page of another origin calls.
fn preflight() -> Response<Reply> {
    let response = Response::builder()
        .status(StatusCode::NO_CONTENT)
        .header(header::ACCESS_CONTROL_ALLOW_METHODS, "POST, GET, DELETE")
        .header(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, \
             Mcp-Protocol-Version, Mcp-Method, Mcp-Name",
        )
        .header(header::ACCESS_CONTROL_MAX_AGE, "600");
    whole(response, String::new())
}

fn only_get(method: &Method) -> Result<(), Refused> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let refused = Refused::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this is read with GET");
    Err(refused.with(header::ALLOW, "GET"))
}

fn plain(status: StatusCode, text: String) -> Response<Reply> {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    whole(Response::builder().status(status).header(header::CONTENT_TYPE, kind), text)
}

fn whole(response: Builder, text: String) -> Response<Reply> {
    let body = Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {});
    let response = response.header(header::CACHE_CONTROL, "no-store");
    let body = Reply::new(body.boxed(), None, ());
    response.body(body).unwrap_or_else(|_| {
        // Only names and values of headers could fail, and they are constants.
        Response::new(Reply::new(Full::new(Bytes::new()).boxed(), None, ()))
    })
}
