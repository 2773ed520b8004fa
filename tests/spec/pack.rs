//! `spec/vectors/pack/cases.json`: every pack file has the expected selector or problems.

use std::collections::HashSet;

use contextnest::text::pack::{PackProblem, read};
use serde_json::Value;

use crate::uri::authorities;
use crate::vectors::load;

#[test]
fn every_pack_file_is_its_set_or_has_its_problems() {
    let cases: Vec<Value> = load("pack/cases.json");
    let mut names = HashSet::new();
    for case in &cases {
        let text = |key: &str| case.get(key).and_then(Value::as_str);
        let name = text("name").unwrap();
        assert!(names.insert(name), "{name} is there twice");
        let reading = read(text("text").unwrap(), &authorities(case));
        let set = reading.pack.map(|pack| pack.expr().to_string());
        assert_eq!(set.as_deref(), text("set"), "{name}");
        let found: Vec<Value> = reading.problems.iter().map(|p| p.code().into()).collect();
        let expected = case.get("problems").and_then(Value::as_array).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_specification_lists_every_code() {
    let text = include_str!("../../spec/errors.md");
    for code in PackProblem::CODES {
        assert!(text.contains(&format!("| `{code}` |")), "{code}");
    }
}
