//! Governance files in force: what the log sealed last of each, even where later maps lack it
//! (`spec/vault.md`, VAULT-26).

use super::chronicle::Chronicle;
use crate::chain::error::ChainError;
use crate::chain::history::Entry;
use crate::chain::replay;
use crate::chain::vouched;
use crate::model::id::DocumentId;
use crate::model::number::{CheckpointNumber, Version};
use crate::vault::files::Files;

/// What is in force of one governance file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextInForce {
    /// No checkpoint ever sealed it.
    Never,
    /// It was retired after it was sealed.
    Retired,
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
/// reference implementation drops such files from its events: they stay in force.
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
    let mut removed = None;
    let sealed = checkpoints.find_map(|checkpoint| {
        if checkpoint.removed.contains(id) {
            removed = Some(checkpoint.at);
        }
        let (_, mark) = checkpoint.set.iter().find(|(of, _)| of == id)?;
        Some((checkpoint.number, mark))
    });
    let Some((number, mark)) = sealed else { return Ok(TextInForce::Never) };
    let (version, hash) = mark.sealed().ok_or(ChainError::HalfSealed)?;
    let history = replay::load(files, id)?;
    let next = history.entry(version.next());
    // An event of the reference implementation drops the file, and a retirement of ours comes later.
    let is_retired = |next: &Entry| {
        next.is_retirement() && next.retired_at().is_some_and(|retired| removed >= Some(retired))
    };
    if removed.is_some() && next.is_some_and(is_retired) {
        return Ok(TextInForce::Retired);
    }
    let sealed = vouched::sealed(files, id, &history, version, &hash)?;
    Ok(TextInForce::Sealed { version, at: number, text: sealed.text })
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
        let (_, mark) = checkpoint.set.iter().find(|(of, _)| of == id)?;
        (mark.version == Some(version)).then_some(checkpoint.number)
    });
    with.min().unwrap_or(last)
}
