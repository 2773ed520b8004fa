//! `ctx review show`.

use crate::front::cli::color::Paint;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::cli::{Answer, Locking};
use crate::service::report::failure::Failure;
use crate::service::report::review::QueuedAction;
use crate::service::report::submission::{
    ChangedLine, EmergencyReport, HunkReport, LineChange, SubmissionEndReport, SubmissionReport,
};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::number::Version;
use crate::values::text_util::count;

/// Show the changes of one submission, and who may approve it
///
/// Compares the submitted text with the last one that was approved: first the fields of the
/// frontmatter, without those that every step sets, then the lines of the frontmatter if comments,
/// order or spelling differ too, then the body. Parts that a page does not show are named. A line
/// that begins with `~` has marked words: removed ones as `[-…-]`, added ones as `{+…+}`, on a
/// terminal in colours. A line that has such marks itself is shown as removed and added. Needs the
/// role viewer; the access is recorded. With --version, it also shows a submission that was decided, compared with
/// the text that was approved last before it: to its submitter, and to editors and reviewers of its
/// text.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx review show nodes/policies/returns\n  \
ctx review show nodes/policies/returns --version 4\n  \
ctx review show stewards.yaml --json")]
pub(super) struct Show {
    /// Id or file of a document or governance file
    id: String,
    /// The version that was submitted, decided or not
    #[arg(long, value_name = "N")]
    version: Option<Version>,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Show, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let submitted = session.call.submission(&vault, &args.id, args.version)?;
    session.tell();
    let report = SubmissionReport::new(&submitted, session.ui.spell());
    session.print(&report, |session, _| {
        head(session, &report);
        changes(session, &report);
        for remark in &report.comments {
            let about =
                format!("{} of v{}, {}: ", shown(remark.by), remark.version, shown(remark.at));
            session.ui.line(&format!("comment by {about}{}", shown(remark.text)));
        }
        if report.ended.is_none() {
            foot(session, &report, submitted.principal.as_str());
        }
    });
    Ok(Answer::Yes)
}

fn head(session: &mut Session<'_>, report: &SubmissionReport<'_>) {
    let one = &report.submission;
    let is = if report.ended.is_some() { "was" } else { "is" };
    let what = match (one.action, one.target) {
        (QueuedAction::Emergency, _) => "was retired in an emergency".to_owned(),
        (QueuedAction::Retire, _) => format!("{is} to be retired"),
        (QueuedAction::Move, Some(target)) => {
            format!("{is} to be moved to {}", shown(target.as_str()))
        }
        _ => format!("{is} to be published"),
    };
    let title = format!("{} v{} {what}", shown(one.id.as_str()), one.version);
    session.ui.painted(Paint::Heading, &title);
    let by = if one.action == QueuedAction::Emergency { "retired by" } else { "submitted by" };
    let base = match one.base.0 {
        0 if one.action == QueuedAction::Emergency => String::new(),
        0 => match report.former {
            Some(former) => format!(", after the retirement of v{former}"),
            None => ", the first version".to_owned(),
        },
        base => format!(", based on v{base}"),
    };
    session.ui.line(&format!("{by} {}, {}{base}", shown(one.by), one.at));
    if let Some(reason) = report.reason {
        session.ui.line(&format!("reason: {}", shown(reason)));
    }
    if let Some(emergency) = &report.emergency {
        let EmergencyReport { version, by, at, reason } = emergency;
        session.ui.line(&format!(
            "retired in an emergency by {}, v{version}, {at}: {}",
            shown(by),
            shown(reason)
        ));
    }
    if let Some(end) = &report.ended {
        session.ui.line(&ended_by(end));
    }
    if let Some(note) = report.unprotected_note {
        session.ui.line(&format!("note: {}", shown(note)));
    }
    if let Some(change) = one.change.filter(|_| report.ended.is_some()) {
        session.ui.line(&format!("change {}", shown(change)));
    } else if let Some(change) = one.change {
        let known = report.members.iter().map(|id| shown(id.as_str()).into_owned());
        let hidden = (report.members_hidden > 0)
            .then(|| format!("{} that you may not read", count(report.members_hidden, "document")));
        let others: Vec<_> = known.chain(hidden).collect();
        let others = match others.is_empty() {
            true => "no other document".to_owned(),
            false => others.join(", "),
        };
        session.ui.line(&format!("change {}, with {others}", shown(change)));
        for id in report.members_left {
            let id = shown(id.as_str());
            session.ui.line(&format!("  no longer with {id}, which was retired in an emergency"));
        }
    }
    let approvals: Vec<_> = one.approvals.iter().map(|by| shown(by)).collect();
    let by =
        if approvals.is_empty() { String::new() } else { format!(": {}", approvals.join(", ")) };
    session.ui.line(&format!("approvals: {} of {}{by}", approvals.len(), one.required));
}

/// Returns who ended a submission, and why.
pub(crate) fn ended_by(end: &SubmissionEndReport<'_>) -> String {
    let reason = end.reason.map_or_else(String::new, |reason| format!(": {}", shown(reason)));
    let SubmissionEndReport { how, version, by, at, .. } = end;
    format!("{how} by {}, v{version}, {at}{reason}", shown(by))
}

