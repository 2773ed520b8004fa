//! Reading of the text of `stewards.yaml`, with limits. A problem does not stop the reading, so
//! that every problem is found.

use super::{
    Assignment, Group, ProblemKind, ReviewEntry, Role, Scope, ScopeKind, Stewards, StewardsProblem,
    Stewardship, Who,
};
use crate::files::vault::audit::days;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{CONTEXT, ENDING, limit};
use crate::values::model::principal::Principal;
use crate::values::model::tag::Tag;
use crate::values::model::visible::steers;
use crate::values::text_util::Nearest;
use crate::values::yaml::{self, Dialect, Node};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of assignments, members of groups and review entries of a file together.
pub const MAX_ENTRIES: usize = 10_000;

/// Maximum number of problems that are reported for a file.
pub const MAX_PROBLEMS: usize = 100;

/// Maximum length of the name of a group, in bytes.
const MAX_GROUP_BYTES: usize = 200;

/// Maximum of `required`.
const MAX_REQUIRED: u64 = 100;

const KEYS: &[&str] =
    &["version", "vault", "nest", "data_room", "folders", "tags", "documents", "groups", "review"];
const REVIEW_KEYS: &[&str] = &["vault", "nest", "data_room", "folders", "tags", "documents"];
const STEWARD_KEYS: &[&str] = &["principal", "email", "group", "role"];
const SETTING_KEYS: &[&str] = &["required", "max_age"];

/// The result of reading a `stewards.yaml`.
#[derive(Debug)]
pub struct Reading {
    /// The stewards; `None` if there are problems.
    pub stewards: Option<Stewards>,
    /// The problems in the order of the file; at most [`MAX_PROBLEMS`].
    pub problems: Vec<StewardsProblem>,
}

/// Reads the text of a `stewards.yaml`. An empty text is valid.
pub fn read(text: &str) -> Reading {
    let mut reader = Reader::default();
    match root(text) {
        Ok(root) => reader.file(&root),
        Err(problem) => reader.problems.push(problem),
    }
    let mut problems = reader.problems;
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems.truncate(MAX_PROBLEMS);
    Reading { stewards: problems.is_empty().then_some(reader.stewards), problems }
}

fn root(text: &str) -> Result<Node, StewardsProblem> {
    let at = |line, column, kind| StewardsProblem { line, column, kind };
    if text.len() > limit::STEWARDS {
        let message =
            format!("a stewards.yaml has at most 1 MiB, but this one has {} bytes", text.len());
        return Err(at(1, 1, ProblemKind::Limit(message)));
    }
    yaml::parse(text, Dialect::Format)
        .map_err(|why| at(why.line, why.column, ProblemKind::Yaml(why.problem)))
}

#[derive(Default)]
struct Reader {
    stewards: Stewards,
    problems: Vec<StewardsProblem>,
    near: Nearest,
    entries: usize,
    /// True while `review` is read.
    is_review: bool,
    /// The line of each scope, separately for roles and for `review`.
    lines: HashMap<(bool, ScopeKind, String), usize>,
}

impl Reader {
    fn problem(&mut self, node: &Node, kind: ProblemKind) {
        // More problems are kept than are reported: they are sorted by line later.
        if self.problems.len() <= MAX_ENTRIES {
            let (line, column) = (node.line, node.column);
            self.problems.push(StewardsProblem { line, column, kind });
        }
    }

    fn expected(&mut self, node: &Node, what: &str) {
        self.problem(node, ProblemKind::Value(what.to_owned()));
    }

