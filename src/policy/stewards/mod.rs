//! Stewards: the principals who may read, edit and approve each document (paper, sections 4.5.1 and
//! 4.5.2; `spec/stewards.md`).
//!
//! [`read()`] turns the text of `stewards.yaml` into [`Stewards`], or reports every problem with
//! its place. [`Stewards::resolve`] returns the one scope that decides about an artifact:
//! resolution is total, deterministic, and does not depend on the order of the file. Nothing here
//! writes; `edit` computes a new text of the file.
//!
//! If a file has any problem, all of its assignments are ignored: if only the faulty one were
//! skipped, the stewards of a broader scope would decide about its documents.

pub mod basis;
pub mod codeowners;
pub mod edit;
mod problem;
mod reach;
mod read;
mod resolve;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::values::codes::words;
use crate::values::model::id::{DocumentId, fold};
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::values::model::tag::Tag;

pub use basis::{Basis, StewardsInForce};
pub use problem::{ProblemKind, StewardsProblem};
pub use reach::Stuck;
pub use read::{MAX_ENTRIES, MAX_PROBLEMS, Reading, read};
pub use resolve::{Holder, PassedOver, Resolution, Why};

words! {
    /// The permissions of a steward; each role includes those of the lesser ones.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Role {
        /// May read.
        Viewer = "viewer",
        /// May read, edit and submit.
        Editor = "editor",
        /// May read, edit, submit, approve and reject.
        Reviewer = "reviewer",
    }
}

impl Role {
    /// Every role, the least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Editor, Self::Reviewer];

    /// Parses a role; `None` if the word is not one.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }
}

/// The artifacts that an assignment applies to. Scopes are ordered by priority.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// One artifact.
    Document(DocumentId),
    /// A folder and everything below it, without a final `/`.
    Folder(String),
    /// Every document with a tag.
    Tag(Tag),
    /// The whole vault.
    Vault,
}

words! {
    /// The kind of a scope.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum ScopeKind {
        /// One artifact.
        Document = "document",
        /// A folder.
        Folder = "folder",
        /// A tag.
        Tag = "tag",
        /// The vault.
        Vault = "vault",
    }
}

impl ScopeKind {
    /// Every kind, in the order of the priority.
    pub const ALL: [Self; 4] = [Self::Document, Self::Folder, Self::Tag, Self::Vault];

    /// Returns the key of `stewards.yaml` that contains such scopes.
    pub fn key(self) -> &'static str {
        match self {
            Self::Document => "documents",
            Self::Folder => "folders",
            Self::Tag => "tags",
            Self::Vault => "vault",
        }
    }
}

impl Scope {
    /// Parses the key of a scope as `stewards.yaml` spells it.
    ///
    /// # Errors
    /// The name is not valid for a scope of this kind.
    pub fn parse(kind: ScopeKind, name: &str) -> Result<Self, ProblemKind> {
        match kind {
            ScopeKind::Document => read::document(name).map(Self::Document),
            ScopeKind::Folder => read::folder(name).map(Self::Folder),
            ScopeKind::Tag => read::tag(name).map(Self::Tag),
            ScopeKind::Vault => Ok(Self::Vault),
        }
    }

    /// Returns the kind of the scope.
    pub fn kind(&self) -> ScopeKind {
        match self {
            Self::Document(_) => ScopeKind::Document,
            Self::Folder(_) => ScopeKind::Folder,
            Self::Tag(_) => ScopeKind::Tag,
            Self::Vault => ScopeKind::Vault,
        }
    }

    /// Returns the key below that of its kind, as a writer spells it.
    ///
    /// This is the id, the folder with a final `/`, or the tag; `None` for the vault.
    pub fn name(&self) -> Option<String> {
        match self {
            Self::Document(id) => Some(id.to_string()),
            Self::Folder(folder) => Some(format!("{folder}/")),
            Self::Tag(tag) => Some(tag.to_string()),
            Self::Vault => None,
        }
    }

    /// Returns the folded spelling, which is compared between scopes of one kind.
    pub(crate) fn folded(&self) -> String {
        match self {
            Self::Document(id) => id.folded(),
            Self::Folder(folder) => fold(folder),
            Self::Tag(tag) => fold(tag.as_str()),
            Self::Vault => String::new(),
        }
    }
}

/// Writes a scope for people: `document nodes/a`, `folder nodes/legal/`, `tag #security`, `vault`.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document(id) => write!(f, "document {id}"),
            Self::Folder(folder) => write!(f, "folder {folder}/"),
            Self::Tag(tag) => write!(f, "tag #{tag}"),
            Self::Vault => f.write_str("vault"),
        }
    }
}

/// The holder of a role: one principal, or each member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// One principal, as the file spells it.
    Principal(Principal),
    /// The name of a group of the file.
    Group(String),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal(principal) => principal.fmt(f),
            Self::Group(name) => write!(f, "group {name}"),
        }
    }
}

