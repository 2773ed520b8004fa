//! The logs of the vault at a git revision, as an anchor for the verifier.

use std::fmt::Display;
use std::path::Path;

use super::Workspace;
use super::git::{Git, GitError};
use super::git_index::{AT_ONCE, MANY, split};
use crate::files::vault::Vault;
use crate::prove::verify::Anchor;
use crate::record::audit::past::{PastLogs, is_log};
use crate::record::checkpoint::codec::{FORMS, path_of};
use crate::record::checkpoint::log::Log;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::digest::Digest;
use crate::values::model::hint::{Hint, Verb};
use crate::values::model::layout;

/// Returns the anchor of `--expect-head HASH`.
pub(crate) fn expected(hash: &str) -> Result<Anchor, Failure> {
    let digest = hash.trim().parse().map_err(|why| {
        Failure::new(Code::Usage, format!("`{hash}` is not a checkpoint hash: {why}"))
            .hint(Hint::call("{} prints one", Verb::Head))
    })?;
    Ok(Anchor::expected(digest))
}

/// Returns the anchor of `--since REVISION`: the log at a revision of git, in the form that it
/// had then.
///
/// If git cannot answer, that is a failure, never an empty anchor.
pub(crate) fn revision(
    workspace: &Workspace<'_>,
    vault: &Vault,
    name: &str,
) -> Result<Anchor, Failure> {
    at(workspace, vault, name, |hashes| {
        hashes.ok_or_else(|| {
            let message = format!("this folder was not a vault at revision `{name}`");
            Failure::new(Code::Usage, message)
                .hint("name a revision at which the vault existed in this folder")
        })
    })
}

/// Returns the anchor of a commit before a push. If the push added the vault, the log before it is
/// empty.
pub(crate) fn before_push(
    workspace: &Workspace<'_>,
    vault: &Vault,
    name: &str,
) -> Result<Anchor, Failure> {
    at(workspace, vault, name, |hashes| Ok(hashes.unwrap_or_default()))
}

fn at(
    workspace: &Workspace<'_>,
    vault: &Vault,
    name: &str,
    log: impl FnOnce(Option<Vec<Digest>>) -> Result<Vec<Digest>, Failure>,
) -> Result<Anchor, Failure> {
    let repository = Repository { git: workspace.environment.git, folder: vault.root() };
    let commit = repository.commit(name)?;
    let hashes = log(repository.hashes(name, &commit)?)?;
    let logs = repository.logs(name, &commit)?;
    Ok(Anchor::revision(name.to_owned(), commit, hashes).with_logs(logs))
}

/// Returns the anchor of `--since-fork REVISION`: the log at the merge base of HEAD and a revision.
/// If the vault was added since then, that log is empty.
pub(crate) fn merge_base(
    workspace: &Workspace<'_>,
    vault: &Vault,
    name: &str,
) -> Result<Anchor, Failure> {
    let repository = Repository { git: workspace.environment.git, folder: vault.root() };
    let commit = repository.commit(name)?;
    let base = repository.ask(&["merge-base", "HEAD", &commit]).map_err(|_| {
        let message = format!("HEAD and `{name}` do not have a common commit");
        Failure::new(Code::Usage, message)
            .hint("a shallow clone lacks it: fetch the full history of both branches")
    })?;
    let base = base.trim().to_owned();
    let theirs = repository.hashes(name, &commit)?.unwrap_or_default();
    let hashes = repository.hashes(&base, &base)?.unwrap_or_default();
    let logs = repository.logs(&base, &base)?;
    Ok(Anchor::merge_base(name.to_owned(), base, hashes, theirs).with_logs(logs))
}

/// The logs of a vault at a revision.
pub(crate) struct Past {
    /// Hashes of all checkpoints.
    pub(crate) hashes: Vec<Digest>,
    /// The audit logs and the staging chains.
    pub(crate) logs: PastLogs,
}

