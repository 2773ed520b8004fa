//! Files of a vault that git ignores, by the `.gitignore` files of its repository (`spec/vault.md`,
//! VAULT-57 and VAULT-58).
//!
//! Only files of that name are read, from the top of the work tree down to the folder of a file: a
//! user's own configuration for all repositories would give different results on each machine. Only
//! the rules decide, even if git tracks a file. A link, a file that is too large and a line that is
//! not a pattern are ignored and reported.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Vault;
use super::files::{FileError, Files};
use super::outside;

/// Name of a file with rules.
pub(crate) const NAME: &str = ".gitignore";
/// Maximum size of a file with rules, in bytes.
pub(crate) const LIMIT: u64 = 64 << 10;
/// Maximum number of bytes of such files that one walk reads.
const TOTAL: u64 = 1 << 20;

/// A rule of git that ignores a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// File with the rule, relative to the vault: `.gitignore`, `../.gitignore`.
    pub file: String,
    /// Text of the rule.
    pub pattern: String,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in {}", self.pattern, self.file)
    }
}

/// The rules that apply in one folder: those of its `.gitignore` and of the folders above.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules(Option<Arc<Level>>);

/// The rules of one file.
#[derive(Debug)]
struct Level {
    /// Path of the file, relative to the vault.
    file: String,
    /// Length of the path of its folder in the work tree, with the `/` after it.
    base: usize,
    rules: Gitignore,
    /// Original lines of patterns that the crate needs in another spelling.
    lines: HashMap<String, String>,
    above: Rules,
}

/// The place of a vault in a git work tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkTree {
    /// Path of the vault's folder relative to the top, with a `/` after it; empty at the top.
    prefix: String,
    /// Rules of the folders above the vault.
    above: Rules,
    /// Files with rules above the vault that cannot be used.
    unusable: Vec<String>,
}

impl Rules {
    /// Returns the rule that ignores a path in the work tree. The folders above the path are
    /// not checked.
    fn matching(&self, path: &str, is_folder: bool) -> Option<Rule> {
        let mut next = self.0.as_deref();
        while let Some(level) = next {
            match level.rules.matched(&path[level.base..], is_folder) {
                ignore::Match::None => next = level.above.0.as_deref(),
                ignore::Match::Whitelist(_) => return None,
                ignore::Match::Ignore(glob) => {
                    let read = glob.original();
                    let pattern = level.lines.get(read).map_or(read, String::as_str).to_owned();
                    return Some(Rule { file: level.file.clone(), pattern });
                }
            }
        }
        None
    }

    /// Returns these rules with those of a file; `None` if its patterns cannot be used.
    pub(super) fn with(&self, text: &[u8], file: String, base: usize) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let mut builder = GitignoreBuilder::new("");
        let mut lines = HashMap::new();
        for line in text.trim_start_matches('\u{feff}').split('\n') {
            let line = line.trim_end_matches('\r');
            let pattern = as_pattern(line);
            if pattern != line {
                lines.insert(pattern.trim_end().to_owned(), line.trim_end().to_owned());
            }
            // Git skips a line that is not a pattern.
            let _ = builder.add_line(None, &pattern);
        }
        let rules = builder.build().ok()?;
        let above = self.clone();
        Some(Self(Some(Arc::new(Level { file, base, rules, lines, above }))))
    }
}

/// Rewrites a line so that the crate reads it as git does: braces outside of a set are literal, and
/// three or more asterisks are two.
pub(super) fn as_pattern(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    let mut is_in_set = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            '[' => is_in_set = true,
            ']' => is_in_set = false,
            '{' | '}' if !is_in_set => out.push('\\'),
            '*' if out.ends_with("**") && !out.ends_with("\\**") => continue,
            _ => {}
        }
        out.push(c);
    }
    out
}

impl WorkTree {
    /// Returns the place of a folder in its work tree; `None` outside of git, or if the rules above
    /// ignore the folder itself, which is then not part of the repository.
    fn of(root: &Path) -> Option<Self> {
        Self::beneath(root, Rules::default())
    }

