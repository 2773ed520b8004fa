//! `ctx mcp doctor`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::config::At;
use crate::files::vault::outside;
use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::mcp::Client;
use crate::front::mcp::clients::{edit, program, write};
use crate::front::mcp::doctor::{self, Carrier, Diagnosis, Started, Url};
use crate::service::report::doctor::{Check, Checked, DoctorReport, Outcome};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::{Options, Workspace};
use crate::values::text_util::argument;

/// Maximum size of a file with a token.
const MOST_TOKEN: u64 = 4 << 10;

/// Connect to a server as a client does, and report problems
///
/// Without a client, it starts a server of the vault. With one, it reads the client's
/// configuration, and starts the program of the entry. With --url, it asks a server over HTTP. Each
/// check is `ok`, a `warning` or a `problem`; with a problem the exit code is 1.
///
/// The checks list the tools, and call context_init, which is recorded, and context_verify.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx mcp doctor\n  ctx mcp doctor claude-desktop\n  \
ctx mcp doctor vscode --project ~/handbook --name policies\n  \
ctx mcp doctor --url http://127.0.0.1:8080/mcp --token-file token.txt")]
pub(super) struct Doctor {
    /// The client whose configuration is read
    #[arg(value_enum)]
    client: Option<Client>,
    /// Name of the server in the client [default: the only one that is ctx]
    #[arg(long, value_name = "NAME", requires = "client")]
    name: Option<String>,
    #[command(flatten)]
    at: At,
    /// Address of a server over HTTP
    #[arg(long, value_name = "URL", conflicts_with = "client")]
    url: Option<String>,
    /// File with the bearer token for --url
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
    /// Seconds that the server may take to answer
    #[arg(long, value_name = "SECONDS", default_value = "30",
          value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Start the server with the tools of `reader`, `author` or `reviewer`
    #[arg(long, value_enum, default_value = "reader", conflicts_with_all = ["client", "url"])]
    profile: super::ProfileArg,
    /// The vault in this folder, not the nearest one above
    #[arg(long = "vault", id = "vault", value_name = "DIR", conflicts_with_all = ["client", "url"])]
    vault: Option<PathBuf>,
}

pub(super) fn run(args: &Doctor, session: &mut Session<'_>) -> Result<Answer, Failure> {
    if args.at.is_given() && args.client.is_none() {
        let message = "`--project` and `--file` name the configuration of a client";
        return Err(Failure::new(Code::Usage, message).hint("name the client, too"));
    }
    let mut found = Diagnosis::default();
    let carrier = match (args.client, &args.url) {
        (Some(client), _) => of_client(args, client, session, &mut found)?,
        (None, Some(url)) => Some(Carrier::Url(of_url(args, url, session)?)),
        (None, None) => Some(Carrier::Started(of_vault(args, session)?)),
    };
    if let Some(carrier) = &carrier {
        doctor::examine(carrier, &mut found);
    }
    let works = found.works();
    let (started, url) = match carrier {
        Some(Carrier::Started(Started { argv, .. })) => (argv, None),
        Some(Carrier::Url(_)) => (Vec::new(), args.url.clone()),
        None => (Vec::new(), None),
    };
    let report = DoctorReport { started, url, works, checks: found.checks };
    session.print(&report, |session, _| text(&report, session));
    Ok(if works { Answer::Yes } else { Answer::No })
}

fn text(report: &DoctorReport, session: &mut Session<'_>) {
    if !report.started.is_empty() {
        let words = report.started.iter().map(|word| shown(word).into_owned());
        session.ui.line(&words.collect::<Vec<_>>().join(" "));
    }
    report.url.iter().for_each(|url| session.ui.line(&shown(url)));
    for Checked { check, outcome, message, hint } in &report.checks {
        session.ui.line(&format!("{:<8} {check:<10} {}", outcome.as_str(), shown(message)));
        if let Some(hint) = hint {
            session.ui.line(&format!("{:<19} {}", "", shown(hint)));
        }
    }
}

/// Returns a server of the vault, started as a client would.
fn of_vault(args: &Doctor, session: &Session<'_>) -> Result<Started, Failure> {
    let Workspace { environment, options } = &session.workspace;
    let named = args.vault.clone().or_else(|| options.vault.clone());
    let options = Options { vault: named, ..options.clone() };
    let vault = Workspace { environment, options }.vault()?;
    let program = std::env::current_exe().map_err(|why| {
        Failure::new(Code::Io, format!("the path of this program is unknown: {why}"))
    })?;
    let mut argv = vec![program.to_string_lossy().into_owned()];
    argv.extend(super::config::words(&vault, args.profile, session)?);
    Ok(started(argv, BTreeMap::new(), args, session))
}

fn started(
    argv: Vec<String>,
    added: BTreeMap<String, String>,
    args: &Doctor,
    session: &Session<'_>,
) -> Started {
    let env = doctor::variables(&session.workspace.environment.vars, &added);
    Started { argv, env, added, time: Duration::from_secs(args.timeout), advice: None }
}

