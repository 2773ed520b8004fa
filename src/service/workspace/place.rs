//! The place of a vault in its repository. Code hosts use paths relative to the top of it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::Workspace;
use crate::files::vault::Vault;
use crate::files::vault::outside::work_tree;
use crate::service::report::checks::Place;
use crate::text::uri::encode_bytes;

impl Workspace<'_> {
    /// Returns the place of a vault: the git work tree that contains it, or else the
    /// vault's folder.
    pub(crate) fn place(&self, vault: &Vault) -> Place {
        let top = self.top(vault);
        match top.as_ref().and_then(|top| vault.root().strip_prefix(top).ok()) {
            Some(below) => Place::Repository(folder_uri(below)),
            None => Place::Vault,
        }
    }

    /// Returns the top of the git work tree that contains a vault.
    pub(super) fn top(&self, vault: &Vault) -> Option<PathBuf> {
        work_tree(vault.root()).map(|(top, _)| top.to_owned()).or_else(|| self.named_tree())
    }

    /// Returns the work tree that a hook names, for a repository whose data is elsewhere.
    pub(super) fn named_tree(&self) -> Option<PathBuf> {
        self.environment.var("GIT_DIR")?;
        let tree = self.environment.var("GIT_WORK_TREE")?;
        self.environment.cwd.join(tree).canonicalize().ok()
    }
}

/// Returns a relative path as a URI reference, with a final `/` unless it is empty.
fn folder_uri(path: &Path) -> String {
    let name = |part: std::path::Component<'_>| encode_bytes(part.as_os_str().as_bytes()) + "/";
    path.components().map(name).collect()
}
