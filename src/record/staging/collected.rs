//! The state of each staged entry, from the acts of all chains on it (STAGE-12).

use std::collections::{BTreeMap, BTreeSet};

use super::chain::Chains;
use super::line::{Act, ActKind, Entry, LineKind};
use super::name::StagedName;
use crate::record::audit::Text;
use crate::record::journal::WriterId;
use crate::values::codes::words;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::principal::PrincipalKey;
use crate::values::model::timestamp::Timestamp;

/// A staged entry with the results of the acts on it.
#[derive(Clone, Debug)]
pub struct StagedEntry {
    /// The source of the entry.
    pub source: DocumentId,
    /// The writer of its chain.
    pub writer: WriterId,
    /// The number of its line in that chain.
    pub seq: u64,
    /// The hash of its line.
    pub hash: Digest,
    /// The time of staging.
    pub at: String,
    /// The recorded values.
    pub entry: Entry,
    /// True if the entry is pinned.
    pub pinned: bool,
    /// The time of the last pin or unpin.
    pub pin_at: Option<String>,
    /// The documents that it was promoted to.
    pub promoted: Vec<Promotion>,
    /// Number of further documents, which are hidden from this viewer.
    pub withheld_documents: usize,
    /// The act that ended the entry; `None` while its content is kept.
    pub ended: Option<Ended>,
    /// True if only doubtful acts ended the entry.
    pub doubtful: bool,
}

/// A promotion of an entry to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// The id of the document.
    pub document: DocumentId,
    /// The version of the document.
    pub version: u64,
    /// The principal who promoted the entry.
    pub by: Option<String>,
    /// The time of the promotion.
    pub at: String,
}

/// The act that ended an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Discard, collect or erase.
    pub kind: ActKind,
    /// The principal who ended it.
    pub by: Option<String>,
    /// The time of the act.
    pub at: String,
    /// The reason, for an erasure.
    pub reason: Option<String>,
}

/// An act that is to be judged (STAGE-19).
#[derive(Clone, Copy, Debug)]
pub struct JudgedAct<'a> {
    /// The entry.
    pub entry: &'a StagedEntry,
    /// The time of the act.
    pub at: &'a str,
    /// The kind of the act.
    pub kind: ActKind,
    /// The recorded values of the act.
    pub act: &'a Act,
}

words! {
    /// State of a staged entry after all acts.
    pub enum EntryState {
        /// No valid act changed the entry.
        Staged = "staged",
        /// The entry is pinned.
        Pinned = "pinned",
        /// A document was promoted from the entry.
        Promoted = "promoted",
        /// A reviewer discarded the entry.
        Discarded = "discarded",
        /// The entry was collected after its retention.
        Collected = "collected",
        /// The content of the entry was erased.
        Erased = "erased",
    }
}

/// Validity of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The act is valid.
    Sound,
    /// The act is applied, but the records do not show that it was allowed.
    Doubtful,
    /// The act is not valid, for this reason.
    Void(VoidAct),
}

/// Reason why an act is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoidAct {
    /// The act collected an entry before the end of its retention.
    Early,
    /// No version of the document names the entry as its origin.
    NoDocument,
    /// The body of the document's version differs from the content of the entry.
    OtherBody,
    /// In no version of the stewards that may have been in force did the principal have the role.
    NoRole,
}

/// An act that is not sound.
#[derive(Clone, Debug)]
pub struct DisputedAct {
    /// The source.
    pub source: DocumentId,
    /// The writer of the act.
    pub writer: WriterId,
    /// The number of the act's line.
    pub seq: u64,
    /// The entry.
    pub entry: StagedName,
    /// The kind of the act.
    pub kind: ActKind,
    /// The principal of the act.
    pub by: Option<String>,
    /// The validity of the act.
    pub standing: Standing,
}

/// The entries of chains.
#[derive(Debug, Default)]
pub struct Staged {
    /// The entries, in the order of sources, writers and numbers.
    pub entries: Vec<StagedEntry>,
    /// Acts on entries that no chain contains: the source, the writer and the number of the act.
    pub astray: Vec<(DocumentId, WriterId, u64)>,
    /// Acts that are not sound.
    pub disputed: Vec<DisputedAct>,
}

/// An act with the values that determine its order.
struct Done<'c> {
    at: &'c str,
    writer: &'c WriterId,
    seq: u64,
    kind: ActKind,
    act: &'c Act,
}

