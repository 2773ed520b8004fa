//! `ctx submit`.

use super::expect::ExpectArgs;
use super::session::Session;
use super::{Answer, Locking, event, progress};
use crate::service::report::event::Submitted;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::argument::file_or_input;
use crate::write::publish::review::{Submission, submit};
use crate::write::publish::{Mode, Which};

/// Submit texts for review; a reviewer publishes them
///
/// In a governed vault a text is published only after a reviewer approved exactly these bytes. Each
/// live file is recorded as an unpublished version, and stays as it is. Without a name, --changed
/// submits every changed document and governance file that is published and not a draft. --from
/// reads the text of one document from a file, and the live file is not read; a text without
/// frontmatter is the new body, and the published title, tags and other fields stay. Documents that
/// are submitted under one --change are published together or not at all. Submitting again replaces
/// your own submission; a part of a change stays one. One invalid document refuses all of them,
/// unless --skip-invalid is given. --renew is for an approval that is older than
/// `review.max_age` of `stewards.yaml`: it submits the published text, and another principal than
/// the submitter approves it. Needs the role editor.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx submit nodes/policies/returns -m \"new threshold\"\n  \
ctx submit --changed --change autumn-prices\n  ctx submit nodes/policies/returns --from draft.md\n  \
ctx submit nodes/policies/returns --renew -m \"still correct\"")]
pub(super) struct Submit {
    /// Ids or files of documents and governance files, or folders: the changed documents in them
    #[arg(value_name = "ID|FOLDER", conflicts_with = "changed")]
    ids: Vec<String>,
    /// Submit every change to published texts, except drafts
    #[arg(long)]
    changed: bool,
    /// File with the text for the one document, or `-` for standard input
    #[arg(long, value_name = "FILE|-", conflicts_with = "changed")]
    from: Option<String>,
    /// Publish these documents only together with the others of this change
    #[arg(long, value_name = "NAME")]
    change: Option<String>,
    /// Withdraw another principal's submission of them, with its change
    #[arg(long)]
    supersede: bool,
    /// Submit the published texts as they are, to renew their approval
    #[arg(long, conflicts_with_all = ["changed", "from"])]
    renew: bool,
    /// Submit the valid documents, and exit 1 if any is invalid
    #[arg(long, conflicts_with = "change")]
    skip_invalid: bool,
    /// Note to store with each version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    /// Show what would be submitted; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectArgs,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Submit, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let cwd = &session.workspace.environment.cwd;
    let from = args.from.as_deref();
    let from = from.map(|from| file_or_input(from, cwd, session.stdin)).transpose()?;
    let workspace = &session.call.workspace;
    let author = workspace.author(&vault, args.note.as_deref(), None)?;
    let which = match args.changed {
        true => Which::Changed,
        false => workspace.artifacts(&vault, &args.ids)?,
    };
    let (which, from) = workspace.to_submit(&vault, (which, &args.ids), from)?;
    if args.ids.is_empty() && !args.changed {
        return Err(Failure::new(Code::Usage, "no document to submit is named")
            .hint("`--changed` submits every change to published texts")
            .hint("or name documents; `ctx status` lists all that differ"));
    }
    let skip_invalid = args.skip_invalid;
    let mode = Mode { skip_invalid, ..args.expect.mode(args.dry_run)? };
    if args.renew && !matches!(which, Which::Ids(_)) {
        return Err(Failure::new(Code::Usage, "`--renew` needs the ids of documents")
            .hint("`ctx status` lists the documents that are due for a review"));
    }
    let (change, supersede, renew) = (args.change.as_deref(), args.supersede, args.renew);
    let submission = Submission { author: &author, which, from, change, supersede, renew, mode };
    let many = !matches!(&submission.which, Which::Ids(ids) if ids.len() == 1);
    let outcome = progress::watch(session, &vault, || submit(&vault, &submission));
    let hint = "`--skip-invalid` submits the valid documents";
    let outcome = outcome.map_err(|why| event::refused(why, many && change.is_none(), hint))?;
    let outcome = session.acted(&vault, outcome);
    Ok(event::print(session, &outcome, args.dry_run, Submitted))
}
