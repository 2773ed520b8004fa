//! Edits of `stewards.yaml` in place: one assignment is added, changed or removed. Comments, order
//! and every other byte stay.

use std::collections::BTreeMap;

use super::{Role, Scope, ScopeKind, Stewards, Who, read};
use crate::values::yaml::edit::{
    NotExact, Splice, entry, first_entries, first_item, remove_entry, remove_item, replace_value,
    spliced,
};
use crate::values::yaml::{self, Dialect, Node, Value, emit};

/// Returns the file with a role for a principal or group at a scope; unchanged if it is there.
///
/// # Errors
/// The file has a problem, does not define the group, or is spelled so that the edit would
/// change more.
pub fn assign(text: &str, scope: &Scope, who: &Who, role: Role) -> Result<String, String> {
    let stewards = sound(text)?;
    if let Who::Group(name) = who
        && !stewards.groups.contains_key(name)
    {
        return Err(format!("no group has the name `{name}`; define it under `groups` first"));
    }
    let mut meant = assignments(&stewards);
    if meant.insert(key(scope, who), role) == Some(role) {
        return Ok(text.to_owned());
    }
    checked(text, &meant, |root| with(text, root, scope, who, role))
}

/// Returns the file without an assignment. A scope without assignments is removed with
/// its comments.
///
/// # Errors
/// The file has a problem, does not have the assignment, or is spelled so that it cannot be removed
/// without changing more.
pub fn remove(text: &str, scope: &Scope, who: &Who) -> Result<String, String> {
    let stewards = sound(text)?;
    let mut meant = assignments(&stewards);
    if meant.remove(&key(scope, who)).is_none() {
        return Err(format!("{who} is not assigned to {scope}"));
    }
    checked(text, &meant, |root| without(text, root, scope, who))
}

fn sound(text: &str) -> Result<Stewards, String> {
    let reading = read(text);
    reading.stewards.ok_or_else(|| {
        let first = reading.problems.first().map(ToString::to_string).unwrap_or_default();
        format!("stewards.yaml has a problem: {first}")
    })
}

type Key = (ScopeKind, String, bool, String);

/// Returns the key of an assignment.
fn key(scope: &Scope, who: &Who) -> Key {
    let (is_group, name) = match who {
        Who::Principal(principal) => (false, principal.key().as_str().to_owned()),
        Who::Group(name) => (true, name.clone()),
    };
    (scope.kind(), scope.folded(), is_group, name)
}

fn assignments(stewards: &Stewards) -> BTreeMap<Key, Role> {
    let of = |at: &super::Stewardship| -> Vec<(Key, Role)> {
        at.assignments.iter().map(|one| (key(&at.scope, &one.who), one.role)).collect()
    };
    stewards.scopes().flat_map(of).collect()
}

/// Returns the edited text, if it contains exactly the assignments `meant` and is otherwise
/// the same.
fn checked(
    text: &str,
    meant: &BTreeMap<Key, Role>,
    edit: impl Fn(&Node) -> Result<Splice, NotExact>,
) -> Result<String, String> {
    let refused =
        || "the file is spelled so that this change would alter other parts of it".to_owned();
    let root = yaml::parse(text, Dialect::Format).map_err(|why| why.to_string())?;
    let splice = edit(&root).map_err(|NotExact| refused())?;
    let new = spliced(text, vec![splice]).map_err(|NotExact| refused())?;
    let rest = |node: &Node| -> Vec<(Node, Node)> {
        let entries = node.entries().unwrap_or_default().iter();
        entries.filter(|(key, _)| kind_of(key).is_none()).cloned().collect()
    };
    let is_rest_same = |new: &Node| {
        let (a, b) = (rest(&root), rest(new));
        a.len() == b.len()
            && a.iter().zip(&b).all(|(x, y)| x.0.same_value(&y.0) && x.1.same_value(&y.1))
    };
    let is_meant = read(&new).stewards.is_some_and(|new| assignments(&new) == *meant)
        && yaml::parse(&new, Dialect::Format).is_ok_and(|new| is_rest_same(&new));
    if is_meant { Ok(new) } else { Err(refused()) }
}

fn kind_of(key: &Node) -> Option<ScopeKind> {
    read::kind_of(key)
}

fn spelled(who: &Who, role: Role) -> String {
    match who {
        Who::Principal(who) => {
            format!("{{principal: {}, role: {role}}}", emit::in_flow(who.as_str()))
        }
        Who::Group(name) => format!("{{group: {}, role: {role}}}", emit::in_flow(name)),
    }
}

/// Returns the entry of the file for a kind of scope, under any of its names.
fn entry_of(root: &Node, kind: ScopeKind) -> Option<(usize, &(Node, Node))> {
    let entries = root.entries().unwrap_or_default().iter().enumerate();
    let mut found = entries.filter(|(_, (key, _))| kind_of(key) == Some(kind));
    found.next()
}