    fn unknown(&mut self, key: &Node, known: &'static [&'static str]) {
        let found = key.text().unwrap_or_default().to_owned();
        let near = self.near.find(&found, known.iter().copied());
        let near = near.and_then(|near| known.iter().copied().find(|key| *key == near));
        self.problem(key, ProblemKind::Key { found, near, known });
    }

    /// Returns the entries of a mapping; empty if the value is missing.
    fn entries<'n>(&mut self, node: &'n Node) -> &'n [(Node, Node)] {
        match node.entries() {
            Some(entries) => entries,
            None => {
                if !node.is_null() {
                    self.expected(node, "`key: value` lines");
                }
                &[]
            }
        }
    }

    /// Counts one more entry of the file; returns true while the limit is not exceeded.
    fn count(&mut self, node: &Node) -> bool {
        self.entries += 1;
        if self.entries == MAX_ENTRIES + 1 {
            let message = format!("more than {MAX_ENTRIES} assignments, members and settings");
            self.problem(node, ProblemKind::Limit(message));
        }
        self.entries <= MAX_ENTRIES
    }

    fn file(&mut self, root: &Node) {
        let entries = self.entries(root);
        // Assignments may name groups that the file defines later.
        if let Some(groups) = root.get("groups") {
            self.groups(groups);
        }
        for (key, value) in entries {
            match key.text().unwrap_or_default() {
                "version" if value.number() != Some(1) => {
                    self.expected(value, "version 1, the only one that this program reads");
                }
                "version" | "groups" => {}
                "review" => self.review(value),
                _ => match kind_of(key) {
                    Some(kind) => {
                        self.scopes(kind, key, value, |reader, scope, value| {
                            reader.stewardship(&scope, value);
                        });
                    }
                    None => self.unknown(key, KEYS),
                },
            }
        }
    }

    fn groups(&mut self, node: &Node) {
        for (key, value) in self.entries(node) {
            let name = key.text().unwrap_or_default();
            if name.is_empty() || name.len() > MAX_GROUP_BYTES || name.contains(steers) {
                self.expected(key, "a name of 1 to 200 bytes without invisible characters");
            }
            let mut group = Group::default();
            for item in self.items(value, "a list of at least one principal") {
                if !self.count(item) {
                    break;
                }
                let Some(member) = self.principal(item) else { continue };
                let what = member.to_string();
                if let Some(first) = group.add(member, item.line) {
                    self.problem(item, ProblemKind::Twice { what, first });
                }
            }
            self.stewards.groups.insert(name.to_owned(), group);
        }
    }

    /// Returns the items of a list, which must not be empty.
    fn items<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        let items = node.items().unwrap_or_default();
        if items.is_empty() {
            self.expected(node, what);
        }
        items
    }

    fn principal(&mut self, node: &Node) -> Option<Principal> {
        let Some(text) = node.text().filter(|_| !node.is_null()) else {
            self.expected(node, "a principal");
            return None;
        };
        match text.parse() {
            Ok(principal) => Some(principal),
            Err(why) => {
                self.problem(node, ProblemKind::Principal(why));
                None
            }
        }
    }

    /// Reads the value of `vault`, `folders`, `tags` or `documents`, scope by scope.
    fn scopes(
        &mut self,
        kind: ScopeKind,
        key: &Node,
        value: &Node,
        take: impl Fn(&mut Self, Scope, &Node),
    ) {
        if value.is_null() {
            return;
        }
        if kind == ScopeKind::Vault {
            if self.is_first(key, &Scope::Vault) {
                take(self, Scope::Vault, value);
            }
            return;
        }
        for (name, value) in self.entries(value) {
            if let Some(scope) = self.scope(kind, name)
                && self.is_first(name, &scope)
            {
                take(self, scope, value);
            }
        }
    }

    /// Returns true if a scope is read for the first time; reports a problem otherwise.
    fn is_first(&mut self, node: &Node, scope: &Scope) -> bool {
        let name = (self.is_review, scope.kind(), scope.folded());
        match self.lines.insert(name, node.line) {
            None => true,
            Some(first) => {
                let what = node.text().unwrap_or_default().to_owned();
                self.problem(node, ProblemKind::Twice { what, first });
                false
            }
        }
    }

    fn scope(&mut self, kind: ScopeKind, name: &Node) -> Option<Scope> {
        let text = name.text().unwrap_or_default();
        Scope::parse(kind, text).map_err(|kind| self.problem(name, kind)).ok()
    }

    fn stewardship(&mut self, scope: &Scope, node: &Node) {
        let mut assignments: Vec<Assignment> = Vec::new();
        let (mut named, mut groups) = (HashMap::new(), BTreeMap::new());
        let mut lines: HashMap<String, usize> = HashMap::new();
        for item in self.items(node, "a list of at least one `{principal: ..., role: ...}`") {
            if !self.count(item) {
                break;
            }
            let Some((who, role)) = self.assignment(item) else { continue };
            let compared = match &who {
                Who::Principal(principal) => format!("p{}", principal.key().as_str()),
                Who::Group(name) => format!("g{name}"),
            };
            if let Some(first) = lines.insert(compared, item.line) {
                self.problem(item, ProblemKind::Twice { what: who.to_string(), first });
                continue;
            }
            match &who {
                Who::Principal(principal) => drop(named.insert(principal.key(), role)),
                Who::Group(name) => drop(groups.insert(name.clone(), role)),
            }
            assignments.push(Assignment { who, role, line: item.line });
        }
        let stewardship = Stewardship { scope: scope.clone(), assignments, named, groups };
        self.stewards.scopes.put(scope, stewardship);
    }

    /// Reads one `{principal: ..., role: ...}`.
    fn assignment(&mut self, node: &Node) -> Option<(Who, Role)> {
        if node.entries().is_none() {
            self.expected(node, "`{principal: ..., role: ...}`");
            return None;
        }
        let (mut who, mut role, mut names) = (None, None, 0);
        for (key, value) in self.entries(node) {
            match key.text().unwrap_or_default() {
                "principal" | "email" => {
                    names += 1;
                    who = self.principal(value).map(Who::Principal);
                }
                "group" => {
                    names += 1;
                    who = self.group(value).map(Who::Group);
                }
                "role" => role = Some(self.role(value)),
                _ => self.unknown(key, STEWARD_KEYS),
            }
        }
        if names != 1 {
            self.expected(node, "one of `principal`, `email` and `group`");
            return None;
        }
        if role.is_none() {
            self.expected(node, "a `role`");
        }
        Some((who?, role??))
    }

    fn group(&mut self, node: &Node) -> Option<String> {
        let found = node.text().unwrap_or_default().to_owned();
        if self.stewards.groups.contains_key(&found) {
            return Some(found);
        }
        let names = self.stewards.groups.keys().map(String::as_str);
        let near = self.near.find(&found, names).map(str::to_owned);
        self.problem(node, ProblemKind::Group { found, near });
        None
    }

    fn role(&mut self, node: &Node) -> Option<Role> {
        let found = node.text().unwrap_or_default().to_owned();
        let role = Role::from_word(&found);
        if role.is_none() {
            let near = self.near.find(&found, Role::ALL.map(Role::as_str)).map(str::to_owned);
            let near = near.and_then(|near| Role::from_word(&near)).map(Role::as_str);
            self.problem(node, ProblemKind::Role { found, near });
        }
        role
    }

    fn review(&mut self, node: &Node) {
        self.is_review = true;
        for (key, value) in self.entries(node) {
            match kind_of(key) {
                Some(kind) => self.scopes(kind, key, value, |reader, scope, value| {
                    reader.settings(scope, value);
                }),
                None => self.unknown(key, REVIEW_KEYS),
            }
        }
        self.is_review = false;
    }

    fn settings(&mut self, scope: Scope, node: &Node) {
        if !self.count(node) {
            return;
        }
        if node.entries().is_none_or(<[_]>::is_empty) {
            return self.expected(node, "`{required: N, max_age: 90d}`");
        }
        let mut entry = ReviewEntry::default();
        for (key, value) in self.entries(node) {
            match key.text().unwrap_or_default() {
                "required" => {
                    let number = value.number().filter(|n| (1..=MAX_REQUIRED).contains(n));
                    entry.required = number.and_then(|n| u32::try_from(n).ok());
                    if entry.required.is_none() {
                        self.expected(value, "a number of reviewers from 1 to 100");
                    }
                }
                "max_age" => match days(value) {
                    Ok(days) => entry.max_age = Some(days),
                    Err(_) => self.expected(value, "days from `1d` to `36500d`"),
                },
                _ => self.unknown(key, SETTING_KEYS),
            }
        }
        self.stewards.review.put(&scope.clone(), (scope, entry));
    }
}

