//! The last line of each chain that this user wrote, kept outside of the vault: a chain that no longer
//! holds it was truncated or replaced (STAGE-8).
//!
//! Each source has a file of its own, so that to stage a result costs the same however many sources
//! there are.

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

/// The folder of these files in a vault's folder of state.
const FOLDER: &str = "staging";
/// What the first line of such a file begins with, before the id of the source.
const HEADING: &str = "source ";

fn name_of(source: &DocumentId) -> String {
    Digest::of(source.as_str().as_bytes()).hex()
}

/// What is kept in mind of a source, and the text of the file that says it.
pub(super) fn read(state: Option<&StateFolder>, source: &DocumentId) -> (String, Tails) {
    let read =
        |state: &StateFolder| Tails::read_from(&state.dir.join(FOLDER).join(name_of(source)));
    state.map(read).unwrap_or_default()
}

/// Keeps in mind that a line is the last one of its chain, for the holder of the vault's write lock,
/// who has read the rest.
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

/// What is kept in mind of all sources in a folder of state.
fn all(dir: &Path) -> Vec<(DocumentId, Tails)> {
    let Ok(entries) = std::fs::read_dir(dir.join(FOLDER)) else { return Vec::new() };
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

/// The last lines of this user that the chains of a vault lack, on whatever ref they were written: as
/// the audit logs of a vault are compared (AUDIT-21).
///
/// # Errors
/// The chains cannot be read.
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

/// The sources whose chains lack lines of this user (STAGE-13).
///
/// # Errors
/// The chains cannot be read.
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

/// The lines of this user that are given up where it is declared that the vault counts as it is.
///
/// # Errors
/// The chains cannot be read.
pub(crate) fn given_up(vault: &Vault) -> io::Result<Vec<Missing>> {
    if trusted_head::memories(vault).iter().all(|memory| all(&memory.dir).is_empty()) {
        return Ok(Vec::new());
    }
    let chains = Chains::read(vault.files()).map_err(io::Error::other)?;
    Ok(lost(vault, &chains)?.into_iter().filter(Missing::is_given_up).collect())
}

/// Forgets the last lines of chains that no longer hold them.
///
/// # Errors
/// It could not be written.
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
/// It could not be written.
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
