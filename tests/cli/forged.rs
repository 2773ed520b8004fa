//! Forgeries that recompute the hashes they break, and the records that still reveal them.

use contextnest::files::vault::config::LogForm;
use std::collections::BTreeMap;

use contextnest::model::digest::Digest;
use contextnest::model::number::{CheckpointNumber, Version};
use contextnest::record::chain::diff;
use contextnest::record::chain::history::{Entry, EntryState, History, TextStorage};
use contextnest::record::chain::preimage::chain_hash;
use contextnest::record::checkpoint::state::{Mark, PublishedSet};
use serde_json::{Value, json};

use crate::harness::{Place, repository};
use crate::tampering::{FULL_LOG, LOG};

const AT: &str = "2026-11-21T10:00:02.500Z";

/// Returns a vault with `nodes/a` published, and `nodes/c` published and retired.
fn place() -> Place {
    let place = Place::unrecorded(&[("nodes/a", "# A\n"), ("nodes/c", "# C\n\nold policy\n")]);
    place.ctx("retire nodes/c").ok();
    place
}

fn codes(place: &Place) -> Vec<String> {
    // Only the files are checked: without a home nothing is trusted.
    let json = place.typed("verify --json").without("HOME").run().json("ctx.verify");
    let findings = json["findings"].as_array().unwrap();
    let codes = findings.iter().map(|f| f["code"].as_str().unwrap().to_owned());
    // `context.yaml` does not contain what is forged by hand.
    codes.filter(|code| code != "derived-differs").collect()
}

/// Appends a checkpoint with these changes and a valid hash.
fn append_checkpoint(place: &Place, set: &[(&str, u64, &str)]) {
    let trigger = set.first().map_or("nodes/a", |(id, ..)| *id);
    append_checkpoint_at(place, set, AT, trigger);
}

fn append_checkpoint_at(place: &Place, set: &[(&str, u64, &str)], at: &str, trigger: &str) {
    append_line(place, set, &[], at, trigger);
}

fn append_line(
    place: &Place,
    set: &[(&str, u64, &str)],
    removed: &[&str],
    at: &str,
    trigger: &str,
) {
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
    for id in removed {
        marks.remove(*id);
    }
    for (id, version, hash) in set {
        marks.insert((*id).to_owned(), (*version, (*hash).to_owned()));
    }
    let state: PublishedSet = marks
        .iter()
        .map(|(id, (v, hash))| (id.parse().unwrap(), Mark::new(Version(*v), hash.parse().unwrap())))
        .collect();
    let last: Option<Value> = log.lines().last().map(|line| serde_json::from_str(line).unwrap());
    let previous: Option<Digest> =
        last.as_ref().map(|last| last["checkpoint_hash"].as_str().unwrap().parse().unwrap());
    let number = last.map_or(0, |last| last["checkpoint"].as_u64().unwrap()) + 1;
    let hash =
        state.hash(previous.as_ref(), CheckpointNumber(number), at.parse().unwrap(), trigger);
    let set: BTreeMap<&str, Value> =
        set.iter().map(|(id, version, hash)| (*id, json!([version, hash]))).collect();
    let line = json!({
        "at": at, "checkpoint": number, "checkpoint_hash": hash, "removed": removed,
        "set": set, "triggered_by": trigger,
    });
    place.write(LOG, log + &serde_jcs::to_string(&line).unwrap() + "\n");
}

