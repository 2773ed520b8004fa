//! A report for people: the verdict, its anchors, and the findings, worst first, each with its
//! meaning and remedy.

use std::collections::{BTreeSet, HashMap};

use crate::front::cli::color::Paint;
use crate::front::cli::ui::{Ui, shown};
use crate::prove::verify::{AnchorResult, AnchorSource, Class, Code, Finding, Report, Verdict};
use crate::values::model::hint::Hint;
use crate::values::model::number::CheckpointNumber;
use crate::values::text_util::count;

/// Maximum number of listed findings of one code, because one altered checkpoint can
/// cause thousands.
const MOST: usize = 20;

pub(in crate::front::cli) fn report(ui: &mut Ui<'_>, report: &Report, whole: bool) {
    let anchors = || report.anchors.iter().filter(|held| held.vouches());
    let best = anchors().max_by_key(|held| held.checkpoint);
    let mut verdict = match best.filter(|_| report.verdict == Verdict::IntactAnchored) {
        Some(held) => format!("intact, anchored to checkpoint {}", held.checkpoint),
        None => report.verdict.as_str().to_owned(),
    };
    if !whole {
        let checked = count(report.ids.len(), "artifact");
        verdict.push_str(&format!(" ({checked} and the log; nothing else was checked)"));
    }
    ui.painted(paint(report.verdict), &verdict);
    summary(ui, report);
    findings(ui, &report.findings);
    if report.omitted > 0 {
        ui.line(&format!("  and {} more findings, which are not listed", report.omitted));
    }
    meanings(ui, &report.findings);
    let is_foreign = |f: &Finding| matches!(f.code, Code::ForeignRecord | Code::VersionForgotten);
    if report.is_foreign && report.findings.iter().any(is_foreign) {
        ui.note("hint: `ctx checkpoint adopt --dry-run` lists the records of the reference implementation, and explains the adoption");
    }
    let next = match report.verdict {
        Verdict::Damaged
        | Verdict::Unsettled
        | Verdict::Incomplete
        | Verdict::WorkingCopyDiffers => "`ctx help CODE` explains a finding",
        Verdict::IntactNotAnchored => {
            "store the output of `ctx head` elsewhere, and pass it to `ctx verify --expect-head`, to detect truncation or a full rewrite"
        }
        Verdict::NothingPublished if report.has_edits() => "`ctx help CODE` explains a finding",
        Verdict::IntactAnchored | Verdict::NothingPublished => return,
    };
    ui.note(&format!("hint: {next}"));
}

fn paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Damaged => Paint::Bad,
        Verdict::Unsettled | Verdict::Incomplete | Verdict::WorkingCopyDiffers => Paint::Doubtful,
        Verdict::NothingPublished => Paint::Plain,
        Verdict::IntactAnchored | Verdict::IntactNotAnchored => Paint::Good,
    }
}

fn summary(ui: &mut Ui<'_>, report: &Report) {
    for held in &report.anchors {
        ui.line(&format!("  {}", anchor(held)));
    }
    let vouched = report.anchors.iter().filter(|held| held.vouches());
    if report.verdict == Verdict::WorkingCopyDiffers && vouched.clone().next().is_none() {
        ui.line("  not anchored: a truncated or replaced log would not be detected");
    }
    if let Some(newest) = vouched.map(|held| held.checkpoint).max()
        && newest.0 < report.checkpoints
    {
        let which = match (newest.0 + 1, report.checkpoints) {
            (one, last) if one == last => format!("checkpoint {one}"),
            (from, last) => format!("checkpoints {from} to {last}"),
        };
        ui.line(&format!("  newer than the anchor: {which}"));
    }
    ui.line(&format!(
        "  {}, {}, {} recomputed",
        count_of(report.checkpoints, "checkpoint"),
        count(report.ids.len(), "artifact"),
        count_of(report.versions, "version"),
    ));
    if report.staged_results > 0 {
        let staged = count(report.staged_results, "staged result");
        ui.line(&format!("  {staged} in the chains, with their kept contents"));
    }
    if let Some(head) = &report.head {
        ui.line(&format!("  head: checkpoint {}, {head}", report.checkpoints));
    }
    let unprotected = [
        (report.unprotected_notes, "the notes of", "version"),
        (report.unprotected_retirements, "who retired", "document"),
    ];
    for (n, what, noun) in unprotected.into_iter().filter(|(n, ..)| *n > 0) {
        ui.line(&format!("  covered by no hash: {what} {}", count_of(n, noun)));
    }
    if report.drafts > 0 {
        let files = count_of(report.drafts, "edited live file");
        let what = match ui.is_governed() {
            true => ", drafts or awaiting a decision",
            false => " with `status: draft`",
        };
        ui.line(&format!("  no finding: {files}{what}; `ctx status` lists them"));
    }
}