    /// Returns the place of a folder in its work tree, with rules over which every `.gitignore`
    /// has precedence.
    fn beneath(root: &Path, first: Rules) -> Option<Self> {
        let (top, _) = outside::work_tree(root)?;
        let prefix = root.strip_prefix(top).ok()?.to_str()?;
        let files = Files::open(top).ok()?;
        Self::after(first, prefix, |path| files.read_optional(path, LIMIT))
    }

    /// Returns the place of a folder in a work tree. `read` returns the content of a file, which
    /// may not exist.
    pub(crate) fn new(
        prefix: &str,
        read: impl Fn(&str) -> Result<Option<Vec<u8>>, FileError>,
    ) -> Option<Self> {
        Self::after(Rules::default(), prefix, read)
    }

    fn after(
        above: Rules,
        prefix: &str,
        read: impl Fn(&str) -> Result<Option<Vec<u8>>, FileError>,
    ) -> Option<Self> {
        let mut tree = Self { above, ..Self::default() };
        if prefix.is_empty() {
            return Some(tree);
        }
        let mut up = "../".repeat(prefix.split('/').count());
        for name in prefix.split('/') {
            let file = format!("{up}{NAME}");
            match read(&format!("{}{NAME}", tree.prefix)) {
                Ok(None) => {}
                Ok(Some(text)) => match tree.above.with(&text, file.clone(), tree.prefix.len()) {
                    Some(rules) => tree.above = rules,
                    None => tree.unusable.push(file),
                },
                Err(_) => tree.unusable.push(file),
            }
            let folder = format!("{}{name}", tree.prefix);
            if tree.above.matching(&folder, true).is_some() {
                return None;
            }
            tree.prefix = format!("{folder}/");
            up.truncate(up.len() - "../".len());
        }
        Some(tree)
    }
}

/// The rules of git during one walk over a vault.
pub(super) struct Ignoring<'v> {
    vault: &'v Vault,
    tree: Option<WorkTree>,
    /// Number of bytes of files with rules that may still be read.
    left: u64,
    /// Files with rules that cannot be used, relative to the vault.
    pub(super) unusable: Vec<String>,
}

impl<'v> Ignoring<'v> {
    pub(super) fn new(vault: &'v Vault) -> Self {
        let mut tree = match &vault.work_tree {
            Some(given) => Option::clone(given),
            None => WorkTree::of(vault.root()),
        };
        let unusable = tree.as_mut().map(|tree| std::mem::take(&mut tree.unusable));
        Self { vault, tree, left: TOTAL, unusable: unusable.unwrap_or_default() }
    }

    /// Begins a walk with rules over which every `.gitignore` has precedence; `None` outside
    /// of git.
    pub(super) fn beneath(vault: &'v Vault, first: Rules) -> Option<Self> {
        let tree = WorkTree::beneath(vault.root(), first)?;
        Some(Self { vault, tree: Some(tree), left: TOTAL, unusable: Vec::new() })
    }

    /// Returns the path of the vault's folder relative to the top of the work tree, with a `/`
    /// after it; empty at the top.
    pub(super) fn prefix(&self) -> &str {
        self.tree.as_ref().map_or("", |tree| &tree.prefix)
    }

    /// Returns the rules above the vault.
    pub(super) fn above(&self) -> Rules {
        self.tree.as_ref().map(|tree| tree.above.clone()).unwrap_or_default()
    }

