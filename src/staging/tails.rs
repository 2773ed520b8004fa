//! The last line of each chain that this user wrote, kept outside of the vault: a chain that no longer
//! holds it was truncated or replaced (STAGE-8).
//!
//! Each source has a file of its own, so that to stage a result costs the same however many sources
//! there are.

use std::io;
use std::path::PathBuf;

use super::chain::Chains;
use crate::audit::{Tail, Tails};
use crate::model::digest::Digest;
use crate::model::id::DocumentId;
use crate::vault::Vault;
use crate::vault::outside::{self, StateFolder};

/// The folder of these files in a vault's folder of state.
const FOLDER: &str = "staging";
/// What the first line of such a file begins with, before the id of the source.
const HEADING: &str = "source ";

fn folder(state: &StateFolder) -> PathBuf {
    state.dir.join(FOLDER)
}

fn name_of(source: &DocumentId) -> String {
    Digest::of(source.as_str().as_bytes()).hex()
}

/// What is kept in mind of a source.
pub(super) fn read(state: Option<&StateFolder>, source: &DocumentId) -> Tails {
    let read = |state| Tails::read_from(&folder(state).join(name_of(source))).1;
    state.map(read).unwrap_or_default()
}

/// Keeps it in mind, for the holder of the vault's write lock.
pub(super) fn write(vault: &Vault, source: &DocumentId, tails: &Tails) -> io::Result<()> {
    let Some(state) = vault.state() else { return Ok(()) };
    let dir = folder(state);
    outside::make_private(&dir)?;
    let heading = format!("{HEADING}{source}\n");
    tails.write_to(vault.files().disk(), (&dir, &name_of(source)), &heading)
}

/// What is kept in mind of all sources.
fn all(state: Option<&StateFolder>) -> Vec<(DocumentId, Tails)> {
    let Some(state) = state else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(folder(state)) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.path());
    let read = |path: PathBuf| {
        let (heading, tails) = Tails::read_from(&path);
        let source = heading.lines().next()?.strip_prefix(HEADING)?.parse::<DocumentId>().ok()?;
        // A file that is being written has another name.
        path.ends_with(name_of(&source)).then_some((source, tails))
    };
    let mut found: Vec<_> = names.filter_map(read).collect();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

/// The last lines of this user that the chains of a vault lack.
pub fn lost(vault: &Vault, chains: &Chains) -> Vec<(DocumentId, Tail)> {
    let mut lost = Vec::new();
    for (source, tails) in all(vault.state()) {
        let is_lost = |tail: &&Tail| !chains.hold(&source, &tail.writer, tail.seq, &tail.hash);
        lost.extend(tails.iter().filter(is_lost).map(|tail| (source.clone(), tail.clone())));
    }
    lost
}

/// Forgets the last lines that the chains lack: a user declared that the vault counts as it is.
///
/// # Errors
/// It could not be written.
pub fn accept(vault: &Vault) -> io::Result<()> {
    if all(vault.state()).is_empty() {
        return Ok(());
    }
    let chains = Chains::read(vault.files()).map_err(io::Error::other)?;
    for (source, tails) in all(vault.state()) {
        let is_held = |tail: &&Tail| chains.hold(&source, &tail.writer, tail.seq, &tail.hash);
        let held: Tails = tails.iter().filter(is_held).cloned().collect();
        if held != tails {
            write(vault, &source, &held)?;
        }
    }
    Ok(())
}

/// Forgets the last lines of chains of a vault that was in the same place before.
///
/// # Errors
/// It could not be written.
pub fn forget(vault: &Vault) -> io::Result<()> {
    for (source, tails) in all(vault.state()) {
        if tails != Tails::default() {
            write(vault, &source, &Tails::default())?;
        }
    }
    Ok(())
}
