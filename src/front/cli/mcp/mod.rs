//! `ctx mcp`.

mod config;
mod doctor;
mod schema;
mod token;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::Answer;
use super::session::Session;
use crate::front::mcp::http::{Settings, Told};
use crate::front::mcp::{self, Choice, Given, Profile, Vaults, http};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::recording::GivenLabels;
use crate::service::workspace::{Environment, Options, Workspace};

/// Serve the vault to agents over the Model Context Protocol
///
/// Speaks the protocol on standard input and output, one message a line, until the input ends. The
/// tools of a reader return the reports of these commands with `--json`: `context_init` (context),
/// `context_overview` (list), `context_search` (search), `context_resolve` (resolve),
/// `context_read` (read), `context_neighbors` (neighbors), `context_pack` (resolve pack:ID),
/// `context_diff` (diff), `context_history` (history), `context_blame` (blame), `context_check`
/// (check), `context_verify` (verify) and `context_replay` (replay). They write nothing to the
/// vault, and serve a draft only to its author. Published documents and packs are resources, too,
/// by their contextnest:// URIs, and each pack is a prompt.
///
/// --profile author adds the tools that write drafts and submissions: `context_create`,
/// `context_update`, `context_submit`, `context_withdraw`, `context_restore`,
/// `context_source_record` and `context_stage_list`. --profile reviewer adds `context_review`,
/// `context_approve`, `context_reject`, `context_publish`, `context_assign_steward` and
/// `context_stage_promote`. Approvals, assignments and promotions ask the human at the client for
/// consent, and are refused if the client cannot ask. The role of a principal decides what they
/// may do.
///
/// Accesses are recorded like those of commands, before each answer. The caller is named by each
/// request in `_meta`: `contextnest/session`, `contextnest/agent`, `contextnest/thread`,
/// `contextnest/task` and `contextnest/node`. The principal is that of the process: --as,
/// CTX_PRINCIPAL, or git's user.email.
///
/// With --http or --listen it serves many clients at /mcp, until SIGTERM or Ctrl-C. With --tokens
/// the principal of each request is that of its bearer token. /healthz says whether the server
/// accepts requests, /metrics counts them for Prometheus. docs/deploy.md has a proxy, a service and
/// a container.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:\n  ctx mcp --vault policies --as agent@example.com\n  \
ctx mcp --profile author --as ana@example.com\n  \
ctx mcp --tools context_init,context_resolve,context_read\n  \
ctx mcp --http 127.0.0.1:8080 --tokens tokens.json\n  \
ctx mcp config claude-code --write\n  \
ctx mcp doctor claude-code\n  \
ctx mcp token add bo@example.com --tokens tokens.json\n  \
ctx mcp --vault policies=/srv/policies --vault runbooks=/srv/runbooks\n\n\
A client starts the command itself, as with this entry of its configuration:\n  \
{\"command\": \"ctx\", \"args\": [\"mcp\", \"--vault\", \"/home/ana/policies\"]}")]
pub(super) struct Mcp {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    serving: Serving,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Config(config::Config),
    Doctor(doctor::Doctor),
    Schema(schema::SchemaArgs),
    Token(token::TokenArgs),
}

#[derive(Debug, clap::Args)]
struct Serving {
    /// Serve the vault in this folder, not the nearest above [env: CTX_VAULT]
    ///
    /// Repeated, each with a name, it serves several: every tool then has the argument `vault`.
    #[arg(long = "vault", id = "vault", value_name = "[NAME=]DIR")]
    vaults: Vec<PathBuf>,
    /// Serve over HTTP at this loopback address; port 0 chooses a free one
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "listen")]
    http: Option<SocketAddr>,
    /// Serve over HTTP at an address for other machines; needs --tokens
    #[arg(long, value_name = "ADDRESS:PORT", requires = "tokens")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    offered: Offered,
    #[command(flatten)]
    over: OverHttp,
}

/// The offered tools.
#[derive(Debug, clap::Args)]
struct Offered {
    /// Offer the tools of `reader`, `author` or `reviewer`
    ///
    /// An author has the tools of a reader, too, and a reviewer has all tools.
    #[arg(long, value_enum, default_value = "reader")]
    profile: ProfileArg,
    /// Offer only these tools of the profile, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    tools: Vec<String>,
    /// Offer only the tools of the profile that change nothing
    #[arg(long)]
    read_only: bool,
}

