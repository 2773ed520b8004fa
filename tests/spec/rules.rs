//! The rules of the specification: each is defined once, they are numbered in order, and each
//! citation names an existing rule.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::vectors::root;

/// The areas whose rules have numbers.
const AREAS: [&str; 25] = [
    "STAGE", "STEW", "REV", "VAULT", "YAML", "DOC", "HIST", "CKPT", "URI", "SEC", "SEL", "PUB",
    "TXN", "GRAPH", "SRC", "RES", "IDX", "SEARCH", "AUDIT", "EVID", "DERIV", "THREAT", "VER",
    "MCP", "MERGE",
];

fn texts(folder: &Path, endings: &[&str], found: &mut Vec<(PathBuf, String)>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let has_ending = |ending: &&str| path.extension().is_some_and(|found| found == *ending);
        if path.is_dir() {
            texts(&path, endings, found);
        } else if endings.iter().any(has_ending) {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

/// Returns the rule at the start of a text, such as `HIST-7`.
fn rule_at(text: &str) -> Option<(&'static str, usize)> {
    let area = AREAS
        .into_iter()
        .find(|area| text.strip_prefix(area).is_some_and(|rest| rest.starts_with('-')))?;
    let digits = text[area.len() + 1..].split(|c: char| !c.is_ascii_digit()).next()?;
    Some((area, digits.parse().ok()?))
}

#[test]
fn rules_are_numbered_in_their_order_each_once() {
    let mut pages = Vec::new();
    texts(&root().join("spec"), &["md"], &mut pages);
    let mut last: BTreeMap<&str, (usize, PathBuf)> = BTreeMap::new();
    for (page, text) in &pages {
        for definition in text.lines().filter_map(|line| line.trim_start().strip_prefix("- **")) {
            let Some((area, number)) = rule_at(definition) else { continue };
            let (before, home) = last.entry(area).or_insert((0, page.clone()));
            assert_eq!((number, &*home), (*before + 1, page), "{area}-{number}");
            *before = number;
        }
    }
    assert_eq!(last.len(), AREAS.len(), "every area has rules");
    let mut sources = pages;
    for folder in ["src", "tests", "benches", "docs", "experiments", "fuzz/src"] {
        texts(&root().join(folder), &["md", "rs", "toml"], &mut sources);
    }
    let mut missing = Vec::new();
    for (path, text) in &sources {
        for (at, _) in text.match_indices('-') {
            let letters = text[..at].bytes().rev().take_while(u8::is_ascii_uppercase).count();
            let word = at - letters;
            // A letter before the word would make it another one.
            let is_word = !text[..word].ends_with(|c: char| c.is_alphanumeric() || c == '-');
            let Some((area, number)) = rule_at(&text[word..]).filter(|_| is_word && word < at)
            else {
                continue;
            };
            if number == 0 || number > last[area].0 {
                missing.push(format!("{}: {area}-{number}", path.display()));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "these rules do not exist");
}
