//! What a vault says at a checkpoint: selector or URI in, verified documents out, in byte order of
//! their ids (paper, section 5; `spec/resolve.md`).
//!
//! [`Snapshot`] is the vault at checkpoint n. Whatever it serves was reconstructed from the
//! chain, ends in the hash that the log records, and describes itself; live files are never
//! read. A document that fails is withheld and named, and the others are still served.

pub mod checkout;
mod universe;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::chain::digest::Digest;
use crate::chain::history::Entry;
use crate::chain::replay::{self, ChainError};
use crate::checkpoint::log::{Checkpoint, Chronicle, LogError};
use crate::checkpoint::state::State;
use crate::document::frontmatter::Frontmatter;
use crate::document::id::Id;
use crate::document::sections::{self, Section, UnknownAnchor};
use crate::selector::{self, Selector};
use crate::uri::Uri;
use crate::vault::Vault;
use crate::vault::clock::Timestamp;
use crate::vault::config::LogForm;

use universe::Sets;

/// A vault as it was at one checkpoint.
#[derive(Debug)]
pub struct Snapshot<'v> {
    vault: &'v Vault,
    checkpoint: u64,
    at: Option<Timestamp>,
    state: State,
    full_log: bool,
    checkpoints: Vec<&'v Checkpoint>,
    /// When each artifact's version was first sealed; made when it is first asked for.
    sealed: OnceLock<HashMap<&'v Id, (Option<u64>, Timestamp)>>,
}

/// A version that the chain vouches for.
#[derive(Clone, Debug)]
pub struct Served {
    /// The document.
    pub id: Id,
    /// The checkpoint it was resolved at.
    pub checkpoint: u64,
    /// Its record.
    pub entry: Entry,
    /// Its text in normal form, frontmatter included.
    pub text: String,
    /// The fields of that text.
    pub fields: Frontmatter,
    body: usize,
}

impl Served {
    /// The text after the frontmatter.
    pub fn body(&self) -> &str {
        &self.text[self.body..]
    }

    /// The sections of the text, as bytes of [`Served::text`].
    pub fn sections(&self) -> Vec<Section> {
        let whole = |mut section: Section| {
            section.range = section.range.start + self.body..section.range.end + self.body;
            section
        };
        sections::sections(self.body()).into_iter().map(whole).collect()
    }

    /// The section that an anchor names, as bytes of [`Served::text`].
    ///
    /// # Errors
    /// There is none of this name.
    pub fn section(&self, anchor: &str) -> Result<Section, UnknownAnchor> {
        let all = self.sections();
        match all.iter().position(|section| section.anchor == anchor) {
            Some(n) => Ok(all[n].clone()),
            None => {
                let known = all.into_iter().map(|section| section.anchor).collect();
                Err(UnknownAnchor { anchor: anchor.to_owned(), known })
            }
        }
    }

    /// The title, or the id where a governance file has none.
    pub fn title(&self) -> &str {
        self.fields.title.as_deref().unwrap_or_else(|| self.id.as_str())
    }

    /// The URI that names exactly this text; none for the few ids that a URI cannot name.
    pub fn uri(&self) -> Option<Uri> {
        Uri::can_name(&self.id).then(|| Uri::pinned(self.id.clone(), self.checkpoint))
    }
}

/// A document that belongs to the checkpoint but may not be served.
#[derive(Debug)]
pub struct Withheld {
    /// The document.
    pub id: Id,
    /// Why.
    pub why: ChainError,
}

/// The answer to a selector.
#[derive(Debug, Default)]
pub struct Resolution {
    /// The documents in byte order of their ids.
    pub documents: Vec<Served>,
    /// Documents that had to be looked at and failed, in byte order of their ids.
    pub withheld: Vec<Withheld>,
}

impl<'v> Snapshot<'v> {
    /// The vault at checkpoint `number`, or at the last one. The checkpoint's hash is recomputed.
    ///
    /// # Errors
    /// No such checkpoint, or its hash does not follow from its maps.
    pub fn at(
        vault: &'v Vault,
        chronicle: &Chronicle<'v>,
        number: Option<u64>,
    ) -> Result<Self, LogError> {
        let checkpoint = match number {
            // There is no checkpoint 0 to ask for; an empty log is the vault before the first.
            Some(number) => chronicle.checkpoint(number)?.number,
            None => chronicle.head_number(),
        };
        let state = chronicle.state_at(checkpoint)?;
        let at = chronicle.checkpoint(checkpoint).ok().map(|c| c.at);
        let mut checkpoints = chronicle.checkpoints().to_vec();
        checkpoints.truncate(usize::try_from(checkpoint).unwrap_or(usize::MAX));
        let full_log = vault.log_form() == LogForm::Full;
        let sealed = OnceLock::new();
        Ok(Self { vault, checkpoint, at, state, full_log, checkpoints, sealed })
    }

