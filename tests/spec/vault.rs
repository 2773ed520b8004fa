//! Ids and timestamps (`spec/vault.md`).

use contextnest::document::id::{Id, IdError, Kind};
use contextnest::vault::clock::Timestamp;
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ids {
    documents: Vec<DocumentCase>,
    ids: Vec<IdCase>,
    collisions: Vec<Collision>,
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
        IdError::Reserved(_) => "reserved",
        IdError::Invisible(_) => "invisible",
    }
}

#[test]
fn a_path_gives_its_id() {
    let cases: Ids = load("id/cases.json");
    for case in cases.documents {
        let found = Id::of_document_file(&case.path);
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
fn an_id_says_what_it_names() {
    let cases: Ids = load("id/cases.json");
    for case in cases.ids {
        let id: Id = case.id.parse().unwrap();
        let kind = match id.kind() {
            Kind::Document => "document",
            Kind::Governance => "governance",
        };
        let found = (kind, id.live_path(), id.history_path());
        assert_eq!(found, (case.kind.as_str(), case.live, case.history));
        assert_eq!(Id::of_history_dir(&id.history_dir()).unwrap(), id);
    }
}

#[test]
fn ids_collide_as_their_folded_forms_do() {
    let cases: Ids = load("id/cases.json");
    for case in cases.collisions {
        let [a, b] = case.ids.each_ref().map(|id| id.parse::<Id>().unwrap());
        assert_eq!(a.folded() == b.folded(), case.collide, "{a} {b}");
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