/// Returns the entry of a scope within that of its kind.
fn scope_in<'n>(mapping: &'n Node, scope: &Scope) -> Option<(usize, &'n (Node, Node))> {
    let folded = scope.folded();
    let is_it =
        |name: &str| Scope::parse(scope.kind(), name).is_ok_and(|read| read.folded() == folded);
    let mut entries = mapping.entries().unwrap_or_default().iter().enumerate();
    entries.find(|(_, (key, _))| key.text().is_some_and(is_it))
}

/// Returns the item of a list that assigns a role to a principal or group.
fn item_of<'n>(list: &'n Node, who: &Who) -> Option<(usize, &'n Node)> {
    let is_it = |item: &Node| {
        let text = |key| item.get(key).and_then(Node::text);
        match who {
            Who::Group(name) => text("group") == Some(name),
            Who::Principal(who) => {
                text("principal").or_else(|| text("email")).is_some_and(|text| {
                    crate::values::model::principal::PrincipalKey::of(text) == who.key()
                })
            }
        }
    };
    list.items().unwrap_or_default().iter().enumerate().find(|(_, item)| is_it(item))
}

fn with(text: &str, root: &Node, scope: &Scope, who: &Who, role: Role) -> Result<Splice, NotExact> {
    let nl = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let item = spelled(who, role);
    let Some((_, (key, value))) = entry_of(root, scope.kind()) else {
        return at_end(text, root, scope, &item, nl);
    };
    let (key, list) = match scope.name() {
        None => (key, value),
        Some(name) if value.is_null() => {
            let colon = key.span.end + 1;
            let new = format!("{nl}  {}: [{item}]", emit::scalar(&name));
            return Ok(Splice { range: colon..value.span.end.max(colon), text: new });
        }
        Some(name) => match scope_in(value, scope) {
            Some((_, (key, list))) => (key, list),
            None => {
                let is_flow = matches!(value.value, Value::Mapping { flow: true, .. });
                let name = if is_flow { emit::in_flow(&name) } else { emit::scalar(&name) };
                return Ok(first_entries(text, value, &[(name, format!("[{item}]"))], nl));
            }
        },
    };
    match item_of(list, who).and_then(|(_, item)| entry(item, "role")) {
        Some((key, old)) => replace_value(text, key, old, role.as_str()),
        None => first_item(text, key, list, &item, nl),
    }
}

