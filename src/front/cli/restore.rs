//! `ctx restore`.

use super::color::Paint;
use super::event::{Planned, live_diff};
use super::session::Session;
use super::ui::shown;
use super::{Answer, Locking};
use crate::files::vault::Vault;
use crate::read::snapshot::Snapshot;
use crate::record::audit::{Part, Text, Traced};
use crate::record::chain::replay;
use crate::record::trusted_head;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::restore::{RestoreOutcome, RestoreReport, RestoredReport};
use crate::service::workspace::version::{check_name, check_text, failed, number, recorded};
use crate::text::uri::Class;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::write::commit::Live;
use crate::write::publish::{self, RestoreError, RestoreRequest, RestoredFile};

/// Write the text of a version into the live file; publish nothing
///
/// Without --version, it writes the published text, or the last one of a retired document, which
/// is a draft then. The text of an earlier version is written as an edit of the published one,
/// so that `ctx publish` makes a new version of it. If the fields of a file do not name the
/// version that it was edited from, as under `frontmatter: untouched`, publish it with `ctx
/// publish ID --expect-version N`, where N is the published version. Every hash of the text is
/// recomputed first. A live file with changes that no version contains is not overwritten,
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
    let log = trusted_head::read_log(&vault)?;
    let chronicle = log.sound().ok();
    let head = chronicle.as_ref().map(|chronicle| Snapshot::at(&vault, chronicle, None));
    let head = head.transpose()?;
    if let (Some(chronicle), Some(head)) = (&chronicle, &head) {
        ids.iter().try_for_each(|id| check_name(head, id))?;
        session.reads(&vault, chronicle);
    }
    let version = args.version.as_deref().map(number).transpose()?;
    if version.is_some() && ids.len() > 1 {
        return Err(Failure::new(Code::Usage, "`--version` is the version of one document")
            .hint("restore one document at a time"));
    }
    let holder = session.workspace.holder()?;
    let (force, dry_run) = (args.force, args.dry_run);
    let request = RestoreRequest { ids: &ids, version, force, dry_run, holder: &holder };
    let restoring = publish::restore(&vault, &request)?;
    if let Some(head) = &head {
        for file in &restoring.files {
            let id = file.id.clone();
            let history = replay::load(vault.files(), &id);
            let history = history.map_err(|why| RestoreError::History { id, why })?;
            check_text(head, &file.id, (file.version, &history), &file.sealed)?;
            if let Some(why) = head.unapproved(&file.id, file.version, &history) {
                return Err(failed(&vault, &file.id, file.version, why));
            }
        }
    }
    session.recording.class = Some(Class::Direct);
    let text_of = |file: &RestoredFile, handed_out: &str| {
        let history = replay::load(vault.files(), &file.id).ok()?;
        let version = (file.version, &history);
        recorded(
            (vault.files(), chronicle.as_ref()?),
            &file.id,
            version,
            (&file.sealed, handed_out),
        )
    };
    let is_written = |file: &&RestoredFile| !dry_run && !matches!(file.live, Live::Keep);
    for file in restoring.files.iter().filter(is_written) {
        let text = text_of(file, &file.sealed);
        session.release(Traced::new((), text.into_iter().collect()));
    }
    if session.ui.json {
        let report = RestoreReport::new(&restoring.files, dry_run, session.ui.spell());
        session.ui.report(&report);
    } else {
        for file in &restoring.files {
            let diff = text(session, &vault, file, dry_run);
            let shown = diff.and_then(|diff| text_of(file, &diff));
            let shown = shown.map(|text| Text { part: Some(Part::Diff), ..text });
            session.release(Traced::new((), shown.into_iter().collect()));
        }
    }
    session.record(None)?;
    restoring.write(&vault).inspect_err(|_| session.ui.discard())?;
    Ok(Answer::Yes)
}

/// Shows the change that a dry run would make to a live file; returns the printed text.
fn live_change(
    session: &mut Session<'_>,
    vault: &Vault,
    file: &RestoredFile,
    path: &str,
) -> Option<String> {
    match Planned::of(path, &file.live)? {
        Planned::Line(line) => {
            session.ui.line(&line);
            None
        }
        Planned::Text(new) => {
            let old = vault.files().read(path, limit::DOCUMENT).unwrap_or_default();
            let diff = live_diff(path, (&String::from_utf8_lossy(&old), new), "restored");
            session.ui.diff(&diff);
            Some(diff)
        }
    }
}

/// Prints the result for a file; returns the printed text.
fn text(
    session: &mut Session<'_>,
    vault: &Vault,
    file: &RestoredFile,
    dry_run: bool,
) -> Option<String> {
    let report = RestoredReport::new(file, session.ui.spell());
    let (path, version) = (shown(&report.path), report.version);
    let mut diff = None;
    match (report.outcome, dry_run) {
        (RestoreOutcome::Unchanged, _) => {
            session.ui.line(&format!("unchanged: {path} has the text of version {version}"));
        }
        (_, true) => {
            session.ui.line(&format!("would restore {path} from version {version}"));
            diff = live_change(session, vault, file, &report.path);
        }
        (_, false) => {
            let line = format!("restored {path} from version {version}");
            session.ui.painted(Paint::Good, &line);
        }
    }
    if let Some(hint) = &report.hint {
        session.ui.note(&format!("hint: {}", shown(hint)));
    }
    diff
}
