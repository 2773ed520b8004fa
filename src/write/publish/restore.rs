//! Restoring: a live file gets the text of a version again. Nothing is published, and unpublished
//! changes are not overwritten (`spec/publish.md`, section 4).

use std::collections::BTreeSet;

use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::files::vault::lock::{LockError, WriteLock};
use crate::files::vault::replace::Fingerprint;
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, EntryState, History, Slot};
use crate::record::chain::replay;
use crate::record::chain::vouched;
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::state::{Mark, PublishedSet};
use crate::record::trusted_head::{self, HeadError};
use crate::text::document::edit::{Edit, EditError};
use crate::text::document::frontmatter::{Frontmatter, Status};
use crate::text::document::live_form::LiveForm;
use crate::text::document::stamp::left_behind;
use crate::text::document::text::normalise;
use crate::text::document::{Document, utf8};
use crate::values::codes::serialize_as_words;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::write::commit::{Beyond, Live, point};

/// A request to restore live files.
#[derive(Clone, Debug)]
pub struct RestoreRequest<'r> {
    /// The artifacts.
    pub ids: &'r [DocumentId],
    /// The version, instead of the published one.
    pub version: Option<Version>,
    /// True to overwrite changes that no version contains.
    pub force: bool,
    /// True to compute everything, but write nothing.
    pub dry_run: bool,
    /// The text that a command shows while it waits for the lock.
    pub holder: &'r str,
}

/// One artifact whose live file has the text of a version.
#[derive(Debug)]
pub struct RestoredFile {
    /// The artifact.
    pub id: DocumentId,
    /// The version of the text.
    pub version: Version,
    /// Text of the version, which the chain vouches for.
    pub sealed: String,
    /// The change of the file; [`Live::Keep`] if it already has the text.
    pub live: Live,
    /// The text compared with the published one.
    pub stands: Standing,
}

/// How a restored text compares with what is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The text is the published one.
    Published,
    /// The text is an earlier one, marked as an edit of the published version.
    Earlier,
    /// The text is an earlier one, but cannot be marked as an edit of the published version, which
    /// is this one.
    EarlierUntouched(Version),
    /// No version is published under the id.
    Retired,
}

serialize_as_words!(Standing);

impl Standing {
    /// Returns the word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Earlier | Self::EarlierUntouched(_) => "earlier",
            Self::Retired => "retired",
        }
    }
}

/// The reason for which nothing was restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The artifact was never published.
    #[error("`{0}` was never published")]
    NeverPublished(DocumentId),
    /// The history does not contain the version.
    #[error("`{id}` has no version {version}")]
    UnknownVersion {
        /// The artifact.
        id: DocumentId,
        /// The version.
        version: Version,
    },
    /// The chain does not vouch for the text.
    #[error("version {version} of `{id}`: {why}")]
    Withheld {
        /// The artifact.
        id: DocumentId,
        /// The version.
        version: Version,
        /// The fault of the text.
        why: ChainError,
    },
    /// The history cannot be read.
    #[error("`{id}`: {why}")]
    History {
        /// The artifact.
        id: DocumentId,
        /// The fault of the history.
        why: ChainError,
    },
    /// No checkpoint seals the version.
    #[error("no checkpoint seals version {version} of `{id}`")]
    Unsealed {
        /// The artifact.
        id: DocumentId,
        /// The version.
        version: Version,
    },
    /// Live files have changes that no version contains.
    #[error("{}", edited(.0))]
    Edited(Vec<DocumentId>),
    /// The earlier text cannot be marked as an edit of the published version.
    #[error("version {version} of `{id}`: {why}")]
    Spelling {
        /// The artifact.
        id: DocumentId,
        /// The version.
        version: Version,
        /// The reason for which the text cannot be edited.
        why: EditError,
    },
    /// The log cannot be relied on.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log does not contain the trusted head.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// Another writer holds the lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file could not be read or written, or was changed meanwhile.
    #[error(transparent)]
    File(#[from] FileError),
}

fn edited(ids: &[DocumentId]) -> String {
    match ids {
        [one] => format!("`{}` has changes that no version contains", one.live_path()),
        many => format!("{} files have changes that no version contains", many.len()),
    }
}

