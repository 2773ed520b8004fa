//! Derived files: `context.yaml`, the graph of the published documents for other readers, and
//! `INDEX.md`, a list for people (paper, section 4.4; `spec/derived.md`).
//!
//! They are made from the verified texts of one checkpoint and from nothing else, so that the same
//! checkpoint gives the same bytes; no command trusts them, and they can be deleted. [`files`]
//! makes them, [`write()`] brings them to the disk, and never over a file that is not ours.

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

/// How many hubs are listed.
const HUBS: usize = 10;

/// A derived file as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Derived {
    /// Path in the vault.
    pub(crate) path: String,
    /// Its bytes.
    pub(crate) text: String,
}

/// What became of a derived file.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was there, byte for byte.
    Unchanged,
    /// It was made.
    Created,
    /// It had other bytes of ours.
    Replaced,
    /// A file that is not ours has this name, or another spelling of it.
    Foreign(String),
    /// Its folder is not there.
    NoFolder,
    /// It could not be read or written.
    Failed(FileError),
}

serialize_as_words!(Outcome);

/// Which of the derived files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that `ctx index` writes.
    Asked,
    /// Those that follow a publication.
    Automatic,
    /// Those that a verifier compares, for which no index is made.
    Compared,
}

/// Why there are no derived files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum DerivedError {
    /// The log cannot be relied on.
    #[error("the checkpoint log cannot be relied on: {0}")]
    Log(#[from] LogError),
    /// The chain does not vouch for some documents: an index would leave them out without a word.
    #[error("{} cannot be read", crate::values::text_util::count(.0.len(), "document"))]
    Withheld(Vec<Withheld>),
}

/// What the files of a checkpoint are made from.
struct DerivedInput<'s> {
    snapshot: &'s Snapshot<'s>,
    config: Config,
    name: String,
    published: Vec<Listed>,
    edges: Vec<graph::Edge>,
    hubs: Vec<graph::rank::Hub>,
}

/// Makes the derived files of the head; none where nothing is published. Folders whose documents
/// were `removed` have a list too where there are lists of folders.
///
/// # Errors
/// The log or a document of the head cannot be relied on.
pub(crate) fn files(
    vault: &Vault,
    which: Which,
    removed: &[DocumentId],
) -> Result<Vec<Derived>, DerivedError> {
    // On request every text is read; what follows each event is worth an index.
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
    /// The name in output.
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

    /// Whether the file is not what it should be, and can be written.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Self::Created | Self::Replaced)
    }

    /// Whether a file is there that would change.
    pub(crate) fn is_outdated(&self) -> bool {
        matches!(self, Self::Replaced)
    }

    /// Why the file was left as it is.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Self::Foreign(path) => {
                Some(format!("`{path}` is not a derived file; move it away to have it written"))
            }
            Self::Failed(why) => Some(why.to_string()),
            _ => None,
        }
    }
}

/// Brings derived files to the disk, each with what became of it; `dry_run` only says what would.
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

/// How the first line of a derived file begins.
const MARKS: [&str; 2] = ["# generated-by: ctx index", "<!-- generated-by: ctx index"];
/// How a `context.yaml` of the reference implementation begins, whose agents read the file.
const FOREIGN_MARK: &str = "# Auto-generated. Do not edit manually.\nversion: 1\ngenerated_at: ";

/// Whether bytes bear a mark that says that they are generated.
fn is_ours(bytes: &[u8]) -> bool {
    let (bytes, mut marks) = (unix(bytes), MARKS.iter().chain([&FOREIGN_MARK]));
    marks.any(|mark| bytes.starts_with(mark.as_bytes()))
}

/// Returns bytes with LF as line ends, which git may have changed to CRLF in a clone.
fn unix(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect::<Vec<_>>().join(&b'\n')
}

/// The derived files that other programs read and that are not what the head gives, each with why.
/// Without such a file nothing is read.
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
            true => "it is not what the last checkpoint gives: it is older, or was edited",
            false if file.path == layout::CONTEXT_YAML => {
                "ctx did not make it: nothing vouches for it"
            }
            false if makes_lists => {
                "it has no mark of ctx, which makes lists: nothing vouches for it"
            }
            false if has_lines_of(&found, &file.text) => {
                "it has lines of the list that ctx makes, but no mark: nothing vouches for it"
            }
            // A list that people keep themselves.
            false => return None,
        };
        Some((file.path, why.to_owned()))
    };
    files.into_iter().filter_map(differs).collect()
}

/// Returns true if at least half of the lines of a list, and two of them, are those of a derived one.
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

/// Whether a derived file is there.
fn is_there(vault: &Vault, path: &str) -> bool {
    vault.files().exists(path)
        && vault.files().read(path, limit::HISTORY).is_ok_and(|bytes| is_ours(&bytes))
}

/// What became of the derived files that follow events.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// The paths of those that were written again, or would be.
    pub(crate) written: Vec<String>,
    /// The paths of those that could not be written, each with the reason.
    pub(crate) failed: Vec<(String, String)>,
}

/// Writes the derived files that follow events (DERIV-9), as far as that goes: those that are
/// there and, while the vault is small, those that the configuration asks for. `documents` is how
/// many the head holds, `removed` which ones its event removed. An event stands whatever happens
/// here. A dry run writes nothing.
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
