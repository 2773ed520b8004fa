//! `ctx source`.

mod check;
mod diff;
mod fresh;
mod list;
mod order;
mod record;
mod run;
mod show;

use super::Answer;
use super::session::Session;
use super::ui::shown;
use crate::read::source::SourceCall;
use crate::service::report::failure::Failure;

/// List, show, order and check sources; record their results
///
/// A source node names the tools of a server that an agent calls, and their order. ctx never calls
/// them for a vault. The agent calls the tools, and records each result. The access log then names
/// the version of the source and the hash of the result.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx source list\n  \
ctx source order pack:procurement.onboarding --json\n  \
ctx source show sources/vendor-tickets\n  \
ctx source record sources/vendor-tickets --session s-42 --tools jira_search --server jira < result.json\n  \
ctx source check")]
pub(super) struct Source {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    List(list::List),
    Show(show::Show),
    Order(order::Order),
    Check(check::Check),
    Record(Box<record::Record>),
    Fresh(fresh::Fresh),
    Diff(diff::Diff),
    Run(run::Run),
}

pub(super) fn run(args: &Source, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::List(args) => list::run(args, session),
        Action::Show(args) => show::run(args, session),
        Action::Order(args) => order::run(args, session),
        Action::Check(_) => check::run(session),
        Action::Record(args) => record::run(args, session),
        Action::Fresh(args) => fresh::run(args, session),
        Action::Diff(args) => diff::run(args, session),
        Action::Run(args) => run::run(args, session),
    }
}

/// Prints a result: unchanged to a pipe, escaped to a terminal.
fn result(session: &mut Session<'_>, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => session.ui.harmless(text),
        Err(_) if session.ui.is_terminal() => {
            session.ui.harmless(&String::from_utf8_lossy(bytes));
        }
        Err(_) => session.ui.bytes(bytes),
    }
}

/// Returns the calls of a source as cells of a table.
fn call_cells(call: &SourceCall<'_>) -> Vec<String> {
    let block = call.block;
    let needed: Vec<String> = call.needed().iter().map(ToString::to_string).collect();
    let cells = [
        block.transport.map_or("-", |transport| transport.as_str()).to_owned(),
        block.server.clone().unwrap_or_else(|| "-".to_owned()),
        block.tools.join(","),
        block.cache_ttl.map_or("-".to_owned(), |seconds| format!("{seconds}s")),
        block.stage.map_or("default", |stage| stage.as_str()).to_owned(),
        needed.join(","),
    ];
    cells.iter().map(|cell| shown(cell).into_owned()).collect()
}
