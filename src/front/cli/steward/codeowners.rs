//! `ctx steward export` and `ctx steward import`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;

use crate::front::cli::as_of::AsOf;
use crate::front::cli::expect::ExpectHead;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::cli::{Answer, Locking, event};
use crate::policy::stewards::codeowners::{self, Imported};
use crate::read::snapshot::Need;
use crate::service::report::event::EventReport;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::stewards::{ExportReport, ImportReport};
use crate::values::model::layout::limit;
use crate::values::model::principal::Principal;
use crate::write::publish::Mode;

/// Print the reviewers as a CODEOWNERS file
///
/// The syntax is that of GitHub and GitLab. Comments name the assignments that it cannot express:
/// roles other than `reviewer`, scopes of tags, settings of reviews, and names that are not an
/// address. With `reads: stewards` it needs a role at the whole vault.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx steward export --codeowners > .github/CODEOWNERS")]
pub(super) struct Export {
    /// Print a CODEOWNERS file
    #[arg(long, required = true)]
    codeowners: bool,
    #[command(flatten)]
    at: AsOf,
}

pub(super) fn export(args: &Export, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let at = args.at.checkpoint(session, &vault, &source)?;
    let (found, known) = session.workspace.stewards_at(&vault, source.log(&vault)?, at)?;
    known?;
    let own = session.workspace.own_scopes(&vault, source.log(&vault)?, &found)?;
    if own.is_some() {
        // A file without some scopes would give their documents other owners.
        let message = "an export needs every scope of `stewards.yaml`, and you may not read it";
        return Err(Failure::new(Code::NotASteward, message)
            .hint("`ctx steward list` lists the scopes at which you have a role"));
    }
    let text = codeowners::export(&found.in_force.stewards);
    session.recording.listed = Some(found.in_force.stewards.scopes().count());
    if session.ui.json {
        let report = ExportReport { checkpoint: found.checkpoint, codeowners: &text };
        session.ui.report(&report);
    } else {
        session.ui.harmless(&text);
    }
    Ok(super::note_basis(session, &found))
}

/// Make owners of a CODEOWNERS file reviewers, and publish stewards.yaml
///
/// Patterns that are the whole vault, one folder or one file become scopes; every other line is
/// reported. Assignments of the file stay, and a principal with a lesser role becomes a
/// reviewer. In a governed vault the change needs a review. If all of it is assigned already,
/// nothing is published.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx steward import --codeowners .github/CODEOWNERS --dry-run\n  \
ctx steward import --codeowners CODEOWNERS --owner @org/legal=lee@example.com"
)]
pub(super) struct Import {
    /// The CODEOWNERS file
    #[arg(long, value_name = "FILE", required = true)]
    codeowners: std::path::PathBuf,
    /// Principal of an owner with an `@`; repeatable, also for one owner
    #[arg(long = "owner", value_name = "HANDLE=PRINCIPAL")]
    owners: Vec<String>,
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

pub(super) fn import(args: &Import, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let imported = codeowners::read(&text_of(args, session)?, &handles(&args.owners)?);
    let mode = Mode { dry_run: args.dry_run, expect: args.expect.read()?, ..Mode::default() };
    let has_edits = super::has_edits(session, &vault)?;
    let note = args.note.as_deref();
    let outcome = session.workspace.import_owners(&vault, &imported, (note, mode))?;
    let outcome = session.acted(&vault, outcome);
    super::warn_of_edits(session, has_edits && !outcome.items.is_empty());
    session.tell();
    if session.ui.json {
        let event = EventReport::new(&outcome, args.dry_run, session.ui.spell());
        session.ui.report(&ImportReport::new(&imported, event));
    } else {
        print(session, &imported);
        match outcome.items.is_empty() {
            true if has_edits => {
                session.ui.line("nothing to import: the live stewards.yaml assigns all of this");
            }
            true => session.ui.line("nothing to import: all of this is assigned and published"),
            false => event::text(session, "import", &outcome, args.dry_run),
        }
    }
    if has_edits && outcome.items.is_empty() {
        let publish = session.ui.publish();
        session.ui.warn(&format!(
            "the live stewards.yaml has unpublished changes; run `{publish} stewards.yaml`"
        ));
    }
    let answer = event::note_trouble(session, &outcome);
    Ok(if answer == Answer::Yes { Answer::of(&imported.skipped) } else { answer })
}

fn print(session: &mut Session<'_>, imported: &Imported) {
    for one in &imported.mapped {
        let names: Vec<_> = one.reviewers.iter().map(|name| shown(name.as_str())).collect();
        let line = format!("line {}: {}: {}", one.line, super::scope(&one.scope), names.join(", "));
        session.ui.line(&line);
    }
    for one in &imported.skipped {
        let (text, why) = (shown(&one.text), shown(&one.why));
        session.ui.note(&format!("warning: line {} is not mapped: {why}: {text}", one.line));
    }
}

fn text_of(args: &Import, session: &Session<'_>) -> Result<String, Failure> {
    let path = session.workspace.environment.cwd.join(&args.codeowners);
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(Code::Io, format!("cannot read `{}`: {why}", path.display()))
    };
    let mut bytes = Vec::new();
    let file = File::open(&path).map_err(|why| failed(&why))?;
    let most = limit::STEWARDS as u64;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|why| failed(&why))?;
    if bytes.len() as u64 > most {
        return Err(failed(&"it is larger than 1 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| failed(&"it is not UTF-8"))
}

fn handles(owners: &[String]) -> Result<BTreeMap<String, Vec<Principal>>, Failure> {
    let mut handles: BTreeMap<String, Vec<Principal>> = BTreeMap::new();
    for owner in owners {
        let wrong = |why: &str| Failure::new(Code::Usage, format!("`--owner {owner}`: {why}"));
        let (handle, name) = owner.split_once('=').ok_or_else(|| {
            wrong("expected `HANDLE=PRINCIPAL`, such as `@org/legal=lee@example.com`")
        })?;
        let principal =
            name.parse().map_err(|why: crate::values::model::principal::PrincipalError| {
                wrong(&why.to_string())
            })?;
        handles.entry(handle.to_owned()).or_default().push(principal);
    }
    Ok(handles)
}
