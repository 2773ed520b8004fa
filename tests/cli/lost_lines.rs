//! Lines that this machine wrote to logs in the vault, and that are missing there: on the same ref,
//! on another one, or since a repository exists (AUDIT-21, AUDIT-30).

use serde_json::Value;

use crate::acknowledged::rehashed;
use crate::anchored::git;
use crate::harness::{Place, files_in};
use crate::kept_in_vault::{FOLDER, codes, file, files, traces, with};
use crate::stage::shop;

const SYNC: &str = "accesses: vault\n  durability: sync";

/// Returns the code of each finding of `verify`.
fn found(place: &Place) -> Vec<String> {
    codes(place).into_iter().map(|(code, _)| code).collect()
}

/// Keeps the first `lines` lines of a file.
pub(crate) fn keep(place: &Place, path: &str, lines: usize) {
    let kept: String = place.read(path).split_inclusive('\n').take(lines).collect();
    place.write(path, kept);
}

pub(crate) fn commit(place: &Place) {
    git(place, "add -A");
    git(place, "commit -q -m state");
}

/// Returns a vault in a repository, with a commit on `main`.
pub(crate) fn repository(setting: &str) -> Place {
    let place = with(setting);
    git(&place, "init -q -b main");
    commit(&place);
    place
}

pub(crate) fn read(place: &Place, times: usize) {
    for n in 0..times {
        place.ctx(&format!("read nodes/a --session s{n}")).ok();
    }
}

#[test]
fn a_rewritten_log_is_no_power_cut() {
    let place = with("accesses: vault");
    read(&place, 3);
    let path = file(&place);
    let text = place.read(&path);
    let rewritten = rehashed(&text, |n, line| {
        if n == 2 {
            line["labels"]["session"] = "another".into();
        }
    });
    place.write(&path, &rewritten);
    assert_eq!(codes(&place), [("audit-rollback".to_owned(), path.clone())]);
    let said = place.ctx("trace verify").exits(1).stdout;
    assert!(said.contains("line 3 of the writer, but the log has another hash"), "{said}");
    // Another program would continue the log; a power cut leaves junk after it.
    let longer = rehashed(&(rewritten.clone() + rewritten.lines().last().unwrap()), |n, line| {
        line["seq"] = n.into();
    });
    for damaged in [longer, rewritten + "\0\0\0"] {
        place.write(&path, damaged);
        assert!(found(&place).contains(&"audit-rollback".to_owned()));
    }
    // A power cut removes lines at the end.
    place.write(&path, text.split_inclusive('\n').take(1).collect::<String>());
    assert_eq!(found(&place), ["audit-torn"]);
}

#[test]
fn a_log_of_a_branch_that_was_merged_is_not_truncated_unseen() {
    for setting in ["accesses: vault", SYNC] {
        let place = repository(setting);
        git(&place, "checkout -q -b feat");
        read(&place, 3);
        let path = file(&place);
        commit(&place);
        git(&place, "checkout -q main");
        // Further lines on the branch are not a finding.
        assert_eq!(found(&place), [""; 0]);
        git(&place, "merge -q --no-ff -m merged feat");
        git(&place, "branch -q -D feat");
        assert_eq!(found(&place), [""; 0]);
        let whole = place.read(&path);
        keep(&place, &path, 1);
        assert_eq!(codes(&place), [("audit-rollback".to_owned(), path.clone())]);
        let said = place.ctx("trace verify").exits(1).stdout;
        assert!(said.contains("lines 2 to 3 of the writer on `refs/heads/feat`"), "{said}");
        commit(&place);
        assert_eq!(found(&place), ["audit-rollback"]);
        place.remove(&path);
        commit(&place);
        assert_eq!(found(&place), ["audit-rollback"]);
        place.write(&path, whole);
        assert_eq!(found(&place), [""; 0]);
        // Another line with the same number needs no commit that shows it.
        let other = rehashed(&place.read(&path), |_, line| line["verb"] = "show".into());
        place.write(&path, other);
        assert_eq!(found(&place), ["audit-rollback"]);
    }
}

/// Returns a repository in which results of a source are staged.
pub(crate) fn staging_repository() -> Place {
    let place = Place::vault();
    let config = place.read(".context/config.yaml");
    place.write(".context/config.yaml", config + "staging: {enabled: true}\n");
    let place = shop(place);
    git(&place, "init -q -b main");
    commit(&place);
    place
}

pub(crate) fn record(place: &Place, times: usize) {
    for n in 0..times {
        let line = "source record sources/prices --session s --tools list_prices --server shop";
        place.typed(line).stdin(format!("result {n}")).run().ok();
    }
}