/// Returns the logs of a vault in a tree of a repository, at a commit with this name; `None` if the
/// tree is not that of a vault.
///
/// # Errors
/// The log is broken, or git cannot read it.
pub(crate) fn past(
    (git, folder): (Git, &Path),
    name: &str,
    tree: &str,
) -> Result<Option<Past>, Failure> {
    let repository = Repository { git, folder };
    let Some(hashes) = repository.hashes(name, tree)? else { return Ok(None) };
    Ok(Some(Past { hashes, logs: repository.logs(name, tree)? }))
}

/// The repository that contains a folder. Paths are relative to the folder.
pub(super) struct Repository<'s> {
    pub(super) git: Git,
    pub(super) folder: &'s Path,
}

/// An entry of a commit's tree; its path is relative to the vault.
struct Entry {
    object: String,
    path: String,
}

impl Repository<'_> {
    pub(super) fn bytes(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        (self.git)(self.folder, args, b"")
    }

    pub(super) fn ask(&self, args: &[&str]) -> Result<String, GitError> {
        String::from_utf8(self.bytes(args)?)
            .map_err(|_| GitError::Refused("the output of git is not UTF-8".to_owned()))
    }

    /// Returns the commit that a name means; fails if the name is ambiguous.
    fn commit(&self, name: &str) -> Result<String, Failure> {
        self.ask(&["rev-parse", "--show-toplevel"]).map_err(|why| no_answer(&why))?;
        let wanted = format!("{name}^{{commit}}");
        let commit = self.ask(&["rev-parse", "--verify", "--end-of-options", &wanted]);
        let commit = commit.map_err(|_| {
            Failure::new(Code::Usage, format!("unknown git revision `{name}`")).hint(
                "name a commit, branch or tag of the vault's repository; a shallow clone may lack it",
            )
        })?;
        let refs = self.refs(name)?;
        if let [first, second, ..] = refs.as_slice() {
            let message = format!("`{name}` is ambiguous: it names `{first}` and `{second}`");
            return Err(Failure::new(Code::Usage, message)
                .hint(format!("give the full name, such as `{second}`")));
        }
        Ok(commit.trim().to_owned())
    }

    /// Returns the hashes of all checkpoints at a commit; `None` if the folder was not a vault. A
    /// vault without published documents has an empty log, which every log continues.
    pub(super) fn hashes(&self, name: &str, commit: &str) -> Result<Option<Vec<Digest>>, Failure> {
        let entries = self.tree(name, commit)?;
        let entry_of = |path: &str| entries.iter().find(|entry| entry.path == path);
        let found = FORMS.into_iter().find_map(|form| Some((form, entry_of(path_of(form))?)));
        let Some((form, entry)) = found else {
            return Ok(entry_of(layout::CONTEXT_DIR).map(|_| Vec::new()));
        };
        let path = &entry.path;
        let log = Log::parse(form, &self.blob(name, entry)?);
        let chronicle = log.sound().map_err(|why| {
            Failure::new(Code::LogBroken, format!("the log `{path}` at `{name}` is broken: {why}"))
                .hint("name a revision at which the vault was intact")
        })?;
        Ok(Some(chronicle.checkpoints().iter().map(|checkpoint| checkpoint.hash).collect()))
    }

    /// Returns the audit logs and the staging chains at a commit.
    fn logs(&self, name: &str, commit: &str) -> Result<PastLogs, Failure> {
        let args = ["ls-tree", "-r", "-l", "-z", commit, "--"];
        let args = [args.as_slice(), &[layout::AUDIT_DIR, layout::STAGING_CHAINS]].concat();
        let listed = self.bytes(&args).map_err(|why| unreadable(name, &why))?;
        let listed = String::from_utf8_lossy(&listed);
        let entry = |line: &str| {
            let (meta, path) = line.split_once('\t').filter(|(_, path)| is_log(path))?;
            let words: Vec<&str> = meta.split_whitespace().collect();
            let [mode, _, object, length] = words.as_slice() else { return None };
            let entry = Entry { object: (*object).to_owned(), path: path.to_owned() };
            // A link is not a log.
            mode.starts_with("100").then(|| (entry, length.parse().unwrap_or(usize::MAX)))
        };
        let entries: Vec<(Entry, usize)> = listed.split('\0').filter_map(entry).collect();
        let mut logs = PastLogs::default();
        let mut bytes = 0;
        let batches = entries.chunk_by(|(_, length), _| {
            bytes = (*length as u64).saturating_add(bytes);
            let is_full = bytes > AT_ONCE;
            bytes = if is_full { 0 } else { bytes };
            !is_full
        });
        for batch in batches.flat_map(|batch| batch.chunks(MANY)) {
            let names: String =
                batch.iter().map(|(entry, _)| format!("{}\n", entry.object)).collect();
            let args = ["cat-file", "--batch=%(objectsize)"];
            let said = (self.git)(self.folder, &args, names.as_bytes());
            let said = said.map_err(|why| unreadable(name, &why))?;
            let blobs = split(&said, batch.iter().map(|(_, length)| *length));
            let blobs = blobs.map_err(|at| {
                unreadable(name, &"git lacks an object").hint(fetching(&batch[at].0))
            })?;
            batch.iter().zip(blobs).for_each(|((entry, _), blob)| logs.add(&entry.path, blob));
        }
        Ok(logs)
    }

    /// Returns the refs that a name may be short for, by git's rules (gitrevisions(7)). A process
    /// that may push a tag could give it the name of a branch.
    fn refs(&self, name: &str) -> Result<Vec<String>, Failure> {
        let name = name.split(['~', '^', '@', ':']).next().unwrap_or(name);
        let places = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        let mut wanted: Vec<String> = places.map(|place| format!("{place}{name}")).to_vec();
        wanted.push(format!("refs/remotes/{name}/HEAD"));
        wanted.retain(|name| name.starts_with("refs/"));
        let mut args = vec!["for-each-ref", "--format=%(refname)"];
        args.extend(wanted.iter().map(String::as_str));
        let found = self.ask(&args).map_err(|why| no_answer(&why))?;
        // A pattern also matches refs below it.
        Ok(found
            .lines()
            .filter(|found| wanted.iter().any(|w| w == found))
            .map(str::to_owned)
            .collect())
    }

    /// Returns the entries of a commit's tree that mark a vault.
    fn tree(&self, name: &str, commit: &str) -> Result<Vec<Entry>, Failure> {
        let paths = [layout::FULL_LOG, layout::DELTA_LOG, layout::CONTEXT_DIR];
        let args = [["ls-tree", "-z", commit, "--"].as_slice(), paths.as_slice()].concat();
        let listed = self.ask(&args).map_err(|why| unreadable(name, &why))?;
        let entry = |line: &str| {
            let (meta, path) = line.split_once('\t')?;
            let object = meta.rsplit(' ').next()?.to_owned();
            Some(Entry { object, path: path.to_owned() })
        };
        Ok(listed.split('\0').filter_map(entry).collect())
    }

    fn blob(&self, name: &str, entry: &Entry) -> Result<Vec<u8>, Failure> {
        self.bytes(&["cat-file", "blob", &entry.object])
            .map_err(|why| unreadable(name, &why).hint(fetching(entry)))
    }
}

/// Returns the failure if git cannot be used in the folder.
fn no_answer(why: &GitError) -> Failure {
    Failure::new(Code::Usage, format!("`--since` needs git: {why}")).hint(
        "the vault must be in a git repository that you own; in a hook of a bare repository set GIT_DIR and GIT_WORK_TREE",
    )
}

/// Returns the failure if git has a commit, but not its content.
fn unreadable(name: &str, why: &dyn Display) -> Failure {
    Failure::new(Code::Io, format!("the log at `{name}` cannot be read: {why}"))
}

/// Returns the hint about an object that git lacks.
fn fetching(entry: &Entry) -> String {
    format!("a partial clone may lack it: `git cat-file blob {}` fetches it", entry.object)
}
