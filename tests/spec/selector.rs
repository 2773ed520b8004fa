//! `spec/vectors/selector/cases.json`: every selector has the tree or the error that it says.

use std::collections::HashSet;

use contextnest::selector::{ParseError, parse_in};
use serde_json::Value;

use crate::uri::authorities;

#[test]
fn every_selector_has_its_tree_or_its_error() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../spec/vectors/selector/cases.json")).unwrap();
    let (mut names, mut codes, mut refused) = (HashSet::new(), HashSet::new(), 0);
    for case in &cases {
        let text = |key: &str| case.get(key).and_then(Value::as_str);
        let (name, input) = (text("name").unwrap(), text("input").unwrap());
        assert!(names.insert(name), "{name} is there twice");
        let vault = authorities(case);
        match (parse_in(input, &vault), text("error")) {
            (Ok(selector), None) => {
                let canonical = selector.to_string();
                assert_eq!(Some(&*canonical), text("canonical"), "{name}");
                assert_eq!(Some(&*selector.expr.tree()), text("tree"), "{name}");
                assert_eq!(parse_in(&canonical, &vault), Ok(selector), "{name}");
            }
            (Err(why), Some(code)) => {
                assert_eq!(why.code(), code, "{name}: {why}");
                codes.insert(code);
                refused += 1;
            }
            (found, expected) => panic!("{name}: expected {expected:?}, but found {found:?}"),
        }
    }
    assert!(2 * refused > cases.len(), "refusals outnumber the rest");
    for code in ParseError::CODES {
        assert!(codes.contains(code), "{code} has no case");
    }
}

#[test]
fn the_specification_lists_every_code() {
    let text = include_str!("../../spec/selector.md");
    for code in ParseError::CODES {
        assert!(text.contains(&format!("| `{code}` |")), "{code}");
    }
}
