//! The vault at a checkpoint: resolves selectors and URIs to verified documents, in byte order of
//! their ids (paper, section 5; `spec/resolve.md`).
//!
//! [`Snapshot`] is the vault at checkpoint n. Every text that it serves was rebuilt from the chain,
//! leads to the hash that the log records, and states its own version and status; live files are
//! never read. A document that fails is withheld and named, and the others are still served.

mod approved;
mod around;
pub mod checkout;
mod checkpoint_maps;
mod checkpoint_source;
pub mod context;
mod explain;
mod extent;
mod hydration;
pub mod instructions;
mod linked;
pub mod listing;
#[cfg(feature = "mcp")]
mod named;
pub(crate) mod overview;
pub mod packs;
mod page;
pub mod plan;
pub mod portion;
pub(crate) mod provenance;
pub(crate) mod ranges;
mod ranking;
mod readable;
mod repeated;
mod resolution;
pub(crate) mod seals;
mod served;
mod sets_from_index;
mod sets_from_log;
pub mod tokens;
pub(crate) mod traced;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use crate::files::vault::Vault;
use crate::files::vault::config::Config;
use crate::files::vault::federation::Authorities;
use crate::policy::viewer::Viewer;
use crate::read::index::{At, Damaged};
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, History};
use crate::record::chain::replay;
use crate::record::chain::vouched::{self, SealedVersion};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::codec;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::state::PublishedSet;
use crate::text::document::frontmatter::{Frontmatter, Status};
use crate::text::document::obsidian::Markup;
use crate::text::selector::matches::Drafts;
use crate::text::selector::{self, Atom};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

use approved::Approvals;
use checkpoint_maps::{Map, Recorded};
use provenance::{Provenance, Settings};
use readable::Limits;
use sets_from_index::Posted;

use served::Visible;
use sets_from_log::Sets;

pub(crate) use around::Around;
pub use checkpoint_source::{CheckpointSource, Need};
pub use explain::{Cost, Explained};
pub use extent::UnknownSection;
pub(crate) use listing::{Listed, Listing};
pub(crate) use page::Page;
pub use plan::{PlanError, QueryPlan};
pub use ranking::Ranking;
pub use resolution::{Resolution, ResolveError, Withheld};
pub use served::Served;

/// A vault as it was at one checkpoint.
#[derive(Debug)]
pub struct Snapshot<'v> {
    vault: &'v Vault,
    checkpoint: CheckpointNumber,
    hash: Option<Digest>,
    at: Option<Timestamp>,
    full_log: bool,
    map: Map<'v>,
    /// Names of vaults, read on first use; `None` if they are withheld.
    names: OnceLock<Option<Authorities>>,
    /// Sealed configuration, once it was read.
    config: SealedConfig,
    /// Settings of the configuration for every document, read on first use.
    settings: OnceLock<Settings>,
    /// Limits of the reader; `None` if they may read everything.
    limits: Option<Limits>,
    /// Approvals of the checkpoint.
    approvals: Approvals<'v>,
    /// True if texts without a valid approval are served, too, to explain accesses.
    explains: bool,
}

/// The configuration that a checkpoint seals, once it was read. An error contains the defaults, if
/// it cannot be parsed.
type SealedConfig = Arc<OnceLock<Option<Result<Config, Config>>>>;

/// Kind of words for a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Tags of published documents, without `#`.
    Tags,
    /// Servers of published source nodes.
    Servers,
    /// Types of published documents.
    Types,
}

impl<'v> Snapshot<'v> {
    /// Opens the vault at checkpoint `number`, or at the last one, as far as its reader may read
    /// it. Recomputes the hash of the checkpoint.
    ///
    /// # Errors
    /// Fails if there is no such checkpoint, its hash does not match its maps, or the reader
    /// is unknown.
    pub fn at(
        vault: &'v Vault,
        chronicle: &Chronicle<'v>,
        number: Option<CheckpointNumber>,
    ) -> Result<Self, LogError> {
        Self::whole(vault, chronicle, number)?.limited(Viewer::of_log(vault, chronicle)?)
    }

