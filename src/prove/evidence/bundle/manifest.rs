//! `manifest.json`: what a bundle holds, where each proof is, and the hash of every other file
//! (EVID-13).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::audit::{FaultKind, HeadRef, Line};
use crate::values::codes::words;
use crate::values::model::digest::Digest;

/// The version of the form of a bundle.
pub(crate) const FORM: u64 = 1;
/// The name of the manifest.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The lines of the access log.
pub(crate) const LINES: &str = "lines.jsonl";
/// The lines of the checkpoint log.
pub(crate) const CHECKPOINTS: &str = "checkpoints.jsonl";
/// Lines of staging chains; only in a bundle with staged entries.
pub(crate) const STAGED: &str = "staged.jsonl";

/// How to verify the bundle, for people.
pub(crate) const README: &str = "README.md";
/// The accesses and the versions as tables, for people.
pub(crate) const INDEX: &str = "index.html";

/// The file with a part of a history.
pub(crate) fn chain_path(chain: usize) -> String {
    format!("chains/{chain}.json")
}

/// The file with the full text that a part of a history begins with.
pub(crate) fn keyframe_path(chain: usize) -> String {
    format!("chains/{chain}.md")
}

/// The file with the text of a version.
pub(crate) fn text_path(version: usize) -> String {
    format!("versions/{version}.md")
}

/// The file with a content that a source returned.
pub(crate) fn content_path(content: usize) -> String {
    format!("contents/{content}")
}

/// What a bundle holds. Chains, versions, lines and documents of a line are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) v: u64,
    /// The version of the program that made it.
    pub(crate) tool: String,
    /// What was asked for.
    pub(crate) scope: Scope,
    /// The last checkpoint; none in a vault without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<HeadRef>,
    /// The hash of the checkpoint before the first line of the log; none before checkpoint 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
    /// The lines of the access log, in the order of the file.
    pub(crate) lines: Vec<LineRef>,
    /// Where the logs were not whole from which these lines are; none where they were.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) gaps: Vec<Gap>,
    /// The versions whose texts are here.
    pub(crate) versions: Vec<VersionRef>,
    /// How each text of an access follows from a version.
    pub(crate) texts: Vec<TextRef>,
    /// The lines of staging chains, in the order of the file.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) staged: Vec<StagedRef>,
    /// Every other file.
    pub(crate) files: BTreeMap<String, FileRef>,
}

words! {
    /// Which of the three a bundle is of.
    pub enum ScopeKind {
        /// See [`Scope::Trace`].
        Trace = "trace",
        /// See [`Scope::Session`].
        Session = "session",
        /// See [`Scope::Document`].
        Document = "document",
    }
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// One access, with the further lines of its answer.
    Trace(String),
    /// The lines of a session.
    Session(String),
    /// The lines that handed out texts of a document, or hydrated it.
    Document(String),
}

impl Scope {
    /// Its word, and what it names.
    pub(crate) fn parts(&self) -> (ScopeKind, &str) {
        match self {
            Self::Trace(name) => (ScopeKind::Trace, name),
            Self::Session(name) => (ScopeKind::Session, name),
            Self::Document(name) => (ScopeKind::Document, name),
        }
    }

    /// Whether what a line says of a document is to be proved: of the lines of a document only what
    /// is about it.
    pub(crate) fn is_about(&self, document: &str) -> bool {
        !matches!(self, Self::Document(of) if of != document)
    }

    /// Whether a line is one of those that were asked for. The lines of a document are those that
    /// have a text of it, which only their texts show.
    pub(crate) fn wants(&self, line: &Line) -> bool {
        match self {
            Self::Trace(name) => {
                line.trace().to_string() == *name || line.cause.as_ref() == Some(name)
            }
            Self::Session(name) => line.request.labels.session.as_ref() == Some(name),
            Self::Document(_) => true,
        }
    }
}

/// Where a line was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LineRef {
    pub(crate) trace: String,
    /// The file of the log. No hash covers it.
    pub(crate) file: String,
    /// The place in the file. No hash covers it.
    pub(crate) line: u64,
}

/// A place of the logs where lines are missing or cannot be relied on: any of them may have belonged
/// to the bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gap {
    /// The code of the fault, or [`PRUNED`].
    pub(crate) code: String,
    /// The file of the log.
    pub(crate) file: String,
    /// The place in the file.
    pub(crate) line: u64,
    /// What it is.
    pub(crate) why: String,
}

/// The code of lines that were pruned.
pub(crate) const PRUNED: &str = "pruned";
/// The code of a version whose approval cannot be judged.
pub(crate) const UNJUDGED: &str = "approval-unknown";

impl Gap {
    /// Whether lines may be missing against the rules, and not by a recorded pruning or the end of a
    /// process.
    pub(crate) fn is_damage(&self) -> bool {
        ![PRUNED, FaultKind::Torn.as_str()].contains(&self.code.as_str())
    }

    /// Returns true if it is about the approval of a version, and not about missing lines. Its place
    /// is the history, and its line the version.
    pub(crate) fn is_about_approval(&self) -> bool {
        self.code.starts_with("approval-")
    }
}

