//! Reports of answers to selectors: documents, texts left out by a budget, and explanations.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use super::Report;
use super::document::{DocumentReport, WithheldReport};
use super::staging::{StagedLeftOutReport, StagedReport};
use crate::read::search::Snippet;
use crate::read::snapshot::context::{Context, LeftOut, Reason};
use crate::read::snapshot::portion::Portion;
use crate::read::snapshot::tokens::Tokenizer;
use crate::read::snapshot::{Cost, Explained, Page, QueryPlan, Resolution, Withheld};
use crate::record::audit::Traced;
use crate::text::uri::Class;
use crate::values::model::number::{CheckpointNumber, Version};

/// The answer of `resolve`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ResolveReport<'r> {
    /// Selector in its normal form.
    selector: String,
    /// Class of the answer: `direct`, `set` or `delegated`.
    class: Class,
    /// Back-end that answered the search; absent if nothing was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'r str>,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Instructions that go to an agent before the documents, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Vec<InstructionsReport<'r>>>,
    /// Documents of the answer.
    documents: Vec<DocumentReport<'r>>,
    #[serde(flatten)]
    context: Option<ContextReport<'r>>,
    /// Staged results of sources, which are not documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    staged: Vec<StagedReport>,
    /// Staged results that exceeded the budget.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    staged_left_out: &'r [StagedLeftOutReport],
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
    /// Remarks about the vault and the answer.
    notes: &'r [String],
}

impl Report for ResolveReport<'_> {
    const SCHEMA: &'static str = "resolve";
}

/// The optional parts that an answer contains.
#[derive(Clone, Copy, Debug)]
pub struct Detail {
    /// True if the answer contains the texts.
    pub bodies: bool,
    /// True if the answer contains sizes in tokens.
    pub tokens: bool,
    /// True if the answer contains the instructions.
    pub instructions: bool,
}

impl<'r> ResolveReport<'r> {
    /// Reports the parts of a resolution that fit into `context`.
    pub(crate) fn new(
        (selector, checkpoint): (String, CheckpointNumber),
        plan: &'r QueryPlan,
        context: &'r Context<'r>,
        resolution: &Resolution,
        notes: &'r [String],
        detail: Detail,
    ) -> Traced<Self> {
        let instructions = context.instructions.iter().filter(|_| detail.instructions);
        let portions = context.portions.iter().filter(|_| detail.bodies);
        let texts = instructions.chain(portions).map(Portion::recorded).collect();
        let report = Self {
            selector,
            class: plan.class(),
            backend: plan.backend.as_deref(),
            checkpoint,
            instructions: detail.instructions.then(|| {
                let all = context.instructions.iter();
                all.filter_map(|portion| InstructionsReport::new(context, portion)).collect()
            }),
            documents: DocumentReport::all(
                &context.portions,
                detail.bodies,
                detail.tokens.then_some(context),
            ),
            context: detail.tokens.then(|| ContextReport::from(context)),
            staged: Vec::new(),
            staged_left_out: &[],
            withheld: WithheldReport::all(&resolution.withheld),
            notes,
        };
        Traced::new(report, texts)
    }

    /// Adds staged results.
    #[must_use]
    pub(crate) fn beside(
        mut self,
        staged: Vec<StagedReport>,
        left_out: &'r [StagedLeftOutReport],
    ) -> Self {
        (self.staged, self.staged_left_out) = (staged, left_out);
        self
    }
}

/// Instructions that precede the documents.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct InstructionsReport<'r> {
    /// Id of the document or governance file.
    id: &'r str,
    /// URI of the file, pinned to the checkpoint; null if no URI can name it.
    uri: Option<String>,
    /// Id of the pack that the instructions come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pack: Option<&'r str>,
    /// Number of the version.
    version: Version,
    /// Chain hash of the version.
    chain_hash: String,
    /// Number of tokens of the instructions.
    tokens: u64,
    /// Text of the instructions.
    body: Cow<'r, str>,
}

