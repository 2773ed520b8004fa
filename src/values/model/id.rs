//! The name of a governed artifact: a document, or one of the governance files.
//!
//! The id of a document is its path without `.md`, or with any other ending. The id of a governance
//! file is its path with the ending (`spec/vault.md`, section 2). Ids are NFC, so that one name has
//! one spelling.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use unicode_normalization::{UnicodeNormalization as _, is_nfc};

use crate::values::model::emoji::without_joiners;
use crate::values::model::governance_file::GovernanceFile;
use crate::values::model::layout;
use crate::values::model::number::Version;
use crate::values::model::visible::{Invisible, without_invisible};

/// Maximum length of an id in bytes.
pub const MAX_ID_BYTES: usize = 512;

/// The id of a document or governance file. The text is shared, because a log, the state computed
/// from it and an answer contain the same ids.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentId(Arc<str>);

/// The kind of artifact that an id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Markdown document with frontmatter.
    Document,
    /// `CONTEXT.md`, `stewards.yaml`, the configuration or a pack: stored verbatim.
    Governance,
}

/// A rule of ids that a text breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is empty.
    #[error("an id cannot be empty")]
    Empty,
    /// The text has more than 512 bytes.
    #[error("an id has at most 512 bytes, but this one has {0}")]
    TooLong(usize),
    /// The text contains a control character or a backslash.
    #[error("ids cannot contain `{}`", escaped(*.0))]
    Character(char),
    /// A part is not a name, as in `a//b`, `/a`, `a/`, `.` or `..`.
    #[error("an id is a path of names: `{}` is not a name", .0.escape_debug())]
    Segment(String),
    /// The text contains decomposed characters, as some systems write file names.
    #[error("the letters of the name are decomposed (Unicode NFD); rename the file to the composed form `{}` (NFC), which looks the same", .0.escape_debug())]
    NotNfc(String),
    /// The id of a document looks like that of a governance file, or its file is never a document.
    #[error("`{}` is reserved for a file that is not a document", .0.escape_debug())]
    Reserved(String),
    /// The file is named `a.mdx.md`: its id would be that of the file `a.mdx`.
    #[error("`{}` is the id of the file with exactly that name; remove the ending `.md`", .0.escape_debug())]
    Ending(String),
    /// A new id is the path of another document's file.
    #[error("a new id cannot end in `.md`: the path `{}` is that of another document", .0.escape_debug())]
    Path(String),
    /// The text contains a character that is invisible or changes the direction of the line.
    #[error("ids cannot contain invisible characters, but `{id}` has {found}")]
    Invisible {
        /// Text of the id.
        id: String,
        /// First such character.
        found: Invisible,
    },
}

/// Spells a control character as an escape.
fn escaped(found: char) -> String {
    if found.is_control() { found.escape_debug().to_string() } else { found.to_string() }
}

impl IdError {
    /// Returns advice on how to rename the file.
    pub fn hint(&self) -> String {
        let plain = match self {
            Self::Invisible { id, .. } => Some(without_invisible(id)),
            _ => None,
        };
        match plain.filter(|id| id.parse::<DocumentId>().is_ok()) {
            Some(id) => format!("the id without such characters is `{id}`"),
            None => "rename the file".to_owned(),
        }
    }
}

/// Returns the folder of an id, without a final `/`; `None` for an id at the root.
pub(crate) fn folder_of(id: &str) -> Option<&str> {
    id.rsplit_once('/').map(|(folder, _)| folder)
}

