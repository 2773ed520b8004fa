//! Compare and swap: a writer states the version that it has read, and the write fails if another
//! one is published (`spec/transactions.md`, section 4).

use crate::files::vault::Vault;
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::state::{Mark, PublishedSet};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// The version or head that a writer has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// The version of the one document that is written; 0 if it is not published.
    pub version: Option<Version>,
    /// The hash of the log's head, or the chain hash of the one document that is written.
    pub hash: Option<Digest>,
}

impl Expect {
    /// Returns true if the writer states anything.
    pub fn is_said(&self) -> bool {
        self.version.is_some() || self.hash.is_some()
    }
}

/// The reason for which a writer may not write.
#[derive(Debug, thiserror::Error)]
pub enum ExpectError {
    /// The published version is not the one that the writer has read.
    #[error("expected {}, but {} is published", .0.expected, .0.found)]
    Mismatch(Box<Mismatch>),
    /// A version is expected for several documents, or for none.
    #[error("a version can be expected for one document only")]
    NotOne,
    /// The log cannot be relied on.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// The expected and the published state.
#[derive(Debug)]
pub struct Mismatch {
    /// The document that differs; `None` if the head differs.
    pub id: Option<DocumentId>,
    /// The expected state, for people.
    pub expected: String,
    /// The published state, for people.
    pub found: String,
    /// The documents that are written and that differ.
    pub moved: Vec<Moved>,
}

/// A document that was published since it was read.
///
/// Its changes are not included: a text is handed out only with a line in the access log.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The document.
    pub id: DocumentId,
    /// The version that was read, 0 if none was published; `None` if it is unknown.
    pub from: Option<Version>,
    /// The version that is published; 0 for none.
    pub to: Version,
}

/// Refuses a write whose writer has read another version than the published one.
///
/// An id for which `may_name` returns false is treated as unpublished.
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
