//! A mark in the folder of local state that a command is between a payload and the line that goes
//! with it. A command that is interrupted there leaves the mark, and the next collection looks for
//! payloads that no entry claims (STAGE-17). So a collection that finds no mark need not look at all
//! that are there. A promotion has a mark of its own, from before its document is made until its act
//! is recorded (STAGE-16).

use serde::{Deserialize, Serialize};

use super::name::{StagedName, parse_name};
use crate::model::digest::Digest;
use crate::model::id::DocumentId;
use crate::model::layout::{LOCAL_DIR, PROMOTING, STAGING_UNFINISHED};
use crate::vault::files::{FileError, Files};
use crate::vault::write::Written;

/// Maximum length of a mark in bytes.
const LIMIT: u64 = 64 << 10;

/// An erasure that a mark names, so that it can be completed. An attacker who can write the mark can
/// write the lines of the erasure, too.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Erasure {
    erase: String,
    /// Why.
    pub(crate) reason: String,
}

impl Erasure {
    /// That of an entry.
    pub(crate) fn of(name: &StagedName, reason: &str) -> Self {
        Self { erase: name.to_string(), reason: reason.to_owned() }
    }

    /// The entry.
    pub(crate) fn name(&self) -> Option<StagedName> {
        parse_name(&self.erase).ok()
    }

    /// The erasure that the mark of an interrupted command names.
    pub(crate) fn interrupted(files: &Files) -> Option<Self> {
        serde_json::from_slice(&files.read(STAGING_UNFINISHED, LIMIT).ok()?).ok()
    }
}

/// The mark of a command that holds the write lock. Dropped without an end, it stays.
#[must_use = "the mark stays until the command ends it"]
#[derive(Debug)]
pub(crate) struct Unfinished<'f> {
    files: &'f Files,
    /// Whether an interrupted command left it, so that it is not ours to take away.
    was_left: bool,
}

impl<'f> Unfinished<'f> {
    /// Whether an interrupted command left a mark.
    pub(crate) fn is_left(files: &Files) -> bool {
        files.exists(STAGING_UNFINISHED)
    }

    /// Sets the mark.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn begin(files: &'f Files) -> Result<Self, FileError> {
        let was_left = !files.create_mark(STAGING_UNFINISHED)?;
        Ok(Self { files, was_left })
    }

    /// Sets the mark of an erasure, durable.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn begin_erasure(files: &'f Files, erasure: &Erasure) -> Result<Self, FileError> {
        let was_left = Self::is_left(files);
        files.discard(STAGING_UNFINISHED);
        let text = serde_json::to_string(erasure).unwrap_or_default() + "\n";
        files.create_new(STAGING_UNFINISHED, text.as_bytes())?;
        files.sync(&[Written::Named(STAGING_UNFINISHED)])?;
        Ok(Self { files, was_left })
    }

    /// Whether a command was interrupted before this one.
    pub(crate) fn is_after_one(&self) -> bool {
        self.was_left
    }

    /// Takes the mark away: every payload of this command has its line, or is gone.
    pub(crate) fn end(self) {
        if !self.was_left {
            self.end_all();
        }
    }

    /// Takes the mark away, also that of an interrupted command: every payload was looked at.
    pub(crate) fn end_all(self) {
        // One that stays costs the next collection its time, and nothing else.
        self.files.discard(STAGING_UNFINISHED);
    }
}

/// The mark of a promotion, so that it can be completed. An attacker who can write the mark can write
/// the act, too.
#[must_use = "the mark stays until the command ends it"]
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Promoting {
    promote: String,
    document: String,
}

impl Promoting {
    /// That of an entry that becomes a document.
    pub(crate) fn of(name: &StagedName, document: &DocumentId) -> Self {
        Self { promote: name.to_string(), document: document.to_string() }
    }

    /// The entry and the document; `None` if the mark names none.
    pub(crate) fn names(&self) -> Option<(StagedName, DocumentId)> {
        Some((parse_name(&self.promote).ok()?, self.document.parse().ok()?))
    }

    /// The marks that interrupted commands left, in an order that does not change.
    pub(crate) fn interrupted(files: &Files) -> Vec<Self> {
        let mut names = files.names(LOCAL_DIR).unwrap_or_default();
        names.sort_unstable();
        let marks = names.into_iter().filter(|name| name.starts_with(PROMOTING));
        let read = |name| files.read(&format!("{LOCAL_DIR}/{name}"), LIMIT).ok();
        marks.filter_map(|name| serde_json::from_slice(&read(name)?).ok()).collect()
    }

    fn path(&self) -> String {
        let digest = Digest::of(format!("{} {}", self.promote, self.document).as_bytes());
        format!("{LOCAL_DIR}/{PROMOTING}{}", &digest.hex()[..16])
    }

    /// Sets the mark, durable, for the holder of the write lock.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn begin(&self, files: &Files) -> Result<(), FileError> {
        let path = self.path();
        if files.exists(&path) {
            return Ok(());
        }
        let text = serde_json::to_string(self).unwrap_or_default() + "\n";
        files.create_new(&path, text.as_bytes())?;
        files.sync(&[Written::Named(&path)])
    }

    /// Removes the mark.
    pub(crate) fn end(&self, files: &Files) {
        files.discard(&self.path());
    }
}
