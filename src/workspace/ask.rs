//! A selector as an argument: read, planned at its checkpoint, and what should be said beside an
//! answer.

use std::collections::BTreeSet;

use super::Workspace;
use super::name::is_uri;
use super::search::{self, OnSlow};
use crate::live;
use crate::model::id::DocumentId;
use crate::model::number::CheckpointNumber;
use crate::report::failure::{Code, Failure};
use crate::resolve::context::Question;
use crate::resolve::{
    CheckpointSource, Known, Need, QueryPlan, Resolution, Snapshot, matching_drafts,
};
use crate::selector::{self, Atom, ErrorKind, Selector, StatusFilter, Term};
use crate::vault::Vault;
use crate::vault::federation::Authorities;
use crate::words::Nearest;

/// The most published documents beside which drafts are looked through for a hint.
const LOOKED_THROUGH: usize = 2_000;

/// A selector and the vault at the checkpoint that it is asked of.
pub(crate) struct Asked<'v> {
    pub(crate) selector: Selector,
    pub(crate) snapshot: Snapshot<'v>,
    pub(crate) plan: QueryPlan,
}

impl<'v> Asked<'v> {
    /// What it takes to answer: the version alone where a single URI names a document.
    pub(crate) fn need(text: &str) -> Need {
        let text = text.trim();
        let is_uri = is_uri(text) && !text.contains(char::is_whitespace) && !text.ends_with('/');
        if is_uri { Need::Versions } else { Need::Fields }
    }

    /// Reads a selector as the head's configuration says, and plans it at `at`, at the checkpoint
    /// that its URIs are pinned to, or at the head.
    pub(crate) fn new(
        workspace: &Workspace<'_>,
        (vault, source): (&'v Vault, &'v CheckpointSource),
        text: &str,
        at: Option<CheckpointNumber>,
        on_slow: OnSlow<'_>,
    ) -> Result<Self, Failure> {
        let names_uris = text.to_ascii_lowercase().contains("contextnest:");
        let head = names_uris.then(|| Snapshot::of(vault, source, None)).transpose()?;
        let authorities = match &head {
            Some(head) => head.authorities()?,
            None => Authorities::default(),
        };
        let selector = selector::parse_in(text, &authorities).map_err(|why| match &why.kind {
            // All that was typed is a URI.
            ErrorKind::Uri(uri) if text.get(why.span.clone()) == Some(text.trim()) => {
                Failure::from(uri.clone())
            }
            _ => Failure::selector(&why, text),
        })?;
        let at = match (at, selector.checkpoint) {
            (Some(at), Some(pin)) if at != pin => {
                let message =
                    format!("the URI is pinned to checkpoint {pin}, but `--at` names {at}");
                return Err(Failure::new(Code::Usage, message).hint("give one of them only"));
            }
            (at, pin) => at.or(pin),
        };
        let snapshot = match (at, head) {
            (None, Some(head)) => head,
            (at, _) => Snapshot::of(vault, source, at)?,
        };
        let mut ask = |query: &str| {
            search::in_selector(workspace, (vault, source), &snapshot, query, on_slow)
        };
        let plan = QueryPlan::new(&selector, &snapshot, &mut ask);
        let plan = plan.map_err(|why| Failure::plan(why, text))?;
        Ok(Self { selector, snapshot, plan })
    }

    /// What the answer is to.
    pub(crate) fn question(&self) -> Question {
        let (class, backend) = (self.plan.class(), self.plan.backend.clone());
        Question::new(&self.snapshot, self.selector.to_string(), class, backend)
    }

    /// Adds what was looked at for the plan and is withheld to that of an answer.
    pub(crate) fn add_withheld(&mut self, resolution: &mut Resolution) {
        resolution.withhold(&mut self.plan.withheld);
    }

    /// What the writer of a selector should know beside the answer.
    pub(crate) fn notes(&self, resolution: &Resolution) -> Result<Vec<String>, Failure> {
        let mut notes = self.plan.notes.clone();
        let terms = self.selector.expr.leaves();
        let is_draft = |term: &Term| *term == Term::Set(Atom::Status(StatusFilter::Draft));
        if terms.iter().any(|(term, _)| is_draft(term)) {
            let note =
                "`status:draft` is always empty, because only published documents are resolved";
            notes.push(note.to_owned());
        }
        // Documents that cannot be read may have the words that seem to be unknown.
        if resolution.documents.is_empty() && resolution.withheld.is_empty() {
            notes.extend(self.unknown_words()?);
        }
        Ok(notes)
    }

    /// The drafts that the selector would select if they were published; none where the vault is
    /// too large to look through them for a hint.
    pub(crate) fn matching_drafts(
        &self,
        vault: &Vault,
    ) -> Result<Option<Vec<DocumentId>>, Failure> {
        if self.snapshot.size()? > LOOKED_THROUGH {
            return Ok(None);
        }
        let state = self.snapshot.state()?;
        let drafts = live::drafts(vault, |id| state.get(id.as_str()).is_some());
        Ok(drafts.map(|drafts| matching_drafts(&self.plan, drafts)))
    }

    /// A note for each tag or server that no published document has.
    fn unknown_words(&self) -> Result<Vec<String>, Failure> {
        let (mut notes, mut told, mut near) = (Vec::new(), BTreeSet::new(), Nearest::default());
        let (mut tags, mut servers) = (None, None);
        for (term, _) in self.selector.expr.leaves() {
            let Term::Set(atom) = term else { continue };
            if !told.insert(atom.to_string()) {
                continue;
            }
            let (known, word, spell): (_, _, fn(&str) -> String) = match atom {
                Atom::Tag(tag) => {
                    (self.known(&mut tags, Known::Tags)?, tag.as_str(), |tag| format!("#{tag}"))
                }
                Atom::Server(name) => (self.known(&mut servers, Known::Servers)?, name, |name| {
                    Atom::Server(name.to_owned()).to_string()
                }),
                _ => continue,
            };
            if known.contains(word) {
                continue;
            }
            let meant = near.find(word, known.iter().map(String::as_str));
            let meant = meant.map(|near| format!("; did you mean {}?", spell(near)));
            notes.push(format!("no published document has {atom}{}", meant.unwrap_or_default()));
        }
        Ok(notes)
    }

    fn known<'k>(
        &self,
        known: &'k mut Option<BTreeSet<String>>,
        what: Known,
    ) -> Result<&'k BTreeSet<String>, Failure> {
        Ok(match known {
            Some(known) => known,
            None => known.insert(self.snapshot.known(what)?),
        })
    }
}
