//! Full-text search over what is published and current (paper, section 6.3; `spec/search.md`).
//!
//! How documents are found is delegated to a [`Backend`]: the [`builtin`] index, or a [`command`]
//! that the user names. A back-end only proposes. [`search`] keeps those of its [`RawHit`]s that
//! the head holds, reads each of them through [`Snapshot::get`], so that the chain vouches for it,
//! and cuts the snippet from that text. What a back-end says about a text is never shown.

#![cfg_attr(not(feature = "search"), allow(dead_code, reason = "only the index uses it"))]

#[cfg_attr(not(feature = "search"), path = "absent.rs")]
pub(crate) mod builtin;
pub(crate) mod command;
mod phrase;
mod query;
mod snippet;
mod units;
mod words;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

pub(crate) use query::{Query, QueryError};
pub(crate) use snippet::Snippet;

use crate::read::snapshot::plan::{Cut, Found, Searched};
use crate::read::snapshot::portion::Portion;
use crate::read::snapshot::{Served, Snapshot, Withheld};
use crate::record::audit::{self, Text};
use crate::record::checkpoint::fault::LogError;
use crate::text::document::sections::{self, Section};
use crate::text::uri::Uri;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;

use units::Unit;

/// The most hits that an answer may have.
pub(crate) const MAX_HITS: usize = 1000;
/// A search in a selector stands for the documents of so many hits, the best.
pub(crate) const SELECTED_HITS: usize = 100;

/// Something that finds sections by their words or their meaning.
pub(crate) trait Backend {
    /// What it is called in answers.
    fn name(&self) -> &str;

    /// What it finds for a query, at most about `limit` hits, in any order.
    ///
    /// # Errors
    /// It cannot answer.
    fn search(&self, query: &Query, limit: usize) -> Result<Proposals, SearchError>;
}

/// The back-end of a vault in which nothing is published.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nothing;

impl Backend for Nothing {
    fn name(&self) -> &str {
        builtin::NAME
    }

    fn search(&self, _: &Query, _: usize) -> Result<Proposals, SearchError> {
        Ok(Proposals::default())
    }
}

/// What a back-end proposes.
#[derive(Debug, Default)]
pub(crate) struct Proposals {
    /// What it found.
    pub(crate) hits: Vec<RawHit>,
    /// Documents that it could not read, so that it is unknown whether they belong to the answer.
    pub(crate) unread: Vec<DocumentId>,
    /// Words that were taken for words of the query.
    pub(crate) near: Vec<String>,
    /// What else the reader should know.
    pub(crate) notes: Vec<String>,
    /// Whether it may have more than it was asked for.
    pub(crate) goes_on: bool,
}

/// A document, or a part of one, that a back-end proposes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RawHit {
    /// What it says is the id of a document.
    pub(crate) id: String,
    /// Which part of it is meant.
    pub(crate) part: HitPart,
    /// The larger, the better; a finite number.
    pub(crate) score: f64,
    /// How the score came about, where the back-end says.
    pub(crate) reasons: Vec<Reason>,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum HitPart {
    /// All of it.
    Whole,
    /// The section of this name.
    Anchor(String),
    /// The n-th of its units, from 0.
    Unit(usize),
}

/// What one clause of a query in one field adds to a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub(crate) struct Reason {
    /// The folded words of the clause.
    pub(crate) term: String,
    /// The words that were taken for it, if not it itself was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) near: Vec<String>,
    /// The field that they were found in.
    pub(crate) field: &'static str,
    /// What is added, before `share` is applied.
    pub(crate) score: f64,
    /// How often the clause occurs in the field.
    pub(crate) tf: u32,
    /// How many units (of `title`, `tags` and `description`: documents) it occurs in.
    pub(crate) df: u64,
    /// How many units or documents there are.
    pub(crate) n: u64,
    /// The weight of the field.
    pub(crate) boost: f64,
    /// How rare the clause is.
    pub(crate) idf: f64,
    /// How many words the field has.
    pub(crate) length: u64,
    /// How many it has on average.
    pub(crate) average: f64,
    /// The part of the query's clauses that was found, by which the sum is multiplied.
    pub(crate) share: f64,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SearchError {
    /// What is published cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The library was built without the built-in index.
    #[cfg_attr(feature = "search", allow(dead_code, reason = "another build makes it"))]
    #[error("this ctx was built without the built-in index (feature `search`)")]
    NotBuilt,
    /// The index could be neither used nor built.
    #[error("the index cannot be built: {0}")]
    Index(String),
    /// The program did not answer as `spec/search.md` says.
    #[error("`{program}` {problem}")]
    Command {
        /// The program.
        program: String,
        /// What it did instead.
        problem: String,
        /// What it wrote to standard error, line by line.
        said: Vec<String>,
    },
}

