//! Reads staging chains: every line in order, and the faults (STAGE-11).

use rayon::prelude::*;

use super::line::{StagedLine, genesis};
use crate::files::vault::files::{FileError, Files};
use crate::record::audit::{Fault, FaultKind, Faults, LineFault, Standing};
use crate::record::journal::{End, FULL, WriterId};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::STAGING_CHAINS;

/// Maximum length of a chain in bytes. A writer begins another chain long before this limit.
pub(crate) const MAX_CHAIN: u64 = 4 * FULL;
/// Maximum depth of folders. An id has fewer parts.
const MAX_DEPTH: usize = 256;

/// Returns the path of a chain in the vault.
pub(crate) fn path_of(source: &DocumentId, writer: &WriterId) -> String {
    format!("{STAGING_CHAINS}/{source}/{writer}.jsonl")
}

/// The chain of a writer for a source.
#[derive(Debug)]
pub struct Chain {
    /// The id of the source.
    pub source: DocumentId,
    /// The id of the writer.
    pub writer: WriterId,
    /// The sound lines, in order.
    pub lines: Vec<StagedLine>,
    /// The faults, in the order of lines.
    pub faults: Vec<Fault>,
}

impl Chain {
    /// Returns the path of the chain in the vault.
    pub(crate) fn path(&self) -> String {
        path_of(&self.source, &self.writer)
    }

    /// Returns true if lines are missing or altered.
    pub(crate) fn is_damaged(&self) -> bool {
        self.faults.iter().any(|fault| fault.kind.is_damage())
    }
}

/// A file or folder among the chains that cannot be read as one.
#[derive(Debug)]
pub struct StrayFile {
    /// The path in the vault.
    pub path: String,
    /// The reason.
    pub why: String,
}

impl StrayFile {
    /// Returns the source whose chain it would be.
    pub(super) fn source(&self) -> Option<DocumentId> {
        self.path.parse::<DocumentId>().ok()?.source_of_chain()
    }
}

/// The source and the writer of a chain.
pub(crate) type Owned = (DocumentId, WriterId);

/// The chains of a vault.
#[derive(Debug, Default)]
pub struct Chains {
    /// In the order of sources and writers.
    pub chains: Vec<Chain>,
    /// Files and folders that cannot be read.
    pub strays: Vec<StrayFile>,
}

impl Chains {
    /// Reads every chain; empty if their folder is missing.
    ///
    /// # Errors
    /// Fails if the folder cannot be listed.
    pub fn read(files: &Files) -> Result<Self, FileError> {
        let (found, strays) = walk(files)?;
        Ok(Self::of(files, found, strays))
    }

    /// Reads the chains of one source.
    ///
    /// # Errors
    /// Fails if the folder cannot be listed.
    pub fn of_source(files: &Files, source: &DocumentId) -> Result<Self, FileError> {
        let (found, strays) = found(files, Some(source))?;
        Ok(Self::of(files, found, strays))
    }

    /// Reads all chains of each source that has a chain of a writer with these first digits.
    ///
    /// # Errors
    /// Fails if the folder cannot be listed.
    pub fn of_writer(files: &Files, digits: &str) -> Result<Self, FileError> {
        let (mut found, _) = walk(files)?;
        found.retain(|(_, writer)| writer.to_string().starts_with(digits));
        let mut sources: Vec<DocumentId> = found.into_iter().map(|(source, _)| source).collect();
        sources.dedup();
        let all = sources.iter().map(|source| Self::of_source(files, source));
        let mut read = Self::default();
        for chains in all {
            read.chains.extend(chains?.chains);
        }
        Ok(read)
    }

    fn of(files: &Files, mut found: Vec<Owned>, mut strays: Vec<StrayFile>) -> Self {
        found.sort();
        let read = found.into_par_iter().map(|(source, writer)| {
            let path = path_of(&source, &writer);
            let read = files.read_optional(&path, MAX_CHAIN);
            read.map(|bytes| go_on((source, writer), None, &bytes.unwrap_or_default()))
                .map_err(|why| StrayFile { path, why: why.to_string() })
        });
        let mut chains = Vec::new();
        for one in read.collect::<Vec<_>>() {
            match one {
                Ok(chain) => chains.push(chain),
                Err(stray) => strays.push(stray),
            }
        }
        Self { chains, strays }
    }

    /// Compares the chain of a writer in a folder of the vault with a line.
    pub(crate) fn standing(&self, dir: &str, writer: &WriterId, end: &End) -> Standing {
        let is_of = |chain: &&Chain| {
            let source = dir.strip_prefix(STAGING_CHAINS).and_then(|id| id.strip_prefix('/'));
            chain.writer == *writer && source == Some(chain.source.as_str())
        };
        let Some(chain) = self.chains.iter().find(is_of) else { return Standing::Absent };
        let is_it = |line: &StagedLine| {
            line.seq == end.seq && line.hash.is_some_and(|found| found.to_string() == end.hash)
        };
        match chain.lines.iter().map(|line| line.seq).max().unwrap_or(0) {
            _ if chain.lines.iter().any(is_it) => Standing::Has,
            last if last >= end.seq => Standing::Another,
            last => Standing::Shorter(last),
        }
    }
}

