//! `ctx blame`.

use std::collections::BTreeMap;

use super::Answer;
use super::as_of::AsOf;
use super::color::Paint;
use super::session::Session;
use super::ui::{shown, table};
use crate::service::report::blame::{BlameReport, BlameSectionsReport, OriginReport};
use crate::service::report::failure::Failure;
use crate::service::workspace::call::blame;
use crate::values::model::number::Version;
use crate::values::text_util::count;

/// Print who made each line of a published text, in which version and when
///
/// The text is the one that `ctx read` prints. The history is verified from its first version on,
/// and each line belongs to the version whose diff added it. If a version does not verify, nothing
/// is printed. The name is the principal who made the version, with those who approved it; `--json`
/// also has the author that the document named then, and the checkpoint.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx blame nodes/policies/returns\n  \
ctx blame nodes/policies/returns#exceptions\n  ctx blame nodes/policies/returns --at 1 -L 1,+5\n  \
ctx blame nodes/policies/returns --sections")]
pub(super) struct BlameArgs {
    /// Id, `ID@N`, URI or file of a document, with `#ANCHOR` for a section
    #[arg(value_name = "ID[@N][#ANCHOR]")]
    id: String,
    #[command(flatten)]
    at: AsOf,
    /// Print these lines only: START,END or START,+COUNT
    #[arg(short = 'L', long, value_name = "START,END")]
    lines: Option<String>,
    /// Print for each section how many lines come from which version
    #[arg(long, conflicts_with = "lines")]
    sections: bool,
}

pub(super) fn run(args: &BlameArgs, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, blame::NEED)?;
    let attributed = session.call.blame((&vault, &source), &args.id, args.at.moment())?;
    if args.sections {
        let report = session.call.blame_sections(&attributed);
        sections(session, &report);
        return Ok(Answer::Yes);
    }
    let is_whole = !session.ui.json;
    let report =
        session.call.blame_lines(&attributed, (args.lines.as_deref(), usize::MAX), is_whole)?;
    session.print(&report, |session, _| text(session, &report));
    Ok(Answer::Yes)
}

/// Returns the version, its maker and its time, as columns.
fn columns(origin: &OriginReport<'_>) -> Vec<String> {
    let mut edited_by = shown(origin.edited_by).into_owned();
    if !origin.approved_by.is_empty() {
        let by = origin.approved_by.join(", ");
        edited_by = format!("{edited_by} (approved by {})", shown(&by));
    }
    vec![format!("v{}", origin.version), edited_by, origin.edited_at.clone()]
}

fn text(session: &mut Session<'_>, report: &BlameReport<'_>) {
    let rows: Vec<_> = report.versions.iter().map(columns).collect();
    let versions = report.versions.iter().map(|origin| origin.version);
    let origins: BTreeMap<Version, String> = versions.zip(table(&rows)).collect();
    let width = report.lines.last().map_or(0, |last| last.line.to_string().len());
    for line in &report.lines {
        let origin = origins.get(&line.version).map_or("", String::as_str);
        let prefix = format!("{origin}  {:>width$}", line.line);
        let blank = if line.sealed.is_empty() { "" } else { "  " };
        session.ui.harmless(&format!("{prefix}{blank}{}\n", line.sealed));
    }
    if report.comments > 0 {
        let what = count(report.comments, "comment");
        session.ui.note(&format!("note: the lines have {what}, which `--json` leaves out"));
    }
    if report.omitted > 0 {
        let what = count(report.omitted, "more line");
        session.ui.note(&format!("note: {what}; `-L START,END` prints others"));
    }
}

fn sections(session: &mut Session<'_>, report: &BlameSectionsReport<'_>) {
    session.print(report, |session, _| {
        let row = |origin: &OriginReport<'_>| {
            [columns(origin), vec![count(origin.count, "line")]].concat()
        };
        let rows: Vec<_> =
            report.sections.iter().flat_map(|s| s.versions.iter().map(row)).collect();
        let mut rows = table(&rows).into_iter();
        for section in &report.sections {
            let name = match section.anchor.as_str() {
                "" => "before the first section".to_owned(),
                anchor => format!("#{}", shown(anchor)),
            };
            let lines = count(section.count, "line");
            session.ui.painted(Paint::Heading, &format!("{name}: {lines}"));
            for row in rows.by_ref().take(section.versions.len()) {
                session.ui.line(&format!("  {row}"));
            }
        }
    });
}