/// A published section or document that was found; its text is verified.
#[derive(Debug)]
pub(crate) struct Hit {
    /// The document.
    pub(crate) served: Arc<Served>,
    /// The section; none where the whole document or its beginning is meant.
    pub(crate) section: Option<Section>,
    /// What of the document was found.
    pub(crate) cut: Cut,
    /// The larger, the better.
    pub(crate) score: f64,
    /// Why it was found.
    pub(crate) snippet: Snippet,
    /// How the score came about.
    pub(crate) reasons: Vec<Reason>,
}

impl Hit {
    /// The URI of exactly what was found; none for the few ids that a URI cannot name.
    pub(crate) fn uri(&self) -> Option<Uri> {
        Portion { section: self.section.as_ref(), ..Portion::whole(&self.served) }.uri()
    }

    /// What the access log says of the line that shows it.
    pub(crate) fn recorded(&self) -> Text {
        let recorded = self.served.origin().text(&self.snippet.text).named(self.uri());
        Text { part: Some(audit::Part::Snippet), ..recorded }
    }

    /// The chain hash of the version that was found.
    pub(crate) fn chain_hash(&self) -> Digest {
        self.served.entry.chain_hash
    }
}

/// The answer to a query. Its class is *delegated*: what was found is published and verified, that
/// it was found is the back-end's word.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The best hits: by score, then id, then place in the document.
    pub(crate) hits: Vec<Hit>,
    /// Documents that were found, or could not be looked at, and may not be served.
    pub(crate) withheld: Vec<Withheld>,
    /// What else the reader should know.
    pub(crate) notes: Vec<String>,
    /// Whether there may be more hits than the limit let in.
    pub(crate) goes_on: bool,
}

/// How the text of a document begins: the first words that are served of it, after the heading that
/// gives its title.
pub(crate) fn opening(served: &Served) -> Snippet {
    let body = &served.visible()[served.body_range()];
    snippet::opening(&body[sections::title_end(body)..])
}

/// What the access log says of the line that shows how a document begins.
pub(crate) fn opening_recorded(served: &Served, opening: &Snippet) -> Text {
    let recorded = served.recorded(&opening.text).named(served.uri().cloned());
    Text { part: Some(audit::Part::Snippet), ..recorded }
}

/// Asks a back-end, and keeps of its answer what is published, current and verified.
///
/// # Errors
/// The back-end cannot answer.
pub(crate) fn search(
    snapshot: &Snapshot<'_>,
    backend: &dyn Backend,
    query: &Query,
    limit: usize,
) -> Result<Answer, SearchError> {
    let limit = limit.min(MAX_HITS);
    let found = backend.search(query, limit)?;
    let shown = query.and_words(&found.near);
    let mut sieve = Sieve {
        snapshot,
        query: &shown,
        read: HashMap::new(),
        shown: HashSet::new(),
        dropped: Dropped::default(),
    };
    let mut candidates = sieve.candidates(found.hits)?.into_iter();
    let mut answer = Answer::default();
    for id in found.unread {
        answer.withheld.extend(sieve.snapshot.get(&id).and_then(Result::err));
    }
    while answer.hits.len() < limit
        && let Some(candidate) = candidates.next()
    {
        match sieve.hit(candidate) {
            Some(Ok(hit)) => answer.hits.push(hit),
            Some(Err(withheld)) => answer.withheld.push(withheld),
            None => {}
        }
    }
    answer.goes_on = found.goes_on || candidates.len() > 0;
    answer.withheld.append(&mut snapshot.lost_documents());
    answer.withheld.sort_by(|a, b| a.id.cmp(&b.id));
    answer.withheld.dedup_by(|a, b| a.id == b.id);
    answer.notes = found.notes;
    answer.notes.extend(sieve.dropped.notes(backend.name()));
    Ok(answer)
}

impl Answer {
    /// What the answer is to a selector that names the search, and the back-end of this name gave
    /// it; with `whole`, the whole documents.
    pub(crate) fn into_searched(self, backend: String, whole: bool) -> Searched {
        let found = |hit: Hit| Found {
            id: hit.served.id.clone(),
            cut: if whole { Cut::Whole } else { hit.cut },
        };
        let found = self.hits.into_iter().map(found).collect();
        Searched { backend, found, withheld: self.withheld, notes: self.notes }
    }
}

/// What of a back-end's answer was left out, or is not as it said.
#[derive(Debug, Default)]
struct Dropped {
    unpublished: usize,
    duplicates: usize,
    scores: usize,
    anchors: usize,
}

