//! What a vault says at a checkpoint: selector or URI in, verified documents out, in byte order of
//! their ids (paper, section 5; `spec/resolve.md`).
//!
//! [`Snapshot`] is the vault at checkpoint n. Whatever it serves was reconstructed from the
//! chain, ends in the hash that the log records, and describes itself; live files are never
//! read. A document that fails is withheld and named, and the others are still served.

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
pub(crate) mod seals;
mod served;
mod sets_from_index;
mod sets_from_log;
pub mod tokens;
pub(crate) mod traced;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use crate::files::vault::Vault;
use crate::files::vault::config::Config;
use crate::files::vault::federation::Authorities;
use crate::policy::in_force::LostRules;
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
use crate::text::document::sections::Section;
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
    /// The names of vaults, unless they are withheld; read when they are first needed.
    names: OnceLock<Option<Authorities>>,
    /// The configuration that it seals, once it was read.
    config: SealedConfig,
    /// What the configuration says about every document; read when it is first needed.
    settings: OnceLock<Settings>,
    /// What the reader may not read; none where everybody may read everything.
    limits: Option<Limits>,
    /// Whether what it holds was approved.
    approvals: Approvals<'v>,
    /// Whether texts without a valid approval are served, too: for what explains accesses.
    explains: bool,
}

/// The configuration that a checkpoint seals, once it was read; the defaults as an error where it
/// cannot be parsed.
type SealedConfig = Arc<OnceLock<Option<Result<Config, Config>>>>;

/// A document that belongs to the checkpoint but may not be served.
#[derive(Debug)]
pub struct Withheld {
    /// The document.
    pub id: DocumentId,
    /// Why.
    pub why: ChainError,
}

impl Withheld {
    /// A document with the reason, which says whether git leaves the history out.
    pub(crate) fn new(vault: &Vault, id: &DocumentId, why: ChainError) -> Self {
        Self { id: id.clone(), why: why.explained(vault, id) }
    }

    /// A file that says the rules, and cannot be read.
    pub(crate) fn of_rules(vault: &Vault, lost: &LostRules) -> Self {
        Self::new(vault, &lost.id, lost.fault(vault.files()))
    }
}

/// The answer to a selector.
#[derive(Debug, Default)]
pub struct Resolution {
    /// The documents in byte order of their ids, those that a search found by rank before the
    /// others; but each source of an answer to a selector comes after those that it depends on.
    pub documents: Vec<Served>,
    /// The sections that a document is narrowed to, in the order of its text; a document that is
    /// not among these is put out whole.
    pub sections: BTreeMap<DocumentId, Vec<Section>>,
    /// What of them a search found.
    pub ranking: Ranking,
    /// Documents that had to be looked at and failed, in byte order of their ids.
    pub withheld: Vec<Withheld>,
}

impl Resolution {
    /// Adds what may not be served either, each once.
    pub fn withhold(&mut self, others: &mut Vec<Withheld>) {
        self.withheld.append(others);
        self.withheld.sort_by(|a, b| a.id.cmp(&b.id));
        self.withheld.dedup_by(|a, b| a.id == b.id);
    }
}

/// Why a selector has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// What is published cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A document of the answer lacks a section that was asked for.
    #[error(transparent)]
    Section(#[from] UnknownSection),
}

