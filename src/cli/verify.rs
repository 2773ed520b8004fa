//! `ctx verify`.

use std::collections::HashMap;

use serde::Serialize;

use super::session::Session;
use super::ui::shown;
use super::{Answer, Failure};
use crate::verify::{Class, Code, Finding, Report, Verdict, verify};
use crate::words::count;

/// Recompute everything and say whether anything was altered
///
/// Reads the whole vault: every hash of every version and checkpoint is recomputed, every version
/// reconstructed, every live file compared. Nothing is repaired. `intact, not anchored` means that
/// the record is whole in itself; that nobody rewrote all of it, or cut off its end, takes a hash
/// kept outside of the vault to prove.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 intact (notes allowed), 1 damaged, unsettled or drifted.\n\n\
Examples:\n  ctx verify\n  ctx verify --allow-drift --json"
)]
pub(super) struct Verify {
    /// Exit 0 if nothing but live files differ
    #[arg(long)]
    allow_drift: bool,
}

#[derive(Serialize)]
struct VerifyJson {
    verdict: &'static str,
    checkpoints: u64,
    head: Option<String>,
    artifacts: usize,
    versions: u64,
    unprotected_notes: u64,
    unprotected_retirements: u64,
    findings: Vec<FindingJson>,
}

#[derive(Serialize)]
struct FindingJson {
    code: &'static str,
    class: &'static str,
    path: String,
    id: Option<String>,
    version: Option<u64>,
    checkpoint: Option<u64>,
    expected: Option<String>,
    found: Option<String>,
    message: String,
}

impl From<&Finding> for FindingJson {
    fn from(finding: &Finding) -> Self {
        Self {
            code: finding.code.as_str(),
            class: finding.code.class().as_str(),
            path: finding.path.clone(),
            id: finding.id.as_ref().map(ToString::to_string),
            version: finding.version,
            checkpoint: finding.checkpoint,
            expected: finding.expected.clone(),
            found: finding.found.clone(),
            message: finding.message.clone(),
        }
    }
}

pub(super) fn run(args: &Verify, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let report = verify(&vault, session.now()?)?;
    if session.ui.json {
        let json = VerifyJson {
            verdict: report.verdict.as_str(),
            checkpoints: report.checkpoints,
            head: report.head.map(|hash| hash.to_string()),
            artifacts: report.artifacts,
            versions: report.versions,
            unprotected_notes: report.unprotected_notes,
            unprotected_retirements: report.unprotected_retirements,
            findings: report.findings.iter().map(FindingJson::from).collect(),
        };
        session.ui.result("verify", &json);
    } else {
        text(session, &report);
    }
    Ok(match report.verdict {
        Verdict::IntactNotAnchored | Verdict::NothingPublished => Answer::Yes,
        Verdict::WorkingCopyDiffers if args.allow_drift => Answer::Yes,
        Verdict::WorkingCopyDiffers | Verdict::Unsettled | Verdict::Damaged => Answer::No,
    })
}

/// So many findings of one kind are told one by one; one altered checkpoint can give thousands.
const MOST: usize = 20;

fn text(session: &mut Session<'_>, report: &Report) {
    let ui = &mut session.ui;
    ui.line(report.verdict.as_str());
    ui.line(&format!(
        "  {}, {}, {} recomputed",
        count(usize::try_from(report.checkpoints).unwrap_or(usize::MAX), "checkpoint"),
        count(report.artifacts, "artifact"),
        count(usize::try_from(report.versions).unwrap_or(usize::MAX), "version"),
    ));
    if let Some(head) = &report.head {
        ui.line(&format!("  head: checkpoint {}, {head}", report.checkpoints));
    }
    let unprotected = [
        (report.unprotected_notes, "the notes of", "version"),
        (report.unprotected_retirements, "who retired", "document"),
    ];
    for (n, what, noun) in unprotected.into_iter().filter(|(n, ..)| *n > 0) {
        let n = count(usize::try_from(n).unwrap_or(usize::MAX), noun);
        ui.line(&format!("  covered by no hash: {what} {n}"));
    }
    let mut class = None;
    let mut told: HashMap<Code, usize> = HashMap::new();
    for finding in &report.findings {
        let nth = told.entry(finding.code).or_default();
        *nth += 1;
        if *nth > MOST {
            continue;
        }
        if class != Some(finding.code.class()) {
            class = Some(finding.code.class());
            ui.line("");
            ui.line(&format!("{}:", heading(finding.code.class())));
        }
        let mut place = finding.id.as_ref().map_or_else(
            || shown(&finding.path).into_owned(),
            |id| shown(id.as_str()).into_owned(),
        );
        if let Some(version) = finding.version {
            place.push_str(&format!(" v{version}"));
        }
        if let Some(checkpoint) = finding.checkpoint {
            place.push_str(&format!(", checkpoint {checkpoint}"));
        }
        ui.line(&format!("  [{}] {place}: {}", finding.code, shown(&finding.message)));
        if let (Some(expected), Some(found)) = (&finding.expected, &finding.found) {
            ui.line(&format!("      expected {}", shown(expected)));
            ui.line(&format!("      found    {}", shown(found)));
        }
        ui.line(&format!("      in {}", shown(&finding.path)));
    }
    let mut more: Vec<_> = told.into_iter().filter(|(_, n)| *n > MOST).collect();
    more.sort_unstable();
    for (code, n) in more {
        ui.line(&format!("  [{code}] and {} more, which `--json` lists", n - MOST));
    }
    let next = match report.verdict {
        Verdict::Damaged => {
            "restore the files named above from a copy that verifies, then run it again"
        }
        Verdict::Unsettled => {
            "do not publish before it is clear where the unsealed versions come from"
        }
        Verdict::WorkingCopyDiffers => {
            "`ctx diff ID` shows a change, `ctx publish --changed` publishes it, `ctx read ID > FILE` takes it back"
        }
        Verdict::IntactNotAnchored | Verdict::NothingPublished => return,
    };
    ui.note(&format!("hint: {next}"));
}

fn heading(class: Class) -> &'static str {
    match class {
        Class::Damage => "Damage: what was recorded was altered, or is gone",
        Class::Unsettled => "Unsettled: something is recorded by halves",
        Class::WorkingCopy => "Working copy: a live file differs from what is published",
        Class::Note => "Notes",
    }
}
