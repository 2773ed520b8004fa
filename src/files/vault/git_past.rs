//! Facts from git about a vault that are not in the files that are checked out. Git is asked only
//! if a log is missing or lacks lines that this user wrote, or if a verifier misses a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::Vault;
use crate::values::model::layout;

/// Runs a git command in the vault's folder; `None` if git refuses or cannot be run.
type Ask = dyn Fn(&[&str]) -> Option<Vec<u8>> + Send + Sync;

/// The git commits of the repository with a vault. Without a function that runs git, nothing
/// is known.
#[derive(Clone, Default)]
pub struct History(Option<Arc<Ask>>);

/// Advice on how to restore files that a sparse checkout leaves out.
pub(crate) const NOT_SPARSE: &str =
    "nothing is lost: `git sparse-checkout disable` restores the files";

/// A set of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// The commit that is checked out, and those before it.
    CheckedOut,
    /// All commits that a ref or a reflog names, and those before them.
    Any,
}

// No program that the repository names is run, and no commit is left out.
const LOG: [&str; 8] = [
    "log",
    "-m",
    "--full-history",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-show-signature",
    "--no-color",
];

impl Commits {
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::CheckedOut => &["HEAD"],
            Self::Any => &["--all", "--reflog"],
        }
    }
}

impl History {
    /// Makes a history that runs git with a function.
    pub fn new(ask: impl Fn(&[&str]) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(ask)))
    }

    fn ask(&self, args: &[&str]) -> Option<String> {
        let said = self.0.as_ref()?(args)?;
        Some(String::from_utf8_lossy(&said).into_owned())
    }

    /// Returns true if there is a repository without any commit.
    pub fn is_unborn(&self) -> bool {
        let refs = self.ask(&["for-each-ref", "--count=1", "--format=%(objectname)"]);
        refs.is_some_and(|refs| refs.trim().is_empty())
            && self.ask(&["rev-parse", "-q", "--verify", "HEAD"]).is_none()
    }

    /// Returns the names of the files that commits changed, limited to files that match
    /// some patterns.
    pub fn changed(&self, commits: Commits, patterns: &[String]) -> Option<String> {
        let rest = ["--format=", "--name-only"];
        let patterns = patterns.iter().map(String::as_str);
        let args = LOG.iter().chain(&rest).chain(commits.names()).copied();
        self.ask(&args.chain(["--"]).chain(patterns).collect::<Vec<_>>())
    }

    /// Returns the files that git leaves out of the working copy: those with skip-worktree in the
    /// index whose blob is also in the commit that is checked out, at the same path. A file that
    /// was removed and marked before it was committed is not one of them.
    pub fn left_out(&self) -> BTreeSet<String> {
        let staged = self.ask(&["ls-files", "-z", "-t", "--stage", "--", "."]);
        let entry = |line: &str| -> Option<(String, String)> {
            let (meta, path) = line.split_once('\t')?;
            let mut words = meta.split(' ');
            let (tag, _, object) = (words.next()?, words.next()?, words.next()?);
            let is_left_out = tag == "S" && words.next() == Some("0");
            is_left_out.then(|| (path.to_owned(), object.to_owned()))
        };
        let mut skipped: BTreeMap<String, String> =
            staged.iter().flat_map(|text| text.split('\0')).filter_map(entry).collect();
        if skipped.is_empty() {
            return BTreeSet::new();
        }
        let committed = self.ask(&["ls-tree", "-r", "-z", "HEAD"]).unwrap_or_default();
        let committed = committed.split('\0').filter_map(|line| {
            let (meta, path) = line.split_once('\t')?;
            Some((path, meta.split(' ').nth(2)?))
        });
        committed
            .filter_map(|(path, object)| {
                let (path, skipped) = skipped.remove_entry(path)?;
                (skipped == object).then_some(path)
            })
            .collect()
    }

    /// Returns true if the work tree is a sparse checkout.
    pub fn is_sparse(&self) -> bool {
        let set = self.ask(&["config", "--type=bool", "--get", "core.sparseCheckout"]);
        set.is_some_and(|set| set.trim() == "true")
    }

    /// Returns true if a commit contains a match of an extended regular expression, in a file that
    /// matches a pattern.
    pub fn has(&self, commits: Commits, pattern: &str, expression: &str) -> bool {
        let expression = format!("-S{expression}");
        let rest = ["-1", "--format=%H", "--pickaxe-regex", expression.as_str()];
        let args = LOG.iter().chain(&rest).chain(commits.names()).copied();
        let found = self.ask(&args.chain(["--", pattern]).collect::<Vec<_>>());
        found.is_some_and(|found| !found.trim().is_empty())
    }
}

/// The files of a vault that git leaves out of the working copy, and that do not exist there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gone(BTreeSet<String>);

impl Gone {
    /// Asks git for these files.
    pub(super) fn of(vault: &Vault) -> Self {
        let mut paths = vault.history().left_out();
        paths.retain(|path| !vault.files().exists(path));
        Self(paths)
    }

    /// Returns the number of these files.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the first one that is a recorded file: of a log, a history or staged contents.
    pub(crate) fn first_of_record(&self) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|path| layout::is_of_record(path))
    }

    /// Returns true if a file is one of them.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.contains(path)
    }

    /// Returns true if one of them is in a folder.
    pub(crate) fn has_within(&self, folder: &str) -> bool {
        let folder = format!("{folder}/");
        self.0.range(folder.clone()..).next().is_some_and(|path| path.starts_with(&folder))
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("History").field(&self.0.is_some()).finish()
    }
}
