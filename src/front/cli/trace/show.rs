//! `ctx trace show`.

use super::format::{self, Format};
use super::place::{Asked, LogPlace};
use super::{hold, naming, of_writer, output, trace_id, unknown_trace, warn_of};
use crate::files::vault::Vault;
use crate::front::cli::Answer;
use crate::front::cli::color::Paint;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::prove::evidence::replay::finding;
use crate::read::snapshot::Need;
use crate::record::audit::{
    Cached, Change, Cut, Event, Fault, HeadRef, Line, Logs, LostLines, Text,
};
use crate::service::report::failure::Failure;
use crate::service::report::trace::{TraceReport, UnapprovedText, log_of};
use crate::service::workspace::recording::of_log;

pub(super) fn show(
    trace: &str,
    (format, place): (Option<Format>, &LogPlace),
    session: &mut Session<'_>,
) -> Result<Answer, Failure> {
    let name = trace_id(trace)?;
    let vault = session.workspace.vault()?;
    let sight = session.workspace.sight(&vault)?;
    let Asked { logs: all, .. } = place.all(&vault, session, &sight)?;
    let all: Vec<Logs> = all.into_iter().map(Logs::with_lost_checkpoints).collect();
    let mut lines = Vec::new();
    for logs in &all {
        lines.extend(of_log(logs.find(&name))?);
    }
    let lost = place.lost(&vault, &all)?;
    let Some(first) = lines.first() else {
        session.workspace.check_rules(&vault)?;
        place.note_lacking(&vault, session);
        return Err(naming(unknown_trace(&all, &name), &lost));
    };
    let lost: Vec<Fault> = of_writer(&lost, &name).cloned().collect();
    let answer = warn_of(session, &lost);
    if let Some(format) = format {
        format::show(format, (&all, lines), session)?;
        return Ok(answer);
    }
    let before = match first.event {
        Event::Output(_) => Some(output::before(session, &all, first)?),
        _ => None,
    };
    let log_of = log_of(all.iter().find_map(|logs| logs.elsewhere(first)));
    let unapproved = unapproved(session, &vault, &lines);
    if session.ui.json {
        let trace = name.to_string();
        let report = TraceReport { trace, lines: &lines, before, log_of, unapproved };
        session.ui.report(&report);
        return Ok(answer);
    }
    text(session, (first, &lines), log_of.as_deref(), &unapproved);
    before.iter().for_each(|before| output::list(session, before));
    Ok(answer)
}

/// Returns the texts of lines whose version lacks a valid approval, as far as the checkpoint log
/// can be relied on.
fn unapproved(session: &mut Session<'_>, vault: &Vault, lines: &[Line]) -> Vec<UnapprovedText> {
    let Ok(source) = session.source(vault, Need::Versions) else { return Vec::new() };
    let texts = lines.iter().flat_map(|line| match &line.event {
        Event::Access(access) => access.documents.as_slice(),
        _ => &[],
    });
    let marked = texts.filter_map(|text| {
        let finding = finding((vault, &source), text)?;
        Some(UnapprovedText { name: text.name().to_owned(), version: text.version, finding })
    });
    marked.collect()
}

