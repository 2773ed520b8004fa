//! `ctx evidence report`.

use super::table;
use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::trace::Period;
use crate::prove::evidence::publications::publications;
use crate::read::snapshot::Snapshot;
use crate::service::report::evidence::{PublicationRow, PublicationsReport};
use crate::service::report::failure::Failure;
use crate::values::text_util::count;

/// List every publication and retirement of a period
///
/// The list is the population from which an auditor samples: each document and governance file that
/// a checkpoint of the period published or retired, with who recorded it. `complete` says whether
/// the history verifies up to the version, and the checkpoint. `emergency` has the reason if one
/// reviewer retired a document at once, and `ratified_by` the reviewer who ratified that. The
/// period begins at --from and ends before --to. Exit code 1 if a row is not complete. With `reads:
/// stewards` rows of documents that you may not read are left out, and a note says so.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
ctx evidence report --from 2026-10-01T00:00:00Z --to 2027-01-01T00:00:00Z\n  \
ctx evidence report --format html > publications.html")]
pub(super) struct Report {
    #[command(flatten)]
    period: Period,
    /// The form of the list
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// RFC 4180, for spreadsheets
    Csv,
    /// A page without scripts
    Html,
    /// As with --json
    Json,
}

pub(super) fn run(args: &Report, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let period = args.period.filter(session)?;
    let vault = session.vault()?;
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    let head = Snapshot::at(&vault, &chronicle, None)?;
    head.check_rules()?;
    let mut found = publications(&vault, &chronicle, period.from, period.to);
    found.retain(|row| head.may_name(&row.id));
    let rows: Vec<PublicationRow> = found.into_iter().map(PublicationRow::from).collect();
    session.recording.listed = Some(rows.len());
    let report = PublicationsReport {
        from: period.from.map(|at| at.to_string()),
        to: period.to.map(|at| at.to_string()),
        publications: rows,
    };
    session.note_unreadable(&head)?;
    if head.hides_anything() {
        session.ui.note("note: rows of documents that you may not read are left out");
    }
    match args.format {
        _ if session.ui.json => session.ui.report(&report),
        Format::Json => session.ui.report(&report),
        Format::Csv => session.ui.harmless(&table::csv(&report)),
        Format::Html => session.ui.harmless(&table::html(&report)),
    }
    let incomplete = report.publications.iter().filter(|row| !row.complete).count();
    if incomplete > 0 {
        let what = count(incomplete, "row");
        session.ui.note(&format!("warning: {what} cannot be relied on; run `ctx verify`"));
    }
    Ok(if incomplete == 0 { Answer::Yes } else { Answer::No })
}
