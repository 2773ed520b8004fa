//! Checks for values that no writer records (AUDIT-36).

use std::str::FromStr;

use super::change::{Change, HeadRef};
use super::event::{Access, Event, Output};
use super::hydration::Hydration;
use super::labels::{self, Labels};
use super::line::{Line, Request, TraceId};
use super::text::Text;
use super::traceparent::TraceParent;
use crate::values::model::digest::Digest;
use crate::values::model::principal::Principal;
use crate::values::model::timestamp::Timestamp;

/// Sources of the name of a principal (AUDIT-2).
const SOURCES: [&str; 6] = ["option", "env", "token", "history", "git", "none"];
/// Classes of answers (AUDIT-6).
const CLASSES: [&str; 3] = ["direct", "set", "delegated"];

/// Result of a check, with the reason of a failure.
type Fault = Result<(), String>;

fn is(holds: bool, why: impl FnOnce() -> String) -> Fault {
    if holds { Ok(()) } else { Err(why()) }
}

fn parses<T: FromStr>(key: &str, text: &str) -> Fault {
    is(text.parse::<T>().is_ok(), || format!("`{key}` has a value that no writer records"))
}

fn label(key: &str, text: Option<&String>) -> Fault {
    let Some(text) = text else { return Ok(()) };
    labels::check(text).map_err(|why| format!("the label `{key}` {why}"))
}

fn from_one(key: &str, number: u64) -> Fault {
    is(number > 0, || format!("`{key}` is 0"))
}

impl Line {
    /// Returns a reason for the first value that a writer would refuse.
    pub(crate) fn value_fault(&self) -> Option<String> {
        self.values().err()
    }

    fn values(&self) -> Fault {
        parses::<Timestamp>("at", &self.at)?;
        request(&self.request)?;
        if let Some(cause) = &self.cause {
            let is_before =
                |cause: TraceId| cause.seq < self.seq && cause.writer == self.trace().writer;
            is(cause.parse().is_ok_and(is_before), || "`cause` is not before it".to_owned())?;
        }
        match &self.event {
            Event::Access(access) => texts(access),
            Event::Listing(listing) => output(&listing.output),
            Event::Refused(_) => Ok(()),
            Event::Output(produced) => {
                label("model", produced.model.as_ref())?;
                parses::<Digest>("sha256", &produced.sha256)
            }
            Event::Hydration(hydration) => hydrated(hydration),
            Event::Change(change) => changed(change),
        }
    }
}

fn request(request: &Request) -> Fault {
    let Labels { agent, session, thread, task, node, .. } = &request.labels;
    let named = [("agent", agent), ("session", session), ("thread", thread), ("task", task)];
    for (key, value) in named.into_iter().chain([("node", node), ("client", &request.client)]) {
        label(key, value.as_ref())?;
    }
    let source = request.principal_source.as_str();
    let is_named = request.principal.is_some();
    is(SOURCES.contains(&source) && is_named == (source != "none"), || {
        "`principal_source` does not match `principal`".to_owned()
    })?;
    if let Some(principal) = request.principal.as_ref().filter(|_| source != "history") {
        parses::<Principal>("principal", principal)?;
    }
    if let Some(parent) = &request.traceparent {
        parses::<TraceParent>("traceparent", parent)?;
    }
    request.head.iter().try_for_each(|head| checkpoint("head", head))
}

fn checkpoint(key: &str, head: &HeadRef) -> Fault {
    from_one(key, head.checkpoint)?;
    parses::<Digest>(key, &head.hash)
}

fn output(output: &Output) -> Fault {
    parses::<Digest>("sha256", &output.sha256)
}

fn texts(access: &Access) -> Fault {
    let class = access.class.as_deref();
    is(class.is_none_or(|class| CLASSES.contains(&class)), || "`class` is not known".to_owned())?;
    output(&access.output)?;
    access
        .documents
        .iter()
        .zip(1..)
        .try_for_each(|(one, n): (_, usize)| text(one).map_err(|why| format!("text {n}: {why}")))
}

fn text(text: &Text) -> Fault {
    from_one("version", text.version)?;
    from_one("checkpoint", text.checkpoint.unwrap_or(1))?;
    parses::<Digest>("chain_hash", &text.chain_hash)?;
    parses::<Digest>("sha256", &text.sha256)?;
    is(text.uri.is_some() || text.id.is_some(), || "it does not name a document".to_owned())?;
    let Some([from, to]) = text.range else { return Ok(()) };
    is(from <= to, || format!("its range ends at {to}, before its beginning at {from}"))?;
    is(text.bytes <= to - from, || "it has more bytes than its range".to_owned())?;
    is(text.part.is_none(), || "it has a part and a range".to_owned())
}

fn hydrated(hydration: &Hydration) -> Fault {
    from_one("source_version", hydration.source_version)?;
    from_one("checkpoint", hydration.checkpoint)?;
    parses::<Digest>("chain_hash", &hydration.chain_hash)?;
    parses::<Digest>("result_hash", &hydration.result_hash)?;
    hydration.depends_on.iter().try_for_each(|trace| parses::<TraceId>("depends_on", trace))
}

fn changed(change: &Change) -> Fault {
    let heads = [change.sealed(), change.from(), change.to()];
    heads.into_iter().flatten().try_for_each(|head| checkpoint("checkpoint", head))?;
    for version in change.versions() {
        from_one("version", version.version)?;
        parses::<Digest>("chain_hash", &version.chain_hash)?;
    }
    match change {
        Change::Event { ids, .. } => {
            is(ids.is_sorted_by(|a, b| a < b), || "`ids` are not in order".to_owned())
        }
        Change::Bind { event_at, .. } => parses::<Timestamp>("event_at", event_at),
        Change::HeadTrust { lost, .. } => lost.iter().try_for_each(|lost| {
            is(1 <= lost.from && lost.from <= lost.to, || {
                format!("`lost` goes from line {} to line {}", lost.from, lost.to)
            })
        }),
        Change::Acknowledge { acknowledged, .. } => checkpoint("acknowledged", acknowledged),
        Change::Draft { draft } => parses::<Digest>("sha256", &draft.sha256),
        Change::Prune { before, pruned } => {
            parses::<Timestamp>("before", before)?;
            pruned.iter().try_for_each(|cut| {
                from_one("pruned", cut.seq)?;
                parses::<Digest>("pruned", &cut.hash)
            })
        }
        _ => Ok(()),
    }
}
