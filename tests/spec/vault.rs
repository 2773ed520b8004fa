//! Ids and timestamps (`spec/vault.md`).

use contextnest::model::id::{DocumentId, IdError, Kind};
use contextnest::model::layout::{INSTRUCTIONS, is_instructions};
use contextnest::model::principal::Principal;
use contextnest::model::timestamp::Timestamp;
use contextnest::model::visible::Invisible;
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ids {
    documents: Vec<DocumentCase>,
    ids: Vec<IdCase>,
    collisions: Vec<Collision>,
    principals: Vec<PrincipalCase>,
    invisible: Vec<[String; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrincipalCase {
    text: String,
    recorded: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentCase {
    name: String,
    path: String,
    id: Option<String>,
    history: Option<String>,
    folded: Option<String>,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IdCase {
    id: String,
    kind: String,
    live: String,
    history: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Collision {
    ids: [String; 2],
    collide: bool,
}

fn word(error: &IdError) -> &'static str {
    match error {
        IdError::Empty => "empty",
        IdError::TooLong(_) => "too-long",
        IdError::Character(_) => "character",
        IdError::Segment(_) => "segment",
        IdError::NotNfc(_) => "not-nfc",
        IdError::Ending(_) => "ending",
        IdError::Path(_) => "path",
        IdError::Reserved(_) => "reserved",
        IdError::Invisible { .. } => "invisible",
    }
}

#[test]
fn a_path_gives_its_id() {
    let cases: Ids = load("id/cases.json");
    for case in cases.documents {
        let found = DocumentId::of_document_file(&case.path);
        let error = found.as_ref().err().map(word);
        assert_eq!(error, case.error.as_deref(), "{}", case.name);
        let Ok(id) = found else { continue };
        assert_eq!(Some(id.to_string()), case.id, "{}", case.name);
        assert_eq!(Some(id.history_path()), case.history, "{}", case.name);
        assert_eq!(Some(id.folded()), case.folded, "{}", case.name);
        assert_eq!(id.live_path(), case.path, "{}", case.name);
    }
}

#[test]
fn a_writer_records_only_visible_principals() {
    let cases: Ids = load("id/cases.json");
    for case in cases.principals {
        let recorded = case.text.parse::<Principal>().ok().map(|name| name.to_string());
        assert_eq!(recorded, case.recorded, "{:?}", case.text);
    }
}

#[test]
fn exactly_the_listed_characters_are_invisible() {
    let cases: Ids = load("id/cases.json");
    let code = |text: &String| u32::from_str_radix(text, 16).unwrap();
    let ranges: Vec<_> = cases.invisible.iter().map(|[a, b]| code(a)..=code(b)).collect();
    for c in '\0'..=char::MAX {
        let is_listed = ranges.iter().any(|range| range.contains(&u32::from(c)));
        let mut bytes = [0; 4];
        let found = Invisible::first_in(c.encode_utf8(&mut bytes));
        assert_eq!(found.is_some(), is_listed, "{c:?}");
    }
}

#[test]
fn an_id_says_what_it_names() {
    let cases: Ids = load("id/cases.json");
    for case in cases.ids {
        let id: DocumentId = case.id.parse().unwrap();
        let kind = match id.kind() {
            Kind::Document => "document",
            Kind::Governance => "governance",
        };
        let found = (kind, id.live_path(), id.history_path());
        assert_eq!(found, (case.kind.as_str(), case.live, case.history));
        assert_eq!(DocumentId::of_history_dir(&id.history_dir()).unwrap(), id);
    }
}

#[test]
fn ids_collide_as_their_folded_forms_do() {
    let cases: Ids = load("id/cases.json");
    for case in cases.collisions {
        let [a, b] = case.ids.each_ref().map(|id| id.parse::<DocumentId>().unwrap());
        let collide = a.claims().any(|claim| b.claims().any(|other| claim == other));
        assert_eq!(collide, case.collide, "{a} {b}");
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Times {
    accepted: Vec<Time>,
    refused: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Time {
    text: String,
    millis: i64,
}

#[test]
fn timestamps_have_two_forms() {
    let cases: Times = load("timestamp/cases.json");
    for case in cases.accepted {
        let time: Timestamp = case.text.parse().unwrap();
        assert_eq!(time.millis(), case.millis, "{}", case.text);
        assert_eq!(time.to_string(), case.text);
    }
    for text in cases.refused {
        assert!(text.parse::<Timestamp>().is_err(), "{text:?}");
    }
}

#[test]
fn the_names_of_files_that_instruct_agents_are_those_of_the_table() {
    let text = std::fs::read_to_string("spec/vault.md").unwrap();
    let rule = text.split("**VAULT-67**").nth(1).unwrap();
    let rows = rule.lines().filter_map(|line| line.trim().strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" |").next().unwrap().to_owned());
    let named = cells.flat_map(|cell| {
        cell.split(", ").map(|name| name.trim_matches('`').to_owned()).collect::<Vec<_>>()
    });
    let named: Vec<String> = named.collect();
    assert_eq!(named, INSTRUCTIONS);
    for name in named.iter().map(|name| name.replace('*', "x")) {
        assert!(is_instructions(&format!("nodes/a/{}", name.to_uppercase())), "{name}");
    }
    assert!(is_instructions("agents.mdx") && is_instructions("a/.cursorrules.md"));
    assert!(!is_instructions("nodes/agents/a.md") && !is_instructions("nodes/instructions.md"));
}
