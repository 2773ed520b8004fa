//! What a version must say of itself, and what a checkpoint must say of it, before its text is
//! served.

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

/// A version that the chain vouches for, with what the log says of it.
#[derive(Clone, Debug)]
pub struct SealedVersion {
    /// Its record.
    pub entry: Entry,
    /// Its text in normal form.
    pub text: String,
    /// The parts of that text; none of a governance file.
    pub document: Option<Document>,
}

/// The version that a checkpoint seals: reconstructed, recomputed, bound to the log's hash, and
/// describing itself as what the log takes it for (`spec/resolve.md`, section 2).
///
/// # Errors
/// The first reason why it may not be served.
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
            let bound = format!("its text is of {updated}");
            return Err(ChainError::PublicationTime { recorded, bound });
        }
    }
    Ok(SealedVersion { entry, text, document })
}

/// The document that a text is. Governance files are stored verbatim and say nothing of themselves.
pub(crate) fn document_of(id: &DocumentId, text: &str) -> Result<Option<Document>, ChainError> {
    if !id.is_document() {
        return Ok(None);
    }
    Document::parse(text).map(Some).map_err(ChainError::Text)
}

/// The document that a text is, if it says of itself what its entry says.
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

/// Whether a retiring text is what retiring makes of the text that was published last, or what the
/// approval of its submission makes of that. No map holds the hash of a retirement, so this is what
/// binds it. `before` is the text of the version before it.
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

/// The text of a version that its entry, and what it follows, allow: it describes itself, and if it
/// is a retirement it changes what a retirement changes.
///
/// # Errors
/// The first reason why the text cannot be vouched for.
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

/// Whether a document carries the version and status of its entry.
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
