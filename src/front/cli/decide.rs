//! `ctx approve`, `ctx reject`, `ctx withdraw` and `ctx comment`.

use super::session::Session;
use super::{Answer, Locking, event};
use crate::service::report::event::{Acted, Approved, Rejected, Withdrawn};
use crate::service::report::failure::Failure;
use crate::service::report::review::CommentReport;
use crate::service::workspace::call::submit::{Decided, Deciding};
use crate::service::workspace::version;
use crate::write::publish::{Mode, review};

/// Which submissions are decided.
#[derive(Debug, clap::Args)]
struct About {
    /// Ids or files of documents and governance files
    #[arg(value_name = "ID", required_unless_present = "change")]
    ids: Vec<String>,
    /// Every submission of this change
    #[arg(long, value_name = "NAME")]
    change: Option<String>,
    /// Decide only if this version was submitted, or retired the document
    #[arg(long, value_name = "N")]
    version: Option<String>,
    /// Note to store with each version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    /// Show what would be recorded; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    locking: Locking,
}

/// Approve submissions, which publishes them
///
/// Publishes exactly the submitted bytes under one checkpoint. An approval that is not the last one
/// that the scope requires, or a part of a change whose other parts wait, is recorded, and the text
/// waits. The submitter of a text, and an author that the submission names, cannot approve it.
/// With --version, an approval is refused if another submission took its place. The approval of an
/// emergency retirement ratifies it; if a submission is pending, too, --version is required. A dry
/// run compares the text with the published one. Needs the role reviewer.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx approve nodes/policies/returns --version 4\n  \
ctx approve --change autumn-prices -m \"checked with legal\"")]
pub(super) struct Approve {
    #[command(flatten)]
    about: About,
}

/// Reject submissions, with the reason
///
/// The other submissions of the same change are rejected with it. Needs the role reviewer.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx reject nodes/policies/returns --reason \"cite the law\"")]
pub(super) struct Reject {
    #[command(flatten)]
    about: About,
    /// Reason; it is part of the recorded text
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Withdraw your own submissions
///
/// The other submissions of the same change are withdrawn, too. Live files stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx withdraw nodes/policies/returns")]
pub(super) struct Withdraw {
    #[command(flatten)]
    about: About,
    /// Reason; it is part of the recorded text
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Record a remark about a submission
///
/// The remark becomes a line of the change log, not a version; `ctx review show` prints it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx comment nodes/policies/returns \"which law?\"")]
pub(super) struct Comment {
    /// Id or file of the document or governance file
    id: String,
    /// The remark
    text: String,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn approve(args: &Approve, session: &mut Session<'_>) -> Result<Answer, Failure> {
    decided(&args.about, session, Deciding::Approve)
        .map(|outcome| event::print(session, &outcome, args.about.dry_run, Approved))
}

pub(super) fn reject(args: &Reject, session: &mut Session<'_>) -> Result<Answer, Failure> {
    decided(&args.about, session, Deciding::Reject(&args.reason))
        .map(|outcome| event::print(session, &outcome, args.about.dry_run, Rejected))
}

pub(super) fn withdraw(args: &Withdraw, session: &mut Session<'_>) -> Result<Answer, Failure> {
    decided(&args.about, session, Deciding::Withdraw(args.reason.as_deref()))
        .map(|outcome| event::print(session, &outcome, args.about.dry_run, Withdrawn))
}

fn decided(
    about: &About,
    session: &mut Session<'_>,
    deciding: Deciding<'_>,
) -> Result<Acted, Failure> {
    let vault = session.locking(&about.locking)?;
    let decided = Decided {
        ids: &about.ids,
        change: about.change.as_deref(),
        version: about.version.as_deref().map(version::number).transpose()?,
        note: about.note.as_deref(),
        mode: Mode { dry_run: about.dry_run, ..Mode::default() },
    };
    session.call.decide(&vault, &decided, deciding)
}

pub(super) fn comment(args: &Comment, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let author = session.workspace.author(&vault, None, None)?;
    let id = session.workspace.named(&vault, &args.id)?;
    review::comment(&vault, &id, &author, &args.text)?;
    session.print(&CommentReport { id: &id }, |session, _| session.ui.line("recorded"));
    Ok(Answer::Yes)
}
