//! Resolution of the scope that decides about an artifact: the first with a steward, of the
//! document, its folders from the longest, its tags in byte order, the vault (`spec/stewards.md`,
//! section 2).

use std::collections::BTreeMap;

use super::{
    Assignment, ReviewEntry, ReviewSettings, Role, Scope, Scoped, Stewards, Stewardship, Who,
};
use crate::record::audit::Deciding;
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::values::model::tag::Tag;

/// The scope that decides about an artifact, and the others that concern it.
#[derive(Clone, Debug)]
pub struct Resolution<'s> {
    /// The scope that decides, with its assignments; `None` if not even the vault has a steward.
    pub matched: Option<&'s Stewardship>,
    /// The other scopes that concern the artifact, in the order of their priority.
    pub passed_over: Vec<PassedOver>,
    /// The requirements of a review.
    pub review: ReviewSettings,
    stewards: &'s Stewards,
}

/// A scope that concerns an artifact and does not decide about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// The scope.
    pub scope: Scope,
    /// The reason for which it does not decide.
    pub why: Why,
}

words! {
    /// The reason for which a scope does not decide.
    pub enum Why {
        /// The scope is without stewards.
        Unassigned = "unassigned",
        /// The scope has stewards, but another scope comes before it.
        Later = "later",
        /// The scope has stewards, but only those of the vault decide about `stewards.yaml` and
        /// the configuration.
        VaultOnly = "vault-only",
    }
}

/// A principal with their role at a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder<'s> {
    /// The principal, as the assignment or group with this role spells the name.
    pub principal: &'s Principal,
    /// The greatest role of the principal at the scope.
    pub role: Role,
    /// The group with this role; `None` if the scope names the principal.
    pub group: Option<&'s str>,
}

impl<'s> Resolution<'s> {
    /// Returns the role of a principal.
    pub fn role_of(&self, principal: &PrincipalKey) -> Option<Role> {
        self.stewards.role_in(self.matched?, principal)
    }

    /// Returns every principal with a role, the greatest roles first, then by the folded name.
    pub fn holders(&self) -> Vec<Holder<'s>> {
        self.matched.map(|matched| self.stewards.holders(matched)).unwrap_or_default()
    }
}

/// Maximum number of reviewers that are named, to keep the provenance shorter than the text.
const MOST_NAMED: usize = 10;

impl Stewardship {
    /// Returns the scope and its reviewers in short, as provenance of a text.
    fn deciding(&self) -> Deciding {
        let all = self.assignments.iter().filter(|one| one.role == Role::Reviewer);
        let more = all.clone().count().saturating_sub(MOST_NAMED) as u64;
        let reviewers = all.take(MOST_NAMED).map(|one| one.who.to_string()).collect();
        Deciding { scope: self.scope.to_string(), reviewers, more: Some(more).filter(|n| *n > 0) }
    }
}

impl Stewards {
    /// Returns the scope that decides about an artifact and its reviewers, in short.
    pub fn deciding(&self, id: &DocumentId, tags: &[Tag]) -> Option<Deciding> {
        self.scope_of(id, tags).map(Stewardship::deciding)
    }

    /// Returns the scope that decides about a document with these tags, or a governance file.
    ///
    /// This is the first scope with a steward; those of broader scopes are not added.
    pub fn scope_of(&self, id: &DocumentId, tags: &[Tag]) -> Option<&Stewardship> {
        self.scopes.first(id, tags, |_| true)
    }

