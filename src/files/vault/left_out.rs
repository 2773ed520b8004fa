//! Files that are left out, each with the reason: Markdown files that are not documents
//! (`spec/vault.md`, VAULT-59), and artifacts that an event does not include
//! (`spec/publish.md`, PUB-6).

use std::fmt;

use super::Vault;
use super::copies::Copied;
use super::ignored::{self, Ignoring, Rule, Rules};
use super::tree::Kind;
use super::walk::{Entry, Listing, list};
use crate::values::codes::serialize_as_words;
use crate::values::model::filtered::Filtered;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::{DocumentId, IdError};
use crate::values::model::layout::{self, limit};

/// A file, or a folder with a `/` at its end, that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Path in the vault; a name that is not UTF-8 has replacement characters.
    pub path: String,
    /// Id; `None` if the file is not an artifact.
    pub id: Option<DocumentId>,
    /// Reason why it is left out.
    pub why: Reason,
}

impl LeftOut {
    /// Makes the entry of an artifact that an event does not include.
    pub fn artifact(id: &DocumentId, why: Reason) -> Self {
        Self { path: id.live_path(), id: Some(id.clone()), why }
    }

    /// Makes the entry of a file that is not a document.
    pub fn file(path: String, why: Reason) -> Self {
        Self { path, id: None, why }
    }

    /// Returns the id, or the path if the file is not an artifact.
    pub fn name(&self) -> &str {
        self.id.as_ref().map_or(&self.path, DocumentId::as_str)
    }

    /// Returns advice on how to include it.
    pub fn hint(&self) -> Option<Hint> {
        self.why.hint(self.id.as_ref()?)
    }
}

/// The reason why a file is not a document, or why an event does not include an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A pattern of `exclude` matches the path.
    Excluded,
    /// Git ignores the file.
    GitIgnored(Rule),
    /// A name on the path begins with `.`.
    HiddenName,
    /// The name is reserved for another kind of file: `CLAUDE.md`, `INDEX.md`, `node_modules`.
    Reserved,
    /// The file is the root's `README.md`, which the configuration does not make a document.
    Readme,
    /// The file is in the folder of Obsidian's templates.
    Template,
    /// The file is outside of `nodes/` and `sources/`.
    OutsideLayout,
    /// A symbolic link has an ending of Markdown.
    Link,
    /// A symbolic link leads to a folder.
    LinkedFolder,
    /// The path is a fifo, a socket or a device.
    NotAFile,
    /// The name is not UTF-8.
    NameNotUtf8,
    /// The name breaks a rule of ids.
    NameInvalid(IdError),
    /// The file exceeds the maximum size of a document.
    TooLarge,
    /// The folder is a vault of its own.
    NestedVault,
    /// The file is in the root of a structured vault and lacks frontmatter.
    NoFrontmatter,
    /// A changed governance file was not named in the command.
    NotNamed,
    /// The live file of a published document is missing.
    Missing,
    /// Git leaves the file out of the working copy.
    NotCheckedOut,
    /// The live file is marked as a draft of the next version.
    Draft,
    /// `status: draft` marks a document without a published version as a draft.
    NewDraft,
    /// This field, such as `draft: true`, marks the live file as a draft.
    MarkedDraft(String),
    /// The name is that of a copy that a program wrote next to the original.
    Copy(Copied),
    /// A new file has the text of this document, whose file is missing.
    Renamed(DocumentId),
    /// The file is in a folder of drafts, `_drafts`.
    DraftsFolder,
    /// The file is in a folder of backups that Logseq makes.
    Backup,
    /// A field of the live file marks its text as not for use.
    NotForUse {
        /// Field and its word, as in `status: rejected`.
        says: String,
        /// True if a version of the document is published.
        is_published: bool,
    },
    /// A git filter stores these bytes in place of the text.
    Filtered(&'static Filtered),
    /// The reference implementation erased the texts on purpose.
    Erased,
    /// The document is retired. Only naming it publishes it again.
    Retired,
    /// The document to retire is already retired.
    RetiredBefore,
    /// The document to move was already moved.
    MovedBefore,
    /// The principal is not an editor of the document.
    NotEditor,
}

serialize_as_words!(Reason);

impl Reason {
    /// Returns the word in reports.
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
            Self::LinkedFolder => "linked-folder",
            Self::NotAFile => "not-a-file",
            Self::NameNotUtf8 => "name-not-utf8",
            Self::NameInvalid(_) => "name-invalid",
            Self::TooLarge => "too-large",
            Self::NestedVault => "nested-vault",
            Self::NoFrontmatter => "no-frontmatter",
            Self::NotNamed => "not-named",
            Self::Missing => "missing",
            Self::NotCheckedOut => "not-checked-out",
            Self::Draft => "draft",
            Self::NewDraft => "new-draft",
            Self::MarkedDraft(_) => "marked-draft",
            Self::Copy(_) => "copy",
            Self::Renamed(_) => "renamed",
            Self::DraftsFolder => "drafts-folder",
            Self::Backup => "backup",
            Self::NotForUse { .. } => "not-for-use",
            Self::Filtered(_) => "git-filtered",
            Self::Erased => "erased",
            Self::Retired => "retired",
            Self::RetiredBefore => "retired-before",
            Self::MovedBefore => "moved-before",
            Self::NotEditor => "not-editor",
        }
    }
}