impl Staged {
    /// Returns the entries of chains, with the acts judged by the chains alone.
    pub fn of(chains: &Chains) -> Self {
        Self::judged(chains, &|_| Standing::Sound)
    }

    /// Returns the entries of chains, with the acts judged by `judge`.
    pub fn judged(chains: &Chains, judge: &dyn Fn(&JudgedAct<'_>) -> Standing) -> Self {
        let mut acts: BTreeMap<(&DocumentId, String, u64), Vec<Done<'_>>> = BTreeMap::new();
        let mut staged = Self::default();
        for chain in &chains.chains {
            for line in &chain.lines {
                let Some((kind, act)) = line.kind.act() else { continue };
                let key = (&chain.source, act.entry.writer.clone(), act.entry.seq);
                let (writer, seq) = (&chain.writer, line.seq);
                let done = Done { at: &line.at, writer, seq, kind, act };
                acts.entry(key).or_default().push(done);
            }
        }
        for chain in &chains.chains {
            for line in &chain.lines {
                let (LineKind::Stage(entry), Some(hash)) = (&line.kind, line.hash) else {
                    continue;
                };
                let mut entry = StagedEntry {
                    source: chain.source.clone(),
                    writer: chain.writer.clone(),
                    seq: line.seq,
                    hash,
                    at: line.at.clone(),
                    entry: (**entry).clone(),
                    pinned: false,
                    pin_at: None,
                    promoted: Vec::new(),
                    withheld_documents: 0,
                    ended: None,
                    doubtful: false,
                };
                let key = (&chain.source, chain.writer.to_string(), line.seq);
                let (upon, others): (Vec<_>, Vec<_>) = acts
                    .remove(&key)
                    .unwrap_or_default()
                    .into_iter()
                    .partition(|done| done.act.entry.hash == hash.to_string());
                staged.disputed.extend(entry.apply(upon, judge));
                staged.astray.extend(others.iter().map(|d| d.place(&chain.source)));
                staged.entries.push(entry);
            }
        }
        for ((source, ..), done) in acts {
            staged.astray.extend(done.iter().map(|done| done.place(source)));
        }
        staged
    }

    /// Returns the only entry with a name; `None` if there is none, or if there are several.
    pub fn find(&self, name: &StagedName) -> Option<&StagedEntry> {
        match self.all_named(name)[..] {
            [entry] => Some(entry),
            _ => None,
        }
    }

    /// Returns the entries with a name. There are several only if writers of a source begin with
    /// the same digits.
    pub fn all_named(&self, name: &StagedName) -> Vec<&StagedEntry> {
        self.entries.iter().filter(|one| one.is_named(name)).collect()
    }

    /// Returns the payloads that must be kept for entries.
    pub fn claimed_payloads(&self, now: Timestamp) -> BTreeSet<Digest> {
        let claim = self.entries.iter().filter(|one| one.claims(now));
        claim.filter_map(|one| one.entry.raw()).collect()
    }

    /// Returns the payloads that ended entries name.
    pub fn ended_payloads(&self) -> BTreeSet<Digest> {
        let ended = self.entries.iter().filter(|one| !one.is_live());
        ended.filter_map(|one| one.entry.raw()).collect()
    }
}

impl Done<'_> {
    fn place(&self, source: &DocumentId) -> (DocumentId, WriterId, u64) {
        (source.clone(), self.writer.clone(), self.seq)
    }
}

impl StagedEntry {
    /// Returns the name of the entry.
    pub fn name(&self) -> StagedName {
        StagedName::of(&self.source, &self.writer, self.seq)
    }

    /// Returns true if a name is that of the entry.
    pub fn is_named(&self, name: &StagedName) -> bool {
        name.names(&self.source, &self.writer, self.seq)
    }

    /// Returns true if the content of the entry is kept.
    pub fn is_live(&self) -> bool {
        self.ended.is_none()
    }

    /// Returns source, writer and number of the entry's line.
    pub fn place(&self) -> (&DocumentId, &WriterId, u64) {
        (&self.source, &self.writer, self.seq)
    }

    /// Returns true if the content must not be removed: the entry is live, may not have ended, or
    /// was collected too early by this clock.
    pub fn claims(&self, now: Timestamp) -> bool {
        self.is_live() || self.doubtful || self.is_collected_before(now)
    }

