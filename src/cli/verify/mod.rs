//! `ctx verify`.

mod anchors;
mod sarif;
mod text;

use std::collections::BTreeSet;

use serde::Serialize;

use super::failure::Code;
use super::session::Session;
use super::{Answer, Failure, known_id, progress};
use crate::model::digest::Digest;
use crate::model::id::Id;
use crate::vault::Vault;
use crate::verify::{Finding, Held, Progress, Report, Request, Source, Verdict, verify};

/// Recompute everything and say whether anything was altered
///
/// Reads the whole vault: every hash of every version and checkpoint is recomputed, every version
/// reconstructed, every live file compared. Nothing is repaired. What the files cannot show, that
/// somebody rewrote all of them or cut off the end, takes a checkpoint hash that is kept elsewhere:
/// the head that is remembered on this machine (`ctx head`), --expect-head, or --since. The verdict
/// says what it is anchored to. A vault that is found whole is remembered.
///
/// --since is strict, for servers: every checkpoint at REVISION must be there. --since-fork is for
/// branches, which may be behind REVISION: it compares with the merge base of HEAD and REVISION, says
/// how many checkpoints the branch is behind, and anchors nothing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 intact (notes allowed), 1 damaged, unsettled or drifted.\n\n\
Examples:\n  ctx verify\n  ctx verify --allow-drift --json\n  ctx verify nodes/policies/returns\n  \
ctx verify --expect-head sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef\n  \
ctx verify --quiet --since origin/main\n  ctx verify --sarif > findings.sarif"
)]
pub(super) struct Verify {
    /// Check only these documents or governance files, and the log
    ids: Vec<String>,
    /// Exit 0 if nothing but live files differ
    #[arg(long)]
    allow_drift: bool,
    /// Demand that a checkpoint of the log has this hash, as `ctx head` printed it
    #[arg(long, value_name = "HASH")]
    expect_head: Vec<String>,
    /// Demand that the log begins with the checkpoints that git has of it at this revision
    #[arg(long, value_name = "REVISION")]
    since: Vec<String>,
    /// Demand that the log begins with what git has of it where this branch left this revision
    #[arg(long, value_name = "REVISION")]
    since_fork: Vec<String>,
    /// Neither read nor write the trusted head of this machine
    #[arg(long)]
    no_trusted_head: bool,
    /// Print the findings in the format of static analysis tools (SARIF 2.1.0)
    #[arg(long)]
    sarif: bool,
    /// Print nothing if the exit code is 0
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Serialize)]
struct VerifyJson {
    verdict: &'static str,
    /// Whether the whole vault was checked, not only what was asked for.
    whole: bool,
    anchors: Vec<AnchorJson>,
    checkpoints: u64,
    head: Option<String>,
    artifacts: usize,
    versions: u64,
    unprotected_notes: u64,
    unprotected_retirements: u64,
    /// Findings that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    omitted: u64,
    /// Why the remembered head says nothing, or was not remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    findings: Vec<FindingJson>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[derive(Serialize)]
struct AnchorJson {
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// How many checkpoints the revision has that this log does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
    checkpoint: u64,
    hash: Option<String>,
}

impl From<&Held> for AnchorJson {
    fn from(held: &Held) -> Self {
        let (mut since, mut revision, mut commit, mut behind) = (None, None, None, None);
        let source = match &held.source {
            Source::Expected => "expected",
            Source::Remembered { since: at } => {
                since = Some(at.to_string());
                "remembered"
            }
            Source::Revision { name, commit: of } => {
                revision = Some(name.clone());
                commit = Some(of.clone());
                "revision"
            }
            Source::MergeBase { name, commit: of, behind: beyond } => {
                revision = Some(name.clone());
                commit = Some(of.clone());
                behind = Some(*beyond);
                "merge-base"
            }
        };
        let hash = held.hash.map(|hash| hash.to_string());
        Self { source, since, revision, commit, behind, checkpoint: held.checkpoint, hash }
    }
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
    if args.sarif && session.ui.json {
        return Err(Failure::new(Code::Usage, "--sarif and --json are two formats of one report"));
    }
    let vault = session.vault()?;
    let vault = if args.no_trusted_head { vault.with_state(None) } else { vault };
    let ids = args.ids.iter().map(|text| recorded_id(session, &vault, text));
    let ids = ids.collect::<Result<BTreeSet<_>, Failure>>()?;
    let mut known = Vec::new();
    for hash in &args.expect_head {
        known.push(anchors::expected(hash)?);
    }
    for revision in &args.since {
        known.push(anchors::revision(session, &vault, revision)?);
    }
    for revision in &args.since_fork {
        known.push(anchors::merge_base(session, &vault, revision)?);
    }
    let progress = Progress::default();
    let request = Request {
        now: session.now()?,
        only: (!ids.is_empty()).then_some(ids),
        anchors: known,
        progress: Some(&progress),
    };
    let whole = request.only.is_none();
    let report = match args.quiet {
        true => verify(&vault, &request)?,
        false => progress::watch(session, &progress, || verify(&vault, &request))?,
    };
    let answer = match report.verdict {
        Verdict::IntactAnchored | Verdict::IntactNotAnchored | Verdict::NothingPublished => {
            Answer::Yes
        }
        Verdict::WorkingCopyDiffers if args.allow_drift => Answer::Yes,
        Verdict::WorkingCopyDiffers | Verdict::Unsettled | Verdict::Damaged => Answer::No,
    };
    if args.quiet && answer == Answer::Yes {
        return Ok(answer);
    }
    if let Some(why) = &report.memory {
        session.ui.note(&format!("warning: {why}"));
    }
    if args.sarif {
        session.ui.json(sarif::report(&report, env!("CARGO_PKG_VERSION")));
    } else if session.ui.json {
        session.ui.result("verify", &json(&report, whole));
    } else {
        text::report(&mut session.ui, &report, whole);
    }
    Ok(answer)
}

/// The id that an argument names: of a file, of a history, or of nothing but the log, which is then
/// the finding.
fn recorded_id(session: &Session<'_>, vault: &Vault, text: &str) -> Result<Id, Failure> {
    let unknown = match known_id(session, vault, text) {
        Err(failure) if failure.code == Code::UnknownId => failure,
        known => return known,
    };
    let id = session.named(vault, text)?;
    let log = crate::head::read_log(vault)?;
    let mut checkpoints = log.entries.iter().flatten();
    let is_sealed = checkpoints.any(|checkpoint| checkpoint.set.iter().any(|(set, _)| *set == id));
    if is_sealed { Ok(id) } else { Err(unknown) }
}

fn json(report: &Report, whole: bool) -> VerifyJson {
    VerifyJson {
        verdict: report.verdict.as_str(),
        whole,
        anchors: report.anchors.iter().map(AnchorJson::from).collect(),
        checkpoints: report.checkpoints,
        head: report.head.map(|hash| hash.to_string()),
        artifacts: report.artifacts,
        versions: report.versions,
        unprotected_notes: report.unprotected_notes,
        unprotected_retirements: report.unprotected_retirements,
        omitted: report.omitted,
        memory: report.memory.as_ref().map(ToString::to_string),
        findings: report.findings.iter().map(FindingJson::from).collect(),
    }
}

/// A checkpoint hash as an argument.
fn digest(text: &str) -> Result<Digest, Failure> {
    text.trim().parse().map_err(|why| {
        Failure::new(Code::Usage, format!("`{text}` is no checkpoint hash: {why}"))
            .hint("`ctx head` prints one")
    })
}
