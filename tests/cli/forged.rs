//! Forgeries that recompute the hashes they break: what is left over betrays them.

use std::collections::BTreeMap;

use contextnest::chain::diff;
use contextnest::chain::digest::Digest;
use contextnest::chain::history::{Entry, History, Stored};
use contextnest::chain::preimage::chain_hash;
use contextnest::checkpoint::state::{Mark, State};
use serde_json::{Value, json};

use crate::harness::{Place, repository};
use crate::tampering::LOG;

const AT: &str = "2026-11-21T10:00:02.000Z";

/// `nodes/a` published, `nodes/c` published and retired.
fn place() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/c", "# C\n\nold policy\n")]);
    place.ctx("retire nodes/c").ok();
    place
}

fn codes(place: &Place) -> Vec<String> {
    let json = place.ctx("verify --json").json("ctx.verify");
    let findings = json["findings"].as_array().unwrap();
    findings.iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect()
}

/// Appends a checkpoint with these changes and a hash that follows.
fn append_checkpoint(place: &Place, set: &[(&str, u64, &str)]) {
    let log = place.read(LOG);
    let mut marks: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        for id in line["removed"].as_array().unwrap() {
            marks.remove(id.as_str().unwrap());
        }
        for (id, mark) in line["set"].as_object().unwrap() {
            let hash = mark[1].as_str().unwrap().to_owned();
            marks.insert(id.clone(), (mark[0].as_u64().unwrap(), hash));
        }
    }
    for (id, version, hash) in set {
        marks.insert((*id).to_owned(), (*version, (*hash).to_owned()));
    }
    let state: State = marks
        .iter()
        .map(|(id, (v, hash))| (id.parse().unwrap(), Mark::new(*v, hash.parse().unwrap())))
        .collect();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let previous: Digest = last["checkpoint_hash"].as_str().unwrap().parse().unwrap();
    let number = last["checkpoint"].as_u64().unwrap() + 1;
    let hash = state.hash(Some(&previous), number, AT.parse().unwrap(), set[0].0);
    let set: BTreeMap<&str, Value> =
        set.iter().map(|(id, version, hash)| (*id, json!([version, hash]))).collect();
    let line = json!({
        "at": AT, "checkpoint": number, "checkpoint_hash": hash, "removed": [],
        "set": set, "triggered_by": set.keys().next().unwrap(),
    });
    place.write(LOG, log + &serde_jcs::to_string(&line).unwrap() + "\n");
}

/// Appends or replaces the last entry of a history by one whose hashes follow.
fn rechain(place: &Place, path: &str, replace: bool, change: impl FnOnce(&mut Entry)) {
    let text = place.read(path);
    let all: Vec<Entry> = History::parse(text.as_bytes())
        .unwrap()
        .slots
        .into_iter()
        .map(|slot| slot.entry.unwrap())
        .collect();
    let (last, before) = all.split_last().unwrap();
    let kept = if replace { before } else { &all };
    let mut entry = last.clone();
    if !replace {
        entry.version += 1;
    }
    change(&mut entry);
    if let Stored::Diff(diff) = &entry.stored {
        entry.content_hash = Digest::of(diff.as_bytes());
    }
    let previous = kept.last().map(|entry| entry.chain_hash);
    let (content, by, at) = (&entry.content_hash, &entry.edited_by, entry.edited_at);
    entry.chain_hash = chain_hash(previous.as_ref(), content, entry.version, by, at);
    let mut bytes = String::new();
    for entry in kept.iter().chain([&entry]) {
        let history = match bytes.as_str() {
            "" => History::new(),
            text => History::parse(text.as_bytes()).unwrap(),
        };
        bytes.push_str(&history.append(entry, 10).unwrap());
    }
    place.write(path, bytes);
}

#[test]
fn a_retired_version_does_not_come_back() {
    let place = place();
    let log = place.read(LOG);
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let old = first["set"]["nodes/c"][1].as_str().unwrap().to_owned();
    append_checkpoint(&place, &[("nodes/c", 1, &old)]);
    assert_eq!(codes(&place), ["version-regression"]);
    let read = place.ctx("read nodes/c").exits(1);
    assert_eq!(read.stdout, "");
    assert!(read.stderr.contains("goes back to version 1 of `nodes/c`"), "{}", read.stderr);
    place.ctx("publish --all").exits(1);
}