fn of_url(args: &Doctor, url: &str, session: &Session<'_>) -> Result<Url, Failure> {
    let token = args.token_file.as_ref().map(|path| {
        let path = session.workspace.environment.cwd.join(path);
        let mut text = String::new();
        outside::open_regular(&path)
            .and_then(|file| file.take(MOST_TOKEN).read_to_string(&mut text))
            .map(|_| text.trim().to_owned())
            .map_err(|why| {
                Failure::new(Code::Io, format!("cannot read `{}`: {why}", path.display()))
            })
    });
    let token = token.transpose()?;
    Url::read(url, token, Duration::from_secs(args.timeout)).ok_or_else(|| {
        let message = format!("`{url}` is not the address of a server over HTTP");
        Failure::new(Code::Usage, message)
            .hint("name it as `http://127.0.0.1:8080/mcp`, behind the proxy that speaks TLS")
    })
}

/// Returns the program in the configuration of a client; `None` if it starts no server of ctx.
fn of_client(
    args: &Doctor,
    client: Client,
    session: &Session<'_>,
    found: &mut Diagnosis,
) -> Result<Option<Carrier>, Failure> {
    let place = args.at.place(client, session)?;
    let path = place.path.display();
    let problem = |found: &mut Diagnosis, message: String, hint: &str| {
        found.add(Check::Config, Outcome::Problem, message);
        found.hint(hint);
        Ok(None)
    };
    let entries = match write::entries(client, &place) {
        Err(why) => {
            found.add(Check::Config, Outcome::Problem, why.message);
            return Ok(None);
        }
        Ok(None) => {
            let hint =
                format!("`ctx mcp config {} --write` makes it, with an entry", client.as_str());
            return problem(found, format!("`{path}` does not exist"), &hint);
        }
        Ok(Some(entries)) => entries,
    };
    let name = match named(args, &entries) {
        Ok(name) => name,
        Err(why) => return problem(found, format!("`{path}` {why}"), "name one with `--name`"),
    };
    let Some((argv, added)) = doctor::started(&entries[&name]) else {
        let hint = "examine the server at its address with `--url`";
        return problem(found, format!("`{name}` in `{path}` starts no program"), hint);
    };
    found.add(Check::Config, Outcome::Ok, format!("`{name}` in `{path}`"));
    let program = argv.first().map_or("", String::as_str);
    let advice = with_path((client, args), (&name, &entries[&name]), &argv);
    if !program.contains('/') && program::not_found(program, program::EVERYWHERE).is_some() {
        let message = format!("`{program}` is not in a folder where a desktop client looks");
        found.add(Check::Program, Outcome::Warning, message);
        found.hint(&*advice);
    }
    let started = Started { advice: Some(advice), ..started(argv, added, args, session) };
    Ok(Some(Carrier::Started(started)))
}

/// Returns how to name the program of an entry by its path: a command that keeps the other
/// arguments of the entry, if it has options for all of them.
fn with_path(
    (client, args): (Client, &Doctor),
    (name, entry): (&str, &Value),
    argv: &[String],
) -> String {
    let own = program::own();
    let given = argv.get(2..).unwrap_or_default();
    let options: Vec<&str> = given.iter().step_by(2).map(String::as_str).collect();
    let is_known = |option: &&str| {
        ["--vault", "--profile", "--as"].contains(option)
            && options.iter().filter(|other| *other == option).count() == 1
    };
    let is_whole = given.len() % 2 == 0 && options.iter().all(is_known);
    if !is_whole || !edit::is_ours(entry, &own) {
        return format!("name it by its path, as with `{own}`, in `command` of the entry");
    }
    let mut words = ["ctx", "mcp", "config", client.as_str(), "--write", "--name", name]
        .map(str::to_owned)
        .to_vec();
    for (option, path) in [("--project", &args.at.project), ("--file", &args.at.file)] {
        let path = path.iter().map(|path| path.to_string_lossy().into_owned());
        words.extend(path.flat_map(|path| [option.to_owned(), path]));
    }
    words.extend(["--program".to_owned(), own]);
    words.extend_from_slice(given);
    let words: Vec<String> = words.iter().map(|word| argument(word).into_owned()).collect();
    format!("name it by its path: `{}`", words.join(" "))
}

/// Returns the name of the entry to examine.
fn named(args: &Doctor, entries: &Map<String, Value>) -> Result<String, String> {
    if let Some(name) = &args.name {
        return match entries.contains_key(name) {
            true => Ok(name.clone()),
            false => Err(format!("has no server `{name}`")),
        };
    }
    let ours = entries.iter().filter(|(_, entry)| edit::is_server(entry));
    let ours: Vec<&String> = ours.map(|(name, _)| name).collect();
    match ours.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err("has no server that is `ctx mcp`".to_owned()),
        several => {
            let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
            Err(format!("has several servers that are `ctx mcp`: {}", names.join(", ")))
        }
    }
}
