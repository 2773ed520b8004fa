//! Pushes, as the hooks `pre-push` and `pre-receive` judge them: which refs they change, and with
//! which commit each is compared.

use std::path::{Path, PathBuf};

use super::Workspace;
use super::proposal::{Judged, Proposal, commit};
use crate::service::report::failure::{Code, Failure};

/// Configuration of git with the name of the trunk.
pub(super) const TRUNK: &str = "contextnest.trunk";

/// A ref that a push changes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Update {
    /// Commit before, on the side that receives; `None` for a new ref.
    pub(crate) old: Option<String>,
    /// Commit afterwards; `None` if the ref is deleted.
    pub(crate) new: Option<String>,
    /// Full name of the ref, on the side that receives.
    pub(crate) name: String,
}

impl Update {
    fn new(old: &str, new: &str, name: &str) -> Self {
        // Git writes zeros for no commit.
        let commit = |text: &str| (!text.bytes().all(|byte| byte == b'0')).then(|| text.to_owned());
        Self { old: commit(old), new: commit(new), name: name.to_owned() }
    }

    /// Parses the standard input of `pre-receive`: `OLD NEW REF`.
    ///
    /// # Errors
    /// A line has another form.
    pub(crate) fn received(input: &str) -> Result<Vec<Self>, Failure> {
        input
            .lines()
            .map(|line| match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
                [old, new, name] => Ok(Self::new(old, new, name)),
                _ => Err(strange(line)),
            })
            .collect()
    }

    /// Parses the standard input of `pre-push`: `REF NEW REMOTE-REF OLD`.
    ///
    /// # Errors
    /// A line has another form.
    pub(crate) fn pushed(input: &str) -> Result<Vec<Self>, Failure> {
        input
            .lines()
            .map(|line| match line.rsplitn(4, ' ').collect::<Vec<_>>()[..] {
                [old, name, new, _] => Ok(Self::new(old, new, name)),
                _ => Err(strange(line)),
            })
            .collect()
    }
}

fn strange(line: &str) -> Failure {
    let line = line.escape_debug();
    Failure::new(Code::Usage, format!("`{line}` is not a line that git passes to this hook"))
}

impl<'w> Workspace<'w> {
    /// Returns the bare repository of a hook that receives pushes.
    ///
    /// # Errors
    /// Git did not start the command.
    pub(crate) fn receiving(&self) -> Result<PathBuf, Failure> {
        let named = self.environment.var("GIT_DIR").map(|dir| self.environment.cwd.join(dir));
        let found = named.and_then(|dir| dir.canonicalize().ok());
        found.ok_or_else(|| {
            Failure::new(Code::Usage, "GIT_DIR does not name the repository that receives the push")
                .hint("git sets it when it runs the hook `pre-receive`")
        })
    }

    /// Returns the vault of `--vault` in a bare repository.
    ///
    /// # Errors
    /// The path is not a folder in the repository.
    pub(crate) fn named_in_tree(&self) -> Result<Option<String>, Failure> {
        let Some(named) = &self.options.vault else { return Ok(None) };
        let path: PathBuf = named.components().filter(|part| part.as_os_str() != ".").collect();
        let is_plain =
            path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        match path.to_str().filter(|_| is_plain) {
            Some(path) => Ok(Some(path.to_owned())),
            None => {
                let message = format!("`{}` is not a folder in the repository", named.display());
                Err(Failure::new(Code::Usage, message)
                    .hint("name it relative to the top, as `docs`"))
            }
        }
    }

    /// Returns the ref that the framework `pre-commit` pushes; `None` if git runs the hook itself.
    pub(crate) fn pushed_by_framework(&self) -> Option<Update> {
        let var = |name: &str| self.environment.var(&format!("PRE_COMMIT_{name}"));
        let (old, new) = (var("FROM_REF")?, var("TO_REF")?);
        Some(Update::new(old, new, var("REMOTE_BRANCH").unwrap_or_default()))
    }

    fn line(&self, folder: &Path, args: &[&str]) -> Option<String> {
        let said = (self.environment.git)(folder, args, b"").ok()?;
        Some(String::from_utf8_lossy(&said).trim().to_owned()).filter(|line| !line.is_empty())
    }

    fn configured_trunk(&self, folder: &Path) -> Option<String> {
        let name = self.line(folder, &["config", "--get", TRUNK])?;
        Some(if name.starts_with("refs/") { name } else { format!("refs/heads/{name}") })
    }

    /// Returns the branches of a server whose logs only grow: the configured trunk; or else the
    /// branch of HEAD, and `main`.
    fn trunks(&self, folder: &Path) -> Vec<String> {
        if let Some(trunk) = self.configured_trunk(folder) {
            return vec![trunk];
        }
        let head = self.line(folder, &["symbolic-ref", "--quiet", "HEAD"]);
        let mut trunks: Vec<String> = head.into_iter().collect();
        trunks.push("refs/heads/main".to_owned());
        trunks.dedup();
        trunks
    }

