//! The files of a repository as a commit would have them, compared with an earlier commit. Hooks
//! judge them before git records or accepts them.
//!
//! Only git's objects are read. The names of all files of a vault are listed, and the contents of
//! those that a check needs are read one by one, so that nothing is copied.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Workspace;
use super::git::{GitError, Objects};
use super::git_index::{Entry, entries_of, refuse_another};
use super::revision::{Past, past};
use super::validate::errors_of;
use crate::files::vault::files::Files;
use crate::files::vault::ignored::{self, WorkTree};
use crate::files::vault::outside::work_tree;
use crate::files::vault::tree::Tree;
use crate::files::vault::{Vault, marked_by};
use crate::prove::verify::{Anchor, Changed, Report, Request, verify, verify_changed};
use crate::read::working::gathered::Gathered;
use crate::record::audit::past::PastLogs;
use crate::record::trusted_head;
use crate::service::report::Spell;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::problem::ValidateReport;
use crate::values::model::digest::Digest;
use crate::values::model::layout;

/// Number of digits of a commit in messages.
const SHORT: usize = 12;

/// The files of a repository as a commit would have them.
pub(crate) struct Proposal<'w> {
    workspace: &'w Workspace<'w>,
    /// The top of the work tree, or the repository itself if it is bare.
    folder: PathBuf,
    objects: Arc<Objects>,
    files: Proposed,
    /// The commit to compare with; `None` if there is no earlier one.
    base: Option<String>,
    /// True if the log of that commit may have been merged, instead of continued (MERGE-26).
    allow_merged: bool,
}

/// Place of the proposed files.
pub(crate) enum Proposed {
    /// The index.
    Index,
    /// A commit.
    Commit(String),
}

/// The result of the checks of a vault.
pub(crate) struct Judged {
    /// Findings of the verifier.
    pub(crate) report: Report,
    /// Number of live files that were validated, and their errors.
    pub(crate) problems: (usize, Gathered),
}

impl Judged {
    /// Returns true if the files must not be recorded because of their histories and logs.
    pub(crate) fn is_damaged(&self) -> bool {
        !self.report.verdict.is_whole() || self.report.has_edits()
    }

    /// Returns true if the files must not be recorded.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_damaged() || self.problems.1.errors > 0
    }

    /// Reports the errors of live files.
    pub(crate) fn validated(&self, spell: Spell) -> ValidateReport {
        let (checked, problems) = &self.problems;
        ValidateReport::new(*checked, problems, spell)
    }
}

impl<'w> Proposal<'w> {
    /// Returns what `git commit` would record, compared with the last commit.
    ///
    /// # Errors
    /// The current folder is not in a work tree of git, or the environment names another index.
    pub(crate) fn staged(workspace: &'w Workspace<'w>) -> Result<Self, Failure> {
        let folder = workspace.top_of_work_tree()?;
        refuse_another(&folder)?;
        let mut proposal = Self::new(workspace, folder, Proposed::Index, None, true)?;
        proposal.base = proposal.commit("HEAD");
        if proposal.base.is_none() {
            // Without a commit there is a branch that does not exist yet.
            let branch = proposal.ask(&["symbolic-ref", "--quiet", "HEAD"])?;
            let branch = String::from_utf8_lossy(&branch).trim().to_owned();
            if !proposal.ask(&["for-each-ref", "--format=%(objectname)", &branch])?.is_empty() {
                return Err(Failure::new(Code::Io, "git cannot read the commit of HEAD"));
            }
        }
        Ok(proposal)
    }

    /// Returns the files of a commit of the repository in this folder, compared with another one.
    ///
    /// # Errors
    /// Git cannot be run.
    pub(crate) fn of_commit(
        workspace: &'w Workspace<'w>,
        folder: PathBuf,
        commit: &str,
        base: Option<String>,
        allow_merged: bool,
    ) -> Result<Self, Failure> {
        Self::new(workspace, folder, Proposed::Commit(commit.to_owned()), base, allow_merged)
    }

