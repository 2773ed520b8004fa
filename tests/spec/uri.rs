//! `spec/vectors/uri/cases.json`: every URI has the expected canonical form or error.

use std::collections::HashSet;

use contextnest::files::vault::config::Config;
use contextnest::files::vault::federation::Authorities;
use contextnest::text::uri::{Uri, UriError};
use serde_json::Value;

/// Returns the names that the vault of a case knows: its configuration is under `vault`.
pub(crate) fn authorities(case: &Value) -> Authorities {
    let config = case.get("vault").map_or_else(String::new, Value::to_string);
    Config::parse(&config).unwrap().authorities
}

#[test]
fn every_uri_has_its_canonical_form_or_its_error() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../spec/vectors/uri/cases.json")).unwrap();
    let (mut names, mut codes, mut refused) = (HashSet::new(), HashSet::new(), 0);
    for case in &cases {
        let text = |key: &str| case.get(key).and_then(Value::as_str);
        let (name, input) = (text("name").unwrap(), text("input").unwrap());
        assert!(names.insert(name), "{name} is there twice");
        let vault = authorities(case);
        match (Uri::parse_in(input, &vault), text("error")) {
            (Ok(uri), None) => {
                assert_eq!(Some(&*uri.to_string()), text("canonical"), "{name}");
                assert_eq!(Uri::parse_in(&uri.to_string(), &vault), Ok(uri), "{name}");
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
    assert_eq!(codes, HashSet::from(UriError::CODES), "each code has a case");
}

#[test]
fn the_specification_lists_every_code() {
    let text = include_str!("../../spec/uri.md");
    for code in UriError::CODES {
        assert!(text.contains(&format!("| `{code}` |")), "{code}");
    }
}
