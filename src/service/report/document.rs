//! Reports of documents that are handed out, with their provenance.

use std::borrow::Cow;

use serde::Serialize;

use super::Report;
use super::source::CallReport;
use crate::read::search::Snippet;
use crate::read::snapshot::context::Context;
use crate::read::snapshot::portion::Portion;
use crate::read::snapshot::{Served, Withheld};
use crate::record::audit::{Deciding, Traced};
use crate::text::document::sections::Section;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::tag::Tag;

/// A published document, or the part of it that an answer contains.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DocumentReport<'d> {
    /// Id of the document or governance file.
    id: &'d str,
    /// `contextnest://` URI, pinned to the checkpoint; null if no URI can name the document.
    uri: Option<String>,
    /// Title of the document.
    title: &'d str,
    /// Type of the document.
    #[serde(rename = "type")]
    node_type: &'d str,
    /// Tags of the document.
    tags: &'d [Tag],
    /// Field `status` of the frontmatter.
    status: &'d str,
    /// Number of the version.
    version: Version,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Author that the frontmatter names.
    author: Option<&'d str>,
    /// Time of creation, as the frontmatter states it.
    created_at: Option<&'d str>,
    /// Principal who made the version, or who submitted it if a review published it.
    edited_by: &'d str,
    /// Time at which the version was made, in UTC.
    edited_at: String,
    /// Reviewers who approved the version; absent without a review.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    approved_by: &'d [String],
    /// Time of the last approval, in UTC; absent without a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved_at: Option<String>,
    /// Scope that decides about the document, with reviewers; absent in an ungoverned vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    steward: Option<&'d Deciding>,
    /// Time at which the approval must be renewed, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    review_due: Option<String>,
    /// End of validity, as the frontmatter states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<&'d str>,
    /// Successor of the document, as the frontmatter states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<&'d str>,
    /// Time of publication, in UTC.
    published_at: Option<String>,
    /// Hash of the keyframe or diff that stores the version.
    content_hash: String,
    /// Chain hash of the version.
    chain_hash: String,
    /// Call that the document describes, if it is a source.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<CallReport<'d>>,
    /// Section that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<SectionReport<'d>>,
    /// Sections that the answer contains in place of the whole text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<SectionReport<'d>>,
    /// Number of tokens of the document in the answer, if sizes were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// Number of `%%comments%%` that `body` omits.
    #[serde(skip_serializing_if = "super::is_zero")]
    comments: usize,
    /// Start of the text, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<&'d Snippet>,
    /// Text without its frontmatter, or text of the section.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Cow<'d, str>>,
}

/// A section of a document; `start` and `end` are byte offsets in the document's text.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SectionReport<'d> {
    /// Anchor of the section.
    anchor: String,
    /// Text of the heading.
    title: String,
    /// Level of the heading, from 1; 0 for the part before the first section.
    level: u8,
    /// `own` for a section without its subsections, `beginning` for the part before the first
    /// section; absent for a whole section.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'static str>,
    /// Offset of the first byte in the text of the document.
    start: usize,
    /// Offset after the last byte in the text of the document.
    end: usize,
    /// Number of tokens of the section, if sizes were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// Number of `%%comments%%` that `body` omits.
    #[serde(skip_serializing_if = "super::is_zero")]
    comments: usize,
    /// Text of the section.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Cow<'d, str>>,
}

impl From<&Section> for SectionReport<'_> {
    fn from(section: &Section) -> Self {
        Self {
            anchor: section.anchor.clone(),
            title: section.title.clone(),
            level: section.level,
            part: section.scope.as_str(),
            start: section.range.start,
            end: section.range.end,
            tokens: None,
            comments: 0,
            body: None,
        }
    }
}

impl Report for DocumentReport<'_> {
    const SCHEMA: &'static str = "read";
}

impl<'d> DocumentReport<'d> {
    /// Reports a document, with or without its body.
    fn new(served: &'d Served, with_body: bool) -> Self {
        let fields = &served.fields;
        let shown = with_body.then(|| served.shown(served.body_range()));
        let (body, comments) = shown.unzip();
        Self {
            id: served.id.as_str(),
            uri: served.uri().map(ToString::to_string),
            title: served.title(),
            node_type: fields.node_type.as_str(),
            tags: &fields.tags,
            status: fields.status.as_str(),
            version: served.entry.version,
            checkpoint: served.checkpoint,
            author: fields.author.as_deref(),
            created_at: fields.created_at.as_deref(),
            edited_by: served.edited_by(),
            edited_at: served.edited_at().to_string(),
            approved_by: served.approved_by(),
            approved_at: served.approved_at().map(|at| at.to_string()),
            steward: served.provenance.steward.as_ref(),
            review_due: served.provenance.review_due.map(|due| due.to_string()),
            valid_until: fields.validity.until.as_deref(),
            superseded_by: fields.validity.superseded_by.as_deref(),
            published_at: served.entry.published_at().map(|t| t.to_string()),
            content_hash: served.entry.content_hash.to_string(),
            chain_hash: served.entry.chain_hash.to_string(),
            source: CallReport::of(served),
            section: None,
            sections: Vec::new(),
            tokens: None,
            comments: comments.unwrap_or(0),
            snippet: None,
            body,
        }
    }