/// A profile as an option names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ProfileArg {
    Reader,
    Author,
    Reviewer,
}

impl ProfileArg {
    /// Returns the value of `--profile` if it is not the default.
    fn as_option(self) -> Option<&'static str> {
        match self {
            Self::Reader => None,
            Self::Author => Some("author"),
            Self::Reviewer => Some("reviewer"),
        }
    }
}

impl Offered {
    fn choice(&self) -> Choice {
        let profile = match self.profile {
            ProfileArg::Reader => Profile::Reader,
            ProfileArg::Author => Profile::Author,
            ProfileArg::Reviewer => Profile::Reviewer,
        };
        Choice { profile, names: self.tools.clone(), read_only: self.read_only }
    }
}

/// Options of HTTP only.
#[derive(Debug, clap::Args)]
struct OverHttp {
    /// Accept only requests with a bearer token of this file
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Accept requests for this host, too; needs --tokens
    #[arg(long, value_name = "HOST", requires = "tokens")]
    allow_host: Vec<String>,
    /// Accept requests from web pages of this origin
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Maximum requests per minute for each bearer token [default: 600]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Option<u32>,
    /// Maximum calls at the same time; others wait [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    calls: Option<u16>,
    /// Seconds after which a call fails [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,
}

pub(super) fn run(args: &Mcp, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Some(Action::Config(args)) => return config::run(args, session),
        Some(Action::Doctor(args)) => return doctor::run(args, session),
        Some(Action::Schema(args)) => return schema::run(args, session),
        Some(Action::Token(args)) => return token::run(args, session),
        None => {}
    }
    let GivenLabels { agent, session: id, thread, task, node } = &session.workspace.options.labels;
    if [agent, id, thread, task, node].into_iter().any(Option::is_some) {
        let message = "labels are part of each request, not of the connection";
        return Err(Failure::new(Code::Usage, message)
            .hint("let the client send `contextnest/session` and so on in `_meta`"));
    }
    let settings = args.serving.settings(session)?;
    // A folder that is not a vault is reported to the user who starts the process.
    let vaults = args.serving.vaults(session)?;
    warn_of_log(&vaults, session);
    session.ui.write_notes();
    let environment = session.workspace.environment.duplicate();
    let options = Options { vault: None, ..session.workspace.options.clone() };
    let choice = args.serving.offered.choice();
    let offered = (vaults, &choice);
    match settings {
        Some(settings) => over_http((environment, options), offered, &settings, session)?,
        None => {
            let (stdin, stdout) = (&mut *session.stdin, session.ui.stream());
            mcp::serve((environment, options), offered, stdin, stdout)?;
        }
    }
    Ok(Answer::Yes)
}

/// Warns if accesses to a vault cannot be recorded, because every call that returns a text is
/// then refused.
fn warn_of_log(vaults: &Vaults, session: &mut Session<'_>) {
    let Workspace { environment, options } = &session.workspace;
    let why = |root: &PathBuf| {
        let options = Options { vault: Some(root.clone()), ..options.clone() };
        let workspace = Workspace { environment, options };
        workspace.unrecordable(&workspace.vault().ok()?)
    };
    let found: Vec<String> = vaults.roots().filter_map(why).collect();
    for why in found {
        session.ui.warn(&format!(
            "accesses cannot be recorded, and calls will be refused: {why}; name a folder with \
             CTX_AUDIT_DIR, as `ctx mcp config CLIENT --audit-dir DIR` prints it"
        ));
    }
}

fn over_http(
    on_behalf: (Environment, Options),
    offered: (Vaults, &Choice),
    settings: &Settings,
    session: &mut Session<'_>,
) -> Result<(), Failure> {
    if !settings.address.ip().is_loopback() {
        let note = "warning: tokens and texts are not encrypted; put a proxy with TLS in front of \
                    the server (docs/deploy.md)";
        session.ui.note(note);
    }
    http::serve(on_behalf, offered, settings, &mut |told| {
        match told {
            Told::Listens(address) => session.ui.line(&address),
            Told::Note(note) => session.ui.note(&note),
        }
        session.ui.flush();
    })
}

