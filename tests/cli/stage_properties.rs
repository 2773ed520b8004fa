//! Properties of staged results, over random interleavings of sessions and principals.

use std::collections::BTreeMap;

use contextnest::files::vault::disk::Disk;
use proptest::prelude::*;
use serde_json::Value;

use crate::harness::{Place, files_in};
use crate::stage::{ANA, BO, EVE, KIM, governed, staged_at};

const WHO: [&str; 4] = [ANA, BO, EVE, KIM];

/// The next action.
#[derive(Clone, Debug)]
enum Step {
    Stage { who: usize, session: usize, word: usize },
    Act { verb: usize, entry: usize },
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_usize, 0..3_usize, 0..4_usize)
            .prop_map(|(who, session, word)| Step::Stage { who, session, word }),
        3 => (0..5_usize, any::<usize>()).prop_map(|(verb, entry)| Step::Act { verb, entry }),
        1 => Just(Step::Collect),
    ]
}

/// Returns a content whose words are in no other file.
fn content(word: usize) -> String {
    format!("xylo{word}phone, as it was received")
}

fn json(place: &Place, args: &[&str]) -> Value {
    let said = place.args(args).here();
    serde_json::from_str(&said.stdout).unwrap_or_default()
}

fn uris(value: &Value) -> Vec<String> {
    let staged = value["staged"].as_array().cloned().unwrap_or_default();
    staged.iter().map(|one| one["uri"].as_str().unwrap().to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn sessions_do_not_see_each_other_and_chains_verify_whatever_is_done(
        steps in prop::collection::vec(step(), 4..16),
    ) {
        let place = governed();
        // The URI of each entry, its principal, its session and its content.
        let mut staged: Vec<(String, usize, usize, usize)> = Vec::new();
        let mut erased: Vec<usize> = Vec::new();
        let mut promoted: BTreeMap<String, usize> = BTreeMap::new();
        for (n, step) in steps.iter().enumerate() {
            match step {
                Step::Stage { who, session, word } => {
                    let at = format!("2026-11-21T11:{n:02}:00.000Z");
                    let by = (WHO[*who], format!("s{session}"));
                    let text = content(*word);
                    let of = (text.as_bytes(), at.as_str());
                    let name = staged_at(&place, Disk::default(), (by.0, &by.1), of).unwrap().name;
                    staged.push((name.to_string(), *who, *session, *word));
                    erased.retain(|other| other != word);
                }
                Step::Act { verb, entry } if !staged.is_empty() => {
                    let (uri, _, _, word) = &staged[entry % staged.len()];
                    let id = format!("nodes/p{n}");
                    let line: Vec<&str> = match verb {
                        0 => vec!["stage", "pin", uri],
                        1 => vec!["stage", "unpin", uri],
                        2 => vec!["stage", "discard", uri],
                        3 => vec!["stage", "erase", uri, "--reason", "x"],
                        _ => vec!["stage", "promote", uri, "--to", &id],
                    };
                    let said = place.args(&[&line[..], &["--as", KIM]].concat()).here();
                    prop_assert!([0, 1].contains(&said.exit), "{}", said.whole());
                    if said.exit == 0 && *verb == 3 {
                        erased.push(*word);
                    }
                    if said.exit == 0 && *verb == 4 {
                        promoted.insert(id, *word);
                    }
                }
                Step::Act { .. } => {}
                Step::Collect => {
                    let line = ["stage", "gc", "--as", KIM, "--now", "2027-01-01T00:00:00.000Z"];
                    prop_assert_eq!(place.args(&line).here().exit, 0);
                }
            }
        }
        // In every verb, a principal without a role sees only their own session.
        for session in 0..3_usize {
            let name = format!("s{session}");
            let own: Vec<&String> = staged
                .iter()
                .filter(|(_, who, of, _)| WHO[*who] == EVE && *of == session)
                .map(|(uri, ..)| uri)
                .collect();
            let by = ["--as", EVE, "--session", &name];
            for line in [
                &["resolve", "#prices", "--json", "--bodies"][..],
                &["resolve", "status:staged", "--json", "--bodies"],
                &["stage", "list", "--json", "--all", "--every-session"],
            ] {
                let seen = uris(&json(&place, &[line, &by[..]].concat()));
                prop_assert!(seen.iter().all(|uri| own.contains(&uri)), "{:?}: {:?}", line, seen);
            }
            for (uri, ..) in staged.iter().filter(|(uri, ..)| !own.contains(&uri)) {
                for line in [&["stage", "show", uri][..], &["stage", "diff", uri, uri], &["read", uri]] {
                    let said = place.args(&[line, &by[..]].concat()).here();
                    prop_assert_ne!(said.exit, 0);
                    prop_assert!(!said.stdout.contains("xylo"), "{:?}", line);
                }
            }
            for line in [&["list"][..], &["search", "xylo0phone"], &["context"], &["graph"]] {
                let said = place.args(&[line, &by[..]].concat()).here();
                prop_assert!(!said.stdout.contains("xylo"), "{:?}: {}", line, said.stdout);
            }
        }
        // Chains verify, and a promoted text equals the content byte for byte.
        let report = json(&place, &["verify", "--json", "--now", "2027-01-01T00:00:00.000Z"]);
        let found: Vec<&Value> = report["findings"].as_array().unwrap().iter().collect();
        let wrong = found.iter().filter(|finding| finding["class"] != "note").count();
        prop_assert_eq!(wrong, 0, "{:?}", found);
        let left = found.iter().filter(|f| f["code"].as_str().unwrap().starts_with("staged-")).count();
        prop_assert_eq!(left, 0, "{:?}", found);
        for (id, word) in &promoted {
            place.args(&["approve", id, "--as", BO]).here().ok();
            let text = json(&place, &["read", id, "--json"]);
            prop_assert_eq!(text["body"].as_str().unwrap(), content(*word));
        }
        // No file contains erased content.
        let files = files_in(place.home());
        for word in &erased {
            let text = content(*word);
            let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            let held = files.iter().find(|(_, bytes)| holds(bytes));
            prop_assert!(held.is_none(), "{:?}", held.map(|(path, _)| path));
        }
    }
}
