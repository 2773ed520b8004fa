//! Audit logs and staging chains compared with a git revision: `verify --since` (VER-42).

use serde_json::Value;

use crate::acknowledged::rehashed;
use crate::anchored::git;
use crate::harness::{Place, files_in};
use crate::kept_in_vault::file;
use crate::lost_lines::{chain, commit, keep, read, record, repository, staging_repository};
use crate::stage::{ANA, BO, governed};

const RULES: &str = "nodes/rules.md";

/// Returns the code, the file and the message of each damage that a user without state is told.
fn damage(place: &Place, line: &str) -> Vec<(String, String, String)> {
    let told = place.typed(&format!("verify --json {line}")).without("HOME").run();
    let report = told.json("ctx.verify");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = report["findings"].as_array().unwrap().iter();
    let found = found.filter(|finding| finding["class"] == "damage");
    found.map(|one| (text(&one["code"]), text(&one["path"]), text(&one["message"]))).collect()
}

/// Asserts that only a comparison with HEAD finds a rollback of a file.
#[track_caller]
fn assert_rolled_back(place: &Place, (code, path, message): (&str, &str, &str)) {
    assert_eq!(damage(place, ""), []);
    let found = damage(place, "--since HEAD");
    let [(found_code, found_path, found_message)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((&**found_code, &**found_path), (code, path));
    assert!(found_message.contains(message), "{found_message}");
}

/// Returns the audit log with an action.
fn log_with(place: &Place, action: &str) -> String {
    let mut paths = files_in(place.root()).into_keys();
    let has = |path: &String| place.read(path).contains(&format!("\"action\":\"{action}\""));
    paths.find(|path| path.starts_with(".context/audit/") && has(path)).unwrap()
}

/// Returns a governed vault in a repository, whose last commit rejects a submission.
fn rejected() -> (Place, String) {
    let place = governed();
    git(&place, "init -q -b main");
    place.edit(RULES, "None.", "Some.");
    place.ctx(&format!("submit nodes/rules --as {ANA}")).ok();
    commit(&place);
    place.ctx(&format!("reject nodes/rules --as {BO} --reason no")).ok();
    commit(&place);
    let log = log_with(&place, "reject");
    (place, log)
}

#[test]
fn since_reports_a_rejection_that_was_removed_with_its_line() {
    let (place, log) = rejected();
    assert_eq!(damage(&place, "--since HEAD"), []);
    git(&place, "checkout -q HEAD~1 -- .");
    let message =
        "line 2 is known from revision HEAD, but it ends at line 1; this branch is behind";
    assert_rolled_back(&place, ("audit-rollback", &log, message));
    git(&place, "add -A");
    let staged = damage(&place, "--staged --since HEAD");
    assert_eq!(staged.len(), 1, "{staged:?}");
    // A line with the same number in its place, and a missing file.
    git(&place, "reset -q --hard");
    let fork = damage(&place, "--since-fork HEAD");
    assert_eq!(fork, []);
    let lines = place.read(&log).lines().count();
    let other = rehashed(&place.read(&log), |n, line| {
        if n == lines {
            line["at"] = "2027-01-01T00:00:00.000Z".into();
        }
    });
    place.write(&log, other);
    assert_rolled_back(&place, ("audit-rollback", &log, "has another line in its place"));
    place.remove(&log);
    let found = damage(&place, "--since-fork HEAD");
    let is_it = |(code, path, message): &(String, String, String)| {
        code == "audit-rollback" && *path == log && message.contains("but it is missing")
    };
    assert!(found.iter().any(is_it), "{found:?}");
}

#[test]
fn since_accepts_logs_that_grew_and_an_incomplete_line() {
    let (place, log) = rejected();
    let whole = place.bytes(&log);
    place.write(&log, [&whole, b"{\"action\":\"ev".as_slice()].concat());
    commit(&place);
    place.write(&log, &whole);
    assert_eq!(damage(&place, "--since HEAD"), []);
    place.ctx(&format!("submit nodes/rules --as {ANA}")).ok();
    assert_eq!(damage(&place, "--since HEAD"), []);
}

#[test]
fn since_accepts_the_merged_logs_of_two_writers() {
    let (place, _) = rejected();
    let other = Place::new();
    git(&other, &format!("clone -q {} .", place.root().display()));
    for (place, id) in [(&place, "nodes/one"), (&other, "nodes/two")] {
        place.write(&format!("{id}.md"), "# N\n");
        place.ctx(&format!("submit {id} --as {ANA}")).ok();
        commit(place);
    }
    let ours = git(&place, "rev-parse HEAD");
    git(&place, &format!("pull -q --no-rebase {} main", other.root().display()));
    let theirs = git(&other, "rev-parse HEAD");
    for commit in [&ours, &theirs] {
        assert_eq!(damage(&place, &format!("--since {commit}")), []);
        assert_eq!(damage(&place, &format!("--since-fork {commit}")), []);
    }
    // A branch that is behind only in a change log is behind.
    assert_eq!(damage(&other, "--since HEAD"), []);
    git(&other, &format!("fetch -q {} main", place.root().display()));
    let found = damage(&other, "--since FETCH_HEAD");
    assert!(found[0].2.contains("`--since-fork FETCH_HEAD` accepts the former"), "{found:?}");
    assert_eq!(damage(&other, "--since-fork FETCH_HEAD"), []);
}

#[test]
fn since_reports_a_truncated_access_log() {
    let place = repository("accesses: vault");
    read(&place, 3);
    commit(&place);
    let path = file(&place);
    keep(&place, &path, 1);
    assert_rolled_back(&place, ("audit-rollback", &path, "but it ends at line 1"));
    place.remove(&path);
    assert_rolled_back(&place, ("audit-rollback", &path, "but it is missing"));
    git(&place, "checkout -q HEAD -- .");
    read(&place, 1);
    assert_eq!(damage(&place, "--since HEAD"), []);
}

#[test]
fn since_accepts_a_pruned_access_log_but_not_a_false_cut() {
    let place = repository("accesses: vault");
    let read_at = |time: &str| {
        let at = format!("{time}T12:00:00.000Z");
        place.typed("read nodes/a").var("CTX_NOW", &at).run().ok();
    };
    ["2026-12-01", "2026-12-02", "2027-12-01"].into_iter().for_each(read_at);
    commit(&place);
    let path = file(&place);
    let whole = place.read(&path);
    let now = "2027-12-02T12:00:00.000Z";
    place.typed("trace prune").var("CTX_NOW", now).run().ok();
    let since = format!("--since HEAD --now {now}");
    assert_eq!((place.read(&path).lines().count(), damage(&place, &since)), (1, vec![]));
    // A pruned log keeps its last answer.
    let pruned = place.read(&path);
    place.write(&path, "");
    assert_eq!(damage(&place, &since).len(), 1);
    // The cut is before the time of the deleted lines.
    let log = log_with(&place, "prune");
    let earlier = rehashed(&place.read(&log), |_, line| {
        if line["action"] == "prune" {
            line["before"] = "2026-12-01T12:00:00.000Z".into();
        }
    });
    place.write(&log, earlier);
    place.write(&path, pruned);
    let found = damage(&place, &since);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].2.starts_with("line 1 is known"), "{found:?}");
    place.write(&path, whole);
    assert_eq!(damage(&place, &since), []);
}

#[test]
fn since_reports_a_truncated_staging_chain() {
    let place = staging_repository();
    record(&place, 3);
    commit(&place);
    let path = chain(&place);
    let whole = place.bytes(&path);
    keep(&place, &path, 2);
    assert_rolled_back(&place, ("staged-rollback", &path, "but it ends at line 2"));
    place.remove(&path);
    assert_rolled_back(&place, ("staged-rollback", &path, "but it is missing"));
    place.write(&path, whole);
    record(&place, 1);
    assert_eq!(damage(&place, "--since HEAD"), []);
}