impl<'r> InstructionsReport<'r> {
    fn new(context: &Context<'r>, portion: &Portion<'r>) -> Option<Self> {
        let instructions = portion.instructions?;
        Some(Self {
            id: portion.served.id.as_str(),
            uri: portion.uri().map(|uri| uri.to_string()),
            pack: instructions.pack(),
            version: portion.served.entry.version,
            chain_hash: portion.served.entry.chain_hash.to_string(),
            tokens: context.tokens_of(std::slice::from_ref(portion)),
            body: portion.text(),
        })
    }
}

/// Effect of a budget on an answer.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct ContextReport<'r> {
    /// Maximum number of tokens of the answer; null without a limit.
    budget: Option<u64>,
    /// Method that counts tokens: `bytes/4`, `cl100k_base` or `o200k_base`.
    tokenizer: Tokenizer,
    /// Number of tokens of the answer.
    tokens: u64,
    /// Texts that are not in the answer.
    left_out: Vec<LeftOutReport<'r>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct LeftOutReport<'r> {
    /// Id of the document or governance file.
    id: &'r str,
    /// `contextnest://` URI, pinned to the checkpoint; null if no URI can name the document.
    uri: Option<String>,
    /// Anchor of the section, if the text is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor: Option<&'r str>,
    /// Number of tokens of the text.
    tokens: u64,
    /// `budget`, `dependency` or `duplicate`.
    reason: &'r Reason,
    /// Number of tokens that were left of the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
    /// Id of the source that it depends on, which is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    depends_on: Option<&'r str>,
    /// Name of the text that it repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<&'r str>,
}

impl<'c> From<&'c Context<'_>> for ContextReport<'c> {
    fn from(context: &'c Context<'_>) -> Self {
        let left_out = context.left_out.iter().map(LeftOutReport::from).collect();
        let tokenizer = context.tokenizer();
        Self { budget: context.budget, tokenizer, tokens: context.tokens(), left_out }
    }
}

impl<'c> From<&'c LeftOut<'_>> for LeftOutReport<'c> {
    fn from(out: &'c LeftOut<'_>) -> Self {
        let (mut left, mut depends_on, mut duplicate_of) = (None, None, None);
        match &out.why {
            Reason::Budget { left: tokens } => left = Some(*tokens),
            Reason::Dependency(id) => depends_on = Some(id.as_str()),
            Reason::Duplicate(name) => duplicate_of = Some(name.as_str()),
        }
        Self {
            id: out.portion.served.id.as_str(),
            uri: out.portion.uri().map(|uri| uri.to_string()),
            anchor: out.portion.section.map(|section| section.anchor.as_str()),
            tokens: out.tokens,
            reason: &out.why,
            left,
            depends_on,
            duplicate_of,
        }
    }
}

/// The answer of `resolve --explain`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ExplainReport<'e> {
    /// Selector in its normal form.
    selector: &'e str,
    /// Class of the answer: `direct`, `set` or `delegated`.
    class: Class,
    /// Back-end that answered the search; absent if nothing was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'e str>,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Selector as a tree of expressions.
    tree: ExpressionReport<'e>,
    /// Work of the index for the answer.
    cost: CostReport,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
    /// Remarks about the vault and the answer.
    notes: &'e [String],
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct ExpressionReport<'e> {
    /// Expression in its normal form.
    text: &'e str,
    /// Number of documents that the expression selects.
    documents: u64,
    /// Pack that the expression names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pack: Option<PackReport<'e>>,
    /// Operands of the expression.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Self>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct PackReport<'e> {
    /// Path of the file in the vault.
    path: &'e str,
    /// Version of the file.
    version: Version,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct CostReport {
    /// Number of lookups in the index.
    lookups: usize,
    /// Number of entries that the lookups returned.
    postings: u64,
    /// Number of documents that were read.
    documents: u64,
}

impl Report for ExplainReport<'_> {
    const SCHEMA: &'static str = "explain";
}

