//! Compare and swap: a writer says what it has read, and nothing is written where that is no longer
//! what is published (`spec/transactions.md`, section 4).

use crate::files::vault::Vault;
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::state::{Mark, PublishedSet};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// What a writer has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// The version of the one document that it writes; 0 if it is not published.
    pub version: Option<Version>,
    /// The hash of the log's head, or the chain hash of the one document that it writes.
    pub hash: Option<Digest>,
}

impl Expect {
    /// Whether the writer says what it has read.
    pub fn is_said(&self) -> bool {
        self.version.is_some() || self.hash.is_some()
    }
}

/// Why a writer may not write.
#[derive(Debug, thiserror::Error)]
pub enum ExpectError {
    /// Something else is published than what the writer has read.
    #[error("expected {}, but {} is published", .0.expected, .0.found)]
    Mismatch(Box<Mismatch>),
    /// A version is expected of several documents, or of none.
    #[error("a version can be expected of one document only")]
    NotOne,
    /// The log cannot be relied on.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// What was published since.
#[derive(Debug)]
pub struct Mismatch {
    /// The document of which something else was expected; none where it is the head.
    pub id: Option<DocumentId>,
    /// What was expected.
    pub expected: String,
    /// What is published.
    pub found: String,
    /// What was read and what is published, of the documents that are written: their versions, of
    /// which 0 is none.
    pub moved: Vec<Moved>,
}

/// A document that was published since it was read. What changed is not here: a text is for readers
/// only, and leaves with its line in the access log.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The document.
    pub id: DocumentId,
    /// The version that was read; `None` if it is not known.
    pub from: Option<Version>,
    /// The version that is published.
    pub to: Version,
}

/// Refuses a write whose writer has read something else than what is published. An id for which
/// `may_name` is false has no version here.
///
/// # Errors
/// See [`ExpectError`].
pub fn check(
    (vault, chronicle): (&Vault, &Chronicle<'_>),
    ids: &[&DocumentId],
    expect: Expect,
    may_name: impl Fn(&DocumentId) -> bool,
) -> Result<(), ExpectError> {
    if expect == Expect::default() {
        return Ok(());
    }
    let state = chronicle.state_at(chronicle.head_number())?;
    let published = |state: &PublishedSet, id: &DocumentId| {
        state.get(id.as_str()).and_then(Mark::sealed).filter(|_| may_name(id))
    };
    let moved = |from: Option<Version>, id: &DocumentId| {
        let to = published(&state, id).map_or(Version::NONE, |(version, _)| version);
        (from != Some(to)).then(|| Moved { id: id.clone(), from, to })
    };
    if let Some(version) = expect.version {
        let [id] = ids else { return Err(ExpectError::NotOne) };
        if let Some(moved) = moved(Some(version), id) {
            return Err(mismatch(Mismatch {
                id: Some((*id).clone()),
                expected: named(version),
                found: named(moved.to),
                moved: vec![moved],
            }));
        }
    }
    let Some(hash) = expect.hash else { return Ok(()) };
    let head = chronicle.head();
    let is_of_head = head.is_some_and(|head| head.hash == hash);
    let is_of_one = matches!(ids, [id] if published(&state, id).is_some_and(|(_, h)| h == hash));
    if is_of_head || is_of_one {
        return Ok(());
    }
    if let Some(read) = chronicle.checkpoints().iter().find(|c| c.hash == hash) {
        let then = chronicle.state_at(read.number)?;
        let from = |id| Some(published(&then, id).map_or(Version::NONE, |(version, _)| version));
        return Err(mismatch(Mismatch {
            id: None,
            expected: format!("checkpoint {}", read.number),
            found: format!("checkpoint {}", chronicle.head_number()),
            moved: ids.iter().filter_map(|id| moved(from(id), id)).collect(),
        }));
    }
    let [id] = ids else {
        let found = head.map_or_else(|| "nothing".to_owned(), |head| head.hash.to_string());
        let expected = hash.to_string();
        return Err(mismatch(Mismatch { id: None, expected, found, moved: Vec::new() }));
    };
    let history = replay::load(vault.files(), id).ok().filter(|_| may_name(id));
    let read = history.as_ref().and_then(|h| h.entries().find(|entry| entry.chain_hash == hash));
    let moved = moved(read.map(|entry| entry.version), id);
    Err(mismatch(Mismatch {
        id: Some((*id).clone()),
        expected: read.map_or_else(|| hash.to_string(), |entry| named(entry.version)),
        found: moved.as_ref().map_or_else(|| "another".to_owned(), |moved| named(moved.to)),
        moved: moved.into_iter().collect(),
    }))
}

fn mismatch(mismatch: Mismatch) -> ExpectError {
    ExpectError::Mismatch(Box::new(mismatch))
}

fn named(version: Version) -> String {
    match version {
        Version::NONE => "nothing".to_owned(),
        n => format!("version {n}"),
    }
}
