//! The versions of one document or governance file.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Call, Places};
use crate::files::vault::Vault;
use crate::read::snapshot::seals::Seals;
use crate::read::snapshot::{Need, Snapshot};
use crate::record::chain::error::ChainError;
use crate::record::chain::history::History;
#[cfg(feature = "mcp")]
use crate::record::chain::history::{Entry, EntryState};
use crate::record::chain::replay;
use crate::record::chain::walk::Walk;
use crate::service::report::failure::Failure;
use crate::service::report::history::{HistoryReport, LostSeal, ReviewedAs, VersionReport};
use crate::service::workspace::version::{check_name, check_text};
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
#[cfg(feature = "mcp")]
use crate::values::model::principal::PrincipalKey;
use crate::write::publish::review;

/// The data that an answer needs.
pub(crate) const NEED: Need = Need::Versions;

/// The history of an artifact, and the checkpoints that seal its versions.
pub(crate) struct Versions {
    id: DocumentId,
    history: History,
    seals: Seals,
    /// The versions that the reader may not read (REV-24).
    hidden: BTreeSet<Version>,
    /// Faults of the approvals of the other versions.
    unapproved: BTreeMap<Version, ChainError>,
    /// Versions that checkpoints seal but the history lacks.
    lacking: Vec<(CheckpointNumber, Option<Version>)>,
}

impl Call<'_> {
    /// Reads the history of an artifact that was published at least once.
    ///
    /// # Errors
    /// The history is missing or cannot be read, or the reader cannot know of the artifact.
    pub(crate) fn history(
        &mut self,
        (vault, source): Places<'_>,
        id: DocumentId,
    ) -> Result<Versions, Failure> {
        let head = Snapshot::of(vault, source, None)?;
        check_name(&head, &id)?;
        let history = replay::load(vault.files(), &id);
        let history = history.map_err(|why| Failure::history(vault, &id, why))?;
        let seals = source.seals(vault, &id, &history)?;
        let hidden = hidden(&head, vault, (&id, &history));
        let unapproved = head.unapproved_events(&id, &history);
        let mut lacking = source.lacking(vault, &id, &history)?;
        // The tags of a lost text are unknown.
        lacking.retain(|(_, version)| version.is_none() || head.may_read(&id, "", false));
        Ok(Versions { id, history, seals, hidden, unapproved, lacking })
    }

    /// Cuts a report to its last `limit` versions, or to the last ones before a place of the
    /// history. Returns how many earlier versions are left out.
    pub(crate) fn cut_history(
        &mut self,
        report: &mut HistoryReport<'_>,
        before: Option<usize>,
        limit: Option<usize>,
    ) -> usize {
        if let Some(place) = before {
            let end = report.versions.partition_point(|row| row.place < place);
            report.versions.truncate(end);
        }
        let all = report.versions.len();
        let omitted = all - limit.unwrap_or(all).min(all);
        report.versions.drain(..omitted);
        self.recording.listed = Some(report.versions.len());
        omitted
    }
}

#[cfg(feature = "mcp")]
impl Call<'_> {
    /// Removes the review steps of other principals from a report, unless the principal is an
    /// editor of the published text.
    ///
    /// # Errors
    /// The log is not valid.
    pub(crate) fn cut_steps(
        &mut self,
        (vault, source): Places<'_>,
        (versions, report): (&Versions, &mut HistoryReport<'_>),
    ) -> Result<(), Failure> {
        let me = self.workspace.principal(vault.root(), None).ok().map(|(me, _)| me.key());
        let head = Snapshot::of(vault, source, None)?;
        let published = head.get(&versions.id).and_then(Result::ok);
        let text = published.map(|served| served.text).unwrap_or_default();
        if me.is_some() && self.workspace.is_editor_of(vault, &versions.id, &[&text])? {
            return Ok(());
        }
        report.versions.retain(|row| {
            row.state != EntryState::Unpublished || me == Some(PrincipalKey::of(row.edited_by))
        });
        Ok(())
    }
}

impl Versions {
    /// Returns the first checkpoints of the published versions.
    #[cfg(feature = "mcp")]
    pub(crate) fn checkpoints(&self) -> Vec<CheckpointNumber> {
        let is_told = |entry: &Entry| entry.is_published() && !self.hidden.contains(&entry.version);
        let published = self.history.entries().filter(|entry| is_told(entry));
        published.filter_map(|entry| self.seals.get(&entry.version).copied()).collect()
    }

    /// Returns the report. Every version is recomputed for it.
    pub(crate) fn report<'r>(&'r self, vault: &'r Vault) -> HistoryReport<'r> {
        let mut report = HistoryReport::new(vault.files(), &self.seals, &self.id, &self.history);
        report.versions.retain(|row| !self.hidden.contains(&row.version));
        let is_refused = |row: &VersionReport<'_>| {
            matches!(row.review, Some(ReviewedAs::Rejected | ReviewedAs::Withdrawn))
        };
        // An act on a governance file does not contain its reason (REV-9).
        let reasons = match !self.id.is_document() && report.versions.iter().any(is_refused) {
            true => review::reasons(vault, &self.id).unwrap_or_default(),
            false => HashMap::new(),
        };
        for row in &mut report.versions {
            if let Some(reason) = reasons.get(&row.chain_hash) {
                row.reason = Some(reason.clone());
            }
            row.problems.extend(self.unapproved.get(&row.version).map(ToString::to_string));
        }
        let lost = self.lacking.iter();
        report.lost.extend(lost.map(|(checkpoint, version)| LostSeal::new(*checkpoint, *version)));
        report
    }
}

/// Returns the versions that the reader of `head` may not read.
fn hidden(
    head: &Snapshot<'_>,
    vault: &Vault,
    (id, history): (&DocumentId, &History),
) -> BTreeSet<Version> {
    let mut hidden = BTreeSet::new();
    if !head.is_limited() {
        return hidden;
    }
    let mut walk = Walk::new(vault.files(), id, history);
    while let Some(step) = walk.next() {
        let Ok(version) = step.version else { continue };
        let (number, text) = (version.entry.version, version.text);
        // The tags of an unreadable text are unknown.
        if check_text(head, id, (number, history), text.unwrap_or_default()).is_err() {
            hidden.insert(number);
        }
    }
    hidden
}
