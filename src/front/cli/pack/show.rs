//! `ctx pack show`.

use crate::front::cli::as_of::AsOf;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::cli::{Answer, document};
use crate::read::snapshot::{Need, QueryPlan, Snapshot};
use crate::service::report::failure::Failure;
use crate::service::report::pack::PackShowReport;
use crate::service::workspace::search;
use crate::text::pack;
use crate::values::text_util::count;

/// Show the definition of a sealed pack and its documents
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx pack show procurement.onboarding\n  \
ctx pack show procurement.onboarding --at 3 --json")]
pub(super) struct Show {
    /// Id of the pack, with or without `pack:`
    id: String,
    #[command(flatten)]
    at: AsOf,
}

pub(super) fn run(args: &Show, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Fields)?;
    let at = args.at.checkpoint(session, &vault, &source)?;
    let snapshot = Snapshot::of(&vault, &source, at)?;
    let packs = snapshot.packs()?;
    let id = args.id.strip_prefix("pack:").unwrap_or(&args.id);
    let sealed = packs.find(id, snapshot.checkpoint())?;
    let mut plan = session.with_search(|workspace, on_slow| {
        let places = (&vault, &source);
        let mut ask =
            |query: &str| search::in_selector(workspace, places, &snapshot, (query, true), on_slow);
        Ok(QueryPlan::of_pack(sealed, &snapshot, &mut ask)?)
    })?;
    let mut resolution = snapshot.resolve(&plan)?;
    resolution.withhold(&mut plan.withheld);
    let checkpoint = snapshot.checkpoint();
    session.recording.class = Some(plan.class());
    session.recording.query = Some(format!("pack:{id}"));
    session.recording.listed = Some(resolution.documents.len());
    let report = PackShowReport::new(&snapshot, sealed, &plan, &resolution);
    let report = session.release(report);
    session.print(&report, |session, _| {
        let (file, version) = (shown(sealed.file.as_str()), sealed.version);
        session.ui.line(&format!("# {file} v{version} at checkpoint {checkpoint}"));
        for line in pack::write(&sealed.pack).lines() {
            session.ui.line(&shown(line));
        }
        session.ui.line(&format!("\n# {}", count(resolution.documents.len(), "document")));
        session.ui.table(&document::rows(&resolution.portions()));
    });
    document::note(session, plan.backend.as_deref(), &plan.notes);
    Ok(session.answer(&resolution.withheld))
}