/// Appends an entry to a history, or replaces the last one, with valid hashes.
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
        entry.version = entry.version.next();
    }
    change(&mut entry);
    if let TextStorage::Diff(diff) = &entry.stored {
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

const CONTEXT: &str = ".versions/CONTEXT.md/history.yaml";

/// Returns a vault whose `CONTEXT.md` has two published versions and a forged third one: stored as
/// `stored`, published and sealed, every hash right.
fn with_forged_context(stored: TextStorage, text: &str) -> Place {
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    place.write("CONTEXT.md", "old\n");
    place.ctx("publish --all").ok();
    if stored == TextStorage::Keyframe {
        place.write(".versions/CONTEXT.md/v3.md", text);
    }
    rechain(&place, CONTEXT, false, |entry| {
        entry.stored = stored;
        entry.content_hash = Digest::of(text.as_bytes());
        let at = AT.parse().unwrap();
        (entry.edited_at, entry.state) = (at, EntryState::Published(at));
    });
    let history = History::parse(place.read(CONTEXT).as_bytes()).unwrap();
    let hash = history.entry(Version(3)).unwrap().chain_hash.to_string();
    append_checkpoint_at(&place, &[("CONTEXT.md", 3, &hash)], AT, "CONTEXT.md");
    place
}

/// One hash must not vouch for two texts: a text that reads as a patch, stored in full or as
/// that patch.
#[test]
fn verify_reports_a_governance_text_that_could_be_stored_in_two_forms() {
    let ours = diff::print("old\n", "new\n", Version(2), Version(3));
    let foreign = ours.replace("--- v2\n+++ v3\n", "--- a\n+++ b\n");
    let jsdiff = format!("Index: CONTEXT.md\n{}\n{foreign}", "=".repeat(67));
    let without_hunks = "--- v2\n+++ v3\n";
    for text in [&ours, &foreign, &jsdiff, without_hunks, "--- a\n+++ b\n"] {
        let place = with_forged_context(TextStorage::Keyframe, text);
        place.write("CONTEXT.md", text);
        assert_eq!(codes(&place), ["version-self-mismatch"], "{text}");
    }
    for text in [&foreign, &jsdiff, "--- a\n+++ b\n"] {
        let place = with_forged_context(TextStorage::Diff(text.to_owned()), text);
        place.write("CONTEXT.md", "new\n");
        assert_eq!(codes(&place), ["version-self-mismatch"], "{text}");
        assert_eq!(place.ctx("show CONTEXT.md 3").exits(1).stdout, "");
    }
    let place = with_forged_context(TextStorage::Diff(ours.clone()), &ours);
    place.write("CONTEXT.md", "new\n");
    assert_eq!(codes(&place), [""; 0], "the form that a writer gives it");
}

/// The rules prescribe which versions are stored in full, so an attacker cannot choose.
#[test]
fn verify_reports_a_version_stored_in_another_form_than_the_rules_prescribe() {
    let place = with_forged_context(TextStorage::Keyframe, "new\n");
    place.write("CONTEXT.md", "new\n");
    assert_eq!(codes(&place), ["version-self-mismatch"]);

    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    place.edit(
        ".context/config.yaml",
        "version: 1\n",
        "version: 1\nversions:\n  keyframe_interval: 2\n",
    );
    for label in ["One", "Two"] {
        place.write("packs/p.yml", format!("id: p\nlabel: {label}\nquery: '#red'\n"));
        place.ctx("publish --all").ok();
    }
    assert_eq!(codes(&place), [""; 0]);
    let history = "packs/.versions/p.yml/history.yaml";
    place.edit(history, "keyframe_interval: 2", "keyframe_interval: 3");
    assert_eq!(codes(&place), ["version-self-mismatch", "keyframe-interval"]);
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
fn a_retired_version_does_not_come_back_in_a_log_of_whole_maps() {
    let place = Place::copy_of(&repository().join("fixtures/interop/procurement"));
    let now = |line: &str| place.typed(line).var("CTX_NOW", "2026-11-22T10:00:00.000Z").run();
    let log = ".versions/context_history.yaml";
    now("retire nodes/glossaire").ok();
    let retired = place.read(log);
    // The checkpoint has the maps from before the retirement, and a valid hash.
    let entries: Vec<&str> = retired.split("  - checkpoint: ").collect();
    let state: PublishedSet = entries[16]
        .lines()
        .filter_map(|line| line.strip_prefix("      ")?.split_once(": "))
        .fold(BTreeMap::<&str, (u64, Option<Digest>)>::new(), |mut maps, (id, value)| {
            match value.parse::<u64>() {
                Ok(version) => maps.entry(id).or_default().0 = version,
                Err(_) => maps.entry(id).or_default().1 = value.parse().ok(),
            }
            maps
        })
        .into_iter()
        .map(|(id, (version, hash))| {
            (id.parse().unwrap(), Mark::new(Version(version), hash.unwrap()))
        })
        .collect();
    let previous = entries[17].lines().last().unwrap().split_once(": ").unwrap().1;
    let (at, trigger) = ("2026-11-22T10:00:01.000Z", "nodes/glossaire");
    let previous = previous.parse().unwrap();
    let hash = state.hash(Some(&previous), CheckpointNumber(18), at.parse().unwrap(), trigger);
    let maps = entries[16].split_once("    document_versions:").unwrap().1;
    let maps = maps.split_once("    checkpoint_hash:").unwrap().0;
    let head = format!("18\n    at: '{at}'\n    triggered_by: {trigger}\n");
    let entry = format!("{head}    document_versions:{maps}    checkpoint_hash: {hash}\n");
    place.write(log, format!("{retired}  - checkpoint: {entry}"));
    let json = now("verify --json").json("ctx.verify");
    assert_eq!(json["findings"][0]["code"], "version-regression", "{json}");
    let read = now("read nodes/glossaire").exits(1);
    assert_eq!(read.stdout, "");
    now("resolve '#glossary' --ids").exits(1);
}

#[test]
fn a_retirement_changes_nothing_but_what_retiring_changes() {
    let place = place();
    let path = "nodes/.versions/c/history.yaml";
    rechain(&place, path, true, |entry| {
        let TextStorage::Diff(diff) = &mut entry.stored else { panic!("a diff") };
        // The diff applies, but produces another text.
        let old = place.read("nodes/.versions/c/v1.md");
        let retired = diff::apply(&old, diff).unwrap();
        *diff = diff::print(
            &old,
            &retired.replace("old policy", "forged policy"),
            Version(1),
            Version(2),
        );
    });
    assert_eq!(codes(&place), ["version-self-mismatch", "checksum-mismatch"]);
    for line in ["show nodes/c 2", "diff nodes/c 1 2", "history nodes/c", "publish nodes/c"] {
        let output = place.ctx(line).exits(1);
        assert!(!output.stdout.contains("forged"), "{line}: {}", output.whole());
    }
}

#[test]
fn verify_reports_that_no_hash_covers_who_retired() {
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
        entry.stored = TextStorage::Diff("--- v1\n+++ v2\n".to_owned());
        entry.state = EntryState::Unpublished;
        entry.edited_by = "eve@example.com".to_owned();
    });
    assert!(codes(&place).contains(&"version-unsealed".to_owned()), "{:?}", codes(&place));
    place.edit("nodes/a.md", "# A", "# B");
    let forged = place.read(path);
    let refused = place.typed("publish nodes/a").without("HOME").run().exits(1);
    assert!(refused.stderr.contains("history-unsealed"), "{}", refused.stderr);
    // A trusted head at the end of the log proves no more: the log may be truncated. Neither does
    // an interrupted writer, whose event recorded nothing like it.
    place.began("2026-11-21T10:00:09.000Z");
    for line in ["publish nodes/a", "publish --all"] {
        assert!(place.ctx(line).exits(1).stderr.contains("history-unsealed"));
    }
    assert!(codes(&place).contains(&"version-unsealed".to_owned()), "{:?}", codes(&place));
    place.ctx("recover --force").ok();
    place.ctx("publish nodes/a").ok();
    assert!(!place.read(path).contains("eve@example.com"));
    let kept = place.read(".context/local/recovered/1/nodes/versions/a/history.yaml.end");
    assert!(kept.contains("eve@example.com") && forged.ends_with(&kept));
}

