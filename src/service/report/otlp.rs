//! Export of lines of the access log as spans of OpenTelemetry, in OTLP/JSON (AUDIT-15).
//!
//! Each line becomes one request to a collector, so that a log of any length is exported in
//! constant memory.

use serde_json::{Value, json};

use super::attributes::{self, Attributes, Said};
use crate::record::audit::{Event, Hydration, Line, Text, TraceParent};
use crate::values::model::digest::Digest;
use crate::values::model::timestamp::Timestamp;

/// Prefix of a session in the hash that becomes the trace id of its spans.
const OF_SESSION: &str = "contextnest:session:";
/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// Returns a line as one `ExportTraceServiceRequest`.
pub(crate) fn request(line: &Line) -> String {
    let resource = attributes(vec![
        ("service.name", Said::Text("contextnest".to_owned())),
        ("service.version", Said::Text(line.tool.clone())),
        ("service.instance.id", Said::Text(line.writer.clone())),
    ]);
    let scope = json!({"name": "contextnest.audit", "version": line.tool});
    let request = json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": scope, "spans": [span(line)]}],
    }]});
    super::harmless(request.to_string())
}

fn span(line: &Line) -> Value {
    let parent: Option<TraceParent> =
        line.request.traceparent.as_ref().and_then(|parent| parent.parse().ok());
    let (start, end) = times(line);
    let hash = line.hash.map(|hash| hash.hex()).unwrap_or_default();
    let mut span = json!({
        "traceId": parent.as_ref().map_or_else(|| trace_of_session(line), |p| p.trace.clone()),
        "spanId": hash.get(..16).unwrap_or_default(),
        "name": format!("ctx {}", line.request.verb),
        "kind": INTERNAL,
        "startTimeUnixNano": start,
        "endTimeUnixNano": end,
        "attributes": attributes(attributes::of_line(line)),
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = parent.span.into();
    }
    match &line.event {
        Event::Access(access) => {
            let events = access.documents.iter().map(|text| event(text, &end));
            span["events"] = events.collect();
        }
        Event::Refused(refused) => {
            span["status"] = json!({"code": ERROR, "message": refused.code});
        }
        Event::Hydration(Hydration { error: Some(error), .. }) => {
            span["status"] = json!({"code": ERROR, "message": error});
        }
        Event::Listing(_) | Event::Output(_) | Event::Hydration(_) | Event::Change(_) => {}
    }
    span
}

/// Returns the event of a text that was handed out.
fn event(text: &Text, at: &str) -> Value {
    let mut all = attributes::of_version(text, text.document());
    all.extend(attributes::of_bytes(text));
    all.extend(attributes::of_use(text));
    json!({"name": "contextnest.text", "timeUnixNano": at, "attributes": attributes(all)})
}

/// Returns the trace id for the spans of a session whose requests name no trace.
fn trace_of_session(line: &Line) -> String {
    let session = line.request.labels.session.as_deref().unwrap_or_default();
    Digest::of(format!("{OF_SESSION}{session}").as_bytes()).hex()[..32].to_owned()
}

/// Returns begin and end in nanoseconds since 1970, as strings, because JSON numbers are not exact
/// for 64 bits.
///
/// A time that cannot be represented is 0, which means unknown.
fn times(line: &Line) -> (String, String) {
    let at: Option<Timestamp> = line.at.parse().ok();
    let end = at.and_then(|at| u64::try_from(at.millis()).ok()?.checked_mul(1000)).unwrap_or(0);
    let begin = end.saturating_sub(line.event.elapsed_us());
    let nanos = |micros: u64| micros.checked_mul(1000).unwrap_or(0).to_string();
    (nanos(begin), nanos(end))
}

fn attributes(all: Attributes) -> Vec<Value> {
    let attribute = |(key, said)| json!({"key": key, "value": value(said)});
    all.into_iter().map(attribute).collect()
}

fn value(said: Said) -> Value {
    let text = |text: String| json!({"stringValue": text});
    match said {
        Said::Text(said) => text(said),
        Said::Flag(said) => json!({"boolValue": said}),
        Said::Texts(said) => {
            json!({"arrayValue": {"values": said.into_iter().map(text).collect::<Vec<_>>()}})
        }
        // OTLP has signed 64-bit integers; a greater number is exported as text.
        Said::Number(said) if i64::try_from(said).is_err() => text(said.to_string()),
        Said::Number(said) => json!({"intValue": said.to_string()}),
    }
}
