//! Derived files: `context.yaml`, the graph of the published documents for other readers, and
//! `INDEX.md`, a list for people (paper, section 4.4; `spec/derived.md`).
//!
//! Derived files are made only from the verified texts of one checkpoint, so the same checkpoint
//! always gives the same bytes. No command trusts them, and they can be deleted. [`files`] makes
//! them, and [`write()`] writes them to disk, but never over a file of another program.

mod context;
mod list;
pub(crate) mod skill;

use std::collections::BTreeSet;

use crate::files::vault::Vault;
use crate::files::vault::config::Config;
use crate::files::vault::files::FileError;
use crate::read::graph;
use crate::read::snapshot::{self, Listed, Listing, Need, Snapshot, Withheld, listing};
use crate::record::checkpoint::fault::LogError;
use crate::values::codes::serialize_as_words;
use crate::values::model::id::{DocumentId, fold, folder_of};
use crate::values::model::layout::{self, limit};
use crate::values::model::number::CheckpointNumber;

/// Maximum number of listed hubs.
const HUBS: usize = 10;

/// A derived file in its expected state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Derived {
    /// Path in the vault.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Result of writing a derived file.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The file already has these bytes.
    Unchanged,
    /// The file was created.
    Created,
    /// The file had other bytes written by ctx.
    Replaced,
    /// A file of another program has this name, or another spelling of it.
    Foreign(String),
    /// The folder of the file does not exist.
    NoFolder,
    /// The file could not be read or written.
    Failed(FileError),
}

serialize_as_words!(Outcome);

/// Selection of derived files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Files that `ctx index` writes.
    Asked,
    /// Files that follow a publication.
    Automatic,
    /// Files that a verifier compares, without making an index.
    Compared,
}

/// Reason why the derived files cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum DerivedError {
    /// The log is unreliable.
    #[error("the checkpoint log cannot be relied on: {0}")]
    Log(#[from] LogError),
    /// The chain does not vouch for some documents, and an index must not omit them silently.
    #[error("{} cannot be read", crate::values::text_util::count(.0.len(), "document"))]
    Withheld(Vec<Withheld>),
}

/// Data from which the files of a checkpoint are made.
struct DerivedInput<'s> {
    snapshot: &'s Snapshot<'s>,
    config: Config,
    name: String,
    published: Vec<Listed>,
    edges: Vec<graph::Edge>,
    hubs: Vec<graph::rank::Hub>,
}

/// Makes the derived files of the head; empty if nothing is published. If the configuration asks
/// for lists of folders, the folders of `removed` documents have one, too.
///
/// # Errors
/// Fails if the log or a document of the head is unreliable.
pub(crate) fn files(
    vault: &Vault,
    which: Which,
    removed: &[DocumentId],
) -> Result<Vec<Derived>, DerivedError> {
    // A request reads every text. Files that follow events are frequent enough to make an index for
    // them.
    let need = match which {
        Which::Asked | Which::Compared => Need::Versions,
        Which::Automatic => Need::Fields,
    };
    let from = snapshot::CheckpointSource::open(vault, need, &mut |_, _| ())?;
    let snapshot = Snapshot::whole_of(vault, &from, None)?;
    let config = snapshot.config().cloned().unwrap_or_else(|| vault.config().clone());
    if snapshot.checkpoint() == CheckpointNumber::NONE {
        return Ok(Vec::new());
    }
    let Listing { documents: mut published, mut withheld } = match which {
        Which::Asked => snapshot.read_listing()?,
        Which::Automatic | Which::Compared => snapshot.listing()?,
    };
    let sites = snapshot.sites_or(&mut withheld);
    if !withheld.is_empty() {
        return Err(DerivedError::Withheld(withheld));
    }
    let graph = listing::graph(&mut published, sites);
    let edges = graph::edges(&graph);
    let hubs = graph::rank::hubs(&graph, HUBS);
    let folders = config.index.folders;
    let name = snapshot.name();
    let source = DerivedInput { snapshot: &snapshot, config, name, published, edges, hubs };
    let context = Derived { path: layout::CONTEXT_YAML.to_owned(), text: context::text(&source) };
    let mut files = vec![context, list::root(&source)];
    if folders {
        files.extend(list::folders(&source, removed));
    }
    Ok(files)
}

