//! The last line that this user wrote to each chain, recorded outside of the vault. A chain that no
//! longer contains this line was truncated or replaced (STAGE-8).
//!
//! Each source has its own file, so that staging a result costs the same for any number of sources.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::chain::Chains;
use crate::files::vault::Vault;
use crate::files::vault::outside::{self, StateFolder};
use crate::record::audit::missing::{self, Known, Missing};
use crate::record::journal::{Last, Tail, Tails};
use crate::record::trusted_head::{self, Memory};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::STAGING_CHAINS;

/// Name of the folder of these files in a vault's folder of state.
const FOLDER: &str = "staging";
/// Beginning of the first line of such a file, before the id of the source.
const HEADING: &str = "source ";

fn name_of(source: &DocumentId) -> String {
    Digest::of(source.as_str().as_bytes()).hex()
}

/// Reads the tails of a source, and the text of their file.
pub(super) fn read(state: Option<&StateFolder>, source: &DocumentId) -> (String, Tails) {
    let read =
        |state: &StateFolder| Tails::read_from(&state.dir.join(FOLDER).join(name_of(source)));
    state.map(read).unwrap_or_default()
}

/// Records a line as the last one of its chain, for the holder of the vault's write lock, who has
/// read the other tails.
pub(super) fn advance(
    vault: &Vault,
    source: &DocumentId,
    (before, mut tails): (String, Tails),
    tail: Tail,
) -> io::Result<()> {
    let Some(state) = vault.state() else { return Ok(()) };
    tails.advance(tail);
    let dir = state.dir.join(FOLDER);
    outside::make_private(&dir)?;
    state.write_mark()?;
    let heading = heading(source);
    tails.append_to(vault.files().disk(), (&dir, &name_of(source)), (&heading, &before))
}

fn heading(source: &DocumentId) -> String {
    format!("{HEADING}{source}\n")
}

fn retain(
    vault: &Vault,
    (state, source): (&Path, &DocumentId),
    is_kept: impl Fn(&Tail) -> bool,
) -> io::Result<()> {
    let file = (&*state.join(FOLDER), &*name_of(source));
    Tails::retain_in(vault.files().disk(), file, &heading(source), is_kept)
}

/// Returns the tails of all sources in a folder of state.
fn all(dir: &Path) -> Vec<(DocumentId, Tails)> {
    let Ok(entries) = std::fs::read_dir(dir.join(FOLDER)) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.path());
    let read = |path: PathBuf| {
        let (heading, tails) = Tails::read_from(&path);
        let source = heading.lines().next()?.strip_prefix(HEADING)?.parse::<DocumentId>().ok()?;
        // A file that is being written has a temporary name.
        path.ends_with(name_of(&source)).then_some((source, tails))
    };
    let mut found: Vec<_> = names.filter_map(read).collect();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

/// Returns the last lines of this user that are missing from the chains of a vault, on any
/// ref. They are compared like the audit logs of a vault (AUDIT-21).
///
/// # Errors
/// Fails if the chains cannot be read.
pub(crate) fn lost(vault: &Vault, chains: &Chains) -> io::Result<Vec<Missing>> {
    let of_memory = |memory: Memory| {
        let of_source = |(source, tails): (DocumentId, Tails)| {
            let known = |tail: &Tail| {
                let dir = format!("{STAGING_CHAINS}/{source}");
                Known { memory: memory.clone(), dir, wrote: Last::from(tail) }
            };
            tails.iter().map(known).collect::<Vec<_>>()
        };
        all(&memory.dir).into_iter().flat_map(of_source).collect::<Vec<_>>()
    };
    let known = trusted_head::memories(vault).into_iter().flat_map(of_memory).collect();
    missing::missing(vault, known, &|dir, writer, end| Ok(chains.standing(dir, writer, end)))
}

/// Returns the sources whose chains lack lines of this user (STAGE-13).
///
/// # Errors
/// Fails if the chains cannot be read.
pub(crate) fn lost_sources(vault: &Vault) -> io::Result<BTreeSet<DocumentId>> {
    if trusted_head::memories(vault).iter().all(|memory| all(&memory.dir).is_empty()) {
        return Ok(BTreeSet::new());
    }
    let chains = Chains::read(vault.files()).map_err(io::Error::other)?;
    let source = |missing: &Missing| {
        let source = missing.dir.strip_prefix(STAGING_CHAINS)?.strip_prefix('/')?;
        source.parse::<DocumentId>().ok().filter(|_| missing.is_damage())
    };
    Ok(lost(vault, &chains)?.iter().filter_map(source).collect())
}

/// Returns the missing lines of this user that are given up if the user declares the vault valid as
/// it is.
///
/// # Errors
/// Fails if the chains cannot be read.
pub(crate) fn given_up(vault: &Vault) -> io::Result<Vec<Missing>> {
    if trusted_head::memories(vault).iter().all(|memory| all(&memory.dir).is_empty()) {
        return Ok(Vec::new());
    }
    let chains = Chains::read(vault.files()).map_err(io::Error::other)?;
    Ok(lost(vault, &chains)?.into_iter().filter(Missing::is_given_up).collect())
}

/// Forgets the last lines of chains that no longer contain them.
///
/// # Errors
/// Fails if a file could not be written.
pub(crate) fn accept(vault: &Vault, lost: &[Missing]) -> io::Result<()> {
    let dirs: BTreeSet<&PathBuf> = lost.iter().map(|one| &one.memory).collect();
    for dir in dirs {
        for (source, _) in all(dir) {
            let of = format!("{STAGING_CHAINS}/{source}");
            let is_lost = |tail: &Tail| {
                let mut lost = lost.iter().filter(|one| one.memory == *dir && one.dir == of);
                lost.any(|one| one.writer == tail.writer)
            };
            retain(vault, (dir, &source), |tail| !is_lost(tail))?;
        }
    }
    Ok(())
}

/// Forgets the last lines of chains of a vault that was in the same place before.
///
/// # Errors
/// Fails if a file could not be written.
pub fn forget(vault: &Vault) -> io::Result<()> {
    for Memory { dir, .. } in
        trusted_head::memories(vault).iter().filter(|memory| memory.is_binding)
    {
        for (source, _) in all(dir) {
            retain(vault, (dir, &source), |_| false)?;
        }
    }
    Ok(())
}
