//! `ctx mcp config`.

use std::path::PathBuf;

use clap::builder::PossibleValue;

use crate::files::vault::Vault;
use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::mcp::clients::place::{Place, Whereabouts};
use crate::front::mcp::clients::{program, write};
use crate::front::mcp::{Client, Started};
use crate::record::chain::diff::print_between;
use crate::service::report::client::{ClientReport, ConfigChange, WrittenReport};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::{Options, Workspace};
use crate::values::text_util::argument;

/// Print or write the entry that lets a client start the server
///
/// Paste the output into the configuration of the client. If it already has other servers, add the
/// entry to theirs. The entry names a principal: that of --as, CTX_PRINCIPAL or git's user.email.
/// The server then reads and writes as this principal, whatever its environment is.
///
/// --write puts the entry into the configuration, and prints what changes there; --dry-run only
/// prints it. The rest of the file stays, including comments. An entry of ctx with the same name is
/// changed, and keeps what was added to it. An entry of another program is left as it is, and so
/// are an unreadable file and a symbolic link.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx mcp config claude-code\n  \
ctx mcp config codex --profile author --as ana@example.com\n  \
ctx mcp config cursor --write --dry-run\n  \
ctx mcp config vscode --write --project ~/handbook\n  \
ctx mcp config zed --program /usr/local/bin/ctx --name policies")]
pub(super) struct Config {
    /// The program that starts the server
    #[arg(value_enum)]
    client: Client,
    /// Name of the server in the client [default: the vault's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Name or path of ctx; an absolute path if the PATH of the client lacks it
    #[arg(long, value_name = "PATH", default_value = "ctx")]
    program: String,
    /// Offer the tools of `reader`, `author` or `reviewer`
    #[arg(long, value_enum, default_value = "reader")]
    profile: super::ProfileArg,
    /// The vault in this folder, not the nearest one above
    #[arg(long = "vault", id = "vault", value_name = "DIR")]
    vault: Option<PathBuf>,
    /// Record accesses in this folder: the entry sets CTX_AUDIT_DIR
    ///
    /// For a client that starts the server in a sandbox, where the user's state directory cannot be
    /// written. The folder is outside of the vault; the entry has its absolute path. With --write,
    /// add the variable to the entry by hand; it is kept.
    #[arg(long, value_name = "DIR", conflicts_with = "write")]
    audit_dir: Option<PathBuf>,
    /// Put the entry into the client's configuration, and print what changes
    #[arg(long)]
    write: bool,
    /// With --write: print what would change; write nothing
    #[arg(long, requires = "write")]
    dry_run: bool,
    #[command(flatten)]
    at: At,
}

/// The configuration of a client to use.
#[derive(Debug, clap::Args)]
pub(super) struct At {
    /// The configuration of the project in this folder, not the user's
    ///
    /// Claude Code has only configurations of projects; the default is that of the current folder.
    #[arg(long, value_name = "DIR", conflicts_with = "file")]
    pub(super) project: Option<PathBuf>,
    /// Use this configuration file
    #[arg(long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
}

impl At {
    /// Returns true if a configuration is named.
    pub(super) fn is_given(&self) -> bool {
        self.project.is_some() || self.file.is_some()
    }

    /// Returns the file of a client.
    pub(super) fn place(&self, client: Client, session: &Session<'_>) -> Result<Place, Failure> {
        let environment = session.workspace.environment;
        if let Some(file) = &self.file {
            return Ok(Place { path: environment.cwd.join(file), project: None });
        }
        let var = |name: &str| environment.var(name);
        let where_ = Whereabouts { var: &var, is_mac: cfg!(target_os = "macos") };
        let refused = |message: String, hint: &'static str| {
            Err(Failure::new(Code::Usage, message).hint(hint))
        };
        let project = match (&self.project, client) {
            (Some(project), _) => environment.cwd.join(project),
            (None, Client::ClaudeCode) => environment.cwd.clone(),
            (None, _) => {
                return client.of_user(&where_).map_or_else(
                    || {
                        let message = "no variable names the folder of the user";
                        refused(message.to_owned(), "set `HOME`, or name the file with `--file`")
                    },
                    Ok,
                );
            }
        };
        if !project.is_dir() {
            let message = format!("the project `{}` is not a folder", project.display());
            return refused(message, "name an existing folder with `--project`");
        }
        client.in_project(&project).map_or_else(
            || {
                let message = format!("`{}` has no configuration in projects", client.as_str());
                refused(message, "leave out `--project` to use the user's configuration")
            },
            Ok,
        )
    }
}

/// The names of clients as an argument.
impl clap::ValueEnum for Client {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.as_str()))
    }
}