impl Reason {
    /// Returns advice on how to include an artifact that is left out.
    pub(crate) fn hint(&self, id: &DocumentId) -> Option<Hint> {
        match self {
            Self::NotForUse { is_published: true, .. } => {
                let call = |verb| Call::new(verb).value(id.as_str());
                let calls = [call(Verb::Retire), call(Verb::Publish)];
                Some(Hint::calls("{} withdraws the document, {} {publishes} the file", calls))
            }
            Self::Renamed(old) => {
                let mv = Call::new(Verb::Mv).value(old.as_str()).value(id.as_str());
                Some(Hint::call("{} records the move", mv))
            }
            Self::NewDraft | Self::MarkedDraft(_) | Self::DraftsFolder => {
                let all = Call::new(Verb::Publish).word("--all").word("--drafts");
                Some(Hint::call("{} includes drafts", all))
            }
            _ => None,
        }
    }

    /// Returns true if the file is a draft, which an option can include.
    pub(crate) fn is_draft(&self) -> bool {
        matches!(self, Self::Draft | Self::NewDraft | Self::MarkedDraft(_) | Self::DraftsFolder)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Excluded => "excluded by the configuration",
            Self::GitIgnored(rule) => return write!(f, "git ignores it, by {rule}"),
            Self::HiddenName => "the name begins with a dot",
            Self::Reserved => "the name is reserved",
            Self::Readme => "`readme: true` in the configuration makes it a document",
            Self::Template => "in the folder of templates, .obsidian/templates.json",
            Self::OutsideLayout => "outside of nodes/ and sources/",
            Self::Link => "a symbolic link, which is not followed",
            Self::LinkedFolder => "a symbolic link to a folder, which is not followed",
            Self::NotAFile => "not a regular file",
            Self::NameNotUtf8 => "the name is not UTF-8",
            Self::NameInvalid(why @ IdError::NotNfc(_)) => return why.fmt(f),
            Self::NameInvalid(why) => return write!(f, "{why}; {}", why.hint()),
            Self::TooLarge => "larger than 16 MiB",
            Self::NestedVault => "a vault of its own",
            Self::NoFrontmatter => "in the root, without frontmatter",
            Self::NotNamed => "it was not named; `--changed`, `--all` and its name publish it",
            Self::Missing => "its file is missing",
            Self::NotCheckedOut => "git leaves its file out of this sparse checkout",
            Self::Draft => "its live file is a draft",
            Self::NewDraft => "it says `status: draft`; name it to publish it",
            Self::MarkedDraft(says) => return write!(f, "it says `{says}`; name it to publish it"),
            Self::Copy(copied) => return write!(f, "{copied}; name it to publish it"),
            Self::Renamed(old) => {
                return write!(
                    f,
                    "it has the text of `{old}`, whose file is missing; name it to publish it"
                );
            }
            Self::DraftsFolder => "it is in a folder of drafts, `_drafts`; name it to publish it",
            Self::Backup => "it is in Logseq's folder of backups; name it to publish it",
            Self::NotForUse { says, is_published: true } => {
                return write!(f, "it says `{says}`, and its last version is published");
            }
            Self::NotForUse { says, .. } => {
                return write!(f, "it says `{says}`; name it to publish it");
            }
            Self::Filtered(form) => return write!(f, "{}; {}", form.file, form.remedy),
            Self::Erased => "its texts were erased on purpose; a new text needs a new id",
            Self::Retired => "it is retired",
            Self::RetiredBefore => "it is retired already",
            Self::MovedBefore => "it was moved already",
            Self::NotEditor => "you are not an editor of it",
        })
    }
}

impl Vault {
    /// Returns the Markdown files that the walk over the documents leaves out, in byte order. A
    /// folder that is left out has one entry for all of its files. Frontmatters are not read.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let mut ignoring = Ignoring::new(self);
        let mut found = Vec::new();
        let mut folders = vec![(String::new(), ignoring.above())];
        while let Some((folder, mut rules)) = folders.pop() {
            let listing = list(self.files(), &folder);
            if listing.is_vault {
                found.push(LeftOut::file(format!("{folder}/"), Reason::NestedVault));
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
                    false if entry.kind == Kind::Link && self.is_linked_folder(&path) => {
                        let rule = ignoring.rule(&rules, &path, false).map(Reason::GitIgnored);
                        Some(rule.unwrap_or(Reason::LinkedFolder))
                    }
                    false if !layout::is_markdown(&entry.name) => continue,
                    false => self.why_no_document(entry, &path, &ignoring, &rules),
                };
                match why {
                    Some(why) if is_folder => found.push(LeftOut::file(format!("{path}/"), why)),
                    Some(why) => found.push(LeftOut::file(path, why)),
                    None if is_folder => folders.push((path, rules.clone())),
                    None => {}
                }
            }
        }
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        found
    }

    /// Returns the files in the folder of packs that are named like a pack and are not
    /// governance files.
    pub(crate) fn odd_packs(&self) -> Vec<LeftOut> {
        let names = self.files().names(layout::PACKS).unwrap_or_default();
        let names = names.iter().filter(|name| name.ends_with(".yml") && !name.starts_with('.'));
        let odd = |name| {
            let path = format!("{}/{name}", layout::PACKS);
            let why = match self.files().kind(&path)? {
                Kind::Link => Reason::Link,
                Kind::File => Reason::NameInvalid(DocumentId::of_governance_file(&path).err()?),
                Kind::Folder | Kind::Special => Reason::NotAFile,
            };
            Some(LeftOut::file(path, why))
        };
        names.filter_map(odd).collect()
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
            _ if let Err(why) = DocumentId::of_document_file(path) => {
                Some(Reason::NameInvalid(why))
            }
            _ => {
                let stamp = self.files().stamp(path).ok()?;
                (stamp.length > limit::DOCUMENT).then_some(Reason::TooLarge)
            }
        }
    }
}

/// Names that users never use for Markdown.
const OURS: [&str; 3] = [".git", layout::VERSIONS, layout::CONTEXT_DIR];