impl<'e> ExplainReport<'e> {
    /// Reports how a selector is understood at a checkpoint.
    pub(crate) fn new(
        (selector, checkpoint): (&'e str, CheckpointNumber),
        plan: &'e QueryPlan,
        (tree, cost): (&'e Explained, &Cost),
        withheld: &[Withheld],
        notes: &'e [String],
    ) -> Self {
        let Cost { lookups, postings, documents } = *cost;
        Self {
            selector,
            class: plan.class(),
            backend: plan.backend.as_deref(),
            checkpoint,
            tree: ExpressionReport::from(tree),
            cost: CostReport { lookups, postings, documents },
            withheld: WithheldReport::all(withheld),
            notes,
        }
    }
}

impl<'e> From<&'e Explained> for ExpressionReport<'e> {
    fn from(explained: &'e Explained) -> Self {
        let pack = explained.pack.as_ref();
        Self {
            text: &explained.text,
            documents: explained.documents,
            pack: pack.map(|(file, version)| PackReport { path: file.as_str(), version: *version }),
            parts: explained.parts.iter().map(Self::from).collect(),
        }
    }
}

/// The answer of `list`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ListReport<'l> {
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Documents in byte order of their ids.
    documents: Vec<DocumentReport<'l>>,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
}

impl Report for ListReport<'_> {
    const SCHEMA: &'static str = "list";
}

impl<'l> ListReport<'l> {
    /// Reports all documents that a checkpoint publishes.
    pub(crate) fn new(checkpoint: CheckpointNumber, all: &'l Resolution) -> Self {
        let documents = all.documents.iter().map(DocumentReport::named).collect();
        Self { checkpoint, documents, withheld: WithheldReport::all(&all.withheld) }
    }

    /// Reports all documents, each with the start of its text.
    pub(crate) fn opened(
        checkpoint: CheckpointNumber,
        all: &'l Resolution,
        openings: &'l [Snippet],
    ) -> Self {
        let opened = all.documents.iter().zip(openings);
        let documents = opened.map(|(served, begin)| DocumentReport::opened(served, begin));
        let (documents, withheld) = (documents.collect(), WithheldReport::all(&all.withheld));
        Self { checkpoint, documents, withheld }
    }
}

/// The answer of `list` for all documents, as [`ListReport`]. Texts are read during serialisation.
#[derive(Debug)]
pub struct ListRows<'p> {
    checkpoint: CheckpointNumber,
    page: &'p Page<'p, 'p>,
    /// Number of documents written so far.
    listed: Cell<usize>,
    /// Documents found to be withheld.
    withheld: RefCell<Vec<Withheld>>,
}

impl<'p> ListRows<'p> {
    /// Creates the report of a page of the published documents.
    pub(crate) fn new(checkpoint: CheckpointNumber, page: &'p Page<'p, 'p>) -> Self {
        Self { checkpoint, page, listed: Cell::default(), withheld: RefCell::default() }
    }

    /// Returns the number of written documents, and the documents that are withheld.
    pub(crate) fn finish(self) -> (usize, Vec<Withheld>) {
        (self.listed.get(), self.withheld.into_inner())
    }
}

impl Report for ListRows<'_> {
    const SCHEMA: &'static str = ListReport::SCHEMA;
}

impl Serialize for ListRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ListReport", 3)?;
        fields.serialize_field("checkpoint", &self.checkpoint)?;
        fields.serialize_field("documents", &Rows(self))?;
        fields.serialize_field("withheld", &WithheldReport::all(&self.withheld.borrow()))?;
        fields.end()
    }
}

/// Serialises the rows of the documents.
struct Rows<'r>(&'r ListRows<'r>);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ListRows { page, listed, withheld, .. } = self.0;
        let mut rows = serializer.serialize_seq(None)?;
        let mut written = Ok(());
        page.read(|part| {
            listed.set(listed.get() + part.documents.len());
            let mut documents = part.documents.iter();
            let named = DocumentReport::named;
            let write = |_: ()| documents.try_for_each(|one| rows.serialize_element(&named(one)));
            written = std::mem::replace(&mut written, Ok(())).and_then(write);
            withheld.borrow_mut().extend(part.withheld);
        });
        written?;
        rows.end()
    }
}
