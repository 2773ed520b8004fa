//! Collecting entries past their retention, and erasing a content (STAGE-17, STAGE-18).

use std::collections::BTreeSet;

use super::acts::{Desk, refuse_promoted};
use crate::audit::{Change, StagedStep};
use crate::model::digest::Digest;
use crate::model::layout::LOCAL_DIR;
use crate::model::timestamp::Timestamp;
use crate::report::failure::Failure;
use crate::staging::{
    ActKind, Chains, Staged, StagedEntry, StagedName, all_payloads, payload_path, remove_payloads,
};
use crate::stewards::Role;
use crate::vault::Vault;
use crate::vault::outside;
use crate::workspace::Workspace;
use crate::workspace::git::GitError;

/// More commits are not named.
const MOST_COMMITS: usize = 100;

/// What was collected, or would be.
#[derive(Debug)]
pub(crate) struct Collected {
    /// The entries, as they were.
    pub(crate) entries: Vec<StagedEntry>,
    /// Files of contents that went, or would.
    pub(crate) files: usize,
}

/// What was erased, or would be.
#[derive(Debug)]
pub(crate) struct Erased {
    /// The entries that share the content, as they were.
    pub(crate) entries: Vec<StagedEntry>,
    /// Commits of git that brought the file and still hold it.
    pub(crate) commits: Vec<String>,
    /// Whether there are more of them.
    pub(crate) more: bool,
    /// Why git did not say.
    pub(crate) unknown: Option<String>,
}

impl Workspace<'_> {
    /// Collects the entries past their retention; with `is_done` false it says what would go.
    ///
    /// # Errors
    /// Nothing was collected, or not everything.
    pub(crate) fn collect_staged(
        &self,
        vault: &Vault,
        is_done: bool,
    ) -> Result<Collected, Failure> {
        let _lock = match is_done {
            true => Some(vault.lock(&self.holder("stage")?)?),
            false => None,
        };
        let desk = Desk::open(self, vault)?;
        let now = self.now()?;
        let is_due = |entry: &&StagedEntry| {
            let until = entry.entry.retention_until.parse();
            entry.is_live()
                && !entry.pinned
                && entry.promoted.is_empty()
                && until.is_ok_and(|until: Timestamp| until < now)
        };
        let due: Vec<&StagedEntry> = desk.staged.entries.iter().filter(is_due).collect();
        let entries: Vec<StagedEntry> = due.iter().copied().cloned().collect();
        if !is_done {
            let after = without(&desk.staged, &due);
            let files = unclaimed(vault, &after)?.len();
            return Ok(Collected { entries, files });
        }
        if !due.is_empty() {
            let staged = due.iter().map(|entry| entry.name().to_string()).collect();
            let step = StagedStep { staged, ..StagedStep::default() };
            desk.append(self, &due, (ActKind::Collect, &step))?;
            self.record_act(vault, Change::Collect(step))?;
        }
        // With them goes what an interrupted command left.
        let after = without(&desk.staged, &due);
        let files = remove_payloads(vault.files(), &unclaimed(vault, &after)?)?;
        Ok(Collected { entries, files })
    }

    /// Erases the content of an entry, and ends all entries that share it; with `is_done` false it
    /// says what would go.
    ///
    /// # Errors
    /// Nothing was erased, or not everything.
    pub(crate) fn erase_staged(
        &self,
        vault: &Vault,
        name: &StagedName,
        (reason, is_done): (&str, bool),
    ) -> Result<Erased, Failure> {
        let _lock = match is_done {
            true => Some(vault.lock(&self.holder("stage")?)?),
            false => None,
        };
        let desk = Desk::open(self, vault)?;
        let raw = desk.find(name, Role::Reviewer)?.entry.raw();
        let shares = |entry: &&StagedEntry| raw.is_some() && entry.entry.raw() == raw;
        let all: Vec<&StagedEntry> = desk.staged.entries.iter().filter(shares).collect();
        for entry in &all {
            refuse_promoted(entry)?;
            desk.access.require(Some(&desk.principal), Role::Reviewer, &entry.source)?;
        }
        let is_erased = |entry: &StagedEntry| {
            entry.ended.as_ref().is_some_and(|ended| ended.kind == ActKind::Erase)
        };
        let open: Vec<&StagedEntry> = all.iter().copied().filter(|one| !is_erased(one)).collect();
        if is_done {
            let staged = open.iter().map(|entry| entry.name().to_string()).collect();
            let step =
                StagedStep { staged, reason: Some(reason.to_owned()), ..StagedStep::default() };
            desk.append(self, &open, (ActKind::Erase, &step))?;
            // What an interrupted command left may hold it, too.
            for temporary in vault.files().temporaries() {
                vault.files().discard(&format!("{LOCAL_DIR}/{temporary}"));
            }
            desk.remove(&all)?;
            if !open.is_empty() {
                self.record_act(vault, Change::Erase(step))?;
            }
        }
        let path = raw.map(payload_path).unwrap_or_default();
        let (commits, more, unknown) = self.commits_with(vault, &path);
        Ok(Erased { entries: all.into_iter().cloned().collect(), commits, more, unknown })
    }

    /// The commits that brought a file, whatever branch or reflog has them.
    fn commits_with(&self, vault: &Vault, path: &str) -> (Vec<String>, bool, Option<String>) {
        if outside::repository(vault.root()).is_none() {
            return (Vec::new(), false, None);
        }
        let most = format!("--max-count={}", MOST_COMMITS + 1);
        let all =
            ["log", "--all", "--reflog", "--diff-filter=AMR", "--format=%H", &most, "--", path];
        match (self.environment.git)(vault.root(), &all, b"") {
            Ok(found) => {
                let text = String::from_utf8_lossy(&found);
                let is_hash = |line: &&str| {
                    !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_hexdigit())
                };
                let mut commits: Vec<String> =
                    text.lines().filter(is_hash).map(str::to_owned).collect();
                let more = commits.len() > MOST_COMMITS;
                commits.truncate(MOST_COMMITS);
                (commits, more, None)
            }
            Err(why @ (GitError::NotRun(_) | GitError::Refused(_))) => {
                (Vec::new(), false, Some(why.to_string()))
            }
        }
    }
}

/// Entries without those that are about to end.
fn without(staged: &Staged, gone: &[&StagedEntry]) -> BTreeSet<Digest> {
    let place = |one: &StagedEntry| (one.source.clone(), one.writer.clone(), one.seq);
    let gone: BTreeSet<_> = gone.iter().map(|one| place(one)).collect();
    let live = staged.entries.iter().filter(|one| one.is_live() && !gone.contains(&place(one)));
    live.filter_map(|one| one.entry.raw()).collect()
}

/// The payloads that none of these live entries name.
fn unclaimed(vault: &Vault, live: &BTreeSet<Digest>) -> Result<Vec<Digest>, Failure> {
    // A line that cannot be read may name one.
    let chains = Chains::read(vault.files())?;
    let is_damaged = !chains.strays.is_empty()
        || chains.chains.iter().any(|c| c.faults.iter().any(|fault| fault.kind.is_damage()));
    let mut all = match is_damaged {
        true => Staged::of(&chains).ended_payloads().into_iter().collect(),
        false => all_payloads(vault.files())?,
    };
    all.retain(|raw| !live.contains(raw));
    all.retain(|raw| vault.files().exists(&payload_path(*raw)));
    Ok(all)
}
