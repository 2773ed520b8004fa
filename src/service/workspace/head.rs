//! The head of a log, and the trusted heads of this user.

use std::path::{Path, PathBuf};

use super::Workspace;
use crate::files::vault::Vault;
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head::{self, Head};
use crate::service::report::failure::{Code, Failure};

/// Returns the head of a log after recomputing its last checkpoint.
pub(crate) fn end_of(log: &Log) -> Result<Head, Failure> {
    let chronicle = log.sound()?;
    chronicle.state_at(chronicle.head_number())?;
    Ok(Head::of(&chronicle))
}

/// Refuses a vault without a state directory, where a trusted head would be recorded.
pub(crate) fn check_state(vault: &Vault) -> Result<(), Failure> {
    vault.state().map(|_| ()).ok_or_else(no_state)
}

fn no_state() -> Failure {
    Failure::new(Code::Usage, "the state directory for trusted heads is unknown")
        .hint("set HOME or XDG_STATE_HOME to a folder outside of the vault")
}

impl Workspace<'_> {
    /// Returns the user's state directory.
    pub(crate) fn known_state_home(&self) -> Result<PathBuf, Failure> {
        self.state_home().ok_or_else(no_state)
    }

    /// Deletes all trusted heads of the vault in a folder, and returns their number. If the folder
    /// no longer exists, its path is used as it is printed.
    pub(crate) fn forget_folder(&self, folder: &Path) -> Result<usize, Failure> {
        let home = self.known_state_home()?;
        let path = self.environment.cwd.join(folder);
        // A link may have replaced the folder.
        let path = match trusted_head::is_trusted(&home, &path) {
            true => path,
            false => path.canonicalize().unwrap_or(path),
        };
        Ok(trusted_head::forget_everywhere(&home, &path)?)
    }
}
