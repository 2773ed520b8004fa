//! The user's own directories: what `ctx` keeps outside of a vault, where an attacker of the vault
//! writes nothing (`spec/vault.md`, section 1).
//!
//! A vault's folder there is named by its canonical path and by the branch that git has checked out,
//! so that a copy, or another branch, is another memory.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::chain::digest::Digest;

/// The name of our folder in the user's directories.
pub const OURS: &str = "contextnest";
/// More of `.git/HEAD` than any ref name has.
const HEAD_BYTES: u64 = 4096;

/// Where the environment says that caches lie: `XDG_CACHE_HOME`, else `HOME/.cache`.
pub fn cache_home<'e>(var: impl Fn(&str) -> Option<&'e str>) -> Option<PathBuf> {
    home(var, "XDG_CACHE_HOME", ".cache")
}

/// Where the environment says that state lies: `XDG_STATE_HOME`, else `HOME/.local/state`.
pub fn state_home<'e>(var: impl Fn(&str) -> Option<&'e str>) -> Option<PathBuf> {
    home(var, "XDG_STATE_HOME", ".local/state")
}

/// Our folder in the user's configuration: in `XDG_CONFIG_HOME`, else in `HOME/.config`.
pub fn config_folder<'e>(var: impl Fn(&str) -> Option<&'e str>) -> Option<PathBuf> {
    Some(home(var, "XDG_CONFIG_HOME", ".config")?.join(OURS))
}

/// A base directory of the user. What is not an absolute path is ignored, as the XDG base directory
/// specification asks.
fn home<'e>(
    var: impl Fn(&str) -> Option<&'e str>,
    name: &str,
    beneath_home: &str,
) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let named = var(name).map(PathBuf::from).and_then(absolute);
    named.or_else(|| Some(absolute(var("HOME")?.into())?.join(beneath_home)))
}

/// The folder of one vault, and of what git has checked out there, in a directory of the user.
/// Nothing is made.
pub fn folder_of(home: &Path, root: &Path, branch: Option<&str>) -> PathBuf {
    let mut key = root.as_os_str().as_encoded_bytes().to_vec();
    key.push(0);
    key.extend_from_slice(branch.unwrap_or_default().as_bytes());
    let name: String =
        Digest::of(&key).to_string().chars().skip("sha256:".len()).take(32).collect();
    home.join(OURS).join(name)
}

/// Whether a folder lies in a vault, or will when it is made.
pub fn lies_in(dir: &Path, root: &Path) -> bool {
    let real = dir.ancestors().find_map(|above| above.canonicalize().ok());
    real.is_none_or(|real| real.starts_with(root))
}

/// Makes a folder that only its owner may enter.
///
/// # Errors
/// It cannot be made.
pub fn make_private(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// The name of the ref that `HEAD` points to in the repository that holds a folder; none without
/// git, and none where a commit is checked out.
pub fn branch(root: &Path) -> Option<String> {
    Some(git_head(root)?.strip_prefix("ref:")?.trim().to_owned())
}

/// The ref, or else the commit, that is checked out in the repository that holds a folder; none
/// without git.
pub fn checked_out(root: &Path) -> Option<String> {
    let head = git_head(root)?;
    Some(head.strip_prefix("ref:").unwrap_or(&head).trim().to_owned())
}

fn git_head(root: &Path) -> Option<String> {
    let dot_git = root.ancestors().map(|dir| dir.join(".git")).find(|git| git.exists())?;
    // In a worktree `.git` is a file that names the folder.
    let dir = match read_start(&dot_git) {
        Some(text) => dot_git.parent()?.join(text.strip_prefix("gitdir:")?.trim()),
        None => dot_git,
    };
    read_start(&dir.join("HEAD"))
}

fn read_start(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut text = String::new();
    fs::File::open(path).ok()?.take(HEAD_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes a repository, not a vault")]
mod tests {
    use super::*;

    #[test]
    fn relative_directories_are_no_directories() {
        let home = |vars: &[(&str, &'static str)]| {
            let vars = vars.to_vec();
            cache_home(|name| Some(vars.iter().find(|(n, _)| *n == name)?.1))
        };
        assert_eq!(home(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]), Some("/c".into()));
        assert_eq!(home(&[("XDG_CACHE_HOME", "c"), ("HOME", "/h")]), Some("/h/.cache".into()));
        assert_eq!(home(&[("HOME", "h")]), None);
        assert_eq!(home(&[]), None);
    }

    #[test]
    fn a_vault_holds_no_cache_of_its_own() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("vault");
        fs::create_dir(&root).unwrap();
        std::os::unix::fs::symlink(&root, place.path().join("link")).unwrap();
        assert!(lies_in(&root.join("caches/x"), &root));
        assert!(lies_in(&place.path().join("link/caches"), &root));
        assert!(!lies_in(&place.path().join("caches"), &root));
    }

    #[test]
    fn another_path_or_branch_is_another_memory() {
        let place = tempfile::tempdir().unwrap();
        let (home, vault) = (place.path().join("cache"), place.path().join("repo/docs"));
        fs::create_dir_all(place.path().join("repo/.git")).unwrap();
        fs::create_dir_all(&vault).unwrap();
        let on = |head: &str| {
            fs::write(place.path().join("repo/.git/HEAD"), head).unwrap();
            folder_of(&home, &vault, branch(&vault).as_deref())
        };
        let main = on("ref: refs/heads/main\n");
        assert_ne!(main, on("ref: refs/heads/topic\n"));
        assert_eq!(main, on("ref: refs/heads/main\n"));
        assert_ne!(main, folder_of(&home, &place.path().join("repo"), Some("refs/heads/main")));
        assert!(main.starts_with(home.join(OURS)));

        let tree = place.path().join("tree");
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(place.path().join("repo/.git/worktrees/t")).unwrap();
        fs::write(tree.join(".git"), "gitdir: ../repo/.git/worktrees/t\n").unwrap();
        fs::write(place.path().join("repo/.git/worktrees/t/HEAD"), "ref: refs/heads/w\n").unwrap();
        assert_eq!(branch(&tree).as_deref(), Some("refs/heads/w"));
        assert_eq!(checked_out(&tree).as_deref(), Some("refs/heads/w"));
        fs::write(place.path().join("repo/.git/worktrees/t/HEAD"), "0123abcd\n").unwrap();
        assert_eq!((branch(&tree), checked_out(&tree).as_deref()), (None, Some("0123abcd")));
    }
}
