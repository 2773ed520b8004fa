//! Copies that programs write beside a document: sync programs where two machines changed a file,
//! git's merge tools, and people (`spec/document.md`, DOC-41 and DOC-42).

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use super::Vault;

/// Names that only a program gives: the text is a copy, whatever it says. The first group is the name
/// of the original.
const NAMES: [(&str, &str); 14] = [
    ("Syncthing", r"^(.+)\.sync-conflict-\d{8}-\d{6}(-[A-Z0-9]{7})?$"),
    // Dropbox, Nextcloud, ownCloud, Box and Obsidian Sync.
    ("a sync program", r"^(.+) \((?i:[^()]*conflicted copy[^()]*)(\(\d+\))?\)( \(\d+\))?$"),
    (
        "Dropbox",
        r"^(.+) \((?i:[^()]*(copie en conflit|copia en conflicto|in konflikt stehende kopie)[^()]*)\)( \(\d+\))?$",
    ),
    (
        "Dropbox",
        r"^(.+) \((?i:(case|unicode encoding|white ?space|selective sync) conflict)( \(?\d+\)?)?\)$",
    ),
    ("Nextcloud", r"^(.+) \(case clash from [^()]*\)$"),
    ("ownCloud", r"^(.+)_conflict-\d{8}-\d{6}$"),
    ("Seafile", r"^(.+) \(SFConflict [^()]*\)$"),
    ("OneDrive", r"^(.+)-(DESKTOP|LAPTOP)-[A-Z0-9]{7,8}(-\d+)?$"),
    ("Google Drive", r"^(.+?) ?\[Conflict( \d+)?\]$"),
    ("Google Drive", r"^(.+)_conf\(\d+\)$"),
    ("Synology Drive", r"^(.+)_[^_]+_[A-Z][a-z]{2}-\d{2}-\d{6}-\d{4}_(Case)?Conflict$"),
    ("Resilio Sync", r"^(.+)\.Conflict$"),
    ("a merge tool", r"^(.+)_(BACKUP|BASE|LOCAL|REMOTE)_\d+$"),
    ("a merge tool", r"^(.+)_(BACKUP|BASE|LOCAL|REMOTE)_\d+_\d+$"),
];

/// Names that people give, too: the text is a copy only if it is nearly that of the original. The
/// number is how many of a hundred words are the same.
const LIKELY: [(usize, &str); 4] = [
    (75, r"^(.+) \d{1,2}$"),
    (75, r"^(.+?)( ?\(\d{1,2}\)|( -)? (?i:copy|kopie|copie|copia)( ?\(?\d{1,2}\)?)?)$"),
    // The name of a computer may have hyphens, and that of a document.
    (90, r"^(.+?)-[A-Z][A-Za-z0-9-]{1,30}$"),
    (90, r"^(.+)-[A-Z][A-Za-z0-9-]{1,30}$"),
];

static PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let read =
        |(program, pattern): &(&'static str, &str)| Some((*program, Regex::new(pattern).ok()?));
    NAMES.iter().filter_map(read).collect()
});

static SHAPES: LazyLock<Vec<(usize, Regex)>> = LazyLock::new(|| {
    let read = |(least, pattern): &(usize, &str)| Some((*least, Regex::new(pattern).ok()?));
    LIKELY.iter().filter_map(read).collect()
});

/// A copy that a program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The path of the original.
    pub original: String,
    /// The program, as far as the name says it.
    pub program: &'static str,
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a copy of `{}` that {} wrote", self.original, self.program)
    }
}

/// Splits a path into its folder with a `/`, its name without the ending, and the ending.
fn parts(path: &str) -> Option<(&str, &str, &str)> {
    let from = path.rfind('/').map_or(0, |at| at + 1);
    let dot = from + path[from..].rfind('.')?;
    Some((&path[..from], &path[from..dot], &path[dot..]))
}

/// Returns what a file is a copy of, by its name; `None` if that is not clear, or if the original is
/// not next to it.
pub(crate) fn copied(vault: &Vault, path: &str) -> Option<Copied> {
    let (folder, name, ending) = parts(path)?;
    let found = |(program, pattern): &(&'static str, Regex)| {
        let original = format!("{folder}{}{ending}", pattern.captures(name)?.get(1)?.as_str());
        vault.files().is_file(&original).then_some(Copied { original, program })
    };
    PATTERNS.iter().find_map(found)
}

/// Returns the path of the file that a document may be a copy of, and how many of a hundred words
/// must be the same; `None` if the name is not that of a copy, or if that file does not exist.
pub(crate) fn likely_original(vault: &Vault, path: &str) -> Option<(String, usize)> {
    let (folder, name, ending) = parts(path)?;
    let found = |(least, pattern): &(usize, Regex)| {
        let original = format!("{folder}{}{ending}", pattern.captures(name)?.get(1)?.as_str());
        vault.files().is_file(&original).then_some((original, *least))
    };
    SHAPES.iter().find_map(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn original(name: &str) -> Option<&str> {
        let mut found = PATTERNS.iter().filter_map(|(_, pattern)| pattern.captures(name));
        found.next().and_then(|found| found.get(1)).map(|found| found.as_str())
    }

    #[test]
    fn names_of_sync_programs_are_recognised() {
        assert_eq!(PATTERNS.len(), NAMES.len());
        assert_eq!(SHAPES.len(), LIKELY.len());
        for name in [
            "x.sync-conflict-20240131-123456-ABCDEFG",
            "x.sync-conflict-20240131-123456",
            "x (Ana's conflicted copy 2024-01-31)",
            "x (Ana's conflicted copy 2024-01-31) (1)",
            "x (conflicted copy 2024-01-31 123456)",
            "x (Conflicted copy laptop 202401311234)",
            "x (In Konflikt stehende Kopie von Ana 2024-01-31)",
            "x (Copie en conflit de Ana 2024-01-31)",
            "x (Case Conflict)",
            "x (Case Conflict 1)",
            "x (Unicode Encoding Conflict)",
            "x (case clash from ana)",
            "x_conflict-20240131-123456",
            "x (SFConflict ana@example.com 2024-01-31-12-34-56)",
            "x-DESKTOP-4AB12CD",
            "x-LAPTOP-4AB12CDE-2",
            "x [Conflict]",
            "x_conf(1)",
            "x_DiskStation_Jan-31-123456-2024_Conflict",
            "x.Conflict",
            "x_LOCAL_4711",
        ] {
            assert_eq!(original(name), Some("x"), "{name}");
        }
        for name in [
            "x 2",
            "conflicted copy",
            "x (conflict of interest)",
            "x-DESKTOP",
            "x-conflict",
            "x.sync-conflict",
            "conflict-20240131-123456",
        ] {
            assert_eq!(original(name), None, "{name}");
        }
    }
}
