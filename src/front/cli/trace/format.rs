//! `--format`: lines of the access log in the formats of other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::{note_pruned, warn_of};
use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::record::audit::{Event, Fault, Filter, Line, Logs, is_before, session_of};
use crate::service::report::failure::Failure;
use crate::service::report::{otlp, prov};
use crate::service::workspace::recording::of_log;

/// A format of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// OTLP/JSON for OpenTelemetry, one request with one span a line
    Otlp,
    /// One document of W3C PROV in PROV-JSON
    ProvJson,
}

/// Prints the lines that match a filter, those of each writer in their order. `faults` are
/// already known.
pub(super) fn list(
    format: Format,
    (all, filter): (&[Logs], &Filter),
    mut faults: Vec<Fault>,
    session: &mut Session<'_>,
) -> Result<Answer, Failure> {
    let mut lines = Vec::new();
    for logs in all {
        let found = match format {
            // Lines are printed as they are read: a log may be longer than memory.
            Format::Otlp => logs.matching(filter, &Some, &mut |line| span(session, &line)),
            Format::ProvJson => logs.matching(filter, &Some, &mut |line| lines.push(line)),
        };
        faults.extend(of_log(found)?);
        note_pruned(session, logs, filter.from);
    }
    if format == Format::ProvJson {
        of_log(add_before(all, &mut lines))?;
        session.ui.json(&prov::document(lines));
    }
    Ok(warn_of(session, &faults))
}

/// Prints the lines of one answer.
pub(super) fn show(
    format: Format,
    (all, mut lines): (&[Logs], Vec<Line>),
    session: &mut Session<'_>,
) -> Result<Answer, Failure> {
    match format {
        Format::Otlp => lines.iter().for_each(|line| span(session, line)),
        Format::ProvJson => {
            let faults = of_log(add_before(all, &mut lines))?;
            warn_of(session, &faults);
            session.ui.json(&prov::document(lines));
        }
    }
    Ok(Answer::Yes)
}

fn span(session: &mut Session<'_>, line: &Line) {
    session.ui.json(&otlp::request(line));
}

/// Adds the accesses and hydrations that precede the outputs among some lines: an output is derived
/// from all texts and results of its session, even if they were not requested.
fn add_before(all: &[Logs], lines: &mut Vec<Line>) -> io::Result<Vec<Fault>> {
    let mut outputs: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in lines.iter().filter(|line| matches!(line.event, Event::Output(_))) {
        if let Some(session) = session_of(line) {
            outputs.entry(session.to_owned()).or_default().push(line.clone());
        }
    }
    if outputs.is_empty() {
        return Ok(Vec::new());
    }
    let key = |line: &Line| (line.writer.clone(), line.seq);
    let known: BTreeSet<(String, u64)> = lines.iter().map(key).collect();
    let mut add = |line: Line| {
        let after = session_of(&line).and_then(|session| outputs.get(session));
        let is_before_one = after.into_iter().flatten().any(|output| is_before(&line, output));
        if matches!(line.event, Event::Access(_) | Event::Hydration(_))
            && is_before_one
            && !known.contains(&key(&line))
        {
            lines.push(line);
        }
    };
    let mut faults = Vec::new();
    for logs in all {
        faults.extend(logs.matching(&Filter::default(), &Some, &mut add)?);
    }
    Ok(faults)
}