/// Returns the path of the only staging chain.
#[track_caller]
pub(crate) fn chain(place: &Place) -> String {
    let chains = files_in(place.root()).into_keys();
    let chains: Vec<String> =
        chains.filter(|path| path.starts_with(".context/staging/chains/")).collect();
    let [chain] = chains.as_slice() else { panic!("one chain: {chains:?}") };
    chain.clone()
}

#[test]
fn staging_chains_are_compared_on_every_ref_as_audit_logs_are() {
    let place = staging_repository();
    git(&place, "checkout -q -b feat");
    record(&place, 3);
    let path = chain(&place);
    commit(&place);
    git(&place, "checkout -q main");
    // Further lines on the branch are not a finding.
    assert_eq!(found(&place), [""; 0]);
    git(&place, "merge -q --no-ff -m merged feat");
    assert_eq!(found(&place), [""; 0]);
    let whole = place.read(&path);
    keep(&place, &path, 1);
    let codes = codes(&place);
    assert!(codes.contains(&("staged-rollback".to_owned(), path.clone())), "{codes:?}");
    // Another line has the same number.
    place.write(&path, whole.replacen("\"session\":\"s\"", "\"session\":\"z\"", 3));
    assert!(found(&place).contains(&"staged-rollback".to_owned()));
    place.remove(&path);
    assert!(found(&place).contains(&"staged-rollback".to_owned()));
    let told = place.ctx("head trust").ok().stdout;
    assert!(told.contains("now given up: lines 1 to 3 of the writer"), "{told}");
    assert!(!found(&place).contains(&"staged-rollback".to_owned()));
    let line = place.ctx("trace list --verb head --json").ok().json("ctx.trace.list");
    let trace = line["traces"][0]["trace"].as_str().unwrap().to_owned();
    let shown = place.ctx(&format!("trace show {trace}")).ok().stdout;
    assert!(shown.contains("lines 1 to 3 of"), "{shown}");
}

#[test]
fn a_chain_that_goes_further_on_another_branch_is_a_note_that_names_it() {
    let place = staging_repository();
    record(&place, 1);
    let path = chain(&place);
    commit(&place);
    git(&place, "branch -q feat");
    record(&place, 2);
    commit(&place);
    git(&place, "checkout -q feat");
    assert_eq!(codes(&place), [("audit-elsewhere".to_owned(), path.clone())]);
    let said = place.ctx("verify").ok().stdout;
    assert!(said.contains("lines 2 to 3 of the writer on `refs/heads/main`"), "{said}");
    // `head trust` does not give the line up, because the other branch contains it.
    let report = place.ctx("head trust --json").ok().json("ctx.head.trust");
    assert_eq!(report["lost"], serde_json::json!([]));
}

#[test]
fn verify_reports_lost_lines_that_a_commit_contains() {
    let place = repository("accesses: vault");
    read(&place, 3);
    let path = file(&place);
    keep(&place, &path, 2);
    assert_eq!(found(&place), ["audit-torn"]);
    let place = repository("accesses: vault");
    read(&place, 3);
    let path = file(&place);
    commit(&place);
    keep(&place, &path, 2);
    assert_eq!(found(&place), ["audit-rollback"]);
    git(&place, "checkout -q -- .context");
    // The last line was never committed here, but one before it was.
    read(&place, 1);
    git(&place, "stash -q");
    git(&place, "checkout -q -b x");
    assert_eq!(codes(&place), [("audit-elsewhere".to_owned(), path.clone())]);
    keep(&place, &path, 2);
    assert_eq!(codes(&place), [("audit-rollback".to_owned(), path.clone())]);
    let said = place.ctx("verify").exits(1).stdout;
    assert!(said.contains("lines 3 to 4 of the writer on `refs/heads/main`"), "{said}");
}

#[test]
fn verify_notes_lines_that_another_branch_contains() {
    let place = repository(SYNC);
    read(&place, 2);
    let path = file(&place);
    commit(&place);
    git(&place, "branch -q feat");
    read(&place, 2);
    commit(&place);
    git(&place, "checkout -q feat");
    assert_eq!(codes(&place), [("audit-elsewhere".to_owned(), path.clone())]);
    let said = place.ctx("verify").ok().stdout;
    assert!(said.contains("lines 3 to 4 of the writer on `refs/heads/main`"), "{said}");
    place.ctx("trace verify").ok();
    place.ctx("trace list").ok();
    // `head trust` does not give the line up, because the other branch contains it.
    let report = place.ctx("head trust --json").ok().json("ctx.head.trust");
    assert_eq!(report["lost"], serde_json::json!([]));
    git(&place, "add -A");
    git(&place, "commit -q -m trusted");
    git(&place, "merge -q -m merged main");
    assert_eq!(found(&place), [""; 0]);
    // An older commit has fewer lines, too.
    git(&place, "checkout -q HEAD~1");
    assert_eq!(found(&place), ["audit-elsewhere"]);
}