/// Returns the chains of a vault, or of a source, in no particular order.
pub(crate) fn found(
    files: &Files,
    source: Option<&DocumentId>,
) -> Result<(Vec<Owned>, Vec<StrayFile>), FileError> {
    let Some(source) = source else { return walk(files) };
    let names = match files.names(&format!("{STAGING_CHAINS}/{source}")) {
        Err(why) if why.is_absent() => Vec::new(),
        names => names?,
    };
    let writers = names.iter().filter_map(|name| writer_of(name));
    Ok((writers.map(|writer| (source.clone(), writer)).collect(), Vec::new()))
}

/// Returns the writer of the chain with this file name.
fn writer_of(name: &str) -> Option<WriterId> {
    name.strip_suffix(".jsonl")?.parse().ok()
}

/// Finds the chains of a vault. Links are not followed.
pub(super) fn walk(files: &Files) -> Result<(Vec<Owned>, Vec<StrayFile>), FileError> {
    let (mut found, mut strays) = (Vec::new(), Vec::new());
    let mut folders = vec![(String::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let path = match folder.is_empty() {
            true => STAGING_CHAINS.to_owned(),
            false => format!("{STAGING_CHAINS}/{folder}"),
        };
        let names = match files.names(&path) {
            Err(why) if why.is_absent() && depth == 0 => return Ok((found, strays)),
            Err(why) if depth == 0 => return Err(why),
            Err(why) => {
                strays.push(StrayFile { path, why: why.to_string() });
                continue;
            }
            Ok(_) if depth > MAX_DEPTH => {
                strays.push(StrayFile { path, why: "its folder is nested too deep".to_owned() });
                continue;
            }
            Ok(names) => names,
        };
        for name in names {
            let below = match folder.is_empty() {
                true => name.clone(),
                false => format!("{folder}/{name}"),
            };
            let is_file = files.is_file(&format!("{STAGING_CHAINS}/{below}"));
            match (writer_of(&name), folder.parse::<DocumentId>()) {
                (Some(writer), Ok(source)) if is_file => found.push((source, writer)),
                (Some(_), Err(why)) if is_file => {
                    let path = format!("{STAGING_CHAINS}/{below}");
                    strays.push(StrayFile { path, why: format!("its folder is not an id: {why}") });
                }
                // Other files are ignored.
                _ if is_file => {}
                (Some(_), _) if !files.is_folder(&format!("{STAGING_CHAINS}/{below}")) => {
                    let path = format!("{STAGING_CHAINS}/{below}");
                    strays.push(StrayFile { path, why: "it is not a regular file".to_owned() });
                }
                _ => folders.push((below, depth + 1)),
            }
        }
    }
    Ok((found, strays))
}

/// Reads a chain as a whole, or its part after a sound line with this number and hash.
pub(crate) fn go_on((source, writer): Owned, after: Option<(u64, Digest)>, bytes: &[u8]) -> Chain {
    let name = path_of(&source, &writer);
    let (whole, torn) = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (&bytes[..0], bytes),
    };
    let texts: Vec<&[u8]> = match whole.is_empty() {
        true => Vec::new(),
        false => whole.split(|byte| *byte == b'\n').collect(),
    };
    let count = texts.len() as u64;
    // A power cut leaves NUL only in the last lines, not before a sound line.
    let read = texts.par_iter().map(|text| (text.contains(&0), StagedLine::read(text, &source)));
    let read: Vec<_> = read.collect();
    let sound = read.iter().rposition(|(_, line)| line.is_ok()).map_or(0, |at| at + 1);
    let (mut lines, mut faults) = (Vec::with_capacity(read.len()), Faults::default());
    let (mut seq, mut prev) = match after {
        Some((seq, hash)) => (seq.saturating_add(1), hash.to_string()),
        None => (1, genesis(&source, &writer)),
    };
    let mut is_cut = false;
    for (number, (has_nul, line)) in read.into_iter().enumerate() {
        is_cut |= has_nul && number >= sound;
        let fault = |kind, why: String| Fault::new(kind, number as u64 + 1, why).placed(&name, 0);
        let line = match line {
            Ok(line) => line,
            Err(_) if is_cut => {
                let why = "the line is incomplete".to_owned();
                faults.add(fault(FaultKind::Torn, why));
                continue;
            }
            Err(why) => {
                let kind = match why {
                    LineFault::Malformed(_) => FaultKind::Malformed,
                    LineFault::Hash { .. } => FaultKind::Mismatch,
                };
                faults.add(fault(kind, why.to_string()));
                continue;
            }
        };
        if line.seq != seq || line.prev != prev {
            let why = match line.seq > seq {
                true => format!("line {} follows, but line {seq} is missing", line.seq),
                false => format!("line {} does not follow the line before it", line.seq),
            };
            faults.add(fault(FaultKind::Mismatch, why));
        }
        seq = line.seq.saturating_add(1);
        prev = line.hash.map(|hash| hash.to_string()).unwrap_or_default();
        lines.push(line);
    }
    if !torn.is_empty() {
        let why = "the last line is incomplete".to_owned();
        faults.add(Fault::new(FaultKind::Torn, count + 1, why).placed(&name, 0));
    }
    Chain { source, writer, lines, faults: faults.listed() }
}
