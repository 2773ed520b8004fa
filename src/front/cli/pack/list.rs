//! `ctx pack list`.

use crate::front::cli::Answer;
use crate::front::cli::as_of::AsOf;
use crate::front::cli::limit::{self, Limit};
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::read::snapshot::packs::Unusable;
use crate::service::report::failure::Failure;
use crate::service::report::pack::{PackReport, PacksReport};
use crate::service::workspace::call::packs;
use crate::text::uri::Class;
use crate::values::text_util::count;

/// List the sealed packs with the number of their documents
///
/// A pack that contains a search is listed as `delegated`, without a number, because the search is
/// not run. `ctx pack show` runs it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx pack list\n  ctx pack list --at 3 --json")]
pub(super) struct List {
    #[command(flatten)]
    at: AsOf,
    #[command(flatten)]
    limit: Limit,
}

pub(super) fn run(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, packs::NEED)?;
    let at = args.at.checkpoint(session, &vault, &source)?;
    let (snapshot, packs) = session.packs((&vault, &source), at)?;
    let mut report = PacksReport::new(&snapshot, &packs)?;
    let omitted = args.limit.first(&mut report.packs);
    session.recording.listed = Some(report.packs.len());
    limit::print(session, report, omitted, |session, report| {
        session.ui.table(&report.packs.iter().map(row).collect::<Vec<_>>());
    });
    for Unusable { file, why, .. } in &packs.unusable {
        let (file, message) = (shown(file.as_str()), why.kind.to_string());
        let (line, code) = (why.line, why.code());
        session.ui.note(&format!("warning[{code}]: {file}, line {line}: {}", shown(&message)));
    }
    if packs.usable.is_empty() && packs.unusable.is_empty() && packs.withheld.is_empty() {
        session.ui.note("hint: no pack is published; `ctx pack add` makes one");
    }
    Ok(session.answer(&packs.withheld))
}

fn row(pack: &PackReport<'_>) -> Vec<String> {
    let documents = match (pack.documents, pack.class) {
        (Some(n), _) => count(n, "document"),
        (None, class) => class.map_or("?", Class::as_str).to_owned(),
    };
    vec![
        shown(pack.id).into_owned(),
        documents,
        format!("{} v{}", shown(pack.path), pack.version),
        shown(pack.label.unwrap_or_default()).into_owned(),
    ]
}
