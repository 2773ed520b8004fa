//! Checks that a client finds the program of an entry (MCP-23).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The `PATH` of a client that no shell started.
pub(crate) const EVERYWHERE: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns why a client with this `PATH` does not find a program; `None` if it does.
pub(crate) fn not_found(program: &str, path: &str) -> Option<String> {
    let file = Path::new(program);
    if file.is_absolute() {
        return (!is_program(file))
            .then(|| format!("`{program}` is not a program on this machine"));
    }
    if program.contains('/') {
        return Some(format!(
            "`{program}` is not an absolute path, and a client starts it in a folder of its own"
        ));
    }
    let mut folders = path.split(':').map(Path::new).filter(|folder| folder.is_absolute());
    match folders.any(|folder| is_program(&folder.join(program))) {
        true => None,
        false => Some(format!("`{program}` is not in a folder of the PATH")),
    }
}

/// Returns the path of this program, or of an installed one if the system does not tell.
pub(crate) fn own() -> String {
    let own = std::env::current_exe().ok();
    own.as_deref().and_then(Path::to_str).unwrap_or("/usr/local/bin/ctx").to_owned()
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes a program, and no vault")]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_path_or_in_the_folders() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().to_str().unwrap(), dir.path().join("ours"));
        let path = format!("/nowhere::{folder}");
        let absolute = file.to_str().unwrap().to_owned();
        assert_eq!(not_found("ours", &path).unwrap(), "`ours` is not in a folder of the PATH");
        assert!(not_found(&absolute, "").unwrap().ends_with("is not a program on this machine"));
        fs::write(&file, "").unwrap();
        assert!(not_found("ours", &path).is_some(), "a text is no program");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(not_found("ours", &path), None);
        assert_eq!(not_found(&absolute, ""), None);
        for wrong in ["./ours", "bin/ours", "~/ours"] {
            assert!(not_found(wrong, &path).unwrap().contains("is not an absolute path"));
        }
        assert!(not_found("", &path).is_some());
    }
}