/// Live files that will get the text of a version. No other writer runs until they have it.
#[derive(Debug)]
pub struct Restoring {
    /// The files to write.
    pub files: Vec<RestoredFile>,
    /// The lock; `None` for a dry run.
    lock: Option<WriteLock>,
}

impl Restoring {
    /// Writes the files.
    ///
    /// # Errors
    /// One of them could not be written.
    pub fn write(self, vault: &Vault) -> Result<(), RestoreError> {
        match self.lock {
            Some(_lock) => write(vault, &self.files),
            None => Ok(()),
        }
    }
}

/// Prepares live files to get the text of a version.
///
/// The caller first records whose text the files get, then calls [`Restoring::write`]. Histories
/// and log stay as they are.
///
/// # Errors
/// See [`RestoreError`]; no file was changed.
pub fn restore(vault: &Vault, request: &RestoreRequest<'_>) -> Result<Restoring, RestoreError> {
    let lock = if request.dry_run { None } else { Some(vault.lock(request.holder)?) };
    let log = match request.dry_run {
        true => trusted_head::open_log(vault)?,
        false => trusted_head::open_log_locked(vault)?,
    };
    let chronicle = log.sound()?;
    // Otherwise the end of an older log would be restored as the published text.
    trusted_head::check(vault, &chronicle)?;
    let state = chronicle.state_at(chronicle.head_number())?;
    let ids: BTreeSet<&DocumentId> = request.ids.iter().collect();
    let (mut files, mut edited) = (Vec::new(), Vec::new());
    for id in ids {
        let found = Recorded::load(vault, &chronicle, &state, id)?;
        match found.restored(request)? {
            Some(file) => files.push(file),
            None => edited.push(id.clone()),
        }
    }
    if !edited.is_empty() {
        return Err(RestoreError::Edited(edited));
    }
    Ok(Restoring { files, lock })
}

fn write(vault: &Vault, restored: &[RestoredFile]) -> Result<(), RestoreError> {
    let changed = restored.iter().filter(|file| !matches!(file.live, Live::Keep));
    let lives: Vec<(String, &Live)> =
        changed.map(|file| (file.id.live_path(), &file.live)).collect();
    let left_alone = point::bring_up_to_date(vault.files(), &lives)?;
    vault.files().sync(&point::names_of(&lives)[..])?;
    match left_alone.into_iter().next() {
        Some((_, why)) => Err(why.into()),
        None => Ok(()),
    }
}

/// The likeness of a live text to the text of one version.
enum Likeness {
    /// The live text is that text, or becomes it by publication.
    Same,
    Parts {
        /// True if it has the `version`, `updated_at` and `checksum` of that text.
        has_its_fields: bool,
        /// True if it becomes that text by the fields that restoring sets.
        becomes_it: bool,
    },
    None,
}

/// The records of one artifact.
struct Recorded<'r> {
    vault: &'r Vault,
    id: &'r DocumentId,
    history: History,
    /// Number of entries of the history that are accepted.
    accepted: usize,
    /// Each version that a checkpoint seals, with its sealed chain hash.
    marks: Vec<Mark>,
    /// The published version.
    published: Option<Version>,
    /// The last version that is not a step of a review, on which edits are based.
    last: Version,
    /// True if histories may contain steps of reviews.
    is_reviewed: bool,
}

impl<'r> Recorded<'r> {
    fn load(
        vault: &'r Vault,
        chronicle: &Chronicle<'_>,
        state: &PublishedSet,
        id: &'r DocumentId,
    ) -> Result<Self, RestoreError> {
        let changes = chronicle.checkpoints().iter().flat_map(|checkpoint| checkpoint.changes());
        let marks: Vec<Mark> =
            changes.filter(|(of, ..)| *of == id).filter_map(|(_, _, mark)| mark).collect();
        let history = match replay::load(vault.files(), id) {
            Err(ChainError::HistoryMissing) if marks.is_empty() => {
                return Err(RestoreError::NeverPublished(id.clone()));
            }
            Err(ChainError::File(why)) => return Err(why.into()),
            Err(why) => {
                let why = why.explained(vault, id);
                return Err(RestoreError::History { id: id.clone(), why });
            }
            Ok(history) => history,
        };
        let known = marks.iter().filter_map(|mark| mark.version).max().unwrap_or(Version::NONE);
        let mark = state.get(id.as_str());
        let beyond = Beyond::of(vault, chronicle);
        let accepted = beyond.first_unsealed(id, &history, known, mark.is_some());
        let is_reviewed = beyond.is_reviewed();
        let mut accepted_slots = history.slots[..accepted].iter().rev();
        let last = accepted_slots.find_map(|slot| match &slot.entry {
            Ok(entry) if is_reviewed && entry.state == EntryState::Unpublished => None,
            _ => slot.version,
        });
        let last = last.ok_or_else(|| match known {
            Version::NONE => RestoreError::NeverPublished(id.clone()),
            _ => RestoreError::History { id: id.clone(), why: ChainError::VersionMissing(known) },
        })?;
        let published = mark.and_then(|mark| mark.version);
        Ok(Self { vault, id, history, accepted, marks, published, last, is_reviewed })
    }

