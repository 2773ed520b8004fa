//! `ctx mcp schema`.

use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::mcp;
use crate::service::report::failure::Failure;

/// Print the JSON Schemas of the arguments and answers of tools
///
/// A server lists a short form of the schemas of answers, because each client reads the whole list
/// first. This prints the full ones, which describe everything that a report may have, of one tool
/// or of all, as a JSON object by the names of tools.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx mcp schema context_read\n  ctx mcp schema > schemas.json")]
pub(super) struct SchemaArgs {
    /// Name of a tool; all if left out
    tool: Option<String>,
}

pub(super) fn run(args: &SchemaArgs, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let report = mcp::schemas(args.tool.as_deref())?;
    session.print(&report, |session, _| session.ui.line(&report.text()));
    Ok(Answer::Yes)
}