impl Serving {
    /// Returns the served vaults, after checking that each is one.
    fn vaults(&self, session: &Session<'_>) -> Result<Vaults, Failure> {
        let Workspace { environment, options } = &session.workspace;
        let root = |vault: Option<PathBuf>| {
            let options = Options { vault, ..options.clone() };
            let vault = Workspace { environment, options }.vault()?;
            Ok::<_, Failure>(vault.root().to_owned())
        };
        if self.vaults.is_empty() {
            return Vaults::of(vec![(None, root(None)?)]);
        }
        let given = self.vaults.iter().map(|option| Given::of(option));
        let found = given.map(|Given { name, dir }| Ok((name, root(Some(dir))?)));
        Vaults::of(found.collect::<Result<_, Failure>>()?)
    }

    /// Returns the settings of HTTP; `None` without HTTP.
    fn settings(&self, session: &Session<'_>) -> Result<Option<Settings>, Failure> {
        let Self { http, listen, over, .. } = self;
        let OverHttp { tokens, allow_host, allow_origin, rate, calls, timeout } = over;
        let Some(address) = listen.or(*http) else {
            let is_used = tokens.is_some()
                || !allow_origin.is_empty()
                || rate.is_some()
                || calls.is_some()
                || timeout.is_some();
            return match is_used {
                false => Ok(None),
                true => {
                    let message = "these options need a server over HTTP";
                    Err(Failure::new(Code::Usage, message).hint("pass `--http 127.0.0.1:8080`"))
                }
            };
        };
        if listen.is_none() && !address.ip().is_loopback() {
            let message = format!("other machines may reach `{address}`");
            return Err(Failure::new(Code::Usage, message).hint(
                "pass a loopback address such as `127.0.0.1:8080`, or `--listen` with `--tokens`",
            ));
        }
        if rate.is_some() && tokens.is_none() {
            let message = "`--rate` limits each token, but there are none";
            return Err(Failure::new(Code::Usage, message).hint("pass `--tokens`"));
        }
        if tokens.is_some() && session.workspace.options.principal.is_some() {
            let message = "the principal of a request is that of its token, not that of `--as`";
            return Err(Failure::new(Code::Usage, message).hint("leave out `--as`"));
        }
        let cwd = &session.workspace.environment.cwd;
        Ok(Some(Settings {
            address,
            tokens: tokens.as_ref().map(|path| cwd.join(path)),
            hosts: allow_host.clone(),
            origins: allow_origin.clone(),
            rate: rate.unwrap_or(600),
            calls: calls.unwrap_or(16).into(),
            time: Duration::from_secs(timeout.unwrap_or(60)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::front::cli::{Cli, Given};

    const DEPLOY: &str = include_str!("../../../../docs/deploy.md");
    const CONTAINER: &str = include_str!("../../../../Containerfile");

    /// Returns the commands of this program in `docs/deploy.md`: those of a shell, of a service and
    /// of a container.
    fn commands() -> Vec<Vec<String>> {
        let whole = DEPLOY.replace("\\\n", " ");
        let words = |line: &str| shlex::split(line).unwrap();
        let of_shell = whole.lines().filter(|line| line.starts_with("ctx ")).map(words);
        let of_service =
            whole.lines().filter_map(|line| line.strip_prefix("ExecStart=")).map(words);
        let mut all: Vec<Vec<String>> = of_shell.chain(of_service).collect();
        let entry = CONTAINER.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).unwrap();
        let mut entry: Vec<String> = serde_json::from_str(entry).unwrap();
        let run = whole.lines().find(|line| line.starts_with("docker run")).unwrap();
        entry.extend(words(run.split_once(" ctx ").unwrap().1));
        all.push(entry);
        all
    }

    #[test]
    fn commands_of_a_deployment_have_options_that_there_are() {
        let all = commands();
        assert_eq!(all.len(), 5, "{all:?}");
        for command in all {
            let read = Cli::try_parse_from(&command);
            let verb = read.unwrap_or_else(|why| panic!("{command:?}: {why}")).verb;
            assert!(matches!(verb, Given::Mcp(_)), "{command:?}");
        }
    }
}
