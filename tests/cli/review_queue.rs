//! The queue of a governed vault: found by the lines of the change logs, by an index or the log,
//! and by the histories if the change logs are incomplete.

use std::collections::BTreeSet;

use crate::harness::{Place, files_in};

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - \
    {principal: kim@x.com, role: reviewer}\n  - {principal: ana@x.com, role: editor}\n";

/// Returns a governed vault with every kind of pending submission and of decision.
fn place() -> Place {
    let place = Place::vault();
    for n in 0..9 {
        place.write(&format!("nodes/d{n}.md"), format!("# Document {n}\n\nfirst\n"));
    }
    let by = |who: &str, line: &str| place.ctx(&format!("{line} --as {who}@x.com")).ok();
    by("ana", "publish --all");
    place.write("stewards.yaml", STEWARDS);
    by("ana", "govern on");
    for n in 0..5 {
        place.edit(&format!("nodes/d{n}.md"), "first", "second");
    }
    by("ana", "submit nodes/d0 nodes/d1 nodes/d2 nodes/d3 nodes/d4");
    by("bo", "approve nodes/d0");
    by("bo", "reject nodes/d1 --reason wrong");
    by("ana", "withdraw nodes/d2");
    // d3 awaits a decision, and d4 does until it is retired.
    by("bo", "retire nodes/d4 nodes/d5 --emergency --reason wrong");
    by("kim", "approve nodes/d5");
    by("ana", "retire nodes/d6 nodes/d7");
    by("bo", "approve nodes/d6");
    by("ana", "mv nodes/d8 nodes/moved");
    by("bo", "approve nodes/d8");
    place.edit("stewards.yaml", "version: 1", "# for everyone\nversion: 1");
    by("ana", "submit stewards.yaml");
    place.write("nodes/new.md", "# New\n");
    by("ana", "submit nodes/new");
    place
}

const AWAITED: [&str; 5] = [
    "emergency nodes/d4 v3",
    "publish nodes/d3 v2",
    "publish nodes/new v1",
    "publish stewards.yaml v2",
    "retire nodes/d7 v2",
];

fn queue(place: &Place, more: &str) -> BTreeSet<String> {
    let said = place.ctx(&format!("review --all --json --as kim@x.com{more}")).ok();
    let waiting = said.json("ctx.review")["waiting"].clone();
    let line = |one: &serde_json::Value| {
        let text = |key: &str| one[key].as_str().unwrap().to_owned();
        format!("{} {} v{}", text("action"), text("id"), one["version"])
    };
    waiting.as_array().unwrap().iter().map(line).collect()
}

fn awaited() -> BTreeSet<String> {
    AWAITED.map(str::to_owned).into()
}

/// Returns the ids that the queue lists as pending or as possibly incomplete.
fn named(place: &Place) -> BTreeSet<String> {
    let said = place.ctx("review --all --json --as kim@x.com").ok().json("ctx.review");
    let of = |key: &str| said[key].as_array().cloned().unwrap_or_default();
    let all = of("waiting").into_iter().chain(of("incomplete"));
    all.map(|one| format!("{} v{}", one["id"].as_str().unwrap(), one["version"])).collect()
}

/// Returns the path of the only file of the change log.
fn change_log(place: &Place) -> String {
    let files = files_in(&place.path(".context/audit"));
    let name = files.into_keys().find(|name| name.ends_with(".jsonl")).unwrap();
    format!(".context/audit/{name}")
}

#[test]
fn the_queue_is_the_same_with_an_index_and_without() {
    let place = place();
    assert_eq!(queue(&place, ""), awaited());
    place.ctx("index").ok();
    assert_eq!(queue(&place, ""), awaited());
    // The index follows later publications.
    place.ctx("approve nodes/d3 nodes/d7 --as bo@x.com").ok();
    place.ctx("approve nodes/d4 --as kim@x.com").ok();
    let rest = ["publish nodes/new v1", "publish stewards.yaml v2"];
    assert_eq!(queue(&place, ""), rest.map(str::to_owned).into());
}

#[test]
fn a_change_log_that_is_gone_hides_nothing_that_awaits_a_decision() {
    let place = place();
    let expected: BTreeSet<String> =
        AWAITED.map(|one| one.split_once(' ').unwrap().1.to_owned()).into();
    for with_index in [false, true] {
        if with_index {
            place.ctx("index").ok();
        }
        let path = change_log(&place);
        let whole = place.bytes(&path);
        // The log is removed, truncated, and altered.
        place.remove(&path);
        // No decision is possible without a line (REV-10), and the queue says so.
        assert!(named(&place).is_superset(&expected), "removed, {with_index}");
        place.write(&path, &whole[..whole.len() * 2 / 3]);
        assert!(named(&place).is_superset(&expected), "truncated, {with_index}");
        let text = String::from_utf8(whole.clone()).unwrap();
        place.write(&path, text.replacen("\"action\":\"submit\"", "\"action\":\"Submit\"", 1));
        assert!(named(&place).is_superset(&expected), "changed, {with_index}");
        place.write(&path, &whole);
        assert_eq!(queue(&place, ""), awaited(), "whole again, {with_index}");
    }
}

