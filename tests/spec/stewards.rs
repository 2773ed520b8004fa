//! `spec/vectors/stewards/cases.json`: the scope, the roles and the settings of every artifact, and
//! the problems of every file.

use std::collections::{BTreeMap, HashSet};

use contextnest::model::id::DocumentId;
use contextnest::model::principal::PrincipalKey;
use contextnest::model::tag::Tag;
use contextnest::policy::stewards::{Role, Scope, StewardsProblem, read};
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    resolve: Vec<Resolved>,
    problems: Vec<Refused>,
    stuck: Vec<StuckScopes>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StuckScopes {
    name: String,
    text: String,
    /// Kind and folded name of each scope; its required approvals, reviewers and editors.
    stuck: Vec<(String, String, u32, usize, usize)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolved {
    name: String,
    text: String,
    id: String,
    tags: Vec<Tag>,
    scope: Option<(String, String)>,
    roles: BTreeMap<String, String>,
    review: Review,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Review {
    required: u32,
    max_age: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    name: String,
    text: String,
    problems: Vec<(String, Option<usize>, Option<usize>)>,
}

/// Returns the folded name of a scope, without the `/` of a folder.
fn folded(scope: &Scope) -> String {
    let name = scope.name().unwrap_or_default();
    contextnest::model::id::fold(name.strip_suffix('/').unwrap_or(&name))
}

#[test]
fn every_artifact_has_its_scope_roles_and_settings() {
    let cases: Cases = load("stewards/cases.json");
    let mut names = HashSet::new();
    for case in cases.resolve {
        let name = &case.name;
        assert!(names.insert(name.clone()), "{name} is there twice");
        let stewards = read(&case.text).stewards.unwrap_or_else(|| panic!("{name} is refused"));
        let id: DocumentId = case.id.parse().unwrap();
        let found = stewards.resolve(&id, &case.tags);
        let scope = found.matched.map(|matched| &matched.scope);
        let scope = scope.map(|scope| (scope.kind().as_str().to_owned(), folded(scope)));
        assert_eq!(scope, case.scope, "{name}");
        let holders = found.holders();
        let roles: BTreeMap<String, String> = holders
            .iter()
            .map(|holder| (holder.principal.key().as_str().to_owned(), holder.role.to_string()))
            .collect();
        assert_eq!(roles, case.roles, "{name}");
        for holder in &holders {
            let role = found.role_of(&holder.principal.key());
            assert_eq!(role, Some(holder.role), "{name}");
            assert_eq!(role, stewards.role_of(&holder.principal.key(), &id, &case.tags), "{name}");
        }
        assert_eq!(found.role_of(&PrincipalKey::of("stranger@example.com")), None::<Role>);
        let review = (found.review.required, found.review.max_age);
        assert_eq!(review, (case.review.required, case.review.max_age), "{name}");
    }
}

#[test]
fn every_file_has_its_problems() {
    let cases: Cases = load("stewards/cases.json");
    for case in cases.problems {
        let reading = read(&case.text);
        assert_eq!(reading.stewards.is_some(), case.problems.is_empty(), "{}", case.name);
        let found: Vec<_> = reading.problems.iter().map(|p| (p.code(), p.line, p.column)).collect();
        assert_eq!(found.len(), case.problems.len(), "{}: {found:?}", case.name);
        for ((code, line, column), expected) in found.iter().zip(&case.problems) {
            let is_place = expected.1.is_none_or(|expected| *line == expected)
                && expected.2.is_none_or(|expected| *column == expected);
            assert!(*code == expected.0 && is_place, "{}: {found:?}", case.name);
        }
    }
}

#[test]
fn every_scope_at_which_nothing_can_be_approved_is_found() {
    let cases: Cases = load("stewards/cases.json");
    for case in cases.stuck {
        let stewards = read(&case.text).stewards.unwrap_or_else(|| panic!("{}", case.name));
        let mut found: Vec<_> = stewards
            .stuck()
            .iter()
            .map(|one| {
                let kind = one.scope.kind().as_str().to_owned();
                (kind, folded(&one.scope), one.required, one.reviewers, one.editors)
            })
            .collect();
        found.sort();
        assert_eq!(found, case.stuck, "{}", case.name);
    }
}

#[test]
fn every_code_is_specified_and_provoked() {
    let page = include_str!("../../spec/stewards.md");
    let cases: Cases = load("stewards/cases.json");
    let provoked: HashSet<String> =
        cases.problems.into_iter().flat_map(|case| case.problems).map(|(code, ..)| code).collect();
    for code in StewardsProblem::CODES {
        assert!(page.contains(&format!("| `{code}` |")), "{code}");
        assert!(provoked.contains(code), "{code}");
    }
}
