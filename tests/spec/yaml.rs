//! YAML as it is read and spelled (`spec/yaml.md`). The spelling is tested through its writers:
//! edits of frontmatter and entries of histories.

use contextnest::model::digest::Digest;
use contextnest::model::number::Version;
use contextnest::record::chain::history::{Entry, EntryState, Forget, History, TextStorage};
use contextnest::text::document::edit::Edit;
use contextnest::values::yaml::{Dialect, Node, Value, parse};
use serde::Deserialize;
use serde_json::json;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    read: Vec<Read>,
    scalar: Vec<Spelling>,
    in_flow: Vec<Spelling>,
    long_text: Vec<Spelling>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    name: String,
    dialects: Vec<String>,
    text: String,
    value: Option<serde_json::Value>,
    /// Line and column; absent if only the refusal is fixed, not its place.
    error: Option<(usize, usize)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spelling {
    text: String,
    spelled: String,
}

fn plain(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Scalar { text, .. } => json!(text),
        Value::Sequence { items, .. } => items.iter().map(plain).collect(),
        Value::Mapping { entries, .. } => entries
            .iter()
            .map(|(key, value)| (key.text().unwrap().to_owned(), plain(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

#[test]
fn yaml_is_read_within_limits() {
    let cases: Cases = load("yaml/cases.json");
    for case in cases.read {
        for dialect in &case.dialects {
            let dialect = match dialect.as_str() {
                "format" => Dialect::Format,
                "frontmatter" => Dialect::Frontmatter,
                other => panic!("{other}"),
            };
            match (parse(&case.text, dialect), &case.value, case.error) {
                (Ok(node), Some(value), None) => assert_eq!(plain(&node), *value, "{}", case.name),
                (Err(error), None, Some(place)) => {
                    assert_eq!((error.line, error.column), place, "{}: {error}", case.name);
                }
                (Err(_), None, None) => {}
                (found, ..) => panic!("{}, {dialect:?}: {found:?}", case.name),
            }
        }
    }
}

#[test]
fn a_scalar_has_one_spelling() {
    let cases: Cases = load("yaml/cases.json");
    for case in cases.scalar {
        let found = Edit::default().text("title", &case.text).apply("").unwrap();
        assert_eq!(found, format!("---\ntitle: {}\n---\n", case.spelled));
    }
    for case in cases.in_flow {
        let list = [case.text];
        let found = Edit::default().list("tags", &list).apply("").unwrap();
        assert_eq!(found, format!("---\ntags: [{}]\n---\n", case.spelled));
    }
}

#[test]
fn a_long_text_is_a_block_only_where_that_is_exact() {
    let cases: Cases = load("yaml/cases.json");
    let at = "2026-11-21T20:06:06.689Z".parse().unwrap();
    for case in cases.long_text {
        let entry = Entry {
            version: Version(1),
            stored: TextStorage::Diff(case.text.clone()),
            edited_by: "ana@example.com".to_owned(),
            edited_at: at,
            state: EntryState::Unpublished,
            note: None,
            forget: Forget::None,
            content_hash: Digest::of(b""),
            chain_hash: Digest::of(b""),
        };
        let found = History::new().append(&entry, 10).unwrap();
        let start = found.find("    diff:").unwrap() + "    diff:".len();
        let end = found.find("    edited_by:").unwrap();
        assert_eq!(found[start..end], case.spelled, "{:?}", case.text);
        let read = History::parse(found.as_bytes()).unwrap();
        assert_eq!(read.entry(Version(1)), Some(&entry), "{:?}", case.text);
    }
}
