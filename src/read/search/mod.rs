//! Full-text search over the current published versions (paper, section 6.3; `spec/search.md`).
//!
//! A [`Backend`] finds the documents: the [`builtin`] index, or a [`command`] that the user names.
//! A back-end only proposes. [`search`] keeps those of its [`RawHit`]s that the head contains,
//! reads each of them through [`Snapshot::get`], so that the chain vouches for it, and cuts the
//! snippet from that text. Texts from a back-end are never shown.

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

/// Maximum number of hits of an answer.
pub(crate) const MAX_HITS: usize = 1000;
/// Number of best hits whose documents a search in a selector selects.
pub(crate) const SELECTED_HITS: usize = 100;

/// A program or index that finds sections by their words or meaning.
pub(crate) trait Backend {
    /// Returns the name in answers.
    fn name(&self) -> &str;

    /// Returns about `limit` hits for a query at most, in any order.
    ///
    /// # Errors
    /// Fails if the back-end cannot answer.
    fn search(&self, query: &Query, limit: usize) -> Result<Proposals, SearchError>;
}

/// Back-end of a vault without published documents.
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

/// Proposals of a back-end.
#[derive(Debug, Default)]
pub(crate) struct Proposals {
    /// Hits, in any order.
    pub(crate) hits: Vec<RawHit>,
    /// Documents that the back-end could not read, so it is unknown whether they match.
    pub(crate) unread: Vec<DocumentId>,
    /// Words that were accepted for words of the query.
    pub(crate) near: Vec<String>,
    /// Notes for the reader.
    pub(crate) notes: Vec<String>,
    /// True if the back-end may have more hits than requested.
    pub(crate) goes_on: bool,
}

/// A document, or a part of one, that a back-end proposes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RawHit {
    /// Id of the document, as the back-end spells it.
    pub(crate) id: String,
    /// Part of the document.
    pub(crate) part: HitPart,
    /// Score, a finite number; larger is better.
    pub(crate) score: f64,
    /// Explanation of the score, if the back-end has one.
    pub(crate) reasons: Vec<Reason>,
}

/// Part of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum HitPart {
    /// The whole document.
    Whole,
    /// The section with this anchor.
    Anchor(String),
    /// The unit with this index, from 0.
    Unit(usize),
}

/// Contribution of one clause of a query in one field to a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub(crate) struct Reason {
    /// Folded words of the clause.
    pub(crate) term: String,
    /// Words that were accepted for the clause, if the clause itself was not found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) near: Vec<String>,
    /// Field that contains them.
    pub(crate) field: &'static str,
    /// Contribution before `share` is applied.
    pub(crate) score: f64,
    /// Number of occurrences of the clause in the field.
    pub(crate) tf: u32,
    /// Number of units (for `title`, `tags` and `description`: documents) that contain the clause.
    pub(crate) df: u64,
    /// Number of all units or documents.
    pub(crate) n: u64,
    /// Weight of the field.
    pub(crate) boost: f64,
    /// Rarity of the clause.
    pub(crate) idf: f64,
    /// Number of words of the field.
    pub(crate) length: u64,
    /// Average number of words of the field.
    pub(crate) average: f64,
    /// Share of the query's clauses that were found, a factor of the sum.
    pub(crate) share: f64,
}

/// Reason why a search fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SearchError {
    /// The published documents cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The library was built without the built-in index.
    #[cfg_attr(
        feature = "search",
        allow(dead_code, reason = "only builds without the feature construct it")
    )]
    #[error("this ctx was built without the built-in index (feature `search`)")]
    NotBuilt,
    /// The index could be neither used nor built.
    #[error("the index cannot be built: {0}")]
    Index(String),
    /// The program did not answer as `spec/search.md` requires.
    #[error("`{program}` {problem}")]
    Command {
        /// Name of the program.
        program: String,
        /// Description of the failure.
        problem: String,
        /// Lines that the program wrote to standard error.
        said: Vec<String>,
    },
}

