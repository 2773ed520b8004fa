//! Report of the hits of a search.

use serde::Serialize;

use super::Report;
use super::document::WithheldReport;
use crate::read::search::{Answer, Hit, Reason, Snippet};
use crate::record::audit::{Deciding, Traced};
use crate::text::uri::Class;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::tag::Tag;

/// Class of every answer (paper, section 6.3).
pub const CLASS: Class = Class::Delegated;

/// The answer of `search`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SearchReport<'s> {
    /// Search text.
    query: &'s str,
    /// Class of the answer: `delegated`.
    class: Class,
    /// Back-end that answered the search.
    backend: &'s str,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Hits, the best first.
    hits: Vec<HitReport<'s>>,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
    /// Remarks about the vault and the answer.
    notes: &'s [String],
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct HitReport<'s> {
    /// Id of the document or governance file.
    id: &'s str,
    /// Anchor of the section; null for the part before the first section.
    anchor: Option<&'s str>,
    /// `contextnest://` URI, pinned to the checkpoint; null if no URI can name the document.
    uri: Option<String>,
    /// Title of the document.
    title: &'s str,
    /// Heading of the section; null for the part before the first section.
    heading: Option<&'s str>,
    /// Type of the document.
    #[serde(rename = "type")]
    node_type: &'s str,
    /// Tags of the document.
    tags: &'s [Tag],
    /// Number of the version.
    version: Version,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Chain hash of the version.
    chain_hash: String,
    /// Provenance as in `ctx.read`; only for a text that a review published.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_by: Option<&'s str>,
    /// Time at which the version was submitted, in UTC; only for a text that a review published.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_at: Option<String>,
    /// Reviewers who approved the version; absent without a review.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    approved_by: &'s [String],
    /// Time of the last approval, in UTC; absent without a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved_at: Option<String>,
    /// Scope that decides about the document, with reviewers; absent in an ungoverned vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    steward: Option<&'s Deciding>,
    /// Time at which the approval must be renewed, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    review_due: Option<String>,
    /// End of validity, as the frontmatter states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<&'s str>,
    /// Successor of the document, as the frontmatter states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<&'s str>,
    /// Class of the answer: `delegated`.
    class: Class,
    /// Score of the hit; higher is better.
    score: f64,
    /// Part of the text that shows why it was found.
    snippet: &'s Snippet,
    /// Reasons for the score, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<&'s [Reason]>,
}

impl Report for SearchReport<'_> {
    const SCHEMA: &'static str = "search";
}

impl<'s> SearchReport<'s> {
    /// Reports the answer of `backend` at a checkpoint; `explain` adds the reasons for each score.
    pub(crate) fn new(
        (query, backend): (&'s str, &'s str),
        checkpoint: CheckpointNumber,
        answer: &'s Answer,
        explain: bool,
    ) -> Traced<Self> {
        let report = Self {
            query,
            class: CLASS,
            backend,
            checkpoint,
            hits: answer.hits.iter().map(|hit| HitReport::new(hit, explain)).collect(),
            withheld: WithheldReport::all(&answer.withheld),
            notes: &answer.notes,
        };
        Traced::new(report, answer.hits.iter().map(Hit::recorded).collect())
    }

    /// Shortens each hash to its first digits. They distinguish versions, and a whole hash takes as
    /// many tokens as a snippet.
    #[cfg(feature = "mcp")]
    pub(crate) fn with_short_hashes(mut self) -> Self {
        const DIGITS: usize = "sha256:".len() + 12;
        self.hits.iter_mut().for_each(|hit| hit.chain_hash.truncate(DIGITS));
        self
    }
}

impl<'s> HitReport<'s> {
    fn new(hit: &'s Hit, explain: bool) -> Self {
        let served = &hit.served;
        let reviewed = served.provenance.reviewed.is_some();
        Self {
            id: served.id.as_str(),
            anchor: hit.section.as_ref().map(|section| section.anchor.as_str()),
            uri: hit.uri().map(|uri| uri.to_string()),
            title: served.title(),
            heading: hit.section.as_ref().map(|section| section.title.as_str()),
            node_type: served.fields.node_type.as_str(),
            tags: &served.fields.tags,
            version: served.entry.version,
            checkpoint: served.checkpoint,
            chain_hash: hit.chain_hash().to_string(),
            edited_by: reviewed.then(|| served.edited_by()),
            edited_at: reviewed.then(|| served.edited_at().to_string()),
            approved_by: served.approved_by(),
            approved_at: served.approved_at().map(|at| at.to_string()),
            steward: served.provenance.steward.as_ref(),
            review_due: served.provenance.review_due.map(|due| due.to_string()),
            valid_until: served.fields.validity.until.as_deref(),
            superseded_by: served.fields.validity.superseded_by.as_deref(),
            class: CLASS,
            score: hit.score,
            snippet: &hit.snippet,
            explain: explain.then_some(&hit.reasons),
        }
    }
}
