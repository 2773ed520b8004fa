//! `ctx stage list`.

use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::service::report::failure::Failure;
use crate::service::report::staging::{StagedListReport, StagedReport};
use crate::service::workspace::call::stage::Listing;
use crate::values::text_util::count;

/// List staged entries, the oldest first
///
/// Ended entries are listed with --all. `--session` names the session whose entries are listed; in
/// a governed vault, a principal who is not an editor or reviewer of a source sees entries only
/// with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx stage list --source sources/prices --all")]
pub(super) struct List {
    /// List only the entries of this source, by id or file
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// List also entries whose content is gone
    #[arg(long)]
    all: bool,
    /// List the entries of every session, also with CTX_SESSION
    #[arg(long)]
    every_session: bool,
}

pub(super) fn run(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let named = session.labels.session.clone().filter(|_| !session.labels.session_implicit);
    let named = named.filter(|_| !args.every_session);
    let listing = Listing {
        source: args.source.as_deref(),
        session: named.as_deref(),
        own: false,
        ended: args.all,
    };
    let (report, is_damaged) = session.ask(|call, _| call.staged(&vault, listing))?;
    let answer = if is_damaged { Answer::No } else { Answer::Yes };
    if session.ui.json {
        session.ui.report(&report);
        return Ok(answer);
    }
    let StagedListReport { staged, own_elsewhere: elsewhere } = report;
    if staged.is_empty() {
        session.ui.note("note: no staged entry that you may see");
    }
    session.ui.table(&staged.iter().map(row).collect::<Vec<_>>());
    if elsewhere > 0 {
        let what = count(elsewhere, "staged entry");
        session.ui.note(&format!(
            "note: {what} of yours in other sessions: name the session with `--session` to see more"
        ));
    }
    Ok(answer)
}

/// Returns an entry as a row of a table.
pub(in crate::front::cli) fn row(staged: &StagedReport) -> Vec<String> {
    let text = |text: &str| shown(text).into_owned();
    vec![
        text(&staged.uri),
        staged.state.to_string(),
        text(&staged.at),
        text(staged.principal.as_deref().unwrap_or("-")),
        text(staged.session.as_deref().unwrap_or("-")),
        count(usize::try_from(staged.bytes).unwrap_or(usize::MAX), "byte"),
    ]
}
