//! A line of a staging chain: an entry, or an act on one (STAGE-2 to STAGE-4).

use serde::{Deserialize, Serialize};

use super::canonical::Canonical;
use crate::record::audit::{
    Change, Labels, LineFault, MemberFault, StagedStep, check_label, sound_members, spell,
};
use crate::record::journal::WriterId;
use crate::values::codes::words;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// Version of the format of a line.
const FORM: u64 = 1;

/// A line of a staging chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StagedLine {
    /// Version of this format.
    pub v: u64,
    /// The number of the line in the chain, from 1.
    pub seq: u64,
    /// The hash of the line before it, or the genesis of the chain.
    pub prev: String,
    /// The time.
    pub at: String,
    /// The entry or act.
    #[serde(flatten)]
    pub kind: LineKind,
    /// The hash that was computed when the line was read or written; not part of the hashed bytes.
    #[serde(skip)]
    pub hash: Option<Digest>,
}

/// Entry or act that a line records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum LineKind {
    /// A result was staged.
    Stage(Box<Entry>),
    /// An entry was pinned.
    Pin(Act),
    /// An entry was unpinned.
    Unpin(Act),
    /// A document was promoted from an entry.
    Promote(Act),
    /// A reviewer discarded an entry.
    Discard(Act),
    /// An entry was collected after its retention.
    Collect(Act),
    /// The content of an entry was erased.
    Erase(Act),
}

/// A staged result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The URI of the source, pinned to the checkpoint at which it was consumed.
    pub source: String,
    /// The version of the source.
    pub source_version: u64,
    /// The session that consumed the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The principal who consumed the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The other labels.
    pub labels: Labels,
    /// The media type, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The form of the content that `content_hash` is computed from.
    pub canonical: Canonical,
    /// The hash of the content.
    pub content_hash: String,
    /// The SHA-256 of the bytes as received, which names the payload.
    pub raw_hash: String,
    /// Number of bytes as received.
    pub bytes: u64,
    /// The tools that were called.
    pub tools: Vec<String>,
    /// The server that was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Origin of the result: `hit` or `miss` of a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Number of seconds for which the result is fresh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// The traces of the results that it depends on.
    pub depends_on: Vec<String>,
    /// The time from which the entry may be collected.
    pub retention_until: String,
}

/// An act on an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// The entry that the act is about.
    pub entry: EntryRef,
    /// The principal of the act.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The id of the document that the entry became.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// The version of that document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The reason of an erasure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Reference to an entry in an act. The chains of both are of the same source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EntryRef {
    /// The writer of the entry's chain.
    pub writer: String,
    /// The number of the entry's line.
    pub seq: u64,
    /// The hash of the entry's line.
    pub hash: String,
}

words! {
    /// A kind of act.
    #[derive(PartialOrd, Ord)]
    pub enum ActKind {
        /// See [`LineKind::Pin`].
        Pin = "pin",
        /// See [`LineKind::Unpin`].
        Unpin = "unpin",
        /// See [`LineKind::Promote`].
        Promote = "promote",
        /// See [`LineKind::Discard`].
        Discard = "discard",
        /// See [`LineKind::Collect`].
        Collect = "collect",
        /// See [`LineKind::Erase`].
        Erase = "erase",
    }
}

impl ActKind {
    const ALL: [Self; 6] =
        [Self::Pin, Self::Unpin, Self::Promote, Self::Discard, Self::Collect, Self::Erase];

    /// Returns the kind with this value of `kind`.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns true if an act of this kind ends the entry (STAGE-12).
    pub(crate) fn ends(self) -> bool {
        matches!(self, Self::Discard | Self::Collect | Self::Erase)
    }

    /// Returns the change that records an act of this kind.
    pub(crate) fn change(self, step: StagedStep) -> Change {
        match self {
            Self::Pin => Change::Pin(step),
            Self::Unpin => Change::Unpin(step),
            Self::Promote => Change::Promote(step),
            Self::Discard => Change::Discard(step),
            Self::Collect => Change::Collect(step),
            Self::Erase => Change::Erase(step),
        }
    }

    /// Returns a line of this kind.
    pub(crate) fn line(self, act: Act) -> LineKind {
        match self {
            Self::Pin => LineKind::Pin(act),
            Self::Unpin => LineKind::Unpin(act),
            Self::Promote => LineKind::Promote(act),
            Self::Discard => LineKind::Discard(act),
            Self::Collect => LineKind::Collect(act),
            Self::Erase => LineKind::Erase(act),
        }
    }
}

impl LineKind {
    /// Returns the act; `None` for an entry.
    pub fn act(&self) -> Option<(ActKind, &Act)> {
        Some(match self {
            Self::Stage(_) => return None,
            Self::Pin(act) => (ActKind::Pin, act),
            Self::Unpin(act) => (ActKind::Unpin, act),
            Self::Promote(act) => (ActKind::Promote, act),
            Self::Discard(act) => (ActKind::Discard, act),
            Self::Collect(act) => (ActKind::Collect, act),
            Self::Erase(act) => (ActKind::Erase, act),
        })
    }
}

/// Returns the previous hash of the first line of a chain (STAGE-2).
pub(super) fn genesis(source: &DocumentId, writer: &WriterId) -> String {
    format!("contextnest:staging:v1:{source}:{writer}")
}

impl StagedLine {
    /// Returns a line without its hash.
    pub(super) fn new((seq, prev): (u64, String), at: Timestamp, kind: LineKind) -> Self {
        Self { v: FORM, seq, prev, at: at.to_string(), kind, hash: None }
    }