/// One line of a scope's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The principal or group that is assigned.
    pub who: Who,
    /// The role that it gets.
    pub role: Role,
    /// Line in the file, from 1.
    pub line: usize,
}

/// A scope with its assignments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stewardship {
    /// The scope.
    pub scope: Scope,
    /// Its assignments, at least one, in the order of the file.
    pub assignments: Vec<Assignment>,
    /// The roles of the principals that it names.
    named: HashMap<PrincipalKey, Role>,
    /// Its groups with their roles.
    groups: BTreeMap<String, Role>,
}

/// The settings of `review` at one scope; `None` leaves a setting to a broader scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReviewEntry {
    /// Number of reviewers who must approve.
    pub required: Option<u32>,
    /// Number of days after which an approval is due again.
    pub max_age: Option<u64>,
}

/// The requirements of a review of one artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewSettings {
    /// Number of reviewers who must approve: 1 or more.
    pub required: u32,
    /// Number of days after which an approval is due again; `None` if it never is.
    pub max_age: Option<u64>,
}

impl Default for ReviewSettings {
    fn default() -> Self {
        Self { required: 1, max_age: None }
    }
}

/// The members of a group.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The members in the order of the file.
    pub members: Vec<Principal>,
    keys: HashMap<PrincipalKey, usize>,
}

/// Scopes of all kinds, each with a value; found by their folded spelling.
#[derive(Clone, Debug)]
pub(crate) struct Scoped<T> {
    documents: BTreeMap<String, T>,
    folders: BTreeMap<String, T>,
    tags: BTreeMap<String, T>,
    vault: Option<T>,
}

impl<T> Default for Scoped<T> {
    fn default() -> Self {
        let (documents, folders, tags) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { documents, folders, tags, vault: None }
    }
}

impl<T> Scoped<T> {
    /// Inserts a value at a scope, unless it already has one; returns true if it had none.
    fn put(&mut self, scope: &Scope, value: T) -> bool {
        let folded = scope.folded();
        let map = match scope.kind() {
            ScopeKind::Document => &mut self.documents,
            ScopeKind::Folder => &mut self.folders,
            ScopeKind::Tag => &mut self.tags,
            ScopeKind::Vault => {
                let is_new = self.vault.is_none();
                self.vault.get_or_insert(value);
                return is_new;
            }
        };
        let is_new = !map.contains_key(&folded);
        map.entry(folded).or_insert(value);
        is_new
    }

    /// Returns the values in the order of their scopes: documents, folders, tags, vault, each by
    /// its folded spelling.
    fn iter(&self) -> impl Iterator<Item = &T> {
        let named = self.documents.values().chain(self.folders.values()).chain(self.tags.values());
        named.chain(&self.vault)
    }

    fn get(&self, scope: &Scope) -> Option<&T> {
        match scope.kind() {
            ScopeKind::Document => self.documents.get(&scope.folded()),
            ScopeKind::Folder => self.folders.get(&scope.folded()),
            ScopeKind::Tag => self.tags.get(&scope.folded()),
            ScopeKind::Vault => self.vault.as_ref(),
        }
    }
}

/// The content of a `stewards.yaml` without a problem. The default is empty.
#[derive(Clone, Debug, Default)]
pub struct Stewards {
    scopes: Scoped<Stewardship>,
    review: Scoped<(Scope, ReviewEntry)>,
    groups: BTreeMap<String, Group>,
}

impl Stewards {
    /// Returns every scope with its assignments: documents, folders, tags, the vault, each kind in
    /// byte order of the folded spelling.
    pub fn scopes(&self) -> impl Iterator<Item = &Stewardship> {
        self.scopes.iter()
    }

    /// Returns the assignments at exactly this scope.
    pub fn at(&self, scope: &Scope) -> Option<&Stewardship> {
        self.scopes.get(scope)
    }

    /// Returns the groups, by name.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.groups.iter().map(|(name, group)| (name.as_str(), group))
    }

    /// Returns the settings of each scope that `review` names, in the order of
    /// [`Stewards::scopes`].
    pub fn review_entries(&self) -> impl Iterator<Item = &(Scope, ReviewEntry)> {
        self.review.iter()
    }

    /// Returns true if no scope has a steward.
    pub fn is_empty(&self) -> bool {
        self.scopes.iter().next().is_none()
    }
}

impl Group {
    /// Returns true if a principal is a member.
    pub fn has(&self, principal: &PrincipalKey) -> bool {
        self.keys.contains_key(principal)
    }

    /// Adds a member; returns the line of an equal one, if any.
    fn add(&mut self, member: Principal, line: usize) -> Option<usize> {
        let before = self.keys.insert(member.key(), line);
        self.members.push(member);
        before
    }
}