/// Returns the kind of the scopes under a key of the file, or of its `review`.
pub(super) fn kind_of(key: &Node) -> Option<ScopeKind> {
    match key.text().unwrap_or_default() {
        "vault" | "nest" | "data_room" => Some(ScopeKind::Vault),
        "folders" => Some(ScopeKind::Folder),
        "tags" => Some(ScopeKind::Tag),
        "documents" => Some(ScopeKind::Document),
        _ => None,
    }
}

/// Parses the id of a document or governance file.
pub(super) fn document(text: &str) -> Result<DocumentId, ProblemKind> {
    let what = "the id of a document";
    let id: DocumentId = text.parse().map_err(|why| ProblemKind::of_id(text, what, &why))?;
    if id.is_rule() {
        return Err(ProblemKind::VaultOnly(text.to_owned()));
    }
    // A file `a.md.md` has such an id, but in `stewards.yaml` the ending is usually a mistake.
    if let Some(stem) = text.strip_suffix(ENDING).filter(|_| text != CONTEXT) {
        let (found, near) = (text.to_owned(), Some(stem.to_owned()));
        let why = "an id does not end with `.md`".to_owned();
        return Err(ProblemKind::Scope { found, what, why, near });
    }
    match id.unfit() {
        None => Ok(id),
        Some(why) => Err(ProblemKind::of_id(text, what, &why)),
    }
}

/// Parses a folder, with or without a final `/`.
pub(super) fn folder(text: &str) -> Result<String, ProblemKind> {
    let what = "a folder";
    let name = text.strip_suffix('/').unwrap_or(text);
    let id: DocumentId = name.parse().map_err(|why| ProblemKind::of_id(text, what, &why))?;
    match crate::values::model::visible::Invisible::first_in_name(name) {
        None => Ok(id.as_str().to_owned()),
        Some(at) => {
            let (found, why) = (text.to_owned(), format!("it has {at}"));
            Err(ProblemKind::Scope { found, what, why, near: None })
        }
    }
}

/// Parses a tag, with or without a leading `#`.
pub(super) fn tag(text: &str) -> Result<Tag, ProblemKind> {
    let name = text.strip_prefix('#').unwrap_or(text);
    Tag::plain(name).map_err(|why| ProblemKind::Scope {
        found: text.to_owned(),
        what: "a tag",
        why: why.to_string(),
        near: None,
    })
}
