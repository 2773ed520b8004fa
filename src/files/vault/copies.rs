//! Copies that programs or people write next to a document: sync programs after a conflict of two
//! machines, git's merge tools, and editors (`spec/document.md`, DOC-41 and DOC-42).

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use super::Vault;
use crate::values::model::id::DocumentId;

/// Patterns of names that only copies have: the text is a copy, whatever its content. The first
/// group is the name of the original.
const NAMES: &[(&str, &str)] = &[
    ("Syncthing", r"^(.+)\.sync-conflict-\d{8}-\d{6}(-[A-Z0-9]{7})?$"),
    // Dropbox, Nextcloud, ownCloud, Box, Obsidian Sync and others, in the languages of their users.
    (
        "a sync program",
        r"^(.+) \((?i:[^()]*(conflict(ed|ing)? copy|konfliktkopie|kopie[^()]*konflikt|konflikt[^()]*kopie|copie[^()]*confli[ct]|copia[^()]*confli[ct]t|c[oó]pia[^()]*conflito|conflict[^()]*kopie|衝突|冲突|競合|충돌|конфликт)[^()]*)(\(\d+\))?\)( \(\d+\))?$",
    ),
    (
        "a sync program",
        r"^(.+?)[ ._-]*[(\[](?i:((file|case|unicode encoding|white ?space|selective sync) )?conflict(ed)?( copy)?( \(?[\d-]+\)?)*)[)\]]$",
    ),
    ("a sync program", r"^(.+?)[ ._-]+(?i:conflict(ed)?[ _-]copy)([ _-][\w -]*)?$"),
    ("a sync program", r"^(.+)[._-](?i:conflict)-\d{8}-\d{6}$"),
    ("a sync program", r"^(.+)\.(?i:conflict(ed)?)\d*$"),
    ("Nextcloud", r"^(.+) \(case clash from [^()]*\)$"),
    ("Seafile", r"^(.+) \(SFConflict [^()]*\)$"),
    ("OneDrive", r"^(.+)-(DESKTOP|LAPTOP)-[A-Z0-9]{7,8}(-\d+)?$"),
    ("Google Drive", r"^(.+)_conf\(\d+\)$"),
    ("Google Drive", r"^(?i:copy of|kopie von|copie de|copia de|copia di|cópia de) (.+)$"),
    ("pCloud", r"^(.+) \(\d{4}_\d{2}_\d{2} \d{2}_\d{2}_\d{2} UTC\)$"),
    ("Synology Drive", r"^(.+)_[^_]+_[A-Z][a-z]{2}-\d{2}-\d{6}-\d{4}_(Case)?Conflict$"),
    ("an editor", r"^(.+)\.(?i:orig|bak)$"),
    ("an editor", r"^(.+)~$"),
    ("an editor", r"^[~.]*~\$?(.+)$"),
];

/// Pattern of names that git's merge tools use, with the number of their process. The text is a
/// copy if another file of the set exists, or if it is nearly that of the original.
const MERGED: &str = r"^(.+)_(BACKUP|BASE|LOCAL|REMOTE|MERGED)(_\d+(?:_\d+)?)$";

/// Words of these names.
const SET: [&str; 5] = ["BACKUP", "BASE", "LOCAL", "REMOTE", "MERGED"];

/// Patterns of names that people use too: the text is a copy only if it is nearly that of the
/// original. The number is the minimum percentage of common words.
const LIKELY: &[(usize, &str)] = &[
    (75, r"^(.+) \d{1,2}$"),
    (75, r"^(.+?)( ?\(\d{1,2}\)|( -)? \(?(?i:copy|kopie|copie|copia|cópia)( ?\(?\d{1,2}\)?)?\)?)$"),
    (
        75,
        r"^(.+?)[ ._-](?i:conflict|copy|kopie|copie|copia|backup|bak|old|mine|theirs|remote|local|base|merged)\d*$",
    ),
    // The name of a computer may contain hyphens, and so may that of a document.
    (90, r"^(.+?)-[A-Za-z][A-Za-z0-9-]{1,30}$"),
    (90, r"^(.+)-[A-Za-z][A-Za-z0-9-]{1,30}$"),
];

static PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let read =
        |(program, pattern): &(&'static str, &str)| Some((*program, Regex::new(pattern).ok()?));
    NAMES.iter().filter_map(read).collect()
});

static SET_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(MERGED).ok());

static SHAPES: LazyLock<Vec<(usize, Regex)>> = LazyLock::new(|| {
    let read = |(least, pattern): &(usize, &str)| Some((*least, Regex::new(pattern).ok()?));
    LIKELY.iter().filter_map(read).collect()
});

/// A copy that a program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Path of the original.
    pub original: String,
    /// Program that wrote the copy, as far as its name shows.
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

/// Returns the original that a file is a copy of, by its name; `None` if that is not clear, or if
/// the original neither is next to it nor has a history.
pub(crate) fn copied(vault: &Vault, path: &str) -> Option<Copied> {
    let (folder, name, ending) = parts(path)?;
    let found = |(program, pattern): &(&'static str, Regex)| {
        let original = format!("{folder}{}{ending}", pattern.captures(name)?.get(1)?.as_str());
        is_original(vault, &original).then_some(Copied { original, program })
    };
    PATTERNS.iter().find_map(found).or_else(|| merged(vault, path))
}

