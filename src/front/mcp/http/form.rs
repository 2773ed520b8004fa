//! The form of an answer, JSON or events, as a client's `Accept` demands (MCP-9). `rmcp` answers
//! only clients that accept both, and chooses itself: its answer is converted for others.

use std::convert::Infallible;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::Response;
use hyper::body::Bytes;
use hyper::http::response::Parts;
use hyper::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::Value;

type Body = BoxBody<Bytes, Infallible>;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Notifications that may be omitted from an answer.
const BESIDE: [&str; 2] = ["notifications/progress", "notifications/message"];

/// The forms that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Both, or the answer is not converted.
    Any,
    /// JSON only.
    Json,
    /// Events only.
    Events,
}

/// The answer has several messages, but the client accepts no events.
#[derive(Debug, thiserror::Error)]
#[error("the answer is a stream; send `Accept: application/json, text/event-stream`")]
pub(super) struct Streamed;

/// The client accepts none of the possible forms.
#[derive(Debug, thiserror::Error)]
pub(super) enum Untaken {
    #[error("the answer is JSON or events; send `Accept: application/json, text/event-stream`")]
    Any,
    #[error("the answer to GET is a stream; send `Accept: text/event-stream`")]
    Stream,
}

impl Form {
    /// Returns the accepted form, and sets the header as `rmcp` expects it.
    ///
    /// # Errors
    /// The request accepts neither form, or no stream as the answer to GET.
    pub(super) fn take(headers: &mut HeaderMap, method: &Method) -> Result<Self, Untaken> {
        let (json, events) = accepted(headers);
        match *method {
            Method::GET if !events => return Err(Untaken::Stream),
            Method::POST if !events && !json => return Err(Untaken::Any),
            _ => {}
        }
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
        Ok(match (json, events) {
            (true, false) => Self::Json,
            (false, true) => Self::Events,
            _ => Self::Any,
        })
    }

    /// Returns an answer in this form.
    ///
    /// # Errors
    /// The answer has messages besides the answer, and the client accepts only JSON.
    pub(super) async fn convert(self, answer: Response<Body>) -> Result<Response<Body>, Streamed> {
        let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is = |name: &str| kind.is_some_and(|kind| kind.starts_with(name));
        match self {
            Self::Json if is(EVENTS) => {
                let (parts, body) = answer.into_parts();
                Ok(whole(parts, JSON, message_of(body).await?))
            }
            Self::Events if is(JSON) && answer.status() == StatusCode::OK => {
                let (parts, body) = answer.into_parts();
                let json = body
                    .collect()
                    .await
                    .map(http_body_util::Collected::to_bytes)
                    .unwrap_or_default();
                let event = [b"event: message\ndata: ".as_slice(), &json, b"\n\n"].concat();
                Ok(whole(parts, EVENTS, event))
            }
            _ => Ok(answer),
        }
    }
}

/// Returns whether a request accepts JSON, and whether it accepts events. Without the header it
/// accepts both.
fn accepted(headers: &HeaderMap) -> (bool, bool) {
    if !headers.contains_key(header::ACCEPT) {
        return (true, true);
    }
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let (mut json, mut events) = (false, false);
    for range in values.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(|part| part.trim().to_ascii_lowercase());
        let kind = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        if weight == Some(0.0) {
            continue;
        }
        json |= ["*/*", "application/*", JSON].contains(&kind.as_str());
        events |= ["*/*", "text/*", EVENTS].contains(&kind.as_str());
    }
    (json, events)
}

fn whole(mut parts: Parts, kind: &'static str, text: Vec<u8>) -> Response<Body> {
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    parts.headers.remove(header::CONTENT_LENGTH);
    let body = Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {});
    Response::from_parts(parts, body.boxed())
}

/// Returns the message of a stream that answers the request.
async fn message_of(mut body: Body) -> Result<Vec<u8>, Streamed> {
    let (mut read, mut data): (Vec<u8>, Vec<u8>) = Default::default();
    while let Some(Ok(frame)) = body.frame().await {
        read.extend_from_slice(frame.data_ref().map_or(&[], |bytes| bytes));
        while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = read.drain(..=end).collect();
            let line = line.trim_ascii_end();
            if let Some(part) = line.strip_prefix(b"data:") {
                data.extend_from_slice(part.trim_ascii_start());
            }
            // An event without data only has a number.
            if !line.is_empty() || data.is_empty() {
                continue;
            }
            let message: Value = serde_json::from_slice(&data).unwrap_or_default();
            match message["method"].as_str() {
                None => return Ok(data),
                Some(method) if BESIDE.contains(&method) => data.clear(),
                Some(_) => return Err(Streamed),
            }
        }
    }
    Err(Streamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_names_the_forms_that_a_client_takes() {
        for (accept, expected) in [
            ("application/json, text/event-stream", (true, true)),
            ("text/event-stream", (false, true)),
            ("application/json", (true, false)),
            ("Application/JSON; charset=utf-8", (true, false)),
            ("*/*", (true, true)),
            ("application/*", (true, false)),
            ("text/*;q=0.5", (false, true)),
            ("application/json, text/event-stream;q=0", (true, false)),
            ("text/html", (false, false)),
            ("", (false, false)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(accepted(&headers), expected, "{accept}");
        }
        assert_eq!(accepted(&HeaderMap::new()), (true, true));
    }
}