/// Adds a new kind of scope at the end of the file.
fn at_end(
    text: &str,
    root: &Node,
    scope: &Scope,
    item: &str,
    nl: &str,
) -> Result<Splice, NotExact> {
    if matches!(root.value, Value::Mapping { flow: true, .. }) {
        let new = match scope.name() {
            None => format!("[{item}]"),
            Some(name) => format!("{{{}: [{item}]}}", emit::in_flow(&name)),
        };
        return Ok(first_entries(text, root, &[(scope.kind().key().to_owned(), new)], nl));
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { nl };
    let body = match scope.name() {
        None => format!("  - {item}"),
        Some(name) => format!("  {}: [{item}]", emit::scalar(&name)),
    };
    let new = format!("{gap}{}:{nl}{body}{nl}", scope.kind().key());
    Ok(Splice { range: text.len()..text.len(), text: new })
}

fn without(text: &str, root: &Node, scope: &Scope, who: &Who) -> Result<Splice, NotExact> {
    let (kind, (_, value)) = entry_of(root, scope.kind()).ok_or(NotExact)?;
    let is_last = |node: &Node| {
        node.items().map(<[_]>::len).or_else(|| node.entries().map(<[_]>::len)) == Some(1)
    };
    let list = match scope.kind() {
        ScopeKind::Vault => value,
        _ => &scope_in(value, scope).ok_or(NotExact)?.1.1,
    };
    if !is_last(list) {
        return remove_item(text, list, item_of(list, who).ok_or(NotExact)?.0);
    }
    match scope_in(value, scope) {
        Some((at, _)) if scope.kind() != ScopeKind::Vault && !is_last(value) => {
            remove_entry(text, value, at)
        }
        _ => remove_entry(text, root, kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Scope {
        match name.split_once(' ') {
            None => Scope::Vault,
            Some(("folder", name)) => Scope::Folder(name.to_owned()),
            Some(("tag", name)) => Scope::Tag(name.parse().unwrap()),
            Some((_, name)) => Scope::Document(name.parse().unwrap()),
        }
    }

    fn who(name: &str) -> Who {
        match name.strip_prefix("group ") {
            Some(name) => Who::Group(name.to_owned()),
            None => Who::Principal(name.parse().unwrap()),
        }
    }

    #[test]
    fn assign_edits_one_assignment_and_keeps_the_rest() {
        for (before, scope, name, after) in [
            ("", "vault", "a@x", "vault:\n  - {principal: a@x, role: editor}\n"),
            (
                "# mine",
                "folder n/a",
                "b c",
                "# mine\nfolders:\n  n/a/: [{principal: 'b c', role: editor}]\n",
            ),
            (
                "version: 1\r\n",
                "tag s",
                "a",
                "version: 1\r\ntags:\r\n  s: [{principal: a, role: editor}]\r\n",
            ),
            (
                "vault: # all\n  - {principal: a, role: viewer} # a\n  # b\n  - email: B\n    role: viewer\n",
                "vault",
                "c",
                "vault: # all\n  - {principal: c, role: editor}\n  - {principal: a, role: viewer} # a\n  # b\n  - email: B\n    role: viewer\n",
            ),
            (
                "nest:\n- email: B # b\n  role: viewer # v\n",
                "vault",
                "b",
                "nest:\n- email: B # b\n  role: editor # v\n",
            ),
            ("folders: {}\n", "folder n", "a", "folders: {n/: [{principal: a, role: editor}]}\n"),
            (
                "folders: ~ # none\n",
                "folder n",
                "a",
                "folders:\n  n/: [{principal: a, role: editor}] # none\n",
            ),
            (
                "folders:\n    # old\n    N: [{principal: b, role: viewer}]\n",
                "folder n",
                "a",
                "folders:\n    # old\n    N: [{principal: a, role: editor}, {principal: b, role: viewer}]\n",
            ),
            (
                "documents:\n    n/b: [{principal: b, role: viewer}]\n",
                "document n/a",
                "a",
                "documents:\n    n/a: [{principal: a, role: editor}]\n    n/b: [{principal: b, role: viewer}]\n",
            ),
            (
                "groups: {g: [a]}\n",
                "vault",
                "group g",
                "groups: {g: [a]}\nvault:\n  - {group: g, role: editor}\n",
            ),
            (
                "{version: 1}\n",
                "tag s",
                "a",
                "{tags: {s: [{principal: a, role: editor}]}, version: 1}\n",
            ),
            (
                "vault: [{principal: a, role: editor}]",
                "vault",
                "A ",
                "vault: [{principal: a, role: editor}]",
            ),
        ] {
            let found = assign(before, &of(scope), &who(name), Role::Editor);
            assert_eq!(found.as_deref(), Ok(after), "{before:?}");
        }
    }

    #[test]
    fn remove_deletes_one_assignment_and_keeps_the_rest() {
        for (before, scope, name, after) in [
            ("vault: [{principal: a, role: viewer}]\nversion: 1\n", "vault", "a", "version: 1\n"),
            (
                "vault: [{principal: a, role: viewer}, {principal: b, role: viewer}]\n",
                "vault",
                "A",
                "vault: [{principal: b, role: viewer}]\n",
            ),
            (
                "vault: [{principal: a, role: viewer}, {principal: b, role: viewer}] # x\n",
                "vault",
                "b",
                "vault: [{principal: a, role: viewer}] # x\n",
            ),
            (
                "vault:\n  # of a\n  - principal: a # a\n    role: viewer # v\n  # of b\n  - {principal: b, role: viewer}\n",
                "vault",
                "a",
                "vault:\n  # of a\n  # of b\n  - {principal: b, role: viewer}\n",
            ),
            (
                "folders:\n  n: # n\n    - {principal: a, role: viewer}\n  m: [{principal: a, role: viewer}]\n",
                "folder n",
                "a",
                "folders:\n  m: [{principal: a, role: viewer}]\n",
            ),
            (
                "tags: {s: [{group: g, role: viewer}], t: [{principal: g, role: viewer}]}\ngroups: {g: [a]}",
                "tag S",
                "group g",
                "tags: {t: [{principal: g, role: viewer}]}\ngroups: {g: [a]}",
            ),
            (
                "version: 1\ndocuments:\n  n/a:\n  - {principal: a, role: viewer}",
                "document n/a",
                "a",
                "version: 1\n",
            ),
        ] {
            let found = remove(before, &of(scope), &who(name));
            assert_eq!(found.as_deref(), Ok(after), "{before:?}");
        }
    }

    #[test]
    fn edits_that_would_alter_other_parts_are_refused() {
        let refused =
            |text: &str| assign(text, &Scope::Vault, &who("a"), Role::Editor).unwrap_err();
        insta::assert_snapshot!(refused("valt: []\n"), @"stewards.yaml has a problem: line 1, column 1: unknown key `valt`");
        insta::assert_snapshot!(refused("version: 1\n...\n"), @"the file is spelled so that this change would alter other parts of it");
        let none = assign("", &Scope::Vault, &who("group g"), Role::Editor).unwrap_err();
        insta::assert_snapshot!(none, @"no group has the name `g`; define it under `groups` first");
        let none = remove("", &of("folder n"), &who("a")).unwrap_err();
        insta::assert_snapshot!(none, @"a is not assigned to folder n/");
    }
}