    /// Returns the rules in a folder of the vault that has a file with rules; the root has an
    /// empty path.
    pub(super) fn enter(&mut self, above: &Rules, folder: &str) -> Rules {
        let Some(tree) = &self.tree else { return above.clone() };
        let within = match folder {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        let file = format!("{within}{NAME}");
        let text = self.vault.files().read_optional(&file, LIMIT.min(self.left));
        let rules = match &text {
            Ok(None) => return above.clone(),
            Ok(Some(text)) => {
                self.left = self.left.saturating_sub(text.len() as u64);
                above.with(text, file.clone(), tree.prefix.len() + within.len())
            }
            Err(_) => None,
        };
        rules.unwrap_or_else(|| {
            self.unusable.push(file);
            above.clone()
        })
    }

    /// Returns the rule that ignores a path in the vault, if no folder above it is ignored.
    pub(super) fn rule(&self, rules: &Rules, path: &str, is_folder: bool) -> Option<Rule> {
        let tree = self.tree.as_ref().filter(|_| rules.0.is_some())?;
        rules.matching(&format!("{}{path}", tree.prefix), is_folder)
    }
}

impl Vault {
    /// Returns the vault as part of this work tree, or of none, instead of the one of its folder.
    #[must_use]
    pub(crate) fn within(mut self, tree: Option<WorkTree>) -> Self {
        self.work_tree = Some(Arc::new(tree));
        self
    }

    /// Returns the rule of git that ignores a file of the vault, or a folder above it.
    pub fn ignore_rule(&self, path: &str) -> Option<Rule> {
        let mut ignoring = Ignoring::new(self);
        let mut rules = ignoring.above();
        let mut from = 0;
        loop {
            let folder = path[..from].trim_end_matches('/');
            rules = ignoring.enter(&rules, folder);
            let end = path[from..].find('/').map(|at| from + at);
            let found = ignoring.rule(&rules, &path[..end.unwrap_or(path.len())], end.is_some());
            match end {
                Some(end) if found.is_none() => from = end + 1,
                _ => return found,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Rules {
        Rules::default().with(text.as_bytes(), NAME.to_owned(), 0).unwrap()
    }

    #[test]
    fn ignore_patterns_match_as_in_git() {
        for (text, path, is_folder, expected) in [
            ("*.tmp.md", "a/b.tmp.md", false, true),
            ("/b.md", "a/b.md", false, false),
            ("/b.md\r\n", "b.md", false, true),
            ("build/", "build", false, false),
            ("build/", "build", true, true),
            ("*.md\n!keep.md", "keep.md", false, false),
            ("{a,b}.md", "a.md", false, false),
            ("{a,b}.md", "{a,b}.md", false, true),
            ("[{]x.md", "{x.md", false, true),
            ("a/***/b.md", "a/c/d/b.md", false, true),
            ("a\\**.md", "a*b.md", false, true),
            ("a\\**.md", "acb.md", false, false),
            ("#a.md", "#a.md", false, false),
            ("\\#a.md", "#a.md", false, true),
            ("a.md  ", "a.md", false, true),
            ("A.md", "a.md", false, false),
            ("\u{feff}a.md", "a.md", false, true),
        ] {
            let found = rules(text).matching(path, is_folder).is_some();
            assert_eq!(found, expected, "{text:?} for {path:?}");
        }
    }

    #[test]
    fn nearest_gitignore_decides() {
        let inner = rules("*.md\n").with(b"!a.md\n", "n/.gitignore".to_owned(), 2).unwrap();
        assert!(inner.matching("n/a.md", false).is_none());
        let rule = inner.matching("n/b.md", false).unwrap();
        assert_eq!((rule.file.as_str(), rule.pattern.as_str()), (NAME, "*.md"));
        let rule = rules("{a}.md\n").matching("{a}.md", false).unwrap();
        assert_eq!(rule.pattern, "{a}.md");
    }

    #[test]
    fn ignored_folders_are_not_part_of_the_work_tree() {
        let read = |path: &str| Ok((path == NAME).then(|| b"/notes/\n*.tmp.md\n".to_vec()));
        assert!(WorkTree::new("notes/vault", read).is_none());
        let tree = WorkTree::new("docs/vault", read).unwrap();
        assert_eq!(tree.prefix, "docs/vault/");
        let rule = tree.above.matching("docs/vault/a.tmp.md", false).unwrap();
        assert_eq!(rule.file, "../../.gitignore");
    }
}