impl DocumentId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the id of an artifact that a command creates, which cannot end like the path of
    /// another document's file. An existing file may have such an id (`a.md.md`).
    ///
    /// # Errors
    /// The rule of ids that the text breaks.
    pub fn of_new(text: &str) -> Result<Self, IdError> {
        let id: Self = text.parse()?;
        match id.is_document() && id.as_str().ends_with(layout::ENDING) {
            true => Err(IdError::Path(text.to_owned())),
            false => Ok(id),
        }
    }

    /// Parses the path of a governance file.
    ///
    /// # Errors
    /// The rule of ids that the path breaks.
    pub fn of_governance_file(path: &str) -> Result<Self, IdError> {
        let id: Self = path.parse()?;
        id.unfit().map_or(Ok(id), Err)
    }

    /// Returns the id of the document in a file, whose path in the vault is separated by `/` and
    /// has an ending of Markdown.
    ///
    /// # Errors
    /// The rule of ids that the path breaks.
    pub fn of_document_file(path: &str) -> Result<Self, IdError> {
        let stem = path.strip_suffix(layout::ENDING);
        if let Some(stem) = stem.filter(|stem| layout::keeps_ending(stem)) {
            return Err(IdError::Ending(stem.to_owned()));
        }
        let id: Self = stem.unwrap_or(path).parse()?;
        match id.unfit() {
            None if id.is_document() => Ok(id),
            why => Err(why.unwrap_or_else(|| IdError::Reserved(id.to_string()))),
        }
    }

    /// Returns the kind of artifact; only the text of the id decides.
    pub fn kind(&self) -> Kind {
        match self.governance() {
            Some(_) => Kind::Governance,
            None => Kind::Document,
        }
    }

    /// Returns the id of the configuration.
    pub fn config() -> Self {
        Self(layout::CONFIG.into())
    }

    /// Returns the id of `stewards.yaml`.
    pub fn stewards() -> Self {
        Self(layout::STEWARDS.into())
    }

    /// Returns the id of the instructions for agents.
    pub fn instructions() -> Self {
        Self(layout::CONTEXT.into())
    }

    /// Returns the id of a log that was merged (MERGE-2).
    pub fn log() -> Self {
        Self(layout::DELTA_LOG.into())
    }

    /// Returns true if this names a log that was merged.
    pub fn is_log(&self) -> bool {
        *self.0 == *layout::DELTA_LOG
    }

    /// Returns true if this is the id of a pack.
    pub fn is_pack(&self) -> bool {
        self.governance() == Some(GovernanceFile::Pack)
    }

    /// Returns true if this names a hash chain of lines instead of a history. Checkpoint maps bind
    /// it by the number and the hash of a line. It is the change log of a writer (AUDIT-25), a
    /// staging chain (STAGE-21), or a log that was merged (MERGE-2).
    pub fn is_chain(&self) -> bool {
        let is_change_log = below(&self.0, layout::AUDIT_DIR).is_some_and(is_file_of_writer);
        is_change_log || self.is_staging_chain() || self.is_log()
    }

    /// Returns true if this names a staging chain.
    pub fn is_staging_chain(&self) -> bool {
        source_of_chain(&self.0).is_some()
    }

    /// Returns the source of the staging chain that this names; `None` for other ids.
    pub fn source_of_chain(&self) -> Option<Self> {
        source_of_chain(&self.0)?.parse().ok()
    }

    /// Returns true if this is the id of a document.
    pub fn is_document(&self) -> bool {
        self.kind() == Kind::Document
    }

    /// Returns the reason why no artifact can have this id, even if a log contains it
    /// (`spec/vault.md`, VAULT-10 and VAULT-20). Names that end like governance files are reserved
    /// for later versions.
    pub fn unfit(&self) -> Option<IdError> {
        if let Some(found) = Invisible::first_in_name(&self.0) {
            return Some(IdError::Invisible { id: self.to_string(), found });
        }
        if !self.is_document() {
            return None;
        }
        let is_reserved = self.0.ends_with(".yaml")
            || self.0.ends_with(".yml")
            || layout::is_never_document(&self.live_path());
        is_reserved.then(|| IdError::Reserved(self.to_string()))
    }

    /// Path of the live file.
    pub fn live_path(&self) -> String {
        match self.kind() {
            Kind::Document if layout::keeps_ending(&self.0) => self.to_string(),
            Kind::Document => format!("{}{}", self.0, layout::ENDING),
            Kind::Governance => self.to_string(),
        }
    }

    /// Path of the folder with the history.
    pub fn history_dir(&self) -> String {
        match self.0.rsplit_once('/') {
            Some((folder, name)) => format!("{folder}/{}/{name}", layout::VERSIONS),
            None => format!("{}/{}", layout::VERSIONS, self.0),
        }
    }

    /// Path of the history.
    pub fn history_path(&self) -> String {
        format!("{}/{}", self.history_dir(), layout::HISTORY)
    }

    /// Path of version `n` as full text, in the folder of the history.
    pub fn keyframe_path(&self, version: Version) -> String {
        format!("{}/v{version}.md", self.history_dir())
    }

    /// Path of version `n` as a diff, for a history whose diffs are separate files.
    pub fn diff_path(&self, version: Version) -> String {
        format!("{}/v{version}.diff", self.history_dir())
    }

    /// Returns the id whose history is in this folder, `<dir>/.versions/<name>`.
    ///
    /// # Errors
    /// The name of the folder is not a valid id.
    pub fn of_history_dir(path: &str) -> Result<Self, IdError> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        match above.strip_suffix(layout::VERSIONS) {
            Some(folder) => format!("{folder}{name}").parse(),
            None => Err(IdError::Segment(path.to_owned())),
        }
    }

    /// Returns the spelling in which ids must differ from one another: see [`fold`].
    pub fn folded(&self) -> String {
        fold(&self.0)
    }

    /// Returns the spellings that no other artifact may have (`spec/vault.md`, VAULT-14): its own,
    /// and for `a.MD` that of `a`, because some file systems do not distinguish `a.MD` and `a.md`.
    pub fn claims(&self) -> impl Iterator<Item = String> {
        let folded = self.folded();
        let stem = folded.strip_suffix(layout::ENDING).map(str::to_owned);
        let stem = stem.filter(|_| self.is_document() && layout::keeps_ending(&self.0));
        std::iter::once(folded).chain(stem)
    }

    /// Returns the spellings that the id and the folders above it occupy, each with its name.
    pub(crate) fn claims_with_folders(&self) -> impl Iterator<Item = (String, &str)> {
        let own = self.claims().map(|claim| (claim, self.as_str()));
        own.chain(self.with_folders().skip(1).map(|name| (fold(name), name)))
    }

    /// Returns the name of this id, or of a folder above it, and the name in the other id that some
    /// file systems do not distinguish from it.
    pub(crate) fn collision_with<'i>(&'i self, other: &'i Self) -> Option<(&'i str, &'i str)> {
        let of_other: Vec<(String, &str)> = other.claims_with_folders().collect();
        self.claims_with_folders().find_map(|(claim, name)| {
            let same = of_other.iter().find(|(taken, other)| *taken == claim && *other != name);
            same.map(|(_, other)| (name, *other))
        })
    }

    /// Returns the id and the folders above it, the longest first.
    pub fn with_folders(&self) -> impl Iterator<Item = &str> {
        let whole: &str = &self.0;
        std::iter::successors(Some(whole), |name| name.rsplit_once('/').map(|(above, _)| above))
    }
}

