//! Symbolic links on the way to a vault's folder, as the user named it (`spec/vault.md`, VAULT-28).
//!
//! A commit may add a link inside a git work tree. The folder that it points to has a history and a
//! trusted head of its own, so the vault would be compared with the wrong ones.

use std::path::{Component, Path, PathBuf};

use super::outside::repository;

/// A symbolic link on the way to a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Path of the link, in a canonical folder.
    pub path: PathBuf,
    /// Path of the folder if the link were a folder.
    pub unfollowed: PathBuf,
    /// True if the link is in a git work tree.
    pub is_in_work_tree: bool,
}

/// Returns the links on the way to a folder, in the order of the path. `named` is absolute;
/// `work_tree` is the one that the environment names.
pub fn links_to(named: &Path, work_tree: Option<&Path>) -> Vec<Link> {
    let work_tree = work_tree.and_then(|dir| dir.canonicalize().ok());
    let mut links = Vec::new();
    let mut at = PathBuf::new();
    let mut rest = named.components();
    while let Some(part) = rest.next() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(at.pop()),
            part => {
                let next = at.join(part);
                let is_link = next.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
                if !is_link {
                    at = next;
                    continue;
                }
                let is_in_tree = work_tree.as_ref().is_some_and(|tree| at.starts_with(tree));
                links.push(Link {
                    unfollowed: next.components().chain(rest.clone()).collect(),
                    is_in_work_tree: is_in_tree || repository(&at).is_some(),
                    path: next.clone(),
                });
                let Ok(real) = next.canonicalize() else { break };
                at = real;
            }
        }
    }
    links
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes a repository, not a vault")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_found_in_every_part_of_a_path() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["repo/.git/objects", "repo/.git/refs", "repo/other/inner", "out"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        symlink("other", root.join("repo/docs")).unwrap();
        symlink(root.join("repo"), root.join("out/link")).unwrap();
        let found = |named: &str, tree: Option<&Path>| -> Vec<String> {
            let links = links_to(&root.join(named), tree).into_iter();
            let short = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
            let tell = |link: Link| {
                format!(
                    "{} {} {}",
                    short(&link.path),
                    short(&link.unfollowed),
                    link.is_in_work_tree
                )
            };
            links.map(tell).collect()
        };
        assert_eq!(found("repo/other", None), [""; 0]);
        assert_eq!(found("repo/docs", None), ["repo/docs repo/docs true"]);
        assert_eq!(found("repo/docs/inner", None), ["repo/docs repo/docs/inner true"]);
        assert_eq!(found("repo/other/../docs", None), ["repo/docs repo/docs true"]);
        assert_eq!(found("repo/docs/../other", None), ["repo/docs repo/docs/../other true"]);
        assert_eq!(found("out/link/other", None), ["out/link out/link/other false"]);
        let both = ["out/link out/link/docs false", "repo/docs repo/docs true"];
        assert_eq!(found("out/link/docs", None), both);
        // A hook of a bare repository names the work tree.
        let tree = root.join("out");
        assert_eq!(found("out/link/other", Some(&tree)), ["out/link out/link/other true"]);
    }
}
