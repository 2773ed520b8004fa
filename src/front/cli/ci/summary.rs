//! The summary of a job in Markdown, and its lists.
//!
//! Names and messages come from the vault, so each is escaped to one line without markup.

use std::fmt::Write as _;

use crate::service::report::checks::{Checked, Row};
use crate::service::report::ci::{CiReport, UnpublishedReport};
use crate::values::text_util::{count, markdown as escaped};

/// Maximum number of rows of one list: a host limits the size of a summary.
const MOST: usize = 200;

/// Names of the columns of the lists.
const COLUMNS: [&[&str]; 2] =
    [&["document", "change", "versions"], &["document", "state", "version", "size", "reviewers"]];

/// Returns the lists of a report that are not empty, each with its heading. Cells are raw texts.
pub(super) fn lists(report: &CiReport<'_>) -> Vec<(&'static str, Vec<Vec<String>>)> {
    let published = report.published.iter().map(|change| {
        let versions = match (change.from, change.to) {
            (Some(from), Some(to)) => format!("v{from} to v{to}"),
            (from, to) => from.or(to).map(|of| format!("v{of}")).unwrap_or_default(),
        };
        vec![change.id.to_string(), change.change.to_string(), versions]
    });
    let unpublished = report.unpublished.iter().map(|one| {
        vec![
            one.id.as_ref().map_or_else(|| one.path.clone(), ToString::to_string),
            one.state.to_owned(),
            one.version.map(|version| format!("v{version}")).unwrap_or_default(),
            size(one),
            one.reviewers.join(", "),
        ]
    });
    let all = [
        ("Published since the base", published.collect::<Vec<_>>()),
        ("Not published", unpublished.collect()),
    ];
    all.into_iter().filter(|(_, rows)| !rows.is_empty()).collect()
}

/// Returns the lines about what the lists do not contain.
pub(super) fn rest(report: &CiReport<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if report.unchanged > 0 {
        let files = count(report.unchanged, "other unpublished file");
        lines.push(format!("{files}, the same at the base"));
    }
    if let Some(why) = &report.unknown {
        lines.push(format!("the unpublished files are unknown: {why}"));
    }
    lines
}

fn size(one: &UnpublishedReport) -> String {
    let (Some(bytes), Some(tokens)) = (one.bytes, one.tokens) else { return String::new() };
    let change = match one.bytes_at_base {
        None => String::new(),
        Some(before) if before > bytes => format!(" (-{})", before - bytes),
        Some(before) => format!(" (+{})", bytes - before),
    };
    format!("{bytes} bytes{change}, {tokens} tokens")
}

/// Returns the summary of a job.
pub(super) fn markdown(report: &CiReport<'_>, checks: &[Checked], passes: bool) -> String {
    let mut out = format!("## Vault: {}\n\n", if passes { "passed" } else { "failed" });
    match &report.base {
        Some(base) => {
            let commit = base.commit.get(..12).unwrap_or(&base.commit);
            let _ = writeln!(out, "Compared with {} ({commit}).\n", escaped(&base.revision));
        }
        None => out.push_str("The first push; the log was not compared.\n\n"),
    }
    for (heading, rows) in lists(report) {
        let columns =
            COLUMNS.iter().find(|columns| Some(columns.len()) == rows.first().map(Vec::len));
        table(&mut out, heading, columns.copied().unwrap_or_default(), &rows);
    }
    for line in rest(report) {
        let _ = writeln!(out, "{}.\n", escaped(&line));
    }
    for checked in checks {
        let row = |row: &Row| {
            let line = row.line.map_or_else(String::new, |line| format!(":{line}"));
            let (level, code) = (row.level.to_string(), row.code.to_owned());
            vec![level, code, format!("{}{line}", row.path), row.message.clone()]
        };
        let rows: Vec<Vec<String>> = checked.rows.iter().map(row).collect();
        let heading = format!("ctx {}: {}", checked.name, checked.outcome());
        table(&mut out, &heading, &["level", "code", "file", "message"], &rows);
    }
    out
}

fn table(out: &mut String, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
    let _ = writeln!(out, "### {heading}\n");
    if rows.is_empty() {
        return;
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(&columns.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()));
    let _ = writeln!(out, "|{}", "---|".repeat(columns.len()));
    for row in rows.iter().take(MOST) {
        out.push_str(&line(&row.iter().map(|cell| escaped(cell)).collect::<Vec<_>>()));
    }
    if rows.len() > MOST {
        let _ = writeln!(out, "\n… and {} more", rows.len() - MOST);
    }
    out.push('\n');
}
