//! A line of a staging chain: an entry, or an act upon one (STAGE-2 to STAGE-4).

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

/// The version of the form of a line.
const FORM: u64 = 1;

/// A line as it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StagedLine {
    /// The version of this form.
    pub v: u64,
    /// Its place in the chain, from 1 on.
    pub seq: u64,
    /// The hash of the line before it, or what begins the chain.
    pub prev: String,
    /// When.
    pub at: String,
    /// What it records.
    #[serde(flatten)]
    pub kind: LineKind,
    /// What it was found to be, once it was read or written; no part of what is hashed.
    #[serde(skip)]
    pub hash: Option<Digest>,
}

/// What a line records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum LineKind {
    /// A result was staged.
    Stage(Box<Entry>),
    /// An entry is kept until it is unpinned.
    Pin(Act),
    /// It is kept no longer than others.
    Unpin(Act),
    /// Its content became that of a document.
    Promote(Act),
    /// A reviewer ended it.
    Discard(Act),
    /// Its retention ended it.
    Collect(Act),
    /// Its content had to be removed.
    Erase(Act),
}

/// A staged result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The URI of the source at the checkpoint that was consumed.
    pub source: String,
    /// The version of the source.
    pub source_version: u64,
    /// The session that consumed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The principal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The other labels.
    pub labels: Labels,
    /// The media type, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// What `content_hash` is of.
    pub canonical: Canonical,
    /// The hash of the content.
    pub content_hash: String,
    /// The hash of the bytes as received, which names the payload.
    pub raw_hash: String,
    /// How many they are.
    pub bytes: u64,
    /// The tools that were called.
    pub tools: Vec<String>,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether it is from a cache: `hit` or `miss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// For how many seconds it is fresh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// The lines of the access log that record the results it depends on.
    pub depends_on: Vec<String>,
    /// When it may be collected.
    pub retention_until: String,
}

/// What is done to an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// The entry.
    pub entry: EntryRef,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The document that it was promoted to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// The version of that document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Why it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What names an entry in an act, whose chain is of the same source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EntryRef {
    /// The writer of its chain.
    pub writer: String,
    /// Its place there.
    pub seq: u64,
    /// Its hash.
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

    /// The kind with this word.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether it ends the entry (STAGE-12).
    pub(crate) fn ends(self) -> bool {
        matches!(self, Self::Discard | Self::Collect | Self::Erase)
    }

    /// The change that records an act of this kind.
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

    /// A line of this kind.
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
    /// The act that it is; none of an entry.
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

/// What begins the chain of a writer for a source (STAGE-2).
pub(super) fn genesis(source: &DocumentId, writer: &WriterId) -> String {
    format!("contextnest:staging:v1:{source}:{writer}")
}

impl StagedLine {
    /// A line in its place.
    pub(super) fn new((seq, prev): (u64, String), at: Timestamp, kind: LineKind) -> Self {
        Self { v: FORM, seq, prev, at: at.to_string(), kind, hash: None }
    }

    /// Whether it is where it says: behind a line of the same chain, if its number is the next one; or
    /// the first line, if that is its number.
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

    /// Its bytes, without a line end, and its hash.
    pub(super) fn spell(&self) -> Result<(Vec<u8>, Digest), serde_json::Error> {
        spell(self)
    }

    /// Reads the bytes of a line of the chain of a source, and compares them with its hash.
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
            None => return Err(malformed("its `kind` is not known".to_owned())),
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
            return Err(malformed(format!("form {} is not known", line.v)));
        }
        match line.at.parse::<Timestamp>() {
            Ok(_) => Ok(line),
            Err(why) => Err(malformed(format!("`at`: {why}"))),
        }
    }
}

/// An entry whose values can be relied on.
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
        return fault("content_hash", "of raw bytes it is `raw_hash`".to_owned());
    }
    let Labels { agent, session, thread, task, node, .. } = &entry.labels;
    let labels = [&entry.session, agent, session, thread, task, node];
    if let Some(Err(why)) =
        labels.into_iter().flatten().map(|label| check_label(label)).find(Result::is_err)
    {
        return fault("labels", format!("one {why}"));
    }
    if entry.checkpoint().is_none_or(|checkpoint| checkpoint.0 == 0) || entry.source_version == 0 {
        return fault("source", "no version or checkpoint is 0".to_owned());
    }
    match entry.retention_until.parse::<Timestamp>() {
        Ok(until) if at.parse().is_ok_and(|at: Timestamp| until < at) => {
            fault("retention_until", "it is before `at`".to_owned())
        }
        Ok(_) => Ok(entry),
        Err(why) => fault("retention_until", why.to_string()),
    }
}

/// An act that has what its kind needs.
fn sound_act(kind: ActKind, act: Act) -> Result<Act, LineFault> {
    let fault = |why: &str| Err(LineFault::Malformed(why.to_owned()));
    if act.entry.writer.parse::<WriterId>().is_err() || act.entry.hash.parse::<Digest>().is_err() {
        return fault("`entry`: no writer, or no hash");
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
    /// The id of its source, where the URI names a document at a checkpoint.
    pub fn source_id(&self) -> Option<DocumentId> {
        let rest = self.source.strip_prefix(crate::text::uri::SCHEME)?;
        let (path, checkpoint) = rest.rsplit_once('@')?;
        let checkpoint = crate::values::yaml::canonical_number(checkpoint);
        let path = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
        checkpoint.and_then(|_| path.parse().ok())
    }

    /// The checkpoint at which the source was consumed.
    pub(crate) fn checkpoint(&self) -> Option<CheckpointNumber> {
        let (_, checkpoint) = self.source.rsplit_once('@')?;
        crate::values::yaml::canonical_number(checkpoint).map(CheckpointNumber)
    }

    /// What names its payload. A line without a digest is not read.
    pub(crate) fn raw(&self) -> Option<Digest> {
        self.raw_hash.parse().ok()
    }
}
