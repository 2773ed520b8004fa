//! Marks of commands in the folder of local state. A mark exists while a command is between a
//! payload and its line. If the command is interrupted there, the mark remains, and the next
//! collection searches for payloads that no entry claims (STAGE-17). Without a mark, a collection
//! need not check all payloads. A promotion has its own mark, from before its document is made
//! until its act is recorded (STAGE-16). Each act also has one, until the change log contains its
//! line (STAGE-24).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::line::ActKind;
use super::name::{StagedName, parse_name};
use crate::files::vault::files::{FileError, Files};
use crate::files::vault::write::Written;
use crate::record::audit::MAX_DOCUMENTS;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{LOCAL_DIR, PROMOTING, STAGING_ACT, STAGING_UNFINISHED};
use crate::values::model::timestamp::Timestamp;

/// Maximum length of a mark in bytes.
const LIMIT: u64 = 64 << 10;
/// Maximum length of the mark of an act, which names [`MOST_ACTS`] entries.
const ACT_LIMIT: u64 = 8 << 20;
/// Maximum number of entries of an act with one mark.
pub(crate) const MOST_ACTS: usize = 5 * MAX_DOCUMENTS;

/// Reads a mark; `None` if it cannot be parsed.
fn read<T: DeserializeOwned>(files: &Files, path: &str, limit: u64) -> Option<T> {
    serde_json::from_slice(&files.read(path, limit).ok()?).ok()
}

/// Writes and syncs a mark.
fn write(files: &Files, path: &str, mark: &impl Serialize) -> Result<(), FileError> {
    let text = serde_json::to_string(mark).unwrap_or_default() + "\n";
    files.create_new(path, text.as_bytes())?;
    files.sync(&[Written::Named(path)])
}

/// The mark of a command that holds the write lock. It remains if the value is dropped without
/// [`Unfinished::end`].
#[must_use = "the mark stays until the command ends it"]
#[derive(Debug)]
pub(crate) struct Unfinished<'f> {
    files: &'f Files,
    /// True if an interrupted command left the mark, which this command must then not remove.
    was_left: bool,
}

impl<'f> Unfinished<'f> {
    /// Returns true if an interrupted command left a mark.
    pub(crate) fn is_left(files: &Files) -> bool {
        files.exists(STAGING_UNFINISHED)
    }

    /// Sets the mark.
    ///
    /// # Errors
    /// Fails if the mark cannot be written.
    pub(crate) fn begin(files: &'f Files) -> Result<Self, FileError> {
        let was_left = !files.create_mark(STAGING_UNFINISHED)?;
        Ok(Self { files, was_left })
    }

    /// Returns true if a command was interrupted before this one.
    pub(crate) fn is_after_one(&self) -> bool {
        self.was_left
    }

    /// Removes the mark, because every payload of this command has its line or is gone.
    pub(crate) fn end(self) {
        if !self.was_left {
            self.end_all();
        }
    }

    /// Removes the mark, even that of an interrupted command, because every payload was checked.
    pub(crate) fn end_all(self) {
        // A mark that remains only costs the next collection some time.
        self.files.discard(STAGING_UNFINISHED);
    }
}

/// The mark of a promotion, so that it can be completed. An attacker who can write the mark can
/// also write the act.
#[must_use = "the mark stays until the command ends it"]
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Promoting {
    promote: String,
    document: String,
}

impl Promoting {
    /// Returns the mark for an entry that becomes a document.
    pub(crate) fn of(name: &StagedName, document: &DocumentId) -> Self {
        Self { promote: name.to_string(), document: document.to_string() }
    }

    /// Returns the entry and the document; `None` if the mark names neither.
    pub(crate) fn names(&self) -> Option<(StagedName, DocumentId)> {
        Some((parse_name(&self.promote).ok()?, self.document.parse().ok()?))
    }

    /// Returns the paths of the marks that interrupted commands left, in a stable order.
    pub(crate) fn left(files: &Files) -> Vec<String> {
        let mut names = files.names(LOCAL_DIR).unwrap_or_default();
        names.retain(|name| name.starts_with(PROMOTING));
        names.sort_unstable();
        names.iter().map(|name| format!("{LOCAL_DIR}/{name}")).collect()
    }

    /// Returns the marks that can be read.
    pub(crate) fn interrupted(files: &Files) -> Vec<Self> {
        Self::left(files).iter().filter_map(|path| read(files, path, LIMIT)).collect()
    }

    fn path(&self) -> String {
        let digest = Digest::of(format!("{} {}", self.promote, self.document).as_bytes());
        format!("{LOCAL_DIR}/{PROMOTING}{}", &digest.hex()[..16])
    }

    /// Sets and syncs the mark, for the holder of the write lock.
    ///
    /// # Errors
    /// Fails if the mark cannot be written.
    pub(crate) fn begin(&self, files: &Files) -> Result<(), FileError> {
        let path = self.path();
        if files.exists(&path) {
            return Ok(());
        }
        write(files, &path, self)
    }

    /// Removes the mark.
    pub(crate) fn end(&self, files: &Files) {
        files.discard(&self.path());
    }
}

/// The mark of an act, so that the change log gets its line. The act itself is read from the
/// chains: an attacker who can write the mark can also write a line of the change log.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Acting {
    act: String,
    /// The time of the act.
    pub(crate) at: String,
    /// The time when the command began, by its clock.
    pub(crate) began: String,
    /// Writer and number of the last line of the change log that this user wrote before.
    pub(crate) after: Option<(String, u64)>,
    staged: Vec<String>,
}

impl Acting {
    /// Returns the mark for an act on entries.
    pub(crate) fn of(
        (kind, at): (ActKind, Timestamp),
        staged: &[String],
        began: Timestamp,
        after: Option<(String, u64)>,
    ) -> Self {
        let (act, at, began) = (kind.as_str().to_owned(), at.to_string(), began.to_string());
        Self { act, at, began, after, staged: staged.to_vec() }
    }

    /// Returns the kind of the act and the entries; `None` if the mark does not name an act.
    pub(crate) fn names(&self) -> Option<(ActKind, Vec<StagedName>)> {
        let kind = ActKind::of_word(&self.act)?;
        Some((kind, self.staged.iter().filter_map(|name| parse_name(name).ok()).collect()))
    }

    /// Returns true if a mark exists, readable or not.
    pub(crate) fn is_left(files: &Files) -> bool {
        files.exists(STAGING_ACT)
    }

    /// Returns the mark that an interrupted command left; `None` if it cannot be read.
    pub(crate) fn interrupted(files: &Files) -> Option<Self> {
        read(files, STAGING_ACT, ACT_LIMIT)
    }

    /// Sets and syncs the mark, for the holder of the write lock after it found none.
    ///
    /// # Errors
    /// Fails if the mark cannot be written.
    pub(crate) fn begin(&self, files: &Files) -> Result<(), FileError> {
        write(files, STAGING_ACT, self)
    }

    /// Removes the mark.
    pub(crate) fn end(files: &Files) {
        files.discard(STAGING_ACT);
    }
}
