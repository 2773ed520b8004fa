//! What became of each entry: the acts of all chains upon it (STAGE-12).

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

/// An entry, and what became of it.
#[derive(Clone, Debug)]
pub struct StagedEntry {
    /// Its source.
    pub source: DocumentId,
    /// The writer of its chain.
    pub writer: WriterId,
    /// Its place there.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
    /// When it was staged.
    pub at: String,
    /// What was staged.
    pub entry: Entry,
    /// Whether it is pinned.
    pub pinned: bool,
    /// When it was pinned or unpinned last.
    pub pin_at: Option<String>,
    /// The documents that it was promoted to.
    pub promoted: Vec<Promotion>,
    /// How many documents more, which a viewer may not know of.
    pub withheld_documents: usize,
    /// What ended it; none while its content is kept.
    pub ended: Option<Ended>,
    /// Whether only doubtful acts ended it.
    pub doubtful: bool,
}

/// An entry became a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// The document.
    pub document: DocumentId,
    /// The version.
    pub version: u64,
    /// Who promoted it.
    pub by: Option<String>,
    /// When.
    pub at: String,
}

/// What ended an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Discard, collect or erase.
    pub kind: ActKind,
    /// Who ended it.
    pub by: Option<String>,
    /// When.
    pub at: String,
    /// Why, of an erasure.
    pub reason: Option<String>,
}

/// An act whose standing is judged (STAGE-19).
#[derive(Clone, Copy, Debug)]
pub struct JudgedAct<'a> {
    /// The entry.
    pub entry: &'a StagedEntry,
    /// When the act was done.
    pub at: &'a str,
    /// What it is.
    pub kind: ActKind,
    /// What it says.
    pub act: &'a Act,
}

words! {
    /// What acts did to a staged entry.
    pub enum EntryState {
        /// No act counts.
        Staged = "staged",
        /// It is pinned.
        Pinned = "pinned",
        /// A document was made of it.
        Promoted = "promoted",
        /// A reviewer discarded it.
        Discarded = "discarded",
        /// Its retention is over, and it was collected.
        Collected = "collected",
        /// Its content was erased.
        Erased = "erased",
    }
}

/// Whether an act counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Sound,
    /// It does, but what is recorded does not show that it was allowed.
    Doubtful,
    /// It does not.
    Void(VoidAct),
}

/// Why an act does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoidAct {
    /// It collected an entry before the end of its retention.
    Early,
    /// No version of the document says that it was made of the entry.
    NoDocument,
    /// The version that was made of the entry has another body than the content.
    OtherBody,
    /// No stewards that may have been in force gave its principal the role.
    NoRole,
}

/// An act that is not sound.
#[derive(Clone, Debug)]
pub struct DisputedAct {
    /// The source.
    pub source: DocumentId,
    /// The writer of the act.
    pub writer: WriterId,
    /// Its place.
    pub seq: u64,
    /// The entry.
    pub entry: StagedName,
    /// What was done.
    pub kind: ActKind,
    /// By whom.
    pub by: Option<String>,
    /// How it stands.
    pub standing: Standing,
}

/// The entries of chains.
#[derive(Debug, Default)]
pub struct Staged {
    /// In the order of sources, writers and places.
    pub entries: Vec<StagedEntry>,
    /// Acts upon entries that no chain has: the source, the writer and number of the act.
    pub astray: Vec<(DocumentId, WriterId, u64)>,
    /// Acts that are not sound.
    pub disputed: Vec<DisputedAct>,
}

/// An act in the order in which acts count.
struct Done<'c> {
    at: &'c str,
    writer: &'c WriterId,
    seq: u64,
    kind: ActKind,
    act: &'c Act,
}

impl Staged {
    /// The entries of chains, with the acts in these, as far as chains alone show whether acts stand.
    pub fn of(chains: &Chains) -> Self {
        Self::judged(chains, &|_| Standing::Sound)
    }

    /// The same with a judge of acts.
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

    /// The entry of a name; none of several whose writers begin with the same digits.
    pub fn find(&self, name: &StagedName) -> Option<&StagedEntry> {
        match self.all_named(name)[..] {
            [entry] => Some(entry),
            _ => None,
        }
    }

    /// The entries of a name: more than one only if writers of a source begin with the same digits.
    pub fn all_named(&self, name: &StagedName) -> Vec<&StagedEntry> {
        self.entries.iter().filter(|one| one.is_named(name)).collect()
    }

    /// The payloads that entries claim.
    pub fn claimed_payloads(&self, now: Timestamp) -> BTreeSet<Digest> {
        let claim = self.entries.iter().filter(|one| one.claims(now));
        claim.filter_map(|one| one.entry.raw()).collect()
    }

    /// The payloads that ended entries name.
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
    /// What names it.
    pub fn name(&self) -> StagedName {
        StagedName::of(&self.source, &self.writer, self.seq)
    }

    /// Whether this names it.
    pub fn is_named(&self, name: &StagedName) -> bool {
        name.names(&self.source, &self.writer, self.seq)
    }

    /// Whether its content is kept.
    pub fn is_live(&self) -> bool {
        self.ended.is_none()
    }

    /// Where its line is.
    pub fn place(&self) -> (&DocumentId, &WriterId, u64) {
        (&self.source, &self.writer, self.seq)
    }

    /// Whether its content may not be removed: it is live, or may not have ended, or was collected
    /// before its time by this clock.
    pub fn claims(&self, now: Timestamp) -> bool {
        self.is_live() || self.doubtful || self.is_collected_before(now)
    }

    /// Whether it was collected, and is to be kept by a clock.
    pub fn is_collected_before(&self, now: Timestamp) -> bool {
        let is_collected = self.ended.as_ref().is_some_and(|end| end.kind == ActKind::Collect);
        is_collected && self.entry.retention_until.parse().is_ok_and(|until: Timestamp| now < until)
    }

    /// Whether this principal recorded it in this session.
    pub fn is_own(&self, principal: Option<&PrincipalKey>, session: Option<&str>) -> bool {
        let recorded = self.entry.principal.as_deref().map(PrincipalKey::of);
        session.is_some()
            && self.entry.session.as_deref() == session
            && recorded.as_ref() == principal
    }

    /// Whether a document was made of it.
    pub fn is_promoted(&self) -> bool {
        !self.promoted.is_empty() || self.withheld_documents > 0
    }

    /// What the access log says of its content, when this is handed out (STAGE-15).
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

    /// Returns its state.
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

    /// What acts did to it, in whichever order their chains are read. What ends it ends it whatever
    /// comes later; of pins and unpins the last one counts. Gives the acts that are not sound.
    fn apply(
        &mut self,
        mut acts: Vec<Done<'_>>,
        judge: &dyn Fn(&JudgedAct<'_>) -> Standing,
    ) -> Vec<DisputedAct> {
        // Times are written in one form, so that they compare as texts.
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
                    // The gravest counts: `Erase` is the last of the kinds.
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