    /// Opens the vault like [`Snapshot::at`], for every reader. Its texts are compared with the
    /// working copy, or written into it, and must not be handed out.
    ///
    /// # Errors
    /// Fails like [`Snapshot::at`], except for the reader.
    pub(crate) fn whole(
        vault: &'v Vault,
        chronicle: &Chronicle<'v>,
        number: Option<CheckpointNumber>,
    ) -> Result<Self, LogError> {
        let checkpoint = match number {
            // Checkpoint 0 cannot be requested; an empty log is the vault before the first.
            Some(number) => chronicle.checkpoint(number)?.number,
            None => chronicle.head_number(),
        };
        let state = Cow::Owned(chronicle.state_at(checkpoint)?);
        Ok(Self::of_state((vault, chronicle), checkpoint, state))
    }

    /// Opens the vault at a checkpoint with this state, for every reader, like [`Snapshot::whole`].
    pub(crate) fn of_state(
        (vault, chronicle): (&'v Vault, &Chronicle<'v>),
        checkpoint: CheckpointNumber,
        state: Cow<'v, PublishedSet>,
    ) -> Self {
        let made = chronicle.checkpoint(checkpoint).ok();
        let (at, hash) = (made.map(|c| c.at), made.map(|c| c.hash));
        let full_log = codec::form_of(vault).is_shared();
        let map = Map::of_log(chronicle, checkpoint, state);
        let mut checkpoints = chronicle.checkpoints().to_vec();
        checkpoints.truncate(checkpoint.count());
        Self {
            vault,
            checkpoint,
            hash,
            at,
            full_log,
            map,
            names: OnceLock::new(),
            config: SealedConfig::default(),
            settings: OnceLock::new(),
            limits: None,
            approvals: Approvals::of_log(checkpoints),
            explains: false,
        }
    }

    /// Opens the vault at checkpoint `number`, or at the last one, from a source, as far as its
    /// reader may read it.
    ///
    /// # Errors
    /// Fails like [`Snapshot::at`].
    pub fn of(
        vault: &'v Vault,
        source: &'v CheckpointSource,
        number: Option<CheckpointNumber>,
    ) -> Result<Self, LogError> {
        Self::whole_of(vault, source, number)?.limited(source.viewer(vault)?)
    }

    /// Opens the vault from a source for every reader, like [`Snapshot::whole`].
    ///
    /// # Errors
    /// Fails like [`Snapshot::at`], except for the reader.
    pub(crate) fn whole_of(
        vault: &'v Vault,
        source: &'v CheckpointSource,
        number: Option<CheckpointNumber>,
    ) -> Result<Self, LogError> {
        // The configuration of the head is read once for all snapshots.
        let config = match number {
            None => source.config.clone(),
            Some(_) => SealedConfig::default(),
        };
        let Some(at) = source.index_at(number)? else {
            let chronicle = source.log(vault)?.sound()?;
            let whole = match number {
                None => {
                    let state = Cow::Borrowed(source.head_state(vault)?);
                    Self::of_state((vault, &chronicle), chronicle.head_number(), state)
                }
                Some(_) => Self::whole(vault, &chronicle, number)?,
            };
            return Ok(Self { config, ..whole });
        };
        let (checkpoint, hash, made_at) = (at.checkpoint(), Some(at.hash()), Some(at.made_at()));
        let full_log = codec::form_of(vault).is_shared();
        let map = Map::of_index(at);
        let (names, settings) = (OnceLock::new(), OnceLock::new());
        Ok(Self {
            vault,
            checkpoint,
            hash,
            at: made_at,
            full_log,
            map,
            names,
            config,
            settings,
            limits: None,
            approvals: Approvals::default(),
            explains: false,
        })
    }

    /// Returns the number of the checkpoint; 0 before the first.
    pub fn checkpoint(&self) -> CheckpointNumber {
        self.checkpoint
    }

    /// Returns the hash of the checkpoint; `None` before the first.
    pub fn hash(&self) -> Option<Digest> {
        self.hash
    }

    /// Returns the time of the checkpoint; `None` before the first.
    pub fn made_at(&self) -> Option<Timestamp> {
        self.at
    }

    /// Returns the state of the checkpoint.
    ///
    /// # Errors
    /// Fails if an index turned out to be damaged, and the log is unreliable.
    pub fn state(&self) -> Result<&PublishedSet, LogError> {
        self.readable()?.state(self)
    }