    fn new(
        workspace: &'w Workspace<'w>,
        folder: PathBuf,
        files: Proposed,
        base: Option<String>,
        allow_merged: bool,
    ) -> Result<Self, Failure> {
        let objects = Arc::new(Objects::of(&folder).map_err(|why| no_answer(&why))?);
        Ok(Self { workspace, folder, objects, files, base, allow_merged })
    }

    fn ask(&self, args: &[&str]) -> Result<Vec<u8>, Failure> {
        (self.workspace.environment.git)(&self.folder, args, b"").map_err(|why| no_answer(&why))
    }

    fn commit(&self, name: &str) -> Option<String> {
        commit(self.workspace, &self.folder, name)
    }

    /// Returns the paths of all files that differ from the commit to compare with.
    ///
    /// # Errors
    /// Git refuses.
    pub(crate) fn changed(&self) -> Result<BTreeSet<String>, Failure> {
        let nothing;
        let base = match &self.base {
            Some(commit) => commit,
            None => {
                let said = self.ask(&["hash-object", "-t", "tree", "--stdin"])?;
                nothing = String::from_utf8_lossy(&said).trim().to_owned();
                &nothing
            }
        };
        let plain = ["-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv"];
        let args: Vec<&str> = match &self.files {
            Proposed::Index => {
                let own = ["diff-index", "--cached", "--ita-invisible-in-index"];
                [&own[..], &plain, &[base]].concat()
            }
            Proposed::Commit(commit) => {
                [&["diff-tree", "-r"], &plain[..], &[base, commit]].concat()
            }
        };
        let listed = self.ask(&args)?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// Returns the folders of the vaults that these changes concern: those with a changed file, and
    /// those that the changes remove. A named vault is the only one.
    ///
    /// # Errors
    /// Git refuses.
    pub(crate) fn vaults(
        &self,
        named: Option<&str>,
        changed: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, Failure> {
        let all: BTreeSet<String> = match named {
            Some(named) => BTreeSet::from([named.to_owned()]),
            None => {
                let gone = changed.iter().filter_map(|path| marked_by(path)).map(str::to_owned);
                self.marked()?.into_iter().chain(gone).collect()
            }
        };
        let has_changed = |folder: &String| !within(changed, folder).is_empty();
        Ok(all.into_iter().filter(has_changed).collect())
    }

    /// Returns the folders of all vaults among the proposed files.
    ///
    /// # Errors
    /// Git refuses.
    pub(crate) fn marked(&self) -> Result<BTreeSet<String>, Failure> {
        let listed = match &self.files {
            Proposed::Index => {
                let folder = format!(":(glob)**/{}/**", layout::CONTEXT_DIR);
                let logs = [layout::DELTA_LOG, layout::FULL_LOG];
                let [delta, full] = logs.map(|log| format!(":(glob)**/{log}"));
                self.ask(&["ls-files", "-z", "--", &folder, &delta, &full])?
            }
            Proposed::Commit(commit) => {
                self.ask(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit])?
            }
        };
        let paths =
            listed.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
        Ok(paths.filter_map(marked_by).map(str::to_owned).collect())
    }

    /// Returns the folders of all vaults among the proposed files and at the commit to compare with.
    /// A named vault is the only one.
    ///
    /// # Errors
    /// Git refuses.
    pub(crate) fn vaults_of_both(&self, named: Option<&str>) -> Result<BTreeSet<String>, Failure> {
        if let Some(named) = named {
            return Ok(BTreeSet::from([named.to_owned()]));
        }
        let mut all = self.marked()?;
        // A removed vault is among the changes.
        let changed = if self.base.is_some() { self.changed()? } else { BTreeSet::new() };
        all.extend(changed.iter().filter_map(|path| marked_by(path)).map(str::to_owned));
        Ok(all)
    }

    /// Checks the changed part of a vault, and validates its changed live files.
    ///
    /// # Errors
    /// Git lacks an object, or the earlier log is broken.
    pub(crate) fn judge(
        &self,
        folder: &str,
        changed: &BTreeSet<String>,
    ) -> Result<Judged, Failure> {
        let vault = self.vault(folder)?;
        let paths = within(changed, folder);
        let problems = errors_of(&vault, &paths);
        let (anchor, past) = self.anchor(folder)?.unzip();
        let checkpoints = past.as_ref().map_or(0, |past| in_common(&vault, &past.hashes));
        let logs = past.map(|past| past.logs).unwrap_or_default();
        let changed = Changed { paths, checkpoints, logs };
        let anchors = anchor.into_iter().collect();
        let allow_merged = self.allow_merged;
        let request = Request { now: self.workspace.now()?, only: None, anchors, allow_merged };
        let report = verify_changed(&vault, &request, &changed)?;
        Ok(Judged { report, problems })
    }

    /// Checks a vault as a whole; `None` if the folder is not a vault.
    ///
    /// # Errors
    /// Git lacks an object, or the earlier log is broken.
    pub(crate) fn judge_whole(&self, folder: &str) -> Result<Option<Judged>, Failure> {
        if !self.marked()?.contains(folder) {
            return Ok(None);
        }
        let anchor = self.anchor(folder)?.map(|(anchor, _)| anchor);
        let anchors = anchor.into_iter().collect();
        let allow_merged = self.allow_merged;
        let request = Request { now: self.workspace.now()?, only: None, anchors, allow_merged };
        let report = verify(&self.vault(folder)?, &request)?;
        Ok(Some(Judged { report, problems: (0, Gathered::new(0)) }))
    }

    /// Returns the logs of a vault at the commit to compare with, as an anchor and for comparison;
    /// `None` if the vault did not exist there.
    fn anchor(&self, folder: &str) -> Result<Option<(Anchor, Past)>, Failure> {
        let Some(base) = &self.base else { return Ok(None) };
        let tree = match folder {
            "" => base.clone(),
            folder => {
                let listed = self.ask(&["ls-tree", "-z", "--full-tree", base, "--", folder])?;
                let listed = String::from_utf8_lossy(&listed).into_owned();
                let object = |line: &str| {
                    let (meta, path) = line.split_once('\t')?;
                    let object = meta.strip_prefix("040000 tree ")?;
                    (path == folder).then(|| object.to_owned())
                };
                let Some(object) = listed.split('\0').find_map(object) else { return Ok(None) };
                object
            }
        };
        let name = base.get(..SHORT).unwrap_or(base);
        let git = self.workspace.environment.git;
        let Some(past) = past((git, &self.folder), name, &tree)? else { return Ok(None) };
        let anchor = Anchor::revision(name.to_owned(), base.clone(), past.hashes.clone());
        let logs = PastLogs::clone(&past.logs);
        Ok(Some((anchor.with_logs(logs), past)))
    }

    /// Returns a vault among the proposed files.
    fn vault(&self, folder: &str) -> Result<Vault, Failure> {
        let place = self.folder.join(folder);
        let root = if place.is_dir() { &place } else { &self.folder };
        let vault = Vault::of_tree(root, self.tree(folder)?)?;
        Ok(vault.within(self.work_tree(folder)?))
    }

    /// Returns the proposed files in a folder, with paths below it.
    fn tree(&self, folder: &str) -> Result<Tree, Failure> {
        let paths: Vec<String> =
            Some(folder.to_owned()).filter(|f| !f.is_empty()).into_iter().collect();
        let entries = self.entries(&paths)?;
        let above = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let below = entries.iter().filter_map(|entry| {
            let path = entry.place.as_bytes().get(above..).filter(|path| !path.is_empty())?;
            Some((entry.mode.as_str(), entry.object.as_str(), path))
        });
        let objects = Arc::clone(&self.objects);
        Ok(Tree::new(below, move |object, limit| objects.read(object, limit)))
    }

    /// Returns the entries at these paths and below; all entries without paths.
    fn entries(&self, paths: &[String]) -> Result<Vec<Entry>, Failure> {
        match &self.files {
            Proposed::Index => {
                let paths: Vec<String> =
                    paths.iter().map(|path| format!(":(top,literal){path}")).collect();
                let args = ["ls-files", "-z", "--stage", "--full-name", "--"].into_iter();
                let args: Vec<&str> = args.chain(paths.iter().map(String::as_str)).collect();
                entries_of(&self.ask(&args)?)
            }
            Proposed::Commit(commit) => {
                let args = ["ls-tree", "-r", "-z", "--full-tree", commit, "--"].into_iter();
                let args: Vec<&str> = args.chain(paths.iter().map(String::as_str)).collect();
                Ok(Entry::of_tree(&self.ask(&args)?))
            }
        }
    }

    /// Returns the place of a vault in the work tree, with the ignore rules of the folders above.
    fn work_tree(&self, folder: &str) -> Result<Option<WorkTree>, Failure> {
        let ends = folder.match_indices('/').map(|(at, _)| at + 1);
        let folders = std::iter::once(0).chain(ends).map(|end| &folder[..end]);
        let paths: Vec<String> = folders.map(|f| format!("{f}{}", ignored::NAME)).collect();
        let entries = self.entries(&paths)?;
        let entries = entries
            .iter()
            .map(|entry| (entry.mode.as_str(), entry.object.as_str(), entry.place.as_bytes()));
        let objects = Arc::clone(&self.objects);
        let tree = Tree::new(entries, move |object, limit| objects.read(object, limit));
        let files = Files::of_tree(&self.folder, tree)?;
        Ok(WorkTree::new(folder, |path| files.read_optional(path, ignored::LIMIT)))
    }
}

impl Workspace<'_> {
    /// Returns the top of the git work tree that contains the current folder, or the vault that the
    /// user names.
    ///
    /// # Errors
    /// The folder is not in a work tree.
    pub(crate) fn top_of_work_tree(&self) -> Result<PathBuf, Failure> {
        let cwd = &self.environment.cwd;
        let top = work_tree(cwd).map(|(top, _)| top.to_owned()).or_else(|| self.named_tree());
        let not_git = || {
            let message = format!("`{}` is not in a git repository", cwd.display());
            Failure::new(Code::Usage, message).hint("run the command in a repository")
        };
        top.and_then(|top| top.canonicalize().ok()).ok_or_else(not_git)
    }
}

