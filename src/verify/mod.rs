//! Recomputing everything that a vault claims (paper, sections 7.1 and 8.2; `spec/verify.md`).
//!
//! [`verify`] reads everything, gathers every finding, never stops at the first, and never
//! repairs. The passes: the log by itself (`log`), each artifact with its history, the log's
//! word on it and its live file (`artifact`, in parallel), and what the vault holds beside
//! them. What is absent is a finding, never a skip.

mod artifact;
pub mod finding;
mod log;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

pub use finding::{Class, Code, Finding};

use crate::chain::digest::Digest;
use crate::checkpoint::log::Log;
use crate::document::frontmatter::Status;
use crate::document::id::Id;
use crate::live;
use crate::vault::Vault;
use crate::vault::clock::Timestamp;
use crate::vault::files::FileError;

/// What may be said of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every hash was recomputed. Nothing outside the vault says that the log's end is still
    /// there, or that it was not written anew as a whole.
    IntactNotAnchored,
    /// There is nothing that could be intact.
    NothingPublished,
    /// The record is whole; live files differ from it.
    WorkingCopyDiffers,
    /// Something is recorded by halves.
    Unsettled,
    /// Something was altered or is gone.
    Damaged,
}

impl Verdict {
    /// The words of the verdict.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IntactNotAnchored => "intact, not anchored",
            Self::NothingPublished => "nothing published",
            Self::WorkingCopyDiffers => "intact, working copy differs",
            Self::Unsettled => "unsettled",
            Self::Damaged => "damaged",
        }
    }
}

/// The outcome of a verification.
#[derive(Debug)]
pub struct Report {
    /// Everything that was found, worst first.
    pub findings: Vec<Finding>,
    /// What may be said.
    pub verdict: Verdict,
    /// Checkpoints read.
    pub checkpoints: u64,
    /// Hash of the last checkpoint.
    pub head: Option<Digest>,
    /// Documents and governance files checked.
    pub artifacts: usize,
    /// Versions recomputed.
    pub versions: u64,
    /// Versions with a note, which no hash covers.
    pub unprotected_notes: u64,
    /// Retirements whose author no hash covers: no map holds the hash of a retired version.
    pub unprotected_retirements: u64,
}

/// Recomputes everything. `now` is only compared with recorded times.
///
/// # Errors
/// The log file exists but could not be opened; what is wrong inside is a finding.
pub fn verify(vault: &Vault, now: Timestamp) -> Result<Report, FileError> {
    let mut log_exists = true;
    let (view, mut findings) = match Log::read(vault) {
        Ok(log) => {
            log_exists = log.exists;
            log::check(&log, now)
        }
        Err(why @ FileError::TooLarge { .. }) => (
            log::View::default(),
            vec![Finding::new(Code::TooLarge, path_of(&why), why.to_string())],
        ),
        Err(why @ (FileError::Link { .. } | FileError::NotRegular { .. })) => {
            let code = Code::CheckpointLogUnreadable;
            (log::View::default(), vec![Finding::new(code, path_of(&why), why.to_string())])
        }
        Err(other) => return Err(other),
    };
    let mut ids: BTreeSet<Id> = view.records.keys().cloned().collect();
    for dir in vault.history_folders() {
        match Id::of_history_dir(&dir) {
            Ok(id) => {
                ids.insert(id);
            }
            Err(why) => findings.push(Finding::new(Code::IdCollision, dir, why.to_string())),
        }
    }
    let ids: Vec<Id> = ids.into_iter().collect();
    let checked: Vec<artifact::Checked> =
        ids.par_iter().map(|id| artifact::check(vault, id, &view)).collect();
    let published = checked.iter().any(|c| c.published);
    if published && !log_exists {
        let message = "versions are published, but there is no checkpoint log";
        let path = crate::vault::layout::DELTA_LOG;
        findings.push(Finding::new(Code::CheckpointLogMissing, path, message));
    }
    let versions = checked.iter().map(|c| c.versions).sum();
    let unprotected_notes = checked.iter().map(|c| c.notes).sum();
    let unprotected_retirements = checked.iter().map(|c| c.retirements).sum();
    findings.extend(checked.into_iter().flat_map(|c| c.findings));
    findings.extend(collisions(&ids));
    findings.extend(planted(vault, &view));
    findings.extend(unsealed_policy(vault, &view));
    findings.sort_by(|a, b| a.rank().cmp(&b.rank()));
    findings.dedup();
    let verdict = verdict(&findings, published || view.head_number > 0);
    Ok(Report {
        verdict,
        findings,
        checkpoints: view.head_number,
        head: view.head_hash,
        artifacts: ids.len(),
        versions,
        unprotected_notes,
        unprotected_retirements,
    })
}

fn path_of(why: &FileError) -> String {
    match why {
        FileError::Io { path, .. }
        | FileError::TooLarge { path, .. }
        | FileError::NotRegular { path }
        | FileError::Link { path }
        | FileError::Changed { path } => path.clone(),
    }
}

fn verdict(findings: &[Finding], published: bool) -> Verdict {
    let has = |class| findings.iter().any(|f| f.code.class() == class);
    if has(Class::Damage) {
        Verdict::Damaged
    } else if has(Class::Unsettled) {
        Verdict::Unsettled
    } else if has(Class::WorkingCopy) {
        Verdict::WorkingCopyDiffers
    } else if published {
        Verdict::IntactNotAnchored
    } else {
        Verdict::NothingPublished
    }
}

/// Ids that some file system or reader takes for one.
fn collisions(ids: &[Id]) -> Vec<Finding> {
    let mut folded: BTreeMap<String, Vec<&Id>> = BTreeMap::new();
    for id in ids {
        folded.entry(id.folded()).or_default().push(id);
    }
    let twins = folded.into_values().filter(|same| same.len() > 1);
    twins
        .flat_map(|same| {
            let message = format!("it differs from `{}` only in case or Unicode form", same[0]);
            let others = same[1..].iter();
            others
                .map(|id| {
                    Finding::new(Code::IdCollision, id.history_path(), message.clone()).id(id)
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Live files that say published, but that the head does not hold, and vaults inside this one.
fn planted(vault: &Vault, view: &log::View) -> Vec<Finding> {
    // What the head holds has been compared with its live file already.
    let beside_head = |path: &&String| {
        let id = Id::of_document_file(path);
        !id.is_ok_and(|id| view.head.get(id.as_str()).is_some())
    };
    let planted = |path: &String| {
        let file = live::read(vault, path)?;
        file.fields().filter(|fields| fields.status == Status::Published)?;
        let message = "the file says published, but no checkpoint holds it now";
        let finding = Finding::new(Code::PublishedWithoutHistory, path, message);
        Some(Finding { id: file.id, ..finding })
    };
    let found = vault.documents();
    let nested = found.nested.iter().map(|path| {
        let message = "it is a vault of its own, which this one leaves alone";
        Finding::new(Code::VaultNested, path, message)
    });
    let mut findings: Vec<Finding> =
        found.documents.par_iter().filter(beside_head).filter_map(planted).collect();
    findings.extend(nested);
    findings
}

/// Governance files that nothing vouches for.
fn unsealed_policy(vault: &Vault, view: &log::View) -> Vec<Finding> {
    let unsealed = |path: &&String| view.head.get(path).is_none();
    vault
        .governance_files()
        .iter()
        .filter(unsealed)
        .map(|path| {
            let message = "no checkpoint holds it; the next publication takes it along";
            let finding = Finding::new(Code::PolicyUnsealed, path, message);
            Finding { id: path.parse().ok(), ..finding }
        })
        .collect()
}
