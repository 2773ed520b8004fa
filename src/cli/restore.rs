//! `ctx restore`.

use super::color::Paint;
use super::session::Session;
use super::ui::shown;
use super::{Answer, Locking, event};
use crate::govern::{self, RestoreRequest, RestoredFile};
use crate::model::id::DocumentId;
use crate::report::failure::{Code, Failure};
use crate::report::restore::{RestoreReport, RestoredReport};
use crate::resolve::Snapshot;
use crate::vault::Vault;
use crate::workspace::version::{check_name, number};

/// Write the text of a version into the live file; publish nothing
///
/// Without --version: the published text, or the last one of a retired document, which is a draft
/// then. The text of an earlier version is written as an edit of the published one, so that
/// `ctx publish` makes a new version of it. A file whose fields do not say what it was edited from,
/// as under `frontmatter: untouched`, is published with `ctx publish ID --expect-version N`, where N
/// is the published version. Every hash of the text is recomputed first.
/// A live file with changes that no version holds is not overwritten, unless --force is given.
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
    /// Overwrite changes that no version holds
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
    let workspace = &session.workspace;
    let ids = args.ids.iter().map(|text| workspace.recorded_id(&vault, text));
    let ids: Vec<DocumentId> = ids.collect::<Result<_, _>>()?;
    let log = crate::trust::read_log(&vault)?;
    if let Ok(chronicle) = log.sound() {
        let head = Snapshot::at(&vault, &chronicle, None)?;
        ids.iter().try_for_each(|id| check_name(&head, id))?;
    }
    let version = args.version.as_deref().map(number).transpose()?;
    if version.is_some() && ids.len() > 1 {
        return Err(Failure::new(Code::Usage, "`--version` is the version of one document")
            .hint("restore one document at a time"));
    }
    let holder = workspace.holder("restore")?;
    let (force, dry_run) = (args.force, args.dry_run);
    let request = RestoreRequest { ids: &ids, version, force, dry_run, holder: &holder };
    let restored = govern::restore(&vault, &request)?;
    match session.ui.json {
        true => session.ui.report(&RestoreReport::new(&restored, dry_run, session.ui.spell())),
        false => restored.iter().for_each(|file| text(session, &vault, file, dry_run)),
    }
    Ok(Answer::Yes)
}

fn text(session: &mut Session<'_>, vault: &Vault, file: &RestoredFile, dry_run: bool) {
    let report = RestoredReport::new(file, session.ui.spell());
    let (path, version) = (shown(&report.path), report.version);
    match (report.outcome, dry_run) {
        ("unchanged", _) => {
            session.ui.line(&format!("unchanged: {path} has the text of version {version}"));
        }
        (_, true) => {
            session.ui.line(&format!("would restore {path} from version {version}"));
            event::live_change(session, Some(vault), (&report.path, &file.live), "restored");
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