#[test]
fn verify_notes_uncommitted_lines_until_they_are_given_up() {
    let place = repository(SYNC);
    git(&place, "checkout -q -b feat");
    read(&place, 2);
    place.remove(&file(&place));
    git(&place, "checkout -q main");
    assert_eq!(found(&place), ["audit-elsewhere"]);
    let said = place.ctx("verify").ok().stdout;
    assert!(
        said.contains("but neither the vault nor a commit that git names has its file"),
        "{said}"
    );
    place.ctx("head trust").ok();
    assert_eq!(found(&place), [""; 0]);
}

#[test]
fn a_new_branch_does_not_hide_what_was_lost() {
    let place = repository(SYNC);
    read(&place, 3);
    let path = file(&place);
    commit(&place);
    keep(&place, &path, 1);
    git(&place, "checkout -q -b x");
    assert_eq!(found(&place), ["audit-rollback"]);
    // If nothing was committed, git cannot have removed anything.
    let place = with(SYNC);
    git(&place, "init -q -b main");
    read(&place, 3);
    keep(&place, &file(&place), 1);
    assert_eq!(found(&place), ["audit-rollback"]);
    git(&place, "checkout -q -b x");
    assert_eq!(found(&place), ["audit-rollback"]);
}

#[test]
fn a_new_repository_does_not_hide_what_was_lost() {
    let place = with(SYNC);
    read(&place, 3);
    place.ctx("head trust").ok();
    let path = file(&place);
    let changes = files_in(&place.path(".context/audit"));
    let mut names = changes.keys().filter(|name| !name.contains('/') && name.ends_with(".jsonl"));
    let log = format!(".context/audit/{}", names.next().unwrap());
    let whole = [place.read(&path), place.read(&log)];
    git(&place, "init -q -b main");
    assert_eq!(found(&place), [""; 0]);
    for (path, whole) in [&path, &log].into_iter().zip(whole) {
        keep(&place, path, whole.lines().count() - 1);
        assert_eq!(codes(&place), [("audit-rollback".to_owned(), path.clone())]);
        place.ctx("trace verify").exits(1);
        place.write(path, whole);
    }
    commit(&place);
    keep(&place, &log, 1);
    git(&place, "checkout -q -b x");
    assert_eq!(found(&place), ["audit-rollback"]);
}

#[test]
fn questions_say_that_lines_are_lost() {
    let origin = with(SYNC);
    read(&origin, 3);
    let listed = traces(&origin, "--verb read");
    let [first, .., last] = listed.as_slice() else { panic!("{listed:?}") };
    let [first, last] = [first, last].map(|line| line["trace"].as_str().unwrap().to_owned());
    let path = file(&origin);
    let warned = |line: &str| {
        let output = origin.ctx(line);
        assert_eq!(output.exit, 1, "{line}: {}", output.whole());
        let told =
            "warning: the log has 1 fault, so accesses may be missing; run `ctx trace verify`";
        assert!(output.stderr.contains(told), "{line}: {}", output.whole());
    };
    let named = |line: &str| {
        let output = origin.ctx(line);
        assert_eq!(output.exit, 1, "{line}: {}", output.whole());
        let told = ["error[unknown-trace]", "audit-rollback: .context/audit/access/"];
        assert!(told.iter().all(|told| output.stderr.contains(told)), "{}", output.whole());
    };
    keep(&origin, &path, 2);
    warned("trace list");
    warned("trace list --format otlp");
    warned("trace grep nodes/a");
    warned("impact nodes/a");
    warned("replay --session s0");
    warned(&format!("replay {first}"));
    warned(&format!("trace show {first}"));
    warned(&format!("trace show {first} --format prov-json"));
    for verb in ["replay", "trace show", "evidence export -o ../x.tar"] {
        named(&format!("{verb} {last}"));
    }
    named("evidence export --session s2 -o ../x.tar");
    origin.remove(&path);
    warned("trace list");
    warned("impact nodes/a");
    named("replay --session s1");
    // Logs that are named by `--logs` are not those that this machine writes.
    let named = origin.ctx(&format!("trace list --logs {}", origin.path(FOLDER).display()));
    assert!(named.exits(5).stderr.contains("it contains no logs"));
}

