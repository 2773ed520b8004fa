//! Removes paths of this machine from texts for a client on another one. Paths in the vault are
//! relative to it, and stay.

use std::path::Path;

use crate::service::report::failure::{Code, Failure};
use crate::values::model::hint::Hint;

/// Failures whose texts come from this machine, and not from the arguments of a call.
const OF_MACHINE: [Code; 6] = [
    Code::Io,
    Code::NoVault,
    Code::NotConfigured,
    Code::ConfigInvalid,
    Code::TokensInvalid,
    Code::SearchFailed,
];

/// Replacement of a text that names a path.
const KEPT_BACK: &str = "the server cannot read or write a file that it needs; its operator finds the \
    cause with `ctx verify`";

/// Returns a text without the folder of the vault.
fn without_root(text: &str, root: &Path) -> String {
    let root = root.display().to_string();
    let inside = text.replace(&format!("{root}/"), "");
    inside.replace(&root, "the vault's folder")
}

/// Returns true if a text names an absolute path.
fn names_path(text: &str) -> bool {
    let begins = |before: Option<char>| before.is_none_or(|c| " `'\"(=:".contains(c));
    text.match_indices('/').any(|(at, _)| {
        let after = text[at + 1..].chars().next();
        begins(text[..at].chars().next_back())
            && after.is_some_and(|c| c != '/' && !c.is_whitespace())
    })
}

/// Returns a note of an answer, for a client on another machine.
pub(super) fn note(text: &str, root: &Path) -> String {
    let text = without_root(text, root);
    if names_path(&text) { KEPT_BACK.to_owned() } else { text }
}

/// Returns a failure, for a client on another machine.
pub(super) fn failure(mut failure: Failure, root: &Path) -> Failure {
    let is_of_machine = OF_MACHINE.contains(&failure.code);
    failure.message = without_root(&failure.message, root);
    for text in &mut failure.details {
        *text = without_root(text, root);
    }
    let hints = std::mem::take(&mut failure.hints);
    failure.hints =
        hints.into_iter().map(|hint| hint.told(|text| without_root(text, root))).collect();
    if is_of_machine {
        if names_path(&failure.message) {
            KEPT_BACK.clone_into(&mut failure.message);
        }
        failure.details.retain(|text| !names_path(text));
        failure.hints.retain(|hint: &Hint| !names_path(hint.text()));
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_of_the_machine_is_told() {
        let root = Path::new("/srv/policies");
        let told = |code, message: &str| {
            let given = Failure::new(code, message).hint("see /srv/policies/nodes or /etc/x");
            let told = failure(given, root);
            (told.message, told.hints.len())
        };
        let relative = "cannot write `nodes/a.md`: permission denied";
        assert_eq!(told(Code::Io, relative), (relative.to_owned(), 0));
        for path in ["`/home/ana/.local/state`", "'/tmp/x'", "/var"] {
            let message = format!("cannot write to {path}: denied");
            assert_eq!(told(Code::Io, &message), (KEPT_BACK.to_owned(), 0), "{path}");
        }
        let own = "`/etc/passwd` is outside of the vault";
        assert_eq!(told(Code::Usage, own), (own.to_owned(), 1));
        assert_eq!(note("in /srv/policies/nodes/a.md", root), "in nodes/a.md");
        assert_eq!(note("cannot run `/usr/bin/tell`", root), KEPT_BACK);
        assert!(!names_path("and/or 1 / 2 https://x.com contextnest://a"));
    }
}