    /// Returns true if the entry was collected although its retention is not over by this clock.
    pub fn is_collected_before(&self, now: Timestamp) -> bool {
        let is_collected = self.ended.as_ref().is_some_and(|end| end.kind == ActKind::Collect);
        is_collected && self.entry.retention_until.parse().is_ok_and(|until: Timestamp| now < until)
    }

    /// Returns true if this principal recorded the entry in this session.
    pub fn is_own(&self, principal: Option<&PrincipalKey>, session: Option<&str>) -> bool {
        let recorded = self.entry.principal.as_deref().map(PrincipalKey::of);
        session.is_some()
            && self.entry.session.as_deref() == session
            && recorded.as_ref() == principal
    }

    /// Returns true if a document was promoted from the entry.
    pub fn is_promoted(&self) -> bool {
        !self.promoted.is_empty() || self.withheld_documents > 0
    }

    /// Returns the record for the access log when content is handed out (STAGE-15).
    pub(crate) fn text(&self, handed_out: &[u8]) -> Text {
        Text {
            uri: Some(self.name().to_string()),
            id: None,
            version: self.seq,
            checkpoint: None,
            chain_hash: self.hash.to_string(),
            range: None,
            part: None,
            author: None,
            edited_by: self.entry.principal.clone().unwrap_or_default(),
            edited_at: self.at.clone(),
            approved_by: Vec::new(),
            approved_at: None,
            steward: None,
            review_due: None,
            bytes: handed_out.len() as u64,
            sha256: Digest::of(handed_out).to_string(),
        }
    }

    /// Returns the state of the entry.
    pub fn state(&self) -> EntryState {
        match (&self.ended, self.is_promoted(), self.pinned) {
            (Some(Ended { kind: ActKind::Erase, .. }), ..) => EntryState::Erased,
            (Some(Ended { kind: ActKind::Discard, .. }), ..) => EntryState::Discarded,
            (Some(_), ..) => EntryState::Collected,
            (None, true, _) => EntryState::Promoted,
            (None, false, true) => EntryState::Pinned,
            (None, false, false) => EntryState::Staged,
        }
    }

    /// Applies acts to the entry, in any order of their chains, and returns the acts that are not
    /// sound. An act that ends the entry is final; of pins and unpins the last one decides.
    fn apply(
        &mut self,
        mut acts: Vec<Done<'_>>,
        judge: &dyn Fn(&JudgedAct<'_>) -> Standing,
    ) -> Vec<DisputedAct> {
        // Times have one form, so they compare as texts.
        acts.sort_by(|a, b| (a.at, a.writer, a.seq).cmp(&(b.at, b.writer, b.seq)));
        let (mut disputed, mut is_surely_ended) = (Vec::new(), false);
        for Done { at, writer, seq, kind, act } in acts {
            let is_early = kind == ActKind::Collect && at < self.entry.retention_until.as_str();
            let standing = match is_early {
                true => Standing::Void(VoidAct::Early),
                false => judge(&JudgedAct { entry: self, at, kind, act }),
            };
            if standing != Standing::Sound {
                let (source, by) = (self.source.clone(), act.principal.clone());
                let (writer, entry) = (writer.clone(), self.name());
                disputed.push(DisputedAct { source, writer, seq, entry, kind, by, standing });
            }
            if matches!(standing, Standing::Void(_)) {
                continue;
            }
            match kind {
                ActKind::Pin | ActKind::Unpin => {
                    self.pinned = kind == ActKind::Pin;
                    self.pin_at = Some(at.to_owned());
                }
                ActKind::Promote => {
                    let document = act.document.as_deref().and_then(|id| id.parse().ok());
                    self.promoted.extend(document.zip(act.version).map(|(document, version)| {
                        let (by, at) = (act.principal.clone(), at.to_owned());
                        Promotion { document, version, by, at }
                    }));
                }
                ActKind::Discard | ActKind::Collect | ActKind::Erase => {
                    is_surely_ended |= standing == Standing::Sound;
                    // The strongest act decides: `Erase` is the last of the kinds.
                    if self.ended.as_ref().is_none_or(|ended| ended.kind < kind) {
                        let (by, reason) = (act.principal.clone(), act.reason.clone());
                        self.ended = Some(Ended { kind, by, at: at.to_owned(), reason });
                    }
                }
            }
        }
        self.doubtful = self.ended.is_some() && !is_surely_ended;
        disputed
    }
}
