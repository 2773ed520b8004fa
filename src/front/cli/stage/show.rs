//! `ctx stage show`.

use std::borrow::Cow;

use super::{name, warn_of_damage};
use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::staging::{StagedReport, StagedShowReport, block};

/// Print a staged entry, its content between two lines that mark it as data
///
/// The content was never reviewed. With --raw only the bytes are printed, exactly as they were
/// received, to a pipe or a file. For an ended entry the record is printed, and exit code 1 shows
/// that the content is gone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx stage show 0a1b2c3d-17\n  \
ctx stage show contextnest://staged/sources/prices/0a1b2c3d-17 --raw > prices.json")]
pub(super) struct Show {
    /// URI of the staged entry, or only its last part: `0a1b2c3d-17`
    #[arg(value_name = "ENTRY")]
    entry: String,
    /// Print the bytes alone, as they were received
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

pub(super) fn run(args: &Show, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let name = name(&args.entry)?;
    let view = session.workspace.staged_named(&vault, &session.labels, &[&name])?;
    let entry = view.find(&name)?;
    session.recording.listed = Some(1);
    let answer = warn_of_damage(session, view.damaged().filter(|source| **source == entry.source));
    let report = StagedReport::of(entry, view.is_own(entry));
    if entry.ended.is_some() && !args.raw {
        session.print(&StagedShowReport(report), |session, report| facts(session, &report.0));
        session.ui.note("note: its content is gone");
        return Ok(Answer::No);
    }
    let content = view.content(&vault, entry)?;
    // A terminal would interpret the bytes.
    if args.raw && session.workspace.options.command.terminal {
        let message = "bytes as they were received are not printed to a terminal";
        return Err(Failure::new(Code::Usage, message).hint("send them to a file or a pipe"));
    }
    let content = session.release(content);
    if args.raw {
        session.ui.bytes(&content.bytes);
    } else if session.ui.json {
        session.ui.report(&StagedShowReport(report.with(&content.bytes)));
    } else {
        facts(session, &report);
        session.ui.harmless(&block(entry, &content.bytes));
    }
    Ok(answer)
}

fn facts(session: &mut Session<'_>, report: &StagedReport) {
    let mut field = |name: &str, value: Option<Cow<'_, str>>| {
        if let Some(value) = value {
            session.ui.line(&format!("{name:<16}{}", shown(&value)));
        }
    };
    let text = |text: &'_ str| Some(Cow::Owned(text.to_owned()));
    field("uri", text(&report.uri));
    field("state", text(report.state.as_str()));
    field("source", text(&report.source_uri));
    field("source version", Some(report.source_version.to_string().into()));
    field("at", text(&report.at));
    field("principal", report.principal.as_deref().map(Cow::from));
    field("session", report.session.as_deref().map(Cow::from));
    field("media type", report.media_type.as_deref().map(Cow::from));
    field("bytes", Some(report.bytes.to_string().into()));
    field(
        "content hash",
        Some(format!("{} ({})", report.content_hash, report.canonical.as_str()).into()),
    );
    field("raw hash", text(&report.raw_hash));
    field("chain hash", text(&report.chain_hash));
    field("tools", (!report.tools.is_empty()).then(|| report.tools.join(", ").into()));
    field("server", report.server.as_deref().map(Cow::from));
    field("cache", report.cache.as_deref().map(Cow::from));
    field("kept until", text(&report.retention_until));
    for promotion in &report.promoted {
        let by = promotion.by.as_deref().unwrap_or("-");
        let (document, version, at) = (&promotion.document, promotion.version, &promotion.at);
        field("promoted", Some(format!("{document} v{version}, by {by}, {at}").into()));
    }
    if let Some(ended) = &report.ended {
        let by = ended.by.as_deref().unwrap_or("-");
        field("ended", Some(format!("{}, by {by}, {}", ended.act, ended.at).into()));
        field("reason", ended.reason.as_deref().map(Cow::from));
    }
}