    /// Reports a document without its body.
    pub(crate) fn named(served: &'d Served) -> Self {
        Self::new(served, false)
    }

    /// Reports a document with the start of its text, whose access is recorded separately.
    pub(crate) fn opened(served: &'d Served, opening: &'d Snippet) -> Self {
        Self { snippet: Some(opening), ..Self::named(served) }
    }

    /// Reports a whole document, with its body.
    pub(crate) fn whole(served: &'d Served) -> Traced<Self> {
        Traced::new(Self::new(served, true), vec![Portion::whole(served).recorded()])
    }

    /// Reports one section of a document, with the section's text.
    pub(crate) fn of_section(served: &'d Served, section: &'d Section) -> Traced<Self> {
        let portion = Portion { section: Some(section), ..Portion::whole(served) };
        let (body, comments) = portion.shown();
        let uri = portion.uri().map(|uri| uri.to_string());
        let (section, body) = (Some(section.into()), Some(body));
        let report = Self { uri, section, comments, body, ..Self::new(served, false) };
        Traced::new(report, vec![portion.recorded()])
    }

    /// Reports the documents of an answer, each as a whole or with some of its sections.
    ///
    /// With `sizes`, each text has its number of tokens in that context.
    pub(crate) fn all(
        portions: &[Portion<'d>],
        with_body: bool,
        sizes: Option<&Context<'d>>,
    ) -> Vec<Self> {
        let documents = portions.chunk_by(Portion::is_beside);
        let document = |portions: &[Portion<'d>]| {
            let document = Self::of(portions, with_body)?;
            Some(match sizes {
                Some(context) => document.with_tokens(context, portions),
                None => document,
            })
        };
        documents.filter_map(document).collect()
    }

    fn of(portions: &[Portion<'d>], with_body: bool) -> Option<Self> {
        let first = portions.first()?;
        let section = |portion: &Portion<'d>| {
            let (body, comments) = with_body.then(|| portion.shown()).unzip();
            let comments = comments.unwrap_or(0);
            portion.section.map(|section| SectionReport { comments, body, ..section.into() })
        };
        let sections: Vec<SectionReport<'d>> = portions.iter().filter_map(section).collect();
        let is_whole = sections.is_empty();
        Some(Self { sections, ..Self::new(first.served, with_body && is_whole) })
    }

    fn with_tokens(mut self, context: &Context<'d>, portions: &[Portion<'d>]) -> Self {
        let each = context.tokens_of_texts(portions);
        for (section, tokens) in self.sections.iter_mut().zip(&each) {
            section.tokens = Some(*tokens);
        }
        self.tokens = Some(context.row_tokens(portions) + each.iter().sum::<u64>());
        self
    }
}

/// A document that is withheld: the chain does not vouch for it, or no valid approval exists.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct WithheldReport {
    /// Id of the document or governance file.
    id: String,
    /// Reason why the document is not served, as a sentence.
    reason: String,
    /// Code of the finding about its approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    finding: Option<&'static str>,
}

impl WithheldReport {
    /// Reports all withheld documents.
    pub(crate) fn all(withheld: &[Withheld]) -> Vec<Self> {
        let one = |withheld: &Withheld| Self {
            id: withheld.id.to_string(),
            reason: withheld.why.to_string(),
            finding: withheld.why.unapproved().map(|found| found.code),
        };
        withheld.iter().map(one).collect()
    }
}

/// The answer of `read --outline`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct OutlineReport<'o> {
    /// Id of the document or governance file.
    id: &'o str,
    /// Number of the version.
    version: Version,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Size of the text in bytes.
    bytes: usize,
    /// Sections in the order of the text.
    sections: Vec<SectionReport<'o>>,
}

impl Report for OutlineReport<'_> {
    const SCHEMA: &'static str = "outline";
}

impl<'o> OutlineReport<'o> {
    /// Reports these sections of a document.
    pub(crate) fn new(served: &'o Served, sections: &[Section]) -> Self {
        Self {
            id: served.id.as_str(),
            version: served.entry.version,
            checkpoint: served.checkpoint,
            bytes: served.text.len(),
            sections: sections.iter().map(SectionReport::from).collect(),
        }
    }
}
