//! Trusted heads on side lines of a log: a branch was merged since its end was trusted (MERGE-25).
//!
//! A log that was forged can hold the honest one as a side line. So a trusted head on a side line
//! counts only if something outside of the vault says how it came there: this user's own merge, or
//! a commit of git.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use super::heads::folders;
use super::stored::{self, TrustError};
use super::{Chronicle, Head};
use crate::files::vault::Vault;
use crate::files::vault::git_past::Commits;
use crate::files::vault::outside;
use crate::record::checkpoint::codec::path_of;
use crate::record::checkpoint::merge::Lines;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;

/// The file in a folder of state with the hashes of the merges that this user made, one per line.
const NAME: &str = "merges";
/// Maximum number of merges that are kept.
const MOST: usize = 800;

/// Returns the checkpoint of the main line that the side line of a trusted head leaves; `None` if
/// the log has no such side line, or if nothing says how it came there.
pub(crate) fn leaves(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    head: &Head,
) -> Option<CheckpointNumber> {
    let hashes = head.hashes?;
    let has = |number, hash| chronicle.hash_of(number) == Some(hash);
    if !has(CheckpointNumber::FIRST, hashes.genesis)
        || has(head.checkpoint, hashes.last)
        || !chronicle.holds(&hashes.last)
    {
        return None;
    }
    let lines = Lines::of(chronicle.checkpoints()).ok()?;
    let leaves = lines.leaves(&hashes.last)?;
    let is_own = || {
        let own = own_merges(vault);
        !own.is_empty()
            && lines.merges_of(&hashes.last).any(|merge| own.contains(&merge.to_string()))
    };
    (is_own() || was_committed(vault, chronicle, head.checkpoint, &hashes.last)).then_some(leaves)
}

/// Returns true if the log of HEAD, or of a commit before it, has a checkpoint on its main line.
fn was_committed(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    number: CheckpointNumber,
    hash: &Digest,
) -> bool {
    // A line of the main line begins so, and an item of a side line does not begin a line.
    let line = format!(r#"^\{{"at":"[^"]*","checkpoint":{number},"checkpoint_hash":"{hash}""#);
    vault.history().has(Commits::CheckedOut, path_of(chronicle.form()), &line)
}

/// Records a merge that this user makes, before the log is written.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn record_merge(vault: &Vault, merge: &Digest) -> Result<(), TrustError> {
    let Some(state) = vault.state() else { return Ok(()) };
    let _turn = stored::take_turn(&state.dir, vault.patience())?;
    let path = state.dir.join(NAME);
    let known = text_of(&path).unwrap_or_default();
    let merge = merge.to_string();
    let mut lines: Vec<&str> = known.lines().filter(|line| *line != merge).collect();
    lines.drain(..lines.len().saturating_sub(MOST - 1));
    lines.push(&merge);
    let written = File::create(&path)
        .and_then(|mut file| file.write_all((lines.join("\n") + "\n").as_bytes()).map(|()| file))
        .and_then(|file| file.sync_all());
    written.map_err(TrustError::io("write", &state.dir))
}

/// Returns the merges that this user made at the vault's path, whatever was checked out.
fn own_merges(vault: &Vault) -> Vec<String> {
    let Some(state) = vault.state() else { return Vec::new() };
    let texts = folders(state, vault.root()).into_iter();
    let texts = texts.filter_map(|dir| text_of(&dir.join(NAME)));
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn text_of(path: &Path) -> Option<String> {
    String::from_utf8(outside::read_small(path)?).ok()
}