impl Outcome {
    /// Returns the word of the outcome in reports.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Created => "created",
            Self::Replaced => "replaced",
            Self::Foreign(_) => "foreign",
            Self::NoFolder => "no folder",
            Self::Failed(_) => "failed",
        }
    }

    /// Returns true if the file was or would be written.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Self::Created | Self::Replaced)
    }

    /// Returns true if an existing file would change.
    pub(crate) fn is_outdated(&self) -> bool {
        matches!(self, Self::Replaced)
    }

    /// Returns the reason why the file was left unchanged.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Self::Foreign(path) => Some(format!(
                "`{path}` is not a derived file; move it away, so that `ctx` can write its own"
            )),
            Self::Failed(why) => Some(why.to_string()),
            _ => None,
        }
    }
}

/// Writes derived files to disk, and returns the result of each. A dry run writes nothing.
pub(crate) fn write(vault: &Vault, files: &[Derived], dry_run: bool) -> Vec<Outcome> {
    let bring = |file| bring(vault, file, dry_run).unwrap_or_else(Outcome::Failed);
    files.iter().map(bring).collect()
}

fn bring(vault: &Vault, file: &Derived, dry_run: bool) -> Result<Outcome, FileError> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or((".", &file.path));
    if !vault.files().exists(folder) {
        return Ok(Outcome::NoFolder);
    }
    let names = vault.files().names(folder)?;
    let duplicates: BTreeSet<String> =
        names.into_iter().filter(|n| fold(n) == fold(name)).collect();
    if let Some(other) = duplicates.iter().find(|duplicate| *duplicate != name) {
        return Ok(Outcome::Foreign(file.path.replacen(name, other, 1)));
    }
    if duplicates.is_empty() {
        if !dry_run {
            vault.files().create_durable(&file.path, file.text.as_bytes())?;
        }
        return Ok(Outcome::Created);
    }
    let old = vault.files().read(&file.path, limit::HISTORY)?;
    if unix(&old) == file.text.as_bytes() {
        return Ok(Outcome::Unchanged);
    }
    if !is_ours(&old) {
        return Ok(Outcome::Foreign(file.path.clone()));
    }
    if !dry_run {
        vault.files().replace(&file.path, &old, file.text.as_bytes())?;
    }
    Ok(Outcome::Replaced)
}

/// Start of the first line of a derived file.
const MARKS: [&str; 2] = ["# generated-by: ctx index", "<!-- generated-by: ctx index"];
/// Start of a `context.yaml` of the reference implementation, whose agents read the file.
const FOREIGN_MARK: &str = "# Auto-generated. Do not edit manually.\nversion: 1\ngenerated_at: ";

/// Returns true if the bytes start with a mark of a generated file.
fn is_ours(bytes: &[u8]) -> bool {
    let (bytes, mut marks) = (unix(bytes), MARKS.iter().chain([&FOREIGN_MARK]));
    marks.any(|mark| bytes.starts_with(mark.as_bytes()))
}

/// Returns bytes with LF as line ends, which git may have changed to CRLF in a clone.
fn unix(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect::<Vec<_>>().join(&b'\n')
}