    /// Returns the scope that decides about an artifact, with the other scopes that concern it.
    pub fn resolve(&self, id: &DocumentId, tags: &[Tag]) -> Resolution<'_> {
        let matched = self.scope_of(id, tags);
        let is_matched = |scope: &Scope| {
            matched.is_some_and(|matched| {
                matched.scope.kind() == scope.kind() && matched.scope.folded() == scope.folded()
            })
        };
        let candidates = candidates(id, tags);
        let place = candidates.iter().position(is_matched).unwrap_or(candidates.len());
        let passed_over = candidates.into_iter().enumerate().filter(|(n, _)| *n != place);
        let passed_over = passed_over.filter_map(|(n, scope)| {
            let why = match self.scopes.get(&scope) {
                None if n < place => Why::Unassigned,
                None => return None,
                Some(_) if n < place => Why::VaultOnly,
                Some(_) => Why::Later,
            };
            Some(PassedOver { scope, why })
        });
        let passed_over = passed_over.collect();
        Resolution { matched, passed_over, review: self.review_of(id, tags), stewards: self }
    }

    /// Returns the role of a principal for an artifact.
    pub fn role_of(&self, principal: &PrincipalKey, id: &DocumentId, tags: &[Tag]) -> Option<Role> {
        self.role_in(self.scope_of(id, tags)?, principal)
    }

    /// Returns the requirements of a review of an artifact. Each setting is resolved by itself.
    pub fn review_of(&self, id: &DocumentId, tags: &[Tag]) -> ReviewSettings {
        let first = |has: fn(&ReviewEntry) -> bool| {
            self.review.first(id, tags, |(_, entry)| has(entry)).map(|(_, entry)| *entry)
        };
        let required = first(|entry| entry.required.is_some()).and_then(|entry| entry.required);
        let max_age = first(|entry| entry.max_age.is_some()).and_then(|entry| entry.max_age);
        ReviewSettings { required: required.unwrap_or(1), max_age }
    }

    /// Returns true if a role or setting may depend on the tags of a text.
    pub fn depend_on_tags(&self) -> bool {
        !self.scopes.tags.is_empty() || !self.review.tags.is_empty()
    }

    /// Returns the greatest role of a principal at a scope, by name or in a group.
    pub fn role_in(&self, scope: &Stewardship, principal: &PrincipalKey) -> Option<Role> {
        let is_member =
            |name: &str| self.groups.get(name).is_some_and(|group| group.has(principal));
        let by_group = scope.groups.iter().filter(|(name, _)| is_member(name));
        let by_group = by_group.map(|(_, role)| *role).max();
        scope.named.get(principal).copied().max(by_group)
    }

    /// Returns true if a principal has at least this role at every scope, and the vault
    /// has stewards.
    pub(crate) fn has_everywhere(&self, principal: &PrincipalKey, needed: Role) -> bool {
        let has_role = |at: &Stewardship| self.role_in(at, principal) >= Some(needed);
        self.at(&Scope::Vault).is_some() && self.scopes().all(has_role)
    }

    /// Returns every principal with a role at a scope, the greatest roles first, then by the
    /// folded name.
    pub fn holders<'s>(&'s self, scope: &'s Stewardship) -> Vec<Holder<'s>> {
        let mut found: BTreeMap<PrincipalKey, Holder<'s>> = BTreeMap::new();
        let mut add = |holder: Holder<'s>| {
            let held = found.entry(holder.principal.key()).or_insert_with(|| holder.clone());
            // Of equal roles the one by name is shown, otherwise that of the first group.
            let rank = |holder: &Holder<'s>| (holder.role, std::cmp::Reverse(holder.group));
            if rank(&holder) > rank(held) {
                *held = holder;
            }
        };
        for Assignment { who, role, .. } in &scope.assignments {
            match who {
                Who::Principal(principal) => add(Holder { principal, role: *role, group: None }),
                Who::Group(name) => {
                    let members = self.groups.get(name).map(|group| group.members.as_slice());
                    for principal in members.unwrap_or_default() {
                        add(Holder { principal, role: *role, group: Some(name) });
                    }
                }
            }
        }
        let mut holders: Vec<Holder<'s>> = found.into_values().collect();
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.role));
        holders
    }
}

impl<T> Scoped<T> {
    /// Returns the value of the first scope that concerns an artifact and satisfies `counts`.
    fn first(&self, id: &DocumentId, tags: &[Tag], counts: impl Fn(&T) -> bool) -> Option<&T> {
        let vault = || self.vault.as_ref().filter(|value| counts(value));
        let has_parts =
            !(self.documents.is_empty() && self.folders.is_empty() && self.tags.is_empty());
        // Stewards of a part of the vault must not decide who may approve.
        if id.is_rule() || !has_parts {
            return vault();
        }
        let folded = id.folded();
        let document = || self.documents.get(&folded).filter(|value| counts(value));
        let folder = || {
            let mut name: &str = &folded;
            while let Some((above, _)) = name.rsplit_once('/') {
                name = above;
                if let Some(value) = self.folders.get(name).filter(|value| counts(value)) {
                    return Some(value);
                }
            }
            None
        };
        let tag = || {
            let folded = tags.iter().map(|tag| tag.as_str().to_ascii_lowercase());
            let found = folded.filter_map(|tag| self.tags.get_key_value(&tag));
            let found = found.filter(|(_, value)| counts(value));
            found.min_by_key(|(tag, _)| *tag).map(|(_, value)| value)
        };
        document().or_else(folder).or_else(tag).or_else(vault)
    }
}