impl Dropped {
    fn notes(&self, backend: &str) -> Vec<String> {
        let told = [
            (self.unpublished, "left out, because they are not published documents"),
            (self.scores, "left out, because their scores are not numbers"),
            (self.duplicates, "left out, because they were named before"),
            (self.anchors, "given as whole documents, because their sections do not exist"),
        ];
        let told = told.iter().filter(|(n, _)| *n > 0);
        told.map(|(n, what)| format!("hits of {backend} {what}: {n}")).collect()
    }
}

/// A proposal for a document that the head holds.
struct Candidate {
    id: DocumentId,
    hit: RawHit,
}

/// A verified document and its parts.
struct Document {
    served: Arc<Served>,
    sections: Vec<Section>,
    /// The place of each section, by its anchor.
    anchors: HashMap<String, usize>,
    units: Vec<Unit>,
}

/// Tells what may be shown from what a back-end proposes.
struct Sieve<'a, 'v> {
    snapshot: &'a Snapshot<'v>,
    query: &'a Query,
    /// What was read; nothing where the document is withheld.
    read: HashMap<DocumentId, Option<Document>>,
    shown: HashSet<(DocumentId, Option<String>)>,
    dropped: Dropped,
}

impl Sieve<'_, '_> {
    /// The proposals for published documents, the best first.
    fn candidates(&mut self, hits: Vec<RawHit>) -> Result<Vec<Candidate>, LogError> {
        let mut kept = Vec::with_capacity(hits.len());
        for hit in hits {
            let id = hit.id.parse::<DocumentId>().ok().filter(DocumentId::is_document);
            match id {
                Some(id) if self.snapshot.holds(&id)? => match hit.score.is_finite() {
                    true => kept.push(Candidate { id, hit }),
                    false => self.dropped.scores += 1,
                },
                _ => self.dropped.unpublished += 1,
            }
        }
        kept.sort_by(|a, b| {
            let place = || (&a.id, &a.hit.part).cmp(&(&b.id, &b.hit.part));
            b.hit.score.total_cmp(&a.hit.score).then_with(place)
        });
        Ok(kept)
    }

    /// The verified text behind a proposal; `None` where there is nothing more to say of it.
    fn hit(&mut self, candidate: Candidate) -> Option<Result<Hit, Withheld>> {
        let Candidate { id, hit } = candidate;
        if !self.read.contains_key(&id) {
            let (document, withheld) = match self.snapshot.get(&id)? {
                Ok(served) => (Some(Document::new(served)), None),
                Err(withheld) => (None, Some(Err(withheld))),
            };
            self.read.insert(id.clone(), document);
            if withheld.is_some() {
                return withheld;
            }
        }
        let document = self.read.get(&id)?.as_ref()?;
        let (cut, section, range) = match document.part(&hit.part) {
            Some(part) => part,
            None => {
                self.dropped.anchors += 1;
                (Cut::Whole, None, document.body())
            }
        };
        let anchor = section.map(|section| section.anchor.clone());
        if !self.shown.insert((id, anchor)) {
            self.dropped.duplicates += 1;
            return None;
        }
        Some(Ok(Hit {
            cut,
            section: section.cloned(),
            snippet: snippet::snippet(&document.served.visible()[range], self.query),
            served: Arc::clone(&document.served),
            score: hit.score,
            reasons: hit.reasons,
        }))
    }
}

impl Document {
    fn new(served: Served) -> Self {
        let sections = served.sections();
        let units = units::units(&served, &sections);
        let anchors = sections.iter().enumerate().map(|(n, s)| (s.anchor.clone(), n)).collect();
        Self { served: Arc::new(served), sections, anchors, units }
    }

    fn body(&self) -> Range<usize> {
        self.served.body_range()
    }

    fn section(&self, anchor: &str) -> Option<&Section> {
        self.sections.get(*self.anchors.get(anchor)?)
    }

    /// What a part is of the document: the section that it is in, and its bytes of the text; `None`
    /// if there is no such part.
    fn part(&self, part: &HitPart) -> Option<(Cut, Option<&Section>, Range<usize>)> {
        match part {
            HitPart::Whole => Some((Cut::Whole, None, self.body())),
            HitPart::Anchor(anchor) => {
                let section = self.section(anchor)?;
                Some((Cut::Section(anchor.clone()), Some(section), section.range.clone()))
            }
            HitPart::Unit(n) => {
                let unit = self.units.get(*n)?;
                let section = unit.anchor.as_deref().and_then(|anchor| self.section(anchor));
                let cut = match &unit.anchor {
                    // A heading alone says nothing; what it announces does.
                    Some(anchor) if unit.is_heading(self.served.visible()) => {
                        Cut::Section(anchor.clone())
                    }
                    Some(anchor) => Cut::Own(anchor.clone()),
                    None if self.sections.is_empty() => Cut::Whole,
                    None => Cut::Beginning,
                };
                Some((cut, section, unit.range.clone()))
            }
        }
    }
}
