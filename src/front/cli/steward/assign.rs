//! `ctx steward assign` and `ctx steward remove`.

use crate::files::vault::Vault;
use crate::front::cli::expect::ExpectHead;
use crate::front::cli::session::Session;
use crate::front::cli::{Answer, Locking, event};
use crate::policy::stewards::Scope;
use crate::service::report::event::{StewardAssigned, StewardRemoved};
use crate::service::report::failure::Failure;
use crate::service::workspace::stewards::{self, Assigning};
use crate::write::publish::Mode;

/// The scope.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct ScopeArgs {
    /// At the scope of the whole vault
    #[arg(long)]
    whole_vault: bool,
    /// At this folder and everything below it
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// At every document with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// At this document or governance file
    #[arg(long, value_name = "ID")]
    document: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Change {
    #[command(flatten)]
    scope: ScopeArgs,
    /// PRINCIPAL is the name of a group of stewards.yaml
    #[arg(long)]
    group: bool,
    /// Note to store with the version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    /// Show the change of the file; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    locking: Locking,
}

/// Give a principal a role at a scope, and publish stewards.yaml
///
/// The file is edited in place: comments and order stay. A principal with another role there gets
/// the new one. In a governed vault the file is submitted.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx steward assign ana@example.com reviewer --whole-vault\n  \
ctx steward assign lee@example.com editor --folder nodes/legal/ --dry-run\n  \
ctx steward assign counsel reviewer --group --tag contract"
)]
pub(super) struct Assign {
    /// Principal, or with `--group` the name of a group
    #[arg(value_name = "PRINCIPAL")]
    who: String,
    /// `viewer`, `editor` or `reviewer`
    role: String,
    #[command(flatten)]
    change: Change,
}

/// Remove a principal's role at a scope, and publish stewards.yaml
///
/// A scope without stewards is removed from the file, so that broader scopes decide. In a governed
/// vault the file is submitted.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ctx steward remove lee@example.com --folder nodes/legal/ --dry-run"
)]
pub(super) struct Remove {
    /// Principal, or with `--group` the name of a group
    #[arg(value_name = "PRINCIPAL")]
    who: String,
    #[command(flatten)]
    change: Change,
}

pub(super) fn assign(args: &Assign, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let role = stewards::role(&args.role)?;
    run((&args.who, &args.change), Assigning::To(role), session)
}

pub(super) fn remove(args: &Remove, session: &mut Session<'_>) -> Result<Answer, Failure> {
    run((&args.who, &args.change), Assigning::Nothing, session)
}

fn run(
    (name, args): (&str, &Change),
    assigning: Assigning,
    session: &mut Session<'_>,
) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let who = stewards::holder(name, args.group)?;
    let scope = scope(args, &vault, session)?;
    let mode = Mode { dry_run: args.dry_run, expect: args.expect.read()?, ..Mode::default() };
    let has_edits = super::has_edits(session, &vault)?;
    let about = (args.note.as_deref(), mode);
    let outcome = session.workspace.assign(&vault, (&scope, &who), assigning, about)?;
    let outcome = session.acted(&vault, outcome);
    super::warn_of_edits(session, has_edits && !outcome.items.is_empty());
    if outcome.items.is_empty() && !session.ui.json {
        let done = if session.ui.is_governed() { "submitted or published" } else { "published" };
        session.ui.line(&format!("the assignment is {done} already"));
        return Ok(event::note_trouble(session, &outcome));
    }
    Ok(match assigning {
        Assigning::To(_) => event::print(session, &outcome, args.dry_run, StewardAssigned),
        Assigning::Nothing => event::print(session, &outcome, args.dry_run, StewardRemoved),
    })
}

fn scope(args: &Change, vault: &Vault, session: &Session<'_>) -> Result<Scope, Failure> {
    let ScopeArgs { folder, tag, document, .. } = &args.scope;
    let id = document.as_ref().map(|text| session.workspace.named(vault, text)).transpose()?;
    stewards::scope(folder.as_deref(), tag.as_deref(), id.as_ref())
}