    /// Returns the published documents, in byte order.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub fn documents(&self) -> Result<impl Iterator<Item = &DocumentId>, LogError> {
        Ok(self.state()?.iter().map(|(id, _)| id).filter(|id| id.is_document()))
    }

    /// Returns the number of published documents.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub fn size(&self) -> Result<usize, LogError> {
        let indexed = self.indexed(|at| at.holding(at.known()? | at.unreadable()?));
        match indexed {
            Some(rows) => Ok(usize::try_from(rows.len()).unwrap_or(usize::MAX)),
            None => Ok(self.documents()?.count()),
        }
    }

    /// Returns true if the checkpoint contains an artifact.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub fn holds(&self, id: &DocumentId) -> Result<bool, LogError> {
        Ok(self.recorded(id)?.is_some())
    }

    /// Returns the configuration that the checkpoint seals; `None` if it is missing, invalid
    /// or withheld.
    pub fn config(&self) -> Option<&Config> {
        self.read_config().ok().flatten()?.as_ref().ok()
    }

    /// Returns the configuration that the checkpoint seals, or the defaults if it cannot be parsed.
    /// Returns `None` if the checkpoint contains none.
    ///
    /// # Errors
    /// Fails if the chain does not vouch for it.
    fn sealed_config(&self) -> Result<Option<&Config>, Withheld> {
        Ok(self.read_config()?.map(|read| read.as_ref().unwrap_or_else(|default| default)))
    }

    /// Returns the configuration that the checkpoint seals, or the defaults as an error if it
    /// cannot be parsed. Its history is read once, but each time if the chain does not vouch
    /// for it.
    fn read_config(&self) -> Result<Option<&Result<Config, Config>>, Withheld> {
        if let Some(known) = self.config.get() {
            return Ok(known.as_ref());
        }
        let read = match self.own(&DocumentId::config()) {
            Some(Ok(sealed)) => Some(Config::parse(&sealed.text).map_err(|_| Config::default())),
            Some(Err(why)) => self.config_in_force(why)?,
            None => None,
        };
        Ok(self.config.get_or_init(|| read).as_ref())
    }

    /// Returns the markup of documents at the checkpoint (`spec/document.md`, section 7).
    pub(crate) fn markup(&self) -> Markup {
        self.settings().markup
    }

    fn settings(&self) -> &Settings {
        self.settings.get_or_init(|| Settings::of(self, &self.sealed_config()))
    }

    /// Returns the index in the markup of the checkpoint, if it is undamaged and the reader may
    /// read everything in it.
    fn index(&self) -> Option<At<'v>> {
        let index = self.map.index().filter(|_| self.limits.is_none())?;
        Some(index.under(self.markup()))
    }

    /// Returns the name of the vault that the checkpoint seals, otherwise that of its folder. So no
    /// answer contains a name that no hash covers.
    pub fn name(&self) -> String {
        let name = self.config().and_then(|config| config.name.clone());
        name.unwrap_or_else(|| self.vault.folder_name())
    }

    /// Returns the verified text of one artifact; `None` if the checkpoint does not contain it.
    pub fn get(&self, id: &DocumentId) -> Option<Result<Served, Withheld>> {
        let serve = |version, hash: &_, recorded: &_| self.serve(id, version, hash, recorded);
        let found = self.found(id, false, serve);
        // An index may return a document that the tags of its text do not allow.
        let may = |served: &Served| {
            let may =
                |limits: &Limits| limits.viewer.may_read_tagged(&served.id, &served.fields.tags);
            self.limits.as_ref().is_none_or(may)
        };
        found.filter(|found| found.as_ref().map_or(true, may))
    }

    /// Returns the verified text of a governance file that decides how everything else is read.
    /// Does not apply its own settings to it.
    fn own(&self, id: &DocumentId) -> Option<Result<SealedVersion, Withheld>> {
        self.found(id, true, |version, hash, recorded| {
            let history = replay::load(self.vault.files(), id)?;
            self.sealed_version(id, &history, (version, hash), recorded)
        })
    }

    fn found<T>(
        &self,
        id: &DocumentId,
        whoever: bool,
        serve: impl FnOnce(Version, &Digest, &Recorded) -> Result<T, ChainError>,
    ) -> Option<Result<T, Withheld>> {
        let recorded = match whoever {
            true => self.map.recorded(self, id),
            false => self.recorded(id),
        };
        let served = match recorded {
            Ok(None) => Err(self.removed_unapproved(id)?),
            Ok(Some(recorded)) => match recorded.mark.sealed() {
                Some((version, hash)) => serve(version, &hash, &recorded),
                None => Err(ChainError::HalfSealed),
            },
            Err(why) => Err(ChainError::Log(Box::new(why))),
        };
        Some(served.map_err(|why| Withheld::new(self.vault, id, why)))
    }

    /// Returns the version that the checkpoint seals of an artifact, and the time of its first
    /// seal. These and the files of its history decide what is served. Returns `None` in a full
    /// log, where later checkpoints decide, too.
    pub(crate) fn sealed(&self, id: &DocumentId) -> Option<(Version, Digest, Option<Timestamp>)> {
        let recorded = self.recorded(id).ok().flatten().filter(|_| !self.full_log)?;
        let (version, chain_hash) = recorded.mark.sealed()?;
        Some((version, chain_hash, recorded.sealed_at))
    }

    /// Returns the version that the checkpoint records of an artifact, even if it is invalid.
    pub(crate) fn recorded_version(&self, id: &DocumentId) -> Option<Version> {
        self.recorded(id).ok().flatten()?.mark.version
    }

    fn serve(
        &self,
        id: &DocumentId,
        version: Version,
        chain_hash: &Digest,
        recorded: &Recorded,
    ) -> Result<Served, ChainError> {
        let history = replay::load(self.vault.files(), id)?;
        let sealed = self.sealed_version(id, &history, (version, chain_hash), recorded)?;
        let (mut fields, body, markup) = match sealed.document {
            Some(document) => (document.frontmatter, document.parts.body, self.markup()),
            // A governance file, such as the configuration. Its text does not state a status.
            None => {
                let fields = Frontmatter { status: Status::Published, ..Frontmatter::read(None) };
                (fields, 0, Markup::Plain)
            }
        };
        let shown = Visible::markup(id, self.markup());
        let additions = markup.additions(&fields, &sealed.text[body..]);
        fields.add_tags(additions.tags, markup);
        let aliases = additions.aliases;
        let visible = Visible::of(&sealed.text, body, shown);
        let (uri, id, checkpoint) = (self.uri(id), id.clone(), self.checkpoint);
        let is_last = history.last_version() == Some(version) && history.torn == 0;
        let keyframe = history.keyframe_of(version).filter(|_| is_last);
        let (entry, text) = (sealed.entry, sealed.text);
        let provenance = Provenance::default();
        let served = Served {
            id,
            checkpoint,
            entry,
            text,
            fields,
            provenance,
            aliases,
            visible,
            keyframe,
            uri,
            body,
        };
        let provenance = Provenance::of(self.vault.files(), self.settings(), &served, &history);
        Ok(Served { provenance, ..served })
    }

    /// Returns the version that the checkpoint seals of an artifact, if it may be served.
    fn sealed_version(
        &self,
        id: &DocumentId,
        history: &History,
        (version, chain_hash): (Version, &Digest),
        recorded: &Recorded,
    ) -> Result<SealedVersion, ChainError> {
        let sealed = vouched::sealed(self.vault.files(), id, history, version, chain_hash)?;
        if let (Some(recorded), Some(at)) = (sealed.entry.published_at(), recorded.sealed_at)
            && recorded > at
        {
            let bound = format!("the time of the checkpoint that sealed it is {at}");
            return Err(ChainError::PublicationTime { recorded, bound });
        }
        // The reference implementation may drop an id and seal it again, but a version retired by
        // ctx does not return. In a log of ctx, such a return is refused before anything is served.
        let later = history.entries().filter(|entry| self.full_log && entry.version > version);
        if let Some(at) = later.filter_map(Entry::retired_at).find(|at| Some(*at) <= self.at) {
            return Err(ChainError::Retired { version, at });
        }
        if !recorded.is_approved && !self.explains {
            self.check_approval(id, history, (version, chain_hash))?;
        }
        Ok(sealed)
    }

    /// Resolves a selector.
    ///
    /// # Errors
    /// Returns a [`ResolveError`] if the selector cannot be answered.
    pub fn resolve(&self, plan: &QueryPlan) -> Result<Resolution, ResolveError> {
        let expr = plan.parts.atoms();
        let indexed = self.indexed(|at| {
            let posted = Posted::new(self, at);
            posted.answer(&expr, &selector::eval(&expr, &posted)?)
        });
        let resolution = match indexed {
            Some(resolution) => resolution,
            None => {
                let sets = Sets::new(self)?;
                let found = never(selector::eval(&expr, &sets));
                sets.into_resolution(&found)
            }
        };
        Ok(self.finish(plan, resolution)?)
    }

    /// Narrows documents to sections, and sorts sources.
    fn finish(
        &self,
        plan: &QueryPlan,
        mut resolution: Resolution,
    ) -> Result<Resolution, UnknownSection> {
        resolution.withhold(&mut self.lost_of(&plan.parts.atoms()));
        resolution.sections = extent::sections(&plan.parts, &resolution.documents)?;
        resolution.rank(&plan.found);
        resolution.arrange_sources(self);
        // The configuration decides which tags in bodies are read.
        let asks_for_tags =
            || plan.parts.leaves().iter().any(|(p, _)| matches!(p.atom, Atom::Tag(_)));
        if self.markup() == Markup::Unknown && asks_for_tags() {
            resolution.withhold(&mut self.sealed_config().err().into_iter().collect());
        }
        Ok(resolution)
    }

    /// Asks the index; returns `None` if there is none, or it turns out to be damaged.
    fn indexed<T>(&self, ask: impl FnOnce(At<'v>) -> Result<T, Damaged>) -> Option<T> {
        let at = self.index()?;
        ask(at).inspect_err(|damaged| self.map.give_up(at, *damaged)).ok()
    }

    /// Counts the documents that a selector selects.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub fn count(&self, plan: &QueryPlan) -> Result<usize, LogError> {
        let expr = plan.parts.atoms();
        let indexed = self.indexed(|at| at.holding(selector::eval(&expr, &Posted::new(self, at))?));
        let found = match indexed {
            Some(found) => found,
            None => never(selector::eval(&expr, &Sets::new(self)?)),
        };
        Ok(usize::try_from(found.len()).unwrap_or(usize::MAX))
    }

    /// Explains the answer to a selector, and returns it.
    ///
    /// # Errors
    /// Returns a [`ResolveError`] if the selector cannot be answered.
    pub fn explain(&self, plan: &QueryPlan) -> Result<(Explained, Cost, Resolution), ResolveError> {
        let indexed = self.indexed(|at| {
            let posted = Posted::new(self, at);
            let (explained, cost, found) = explain::explain(plan, &posted.holding())?;
            Ok((explained, cost, posted.answer(&plan.parts.atoms(), &found)?))
        });
        let (explained, cost, resolution) = match indexed {
            Some(all) => all,
            None => {
                let sets = Sets::new(self)?;
                let (explained, cost, found) = never(explain::explain(plan, &sets));
                (explained, cost, sets.into_resolution(&found))
            }
        };
        Ok((explained, cost, self.finish(plan, resolution)?))
    }

    /// Returns the words of published documents, for a hint.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub fn known(&self, what: Known) -> Result<BTreeSet<String>, LogError> {
        let indexed = self.indexed(|at| match what {
            Known::Tags => at.tags(),
            Known::Servers => at.servers(),
            Known::Types => at.types(),
        });
        if let Some(words) = indexed {
            return Ok(words);
        }
        let documents = self.all()?.documents.into_iter();
        Ok(match what {
            Known::Tags => {
                let tags = documents.flat_map(|served| served.fields.tags);
                tags.map(|tag| tag.to_string()).collect()
            }
            Known::Servers => documents.filter_map(|served| served.fields.source?.server).collect(),
            Known::Types => {
                documents.map(|served| served.fields.node_type.as_str().to_owned()).collect()
            }
        })
    }

    /// Returns every published document.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub fn all(&self) -> Result<Resolution, LogError> {
        let sets = Sets::new(self)?;
        let found = sets.everything();
        let mut all = sets.into_resolution(&found);
        all.withhold(&mut self.lost_documents());
        Ok(all)
    }
}

/// Returns those of `documents` that a selector would select if they were published, for the hint
/// of an empty answer. Working copies are only compared, never served.
pub fn matching_drafts(
    plan: &QueryPlan,
    documents: &[(DocumentId, Frontmatter)],
) -> Vec<DocumentId> {
    let drafts = Drafts::new(documents.iter().map(|(id, fields)| (id, fields)));
    let found = never(selector::eval(&plan.parts.atoms(), &drafts));
    drafts.ids(&found)
}

/// Unwraps an answer that cannot fail.
fn never<T>(answer: Result<T, Infallible>) -> T {
    match answer {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}