fn anchor(held: &AnchorResult) -> String {
    let what = match held.checkpoint {
        CheckpointNumber::NONE => "the empty log".to_owned(),
        n => format!("checkpoint {n}"),
    };
    let at = |name: &str, commit: &str| {
        let short = commit.get(..12).unwrap_or(commit);
        format!("{} ({})", shown(name), shown(short))
    };
    match &held.source {
        AnchorSource::Expected => format!("anchor: {what}, as expected"),
        AnchorSource::Trusted { since } => {
            format!("anchor: {what}, trusted on this machine since {since}")
        }
        AnchorSource::Revision { name, commit } => {
            format!("anchor: {what}, at revision {}", at(name, commit))
        }
        AnchorSource::MergeBase { name, commit, behind } => {
            let behind = match behind {
                0 => "no checkpoint".to_owned(),
                n => count_of(*n, "checkpoint"),
            };
            let base = at(name, commit);
            format!("compared: {what}, at the merge base with {base}; {behind} behind")
        }
    }
}

fn findings(ui: &mut Ui<'_>, findings: &[Finding]) {
    let mut class = None;
    let mut told: HashMap<Code, usize> = HashMap::new();
    for finding in findings {
        let nth = told.entry(finding.code).or_default();
        *nth += 1;
        if *nth > MOST {
            continue;
        }
        if class != Some(finding.code.class()) {
            class = Some(finding.code.class());
            ui.line("");
            let heading = format!("{}:", heading(finding.code.class()));
            ui.painted(Paint::Heading, &heading);
        }
        ui.line(&format!("  [{}] {}: {}", finding.code, place(finding), shown(&finding.message)));
        for (name, value) in [("expected", &finding.expected), ("found   ", &finding.found)] {
            if let Some(value) = value {
                ui.line(&format!("      {name} {}", shown(value)));
            }
        }
        ui.line(&format!("      in {}", shown(&finding.path)));
    }
    let mut more: Vec<_> = told.into_iter().filter(|(_, n)| *n > MOST).collect();
    more.sort_unstable();
    for (code, n) in more {
        ui.line(&format!("  [{code}] and {} more; `--json` lists them", n - MOST));
    }
}

/// Returns document, version and checkpoint of a finding, as far as it has them.
fn place(finding: &Finding) -> String {
    let mut place = finding
        .id
        .as_ref()
        .map_or_else(|| shown(&finding.path).into_owned(), |id| shown(id.as_str()).into_owned());
    if let Some(version) = finding.version {
        place.push_str(&format!(" v{version}"));
    }
    if let Some(checkpoint) = finding.checkpoint {
        place.push_str(&format!(", checkpoint {checkpoint}"));
    }
    place
}

/// Prints the meaning and remedy of each kind of finding once. A note needs no advice.
fn meanings(ui: &mut Ui<'_>, findings: &[Finding]) {
    let mut told = BTreeSet::new();
    let mut advice: Vec<(Hint, Vec<Code>)> = Vec::new();
    for code in findings.iter().map(|f| f.code).filter(|code| code.class() != Class::Note) {
        if !told.insert(code) {
            continue;
        }
        let remedy = code.remedy();
        match advice.iter_mut().find(|(other, _)| *other == remedy) {
            Some((_, codes)) => codes.push(code),
            None => advice.push((remedy, vec![code])),
        }
    }
    if !advice.is_empty() {
        ui.line("");
        ui.painted(Paint::Heading, "Meaning and remedy:");
    }
    for (remedy, codes) in advice {
        for code in codes {
            ui.line(&format!("  [{code}] {}", code.meaning()));
        }
        ui.line(&format!("      {}", remedy.render(ui.spell())));
    }
}

fn heading(class: Class) -> &'static str {
    match class {
        Class::Damage => "Damage: recorded data was altered or is missing",
        Class::Unsettled => "Unsettled: incomplete or unreadable records",
        Class::WorkingCopy => "Working copy: live files that differ from their published versions",
        Class::Note => "Notes",
    }
}

fn count_of(n: u64, noun: &str) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), noun)
}
