//! `ctx skill`.

use super::Answer;
use super::session::Session;
use super::ui::shown;
use crate::read::derived::skill::{Change, Taught};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::skill::SkillReport;
use crate::service::workspace::call::map;
use crate::service::workspace::skill::Project;

/// Teach agents to use the vault
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx skill install --dry-run\n  ctx skill install --check")]
pub(super) struct Skill {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Install(Install),
}

/// Write a SKILL.md and a section of AGENTS.md for agents
///
/// The files tell an agent to select and read published versions, to cite them by their pinned
/// URIs, and to submit changes instead of publishing them. They name the packs of the last
/// checkpoint and repeat its CONTEXT.md, unless stewards decide who may read, because a project has
/// other readers. Both go to the folder of the git repository that contains the vault.
///
/// A file, or a section, that was edited by hand is never overwritten: then nothing is written. To
/// have it written again, remove it. Other text of AGENTS.md stays. Run the command again after
/// CONTEXT.md or a pack was published.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx skill install --dry-run\n  ctx skill install\n  \
ctx skill install --skills .agents/skills\n  ctx skill install --check")]
struct Install {
    /// Folder of the project, which contains the vault; default: that of the git repository, else
    /// the vault's
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// Folder of skills in the project, as the agent looks for them
    #[arg(long, value_name = "FOLDER", default_value = ".claude/skills")]
    skills: String,
    /// Print what would be written; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Exit 1 if a file is missing or out of date; write nothing
    #[arg(long, conflicts_with = "dry_run")]
    check: bool,
}

pub(super) fn run(args: &Skill, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let Action::Install(args) = &args.action;
    let vault = session.vault()?;
    let project = session.workspace.project(&vault, args.project.as_deref(), &args.skills)?;
    let source = session.source(&vault, map::NEED)?;
    let about = session.ask(|call, _| {
        let mapped = call.map((&vault, &source), None)?;
        call.skill(&mapped, project.vault.clone())
    })?;
    let about = session.release(about);
    let plan = project.plan(&about)?;
    if let Some((one, why)) = plan.edited() {
        let message = format!("`{}` was left as it is: {why}", one.path);
        return Err(Failure::new(Code::Refused, message).hint(
            "nothing was written; move the file or the section away, then run the command again",
        ));
    }
    let is_written = !args.dry_run && !args.check;
    if is_written {
        project.bring(&plan)?;
    }
    session.print(&SkillReport::new(&project.folder, &plan.files, is_written), |session, _| {
        text(session, (&project, &plan.files), args, is_written);
    });
    let is_whole = plan.files.iter().all(|(_, change)| *change == Change::Unchanged);
    Ok(if args.check && !is_whole { Answer::No } else { Answer::Yes })
}

fn text(
    session: &mut Session<'_>,
    (project, files): (&Project, &[(Taught, Change)]),
    args: &Install,
    is_written: bool,
) {
    let row = |(one, change): &(Taught, Change)| {
        let would = if is_written || *change == Change::Unchanged { "" } else { "would be " };
        let path = project.folder.join(&one.path);
        vec![shown(&path.to_string_lossy()).into_owned(), format!("{would}{}", change.as_str())]
    };
    session.ui.table(&files.iter().map(row).collect::<Vec<_>>());
    for (one, _) in files.iter().filter(|_| args.dry_run) {
        session.ui.line("");
        session.ui.harmless(&one.text);
    }
}