/// Returns true if a file or the history of its artifact exists: a sync program may also rename the
/// file of a published document.
fn is_original(vault: &Vault, path: &str) -> bool {
    let of_document = DocumentId::of_document_file(path);
    let id = of_document.or_else(|_| DocumentId::of_governance_file(path));
    let has_history = |id: DocumentId| vault.files().exists(&id.history_path());
    vault.files().is_file(path) || id.is_ok_and(has_history)
}

/// Returns the original of a file that a merge tool wrote.
fn merged(vault: &Vault, path: &str) -> Option<Copied> {
    let (folder, name, ending) = parts(path)?;
    let (_, [of, own, number]) = SET_NAME.as_ref()?.captures(name)?.extract();
    let original = format!("{folder}{of}{ending}");
    if !is_original(vault, &original) {
        return None;
    }
    let mut others = SET.iter().filter(|word| **word != own);
    let is_in_set =
        others.any(|word| vault.files().is_file(&format!("{folder}{of}_{word}{number}{ending}")));
    let read = |path: &str| String::from_utf8(vault.files().read(path, COMPARED).ok()?).ok();
    let is_same = || {
        let (a, b) = (read(path)?, read(&original)?);
        Some(is_near(body(&a), body(&b), 90))
    };
    let is_copy = is_in_set || is_same().unwrap_or(false);
    is_copy.then_some(Copied { original, program: "a merge tool" })
}

/// Maximum size of a text that is compared with another one.
pub(crate) const COMPARED: u64 = 1 << 20;

/// Returns a text without its frontmatter.
fn body(text: &str) -> &str {
    let fields = text.strip_prefix("---\n");
    fields.and_then(|rest| rest.split_once("\n---\n")).map_or(text, |(_, body)| body)
}

/// Returns the path of the file that a document may be a copy of, and the minimum percentage of
/// common words; `None` if the name is not that of a copy, or if that file does not exist.
pub(crate) fn likely_original(vault: &Vault, path: &str) -> Option<(String, usize)> {
    let (folder, name, ending) = parts(path)?;
    let found = |(least, pattern): &(usize, Regex)| {
        let original = format!("{folder}{}{ending}", pattern.captures(name)?.get(1)?.as_str());
        vault.files().is_file(&original).then_some((original, *least))
    };
    SHAPES.iter().find_map(found)
}

/// Returns true if two texts share at least this percentage of their words.
pub(crate) fn is_near(a: &str, b: &str, least: usize) -> bool {
    let mut words: HashMap<&str, usize> = HashMap::new();
    let (mut all, mut same) = (0, 0);
    for word in a.split_whitespace() {
        *words.entry(word).or_default() += 1;
        all += 1;
    }
    for word in b.split_whitespace() {
        all += 1;
        if let Some(left) = words.get_mut(word).filter(|left| **left > 0) {
            *left -= 1;
            same += 1;
        }
    }
    same > 0 && 200 * same >= least * all
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
            "Copy of x",
            "Kopie von x",
            "x (Konfliktkopie von Ana 2024-01-31)",
            "x (conflict copy)",
            "x (Conflict)",
            "x (conflict 2)",
            "x (File Conflict)",
            "x [conflicted]",
            "x-conflicted copy",
            "x_conflicted-copy-2024-01-31",
            "x.conflict",
            "x.conflict-20240131-123456",
            "x-conflict-20240131-123456",
            "x (Ana 的衝突複本 2024-01-31)",
            "x (2024_01_31 12_34_56 UTC)",
            "x.orig",
            "x.bak",
            "x~",
            "~x",
            "~$x",
        ] {
            assert_eq!(original(name), Some("x"), "{name}");
        }
        for name in [
            "x 2",
            "conflicted copy",
            "x (conflict of interest)",
            "x-DESKTOP",
            "x-conflict",
            "x_BACKUP_2024",
            "x (Kopie)",
            "x.remote",
            "x.sync-conflict",
            "conflict-20240131-123456",
        ] {
            assert_eq!(original(name), None, "{name}");
        }
    }

    #[test]
    fn names_that_people_also_use_are_only_likely_copies() {
        let of = |name: &str| {
            let mut found = SHAPES.iter().filter_map(|(_, shape)| shape.captures(name));
            found.next().and_then(|found| Some(found.get(1)?.as_str().to_owned()))
        };
        for name in "x 2 ¦ x (2) ¦ x copy ¦ x - Copy ¦ x (Kopie) ¦ x (copy) ¦ x-conflict ¦ x_old ¦ x.remote \
                     ¦ x.local ¦ x-anas-imac ¦ x-MacBook ¦ x_copy2"
            .split(" ¦ ")
        {
            assert_eq!(of(name.trim()).as_deref(), Some("x"), "{name}");
        }
        for name in ["x", "xcopy", "x_policy", "x (draft)"] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn texts_are_near_if_most_of_their_words_are_the_same() {
        let (a, b) = ("# Returns\n\nWithin 30 days.\n", "# Returns\n\nWithin 45 days.\n");
        assert!(is_near(a, a, 100) && is_near(a, b, 75));
        assert!(!is_near(a, b, 90) && !is_near("", "", 75) && !is_near(a, "", 1));
        assert!(!is_near("a a a b", "a c d e", 75));
    }
}
