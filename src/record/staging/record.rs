//! Stages a result: its payload, and the line that vouches for it (STAGE-7).

use super::append::{StagingError, append};
use super::canonical::Canonical;
use super::line::{Entry, LineKind};
use super::name::StagedName;
use super::payload;
use super::policy::retention_until;
use super::unfinished::Unfinished;
use crate::files::vault::Vault;
use crate::record::audit::Labels;
use crate::record::journal::Random;
use crate::text::uri::Uri;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// A result of a source, with its consumer.
#[derive(Clone, Debug)]
pub struct Hydrated {
    /// The id of the source.
    pub source: DocumentId,
    /// The checkpoint at which the source was consumed.
    pub checkpoint: CheckpointNumber,
    /// The version of the source at that checkpoint.
    pub version: Version,
    /// The principal who consumed the result.
    pub principal: Option<String>,
    /// The labels, with the session.
    pub labels: Labels,
    /// The media type, if it is known.
    pub media_type: Option<String>,
    /// The tools that were called.
    pub tools: Vec<String>,
    /// The server that was used.
    pub server: Option<String>,
    /// Origin of the result: `hit` or `miss` of a cache.
    pub cache: Option<String>,
    /// Number of seconds for which the result is fresh.
    pub ttl: Option<u64>,
    /// The traces of the results that it depends on.
    pub depends_on: Vec<String>,
    /// Number of days for which the entry is kept, see [`super::days_kept`].
    pub days: u64,
}

/// A result that was staged.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The name of the entry.
    pub name: StagedName,
    /// The hash of its line.
    pub hash: Digest,
    /// The recorded values.
    pub entry: Entry,
}

/// Stages a result. Afterwards payload and line are durable, written in this order.
///
/// # Errors
/// Fails if nothing was staged, or with [`StagingError::Tail`] if the entry was staged but not
/// recorded as the end of its chain.
pub fn stage(
    (vault, random): (&Vault, Random),
    (hydrated, payload): (Hydrated, &[u8]),
    at: Timestamp,
) -> Result<Captured, StagingError> {
    let bytes = payload.len() as u64;
    if bytes > limit::STAGED {
        return Err(StagingError::TooLarge { bytes, limit: limit::STAGED });
    }
    let raw = Digest::of(payload);
    let (canonical, content) = Canonical::of(payload, hydrated.media_type.as_deref(), raw);
    let until = retention_until(at, hydrated.days);
    let session = hydrated.labels.session.clone();
    let entry = Entry {
        source: Uri::pinned(hydrated.source.clone(), hydrated.checkpoint).to_string(),
        source_version: hydrated.version.0,
        session,
        principal: hydrated.principal,
        labels: Labels { session: None, session_implicit: false, ..hydrated.labels },
        media_type: hydrated.media_type,
        canonical,
        content_hash: content.to_string(),
        raw_hash: raw.to_string(),
        bytes,
        tools: hydrated.tools,
        server: hydrated.server,
        cache: hydrated.cache,
        ttl: hydrated.ttl,
        depends_on: hydrated.depends_on,
        retention_until: until.to_string(),
    };
    let _lock = vault.lock(&format!("ctx source record, since {at}"))?;
    let unfinished = Unfinished::begin(vault.files())?;
    payload::keep(vault.files(), (raw, payload), unfinished.is_after_one())?;
    let line = LineKind::Stage(Box::new(entry.clone()));
    let appended = append((vault, random), &hydrated.source, at, vec![line])?;
    unfinished.end();
    let line = appended.lines.first();
    let (seq, hash) = line.and_then(|line| Some((line.seq, line.hash?))).unwrap_or((0, raw));
    let name = StagedName::of(&hydrated.source, &appended.writer, seq);
    Ok(Captured { name, hash, entry })
}