    /// Verifies each vault of a received ref as a whole, and returns the results. The inner error is
    /// a reason to refuse the ref without a check.
    ///
    /// # Errors
    /// Git lacks an object, or an earlier log is broken.
    pub(crate) fn received(
        &self,
        folder: &Path,
        named: Option<&str>,
        update: &Update,
    ) -> Result<Result<Vec<(String, Judged)>, String>, Failure> {
        let Some(new) = &update.new else {
            let is_kept = self.trunks(folder).contains(&update.name);
            let why = "this branch is not deleted".to_owned();
            return Ok(if is_kept { Err(why) } else { Ok(Vec::new()) });
        };
        let Some(new) = commit(self, folder, new) else {
            return Ok(Err("it is not a commit".to_owned()));
        };
        let is_branch = !self.trunks(folder).contains(&update.name);
        let base = match self.base_on_server(folder, update) {
            Ok(base) => base,
            Err(why) => return Ok(Err(why)),
        };
        let proposal = Proposal::of_commit(self, folder.to_owned(), &new, base, is_branch)?;
        let mut all = Vec::new();
        for vault in proposal.vaults_of_both(named)? {
            match proposal.judge_whole(&vault)? {
                Some(judged) => all.push((vault, judged)),
                None => return Ok(Err(format!("`{vault}` is not a vault"))),
            }
        }
        Ok(if all.is_empty() { Err("it has no vault".to_owned()) } else { Ok(all) })
    }

    /// Returns the commit with which a received ref is compared: that before the push; or for a new
    /// ref, the commit where it left the trunk. The error is the reason to refuse the ref.
    fn base_on_server(&self, folder: &Path, update: &Update) -> Result<Option<String>, String> {
        if let Some(old) = &update.old {
            let lacks = || format!("git lacks the commit {old}");
            return commit(self, folder, old).map(Some).ok_or_else(lacks);
        }
        let Some(new) = &update.new else { return Ok(None) };
        let trunks = self.trunks(folder).into_iter();
        let Some(trunk) = trunks
            .filter(|name| *name != update.name)
            .find(|name| commit(self, folder, name).is_some())
        else {
            return Ok(None);
        };
        let base = self.line(folder, &["merge-base", new, &trunk]);
        base.map(Some).ok_or_else(|| format!("it has no commit in common with {trunk}"))
    }

    /// Returns the files of a pushed commit, compared with the commit of the remote ref: for the
    /// trunk that commit itself, and for other refs the commit where both parted.
    ///
    /// `None` if the ref is deleted, or does not name a commit.
    ///
    /// # Errors
    /// Git cannot be run.
    pub(crate) fn pushed(
        &'w self,
        folder: &Path,
        update: &Update,
        remote: &str,
    ) -> Result<Option<Proposal<'w>>, Failure> {
        let new = update.new.as_deref().and_then(|new| commit(self, folder, new));
        let Some(new) = new.as_deref() else { return Ok(None) };
        let merge_base = |with: &str| self.line(folder, &["merge-base", new, with]);
        let of_remote = |branch: &str| format!("refs/remotes/{remote}/{branch}");
        let head = || self.line(folder, &["symbolic-ref", "--quiet", &of_remote("HEAD")]);
        let configured = self.configured_trunk(folder);
        let configured = configured.as_deref().and_then(|name| name.strip_prefix("refs/heads/"));
        let trunks: Vec<String> = match configured {
            Some(name) => vec![of_remote(name)],
            None => head().into_iter().chain(["main", "master"].map(of_remote)).collect(),
        };
        let trunk = trunks.into_iter().find(|name| commit(self, folder, name).is_some());
        let branch = update.name.strip_prefix("refs/heads/").map(of_remote);
        let is_trunk = trunk.is_some() && branch == trunk;
        let old = update.old.as_deref().and_then(|old| commit(self, folder, old));
        let base = match &old {
            Some(old) if is_trunk => Some(old.clone()),
            Some(old) => merge_base(old),
            None => trunk.as_deref().and_then(merge_base),
        };
        Proposal::of_commit(self, folder.to_owned(), new, base, !is_trunk).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_parsed_from_the_lines_of_git() {
        let zero = "0".repeat(40);
        let new = Update::received(&format!("{zero} a1 refs/heads/x y\n")).unwrap();
        let name = "refs/heads/x y".to_owned();
        assert_eq!(new, [Update { old: None, new: Some("a1".to_owned()), name: name.clone() }]);
        let gone = Update::pushed(&format!("(delete) {zero} refs/heads/x a2\n")).unwrap();
        let name = "refs/heads/x".to_owned();
        assert_eq!(gone, [Update { old: Some("a2".to_owned()), new: None, name }]);
        assert!(Update::received("x\n").is_err() && Update::pushed("x y\n").is_err());
    }
}
