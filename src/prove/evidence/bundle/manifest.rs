//! `manifest.json`: the contents of a bundle, the place of each proof, and the hash of every other
//! file (EVID-13).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::audit::{FaultKind, HeadRef, Line};
use crate::values::codes::words;
use crate::values::model::digest::Digest;

/// Version of the bundle format.
pub(crate) const FORM: u64 = 1;
/// Name of the manifest file.
pub(crate) const MANIFEST: &str = "manifest.json";
/// File with the lines of the access log.
pub(crate) const LINES: &str = "lines.jsonl";
/// File with the lines of the checkpoint log.
pub(crate) const CHECKPOINTS: &str = "checkpoints.jsonl";
/// File with lines of staging chains. Only a bundle with staged entries has it.
pub(crate) const STAGED: &str = "staged.jsonl";

/// File that tells people how to verify the bundle.
pub(crate) const README: &str = "README.md";
/// File that lists the accesses and versions as tables.
pub(crate) const INDEX: &str = "index.html";

/// Returns the path of the file with a part of a history.
pub(crate) fn chain_path(chain: usize) -> String {
    format!("chains/{chain}.json")
}

/// Returns the path of the file with the full text at the start of a part of a history.
pub(crate) fn keyframe_path(chain: usize) -> String {
    format!("chains/{chain}.md")
}

/// Returns the path of the file with the text of a version.
pub(crate) fn text_path(version: usize) -> String {
    format!("versions/{version}.md")
}

/// Returns the path of the file with a content that a source returned.
pub(crate) fn content_path(content: usize) -> String {
    format!("contents/{content}")
}

/// Contents of a bundle. Chains, versions, lines and documents of a line are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) v: u64,
    /// Version of ctx that made the bundle.
    pub(crate) tool: String,
    pub(crate) scope: Scope,
    /// Last checkpoint; `None` if the vault does not have checkpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<HeadRef>,
    /// Hash of the checkpoint before the first line of the log; `None` before checkpoint 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
    /// Lines of the access log, in the order of the file.
    pub(crate) lines: Vec<LineRef>,
    /// Places where the access logs of these lines are incomplete.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) gaps: Vec<Gap>,
    /// Versions whose texts the bundle contains.
    pub(crate) versions: Vec<VersionRef>,
    /// Derivation of each text of an access from a version.
    pub(crate) texts: Vec<TextRef>,
    /// Lines of staging chains, in the order of the file.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) staged: Vec<StagedRef>,
    /// Size and hash of every other file, by path.
    pub(crate) files: BTreeMap<String, FileRef>,
}

words! {
    /// Kind of the requested accesses.
    pub enum ScopeKind {
        /// See [`Scope::Trace`].
        Trace = "trace",
        /// See [`Scope::Session`].
        Session = "session",
        /// See [`Scope::Document`].
        Document = "document",
    }
}

/// Requested accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// One access, with the further lines of its answer.
    Trace(String),
    /// All lines of a session.
    Session(String),
    /// All lines that handed out texts of a document, or hydrated it.
    Document(String),
}

impl Scope {
    /// Returns the kind, and the trace, session or document that it names.
    pub(crate) fn parts(&self) -> (ScopeKind, &str) {
        match self {
            Self::Trace(name) => (ScopeKind::Trace, name),
            Self::Session(name) => (ScopeKind::Session, name),
            Self::Document(name) => (ScopeKind::Document, name),
        }
    }

    /// Returns true if the bundle must prove a text of this document. A bundle of one document
    /// proves only its own texts.
    pub(crate) fn is_about(&self, document: &str) -> bool {
        !matches!(self, Self::Document(of) if of != document)
    }

    /// Returns true if the scope can include this line. A document scope includes lines by their
    /// texts, which the caller must check.
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

/// Original place of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LineRef {
    pub(crate) trace: String,
    /// File of the log. No hash covers it.
    pub(crate) file: String,
    /// Line number in the file. No hash covers it.
    pub(crate) line: u64,
}