fn changes(session: &mut Session<'_>, report: &SubmissionReport<'_>) {
    let is_text =
        report.submission.action == QueuedAction::Publish || !report.submission.id.is_document();
    if !is_text {
        if report.submission.action != QueuedAction::Emergency {
            session.ui.line("The text stays as it is published.");
        }
        return warnings(session, report);
    }
    session.ui.line("");
    for field in &report.fields {
        let value =
            |value: Option<&str>| value.map_or("(none)".to_owned(), |v| shown(v).into_owned());
        let (before, after) = (value(field.before), value(field.after));
        session.ui.line(&format!("{}: {before} -> {after}", shown(field.name)));
    }
    if report.respelled {
        session.ui.line("The lines of the frontmatter, whose comments, order or spelling differ:");
    }
    for hunk in &report.frontmatter {
        self::hunk(session, hunk);
    }
    for hunk in &report.hunks {
        self::hunk(session, hunk);
    }
    if report.fields.is_empty() && report.hunks.is_empty() && !report.respelled {
        session.ui.line(match report.former {
            Some(_) => "The text is the one that was published before.",
            None => "The text is the published one.",
        });
    }
    session.ui.line("");
    warnings(session, report);
}

fn warnings(session: &mut Session<'_>, report: &SubmissionReport<'_>) {
    for warning in &report.warnings {
        let line = warning.line.map_or_else(String::new, |line| format!("line {line}: "));
        let message = shown(&warning.message);
        session.ui.note(&format!("warning[{}]: {line}{message}", warning.code));
    }
}

fn hunk(session: &mut Session<'_>, hunk: &HunkReport<'_>) {
    let sections = hunk.sections.iter().filter(|anchor| !anchor.is_empty());
    let sections: String = sections.map(|anchor| format!(" #{}", shown(anchor))).collect();
    let replaced = hunk.replaces.iter();
    let replaced: Vec<String> =
        replaced.map(|of| format!("{} (v{})", shown(of.edited_by), of.version)).collect();
    let replaced = match replaced.is_empty() {
        true => String::new(),
        false => format!(", replaces lines of {}", replaced.join(", ")),
    };
    let place = format!("@@ line {} -> {}{sections}{replaced} @@", hunk.from_line, hunk.to_line);
    session.ui.painted(Paint::Remark, &place);
    hunk.lines.iter().for_each(|line| self::line(session, line));
}

fn line(session: &mut Session<'_>, line: &ChangedLine<'_>) {
    let sign = match line.change {
        LineChange::Removed => "-",
        LineChange::Added => "+",
        LineChange::Changed => "~",
        _ => " ",
    };
    let paint = |change| match change {
        LineChange::Removed => Paint::Bad,
        LineChange::Added => Paint::Good,
        _ => Paint::Plain,
    };
    let mut pieces = vec![(paint(line.change), sign.to_owned())];
    let is_colored = session.ui.is_colored();
    for part in &line.parts {
        let text = match (line.change, part.change) {
            (LineChange::Changed, LineChange::Removed) if !is_colored => {
                format!("[-{}-]", part.text)
            }
            (LineChange::Changed, LineChange::Added) if !is_colored => {
                format!("{{+{}+}}", part.text)
            }
            _ => part.text.to_owned(),
        };
        pieces.push((paint(part.change), text));
    }
    session.ui.pieces(&pieces);
}

fn foot(session: &mut Session<'_>, report: &SubmissionReport<'_>, me: &str) {
    let is_emergency = report.submission.action == QueuedAction::Emergency;
    let decide = if is_emergency { "ratify" } else { "approve" };
    let who: Vec<_> = report.reviewers.iter().map(|name| shown(name)).collect();
    let change = report.submission.change.filter(|_| report.waits_for_others);
    if let (Some(change), None) = (change, report.fault) {
        let waits =
            "It has the approvals that it needs, and waits for the other parts of the change";
        session.ui.line(&format!("{waits} {}", shown(change)));
        return;
    }
    match who.is_empty() {
        true => session.ui.line(&format!("No steward may {decide} it")),
        false => session.ui.line(&format!("may {decide}: {}", who.join(", "))),
    }
    if let Some(fault) = report.fault {
        session.ui.note(&format!("warning: it cannot be approved: {}", shown(fault)));
    } else if let Some(barred) = report.barred {
        session.ui.note(&format!("note: {} may not {decide} it: {}", shown(me), shown(barred)));
    } else {
        session.ui.note(&format!("hint: run {}", shown(&session.ui.spell().call(&report.approve))));
    }
    if report.barred_by_loss && report.fault.is_none() {
        let of = Call::new(Verb::AuditDismiss).value(report.submission.id.as_str());
        let hint = Hint::call(
            "a merge lost submissions of it, whose submitters may not approve it; {} by another reviewer of the vault ends that",
            of.word("--reason").word("TEXT"),
        );
        session.ui.note(&format!("hint: {}", shown(&hint.render(session.ui.spell()))));
    }
    if is_emergency {
        session.ui.note("note: to bring the document back, restore and submit it");
    }
}