    /// Returns true if an entry is a step of a review, whose text was not approved.
    fn is_step(&self, entry: &Entry) -> bool {
        self.is_reviewed && entry.state == EntryState::Unpublished
    }

    /// Returns the version that is restored by default: the published one, or else the last with
    /// a text.
    fn default_version(&self) -> Version {
        let entries = self.history.slots[..self.accepted].iter().rev();
        let mut entries = entries.filter_map(|slot| slot.entry.as_ref().ok());
        let has_text = |entry: &&Entry| match self.is_step(entry) {
            true => false,
            false => self.id.is_document() || entry.is_published(),
        };
        self.published.or_else(|| Some(entries.find(has_text)?.version)).unwrap_or(self.last)
    }

    /// Returns the verified text of a version.
    fn text(&self, version: Version) -> Result<String, RestoreError> {
        let id = || self.id.clone();
        let withheld = |why| RestoreError::Withheld { id: id(), version, why };
        let is_it = |slot: &Slot| {
            let is_step = slot.entry.as_ref().is_ok_and(|entry| self.is_step(entry));
            slot.version == Some(version) && !is_step
        };
        if !self.history.slots[..self.accepted].iter().any(is_it) {
            let is_there = |slot: &Slot| slot.version == Some(version);
            return Err(match self.history.slots.iter().any(is_there) {
                true => RestoreError::Unsealed { id: id(), version },
                false => RestoreError::UnknownVersion { id: id(), version },
            });
        }
        let files = self.vault.files();
        let mark = self.marks.iter().rev().find(|mark| mark.version == Some(version));
        let text = match mark.map(|mark| mark.sealed().ok_or(ChainError::HalfSealed)) {
            Some(sealed) => sealed.and_then(|(version, hash)| {
                Ok(vouched::sealed(files, self.id, &self.history, version, &hash)?.text)
            }),
            None => vouched::vouched(files, self.id, &self.history, version),
        };
        text.map_err(withheld)
    }

    /// Returns the live file with the text of the wanted version; `None` if it would lose an edit.
    fn restored(&self, request: &RestoreRequest<'_>) -> Result<Option<RestoredFile>, RestoreError> {
        let version = request.version.unwrap_or_else(|| self.default_version());
        let sealed = self.text(version)?;
        let is_published = self.published == Some(version);
        let form = LiveForm::of(&sealed);
        let is_untouched = self.id.is_document() && form.is_untouched();
        let wanted = if is_untouched {
            form.into_text()
        } else if is_published || version == self.last || !self.id.is_document() {
            sealed.clone()
        } else {
            self.as_edit(version, &sealed)?
        };
        let stands = match self.published {
            Some(_) if is_published => Standing::Published,
            Some(last) if is_untouched => Standing::EarlierUntouched(last),
            Some(_) => Standing::Earlier,
            None => Standing::Retired,
        };
        let path = self.id.live_path();
        let live = match self.vault.files().read_optional(&path, limit::DOCUMENT)? {
            None => Live::Create(wanted.into_bytes()),
            Some(old) => {
                let text = utf8(&old).ok().map(normalise);
                if text.as_deref() == Some(&*wanted) {
                    Live::Keep
                } else {
                    let is_held = || text.is_some_and(|text| self.holds(&text));
                    if !request.force && !is_held() {
                        return Ok(None);
                    }
                    Live::Replace { old: Fingerprint::of(&old), new: wanted.into() }
                }
            }
        };
        Ok(Some(RestoredFile { id: self.id.clone(), version, sealed, live, stands }))
    }