/// A line of another branch names other checkpoints: its number alone proves no decision.
#[test]
fn a_submission_upon_a_checkpoint_of_another_log_is_looked_at() {
    let place = place();
    place.write("nodes/d6.md", "# Again\n");
    place.ctx("submit nodes/d6 --as ana@x.com").ok();
    let again = "publish nodes/d6 v4".to_owned();
    assert!(queue(&place, "").contains(&again), "{:?}", queue(&place, ""));
    place.ctx("index").ok();
    assert!(queue(&place, "").contains(&again));
}

#[test]
fn the_line_of_an_emergency_is_before_that_of_its_event_and_hashed_like_it() {
    let place = place();
    let text = place.read(&change_log(&place));
    let actions: Vec<&str> = text.split("\"action\":\"").skip(1).collect();
    let action = |text: &&str| text.split('"').next().unwrap().to_owned();
    let actions: Vec<String> = actions.iter().map(action).collect();
    let at = actions.iter().position(|action| action == "emergency").unwrap();
    assert_eq!(actions[at + 1], "event", "{actions:?}");
    // The reason is among the words of the command.
    place.edit(".context/config.yaml", "audit:", "audit:\n  queries: hash");
    place.ctx("submit .context/config.yaml --as ana@x.com").ok();
    place.ctx("approve .context/config.yaml --as bo@x.com").ok();
    place.ctx("retire nodes/d0 --emergency --reason hush-hush --as bo@x.com").ok();
    assert!(!place.read(&change_log(&place)).contains("hush-hush"));
}

/// On another machine without the intent record, only the line shows that a step is complete.
#[test]
fn a_further_part_that_no_line_names_keeps_its_change_from_being_decided() {
    let place = place();
    let by = |who: &str, line: &str| {
        let state = place.home().join("another").display().to_string();
        place.typed(&format!("{line} --as {who}@x.com")).var("XDG_STATE_HOME", &state).run()
    };
    for n in [5, 6] {
        place.write(&format!("nodes/e{n}.md"), "# New\n");
    }
    place.edit("nodes/d1.md", "second", "third");
    place.ctx("submit nodes/e5 nodes/e6 --change one --as ana@x.com").ok();
    let path = change_log(&place);
    let before = place.bytes(&path);
    place.ctx("submit nodes/d1 --change one --as ana@x.com").ok();
    let whole = place.bytes(&path);
    for with_index in [false, true] {
        if with_index {
            place.ctx("index").ok();
        }
        place.write(&path, &before);
        for line in ["approve nodes/e5", "approve --change one", "reject nodes/e6 --reason no"] {
            let said = by("bo", line).exits(4);
            assert!(said.stderr.contains("version 4 of `nodes/d1`"), "{line}: {}", said.whole());
        }
        // Other submissions are not affected.
        by("bo", "approve nodes/d3 --dry-run").ok();
        place.write(&path, &whole);
    }
    by("bo", "approve --change one").ok();
    assert!(by("bo", "read nodes/d1").ok().stdout.contains("third"));
}

#[test]
fn a_retirement_in_an_emergency_whose_line_is_missing_awaits_its_ratification() {
    let place = place();
    let path = change_log(&place);
    let before = place.bytes(&path);
    place.ctx("retire nodes/d0 --emergency --reason wrong --as bo@x.com").ok();
    let whole = place.bytes(&path);
    let elsewhere = |line: &str| {
        let state = place.home().join("another").display().to_string();
        place.typed(line).var("XDG_STATE_HOME", &state).run().ok().stdout
    };
    for with_index in [false, true] {
        if with_index {
            place.ctx("index").ok();
        }
        place.write(&path, &before);
        let listed = elsewhere("review --all --as kim@x.com");
        assert!(listed.contains("nodes/d0"), "{with_index}: {listed}");
        place.write(&path, &whole);
    }
    place.write(&path, &before);
    elsewhere("approve nodes/d0 --as kim@x.com");
    let listed = elsewhere("review --all --as kim@x.com");
    assert!(!listed.contains("nodes/d0"), "{listed}");
}
