//! `ctx mcp`.

use super::Answer;
use super::session::Session;
use crate::mcp;
use crate::report::failure::{Code, Failure};
use crate::workspace::Options;
use crate::workspace::recording::GivenLabels;

/// Serve the vault to agents over the Model Context Protocol
///
/// Speaks the protocol on standard input and output, one message a line, until the input ends. Its
/// tools answer what these commands do with `--json`: `context_init` (context), `context_overview`
/// (list), `context_search` (search), `context_resolve` (resolve), `context_read` (read),
/// `context_neighbors` (neighbors), `context_pack` (resolve pack:ID), `context_diff` (diff),
/// `context_history` (history) and `context_verify` (verify). Nothing is written to the vault, and no
/// draft is served.
///
/// Accesses are recorded as those of commands are, before each answer. Who asks is what each request
/// says in `_meta`: `contextnest/session`, `contextnest/agent`, `contextnest/thread`,
/// `contextnest/task` and `contextnest/node`. The principal is that of the process: --as,
/// CTX_PRINCIPAL, or git's user.email.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx mcp --vault policies --as agent@example.com\n  \
ctx mcp --help\n\nA client starts the command itself, as with this entry of its configuration:\n  \
{\"command\": \"ctx\", \"args\": [\"mcp\", \"--vault\", \"/home/ana/policies\"]}")]
pub(super) struct Mcp {}

pub(super) fn run(_: &Mcp, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let GivenLabels { agent, session: id, thread, task, node } = &session.workspace.options.labels;
    if [agent, id, thread, task, node].into_iter().any(Option::is_some) {
        let message = "a label is one of each request, and not of the connection";
        return Err(Failure::new(Code::Usage, message)
            .hint("let the client send `contextnest/session` and so on in `_meta`"));
    }
    // What no vault is, is said to who started the process.
    let root = session.workspace.vault()?.root().to_owned();
    session.ui.write_notes();
    let mut environment = session.workspace.environment.duplicate();
    environment.cwd.clone_from(&root);
    let options = Options { vault: Some(root), ..session.workspace.options.clone() };
    let served = mcp::serve(environment, options, session.stdin, session.ui.stream());
    served.map_err(|why| Failure::new(Code::Io, format!("cannot write to the client: {why}")))?;
    Ok(Answer::Yes)
}
