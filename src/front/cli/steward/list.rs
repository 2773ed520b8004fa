//! `ctx steward list`.

use crate::front::cli::Answer;
use crate::front::cli::as_of::AsOf;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::read::snapshot::Need;
use crate::service::report::failure::Failure;
use crate::service::report::stewards::{
    AssignmentReport, ReviewEntryReport, ScopeReport, StewardsReport,
};
use crate::values::text_util::count;

/// List the published assignments, groups and review settings
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx steward list\n  ctx steward list --at 3 --json")]
pub(super) struct List {
    #[command(flatten)]
    at: AsOf,
}

pub(super) fn run(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let at = args.at.checkpoint(session, &vault, &source)?;
    let (found, known) = session.workspace.stewards_at(&vault, source.log(&vault)?, at)?;
    let own = match known {
        Ok(()) => session.workspace.own_scopes(&vault, source.log(&vault)?, &found)?,
        // If the configuration cannot be read, the assignments in `stewards.yaml` do not give
        // roles.
        Err(why) if !found.in_force.stewards.is_empty() => return Err(why),
        Err(why) => {
            session.ui.withhold(&why);
            None
        }
    };
    let mut report = StewardsReport::new(&found);
    let hidden = own.map_or(0, |own| report.keep(&own));
    session.recording.listed = Some(report.assignments.len());
    session.print(&report, |session, _| {
        session.ui.table(&report.assignments.iter().map(assignment).collect::<Vec<_>>());
        for group in &report.groups {
            let members: Vec<_> = group.members.iter().map(|member| shown(member)).collect();
            let line = format!("group {}: {}", shown(group.name), members.join(", "));
            session.ui.line(&line);
        }
        for entry in &report.review {
            session.ui.line(&setting(entry));
        }
    });
    if hidden > 0 {
        let what = count(hidden, "scope");
        session.ui.note(&format!("note: you may not read {what} at which you do not have a role"));
    }
    Ok(super::note_basis(session, &found))
}

fn scope(scope: &ScopeReport) -> String {
    let name = scope.name.as_deref().map(|name| format!(" {}", shown(name)));
    format!("{}{}", scope.scope, name.unwrap_or_default())
}

fn assignment(one: &AssignmentReport<'_>) -> Vec<String> {
    let group = one.group.map(|group| format!("group {}", shown(group)));
    let who = one.principal.map(|principal| shown(principal).into_owned()).or(group);
    vec![scope(&one.scope), one.role.to_string(), who.unwrap_or_default()]
}

fn setting(entry: &ReviewEntryReport) -> String {
    let required = entry.required.map(|n| count(n as usize, "reviewer"));
    let age = entry.max_age_days.map(|days| format!("due again after {days} days"));
    let said: Vec<String> = required.into_iter().chain(age).collect();
    format!("review {}: {}", scope(&entry.scope), said.join(", "))
}
