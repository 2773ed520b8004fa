//! Markdown files that are no documents, each with the reason (`spec/vault.md`, VAULT-59).

use super::Vault;
use super::ignored::{self, Ignoring, Rule, Rules};
use super::walk::{Entry, Kind, Listing, list};
use crate::model::layout::{self, limit};

/// A file, or a folder with a `/` at its end, that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path in the vault; what is no text has replacement characters.
    pub path: String,
    /// Why it is no document.
    pub why: Reason,
}

/// Why a file is no document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A pattern of `exclude` matches it.
    Excluded,
    /// Git ignores it.
    GitIgnored(Rule),
    /// A name on its path begins with `.`.
    HiddenName,
    /// Its name is that of another kind of file: `CLAUDE.md`, `INDEX.md`, `node_modules`.
    Reserved,
    /// It is the root's `README.md`, which the configuration does not make a document.
    Readme,
    /// It is in the folder of Obsidian's templates.
    Template,
    /// It is outside of `nodes/` and `sources/`.
    OutsideLayout,
    /// It is a symbolic link.
    Link,
    /// It is a fifo, a socket or a device.
    NotAFile,
    /// Its name is not UTF-8.
    NameNotUtf8,
    /// It is larger than a document may be.
    TooLarge,
    /// The folder is a vault of its own.
    NestedVault,
    /// It is in the root of a structured vault and has no frontmatter.
    NoFrontmatter,
}

impl Reason {
    /// The word in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Excluded => "excluded",
            Self::GitIgnored(_) => "git-ignored",
            Self::HiddenName => "hidden-name",
            Self::Reserved => "reserved",
            Self::Readme => "readme",
            Self::Template => "template",
            Self::OutsideLayout => "outside-layout",
            Self::Link => "symbolic-link",
            Self::NotAFile => "not-a-file",
            Self::NameNotUtf8 => "name-not-utf8",
            Self::TooLarge => "too-large",
            Self::NestedVault => "nested-vault",
            Self::NoFrontmatter => "no-frontmatter",
        }
    }
}

impl Vault {
    /// The Markdown files that the walk over the documents leaves out, in byte order. A folder that
    /// is left out as a whole stands for what is in it. Frontmatters are not read.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let mut ignoring = Ignoring::new(self);
        let mut found = Vec::new();
        let mut folders = vec![(String::new(), ignoring.above())];
        while let Some((folder, mut rules)) = folders.pop() {
            let listing = list(self.root(), &folder);
            if listing.is_vault {
                found.push(LeftOut { path: format!("{folder}/"), why: Reason::NestedVault });
                continue;
            }
            let has_rules =
                |listing: &Listing| listing.entries.iter().any(|e| e.name == ignored::NAME);
            if self.is_document_folder(&folder) && has_rules(&listing) {
                rules = ignoring.enter(&rules, &folder);
            }
            for entry in &listing.entries {
                let path = match folder.as_str() {
                    "" => entry.name.clone(),
                    folder => format!("{folder}/{}", entry.name),
                };
                let is_folder = entry.kind == Kind::Folder;
                let why = match is_folder {
                    _ if OURS.contains(&entry.name.as_str()) || path == layout::CONTEXT => continue,
                    true => self.why_no_folder(entry, &path, &ignoring, &rules),
                    false if !layout::is_markdown(&entry.name) => continue,
                    false => self.why_no_document(entry, &path, &ignoring, &rules),
                };
                match why {
                    Some(why) if is_folder => found.push(LeftOut { path: format!("{path}/"), why }),
                    Some(why) => found.push(LeftOut { path, why }),
                    None if is_folder => folders.push((path, rules.clone())),
                    None => {}
                }
            }
        }
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        found
    }

    fn why_no_folder(
        &self,
        entry: &Entry,
        path: &str,
        ignoring: &Ignoring<'_>,
        rules: &Rules,
    ) -> Option<Reason> {
        match entry.name.as_str() {
            _ if !entry.is_text => Some(Reason::NameNotUtf8),
            "node_modules" => Some(Reason::Reserved),
            name if name.starts_with('.') => Some(Reason::HiddenName),
            _ => ignoring.rule(rules, path, true).map(Reason::GitIgnored),
        }
    }

    fn why_no_document(
        &self,
        entry: &Entry,
        path: &str,
        ignoring: &Ignoring<'_>,
        rules: &Rules,
    ) -> Option<Reason> {
        if !entry.is_text {
            return Some(Reason::NameNotUtf8);
        }
        if entry.name.starts_with('.') {
            return Some(Reason::HiddenName);
        }
        if layout::is_never_document(path) {
            return Some(Reason::Reserved);
        }
        if !self.config().readme && layout::is_readme(path) {
            return Some(Reason::Readme);
        }
        if self.is_template(path) {
            return Some(Reason::Template);
        }
        if self.config().exclude.is_match(path) {
            return Some(Reason::Excluded);
        }
        if !self.is_document_path(path) {
            return Some(Reason::OutsideLayout);
        }
        if let Some(rule) = ignoring.rule(rules, path, false) {
            return Some(Reason::GitIgnored(rule));
        }
        match entry.kind {
            Kind::Link => Some(Reason::Link),
            Kind::Special => Some(Reason::NotAFile),
            _ => {
                let stamp = self.files().stamp(path).ok()?;
                (stamp.length > limit::DOCUMENT).then_some(Reason::TooLarge)
            }
        }
    }
}

/// What is never Markdown of a user.
const OURS: [&str; 3] = [".git", layout::VERSIONS, layout::CONTEXT_DIR];
