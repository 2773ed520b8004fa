//! `ctx mcp config`.

use std::path::PathBuf;

use crate::cli::Answer;
use crate::cli::session::Session;
use crate::mcp::{Client, Started};
use crate::report::client::ClientReport;
use crate::report::failure::Failure;
use crate::workspace::{Options, Workspace};

/// Print what a client needs in its configuration to start the server
///
/// The output is what to paste. Where a client has other servers already, add the entry to theirs.
/// With --as the server acts for that principal; otherwise for that of its environment.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx mcp config claude-code\n  \
ctx mcp config codex --profile author --as ana@example.com\n  \
ctx mcp config zed --program /usr/local/bin/ctx --name policies")]
pub(super) struct Config {
    /// The program that starts the server
    #[arg(value_enum)]
    client: ClientArg,
    /// Name of the server in the client [default: the vault's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How the client finds ctx; an absolute path where it is not in the PATH of the client
    #[arg(long, value_name = "PATH", default_value = "ctx")]
    program: String,
    /// Offer the tools of `reader`, `author` or `reviewer`
    #[arg(long, value_enum, default_value = "reader")]
    profile: super::ProfileArg,
    /// The vault in this folder, not the nearest one above
    #[arg(long = "vault", id = "vault", value_name = "DIR")]
    vault: Option<PathBuf>,
}

/// A client as an argument names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ClientArg {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Vscode,
    Codex,
    Gemini,
    Zed,
}

impl From<ClientArg> for Client {
    fn from(named: ClientArg) -> Self {
        match named {
            ClientArg::ClaudeCode => Self::ClaudeCode,
            ClientArg::ClaudeDesktop => Self::ClaudeDesktop,
            ClientArg::Cursor => Self::Cursor,
            ClientArg::Vscode => Self::Vscode,
            ClientArg::Codex => Self::Codex,
            ClientArg::Gemini => Self::Gemini,
            ClientArg::Zed => Self::Zed,
        }
    }
}

pub(super) fn run(args: &Config, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let Workspace { environment, options } = &session.workspace;
    let named = args.vault.clone().or_else(|| options.vault.clone());
    let options = Options { vault: named, ..options.clone() };
    let vault = Workspace { environment, options }.vault()?;
    let mut words = vec!["mcp".to_owned()];
    words.extend(["--vault".to_owned(), vault.root().to_string_lossy().into_owned()]);
    if let Some(profile) = args.profile.as_option() {
        words.extend(["--profile".to_owned(), profile.to_owned()]);
    }
    if session.workspace.options.principal.is_some() {
        let (principal, _) = session.workspace.principal(vault.root(), None)?;
        words.extend(["--as".to_owned(), principal.to_string()]);
    }
    let name = args.name.clone().unwrap_or_else(|| vault.folder_name());
    let started = Started { name, command: args.program.clone(), args: words };
    let client = Client::from(args.client);
    let entry = client.entry(&started);
    match session.ui.json {
        true => session.ui.report(&ClientReport {
            name: &started.name,
            command: &started.command,
            args: &started.args,
            file: client.file(),
            text: &entry,
        }),
        false => {
            session.ui.harmless(&entry);
            session.ui.note(&format!("note: this belongs into {}", client.file()));
        }
    }
    Ok(Answer::Yes)
}
