//! `ctx steward`.

mod assign;
mod codeowners;
mod list;
mod who;

use super::Answer;
use super::session::Session;
use super::ui::shown;
use crate::files::vault::Vault;
use crate::policy::stewards::basis::StewardsAt;
use crate::policy::stewards::{Basis, Holder, Scope};
use crate::service::report::failure::Failure;
use crate::values::model::layout::STEWARDS;

/// List and assign stewards, and explain who decides about a document
///
/// A steward is a principal with a role (`viewer`, `editor`, `reviewer`) at a scope, in
/// stewards.yaml. The first scope with a steward decides: the document, its folders from the
/// longest, its tags in alphabetical order, the vault. Scopes do not add up. Published assignments
/// are in force, never the live file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx steward list\n  ctx steward who nodes/legal/contract\n  \
ctx steward assign ana@example.com reviewer --whole-vault\n  \
ctx steward export --codeowners > CODEOWNERS")]
pub(super) struct Steward {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    List(list::List),
    Who(who::WhoArgs),
    Assign(assign::Assign),
    Remove(assign::Remove),
    Export(codeowners::Export),
    Import(codeowners::Import),
}

pub(super) fn run(args: &Steward, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::List(args) => list::run(args, session),
        Action::Who(args) => who::run(args, session),
        Action::Assign(args) => assign::assign(args, session),
        Action::Remove(args) => assign::remove(args, session),
        Action::Export(args) => codeowners::export(args, session),
        Action::Import(args) => codeowners::import(args, session),
    }
}

/// Notes the limits of the stewards in force; returns the answer of the verb. A report as JSON
/// contains all of it.
pub(super) fn note_basis(session: &mut Session<'_>, found: &StewardsAt) -> Answer {
    if session.ui.json {
        let basis = &found.in_force.basis;
        let is_read = !matches!(basis, Basis::Invalid { .. } | Basis::Unreadable(_));
        return if is_read { Answer::Yes } else { Answer::No };
    }
    let governs = session.ui.is_governed();
    let answer = match &found.in_force.basis {
        Basis::Never | Basis::Retired if found.is_edited => {
            let publish = session.ui.publish();
            let line = format!("stewards.yaml is not published; run `{publish} stewards.yaml`");
            session.ui.note(&format!("note: {line}"));
            return Answer::Yes;
        }
        Basis::Never | Basis::Retired => {
            let line = "note: no steward is assigned; `ctx steward assign` assigns one";
            session.ui.note(line);
            return Answer::Yes;
        }
        Basis::Invalid { version, problems } => {
            let line = format!(
                "version {version} of stewards.yaml has problems, so it assigns no stewards"
            );
            session.ui.note(&format!("error: {line}"));
            for problem in problems {
                let text = format!("error[{}]: stewards.yaml: {problem}", problem.code());
                session.ui.note(&shown(&text));
            }
            Answer::No
        }
        // The caller named it.
        Basis::Unreadable(_) => return Answer::No,
        Basis::Sealed { .. } => Answer::Yes,
    };
    if found.is_edited {
        let line = "note: the live stewards.yaml differs; `ctx diff stewards.yaml` shows how";
        session.ui.note(line);
    }
    if !governs {
        session.ui.note("note: the vault is ungoverned, so publication needs no steward");
    }
    answer
}

/// Returns true if the live file has edits, which a change of it would publish too.
fn has_edits(session: &mut Session<'_>, vault: &Vault) -> Result<bool, Failure> {
    let log = session.log(vault)?;
    let is_edited = session.workspace.stewards_at(vault, &log, None)?.0.is_edited;
    Ok(is_edited && vault.files().exists(STEWARDS))
}

/// Warns of such edits after they became part of a version.
fn warn_of_edits(session: &mut Session<'_>, has_edits: bool) {
    if has_edits {
        let does = if session.ui.is_governed() { "submits" } else { "publishes" };
        let what = format!("the live stewards.yaml has other changes, which this {does} too");
        session.ui.warn(&what);
    }
}

/// Returns a scope as text on one line.
pub(super) fn scope(scope: &Scope) -> String {
    shown(&scope.to_string()).into_owned()
}

/// Returns a steward as a row of a table.
fn row(holder: &Holder<'_>) -> Vec<String> {
    let group = holder.group.map(|group| format!("group {}", shown(group)));
    let name = shown(holder.principal.as_str()).into_owned();
    vec![format!("  {}", holder.role), name, group.unwrap_or_default()]
}
