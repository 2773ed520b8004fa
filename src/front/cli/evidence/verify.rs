//! `ctx evidence verify`.

use std::path::PathBuf;

use crate::front::cli::Answer;
use crate::front::cli::color::Paint;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::prove::evidence::bundle::verify::{Verdict, verify};
use crate::service::report::evidence::{EvidenceVerifyReport, LIMITS, TOOL};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::bundle;
use crate::values::model::digest::Digest;
use crate::values::text_util::count;

/// Verify a bundle without its vault, item by item
///
/// Recomputes every hash of the bundle, from each returned text to the head of the checkpoint log.
/// An item is `proved`, `not proved` with what is missing, or `contradicted` with the place.
/// Without --expect-head the head is not anchored: the bundle is consistent, but was compared with
/// nothing from elsewhere. In a governed vault each approval is judged as `ctx verify` judges it. A
/// holder of the bundle could replace lines of the log in it and list everything again:
/// --expect-sha256 compares the file with the hash that `ctx evidence export` printed. Exit code 1
/// if an item is contradicted or its proof is missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx evidence verify session.tar\n  \
ctx evidence verify session.tar --json")]
pub(super) struct Verify {
    /// The bundle; `-` is stdin
    file: PathBuf,
    /// Hash of a checkpoint from elsewhere, as `ctx head` prints it
    #[arg(long, value_name = "HASH")]
    expect_head: Option<String>,
    /// The SHA-256 of the bundle, as `ctx evidence export -o` prints it
    #[arg(long, value_name = "HEX")]
    expect_sha256: Option<String>,
}

pub(super) fn run(args: &Verify, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let expected = args.expect_head.as_ref().map(|hash| hash.parse::<Digest>()).transpose();
    let expected = expected.map_err(|why| {
        Failure::new(Code::Usage, format!("invalid hash of a head: {why}"))
            .hint("`ctx head` prints it")
    })?;
    let whole = args.expect_sha256.as_deref().map(hash_of_file).transpose()?;
    let bytes = match args.file.as_os_str() == "-" {
        true => bundle::read(&mut *session.stdin)
            .map_err(|why| Failure::new(Code::Io, format!("cannot read stdin: {why}")))?,
        false => bundle::read_file(&session.workspace.environment.cwd.join(&args.file))?,
    };
    let mut verified = verify(&bytes, expected.as_ref())?;
    if let Some(whole) = whole {
        verified = verified.compared_with(&bytes, &whole);
    }
    let report = EvidenceVerifyReport::from(verified);
    session.print(&report, |session, _| print(session, &report));
    Ok(if report.holds() { Answer::Yes } else { Answer::No })
}

/// Parses the hash of a file, as ctx or `sha256sum` prints it.
fn hash_of_file(text: &str) -> Result<Digest, Failure> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    format!("sha256:{digits}").parse().map_err(|why| {
        Failure::new(Code::Usage, format!("invalid SHA-256 of a bundle: {why}"))
            .hint("`ctx evidence export -o FILE` prints it, and so does `sha256sum FILE`")
    })
}

fn print(session: &mut Session<'_>, report: &EvidenceVerifyReport) {
    let ui = &mut session.ui;
    ui.painted(Paint::Heading, &format!("{} {}", report.scope, shown(&report.name)));
    for item in report.items.iter().filter(|item| item.verdict != Verdict::Proved) {
        let paint = match item.verdict {
            Verdict::Contradicted => Paint::Bad,
            _ => Paint::Doubtful,
        };
        let why = item.why.as_deref().unwrap_or_default();
        let (name, why) = (shown(&item.name), shown(why));
        let name = if item.kind.as_str() == name { String::new() } else { format!(" {name}") };
        ui.painted(paint, &format!("{}: {}{name}: {why}", item.verdict, item.kind));
    }
    if let Some(head) = &report.head {
        let (number, hash) = (head.checkpoint, shown(&head.hash));
        ui.line(&format!("exported at checkpoint {number} {hash}"));
    }
    if report.is_of_another_tool() {
        let (theirs, ours) = (shown(&report.tool), TOOL);
        ui.painted(
            Paint::Doubtful,
            &format!("made by ctx {theirs}, another version than this one ({ours})"),
        );
    }
    let items = count(report.items.len(), "item");
    let EvidenceVerifyReport { proved, not_proved, contradicted, .. } = report;
    let head = match (report.anchored, &report.head) {
        (false, Some(_)) => "; the head is not anchored",
        _ => "",
    };
    ui.line(&format!(
        "{items}: {proved} proved, {not_proved} not proved, {contradicted} contradicted{head}"
    ));
    ui.line("limits of every bundle:");
    LIMITS.iter().for_each(|limit| ui.line(&format!("  {limit}")));
}