/// A published section or document that was found; its text is verified.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) served: Arc<Served>,
    /// Section; `None` for the whole document or its beginning.
    pub(crate) section: Option<Section>,
    /// Part of the document that was found.
    pub(crate) cut: Cut,
    /// Score; larger is better.
    pub(crate) score: f64,
    /// Snippet that shows the match.
    pub(crate) snippet: Snippet,
    /// Explanation of the score.
    pub(crate) reasons: Vec<Reason>,
}

impl Hit {
    /// Returns the URI of exactly the found part; `None` for the few ids that a URI cannot name.
    pub(crate) fn uri(&self) -> Option<Uri> {
        Portion { section: self.section.as_ref(), ..Portion::whole(&self.served) }.uri()
    }

    /// Returns the text that the access log records for a line that shows the hit.
    pub(crate) fn recorded(&self) -> Text {
        let recorded = self.served.origin().text(&self.snippet.text).named(self.uri());
        Text { part: Some(audit::Part::Snippet), ..recorded }
    }

    /// Returns the chain hash of the version.
    pub(crate) fn chain_hash(&self) -> Digest {
        self.served.entry.chain_hash
    }
}

/// Answer to a query. Its class is *delegated*: the hits are published and verified, but the
/// back-end decides which ones match.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Best hits, by score, then id, then place in the document.
    pub(crate) hits: Vec<Hit>,
    /// Documents that were found, or could not be read, and may not be served.
    pub(crate) withheld: Vec<Withheld>,
    /// Notes for the reader.
    pub(crate) notes: Vec<String>,
    /// True if there may be more hits than the limit.
    pub(crate) goes_on: bool,
}

/// Returns the opening of a document: the first served words after the heading with its title.
pub(crate) fn opening(served: &Served) -> Snippet {
    let body = &served.visible()[served.body_range()];
    snippet::opening(&body[sections::title_end(body)..])
}

/// Returns the text that the access log records for a line that shows the opening of a document.
pub(crate) fn opening_recorded(served: &Served, opening: &Snippet) -> Text {
    let recorded = served.recorded(&opening.text).named(served.uri().cloned());
    Text { part: Some(audit::Part::Snippet), ..recorded }
}

/// Searches with a back-end. Keeps the hits that are published, current and verified.
///
/// # Errors
/// Fails if the back-end cannot answer.
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
    /// Converts the answer for a selector that contains the search. With `whole`, it selects
    /// whole documents.
    pub(crate) fn into_searched(self, backend: String, whole: bool) -> Searched {
        let found = |hit: Hit| Found {
            id: hit.served.id.clone(),
            cut: if whole { Cut::Whole } else { hit.cut },
        };
        let found = self.hits.into_iter().map(found).collect();
        Searched { backend, found, withheld: self.withheld, notes: self.notes }
    }
}

/// Counts of proposals that were left out or changed.
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
            (self.anchors, "shown as whole documents, because their sections do not exist"),
        ];
        let told = told.iter().filter(|(n, _)| *n > 0);
        told.map(|(n, what)| format!("hits of {backend} {what}: {n}")).collect()
    }
}

/// A proposal for a document that the head contains.
struct Candidate {
    id: DocumentId,
    hit: RawHit,
}

/// A verified document and its parts.
struct Document {
    served: Arc<Served>,
    sections: Vec<Section>,
    /// Index of each section, by its anchor.
    anchors: HashMap<String, usize>,
    units: Vec<Unit>,
}

/// Filter of a back-end's proposals.
struct Sieve<'a, 'v> {
    snapshot: &'a Snapshot<'v>,
    query: &'a Query,
    /// Documents that were read; `None` if a document is withheld.
    read: HashMap<DocumentId, Option<Document>>,
    shown: HashSet<(DocumentId, Option<String>)>,
    dropped: Dropped,
}

impl Sieve<'_, '_> {
    /// Returns the proposals for published documents, best first.
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

    /// Returns the verified hit of a proposal; `None` if there is nothing to add to the answer.
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

    /// Returns the cut, section and byte range of a part; `None` if the part does not exist.
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
                    // A heading alone is not useful, so its whole section is returned.
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
