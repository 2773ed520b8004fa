//! Reads a selector from an argument, plans it at its checkpoint, and collects the notes that go
//! with its answer.

use std::borrow::Cow;

use super::name::{is_uri, pinned};
use super::search::{self, OnSlow};
use super::version;
use super::{Workspace, unknown};
use crate::files::vault::Vault;
use crate::files::vault::federation::Authorities;
use crate::read::snapshot::context::Question;
use crate::read::snapshot::instructions::Instructions;
use crate::read::snapshot::{
    CheckpointSource, Need, QueryPlan, Resolution, Snapshot, matching_drafts,
};
use crate::read::working;
use crate::record::checkpoint::fault::LogError;
use crate::service::report::failure::{Code, Failure};
use crate::text::document::links::last_segment;
use crate::text::selector::{self, Atom, ErrorKind, Expr, Node, Selector, StatusFilter, Term};
use crate::text::uri::{Target, Uri};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;

/// Maximum number of published documents for which drafts are searched to make a hint.
const LOOKED_THROUGH: usize = 2_000;

/// A selector and the vault at the checkpoint that it is asked of.
pub(crate) struct Asked<'v> {
    pub(crate) selector: Selector,
    pub(crate) snapshot: Snapshot<'v>,
    pub(crate) plan: QueryPlan,
}

/// A question to a vault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'q> {
    /// A selector, or an id.
    pub(crate) text: &'q str,
    /// The checkpoint of the answer; `None` for the head, or the one that the URIs are pinned to.
    pub(crate) at: Option<CheckpointNumber>,
    /// True if searches return whole documents, not the sections that they found.
    pub(crate) whole: bool,
    /// True if the answer can contain staged results.
    pub(crate) staged: bool,
}

impl<'v> Asked<'v> {
    /// Returns what an index must provide: the versions are enough if a single URI names
    /// a document.
    pub(crate) fn need(text: &str) -> Need {
        let text = text.trim();
        let names_one = is_uri(text) || as_id(text).is_some();
        let names_one = names_one && !text.contains(char::is_whitespace) && !text.ends_with('/');
        if names_one { Need::Versions } else { Need::Fields }
    }

    /// Parses a selector by the head's configuration, and plans it at a checkpoint.
    ///
    /// That is `at`, the checkpoint that its URIs are pinned to, or the head.
    pub(crate) fn new(
        workspace: &Workspace<'_>,
        (vault, source): (&'v Vault, &'v CheckpointSource),
        Query { text, at, whole, staged }: Query<'_>,
        on_slow: OnSlow<'_>,
    ) -> Result<Self, Failure> {
        let uri = as_id(text).map(|uri| uri.to_string());
        let text = uri.as_deref().unwrap_or(text);
        let names_uris = text.to_ascii_lowercase().contains("contextnest:");
        let head = names_uris.then(|| Snapshot::of(vault, source, None)).transpose()?;
        let authorities = match &head {
            Some(head) => head.authorities()?,
            None => Authorities::default(),
        };
        let parsed = match staged {
            true => selector::parse_with_staged(text, &authorities),
            false => selector::parse_in(text, &authorities),
        };
        let selector = parsed.map_err(|why| match &why.kind {
            // The whole argument is a URI.
            ErrorKind::Uri(uri) if text.get(why.span.clone()) == Some(text.trim()) => {
                Failure::from(uri.clone())
            }
            _ => Failure::selector(&why, text),
        });
        let selector = match selector {
            Err(failure) => return Err(near_id(vault, source, text, failure)),
            Ok(selector) => selector,
        };
        let at = pinned(selector.checkpoint, at)?;
        let is_staged = |(term, _): &(&Term, _)| names_staged(term);
        if at.is_some() && selector.expr.leaves().iter().any(is_staged) {
            let message = "`status:staged` cannot be combined with a checkpoint";
            return Err(Failure::new(Code::Usage, message).hint("leave out the checkpoint"));
        }
        let snapshot = match (at, head) {
            (None, Some(head)) => head,
            (at, _) => Snapshot::of(vault, source, at)?,
        };
        let mut ask = |query: &str| {
            search::in_selector(workspace, (vault, source), &snapshot, (query, whole), on_slow)
        };
        let plan = QueryPlan::new(&selector, &snapshot, &mut ask);
        let plan = plan.map_err(|why| Failure::plan(why, text))?;
        Ok(Self { selector, snapshot, plan })
    }

    /// Returns the question that the answer belongs to.
    ///
    /// # Errors
    /// The state of the checkpoint cannot be read.
    pub(crate) fn question(&self) -> Result<Question, LogError> {
        let (class, backend) = (self.plan.class(), self.plan.backend.clone());
        Question::new(&self.snapshot, self.selector.to_string(), class, backend)
    }

    /// Resolves the selector. Documents that the plan looked at and that are withheld are included.
    ///
    /// # Errors
    /// The published documents cannot be read, or the selector is a single URI of a document that
    /// is not published at the checkpoint (RES-9).
    pub(crate) fn resolve(&mut self, vault: &Vault) -> Result<Resolution, Failure> {
        let mut resolution = self.snapshot.resolve(&self.plan)?;
        self.add_withheld(&mut resolution);
        if resolution.documents.is_empty()
            && resolution.withheld.is_empty()
            && let Node::Atom(Term::Uri(uri)) = &self.selector.expr.node
            && let Target::Document { id, .. } = &uri.target
        {
            version::published(vault, &self.snapshot, id)?;
        }
        Ok(resolution)
    }