    /// Returns an earlier text as an edit of the last version.
    ///
    /// Such a text can be published, and is refused as stale once another version is published.
    fn as_edit(&self, version: Version, text: &str) -> Result<String, RestoreError> {
        let last = self.text(self.last)?;
        as_edit_of(&last, text, self.published.is_some()).map_err(|why| RestoreError::Spelling {
            id: self.id.clone(),
            version,
            why,
        })
    }

    /// Returns true if a version contains a live text, apart from the fields that publishing and
    /// restoring set.
    fn holds(&self, live: &str) -> bool {
        let parsed = Document::parse(live).ok();
        let mut walk = Walk::new(self.vault.files(), self.id, &self.history);
        let mut rest = self.accepted;
        // Restoring writes the fields of one version into the text of another.
        let (mut given_by_one, mut becomes_one) = (false, false);
        while let (Some(step), true) = (walk.next(), rest > 0) {
            rest -= 1;
            let Ok(version) = step.version else { continue };
            let (true, Some(text)) = (version.is_sound, version.text) else { continue };
            match self.likeness(live, parsed.as_ref(), text) {
                Likeness::Same => return true,
                Likeness::Parts { has_its_fields, becomes_it } => {
                    given_by_one |= has_its_fields;
                    becomes_one |= becomes_it;
                }
                Likeness::None => {}
            }
        }
        given_by_one && becomes_one
    }

    /// Returns the likeness of a live text to the text of one version.
    fn likeness(&self, live: &str, parsed: Option<&Document>, text: &str) -> Likeness {
        if text == live {
            return Likeness::Same;
        }
        if !self.id.is_document() {
            return Likeness::None;
        }
        let form = LiveForm::of(text);
        if form.is_of(live) {
            return Likeness::Same;
        }
        let (Some(parsed), Ok(made), false) = (parsed, Document::parse(text), form.is_untouched())
        else {
            return Likeness::None;
        };
        // The version that was published from this text came later.
        let is_before = parsed.frontmatter.version < made.frontmatter.version;
        if is_before && left_behind(self.id, live, parsed, text).is_some() {
            return Likeness::Same;
        }
        Likeness::Parts {
            has_its_fields: base_fields(&parsed.frontmatter) == base_fields(&made.frontmatter),
            becomes_it: self.becomes((live, parsed), text, &made),
        }
    }

    /// Returns true if a live text becomes the text of a version by the fields that restoring sets.
    fn becomes(&self, (live, parsed): (&str, &Document), text: &str, made: &Document) -> bool {
        let mut edit = given(&made.frontmatter);
        // A status that ctx does not know was set by a person.
        let is_ours = !matches!(parsed.frontmatter.status, Status::Foreign(_));
        if self.published.is_none() && is_ours {
            edit = edit.text("status", made.frontmatter.status.as_str());
        }
        live.ends_with(&text[made.parts.body..])
            && edit.apply(live).is_ok_and(|edited| edited == text)
    }
}

/// Returns the fields that name the version that a text was edited from.
fn base_fields(fields: &Frontmatter) -> (Option<Version>, Option<&String>, Option<&String>) {
    (fields.version, fields.updated_at.as_ref(), fields.checksum.as_ref())
}

/// Returns a text as an edit of the last version of a document: with the fields that tell a writer
/// what a file was edited from (DOC-33). `is_published` is false if the document is retired.
///
/// # Errors
/// The frontmatter of the text cannot be edited in place.
pub(crate) fn as_edit_of(last: &str, text: &str, is_published: bool) -> Result<String, EditError> {
    let mut edit = given(&Document::parse(last)?.frontmatter);
    if !is_published {
        edit = edit.text("status", "draft");
    }
    edit.apply(text)
}

/// Returns an edit that sets these fields.
fn given(fields: &Frontmatter) -> Edit {
    let mut edit = Edit::default();
    if let Some(version) = fields.version {
        edit = edit.number("version", version.0);
    }
    if let Some(updated) = &fields.updated_at {
        edit = edit.text("updated_at", updated);
    }
    if let Some(checksum) = &fields.checksum {
        edit = edit.text("checksum", checksum);
    }
    edit
}
