//! The pending submissions of a vault, and the live files that they were made from.

use rayon::prelude::*;

use super::super::PublishError;
use super::due::{Due, due};
use super::queue::{Queue, Waiting, queue};
use super::reasons::add_reason;
use crate::files::vault::Vault;
use crate::policy::rules::PastSubmission;
use crate::policy::stewards::{Role, Scope, Stuck};
use crate::policy::viewer::Viewer;
use crate::read::snapshot::{CheckpointSource, Need, Snapshot};
use crate::read::status::{DocumentState, GovernanceState, Row, Status};
use crate::read::working;
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::text::document::stamp::is_submitted;
use crate::text::document::text::normalise;
use crate::text::document::utf8;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::timestamp::Timestamp;

/// The review work of a governed vault, as `status` reports it.
pub(crate) struct Awaiting {
    /// The pending submissions.
    pub(crate) queue: Queue,
    /// The scopes with only one reviewer, each with that principal.
    pub(crate) alone: Vec<(Scope, String)>,
    /// The scopes at which nothing could be approved.
    pub(crate) stuck: Vec<Stuck>,
    /// The documents whose approval is too old.
    pub(crate) due: Vec<Due>,
    /// The submissions that were rejected, or ended by an emergency retirement, whose live files
    /// still differ from what is published.
    pub(crate) refused: Vec<PastSubmission>,
}

impl Awaiting {
    /// Reads the pending submissions that the reader may read, and marks their live files as
    /// submitted (REV-25).
    ///
    /// # Errors
    /// The log or the configuration cannot be relied on, or no principal is configured although
    /// only stewards may read.
    pub(crate) fn of(
        (vault, chronicle): (&Vault, &Chronicle<'_>),
        head: &Snapshot<'_>,
        now: Timestamp,
        status: &mut Status,
    ) -> Result<Self, PublishError> {
        // Damage is reported even without a principal.
        super::queue::rules_in_force(vault, chronicle)?;
        let viewer = Viewer::of_log(vault, chronicle)?;
        let source = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())?;
        let queue = queue(vault, &source, None)?;
        for waiting in &queue.waiting {
            mark(vault, waiting, status);
        }
        let stewards = &queue.rules.stewards;
        let own = viewer.as_ref().and_then(|viewer| viewer.own_scopes(stewards));
        let is_own = |scope: &Scope| own.as_ref().is_none_or(|own| own.contains(scope));
        let scopes = stewards.scopes().filter(|scope| is_own(&scope.scope));
        let alone = scopes.filter_map(|scope| {
            let holders = stewards.holders(scope).into_iter();
            let mut reviewers = holders.filter(|holder| holder.role == Role::Reviewer);
            let (first, second) = (reviewers.next()?, reviewers.next());
            second.is_none().then(|| (scope.scope.clone(), first.principal.to_string()))
        });
        let alone = alone.collect();
        let mut due = due(vault, chronicle, head, now)?;
        if viewer.is_some() {
            let readable = Snapshot::at(vault, chronicle, None)?;
            due.retain(|due| readable.may_name(&due.id));
        }
        let mut stuck = stewards.stuck();
        stuck.retain(|stuck| is_own(&stuck.scope));
        let refused = refused(vault, status, viewer.as_ref());
        Ok(Self { queue, alone, stuck, due, refused })
    }
}

/// Returns the refused submissions of documents whose live files differ from what is published.
fn refused(vault: &Vault, status: &Status, viewer: Option<&Viewer>) -> Vec<PastSubmission> {
    let differs = |row: &&Row| DIFFERS.contains(&row.state) || row.state == DocumentState::Stale;
    let of_documents = status.documents.iter().filter(differs).filter_map(|row| row.id.as_ref());
    let is_changed = |state| matches!(state, GovernanceState::New | GovernanceState::Changed);
    let of_files = status.governance.iter().filter(|(_, state)| is_changed(*state));
    let ids: Vec<&DocumentId> = of_documents.chain(of_files.map(|(id, _)| id)).collect();
    let past = |id: &DocumentId| {
        let history = replay::load(vault.files(), id).ok()?;
        let mut past = PastSubmission::refused(vault.files(), id, &history).ok()??;
        if let Some(end) = &mut past.end {
            add_reason(vault, id, end).ok()?;
        }
        viewer.is_none_or(|viewer| viewer.may_read_track(&past.track)).then_some(past)
    };
    ids.into_par_iter().filter_map(past).collect()
}

/// The states of live files that may be those of a submission.
const DIFFERS: [DocumentState; 4] = [
    DocumentState::Changed,
    DocumentState::Draft,
    DocumentState::Unpublished,
    DocumentState::Retired,
];

fn mark(vault: &Vault, waiting: &Waiting, status: &mut Status) {
    let track = &waiting.track;
    let Some(pending) = &track.pending else { return };
    let id = track.id();
    if !id.is_document() {
        let read = vault.files().read_optional(&id.live_path(), limit::DOCUMENT);
        let Ok(live) = read else { return };
        let live = live.unwrap_or_default();
        let is_same = utf8(&live).is_ok_and(|live| *normalise(live) == *pending.text);
        let rows = status.governance.iter_mut().filter(|(row, _)| is_same && row == id);
        rows.for_each(|(_, state)| *state = GovernanceState::Submitted);
        return;
    }
    let rows = status.documents.iter_mut().filter(|row| row.id.as_ref() == Some(id));
    for row in rows.filter(|row| DIFFERS.contains(&row.state)) {
        if was_made_from(vault, id, &pending.text) {
            row.state = DocumentState::Submitted;
        }
    }
}

fn was_made_from(vault: &Vault, id: &DocumentId, submitted: &str) -> bool {
    let live = working::read(vault, &id.live_path()).and_then(|file| file.content.ok());
    live.is_some_and(|live| is_submitted(id, &live.text, &live.document, submitted))
}