/// Returns the commit that a name means in the repository of a folder.
pub(crate) fn commit(workspace: &Workspace<'_>, folder: &Path, name: &str) -> Option<String> {
    let wanted = format!("{name}^{{commit}}");
    let args = ["rev-parse", "--quiet", "--verify", "--end-of-options", &wanted];
    let said = (workspace.environment.git)(folder, &args, b"").ok()?;
    let commit = String::from_utf8_lossy(&said).trim().to_owned();
    Some(commit).filter(|commit| !commit.is_empty())
}

/// Returns the paths in a folder, relative to it.
fn within(paths: &BTreeSet<String>, folder: &str) -> BTreeSet<String> {
    if folder.is_empty() {
        return paths.clone();
    }
    let folder = format!("{folder}/");
    let below = paths.range(folder.clone()..).map_while(|path| path.strip_prefix(&folder));
    below.map(str::to_owned).collect()
}

/// Returns the failure if git cannot be used.
pub(crate) fn no_answer(why: &GitError) -> Failure {
    Failure::new(Code::Usage, format!("the hook needs git: {why}"))
        .hint("run the command in a git repository that you own")
}

/// Returns the number of checkpoints that the main line of a vault's log begins with, of those with
/// these hashes. A merge of another branch may have put its own checkpoints in the place of others.
fn in_common(vault: &Vault, hashes: &[Digest]) -> u64 {
    let Ok(log) = trusted_head::read_log(vault) else { return hashes.len() as u64 };
    let own = log.entries.iter().map(|entry| entry.as_ref().ok().map(|one| one.hash));
    let same = own.zip(hashes).take_while(|(own, hash)| *own == Some(**hash));
    match same.count() {
        count if hashes.last().is_none_or(|last| log.holds(last)) => count as u64,
        // The log lacks some, which is reported.
        _ => hashes.len() as u64,
    }
}