/// What a hint can name.
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
    /// The vault at checkpoint `number`, or at the last one, as far as its reader may read it. The
    /// checkpoint's hash is recomputed.
    ///
    /// # Errors
    /// No such checkpoint, its hash does not follow from its maps, or it is not known who reads.
    pub fn at(
        vault: &'v Vault,
        chronicle: &Chronicle<'v>,
        number: Option<CheckpointNumber>,
    ) -> Result<Self, LogError> {
        Self::whole(vault, chronicle, number)?.limited(Viewer::of_log(vault, chronicle)?)
    }

    /// The same, whoever reads: for what is compared with the working copy, or written into it. None
    /// of it may be handed out.
    ///
    /// # Errors
    /// As [`Snapshot::at`], but for the reader.
    pub(crate) fn whole(
        vault: &'v Vault,
        chronicle: &Chronicle<'v>,
        number: Option<CheckpointNumber>,
    ) -> Result<Self, LogError> {
        let checkpoint = match number {
            // There is no checkpoint 0 to ask for; an empty log is the vault before the first.
            Some(number) => chronicle.checkpoint(number)?.number,
            None => chronicle.head_number(),
        };
        let state = Cow::Owned(chronicle.state_at(checkpoint)?);
        Ok(Self::of_state((vault, chronicle), checkpoint, state))
    }

    /// The vault at a checkpoint that has this state, whoever reads, as [`Snapshot::whole`].
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

    /// The vault at checkpoint `number`, or at the last one, as a source gives it, and as far as its
    /// reader may read it.
    ///
    /// # Errors
    /// As [`Snapshot::at`].
    pub fn of(
        vault: &'v Vault,
        source: &'v CheckpointSource,
        number: Option<CheckpointNumber>,
    ) -> Result<Self, LogError> {
        Self::whole_of(vault, source, number)?.limited(source.viewer(vault)?)
    }

    /// The same, whoever reads, as [`Snapshot::whole`].
    ///
    /// # Errors
    /// As [`Snapshot::at`], but for the reader.
    pub(crate) fn whole_of(
        vault: &'v Vault,
        source: &'v CheckpointSource,
        number: Option<CheckpointNumber>,
    ) -> Result<Self, LogError> {
        // Of the head it is read once for all that ask for it.
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

    /// The number of the checkpoint; 0 before the first.
    pub fn checkpoint(&self) -> CheckpointNumber {
        self.checkpoint
    }

    /// The hash of the checkpoint; none before the first.
    pub fn hash(&self) -> Option<Digest> {
        self.hash
    }

    /// When the checkpoint was made.
    pub fn made_at(&self) -> Option<Timestamp> {
        self.at
    }

    /// What the checkpoint records.
    ///
    /// # Errors
    /// An index turned out to be damaged, and the log cannot be relied on.
    pub fn state(&self) -> Result<&PublishedSet, LogError> {
        self.readable()?.state(self)
    }

    /// The published documents, in byte order.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub fn documents(&self) -> Result<impl Iterator<Item = &DocumentId>, LogError> {
        Ok(self.state()?.iter().map(|(id, _)| id).filter(|id| id.is_document()))
    }

    /// How many documents are published.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub fn size(&self) -> Result<usize, LogError> {
        let indexed = self.indexed(|at| at.holding(at.known()? | at.unreadable()?));
        match indexed {
            Some(rows) => Ok(usize::try_from(rows.len()).unwrap_or(usize::MAX)),
            None => Ok(self.documents()?.count()),
        }
    }

    /// Whether the checkpoint holds an artifact.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub fn holds(&self, id: &DocumentId) -> Result<bool, LogError> {
        Ok(self.recorded(id)?.is_some())
    }

    /// The configuration as the checkpoint seals it.
    pub fn config(&self) -> Option<&Config> {
        self.read_config().ok().flatten()?.as_ref().ok()
    }

    /// The configuration as the checkpoint seals it, the defaults where that cannot be parsed; none
    /// where the checkpoint holds none.
    ///
    /// # Errors
    /// The chain does not vouch for it.
    fn sealed_config(&self) -> Result<Option<&Config>, Withheld> {
        Ok(self.read_config()?.map(|read| read.as_ref().unwrap_or_else(|default| default)))
    }

    /// The configuration as the checkpoint seals it, the defaults as an error where that cannot be
    /// parsed. Its history is read once; where the chain does not vouch for it, each time.
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

    /// How the checkpoint has its documents read (`spec/document.md`, section 7).
    pub(crate) fn markup(&self) -> Markup {
        self.settings().markup
    }

    fn settings(&self) -> &Settings {
        self.settings.get_or_init(|| Settings::of(self, &self.sealed_config()))
    }

    /// The index as the checkpoint has its documents read, while it can be believed, and the reader may
    /// read all that it holds.
    fn index(&self) -> Option<At<'v>> {
        let index = self.map.index().filter(|_| self.limits.is_none())?;
        Some(index.under(self.markup()))
    }

    /// The name of the vault as the checkpoint seals it, else that of its folder: so that no answer
    /// carries a name that no hash covers.
    pub fn name(&self) -> String {
        let name = self.config().and_then(|config| config.name.clone());
        name.unwrap_or_else(|| self.vault.folder_name())
    }

    /// The verified text of one artifact; `None` where the checkpoint does not hold it.
    pub fn get(&self, id: &DocumentId) -> Option<Result<Served, Withheld>> {
        let serve = |version, hash: &_, recorded: &_| self.serve(id, version, hash, recorded);
        let found = self.found(id, false, serve);
        // An index may propose what its tags do not allow.
        let may = |served: &Served| {
            let may =
                |limits: &Limits| limits.viewer.may_read_tagged(&served.id, &served.fields.tags);
            self.limits.as_ref().is_none_or(may)
        };
        found.filter(|found| found.as_ref().map_or(true, may))
    }

    /// The verified text of a governance file that says how everything else is read: without what
    /// that says of itself.
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

    /// The version that the checkpoint seals of an artifact, and when a checkpoint sealed it first:
    /// with these and the files of its history it is decided what is served, and whether anything
    /// is. `None` in a log of whole maps, where later checkpoints decide too.
    pub(crate) fn sealed(&self, id: &DocumentId) -> Option<(Version, Digest, Option<Timestamp>)> {
        let recorded = self.recorded(id).ok().flatten().filter(|_| !self.full_log)?;
        let (version, chain_hash) = recorded.mark.sealed()?;
        Some((version, chain_hash, recorded.sealed_at))
    }

    /// The version that the checkpoint records of an artifact, whatever is wrong with it.
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
            // A governance file, of which the configuration is one. It has no field that says what
            // the checkpoint does: that it is published.
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

    /// What the checkpoint seals of an artifact, if it may be served.
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
            let bound = format!("the checkpoint that sealed it is of {at}");
            return Err(ChainError::PublicationTime { recorded, bound });
        }
        // The reference implementation may drop an id and take it up again; what we retired does
        // not come back. In a log of ours a return is refused before anything is served.
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
    /// See [`ResolveError`].
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

    /// Narrows documents to sections, and puts sources into their order.
    fn finish(
        &self,
        plan: &QueryPlan,
        mut resolution: Resolution,
    ) -> Result<Resolution, UnknownSection> {
        resolution.withhold(&mut self.lost_of(&plan.parts.atoms()));
        resolution.sections = extent::sections(&plan.parts, &resolution.documents)?;
        resolution.rank(&plan.found);
        resolution.arrange_sources(self);
        // Which tags are in bodies is said by the configuration.
        let asks_for_tags =
            || plan.parts.leaves().iter().any(|(p, _)| matches!(p.atom, Atom::Tag(_)));
        if self.markup() == Markup::Unknown && asks_for_tags() {
            resolution.withhold(&mut self.sealed_config().err().into_iter().collect());
        }
        Ok(resolution)
    }

    /// What the index answers, unless there is none or it turns out to be damaged.
    fn indexed<T>(&self, ask: impl FnOnce(At<'v>) -> Result<T, Damaged>) -> Option<T> {
        let at = self.index()?;
        ask(at).inspect_err(|damaged| self.map.give_up(at, *damaged)).ok()
    }

    /// How many documents a selector selects.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub fn count(&self, plan: &QueryPlan) -> Result<usize, LogError> {
        let expr = plan.parts.atoms();
        let indexed = self.indexed(|at| at.holding(selector::eval(&expr, &Posted::new(self, at))?));
        let found = match indexed {
            Some(found) => found,
            None => never(selector::eval(&expr, &Sets::new(self)?)),
        };
        Ok(usize::try_from(found.len()).unwrap_or(usize::MAX))
    }

    /// Explains how the answer to a selector comes about, and gives the answer.
    ///
    /// # Errors
    /// See [`ResolveError`].
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

    /// The words that published documents have, for a hint.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
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

    /// Every published document.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub fn all(&self) -> Result<Resolution, LogError> {
        let sets = Sets::new(self)?;
        let found = sets.everything();
        let mut all = sets.into_resolution(&found);
        all.withhold(&mut self.lost_documents());
        Ok(all)
    }
}

/// Which of `documents` a selector would select if they were published: for the hint that an
/// empty answer carries. Working copies are looked at, never served.
pub fn matching_drafts(
    plan: &QueryPlan,
    documents: &[(DocumentId, Frontmatter)],
) -> Vec<DocumentId> {
    let drafts = Drafts::new(documents.iter().map(|(id, fields)| (id, fields)));
    let found = never(selector::eval(&plan.parts.atoms(), &drafts));
    drafts.ids(&found)
}

/// What a question has for an answer that cannot fail.
fn never<T>(answer: Result<T, Infallible>) -> T {
    match answer {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}