/// A version whose text is here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VersionRef {
    pub(crate) id: String,
    pub(crate) version: u64,
    /// The part of a history that proves it.
    pub(crate) chain: usize,
    /// The checkpoints that it is to be proved for.
    pub(crate) checkpoints: Vec<u64>,
}

/// How a text that was handed out follows from a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextRef {
    pub(crate) line: usize,
    /// Its place among the documents of the line.
    pub(crate) document: usize,
    /// Its version among those of the bundle.
    pub(crate) version: usize,
    /// The bytes of the version's text that it consists of; none of what is no piece of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pieces: Option<Vec<[u64; 2]>>,
}

/// A line of a staging chain: an entry, or an act upon one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StagedRef {
    /// The id of the source.
    pub(crate) source: String,
    /// The writer of the chain.
    pub(crate) writer: String,
    pub(crate) seq: u64,
    /// The content of an entry, from 1 on; none of an act, or where it is not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<usize>,
}

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRef {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// What it is, in the words of [`what_is`].
    pub(crate) what: String,
}

impl FileRef {
    pub(crate) fn of(path: &str, bytes: &[u8]) -> Self {
        let sha256 = Digest::of(bytes).to_string();
        Self { bytes: bytes.len() as u64, sha256, what: what_is(path).to_owned() }
    }
}

/// What a file of a bundle is, by its name (EVID-13).
pub(crate) fn what_is(path: &str) -> &'static str {
    match path {
        LINES => "lines of the access log",
        CHECKPOINTS => "lines of the checkpoint log",
        README => "how to read this",
        INDEX => "a page for people",
        STAGED => "lines of staging chains",
        path if path.starts_with("contents/") => "what a source returned",
        path if path.starts_with("versions/") => "the text of a version",
        path if path.ends_with(".json") => "a part of a history",
        _ => "the full text that a part begins with",
    }
}

/// Why bytes are no manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ManifestFault {
    /// Another version of the form.
    #[error("the form of the bundle is {0}, and this version of ctx reads form {FORM}")]
    Form(String),
    /// Not JSON of this shape, or not in its one spelling.
    #[error("{MANIFEST} is malformed: {0}")]
    Malformed(String),
    /// It was changed.
    #[error("{MANIFEST} has hash {found}, but states {}", expected.as_deref().unwrap_or("none"))]
    Hash {
        /// The hash that it names.
        expected: Option<String>,
        /// The hash of what it says.
        found: Digest,
    },
}

/// Returns true for the version of a program. `README.md` contains it, so it cannot be a sentence.
fn is_version(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
    text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(is_part)
}

impl Manifest {
    /// The names that files of the bundle can have.
    pub(crate) fn paths(&self) -> BTreeSet<String> {
        let fixed = [LINES, CHECKPOINTS, README, INDEX].map(str::to_owned);
        let of_version = |(version, n): (&VersionRef, usize)| {
            [chain_path(version.chain), keyframe_path(version.chain), text_path(n)]
        };
        let staged = (!self.staged.is_empty()).then(|| STAGED.to_owned());
        let contents = self.staged.iter().filter_map(|line| line.content).map(content_path);
        let of_versions = self.versions.iter().zip(1..).flat_map(of_version);
        fixed.into_iter().chain(staged).chain(contents).chain(of_versions).collect()
    }

    /// Its bytes: the JCS form, with the hash of the JCS form without `hash`.
    ///
    /// # Errors
    /// A number cannot be written, which none of ours is.
    pub(crate) fn spell(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut value = serde_json::to_value(self)?;
        let hash = Digest::of(&serde_jcs::to_vec(&value)?).to_string();
        if let Value::Object(fields) = &mut value {
            fields.insert("hash".to_owned(), hash.into());
        }
        serde_jcs::to_vec(&value)
    }

    /// Reads the bytes of a manifest.
    ///
    /// # Errors
    /// See [`ManifestFault`].
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ManifestFault> {
        let malformed = |why: serde_json::Error| ManifestFault::Malformed(why.to_string());
        let mut value: Value = serde_json::from_slice(bytes).map_err(malformed)?;
        match value.get("v") {
            Some(form) if form.as_u64() != Some(FORM) => {
                return Err(ManifestFault::Form(form.to_string()));
            }
            _ => {}
        }
        let hash = value.as_object_mut().and_then(|fields| fields.remove("hash"));
        let found = Digest::of(&serde_jcs::to_vec(&value).map_err(malformed)?);
        let expected = hash.as_ref().and_then(Value::as_str).map(str::to_owned);
        if expected.as_ref() != Some(&found.to_string()) {
            return Err(ManifestFault::Hash { expected, found });
        }
        let manifest: Self = serde_json::from_value(value).map_err(malformed)?;
        if !is_version(&manifest.tool) {
            return Err(ManifestFault::Malformed("`tool` is not a version".to_owned()));
        }
        // Another spelling, or a key that means nothing, would be a second manifest of one bundle.
        match manifest.spell().map_err(malformed)? == bytes {
            true => Ok(manifest),
            false => Err(ManifestFault::Malformed("not in its one spelling".to_owned())),
        }
    }
}
