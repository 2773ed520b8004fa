//! `ctx source order`.

use crate::front::cli::as_of::AsOf;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::cli::{Answer, document};
use crate::read::source::{HydrationPlan, PlannedSource, SourceCall};
use crate::service::report::failure::Failure;
use crate::service::report::source::SourceOrderReport;
use crate::service::workspace::ask::{Asked, Query, spelled};
use crate::text::uri::Class;
use crate::values::text_util::count;

/// Print the order in which to fetch sources, with their calls
///
/// Lists the sources that a selector, URI or id selects, and those that they depend on, each after
/// its own dependencies. Those that are not selected themselves are marked `needed`. Exit code 1 if
/// a dependency is missing, or sources depend on each other.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx source order type:source\n  \
ctx source order pack:procurement.onboarding --at 3 --json")]
pub(super) struct Order {
    /// Selector, contextnest:// URI or id
    #[arg(value_name = "SELECTOR|URI", allow_hyphen_values = true)]
    selector: String,
    #[command(flatten)]
    at: AsOf,
}

pub(super) fn run(args: &Order, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Asked::need(&args.selector))?;
    let at = args.at.checkpoint(session, &vault, &source)?;
    let text = spelled(&vault, &source, &args.selector)?;
    let mut asked = session.with_search(|workspace, on_slow| {
        let query = Query { text: &text, at, whole: true, staged: false };
        Asked::new(workspace, (&vault, &source), query, on_slow)
    })?;
    session.recording.class = Some(asked.plan.class());
    session.recording.query = Some(asked.selector.to_string());
    let mut resolution = asked.resolve(&vault)?;
    let notes = asked.notes(&resolution)?;
    let selected = std::mem::take(&mut resolution.documents);
    let plan = HydrationPlan::new(&vault, &asked.snapshot, selected);
    session.recording.listed = Some(plan.sources.len());
    let about = (asked.selector.to_string(), asked.snapshot.checkpoint());
    if session.ui.json {
        let report = SourceOrderReport::new(about, &plan, &resolution.withheld, &notes);
        session.ui.report(&report);
    } else {
        print(session, &plan);
        if plan.sources.is_empty() {
            session.ui.note(&format!("note: it selects no source at checkpoint {}", about.1));
        }
    }
    document::note(session, asked.plan.backend.as_deref(), &notes);
    if asked.plan.class() == Class::Set {
        session.note_unreadable(&asked.snapshot)?;
    }
    let answer = session.answer(&resolution.withheld);
    Ok(if plan.is_complete() { answer } else { Answer::No })
}

fn print(session: &mut Session<'_>, plan: &HydrationPlan) {
    let row = |(n, source): (usize, &PlannedSource)| {
        let served = &source.served;
        let call = SourceCall::of(served)?;
        let mut row = vec![
            n.to_string(),
            shown(served.id.as_str()).into_owned(),
            format!("v{}", served.entry.version),
            if source.is_selected { "selected" } else { "needed" }.to_owned(),
        ];
        row.extend(super::call_cells(&call));
        Some(row)
    };
    session.ui.table(&(1..).zip(&plan.sources).filter_map(row).collect::<Vec<_>>());
    for lack in &plan.missing {
        let by: Vec<String> = lack.needed_by.iter().map(ToString::to_string).collect();
        session.ui.note(&format!(
            "warning: {} need{} {}, and {}",
            shown(&by.join(", ")),
            if by.len() == 1 { "s" } else { "" },
            shown(lack.id.as_str()),
            shown(&lack.why.sentence())
        ));
    }
    for group in &plan.cycles {
        let ids: Vec<String> = group.iter().take(20).map(ToString::to_string).collect();
        let what = count(group.len(), "source");
        session.ui.note(&format!(
            "warning: {what} depend on each other, and cannot be ordered: {}",
            shown(&ids.join(", "))
        ));
    }
}