    /// Adds the withheld documents that the plan looked at to those of an answer.
    pub(crate) fn add_withheld(&mut self, resolution: &mut Resolution) {
        resolution.withhold(&mut self.plan.withheld);
    }

    /// Returns the instructions that go with an answer, and adds withheld instructions to it; empty
    /// if the answer is without documents.
    pub(crate) fn instructions(&self, resolution: &mut Resolution) -> Vec<Instructions> {
        if resolution.documents.is_empty() {
            return Vec::new();
        }
        let (instructions, mut withheld) = Instructions::of(&self.snapshot, &self.plan);
        resolution.withhold(&mut withheld);
        instructions
    }

    /// Returns notes on the selector for its writer.
    pub(crate) fn notes(&self, resolution: &Resolution) -> Result<Vec<String>, Failure> {
        let mut notes = self.plan.notes.clone();
        let terms = self.selector.expr.leaves();
        let is_draft = |term: &Term| *term == Term::Set(Atom::Status(StatusFilter::Draft));
        if terms.iter().any(|(term, _)| is_draft(term)) {
            let note =
                "`status:draft` is always empty, because only published documents are resolved";
            notes.push(note.to_owned());
        }
        // Documents that cannot be read may contain the names that seem to be unknown.
        let words = match (resolution.documents.is_empty(), resolution.withheld.is_empty()) {
            (_, false) => Vec::new(),
            (true, true) => self.selector.expr.leaves().into_iter().map(|(term, _)| term).collect(),
            (false, true) => wanted(&self.selector.expr),
        };
        notes.extend(unknown::names(&self.snapshot, &self.selector.expr, &words, resolution)?);
        Ok(notes)
    }

    /// Returns the drafts that the selector would select if they were published; `None` if the
    /// vault is too large to search them for a hint.
    pub(crate) fn matching_drafts(
        &self,
        vault: &Vault,
    ) -> Result<Option<Vec<DocumentId>>, Failure> {
        // A live file may belong to a document that the reader cannot know of.
        if self.snapshot.is_limited() || self.snapshot.size()? > LOOKED_THROUGH {
            return Ok(None);
        }
        let state = self.snapshot.state()?;
        let drafts = working::drafts(vault, |id| state.get(id.as_str()).is_some());
        Ok(drafts.map(|drafts| matching_drafts(&self.plan, &drafts)))
    }
}

/// Returns true if a term selects staged results.
pub(super) fn names_staged(term: &Term) -> bool {
    *term == Term::Set(Atom::Status(StatusFilter::Staged))
}

/// Returns the terms that add to the answer. Terms that are subtracted may match nothing
/// on purpose.
fn wanted(expr: &Expr<Term>) -> Vec<&Term> {
    match &expr.node {
        Node::Atom(term) => vec![term],
        Node::Difference(first, _) => wanted(first),
        Node::Intersection(operands) | Node::Union(operands) => {
            operands.iter().flat_map(wanted).collect()
        }
    }
}

/// Suggests a document if its id, or the last part of it, is written in place of a selector.
fn near_id(vault: &Vault, source: &CheckpointSource, text: &str, failure: Failure) -> Failure {
    let snapshot = Snapshot::of(vault, source, None).ok();
    let Some(Ok(state)) = snapshot.as_ref().map(Snapshot::state) else { return failure };
    let name = text.trim();
    let folder = format!("{}/", name.trim_end_matches('/'));
    if state.iter().any(|(id, _)| id.is_document() && id.as_str().starts_with(&folder)) {
        let resolve = Call::new(Verb::Resolve).value(folder.as_str());
        return Failure::new(Code::SelectorInvalid, format!("`{name}` is a folder"))
            .hint(Hint::call("{} prints the documents in it", resolve));
    }
    match state.iter().find(|(id, _)| last_segment(id.as_str()) == name) {
        Some((id, _)) if id.as_str() != name => Failure::unknown_id(name, Some(id.as_str())),
        Some((id, _)) => {
            let message = format!("`{name}` is an id without a folder; a selector needs a URI");
            Failure::new(Code::SelectorInvalid, message)
                .hint(format!("write its URI: `{}`", Uri::document(id.clone())))
        }
        None => failure,
    }
}

/// Returns an argument as a selector. An id without a folder becomes its URI if the head publishes
/// such a document.
///
/// # Errors
/// The published documents cannot be read.
pub(crate) fn spelled<'t>(
    vault: &Vault,
    source: &CheckpointSource,
    text: &'t str,
) -> Result<Cow<'t, str>, Failure> {
    let is_bare = !text.contains('/') && !text.contains(is_of_selectors);
    let Some(id) = is_bare.then(|| text.parse::<DocumentId>().ok()).flatten() else {
        return Ok(Cow::Borrowed(text));
    };
    let head = Snapshot::of(vault, source, None)?;
    let is_published = head.state()?.get(id.as_str()).is_some();
    Ok(match is_published {
        true => Cow::Owned(Uri::document(id).to_string()),
        false => Cow::Borrowed(text),
    })
}

/// Returns the URI of the document if the text is an id with a folder. Each set of a selector has a
/// `#` or a `:`, so no text is both.
fn as_id(text: &str) -> Option<Uri> {
    let is_path = text.contains('/') && !text.contains(is_of_selectors);
    is_path.then(|| text.parse().ok().map(Uri::document)).flatten()
}

/// Returns true for characters of selectors that an id cannot contain.
pub(crate) fn is_of_selectors(c: char) -> bool {
    c.is_whitespace() || "#:@%|+()\"".contains(c)
}
