//! `ctx restore`.

use super::color::Paint;
use super::event::{Planned, live_diff};
use super::session::Session;
use super::ui::shown;
use super::{Answer, Locking};
use crate::files::vault::Vault;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::restore::{RestoreOutcome, RestoreReport, RestoredReport};
use crate::service::workspace::call::restore::Restored;
use crate::service::workspace::version::number;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::write::publish::RestoredFile;

/// Write the text of a version into the live file; publish nothing
///
/// Without --version, it writes the published text, or the last one of a retired document, which
/// is a draft then. The text of an earlier version is written as an edit of the published one,
/// so that `ctx publish` makes a new version of it. If the fields of a file do not name the
/// version that it was edited from, as under `frontmatter: untouched`, publish it with `ctx
/// publish ID --expect-version N`, where N is the published version. Every hash of the text is
/// recomputed first. A text that was published without a valid approval is not written, even after
/// its retirement. A live file with changes that no version contains is not overwritten,
/// unless --force is given.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx restore nodes/policies/returns\n  \
ctx restore nodes/policies/returns --version 1 --dry-run")]
pub(super) struct Restore {
    /// Ids or files of documents or governance files
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Restore this version of one document
    #[arg(long, value_name = "N")]
    version: Option<String>,
    /// Overwrite changes that no version contains
    #[arg(long)]
    force: bool,
    /// Show what would be written; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Restore, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let ids = args.ids.iter().map(|text| session.workspace.recorded_id(&vault, text));
    let ids: Vec<DocumentId> = ids.collect::<Result<_, _>>()?;
    let version = args.version.as_deref().map(number).transpose()?;
    if version.is_some() && ids.len() > 1 {
        return Err(Failure::new(Code::Usage, "`--version` is the version of one document")
            .hint("restore one document at a time"));
    }
    let (force, dry_run) = (args.force, args.dry_run);
    let restored = session.call.restore(&vault, (&ids, version), (force, dry_run))?;
    let files = &restored.restoring.files;
    if session.ui.json {
        session.ui.report(&RestoreReport::new(files, dry_run, session.ui.spell()));
    } else {
        files.iter().for_each(|file| text(session, &vault, (&restored, file), dry_run));
    }
    session.record(None)?;
    restored.restoring.write(&vault).inspect_err(|_| session.ui.discard())?;
    Ok(Answer::Yes)
}

/// Shows what a dry run would write into a live file.
fn live_change(
    session: &mut Session<'_>,
    vault: &Vault,
    (restored, file): (&Restored, &RestoredFile),
    path: &str,
) {
    match Planned::of(path, &file.live) {
        None => {}
        Some(Planned::Line(line)) => session.ui.line(&line),
        Some(Planned::Text(new)) => {
            let old = vault.files().read(path, limit::DOCUMENT).unwrap_or_default();
            let diff = live_diff(path, (&String::from_utf8_lossy(&old), new), "restored");
            let diff = session.restored_diff(vault, (restored, file), diff);
            session.ui.diff(&diff);
        }
    }
}

/// Says what becomes of a file.
fn text(
    session: &mut Session<'_>,
    vault: &Vault,
    (restored, file): (&Restored, &RestoredFile),
    dry_run: bool,
) {
    let report = RestoredReport::new(file, session.ui.spell());
    let (path, version) = (shown(&report.path), report.version);
    match (report.outcome, dry_run) {
        (RestoreOutcome::Unchanged, _) => {
            session.ui.line(&format!("unchanged: {path} has the text of version {version}"));
        }
        (_, true) => {
            session.ui.line(&format!("would restore {path} from version {version}"));
            live_change(session, vault, (restored, file), &report.path);
        }
        (_, false) => {
            let line = format!("restored {path} from version {version}");
            session.ui.painted(Paint::Good, &line);
        }
    }
    if let Some(hint) = &report.hint {
        session.ui.note(&format!("hint: {}", shown(hint)));
    }
}