    /// Returns true if the line can follow `before`, or begin its chain. A line whose number is not
    /// the next one is not compared.
    pub(crate) fn is_after(
        &self,
        source: &DocumentId,
        writer: &WriterId,
        before: Option<&Self>,
    ) -> bool {
        match before {
            Some(before) if before.seq.checked_add(1) == Some(self.seq) => {
                before.hash.is_some_and(|hash| hash.to_string() == self.prev)
            }
            Some(_) => true,
            None => self.seq != 1 || self.prev == genesis(source, writer),
        }
    }

    /// Returns the bytes in canonical form, without a line end, and the hash.
    pub(super) fn spell(&self) -> Result<(Vec<u8>, Digest), serde_json::Error> {
        spell(self)
    }

    /// Parses a line of a chain of a source, and compares its hash with that of its other bytes.
    ///
    /// # Errors
    /// See [`LineFault`].
    pub fn read(bytes: &[u8], source: &DocumentId) -> Result<Self, LineFault> {
        let malformed = |why: String| LineFault::Malformed(format!("not a staged line: {why}"));
        let (members, hash) = sound_members(bytes)?;
        let fault = |why: MemberFault| malformed(why.to_string());
        let word: String = members.need("kind").map_err(fault)?;
        let at: String = members.need("at").map_err(fault)?;
        let kind = match ActKind::ALL.iter().find(|kind| kind.as_str() == word) {
            Some(kind) => kind.line(sound_act(*kind, members.whole().map_err(fault)?)?),
            None if word == "stage" => {
                let entry = members.whole().map_err(fault)?;
                LineKind::Stage(Box::new(sound_entry(entry, source, &at)?))
            }
            None => return Err(malformed("unknown `kind`".to_owned())),
        };
        let line = Self {
            v: members.need("v").map_err(fault)?,
            seq: members.need("seq").map_err(fault)?,
            prev: members.need("prev").map_err(fault)?,
            at,
            kind,
            hash: Some(hash),
        };
        if line.v != FORM {
            return Err(malformed(format!("unknown format {}", line.v)));
        }
        match line.at.parse::<Timestamp>() {
            Ok(_) => Ok(line),
            Err(why) => Err(malformed(format!("`at`: {why}"))),
        }
    }
}

/// Checks the values of an entry.
fn sound_entry(entry: Entry, source: &DocumentId, at: &str) -> Result<Entry, LineFault> {
    let fault = |key: &str, why: String| Err(LineFault::Malformed(format!("`{key}`: {why}")));
    if entry.source_id().as_ref() != Some(source) {
        return fault("source", format!("it does not name `{source}` at a checkpoint"));
    }
    for (key, hash) in [("content_hash", &entry.content_hash), ("raw_hash", &entry.raw_hash)] {
        if let Err(why) = hash.parse::<Digest>() {
            return fault(key, why.to_string());
        }
    }
    if entry.canonical == Canonical::Raw && entry.content_hash != entry.raw_hash {
        return fault("content_hash", "it must equal `raw_hash` for raw bytes".to_owned());
    }
    let Labels { agent, session, thread, task, node, .. } = &entry.labels;
    let labels = [&entry.session, agent, session, thread, task, node];
    if let Some(Err(why)) =
        labels.into_iter().flatten().map(|label| check_label(label)).find(Result::is_err)
    {
        return fault("labels", format!("one {why}"));
    }
    if entry.checkpoint().is_none_or(|checkpoint| checkpoint.0 == 0) || entry.source_version == 0 {
        return fault("source", "version and checkpoint must not be 0".to_owned());
    }
    match entry.retention_until.parse::<Timestamp>() {
        Ok(until) if at.parse().is_ok_and(|at: Timestamp| until < at) => {
            fault("retention_until", "it is before `at`".to_owned())
        }
        Ok(_) => Ok(entry),
        Err(why) => fault("retention_until", why.to_string()),
    }
}

/// Checks that an act has the values that its kind needs.
fn sound_act(kind: ActKind, act: Act) -> Result<Act, LineFault> {
    let fault = |why: &str| Err(LineFault::Malformed(why.to_owned()));
    if act.entry.writer.parse::<WriterId>().is_err() || act.entry.hash.parse::<Digest>().is_err() {
        return fault("`entry`: invalid writer or hash");
    }
    let has_document = act.document.as_deref().is_some_and(|id| id.parse::<DocumentId>().is_ok())
        && act.version.is_some();
    match kind {
        ActKind::Promote if !has_document => fault("`promote` without a document and its version"),
        ActKind::Erase if act.reason.is_none() => fault("`erase` without a reason"),
        _ => Ok(act),
    }
}

impl Entry {
    /// Returns the id of the source; `None` if the URI does not name a document at a checkpoint.
    pub fn source_id(&self) -> Option<DocumentId> {
        let rest = self.source.strip_prefix(crate::text::uri::SCHEME)?;
        let (path, checkpoint) = rest.rsplit_once('@')?;
        let checkpoint = crate::values::yaml::canonical_number(checkpoint);
        let path = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
        checkpoint.and_then(|_| path.parse().ok())
    }

    /// Returns the checkpoint at which the source was consumed.
    pub(crate) fn checkpoint(&self) -> Option<CheckpointNumber> {
        let (_, checkpoint) = self.source.rsplit_once('@')?;
        crate::values::yaml::canonical_number(checkpoint).map(CheckpointNumber)
    }

    /// Returns the digest that names the payload. Lines without a valid digest are refused by
    /// the parser.
    pub(crate) fn raw(&self) -> Option<Digest> {
        self.raw_hash.parse().ok()
    }
}