#[test]
fn lines_that_are_given_up_are_named() {
    let place = with(SYNC);
    read(&place, 3);
    let path = file(&place);
    keep(&place, &path, 1);
    let writer = path.strip_prefix(&format!("{FOLDER}/")).unwrap().trim_end_matches(".jsonl");
    let lost = serde_json::json!([{"writer": writer, "from": 2, "to": 3}]);
    let report = place.ctx("head trust --dry-run --json").ok().json("ctx.head.trust");
    assert_eq!(report["lost"], lost);
    let said = place.ctx("head trust --dry-run").ok().stdout;
    let told = format!("would be given up: lines 2 to 3 of the writer {writer}\n");
    assert!(said.ends_with(&told), "{said}");
    assert_eq!(found(&place), ["audit-rollback"]);
    let said = place.ctx("head trust").ok().stdout;
    assert!(
        said.contains(&format!("now given up: lines 2 to 3 of the writer {writer}\n")),
        "{said}"
    );
    assert_eq!(found(&place), [""; 0]);
    let listed = place.ctx("trace list --json").ok().json("ctx.trace.list");
    let line = listed["traces"].as_array().unwrap().last().unwrap()["trace"].clone();
    let shown = place.ctx(&format!("trace show {} --json", line.as_str().unwrap())).ok();
    let shown: Value = shown.json("ctx.trace.show");
    assert_eq!(shown["lines"][0]["lost"], lost, "{shown:#}");
    let shown = place.ctx(&format!("trace show {}", line.as_str().unwrap())).ok().stdout;
    assert!(shown.contains(&format!("given up   lines 2 to 3 of {writer}")), "{shown}");
    let report = place.ctx("head trust --json").ok().json("ctx.head.trust");
    assert_eq!((&report["lost"], files(&place).len()), (&serde_json::json!([]), 1));
}

#[test]
fn trace_verify_notes_only_undetectable_truncations() {
    let place = with(SYNC);
    read(&place, 1);
    let said = place.ctx("trace verify").ok().stderr;
    assert!(
        said.contains("note: truncation of a log of another user cannot be detected"),
        "{said}"
    );
    let place = Place::published(&[("nodes/a", "# A\n")]);
    read(&place, 1);
    let said = place.ctx("trace verify").ok().stderr;
    assert!(
        said.contains("note: truncation of a log outside of the vault, or of one of another user,"),
        "{said}"
    );
    // The deleted log was this user's own.
    std::fs::remove_dir_all(place.home().join(".local/state/contextnest/audit")).unwrap();
    let gone = place.ctx("trace verify").ok().stderr;
    assert!(gone.contains("note: truncation of a log outside of the vault, or of one"), "{gone}");
}

#[test]
fn trace_verify_and_an_access_review_report_events_without_a_line() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A", "# A\n\nTwo.");
    place.ctx("publish --all").ok();
    let dir = place.path(".context/audit");
    // Another user does not know the writer of the log.
    let other = place.home().join("other").display().to_string();
    let asked = |line: &str| place.typed(line).var("XDG_STATE_HOME", &other).run();
    asked("trace verify").ok();
    asked("owners --access-review").ok();
    let kept = dir.with_extension("kept");
    std::fs::rename(&dir, &kept).unwrap();
    let said = asked("trace verify").exits(1).stdout;
    let found = "audit-missing: .context/audit:1: checkpoint 1: no line of a change log records the \
                 event; likewise for 1 other checkpoint\n";
    assert!(said.starts_with(found), "{said}");
    assert!(said.ends_with("the change log is damaged: 0 lines of 0 writers\n"), "{said}");
    let review = asked("owners --access-review").exits(1).stderr;
    assert!(review.contains("warning: the change log is damaged or lacks lines"), "{review}");
    let json = asked("owners --access-review --json").exits(1).json("ctx.owners.access");
    assert!(json["notes"][0].as_str().unwrap().contains("acts may be missing here"), "{json}");
    std::fs::rename(&kept, &dir).unwrap();
    asked("trace verify").ok();
    // The user who wrote the lines finds that one at the end is gone.
    place.ctx("head trust").ok();
    let files = files_in(&dir);
    let log = files.keys().find(|name| name.ends_with(".jsonl")).unwrap();
    let log = format!(".context/audit/{log}");
    let lines = place.read(&log).lines().count();
    keep(&place, &log, lines - 1);
    place.ctx("owners --access-review").exits(1);
    asked("owners --access-review").ok();
}
