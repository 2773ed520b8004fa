//! `ctx diff`.

use super::Answer;
use super::session::Session;
use super::ui::shown;
use crate::files::vault::Vault;
use crate::read::snapshot::Snapshot;
use crate::read::status::cache::Seen;
use crate::read::status::{self, DocumentState, GovernanceState, Row};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::history::{DiffReport, DiffsReport};
use crate::service::workspace::places::Places;
use crate::service::workspace::version::{live_text, published};
use crate::values::model::id::DocumentId;
use crate::values::text_util::count;

/// Show changes between two versions, or since publication
///
/// Without an id, or with folders, it compares the published texts with the live files of all
/// documents that differ. With an id and no version, it compares one document in this way. With one
/// version, it compares that version with the live file. Texts are compared in the form that is
/// hashed, in which CRLF and LF are equal.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx diff\n  ctx diff nodes/policies/\n  ctx diff nodes/policies/returns\n  \
ctx diff nodes/policies/returns 1 3\n  ctx diff nodes/policies/returns 2 live"
)]
pub(super) struct Diff {
    /// Id or file of a document, or a folder; default: all changed documents
    #[arg(value_name = "ID|FOLDER")]
    id: Option<String>,
    /// The older version
    v1: Option<String>,
    /// The newer version, or `live` for the live file
    v2: Option<String>,
}

impl Diff {
    /// Returns true if two versions of one document are compared, and no live file.
    pub(super) fn is_between_versions(&self) -> bool {
        let is_version = |side: &Option<String>| side.as_ref().is_some_and(|side| side != "live");
        is_version(&self.v1) && is_version(&self.v2)
    }
}

pub(super) fn run(args: &Diff, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    let head = Snapshot::at(&vault, &chronicle, None)?;
    head.check_rules()?;
    let places = session.workspace.places_at(&vault, &head, args.id.as_slice())?;
    let [id] = places.ids() else { return changed(args, session, (&vault, &head), &places) };
    let (ground, sides) = ((&vault, &chronicle, &head), (args.v1.as_deref(), args.v2.as_deref()));
    let difference = session.ask(|call, _| call.diff(ground, id, sides))?;
    session.print(&difference.report(), |session, _| {
        session.ui.diff(&difference.diff);
        if difference.equal {
            let (from, to) = (&difference.from, &difference.to);
            session.ui.note(&format!("note: {from} and {to} are equal"));
        }
        for finding in &difference.findings {
            session.ui.note(&format!("note: {finding}"));
        }
    });
    Ok(Answer::Yes)
}

/// The states of live files that differ from the published text.
const DIFFERENT: [DocumentState; 5] = [
    DocumentState::Stale,
    DocumentState::Changed,
    DocumentState::RetiredElsewhere,
    DocumentState::Draft,
    DocumentState::Invalid,
];

/// Returns the diffs of all documents and governance files in these places that differ from the
/// published text.
fn changed(
    args: &Diff,
    session: &mut Session<'_>,
    (vault, head): (&Vault, &Snapshot<'_>),
    places: &Places,
) -> Result<Answer, Failure> {
    if args.v1.is_some() {
        return Err(Failure::new(Code::Usage, "a version needs a single document")
            .hint("name a document, not a folder"));
    }
    let compared = status::status(vault, head, &Seen::open(vault))?;
    let (gone, present): (Vec<Row>, Vec<Row>) =
        compared.documents.into_iter().partition(|row| row.state == DocumentState::Missing);
    let gone = gone.into_iter().filter_map(|row| row.id);
    let missing: Vec<DocumentId> =
        gone.filter(|id| places.holds(&id.live_path(), Some(id))).collect();
    let rows = present.into_iter().filter(|row| DIFFERENT.contains(&row.state));
    let mut ids: Vec<DocumentId> = rows.filter_map(|row| row.id).collect();
    let governance = compared.governance.into_iter();
    ids.extend(governance.filter(|(_, s)| *s == GovernanceState::Changed).map(|(id, _)| id));
    ids.retain(|id| places.holds(&id.live_path(), Some(id)) && head.holds(id).unwrap_or(false));
    ids.sort_unstable();
    let mut diffs = Vec::new();
    for id in &ids {
        match (published(vault, head, id), live_text(vault, id)) {
            (Ok(served), Ok(live)) => {
                let path = id.live_path();
                let from = format!("v{}", served.entry.version);
                let names = match session.ui.json {
                    true => (from.clone(), "live".to_owned()),
                    false => {
                        (format!("{} ({from})", shown(&path)), format!("{} (live)", shown(&path)))
                    }
                };
                let diff = session.diff_to_live(served, &live, (&names.0, &names.1));
                diffs.push((id, from, diff));
            }
            (Err(why), _) | (_, Err(why)) => {
                session.ui.note(&format!(
                    "warning: {}: {}",
                    shown(id.as_str()),
                    shown(&why.message)
                ));
            }
        }
    }
    if session.ui.json {
        let diffs = diffs.iter().map(|(id, from, diff)| DiffReport {
            unapproved: &[],
            id,
            from,
            to: "live",
            equal: false,
            diff,
        });
        session.ui.report(&DiffsReport { diffs: diffs.collect(), missing: &missing });
        return Ok(Answer::Yes);
    }
    if diffs.is_empty() && missing.is_empty() {
        session.ui.note("note: no published document differs; `ctx status` lists new ones");
    }
    for (_, _, diff) in &diffs {
        session.ui.diff(diff);
    }
    note_missing(session, &missing);
    Ok(Answer::Yes)
}

/// Names the first documents without live files, which cannot be compared.
fn note_missing(session: &mut Session<'_>, missing: &[DocumentId]) {
    const NAMED: usize = 3;
    if missing.is_empty() {
        return;
    }
    let first: Vec<_> = missing.iter().take(NAMED).map(|id| shown(id.as_str())).collect();
    let more = if missing.len() > NAMED { ", …" } else { "" };
    let (documents, first) = (count(missing.len(), "document"), first.join(", "));
    let what = format!("the live files of {documents} are missing: {first}{more}");
    session.ui.note(&format!("note: {what}; `ctx status` says what to do"));
}