/// Returns every scope that concerns an artifact, in the order of their priority.
fn candidates(id: &DocumentId, tags: &[Tag]) -> Vec<Scope> {
    let mut scopes = vec![Scope::Document(id.clone())];
    scopes.extend(id.with_folders().skip(1).map(|folder| Scope::Folder(folder.to_owned())));
    let mut tags: Vec<&Tag> = tags.iter().collect();
    tags.sort_by_cached_key(|tag| (tag.as_str().to_ascii_lowercase(), tag.to_string()));
    tags.dedup_by_key(|tag| tag.as_str().to_ascii_lowercase());
    scopes.extend(tags.into_iter().map(|tag| Scope::Tag(tag.clone())));
    scopes.push(Scope::Vault);
    scopes
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use proptest::prelude::*;

    const PEOPLE: [&str; 4] = ["ana@x", "Ben@x", "cy@x", "dee@x"];
    const SCOPES: [&str; 11] = [
        "vault",
        "folders n",
        "folders n/a/",
        "folders N/b",
        "folders packs",
        "tags s",
        "tags T",
        "documents n/a/x",
        "documents n/Y",
        "documents packs/p.yml",
        "documents CONTEXT.md",
    ];
    const IDS: [&str; 8] =
        ["n/a/x", "n/a/y", "n/y", "n/b/c/d", "m", "packs/p.yml", "CONTEXT.md", "stewards.yaml"];

    /// Returns the assignments as lines of a file, in this order of scopes and of items.
    fn spelled(lines: &[(&str, Vec<(usize, usize)>)]) -> String {
        let mut kinds: Vec<&str> = Vec::new();
        for (scope, _) in lines {
            let kind = scope.split(' ').next().unwrap_or_default();
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let mut text = String::new();
        for kind in kinds {
            text.push_str(kind);
            text.push_str(":\n");
            for (scope, items) in lines.iter().filter(|(scope, _)| scope.starts_with(kind)) {
                if let Some((_, name)) = scope.split_once(' ') {
                    text.push_str(&format!("  {name}:\n"));
                }
                for (who, role) in items {
                    let (who, role) = (PEOPLE[*who], Role::ALL[*role]);
                    text.push_str(&format!("  - {{principal: {who}, role: {role}}}\n"));
                }
            }
        }
        text
    }

    /// Returns the expected holders by looking at each line of the file.
    fn naive(lines: &[(&str, Vec<(usize, usize)>)], id: &str, tags: &[Tag]) -> Vec<(String, Role)> {
        let rank = |scope: &str| -> Option<(u8, usize, String)> {
            let (kind, name) = scope.split_once(' ').unwrap_or((scope, ""));
            let (name, folded) = (name.trim_end_matches('/').to_lowercase(), id.to_lowercase());
            let is_last = id == "stewards.yaml";
            match kind {
                "documents" if folded == name && !is_last => Some((0, 0, name)),
                "folders" if folded.starts_with(&format!("{name}/")) && !is_last => {
                    Some((1, usize::MAX - name.len(), name))
                }
                "tags" if tags.iter().any(|t| t.as_str().to_lowercase() == name) && !is_last => {
                    Some((2, 0, name))
                }
                "vault" => Some((3, 0, name)),
                _ => None,
            }
        };
        let best = lines.iter().filter(|(scope, _)| rank(scope).is_some());
        let Some((_, items)) = best.min_by_key(|(scope, _)| rank(scope)) else { return Vec::new() };
        let mut found: Vec<(String, Role)> = items
            .iter()
            .map(|(who, role)| (PEOPLE[*who].to_lowercase(), Role::ALL[*role]))
            .collect();
        found.sort();
        found
    }

    proptest! {
        #[test]
        fn resolution_matches_a_naive_search_and_ignores_the_order_of_lines(
            (lines, shuffled) in proptest::sample::subsequence(SCOPES.to_vec(), 0..=SCOPES.len())
                .prop_flat_map(|scopes| {
                    let people = proptest::sample::subsequence(vec![0_usize, 1, 2, 3], 1..=4);
                    let items = people.prop_flat_map(|people| {
                        let roles = proptest::collection::vec(0..3_usize, people.len());
                        roles.prop_map(move |roles| {
                            people.iter().copied().zip(roles).collect::<Vec<_>>()
                        })
                    });
                    let all = proptest::collection::vec(items, scopes.len());
                    all.prop_map(move |items| scopes.iter().copied().zip(items).collect::<Vec<_>>())
                })
                .prop_flat_map(|lines| {
                    let reversed = lines.iter().map(|(scope, items)| {
                        (*scope, items.iter().rev().copied().collect::<Vec<_>>())
                    });
                    (Just(lines.clone()), Just(reversed.collect::<Vec<_>>()).prop_shuffle())
                }),
            tags in proptest::sample::subsequence(vec!["t", "S", "u"], 0..=3),
        ) {
            let (one, other) = (read(&spelled(&lines)), read(&spelled(&shuffled)));
            prop_assert_eq!(&one.problems, &[], "{}", spelled(&lines));
            let (one, other) = (one.stewards.unwrap(), other.stewards.unwrap());
            let tags: Vec<Tag> = tags.iter().map(|tag| tag.parse().unwrap()).collect();
            for name in IDS {
                let id: DocumentId = name.parse().unwrap();
                let (a, b) = (one.resolve(&id, &tags), other.resolve(&id, &tags));
                let scope = |found: &Resolution<'_>| found.matched.map(|m| m.scope.clone());
                prop_assert_eq!(scope(&a), scope(&b));
                prop_assert_eq!(&a.passed_over, &b.passed_over);
                prop_assert_eq!(a.holders(), b.holders());
                let mut found: Vec<(String, Role)> = a.holders().iter().map(|holder| {
                    (holder.principal.key().as_str().to_owned(), holder.role)
                }).collect();
                found.sort();
                prop_assert_eq!(found, naive(&lines, name, &tags), "{}", name);
                prop_assert_eq!(a.matched.is_some(), !a.holders().is_empty());
            }
        }
    }

    #[test]
    fn resolution_explains_every_scope_that_concerns_an_artifact() {
        let text = "vault: [{principal: a, role: reviewer}]\nfolders: {n: [{principal: b, role: \
                    editor}], .context: [{principal: b, role: editor}]}\ntags: {s: [{principal: c, \
                    role: editor}]}\n";
        let stewards = read(text).stewards.unwrap();
        let explained = |id: &str, tags: &[&str]| {
            let tags: Vec<Tag> = tags.iter().map(|tag| tag.parse().unwrap()).collect();
            let found = stewards.resolve(&id.parse().unwrap(), &tags);
            let mut lines: Vec<String> =
                found.passed_over.iter().map(|p| format!("{}: {:?}", p.scope, p.why)).collect();
            let matched = found.matched.map(|matched| matched.scope.to_string());
            lines.insert(0, matched.unwrap_or_default());
            lines.join(", ")
        };
        insta::assert_snapshot!(
            [
                explained("n/m/a", &["x", "S"]),
                explained("m/a", &["x", "S", "s"]),
                explained("m", &[]),
                explained(".context/config.yaml", &[]),
            ]
            .join("\n"),
            @"
        folder n/, document n/m/a: Unassigned, folder n/m/: Unassigned, tag #S: Later, vault: Later
        tag #s, document m/a: Unassigned, folder m/: Unassigned, vault: Later
        vault, document m: Unassigned
        vault, document .context/config.yaml: Unassigned, folder .context/: VaultOnly
        "
        );
    }

    #[test]
    fn hostile_files_cost_little() {
        let many: String =
            (0..9_000).map(|n| format!("d{n}: [{{principal: a, role: x}}], ")).collect();
        for text in [
            format!("documents: {{{many}}}\n"),
            format!("vault: [{}]\n", "{group: aaaaaaaaaaaaaaaaaaaa, role: b}, ".repeat(9_000)),
            format!("{}: 1\n", "a".repeat(1_000_000)),
            (0..60_000).map(|n| format!("key{n}: 1\n")).collect(),
        ] {
            let started = std::time::Instant::now();
            let reading = read(&text);
            assert!(reading.problems.len() == super::super::MAX_PROBLEMS || text.len() > 900_000);
            assert!(reading.stewards.is_none() && started.elapsed().as_secs() < 10);
        }
        let big = format!("# {}\n", "a".repeat(1 << 20));
        assert_eq!(read(&big).problems[0].code(), "stewards-limit");
    }
}
