//! The changes that `ctx demo` makes to files, as an author and as an attacker would.

use std::path::{Path, PathBuf};

use crate::files::vault::files::Files;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::layout::limit;

/// The documents that are edited: the policy, and the runbook that carries it out.
pub(crate) const EDITED: [&str; 2] = [POLICY, "nodes/runbooks/vendor-onboarding.md"];
const POLICY: &str = "nodes/policies/vendor-risk.md";
/// The edit: every limit of 60 is changed, so that no score is between two rules.
pub(crate) const EDIT: [(&str, &str); 2] = [("elow 60", "elow 50"), ("rom 60", "rom 50")];
/// The keyframe of the policy's first version.
pub(crate) const KEYFRAME: &str = "nodes/policies/.versions/vendor-risk/v1.md";
/// Words of the first version, and the attacker's words in place of them.
pub(crate) const BEFORE: &str = "score below 60";
pub(crate) const FORGED: &str = "score below 90";

/// Returns the folder of the altered copy.
pub(crate) fn altered(dir: &Path) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push("-altered");
    PathBuf::from(name)
}

/// Lowers the limit in the policy and in the runbook.
pub(crate) fn edit(vault: &Path) -> Result<(), Failure> {
    EDITED.iter().try_for_each(|path| replace(vault, path, &EDIT))
}

/// Copies a vault and changes words of the first version's text.
pub(crate) fn alter_copy(vault: &Path, to: &Path) -> Result<(), Failure> {
    copy_folder(vault, to).map_err(|why| {
        Failure::new(Code::Io, format!("cannot copy to `{}`: {why}", to.display()))
    })?;
    replace(to, KEYFRAME, &[(BEFORE, FORGED)])
}

fn replace(vault: &Path, path: &str, changes: &[(&str, &str)]) -> Result<(), Failure> {
    let files = Files::open(vault)?;
    let old = files.read(path, limit::DOCUMENT)?;
    let text = String::from_utf8_lossy(&old).into_owned();
    let text = changes.iter().fold(text, |text, (from, to)| text.replace(from, to));
    Ok(files.replace(path, &old, text.as_bytes())?)
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in walkdir::WalkDir::new(from).follow_links(false) {
        let entry = entry?;
        let Ok(relative) = entry.path().strip_prefix(from) else {
            continue;
        };
        let target = to.join(relative);
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target)?;
        } else if entry.file_type().is_file() {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
