//! A selector as an argument: read, planned at its checkpoint, and what should be said beside an
//! answer.

use std::collections::BTreeSet;

use super::Failure;
use super::failure::Code;
use super::search;
use super::session::{Session, is_uri};
use crate::resolve::context::Question;
use crate::resolve::{Known, Need, Plan, Resolution, Snapshot, Source};
use crate::selector::{self, Atom, ErrorKind, Selector, StatusFilter, Term};
use crate::vault::Vault;
use crate::vault::federation::Authorities;
use crate::words::Nearest;

/// A selector and the vault at the checkpoint that it is asked of.
pub(super) struct Asked<'v> {
    pub(super) selector: Selector,
    pub(super) snapshot: Snapshot<'v>,
    pub(super) plan: Plan,
}

impl<'v> Asked<'v> {
    /// What it takes to answer: the version alone where a single URI names a document.
    pub(super) fn need(text: &str) -> Need {
        let text = text.trim();
        let is_uri = is_uri(text) && !text.contains(char::is_whitespace) && !text.ends_with('/');
        if is_uri { Need::Versions } else { Need::Fields }
    }

    /// Reads a selector as the head's configuration says, and plans it at `at`, at the checkpoint
    /// that its URIs are pinned to, or at the head.
    pub(super) fn new(
        session: &mut Session<'_>,
        vault: &'v Vault,
        source: &'v Source,
        text: &str,
        at: Option<u64>,
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
                    format!("the URI is pinned to checkpoint {pin}, but `--at` says {at}");
                return Err(Failure::new(Code::Usage, message).hint("leave one of them out"));
            }
            (at, pin) => at.or(pin),
        };
        let snapshot = match (at, head) {
            (None, Some(head)) => head,
            (at, _) => Snapshot::of(vault, source, at)?,
        };
        let mut ask = |query: &str| search::in_selector(session, vault, source, &snapshot, query);
        let plan = Plan::new(&selector, &snapshot, &mut ask);
        let plan = plan.map_err(|why| Failure::plan(why, text))?;
        Ok(Self { selector, snapshot, plan })
    }

    /// What the answer is to.
    pub(super) fn question(&self) -> Question {
        let (class, backend) = (self.plan.class(), self.plan.backend.clone());
        Question::new(&self.snapshot, self.selector.to_string(), class, backend)
    }

    /// Adds what was looked at for the plan and is withheld to that of an answer.
    pub(super) fn add_withheld(&mut self, resolution: &mut Resolution) {
        resolution.withhold(&mut self.plan.withheld);
    }

    /// What the writer of a selector should know beside the answer.
    pub(super) fn notes(&self, resolution: &Resolution) -> Result<Vec<String>, Failure> {
        let mut notes = self.plan.notes.clone();
        let terms = self.selector.expr.leaves();
        let is_draft = |term: &Term| *term == Term::Set(Atom::Status(StatusFilter::Draft));
        if terms.iter().any(|(term, _)| is_draft(term)) {
            let note = "`status:draft` is always empty: only published documents are resolved; \
                        `ctx status` shows drafts";
            notes.push(note.to_owned());
        }
        // Documents that cannot be read may have the words that seem to be unknown.
        if resolution.documents.is_empty() && resolution.withheld.is_empty() {
            notes.extend(self.unknown_words()?);
        }
        Ok(notes)
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
            let (known, word, as_atom): (_, _, fn(String) -> Atom) = match atom {
                Atom::Tag(tag) => (self.known(&mut tags, Known::Tags)?, tag, Atom::Tag),
                Atom::Server(name) => {
                    (self.known(&mut servers, Known::Servers)?, name, Atom::Server)
                }
                _ => continue,
            };
            if known.contains(word) {
                continue;
            }
            let meant = near.find(word, known.iter().map(String::as_str));
            let meant = meant.map(|near| format!("; did you mean {}?", as_atom(near.to_owned())));
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
