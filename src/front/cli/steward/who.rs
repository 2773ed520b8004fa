//! `ctx steward who`.

use crate::front::cli::Answer;
use crate::front::cli::as_of::AsOf;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::policy::stewards::{PassedOver, Resolution, Why};
use crate::read::snapshot::{Need, Snapshot};
use crate::service::report::failure::Failure;
use crate::service::report::stewards::{Asked, WhoReport};
use crate::service::workspace::version::check_name;
use crate::values::text_util::count;

/// Explain which scope decides about a document, and which were passed over
///
/// The tags of the live file apply, if there is one; with `--at` those of the published text. The
/// document need not be published.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx steward who nodes/legal/contract\n  \
ctx steward who packs/start.yml --json\n  ctx steward who nodes/policies/returns --at 3")]
pub(super) struct WhoArgs {
    /// Id or file of a document or governance file
    id: String,
    #[command(flatten)]
    at: AsOf,
}

pub(super) fn run(args: &WhoArgs, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let at = args.at.checkpoint(session, &vault, &source)?;
    let id = session.workspace.recorded_id(&vault, &args.id)?;
    check_name(&Snapshot::of(&vault, &source, None)?, &id)?;
    let of = session.workspace.tags_of((&vault, &source), &id, at)?;
    let (found, known) = session.workspace.stewards_at(&vault, source.log(&vault)?, at)?;
    known?;
    let stewards = &found.in_force.stewards;
    let resolution = stewards.resolve(&id, &of.tags);
    let published = of.published.as_ref().and_then(|tags| stewards.scope_of(&id, tags));
    let published = published.map(|at| &at.scope);
    let published =
        published.filter(|scope| resolution.matched.is_none_or(|matched| matched.scope != **scope));
    session.recording.listed = Some(1);
    if session.ui.json {
        let asked = Asked { id: &id, found: &found, tags: &of.tags, is_live: of.is_live };
        session.ui.report(&WhoReport::new(asked, &resolution, published));
    } else {
        text(session, id.as_str(), &resolution);
        if let Some(scope) = published {
            let line = format!(
                "the tags of the published text select another scope: {}",
                super::scope(scope)
            );
            session.ui.line(&line);
        }
    }
    Ok(super::note_basis(session, &found))
}

fn text(session: &mut Session<'_>, id: &str, found: &Resolution<'_>) {
    let matched = found.matched.map(|matched| super::scope(&matched.scope));
    let matched = matched.unwrap_or_else(|| "no scope has a steward".to_owned());
    session.ui.line(&format!("{}: {matched}", shown(id)));
    session.ui.table(&found.holders().iter().map(super::row).collect::<Vec<_>>());
    for PassedOver { scope, why } in &found.passed_over {
        let why = match why {
            Why::Unassigned => "it has no steward",
            Why::Later => "the scope above comes first",
            Why::VaultOnly => "only the stewards of the vault decide about this file",
        };
        session.ui.line(&format!("  passed over: {} ({why})", super::scope(scope)));
    }
    let required = count(found.review.required as usize, "reviewer");
    let age = found.review.max_age.map(|days| format!(", due again after {days} days"));
    session.ui.line(&format!("  review: {required}{}", age.unwrap_or_default()));
}