    /// The number of the checkpoint; 0 before the first.
    pub fn checkpoint(&self) -> u64 {
        self.checkpoint
    }

    /// When the checkpoint was made.
    pub fn made_at(&self) -> Option<Timestamp> {
        self.at
    }

    /// What the checkpoint records.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The published documents, in byte order.
    pub fn documents(&self) -> impl Iterator<Item = &Id> {
        self.state.iter().map(|(id, _)| id).filter(|id| id.is_document())
    }

    /// The verified text of one artifact; `None` where the checkpoint does not hold it.
    pub fn get(&self, id: &Id) -> Option<Result<Served, Withheld>> {
        let mark = self.state.get(id.as_str())?;
        let served = match mark.sealed() {
            Some((version, hash)) => self.serve(id, version, &hash),
            None => Err(ChainError::HalfSealed),
        };
        Some(served.map_err(|why| Withheld { id: id.clone(), why }))
    }

    fn serve(&self, id: &Id, version: u64, chain_hash: &Digest) -> Result<Served, ChainError> {
        let files = self.vault.files();
        let history = replay::load(files, id)?;
        let sealed = replay::sealed(files, id, &history, version, chain_hash)?;
        if let (Some(recorded), Some(at)) = (sealed.entry.published_at, self.sealed_at(id))
            && recorded > at
        {
            let bound = format!("the checkpoint that sealed it is of {at}");
            return Err(ChainError::PublicationTime { recorded, bound });
        }
        // The other tool may drop an id and take it up again; what we retired does not come back.
        // In a log of ours a return is refused before anything is served.
        let later = history.entries().filter(|entry| self.full_log && entry.version > version);
        if let Some(at) = later.filter_map(|entry| entry.retired_at).find(|at| Some(*at) <= self.at)
        {
            return Err(ChainError::Retired { version, at });
        }
        let (fields, body) = match sealed.document {
            Some(document) => (document.frontmatter, document.parts.body),
            None => (Frontmatter::read(None), 0),
        };
        let (id, checkpoint) = (id.clone(), self.checkpoint);
        Ok(Served { id, checkpoint, entry: sealed.entry, text: sealed.text, fields, body })
    }

    /// When the version that the checkpoint holds of an artifact was first sealed.
    fn sealed_at(&self, id: &Id) -> Option<Timestamp> {
        let sealed = self.sealed.get_or_init(|| {
            let mut sealed: HashMap<&Id, (Option<u64>, Timestamp)> = HashMap::new();
            for checkpoint in &self.checkpoints {
                for (id, mark) in &checkpoint.set {
                    let first = (mark.version, checkpoint.at);
                    let known = sealed.entry(id).or_insert(first);
                    if known.0 != mark.version {
                        *known = first;
                    }
                }
            }
            sealed
        });
        sealed.get(id).map(|(_, at)| *at)
    }

    /// Resolves a selector.
    pub fn resolve(&self, selector: &Selector) -> Resolution {
        let sets = Sets::new(self);
        let found = match selector::eval(&selector.expr, &sets) {
            Ok(found) => found,
            Err(never) => match never {},
        };
        sets.into_resolution(&found)
    }

    /// Every published document.
    pub fn all(&self) -> Resolution {
        let sets = Sets::new(self);
        let found = sets.everything();
        sets.into_resolution(&found)
    }
}

/// Which of `documents` a selector would select if they were published: for the hint that an
/// empty answer carries. Working copies are looked at, never served.
pub fn matching_drafts(selector: &Selector, documents: Vec<(Id, Frontmatter)>) -> Vec<Id> {
    let drafts = universe::Drafts::new(documents);
    match selector::eval(&selector.expr, &drafts) {
        Ok(found) => drafts.ids(&found),
        Err(never) => match never {},
    }
}