/// Returns the derived files that other programs read and that do not match the head, each with the
/// reason. Nothing is read if no such file exists.
pub(crate) fn differing(vault: &Vault) -> Vec<(String, String)> {
    let makes_lists = vault.config().index.folders;
    let root = [layout::CONTEXT_YAML, layout::INDEX];
    if !makes_lists && !root.iter().any(|path| vault.files().exists(path)) {
        return Vec::new();
    }
    let Ok(files) = files(vault, Which::Compared, &[]) else { return Vec::new() };
    let differs = |file: Derived| {
        let found = match vault.files().read_optional(&file.path, limit::HISTORY) {
            Ok(found) => found.filter(|found| unix(found) != file.text.as_bytes())?,
            Err(why) => return Some((file.path, format!("nothing vouches for it: {why}"))),
        };
        let why = match is_ours(&found) {
            true if unix(&found).starts_with(FOREIGN_MARK.as_bytes()) => {
                "the reference implementation made it, and nothing vouches for it"
            }
            true => "it does not match the last checkpoint: it is older, or was edited",
            false if file.path == layout::CONTEXT_YAML => {
                "ctx did not make it: nothing vouches for it"
            }
            false if makes_lists => {
                "it lacks the mark of ctx, which makes lists: nothing vouches for it"
            }
            false if has_lines_of(&found, &file.text) => {
                "it has lines of the list that ctx makes, but no mark: nothing vouches for it"
            }
            // A list that people maintain themselves.
            false => return None,
        };
        Some((file.path, why.to_owned()))
    };
    files.into_iter().filter_map(differs).collect()
}

/// Returns true if at least half of the lines of a list, and two of them, occur in a derived one.
fn has_lines_of(found: &[u8], text: &str) -> bool {
    let made: BTreeSet<&[u8]> = text.lines().map(str::as_bytes).collect();
    let lines = found.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let (mut all, mut same) = (0_usize, 0_usize);
    for line in lines.filter(|line| !line.is_empty()) {
        all += 1;
        same += usize::from(made.contains(line));
    }
    same >= 2 && 2 * same >= all
}

/// Returns true if a derived file exists.
fn is_there(vault: &Vault, path: &str) -> bool {
    vault.files().exists(path)
        && vault.files().read(path, limit::HISTORY).is_ok_and(|bytes| is_ours(&bytes))
}

/// Result of updating the derived files after events.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// Paths of the files that were written, or would be in a dry run.
    pub(crate) written: Vec<String>,
    /// Paths of the files that could not be written, each with the reason.
    pub(crate) failed: Vec<(String, String)>,
}

/// Updates the derived files after an event (DERIV-9), as far as possible: existing ones and, in a
/// small vault, those that the configuration asks for. `documents` is the number of documents in
/// the head, and `removed` lists those that the event removed. A failure here does not affect the
/// event. A dry run writes nothing.
pub(crate) fn follow(
    vault: &Vault,
    documents: usize,
    removed: &[DocumentId],
    dry_run: bool,
) -> Followed {
    let index = vault.config().index;
    let is_made = index.is_automatic(documents);
    let root = [layout::CONTEXT_YAML, layout::INDEX];
    let follows = index.folders || root.iter().any(|path| is_there(vault, path));
    if index.auto == 0 || !(is_made || follows) {
        return Followed::default();
    }
    let mut files = match files(vault, Which::Automatic, removed) {
        Ok(files) => files,
        Err(why) => {
            let failed = vec![(layout::CONTEXT_YAML.to_owned(), why.to_string())];
            return Followed { failed, ..Followed::default() };
        }
    };
    let emptied: BTreeSet<&str> = removed.iter().map(list::folder).collect();
    files.retain(|file| {
        let is_list = file.path != layout::CONTEXT_YAML;
        let is_emptied = folder_of(&file.path).is_some_and(|folder| emptied.contains(folder));
        (is_made && (!is_list || index.folders) && !is_emptied) || is_there(vault, &file.path)
    });
    let outcomes = write(vault, &files, dry_run);
    let mut followed = Followed::default();
    for (file, outcome) in files.into_iter().zip(&outcomes) {
        if let Some(why) = outcome.reason() {
            followed.failed.push((file.path, why));
        } else if outcome.is_stale() {
            followed.written.push(file.path);
        }
    }
    followed
}