#[test]
fn a_retirement_changes_nothing_but_what_retiring_changes() {
    let place = place();
    let path = "nodes/.versions/c/history.yaml";
    rechain(&place, path, true, |entry| {
        let Stored::Diff(diff) = &mut entry.stored else { panic!("a diff") };
        // Another text, by a diff that applies.
        let old = place.read("nodes/.versions/c/v1.md");
        let retired = diff::apply(&old, diff).unwrap();
        *diff = diff::print(&old, &retired.replace("old policy", "forged policy"), 1, 2);
    });
    assert_eq!(codes(&place), ["version-self-mismatch", "checksum-mismatch"]);
}

#[test]
fn who_retired_a_document_is_said_to_be_covered_by_no_hash() {
    let place = place();
    rechain(&place, "nodes/.versions/c/history.yaml", true, |entry| {
        entry.edited_by = "eve@example.com".to_owned();
    });
    let output = place.ctx("verify").ok();
    assert!(output.stdout.contains("covered by no hash: who retired 1 document"));
}

#[test]
fn a_version_that_nothing_seals_is_found_and_not_built_upon() {
    let place = place();
    let path = "nodes/.versions/a/history.yaml";
    rechain(&place, path, false, |entry| {
        entry.stored = Stored::Diff("--- v1\n+++ v2\n".to_owned());
        entry.published_at = None;
        entry.edited_by = "eve@example.com".to_owned();
    });
    assert!(codes(&place).contains(&"version-unsealed".to_owned()), "{:?}", codes(&place));
    place.edit("nodes/a.md", "# A", "# B");
    let refused = place.ctx("publish nodes/a").exits(1);
    assert!(refused.stderr.contains("history-unsealed"), "{}", refused.stderr);
}

#[test]
fn an_unpublished_version_of_the_other_tool_is_a_note() {
    let place = Place::copy_of(&repository().join("fixtures/interop/procurement"));
    let path = "nodes/legal/.versions/review/history.yaml";
    rechain(&place, path, false, |entry| {
        let old = place.read("nodes/legal/.versions/review/v1.md");
        let new = old.replace("version: 1", "version: 2").replace("published", "draft");
        entry.stored = Stored::Diff(diff::print(&old, &new, 1, 2));
        entry.published_at = None;
    });
    let output = place.typed("verify --json").var("CTX_NOW", "2026-11-22T10:00:00.000Z").run();
    let json = output.json("ctx.verify");
    let found: Vec<&str> =
        json["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    assert!(found.contains(&"version-unpublished"), "{found:?}");
    assert_eq!(output.exit, 0);
}

#[test]
fn a_text_that_says_it_is_another_version_is_shown_by_no_verb() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A", "# B");
    place.ctx("publish --changed").ok();
    // The diff of version 2 as its full text: content and chain hash stay what they were.
    let path = "nodes/.versions/a/history.yaml";
    let history = History::parse(place.read(path).as_bytes()).unwrap();
    let Stored::Diff(diff) = &history.entry(2).unwrap().stored else { panic!("a diff") };
    place.write("nodes/.versions/a/v2.md", diff);
    let text = place.read(path);
    let (before, after) = text.split_once("    diff:").unwrap();
    let after = &after[after.find("    edited_by").unwrap()..];
    place.write(path, format!("{before}    keyframe: true\n{after}"));
    assert_eq!(codes(&place)[0], "version-self-mismatch");
    for line in ["show nodes/a 2", "diff nodes/a 1 2", "history nodes/a", "read nodes/a"] {
        let output = place.ctx(line).exits(1);
        assert!(!output.stdout.contains("+# B"), "{line}: {}", output.stdout);
    }
}

#[test]
fn a_vault_that_lost_its_log_is_no_new_vault() {
    for rest in [None, Some("")] {
        let place = place();
        place.remove(LOG);
        if let Some(rest) = rest {
            place.write(LOG, rest);
        }
        for line in ["resolve '#x'", "list", "status", "read nodes/a", "publish --all"] {
            let output = place.ctx(line).exits(1);
            assert!(output.stderr.contains("error[log-broken]"), "{line}: {}", output.whole());
        }
        place.ctx("verify").exits(1);
    }
}

#[test]
fn a_verdict_is_given_whatever_the_configuration_is() {
    let place = place();
    place.remove(".context/config.yaml");
    std::os::unix::fs::symlink("/etc/passwd", place.path(".context/config.yaml")).unwrap();
    assert_eq!(codes(&place), ["policy-drift"]);
    assert_eq!(place.ctx("read nodes/a").exits(0).stderr, "");
}
