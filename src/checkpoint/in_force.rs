//! Governance files in force: what the log sealed last of each, even where later maps lack it
//! (`spec/vault.md`, VAULT-26).

use super::chronicle::Chronicle;
use super::event::Checkpoint;
use crate::chain::error::ChainError;
use crate::chain::replay;
use crate::chain::vouched;
use crate::model::id::DocumentId;
use crate::model::number::{CheckpointNumber, Version};
use crate::vault::config::{Config, Governance};
use crate::vault::files::Files;

/// What is in force of one governance file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextInForce {
    /// No checkpoint ever sealed it.
    Never,
    /// It was retired after it was sealed.
    Retired {
        /// The text that was sealed last, if the chain vouches for it.
        before: Option<String>,
    },
    /// The text that was sealed last.
    Sealed {
        /// Its version.
        version: Version,
        /// The last checkpoint that sealed it.
        at: CheckpointNumber,
        /// It.
        text: String,
    },
}

/// What is in force of a governance file right after a checkpoint; number 0 is the empty vault. The
/// reference implementation drops such files from its events: they stay in force. So does what a
/// governed vault retires of its configuration and its stewards, which is never approved (REV-1).
///
/// # Errors
/// The chain does not vouch for what was sealed last.
pub fn text_in_force(
    files: &Files,
    chronicle: &Chronicle<'_>,
    at: CheckpointNumber,
    id: &DocumentId,
) -> Result<TextInForce, ChainError> {
    let until = chronicle.checkpoints().partition_point(|checkpoint| checkpoint.number <= at);
    let mut checkpoints = chronicle.checkpoints()[..until].iter().rev();
    let mut removed = Vec::new();
    let sealed = checkpoints.find_map(|checkpoint| {
        if checkpoint.removed.contains(id) {
            removed.push(checkpoint);
        }
        Some((checkpoint.number, checkpoint.mark_of(id)?))
    });
    let Some((number, mark)) = sealed else { return Ok(TextInForce::Never) };
    let (version, hash) = mark.sealed().ok_or(ChainError::HalfSealed)?;
    let history = replay::load(files, id)?;
    let sealed = vouched::sealed(files, id, &history, version, &hash).map(|sealed| sealed.text);
    // Steps may come between what was sealed last and its retirement. An event of the reference
    // implementation drops the file without one.
    let is_retired = |removed: &Checkpoint| {
        history.entries().any(|entry| entry.retired_at() == Some(removed.at))
    };
    if let Some(removed) = removed.iter().find(|removed| is_retired(removed)) {
        let before = removed.number.previous();
        let is_void = match *id == DocumentId::config() {
            true => sealed.as_ref().is_ok_and(|text| says_governed(text)),
            false => *id == DocumentId::stewards() && is_governed_at(files, chronicle, before),
        };
        if !is_void {
            return Ok(TextInForce::Retired { before: sealed.ok() });
        }
    }
    Ok(TextInForce::Sealed { version, at: number, text: sealed? })
}

/// Whether the configuration that is in force after a checkpoint can be read, and says governed.
fn is_governed_at(files: &Files, chronicle: &Chronicle<'_>, at: CheckpointNumber) -> bool {
    let found = text_in_force(files, chronicle, at, &DocumentId::config());
    matches!(found, Ok(TextInForce::Sealed { text, .. }) if says_governed(&text))
}

/// Whether a text of the configuration can be read, and says that the vault is governed.
pub(crate) fn says_governed(config: &str) -> bool {
    Config::parse(config).is_ok_and(|config| config.governance == Governance::Governed)
}

/// The first checkpoint up to `last` that seals a version, which later ones may seal again.
pub(crate) fn first_with(
    chronicle: &Chronicle<'_>,
    last: CheckpointNumber,
    id: &DocumentId,
    version: Version,
) -> CheckpointNumber {
    let marks = chronicle.checkpoints().iter().filter(|checkpoint| checkpoint.number <= last);
    let with = marks.filter_map(|checkpoint| {
        let mark = checkpoint.mark_of(id)?;
        (mark.version == Some(version)).then_some(checkpoint.number)
    });
    with.min().unwrap_or(last)
}
