//! Selectors: `spec/vectors/selector/`.

use std::collections::HashSet;

use contextnest::files::vault::config::Config;
use contextnest::text::document::Document;
use contextnest::text::document::obsidian::Markup;
use contextnest::text::selector::matches::matches;
use contextnest::text::selector::{self, ParseError, parse_in};
use serde::Deserialize;
use serde_json::Value;

use crate::uri::authorities;
use crate::vectors::load;

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
        assert!(codes.contains(code), "no case has {code}");
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Selected {
    name: String,
    layout: String,
    text: String,
    selected_by: Vec<String>,
    not_by: Vec<String>,
}

#[test]
fn a_document_is_selected_by_its_tags_and_type_as_the_layout_says() {
    let cases: Vec<Selected> = load("selector/values.json");
    for case in cases {
        let markup = Markup::of(&Config::parse(&format!("layout: {}\n", case.layout)).unwrap());
        let Document { frontmatter: mut fields, parts, .. } = Document::parse(&case.text).unwrap();
        let additions = markup.additions(&fields, &case.text[parts.body..]);
        fields.add_tags(additions.tags, markup);
        let id = "nodes/a".parse().unwrap();
        let is_selected = |text: &String| {
            let expr = selector::parse(text).unwrap().expr;
            expr.holds(&|term| matches(&term.atom().unwrap(), &id, || Some(&fields)))
        };
        for text in &case.selected_by {
            assert!(is_selected(text), "{}: {text}", case.name);
        }
        for text in &case.not_by {
            assert!(!is_selected(text), "{}: {text}", case.name);
        }
    }
}

#[test]
fn the_specification_lists_every_code() {
    let text = include_str!("../../spec/selector.md");
    for code in ParseError::CODES {
        assert!(text.contains(&format!("| `{code}` |")), "{code}");
    }
}
