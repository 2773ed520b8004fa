//! `ctx source diff`.

use crate::front::cli::Answer;
use crate::front::cli::limit::{self, Limit};
use crate::front::cli::session::Session;
use crate::front::cli::stage::warn_of_damage;
use crate::front::cli::ui::shown;
use crate::read::snapshot::{Need, Snapshot};
use crate::service::report::failure::Failure;
use crate::service::report::source::{PromotedFromReport, SourceDiffReport};
use crate::service::report::staging::difference_block;
use crate::service::workspace::source::no_source;
use crate::service::workspace::staging::{Difference, PromotedFrom, handed_out};

/// Show what changed between the last two staged results of a source
///
/// Compares the last result that is kept and that you may see with the one before it of the same
/// server and tools; if a session is named, with `--session` or CTX_SESSION, it compares those that
/// you recorded in it. The arguments of the tools are not recorded: results of different questions
/// differ, too. JSON is compared by structure: each part that was added, removed or changed, with
/// its JSON Pointer. Other texts are compared by their lines. The changes are between two lines
/// that mark them as data. Documents that were promoted from earlier results of the same server and
/// tools follow, with whether the last result still has their content.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx source diff sources/prices\n  \
ctx source diff sources/prices --every-session --json")]
pub(super) struct Diff {
    /// Id or file of a source
    id: String,
    /// Compare the results of every session, even if one is named
    #[arg(long)]
    every_session: bool,
    #[command(flatten)]
    limit: Limit,
}

/// Default number of printed parts, or lines of a difference.
const MANY: usize = 1000;

pub(super) fn run(args: &Diff, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let id = session.workspace.readable_id(&vault, &args.id)?;
    let source = session.source(&vault, Need::Versions)?;
    let view = session.workspace.staged_of_source(&vault, &session.labels, &id)?;
    let is_own = !session.labels.session_implicit && !args.every_session;
    let (old, new) = view.last_two(&id, is_own).or_else(|few| {
        let head = Snapshot::of(&vault, &source, None)?;
        Err(no_source(&head, &id).unwrap_or(few))
    })?;
    let difference = Difference::of(&vault, old, new)?;
    let promoted = session.workspace.promoted_before((&vault, &source), (&view, new))?;
    let equal = match &difference {
        Difference::Json(changes) => changes.is_empty(),
        _ => old.entry.raw_hash == new.entry.raw_hash,
    };
    session.recording.listed = Some(2);
    let answer = warn_of_damage(session, view.damaged());
    let mut lines = difference.lines();
    let omitted = args.limit.or(MANY).first(&mut lines);
    let printed = lines.len();
    let lines = session.release(handed_out(lines.concat(), (old, new)));
    if session.ui.json {
        let changes = match &difference {
            Difference::Json(changes) => changes.get(..printed),
            _ => None,
        };
        let found = SourceDiffReport {
            source: id.to_string(),
            from: old.name().to_string(),
            to: new.name().to_string(),
            at: [&old.at, &new.at],
            equal,
            form: difference.form(),
            changes,
            diff: &lines,
            promoted: promoted.iter().map(report).collect(),
        };
        session.ui.report(&limit::report(found, omitted));
        return Ok(answer);
    }
    if equal {
        session.ui.note(&format!("note: {} and {} have the same content", old.name(), new.name()));
    } else if matches!(difference, Difference::Bytes) {
        session.ui.note(&format!(
            "note: the contents of {} and {} differ, and are not compared as texts; `ctx stage show \
             ENTRY --raw` prints the bytes",
            old.name(),
            new.name()
        ));
    } else {
        session.ui.harmless(&difference_block((old, new), difference.form().as_str(), &lines));
    }
    promoted.iter().for_each(|one| session.ui.line(&sentence(one)));
    limit::note(omitted).iter().for_each(|note| session.ui.note(note));
    Ok(answer)
}

fn report(of: &PromotedFrom) -> PromotedFromReport {
    let (document, entry) = (of.document.to_string(), of.entry.clone());
    PromotedFromReport { document, entry, published: of.published, current: of.is_current }
}

/// Returns the sentence for a steward about a document that was promoted from an earlier result.
fn sentence(of: &PromotedFrom) -> String {
    let document = shown(of.document.as_str()).into_owned();
    let state = match of.published {
        Some(version) => format!("`{document}`, published as version {version},"),
        None => format!("`{document}`, which is not published,"),
    };
    let entry = shown(&of.entry).into_owned();
    match of.is_current {
        true => format!("{state} was promoted from {entry}, whose content is still the last one"),
        false => format!("{state} was promoted from {entry}: the last result has another content"),
    }
}