/// A place in the logs where lines are missing or unreliable. Any of them may have been
/// part of the bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gap {
    /// Code of the fault, or [`PRUNED`].
    pub(crate) code: String,
    /// File of the log.
    pub(crate) file: String,
    /// Line number in the file.
    pub(crate) line: u64,
    /// Description of the fault.
    pub(crate) why: String,
}

/// Code of pruned lines.
pub(crate) const PRUNED: &str = "pruned";
/// Code of a version whose approval cannot be judged.
pub(crate) const UNJUDGED: &str = "approval-unknown";

impl Gap {
    /// Returns true if the gap is damage. A recorded pruning or the end of a process is not damage.
    pub(crate) fn is_damage(&self) -> bool {
        ![PRUNED, FaultKind::Torn.as_str()].contains(&self.code.as_str())
    }

    /// Returns true if the gap is about the approval of a version. `file` is then the history, and
    /// `line` the version.
    pub(crate) fn is_about_approval(&self) -> bool {
        self.code.starts_with("approval-")
    }
}

/// A version whose text the bundle contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VersionRef {
    pub(crate) id: String,
    pub(crate) version: u64,
    /// Number of the chain that proves the version.
    pub(crate) chain: usize,
    /// Checkpoints for which the bundle proves the version.
    pub(crate) checkpoints: Vec<u64>,
}

/// Derivation of a text of an access from a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextRef {
    pub(crate) line: usize,
    /// Number of the text among the documents of the line.
    pub(crate) document: usize,
    /// Number of the version in the bundle.
    pub(crate) version: usize,
    /// Byte ranges of the version's text that make up the text; `None` if the text
    /// is not a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pieces: Option<Vec<[u64; 2]>>,
}

/// A line of a staging chain: an entry, or an act on one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StagedRef {
    /// Id of the source.
    pub(crate) source: String,
    /// Writer of the chain.
    pub(crate) writer: String,
    pub(crate) seq: u64,
    /// Number of an entry's content, from 1; `None` for an act, or if the bundle lacks the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<usize>,
}

/// Size, hash and kind of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRef {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// Kind of the file, as [`file_kind`] returns it.
    pub(crate) what: String,
}

impl FileRef {
    pub(crate) fn of(path: &str, bytes: &[u8]) -> Self {
        let sha256 = Digest::of(bytes).to_string();
        Self { bytes: bytes.len() as u64, sha256, what: file_kind(path).to_owned() }
    }
}

/// Returns the kind of a file of a bundle, by its name (EVID-13).
pub(crate) fn file_kind(path: &str) -> &'static str {
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

/// Reason why bytes are not a valid manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ManifestFault {
    /// Another version of the bundle format.
    #[error("the form of the bundle is {0}, and this version of ctx reads form {FORM}")]
    Form(String),
    /// Not JSON of this shape, or not in the canonical spelling.
    #[error("{MANIFEST} is malformed: {0}")]
    Malformed(String),
    /// The manifest was changed.
    #[error("{MANIFEST} has hash {found}, but states {}", expected.as_deref().unwrap_or("none"))]
    Hash {
        /// Hash that the manifest states.
        expected: Option<String>,
        /// Hash of its content.
        found: Digest,
    },
}

/// Returns true if the text is a program version. `README.md` contains it, so it
/// must not be a sentence.
fn is_version(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
    text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(is_part)
}

impl Manifest {
    /// Returns the names that files of the bundle can have.
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

    /// Spells the manifest in JCS form, with the hash of the JCS form without `hash`.
    ///
    /// # Errors
    /// Fails if JSON cannot represent a number. Numbers of this program never cause it.
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
        // Another spelling, or an unknown key, would be a second manifest of the same bundle.
        match manifest.spell().map_err(malformed)? == bytes {
            true => Ok(manifest),
            false => Err(ManifestFault::Malformed("not in canonical form".to_owned())),
        }
    }
}
