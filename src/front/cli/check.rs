//! `ctx check`.

use super::Answer;
use super::session::Session;
use super::ui::shown;
use crate::service::report::check::CheckedReport;
use crate::service::report::failure::Failure;
use crate::service::workspace::call::check;

/// Check whether cited documents are current, superseded or retired
///
/// Compares each pinned URI with the published text. If the text is `superseded`, the answer names
/// the published version, and reports whether the cited part, the body or a section, is the same. A
/// document that was moved is retired under its old id. A published text that is no longer valid,
/// or that names a document which superseded it, is a warning. The exit code is 1 unless all of
/// them are current.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx check contextnest://nodes/policies/returns@2\n  \
ctx check contextnest://nodes/policies/returns@1#exceptions nodes/policies/returns@2 --json")]
pub(super) struct Check {
    /// Pinned URIs, or `ID@CHECKPOINT`, with `#ANCHOR` for a section
    #[arg(value_name = "URI", required = true)]
    uris: Vec<String>,
}

pub(super) fn run(args: &Check, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, check::NEED)?;
    let now = session.workspace.now()?;
    let report = session.call.check((&vault, &source), &args.uris)?.judged(now);
    session.tell();
    let answer = if report.is_current() { Answer::Yes } else { Answer::No };
    session.print(&report, |session, _| {
        session.ui.table(&report.uris.iter().map(row).collect::<Vec<_>>());
        report.uris.iter().for_each(|one| warn(session, one));
    });
    Ok(answer)
}

/// Warns of a published text whose fields say that it is no longer valid.
fn warn(session: &mut Session<'_>, one: &CheckedReport) {
    let Some(now) = &one.current else { return };
    let uri = shown(&one.uri);
    if let Some(until) = now.valid_until.as_deref().filter(|_| now.expired) {
        let until = shown(until);
        session
            .ui
            .note(&format!("warning: {uri}: version {} expired: valid until {until}", now.version));
    }
    if let Some(by) = &now.superseded_by {
        let by = shown(by);
        session.ui.note(&format!(
            "warning: {uri}: version {} says that it is superseded by {by}",
            now.version
        ));
    }
}

fn row(one: &CheckedReport) -> Vec<String> {
    let about = match (&one.current, &one.reason) {
        (Some(now), _) if Some(now.version) != one.version => {
            let text = if now.same_text { "the text is the same" } else { "the text differs" };
            let uri = now.uri.as_deref().map(|uri| format!(", {}", shown(uri)));
            format!("by v{}, {text}{}", now.version, uri.unwrap_or_default())
        }
        (_, Some(reason)) => shown(reason).into_owned(),
        _ => String::new(),
    };
    vec![one.state.as_str().to_owned(), shown(&one.uri).into_owned(), about]
}