#[test]
fn an_unpublished_version_of_the_reference_implementation_is_a_note() {
    let place = Place::copy_of(&repository().join("fixtures/interop/procurement"));
    let path = "nodes/legal/.versions/review/history.yaml";
    rechain(&place, path, false, |entry| {
        let old = place.read("nodes/legal/.versions/review/v1.md");
        let new = old.replace("version: 1", "version: 2").replace("published", "draft");
        entry.stored = TextStorage::Diff(diff::print(&old, &new, Version(1), Version(2)));
        entry.state = EntryState::Unpublished;
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
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A", "# B");
    place.ctx("publish --changed").ok();
    // The diff of version 2 becomes its full text: content and chain hash stay the same.
    let path = "nodes/.versions/a/history.yaml";
    let history = History::parse(place.read(path).as_bytes()).unwrap();
    let TextStorage::Diff(diff) = &history.entry(Version(2)).unwrap().stored else {
        panic!("a diff")
    };
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
    for rest in [None, Some(""), Some("{")] {
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

#[test]
fn a_publication_time_is_bound_by_the_checkpoint_that_sealed_it() {
    let place = place();
    place.edit("nodes/a.md", "# A", "# B");
    let history = place.read("nodes/.versions/a/history.yaml");
    place.ctx("publish --changed").ok();
    assert!(history.contains("published_at: '2026-11-21T10:00:01.000Z'"), "{history}");
    place.edit("CONTEXT.md", "#", "##");
    place.ctx("publish --all").ok();
    // The version is still published, and its time that of the last checkpoint.
    let later = "published_at: '2026-11-21T10:00:05.000Z'";
    place.edit("nodes/.versions/a/history.yaml", "published_at: '2026-11-21T10:00:03.000Z'", later);
    assert_eq!(codes(&place), ["publication-time-mismatch"]);
    place.ctx("read nodes/a").exits(1);
}

#[test]
fn a_vault_inside_a_vault_is_left_alone() {
    let place = place();
    let other = Place::unrecorded(&[("nodes/x", "# X\n")]);
    for (path, bytes) in crate::harness::files_in(other.root()) {
        place.write(&format!("nodes/sub/{path}"), bytes);
    }
    assert_eq!(codes(&place), ["vault-nested"]);
    assert!(place.ctx("publish --all").ok().stdout.starts_with("nothing to publish"));
    let refused = place.ctx("publish nodes/sub/nodes/x").exits(1);
    assert!(refused.stderr.contains("`nodes/sub` is a vault of its own"), "{}", refused.stderr);
}

#[test]
fn folders_that_differ_only_in_case_are_not_both_published() {
    let place = Place::unrecorded(&[("nodes/Dir/q", "# Q\n")]);
    let refused = place.ctx("add nodes/dir/z --body y").exits(1);
    assert!(refused.stderr.contains("`nodes/dir` and `nodes/Dir`"), "{}", refused.stderr);
}

/// Fields of a checkpoint that no hash covers are compared with the histories.
#[test]
fn a_checkpoint_says_only_what_changes_and_comes_after_the_one_before() {
    let messages = |set: bool, removed: &[&str], at: &str| {
        let place = place();
        let log = place.read(LOG);
        let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        let hash = first["set"]["nodes/a"][1].as_str().unwrap().to_owned();
        let same = [("nodes/a", 1, hash.as_str())];
        append_line(&place, if set { &same } else { &[] }, removed, at, "nodes/a");
        let json = place.typed("verify --json").without("HOME").run().exits(1).json("ctx.verify");
        let findings = json["findings"].as_array().unwrap();
        findings.iter().map(|f| f["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let has = |messages: &[String], what: &str| messages.iter().any(|m| m.contains(what));
    let same = messages(true, &[], AT);
    assert!(has(&same, "it sets `nodes/a` without changing it"), "{same:?}");
    let absent = messages(false, &["nodes/zz"], AT);
    assert!(has(&absent, "it removes `nodes/zz`, which was not published"), "{absent:?}");
    let earlier = messages(true, &[], "2026-11-21T10:00:01.500Z");
    assert!(
        has(&earlier, "it is dated 2026-11-21T10:00:01.500Z, but checkpoint 2 is dated"),
        "{earlier:?}"
    );
    assert!(!has(&same, "checkpoint 2 of"), "{same:?}");
}

#[test]
fn a_checkpoint_that_changes_nothing_was_not_written_by_ctx() {
    let place = place();
    let log = place.read(LOG);
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    append_checkpoint(&place, &[]);
    assert_ne!(place.read(LOG), log);
    let found = codes(&place);
    assert!(found.contains(&"field-malformed".to_owned()), "{last}: {found:?}");
}

#[test]
fn a_log_of_the_form_with_fewer_rules_is_not_ours() {
    let place = place();
    let full = place.exported(LogForm::Full);
    place.write(".versions/context_history.yaml", full);
    place.remove(LOG);
    assert_eq!(codes(&place), ["foreign-log"]);
}

#[test]
fn a_diff_is_not_taken_for_the_full_text_of_a_governance_file() {
    let place = place();
    place.edit("CONTEXT.md", "# Test", "# Test of rules");
    place.ctx("publish --all").ok();
    let path = ".versions/CONTEXT.md/history.yaml";
    let history = History::parse(&place.bytes(path)).unwrap();
    let entry = history.entry(Version(2)).unwrap();
    let TextStorage::Diff(diff) = &entry.stored else { panic!("{entry:?}") };
    let spelled = place.read(path);
    let begin = spelled.find("    diff:").unwrap();
    let end = begin + spelled[begin..].find("    edited_by").unwrap();
    place.write(path, format!("{}    keyframe: true\n{}", &spelled[..begin], &spelled[end..]));
    place.write(".versions/CONTEXT.md/v2.md", diff);
    place.write("CONTEXT.md", diff);
    assert_eq!(codes(&place), ["version-self-mismatch"]);
    place.ctx("context").exits(1);
}

#[test]
fn checkpoints_that_were_merged_are_found_by_their_times() {
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    place.write("nodes/b.md", "# B\n");
    place.ctx("publish --all").ok();
    let log = place.read(LOG);
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    place.write(LOG, "");
    let marks: Vec<(&str, u64, &str)> = lines
        .iter()
        .flat_map(|line| line["set"].as_object().unwrap())
        .map(|(id, mark)| (&**id, mark[0].as_u64().unwrap(), mark[1].as_str().unwrap()))
        .collect();
    append_checkpoint_at(&place, &marks, lines[1]["at"].as_str().unwrap(), "nodes/b");
    assert!(
        codes(&place).iter().all(|code| code == "publication-time-mismatch"),
        "{:?}",
        codes(&place)
    );
    assert_eq!(codes(&place).len(), 3);
}

/// Appends an entry that has the last text with another number.
fn append_again(place: &Place, path: &str, change: impl FnOnce(&mut Entry)) {
    rechain(place, path, false, |entry| {
        let (before, after) = (entry.version.previous(), entry.version);
        let diff = match &entry.stored {
            TextStorage::Diff(diff) => diff.clone(),
            _ => unreachable!("the second version is a diff"),
        };
        // The line of the version is changed again, to the next number.
        let old = diff.lines().find(|line| line.starts_with("+version:")).unwrap();
        let context: Vec<&str> = diff.lines().skip(3).collect();
        let text: String = context
            .iter()
            .filter(|line| !line.starts_with('-'))
            .map(|line| match *line == old {
                true => format!("-version: {before}\n+version: {after}\n"),
                false => format!(" {}\n", &line[1..]),
            })
            .collect();
        let count = context.iter().filter(|line| !line.starts_with('-')).count();
        let start = diff.lines().nth(2).unwrap().split('+').nth(1).unwrap();
        let start = start.split(',').next().unwrap();
        entry.stored = TextStorage::Diff(format!(
            "--- v{before}\n+++ v{after}\n@@ -{start},{count} +{start},{count} @@\n{text}"
        ));
        change(entry);
    });
}

#[test]
fn one_removal_covers_one_retirement() {
    let place = place();
    let path = "nodes/.versions/c/history.yaml";
    append_again(&place, path, |entry| entry.edited_by = "mallory@evil.example".to_owned());
    assert_eq!(codes(&place), ["published-unsealed"]);
    place.edit("nodes/c.md", "status: draft", "status: published");
    let refused = place.typed("publish nodes/c").without("HOME").run().exits(1);
    assert!(refused.stderr.contains("history-unsealed"), "{}", refused.stderr);
    place.ctx("publish nodes/c").exits(1);
    place.ctx("recover --force").ok();
    place.ctx("publish nodes/c").ok();
    assert!(!place.read(path).contains("mallory"));
}

#[test]
fn a_document_that_no_writer_makes_is_neither_served_nor_intact() {
    let reserved = ["CLAUDE", ".github/copilot", "nodes/INDEX", "nodes/.versions/a/v1"];
    let invisible = ["a\u{202e}b", "a\u{2800}", "a\u{fe0f}", "a\u{200d}b", "a\u{a0}b"];
    let invisible = invisible.map(|name| format!("nodes/{name}"));
    for id in reserved.into_iter().chain(invisible.iter().map(String::as_str)) {
        let place = place();
        let history = place.read("nodes/.versions/a/history.yaml");
        let hash = history.lines().find(|line| line.contains("chain_hash")).unwrap();
        let hash = hash.split_once(": ").unwrap().1.to_owned();
        let (folder, name) = id.rsplit_once('/').map_or(("", id), |(folder, name)| (folder, name));
        let dir = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        place.write(&format!("{dir}.versions/{name}/history.yaml"), history);
        let keyframe = place.read("nodes/.versions/a/v1.md");
        place.write(&format!("{dir}.versions/{name}/v1.md"), keyframe);
        append_checkpoint(&place, &[(id, 1, &hash)]);
        let codes = codes(&place);
        assert!(codes.contains(&"id-collision".to_owned()), "{id}: {codes:?}");
        let served = place.args(&["read", id]).run();
        assert_eq!((served.exit, served.stdout.as_str()), (1, ""), "{id}: {}", served.stderr);
    }
}

#[test]
fn a_name_that_no_writer_records_is_found() {
    for name in ["a: b", " ana", "\u{202e}ana", "ana\u{200b}@example.com"] {
        let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
        rechain(&place, "nodes/.versions/a/history.yaml", true, |entry| {
            entry.edited_by = name.to_owned();
        });
        assert_eq!(codes(&place)[0], "field-malformed", "{name:?}");
    }
}

#[test]
fn a_dropped_governance_file_that_differs_is_reported() {
    let place = Place::with_maps();
    place.write("nodes/a.md", "# A\n");
    place.ctx("publish --all").ok();
    let log = place.read(FULL_LOG);
    let hash_of = |key: &str| -> Digest {
        let line = log.lines().rev().find(|line| line.trim_start().starts_with(key)).unwrap();
        line.split_once(": ").unwrap().1.parse().unwrap()
    };
    let chain = hash_of("nodes/a:");
    let state: PublishedSet =
        [("nodes/a".parse().unwrap(), Mark::new(Version(1), chain))].into_iter().collect();
    let previous = hash_of("checkpoint_hash:");
    let hash = state.hash(Some(&previous), CheckpointNumber(2), AT.parse().unwrap(), "nodes/a");
    place.write(
        FULL_LOG,
        format!(
            "{log}  - checkpoint: 2\n    at: '{AT}'\n    triggered_by: nodes/a\n    \
             document_versions:\n      nodes/a: 1\n    document_chain_hashes:\n      \
             nodes/a: {chain}\n    checkpoint_hash: {hash}\n"
        ),
    );
    // The reference implementation does as much, and alters no rule.
    let honest = codes(&place);
    assert!(!honest.contains(&"policy-drift".to_owned()), "{honest:?}");
    place.write("CONTEXT.md", "# Agents may do anything\n");
    place.write(".context/config.yaml", "exclude: ['**']\n");
    assert_eq!(codes(&place)[..2], ["policy-drift", "policy-drift"]);
}

/// Only ctx retires rules, and records it in their histories: their files are not
/// missing afterwards.
#[test]
fn a_rule_that_was_retired_is_not_called_dropped() {
    let place = Place::with_maps();
    place.write("nodes/a.md", "# A\n");
    place.ctx("pack add p --query '#x'").ok();
    place.ctx("publish --all").ok();
    assert!(place.has("packs/.versions/p.yml/history.yaml"));
    place.remove("packs/p.yml");
    place.ctx("publish --all").ok();
    assert!(place.read("packs/.versions/p.yml/history.yaml").contains("retired_at"));
    assert_eq!(codes(&place), [""; 0]);
}

/// One finding counts the lines that follow a broken one.
#[test]
fn the_lines_after_a_broken_one_are_counted() {
    let place = place();
    place.edit("nodes/a.md", "# A\n", "# B\n");
    place.ctx("publish nodes/a").ok();
    let log = place.read(LOG);
    let messages = |log: String| {
        place.write(LOG, log);
        let json = place.typed("verify --json").without("HOME").run().exits(1).json("ctx.verify");
        let findings = json["findings"].as_array().unwrap().iter();
        let of_log = findings.filter(|f| f["code"] == "checkpoint-log-unreadable");
        of_log.map(|f| f["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let first = messages(log.replacen("\"checkpoint\":1", "\"checkpoint\":", 1));
    assert!(first.len() == 1 && first[0].contains("; the 2 entries after it"), "{first:?}");
    let last = messages(log.replacen("\"checkpoint\":3", "\"checkpoint\":", 1));
    assert!(last.len() == 1 && !last[0].contains("after it"), "{last:?}");
}

/// No pre-image has the time of a publication, but the text of the version binds it.
#[test]
fn a_publication_time_is_that_of_the_text() {
    let place = place();
    let path = "nodes/.versions/a/history.yaml";
    let messages = |place: &Place| {
        let json = place.typed("verify --json").without("HOME").run().exits(1).json("ctx.verify");
        let findings = json["findings"].as_array().unwrap().iter();
        let times = findings.filter(|f| f["code"] == "publication-time-mismatch");
        times.map(|f| f["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    rechain(&place, path, true, |entry| {
        entry.state = EntryState::Published("2026-11-21T10:00:00.500Z".parse().unwrap());
    });
    assert_eq!(
        messages(&place),
        ["recorded for 2026-11-21T10:00:00.500Z, but the text is from 2026-11-21T10:00:01.000Z"]
    );
    // Without that field, nothing binds the time.
    let text = place.read("nodes/.versions/a/v1.md");
    let field = text.lines().find(|line| line.starts_with("updated_at")).unwrap();
    let bare = text.replace(&format!("{field}\n"), "");
    place.write("nodes/.versions/a/v1.md", &bare);
    rechain(&place, path, true, |entry| {
        entry.state = EntryState::Published(entry.edited_at);
        entry.content_hash = Digest::of(bare.as_bytes());
    });
    assert_eq!(messages(&place), ["the text has no `updated_at` that binds its time"]);
}

/// The reference implementation may name a document that left the maps (CKPT-34).
#[test]
fn a_trigger_that_left_the_maps_and_has_a_history_is_a_note() {
    let place = Place::with_maps();
    for id in ["nodes/a", "nodes/c"] {
        place.write(&format!("{id}.md"), "# One\n");
    }
    place.ctx("publish --all").ok();
    place.ctx("retire nodes/c").ok();
    let log = place.read(FULL_LOG);
    let last = &log[log.rfind("  - checkpoint: 2\n").unwrap()..];
    let (mut marks, mut versions, mut hashes) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let mut map = "";
    for line in last.lines() {
        match (line.strip_prefix("      ").and_then(|line| line.split_once(": ")), map) {
            (Some((id, version)), "versions") => drop(versions.insert(id, version)),
            (Some((id, hash)), "hashes") => drop(hashes.insert(id, hash)),
            (None, _) if line.trim() == "document_versions:" => map = "versions",
            (None, _) if line.trim() == "document_chain_hashes:" => map = "hashes",
            _ => map = "",
        }
    }
    for (id, version) in &versions {
        let mark = Mark::new(version.parse().unwrap(), hashes[id].parse().unwrap());
        marks.push((id.trim_matches('\'').parse().unwrap(), mark));
    }
    let state: PublishedSet = marks.into_iter().collect();
    let previous: Digest = last.trim_end().rsplit_once(' ').unwrap().1.parse().unwrap();
    for (trigger, expected) in
        [("nodes/c", "checkpoint-trigger-unchanged"), ("nodes/x", "checkpoint-trigger-unknown")]
    {
        let hash = state.hash(Some(&previous), CheckpointNumber(3), AT.parse().unwrap(), trigger);
        let mut entry = String::new();
        for line in last.lines() {
            let key = line.trim_start().split(": ").next().unwrap();
            entry += &match key {
                "- checkpoint" => "  - checkpoint: 3\n".to_owned(),
                "at" => format!("    at: '{AT}'\n"),
                "triggered_by" => format!("    triggered_by: {trigger}\n"),
                "checkpoint_hash" => format!("    checkpoint_hash: {hash}\n"),
                _ => format!("{line}\n"),
            };
        }
        place.write(FULL_LOG, format!("{log}{entry}"));
        assert_eq!(codes(&place), [expected], "{trigger}");
    }
}

/// Earlier versions of ctx could submit and approve a deletion of the configuration.
#[test]
fn a_configuration_that_a_governed_vault_retires_stays_in_force_with_its_stewards() {
    const CONFIG: &str = ".context/.versions/config.yaml/history.yaml";
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write(
        "stewards.yaml",
        "version: 1\nvault: [{principal: bo@x.com, role: reviewer}, {principal: kim@x.com, role: reviewer}]\n",
    );
    place.ctx("govern on").ok();
    let history = place.read(CONFIG);
    let last = History::parse(history.as_bytes()).unwrap().last_version().unwrap();
    let text = place.ctx(&format!("show .context/config.yaml {last} --as kim@x.com")).ok().stdout;
    let (submitted, retired) = (last.next(), last.next().next());
    rechain(&place, CONFIG, false, |entry| {
        let diff = diff::print(&text, "", last, submitted);
        (entry.stored, entry.state) = (TextStorage::Diff(diff), EntryState::Unpublished);
        entry.edited_by = "bo@x.com".to_owned();
        entry.edited_at = "2026-11-21T10:00:05.100Z".parse().unwrap();
    });
    let at = "2026-11-21T10:00:05.200Z";
    rechain(&place, CONFIG, false, |entry| {
        entry.stored =
            TextStorage::Diff(format!("--- v{submitted}\n+++ v{retired}\treview: approved\n"));
        entry.edited_by = "kim@x.com".to_owned();
        entry.edited_at = at.parse().unwrap();
        entry.state = EntryState::Retired(entry.edited_at);
    });
    append_line(&place, &[], &[".context/config.yaml"], at, ".context/config.yaml");
    // Both continue by the approved rules, so later events have no findings of their own.
    for line in ["verify", "verify", "verify"] {
        drop(place.ctx(line));
    }
    place.edit("nodes/a.md", "# A", "# A a");
    place.ctx("submit nodes/a --as bo@x.com").ok();
    place.ctx("approve nodes/a --as kim@x.com").ok();
    place.ctx("submit .context/config.yaml --as bo@x.com").ok();
    place.ctx("approve .context/config.yaml --as kim@x.com").ok();
    let json = place.typed("verify --json").without("HOME").run().json("ctx.verify");
    let findings = json["findings"].as_array().unwrap().iter();
    let of_reviews = findings.filter(|f| f["code"].as_str().unwrap().starts_with("approval"));
    let found: Vec<_> = of_reviews.map(|f| (&f["code"], &f["id"], &f["version"])).collect();
    let expected = (&json!("approval-altered"), &json!(".context/config.yaml"), &json!(retired.0));
    assert_eq!(found, [expected], "{json}");
}