fn text(
    session: &mut Session<'_>,
    (first, lines): (&Line, &[Line]),
    log_of: Option<&str>,
    unapproved: &[UnapprovedText],
) {
    let ui = &mut session.ui;
    let request = &first.request;
    ui.painted(Paint::Heading, &format!("{} {}", first.trace(), first.event.kind()));
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            ui.line(&format!("  {name:<10} {}", shown(value)));
        }
    };
    let labels = &request.labels;
    let words = request
        .args
        .argv
        .as_ref()
        .map(|argv| shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_default());
    let implicit = if labels.session_implicit { " (not named)" } else { "" };
    let head =
        request.head.as_ref().map(|head| format!("checkpoint {} {}", head.checkpoint, head.hash));
    field("at", Some(&first.at));
    field("log of", log_of);
    match request.args.argv.as_deref() {
        // The line is a call of a tool, with its arguments.
        Some([tool, arguments]) if tool.starts_with("context_") => {
            field("call", Some(&format!("{tool} {arguments}")));
        }
        _ => {
            let line = words.map_or(request.verb.clone(), |words| format!("ctx {words}"));
            field("command", Some(&line));
        }
    }
    field("client", request.client.as_deref());
    field("principal", request.principal.as_deref());
    field("agent", labels.agent.as_deref());
    field("session", labels.session.as_ref().map(|id| format!("{id}{implicit}")).as_deref());
    field("thread", labels.thread.as_deref());
    field("task", labels.task.as_deref());
    field("node", labels.node.as_deref());
    field("traced in", request.traceparent.as_deref());
    field("head", head.as_deref());
    match &first.event {
        Event::Access(access) => {
            field("class", access.class.as_deref());
            field("query", access.query.query.as_deref());
            for withheld in &access.withheld {
                field("withheld", Some(&format!("{} ({})", withheld.count, withheld.reason)));
            }
            field(
                "output",
                Some(&format!("{} bytes {}", access.output.bytes, access.output.sha256)),
            );
        }
        Event::Listing(listing) => {
            field("query", listing.query.query.as_deref());
            field("listed", Some(&listing.count.to_string()));
        }
        Event::Refused(refused) => field("code", Some(&refused.code)),
        Event::Change(change) => {
            let sealed = change.sealed();
            let sealed = sealed.map(|head| format!("checkpoint {} {}", head.checkpoint, head.hash));
            field("sealed", sealed.as_deref());
            field("binds", change.event_at().map(|at| format!("the event of {at}")).as_deref());
            if let Change::Hold { hold } = change {
                field("hold", Some(&hold.id));
                field("of", Some(&hold::what(hold)));
            }
            if let Change::Acknowledge { acknowledged, .. } = change {
                let HeadRef { checkpoint, hash } = acknowledged;
                field("no line", Some(&format!("checkpoint {checkpoint} {hash}")));
            }
            if let Change::Lift { lifted, .. } = change {
                field("lifted", Some(lifted));
            }
            if let Change::Prune { before, .. } = change {
                field("before", Some(before));
            }
            for Cut { writer, seq, hash } in change.pruned() {
                field("pruned", Some(&format!("up to line {seq} of {writer} {hash}")));
            }
            if let Change::HeadTrust { lost, .. } = change {
                for LostLines { writer, from, to } in lost {
                    field("given up", Some(&format!("lines {from} to {to} of {writer}")));
                }
            }
            field("reason", change.reason());
        }
        Event::Hydration(of) => {
            field("source", Some(&format!("{} v{}", of.name(), of.source_version)));
            field("chain", Some(&of.chain_hash));
            field("server", of.server.as_deref());
            field("tools", Some(&of.tools.join(", ")));
            field("cache", of.cache.map(Cached::as_str));
            field("took", of.duration_ms.map(|ms| format!("{ms} ms")).as_deref());
            field("media type", of.media_type.as_deref());
            field("result", Some(&format!("{} bytes {}", of.bytes, of.result_hash)));
            field("error", of.error.as_deref());
            of.depends_on.iter().for_each(|trace| field("used", Some(trace)));
        }
        Event::Output(produced) => {
            field("model", produced.model.as_deref());
            field("produced", Some(&format!("{} bytes {}", produced.bytes, produced.sha256)));
        }
    }
    for line in lines {
        match &line.event {
            Event::Access(access) => {
                access.documents.iter().for_each(|text| document(session, text, unapproved));
            }
            Event::Change(change) => {
                change
                    .names()
                    .iter()
                    .for_each(|name| session.ui.line(&format!("    {}", shown(name))));
            }
            Event::Listing(_) | Event::Refused(_) | Event::Output(_) | Event::Hydration(_) => {}
        }
    }
}

fn document(session: &mut Session<'_>, text: &Text, unapproved: &[UnapprovedText]) {
    let ui = &mut session.ui;
    ui.line(&format!("\n  {}  v{}", shown(text.name()), text.version));
    let range = match (text.range, text.part) {
        (Some([first, end]), _) => format!(", bytes {first} to {end} of the version"),
        (None, Some(part)) => format!(", a {}", part.as_str()),
        (None, None) => String::new(),
    };
    ui.line(&format!("    text       {} bytes{range}", text.bytes));
    ui.line(&format!("    sha256     {}", shown(&text.sha256)));
    ui.line(&format!("    chain      {}", shown(&text.chain_hash)));
    if let Some(author) = &text.author {
        ui.line(&format!("    author     {}", shown(author)));
    }
    ui.line(&format!("    edited     {} by {}", shown(&text.edited_at), shown(&text.edited_by)));
    if let Some(at) = &text.approved_at {
        let by = shown(&text.approved_by.join(", ")).into_owned();
        ui.line(&format!("    approved   {} by {by}", shown(at)));
    }
    let is_of = |one: &&UnapprovedText| (&*one.name, one.version) == (text.name(), text.version);
    if let Some(one) = unapproved.iter().find(is_of) {
        ui.line(&format!("    unapproved {}", shown(&one.finding)));
    }
    if let Some(steward) = &text.steward {
        ui.line(&format!("    steward    {}", shown(&steward.to_string())));
    }
    if let Some(due) = &text.review_due {
        ui.line(&format!("    review due {}", shown(due)));
    }
}