pub(super) fn run(args: &Config, session: &mut Session<'_>) -> Result<Answer, Failure> {
    if args.at.is_given() && !args.write {
        let message = "`--project` and `--file` name what `--write` writes";
        return Err(Failure::new(Code::Usage, message).hint("pass `--write`, too"));
    }
    let Workspace { environment, options } = &session.workspace;
    let named = args.vault.clone().or_else(|| options.vault.clone());
    let options = Options { vault: named, ..options.clone() };
    let vault = Workspace { environment, options }.vault()?;
    let words = words(&vault, args.profile, session)?;
    let name = args.name.clone().unwrap_or_else(|| vault.folder_name());
    let dir = args.audit_dir.as_ref().map(|dir| session.workspace.environment.cwd.join(dir));
    let dir = dir.map(|dir| dir.components().collect::<PathBuf>());
    let audit_dir = dir.map(|dir| dir.to_string_lossy().into_owned());
    if let Some(dir) = &audit_dir {
        Workspace::check_audit_dir(vault.root(), dir)?;
    }
    let started = Started { name, command: args.program.clone(), args: words, audit_dir };
    let client = args.client;
    if !started.args.iter().any(|word| word == "--as") {
        session
            .ui
            .warn("the entry does not name a principal; pass `--as NAME` to record who reads");
    }
    match args.write {
        true => put(args, (client, &started), session)?,
        false => print((client, &started), None, session),
    }
    Ok(Answer::Yes)
}

/// Warns of a program that the client would not find, before the entry is printed.
fn warn_of_program(program: &str, session: &mut Session<'_>) {
    let path = session.workspace.environment.var("PATH").unwrap_or_default();
    let Some(why) = program::not_found(program, path) else { return };
    let own = program::own();
    let own = argument(&own);
    session.ui.warn(&format!("{why}; name it by its path, as with `--program {own}`"));
}

/// Returns the arguments of a server of a vault.
pub(super) fn words(
    vault: &Vault,
    profile: super::ProfileArg,
    session: &Session<'_>,
) -> Result<Vec<String>, Failure> {
    let mut words = vec!["mcp".to_owned()];
    words.extend(["--vault".to_owned(), vault.root().to_string_lossy().into_owned()]);
    if let Some(profile) = profile.as_option() {
        words.extend(["--profile".to_owned(), profile.to_owned()]);
    }
    if let Some(principal) = session.workspace.configured_principal(vault.root())? {
        words.extend(["--as".to_owned(), principal.to_string()]);
    }
    Ok(words)
}

fn print(
    (client, started): (Client, &Started),
    written: Option<WrittenReport<'_>>,
    session: &mut Session<'_>,
) {
    let entry = client.entry(started);
    warn_of_program(&started.command, session);
    match (session.ui.json, written) {
        (true, written) => session.ui.report(&ClientReport {
            name: &started.name,
            command: &started.command,
            args: &started.args,
            env: started.env(),
            file: client.file(),
            text: &entry,
            written,
        }),
        (false, None) => {
            session.ui.harmless(&format!("{entry}\n"));
            session.ui.note(&format!("note: this goes into {}", client.file()));
        }
        (false, Some(WrittenReport { path, change, dry_run, diff })) => {
            session.ui.diff(diff);
            let would = if dry_run && change != ConfigChange::Unchanged { "would be " } else { "" };
            session.ui.table(&[vec![shown(path).into_owned(), format!("{would}{change}")]]);
            if !dry_run && change != ConfigChange::Unchanged {
                session.ui.note("note: restart the client, so that it reads the file");
            }
        }
    }
}

/// Writes the entry into the configuration of a client.
fn put(
    args: &Config,
    (client, started): (Client, &Started),
    session: &mut Session<'_>,
) -> Result<(), Failure> {
    let place = args.at.place(client, session)?;
    let edit = match args.dry_run {
        true => write::plan(client, &place, started)?,
        false => write::put(client, &place, started)?,
    };
    let path = place.path.to_string_lossy().into_owned();
    let name = shown(&path).into_owned();
    let (change, diff) = match (&edit.before, &edit.after) {
        (_, None) => (ConfigChange::Unchanged, String::new()),
        (None, Some(after)) => {
            (ConfigChange::Created, print_between("", after, "/dev/null", &name))
        }
        (Some(before), Some(after)) => {
            (ConfigChange::Updated, print_between(before, after, &name, &name))
        }
    };
    let written = WrittenReport { path: &path, change, dry_run: args.dry_run, diff: &diff };
    print((client, started), Some(written), session);
    Ok(())
}