/// Returns the form of a name that is the same for every name that a file system or a reader may
/// confuse with it: NFC of the case folding, without the invisible characters of emoji
/// (`spec/vault.md`, VAULT-14).
pub fn fold(name: &str) -> String {
    fold_case(&without_joiners(name))
}

/// Returns NFC of the case folding of a name.
pub(crate) fn fold_case(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    caseless::default_case_fold_str(name).nfc().collect()
}

/// Returns the part of a path after a folder; `None` if the path is not in it.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder)?.strip_prefix('/')
}

/// Returns true if a file name is that of a writer's first file (AUDIT-1).
fn is_file_of_writer(name: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let writer = name.strip_suffix(".jsonl");
    writer.is_some_and(|writer| writer.len() == 32 && writer.bytes().all(is_digit))
}

/// Returns the id of the source of the staging chain with this path (STAGE-1).
fn source_of_chain(path: &str) -> Option<&str> {
    let (source, name) = below(path, layout::STAGING_CHAINS)?.rsplit_once('/')?;
    is_file_of_writer(name).then_some(source)
}

impl FromStr for DocumentId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(IdError::Empty);
        }
        // The path of a chain is longer than the id of its source, to which the limit applies.
        if text.len() > MAX_ID_BYTES
            && source_of_chain(text).is_none_or(|source| source.len() > MAX_ID_BYTES)
        {
            return Err(IdError::TooLong(text.len()));
        }
        // Bytes are checked first: hardly any id has a character that needs more.
        let plain = text.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'\\');
        if !plain && let Some(c) = text.chars().find(|c| c.is_control() || *c == '\\') {
            return Err(IdError::Character(c));
        }
        if let Some(bad) = text.split('/').find(|s| matches!(*s, "" | "." | "..")) {
            return Err(IdError::Segment(bad.to_owned()));
        }
        if !plain && !is_nfc(text) {
            return Err(IdError::NotNfc(text.nfc().collect()));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for DocumentId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Debug for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Borrow<str> for DocumentId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_names_its_history() {
        let id: DocumentId = "nodes/legal/pricing".parse().unwrap();
        assert_eq!(id.live_path(), "nodes/legal/pricing.md");
        assert_eq!(id.history_path(), "nodes/legal/.versions/pricing/history.yaml");
        let root: DocumentId = "CONTEXT.md".parse().unwrap();
        assert_eq!((root.kind(), root.live_path()), (Kind::Governance, "CONTEXT.md".to_owned()));
        assert_eq!(root.history_dir(), ".versions/CONTEXT.md");
        let config: DocumentId = ".context/config.yaml".parse().unwrap();
        assert_eq!(config.history_dir(), ".context/.versions/config.yaml");
        for id in [id, root, config] {
            assert_eq!(DocumentId::of_history_dir(&id.history_dir()).unwrap(), id);
        }
    }

    #[test]
    fn ids_that_systems_read_differently_are_refused() {
        for text in ["", "/a", "a/", "a//b", "a/../b", ".", "a\\b", "a\nb", "e\u{301}"] {
            assert!(text.parse::<DocumentId>().is_err(), "{text:?}");
        }
        for path in ["CONTEXT.md.md", "nodes/a.yml.md", "packs/x.yml.md", "a.yaml.md"] {
            assert!(
                matches!(DocumentId::of_document_file(path), Err(IdError::Reserved(_))),
                "{path}"
            );
        }
        assert!("x".repeat(513).parse::<DocumentId>().is_err());
    }

    #[test]
    fn chains_are_recognized_by_their_paths() {
        let writer = "0123456789abcdef0123456789abcdef";
        let is = |path: &str| {
            let id: DocumentId = path.parse().unwrap();
            (id.is_chain(), id.is_staging_chain())
        };
        assert_eq!(is(&format!(".context/audit/{writer}.jsonl")), (true, false));
        let chain = |source: &str| format!(".context/staging/chains/{source}/{writer}.jsonl");
        for source in ["a", "sources/prices", "sources/é/x.mdx"] {
            assert_eq!(is(&chain(source)), (true, true), "{source}");
        }
        for path in [
            format!(".context/audit/{writer}.2.jsonl"),
            format!(".context/audit/x/{writer}.jsonl"),
            format!(".context/staging/chains/{writer}.jsonl"),
            format!(".context/staging/objects/a/{writer}.jsonl"),
            format!("x/.context/staging/chains/a/{writer}.jsonl"),
            chain("a").to_uppercase(),
            chain("a").replace("0123", "012"),
        ] {
            assert_eq!(is(&path), (false, false), "{path}");
        }
        // A source with the longest possible id has a chain.
        assert_eq!(is(&chain(&"x".repeat(512))), (true, true));
        assert!(chain(&"x".repeat(513)).parse::<DocumentId>().is_err());
        assert!(chain("a//b").parse::<DocumentId>().is_err());
    }

    #[test]
    fn other_endings_of_markdown_stay_in_the_id() {
        for path in ["nodes/a.mdx", "nodes/a.markdown", "nodes/a.MD", "nodes/a.md.MDX"] {
            let id = DocumentId::of_document_file(path).unwrap();
            assert_eq!((id.as_str(), id.live_path().as_str()), (path, path));
        }
        let plain = DocumentId::of_document_file("nodes/a.md.md").unwrap();
        assert_eq!((plain.as_str(), plain.live_path().as_str()), ("nodes/a.md", "nodes/a.md.md"));
        for path in ["nodes/a.mdx.md", "nodes/a.MD.md"] {
            assert!(
                matches!(DocumentId::of_document_file(path), Err(IdError::Ending(_))),
                "{path}"
            );
        }
        for path in ["CLAUDE.mdx", "CONTEXT.MD", "nodes/INDEX.markdown", "nodes/.hidden.mdx"] {
            let found = DocumentId::of_document_file(path);
            assert!(matches!(found, Err(IdError::Reserved(_))), "{path}");
        }
    }

    #[test]
    fn folding_equates_names_that_file_systems_may_equate() {
        let fold = |s: &str| s.parse::<DocumentId>().unwrap().folded();
        assert_eq!(fold("Nodes/ÉTÉ"), fold("nodes/été"));
        assert_eq!(fold("straße"), fold("STRASSE"));
        assert_ne!(fold("a"), fold("b"));
        assert_eq!(fold("A\u{2764}\u{fe0f}"), fold("a\u{2764}"));
    }

    proptest! {
        #[test]
        fn parsing_undoes_display(text in "[a-zA-Zé日 .@#%:_-]{1,8}(/[a-z0-9 -]{1,8}){0,3}") {
            if let Ok(id) = text.parse::<DocumentId>() {
                prop_assert_eq!(id.to_string().parse::<DocumentId>().unwrap(), id.clone());
                prop_assert_eq!(DocumentId::of_history_dir(&id.history_dir()).unwrap(), id);
            }
        }
    }
}
