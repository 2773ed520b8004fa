//! Checks of a version's text against its entry and the checkpoint, before the text is served.

use super::error::ChainError;
use super::history::{Entry, History};
use super::replay::reconstruct;
use crate::files::vault::files::Files;
use crate::text::document::Document;
use crate::text::document::edit::Edit;
use crate::text::document::frontmatter::Status;
use crate::text::document::review::{ReviewEdit, ReviewFields};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// A version that the chain vouches for.
#[derive(Clone, Debug)]
pub struct SealedVersion {
    /// The entry of the version.
    pub entry: Entry,
    /// The text in normal form.
    pub text: String,
    /// The parts of the text; `None` for a governance file.
    pub document: Option<Document>,
}

/// Returns the version that a checkpoint seals: rebuilt, recomputed, compared with the hash in the
/// log, and with the version and status of its entry (`spec/resolve.md`, section 2).
///
/// # Errors
/// Fails with the first reason why the version may not be served.
pub fn sealed(
    files: &Files,
    id: &DocumentId,
    history: &History,
    version: Version,
    chain_hash: &Digest,
) -> Result<SealedVersion, ChainError> {
    if let Some(why) = id.unfit() {
        return Err(ChainError::Unfit(why));
    }
    let text = reconstruct(files, id, history, version)?;
    let entry = history.entry(version).ok_or(ChainError::VersionMissing(version))?.clone();
    if entry.chain_hash != *chain_hash {
        return Err(ChainError::CrossChain { expected: *chain_hash, found: entry.chain_hash });
    }
    if !entry.is_published() {
        return Err(ChainError::Unpublished(version));
    }
    let document = self_described(id, &entry, &text)?;
    if let Some(document) = &document {
        let updated = document.frontmatter.updated_at.as_deref().and_then(|t| t.parse().ok());
        if let (Some(updated), Some(recorded)) = (updated, entry.published_at())
            && recorded < updated
        {
            let bound = format!("its text is from {updated}");
            return Err(ChainError::PublicationTime { recorded, bound });
        }
    }
    Ok(SealedVersion { entry, text, document })
}

/// Parses a text as a document; `None` for governance files, which are stored verbatim.
pub(crate) fn document_of(id: &DocumentId, text: &str) -> Result<Option<Document>, ChainError> {
    if !id.is_document() {
        return Ok(None);
    }
    Document::parse(text).map(Some).map_err(ChainError::Text)
}

/// Parses a text as a document, and compares its version and status with its entry.
pub(crate) fn self_described(
    id: &DocumentId,
    entry: &Entry,
    text: &str,
) -> Result<Option<Document>, ChainError> {
    let document = document_of(id, text)?;
    if let Some(document) = &document {
        let fields = &document.frontmatter;
        describes_itself(fields.version, &fields.status, entry)?;
    }
    Ok(document)
}

/// Checks that a retiring text is the result of a retirement: of the text that was published last,
/// or, after a review, of the submission `before` it. No map contains the hash of a retirement, so
/// only this check binds it.
pub(crate) fn check_retirement(
    id: &DocumentId,
    entry: &Entry,
    (published, before): (&str, Option<&str>),
    text: &str,
) -> Result<(), ChainError> {
    let Some(at) = entry.retired_at() else {
        return Ok(());
    };
    let expected = if id.is_document() {
        let review = Document::parse(text).ok();
        let review = review.and_then(|document| ReviewFields::of(&document.frontmatter));
        let step = review.as_ref().and_then(|fields| ReviewEdit::of_retirement(fields, at));
        let plain = Edit::retirement(entry.version, at);
        let (edit, base) = match step {
            Some(step @ ReviewEdit::Approve { .. }) => (plain.review(&step), before),
            Some(step) => (plain.review(&step), Some(published)),
            None => (plain, Some(published)),
        };
        base.and_then(|base| edit.apply(base).ok()).unwrap_or_default()
    } else {
        String::new()
    };
    if expected == text { Ok(()) } else { Err(ChainError::RetiredOtherwise) }
}

/// Returns the text of a version if its entry and the versions before it allow it: version and
/// status match, and a retirement changes only what a retirement may change.
///
/// # Errors
/// Fails with the first reason why the chain does not vouch for the text.
pub fn vouched(
    files: &Files,
    id: &DocumentId,
    history: &History,
    version: Version,
) -> Result<String, ChainError> {
    let text = reconstruct(files, id, history, version)?;
    let entry = history.entry(version).ok_or(ChainError::VersionMissing(version))?;
    self_described(id, entry, &text)?;
    if entry.is_retirement() {
        let published = history.entries().rfind(|e| e.version < version && e.is_published());
        if let Some(published) = published {
            let published = reconstruct(files, id, history, published.version)?;
            let before = reconstruct(files, id, history, version.previous()).ok();
            check_retirement(id, entry, (&published, before.as_deref()), &text)?;
        }
    }
    Ok(text)
}

/// Compares version and status of a document with its entry.
pub(crate) fn describes_itself(
    version: Option<Version>,
    status: &Status,
    entry: &Entry,
) -> Result<(), ChainError> {
    let published = *status == Status::Published;
    let word = |published: bool| {
        if published { "published" } else { "not published" }
    };
    let says = |version: Option<Version>, published: bool| {
        let number = version.map_or_else(|| "no version".to_owned(), |n| format!("version {n}"));
        format!("{number}, {}", word(published))
    };
    let expected = (Some(entry.version), entry.is_published());
    let found = (version, published);
    if expected == found {
        return Ok(());
    }
    Err(ChainError::SelfMismatch {
        expected: says(expected.0, expected.1),
        found: says(found.0, found.1),
    })
}
