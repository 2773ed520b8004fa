//! `audit: {accesses: vault}`: the access log in the vault (AUDIT-30).

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use serde_json::Value;

use crate::anchored::git;
use crate::harness::{Output, Place, files_in};

pub(crate) const FOLDER: &str = ".context/audit/access";

/// Returns a vault that keeps accesses, with a document in two versions.
fn vault() -> Place {
    with("accesses: vault")
}

pub(crate) fn with(setting: &str) -> Place {
    let place = Place::vault();
    place.edit(".context/config.yaml", "audit:\n", &format!("audit:\n  {setting}\n"));
    place.write("nodes/a.md", "# A\n\nOne.\n");
    place.ctx("publish --all").ok();
    place
}

/// Returns the files of the log in the vault, by name.
pub(crate) fn files(place: &Place) -> Vec<String> {
    let Ok(entries) = fs::read_dir(place.path(FOLDER)) else { return Vec::new() };
    let name = |entry: fs::DirEntry| format!("{FOLDER}/{}", entry.file_name().to_str().unwrap());
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

/// Returns the only file of the log.
#[track_caller]
pub(crate) fn file(place: &Place) -> String {
    let names = files(place);
    let [file] = names.as_slice() else { panic!("one writer: {names:?}") };
    file.clone()
}

/// Returns the number of lines of accesses outside of the vault.
fn outside(place: &Place) -> usize {
    let audit = place.home().join(".local/state/contextnest/audit");
    let files = if audit.is_dir() { files_in(&audit) } else { Default::default() };
    files.values().map(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count()).sum()
}

fn mode(place: &Place, path: &str) -> u32 {
    place.path(path).metadata().unwrap().permissions().mode() & 0o777
}

pub(crate) fn codes(place: &Place) -> Vec<(String, String)> {
    let report = place.ctx("verify --json").json("ctx.verify");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|finding| (text(&finding["code"]), text(&finding["path"]))).collect()
}

pub(crate) fn traces(place: &Place, args: &str) -> Vec<Value> {
    let report = place.ctx(&format!("trace list {args} --json")).ok().json("ctx.trace.list");
    report["traces"].as_array().unwrap().clone()
}

#[test]
fn accesses_are_in_the_vault_and_every_question_finds_them() {
    let place = vault();
    place.ctx("read nodes/a --session s").ok();
    place.ctx("list --session s").ok();
    let path = file(&place);
    assert_eq!((outside(&place), place.read(&path).lines().count()), (0, 2));
    assert_eq!(mode(&place, &path), 0o600);
    assert!(codes(&place).is_empty(), "{:?}", codes(&place));

    let listed = traces(&place, "--session s");
    assert_eq!(listed.len(), 2);
    let trace = listed[0]["trace"].as_str().unwrap();
    assert!(path.contains(&trace[..8]));
    let shown = place.ctx(&format!("trace show {trace}")).ok().stdout;
    assert!(shown.contains("contextnest://nodes/a@1"), "{shown}");
    assert!(place.ctx("trace grep nodes/a --verb read").ok().stdout.contains(trace));
    let verified = place.ctx("trace verify").ok().stdout;
    assert!(verified.contains("intact up to its last line: 2 lines of 1 writer"), "{verified}");
    assert!(place.ctx("impact nodes/a").ok().stdout.contains(trace));
    let replayed = place.ctx(&format!("replay {trace}")).ok().stdout;
    assert!(replayed.contains("1 text: 1 same"), "{replayed}");
    place.ctx("replay --session s").ok();
    let produced = place.typed("trace output --session s").stdin("answer").run().ok().stdout;
    let produced = place.ctx(&format!("trace show {}", produced.trim())).ok().stdout;
    assert!(produced.contains("1 access of the session before it"), "{produced}");
    place.ctx("evidence export --session s -o ../s.tar").ok();
    place.ctx("evidence verify ../s.tar").ok();
    place.ctx("trace collect . --into ../copies").ok();
    let copied = place.ctx("trace verify --logs ../copies").ok().stdout;
    assert!(copied.contains("lines of 1 writer"), "{copied}");
}

#[test]
fn accesses_are_followed_in_the_vault() {
    let place = vault();
    let mut follower = place.typed("trace follow --count 1 --for 20").command().spawn().unwrap();
    // The follower begins after the lines that exist when it first reads the log.
    while follower.try_wait().unwrap().is_none() {
        place.ctx("read nodes/a --agent scout").ok();
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let follower = follower.wait_with_output().unwrap();
    let told = String::from_utf8(follower.stdout).unwrap();
    assert!(told.contains("scout") && follower.status.success(), "{told}");
}

#[test]
fn a_folder_or_file_that_is_a_link_keeps_no_other_log_from_being_followed() {
    let place = vault();
    place.ctx("read nodes/a").ok();
    let elsewhere = place.home().join("elsewhere");
    fs::rename(place.path(FOLDER), &elsewhere).unwrap();
    symlink(&elsewhere, place.path(FOLDER)).unwrap();
    let told = place.ctx("trace follow --for 0").exits(1).stderr;
    assert!(told.contains("warning: a log cannot be read, and is not followed"), "{told}");
    fs::remove_file(place.path(FOLDER)).unwrap();
    fs::rename(&elsewhere, place.path(FOLDER)).unwrap();
    place.ctx("trace follow --for 0").ok();
    let path = file(&place);
    let target = place.home().join("target");
    fs::rename(place.path(&path), &target).unwrap();
    symlink(&target, place.path(&path)).unwrap();
    let told = place.ctx("trace follow --for 0").ok().stderr;
    assert_eq!(told.matches("cannot be read").count(), 1, "{told}");
}

#[test]
fn the_stricter_of_the_sealed_and_the_live_setting_holds() {
    // The live file moves no access out of the vault.
    let place = vault();
    place.edit(".context/config.yaml", "accesses: vault", "accesses: user");
    place.ctx("read nodes/a").ok();
    assert_eq!((files(&place).len(), outside(&place)), (1, 0));
    // The live file can move accesses into the vault.
    let place = with("accesses: user");
    place.ctx("read nodes/a").ok();
    assert_eq!((files(&place).len(), outside(&place)), (0, 1));
    place.edit(".context/config.yaml", "accesses: user", "accesses: vault");
    place.ctx("read nodes/a").ok();
    assert_eq!((files(&place).len(), outside(&place)), (1, 1));
    let told = place.ctx("trace list --verb read").ok().stdout;
    assert_eq!(told.lines().count(), 2, "both places are read: {told}");
    // An invalid value is an error, as for every setting.
    let told = Place::vault();
    told.edit(".context/config.yaml", "audit:\n", "audit:\n  accesses: both\n");
    let told = told.ctx("publish --all").exits(2).stderr;
    assert!(told.contains("`user` or `vault`"), "{told}");
}

#[test]
fn another_folder_for_logs_takes_no_access_out_of_the_vault() {
    let place = vault();
    let to = place.home().join("elsewhere");
    let named = |line: &str| place.typed(line).var("CTX_AUDIT_DIR", to.to_str().unwrap()).run();
    named("read nodes/a").ok();
    assert!(!to.exists());
    assert_eq!(place.read(&file(&place)).lines().count(), 1);
    assert_eq!(named("trace list").ok().stdout.matches("  read  ").count(), 1);
    // A state directory is not needed either.
    let told = place.typed("read nodes/a").without("HOME").run().ok().stderr;
    assert_eq!(told, "");
    let found = place.typed("trace list").without("HOME").run().ok().stdout;
    assert_eq!(found.matches("  read  ").count(), 2);
    let held = "trace hold place --session s --reason case";
    place.typed(held).without("HOME").run().ok();
    assert!(place.ctx("trace hold list").ok().stdout.contains("session s"));
}

/// Returns a vault whose folder for accesses cannot be written, because a file has its name.
fn closed(durability: &str) -> Place {
    let place = with(&format!("accesses: vault\n  durability: {durability}"));
    place.write(FOLDER, "");
    place
}

#[test]
fn a_reader_who_cannot_write_to_the_vault_gets_a_warning_or_an_error() {
    let read = |durability: &str| closed(durability).ctx("read nodes/a");
    let Output { exit, stdout, stderr, .. } = read("async");
    assert!(exit == 0 && stdout.contains("One."), "{stdout}");
    let told = "warning: the access was not recorded: cannot write to `";
    assert!(stderr.starts_with(told) && stderr.contains("audit.accesses: vault"), "{stderr}");
    let Output { exit, stdout, stderr, .. } = read("sync");
    assert_eq!((exit, stdout.as_str()), (5, ""));
    assert!(stderr.contains("/.context/audit/access`: "), "{stderr}");
    assert!(stderr.contains("hint: texts are not returned without a record"), "{stderr}");
    let place = closed("async");
    assert_eq!(outside(&place), 0, "it is not recorded elsewhere instead");
}

#[test]
fn links_in_the_folder_are_not_followed() {
    let place = vault();
    let elsewhere = place.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, place.path(FOLDER)).unwrap();
    let told = place.ctx("read nodes/a").ok().stderr;
    assert!(told.contains("the access was not recorded"), "{told}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert!(codes(&place).contains(&("audit-malformed".to_owned(), FOLDER.to_owned())));
    // A link in place of a file hides no other file, and is not continued.
    fs::remove_file(place.path(FOLDER)).unwrap();
    place.ctx("read nodes/a").ok();
    let path = file(&place);
    let target = elsewhere.join("target");
    fs::rename(place.path(&path), &target).unwrap();
    symlink(&target, place.path(&path)).unwrap();
    let before = fs::read(&target).unwrap();
    place.ctx("read nodes/a").ok();
    assert_eq!((fs::read(&target).unwrap(), files(&place).len()), (before, 2));
    let found = codes(&place);
    assert!(found.contains(&("audit-malformed".to_owned(), path)), "{found:?}");
    let listed = place.ctx("trace list --verb read").exits(1);
    assert_eq!(listed.stdout.lines().count(), 1);
    // The faults are the link, and the line of this user that is missing in the vault.
    assert!(listed.stderr.contains("the log has 2 faults"), "{}", listed.stderr);
    place.ctx("trace verify").exits(1);
}

#[test]
fn a_second_name_of_a_file_is_not_written_to() {
    let place = vault();
    place.ctx("read nodes/a").ok();
    let path = file(&place);
    let other = place.home().join("second");
    fs::hard_link(place.path(&path), &other).unwrap();
    let before = fs::read(&other).unwrap();
    place.ctx("read nodes/a").ok();
    assert_eq!((fs::read(&other).unwrap(), files(&place).len()), (before, 2));
}

#[test]
fn log_restores_its_mode_after_git_changed_it() {
    let place = vault();
    place.ctx("read nodes/a").ok();
    let path = file(&place);
    fs::set_permissions(place.path(&path), fs::Permissions::from_mode(0o664)).unwrap();
    place.ctx("read nodes/a").ok();
    assert_eq!((mode(&place, &path), place.read(&path).lines().count()), (0o600, 2));
}

#[test]
fn two_clones_that_both_read_merge_without_a_conflict() {
    let origin = vault();
    git(&origin, "init -q -b main");
    git(&origin, "add -A");
    git(&origin, "commit -q -m one");
    let clone = |name: &str| {
        let place = Place::new();
        git(&place, &format!("clone -q {} .", origin.root().display()));
        for _ in 0..3 {
            place.ctx(&format!("read nodes/a --session {name}")).ok();
        }
        place
    };
    let (ours, theirs) = (clone("ours"), clone("theirs"));
    theirs.edit("nodes/a.md", "One.", "Two.");
    theirs.ctx("publish nodes/a").ok();
    theirs.ctx("read nodes/a --session theirs").ok();
    for (place, message) in [(&theirs, "theirs"), (&ours, "ours")] {
        git(place, "add -A");
        git(place, &format!("commit -q -m {message}"));
    }
    git(&ours, &format!("fetch -q {} main", theirs.root().display()));
    git(&ours, "merge -q -m merged FETCH_HEAD");
    assert_eq!(git(&ours, "status --short"), "");
    git(&theirs, &format!("pull -q {} main", ours.root().display()));
    for place in [&ours, &theirs] {
        place.ctx("verify").ok();
        place.ctx("trace verify").ok();
        assert_eq!(files(place).len(), 2);
        assert_eq!(traces(place, "--session ours").len(), 3);
        assert_eq!(traces(place, "--session theirs").len(), 4);
        place.ctx("replay --session theirs").ok();
        // Each copy continues with its own file.
        place.ctx("read nodes/a").ok();
        assert_eq!(files(place).len(), 2);
        place.ctx("verify").ok();
    }
}

#[test]
fn a_branch_has_a_writer_of_its_own() {
    let place = vault();
    git(&place, "init -q -b main");
    place.ctx("read nodes/a").ok();
    git(&place, "add -A");
    git(&place, "commit -q -m one");
    git(&place, "checkout -q -b topic");
    place.ctx("read nodes/a").ok();
    assert_eq!(files(&place).len(), 2);
    git(&place, "add -A");
    git(&place, "commit -q -m two");
    git(&place, "checkout -q main");
    place.ctx("read nodes/a").ok();
    git(&place, "add -A");
    git(&place, "commit -q -m three");
    git(&place, "merge -q -m merged topic");
    assert_eq!(traces(&place, "--verb read").len(), 3);
    place.ctx("verify").ok();
}

#[test]
fn a_log_that_was_reset_is_found_by_its_writer_and_not_continued() {
    for (durability, code, exit) in [("sync", "audit-rollback", 1), ("async", "audit-torn", 0)] {
        let place = with(&format!("accesses: vault\n  durability: {durability}"));
        for _ in 0..3 {
            place.ctx("read nodes/a").ok();
        }
        let path = file(&place);
        let text = place.read(&path);
        let two: String = text.split_inclusive('\n').take(2).collect();
        place.write(&path, &two);
        let expected = vec![(code.to_owned(), path.clone())];
        assert_eq!(codes(&place), expected);
        place.ctx("trace verify").exits(exit);
        // No number is used twice: a user who has the old line 3 finds no other line 3.
        place.ctx("read nodes/a").ok();
        assert_eq!((files(&place).len(), place.read(&path)), (2, two));
        assert_eq!(codes(&place), expected);
        // Another user cannot detect it.
        assert!(codes(&place.duplicate()).is_empty());
        // A later state contains the line again.
        place.write(&path, &text);
        assert!(codes(&place).is_empty());
        place.remove(&path);
        assert_eq!(codes(&place), expected);
        place.ctx("head trust").ok();
        assert!(codes(&place).is_empty());
    }
}

#[test]
fn verify_reports_an_altered_access_log() {
    let origin = vault();
    for session in ["one", "two", "three"] {
        origin.ctx(&format!("read nodes/a --session {session}")).ok();
    }
    let path = file(&origin);
    let text = origin.read(&path);
    let all: Vec<&str> = text.lines().collect();
    let found = |lines: &[&str]| {
        let place = origin.duplicate();
        place.write(&path, lines.join("\n") + "\n");
        let codes = codes(&place);
        let exit = place.ctx("trace verify").exit;
        assert_eq!(exit == 0, codes.is_empty(), "{codes:?}");
        codes.into_iter().map(|(code, _)| code).collect::<Vec<_>>()
    };
    assert!(found(&all).is_empty() && found(&all[..2]).is_empty());
    assert_eq!(found(&all[1..]), ["audit-chain-mismatch", "audit-gap"]);
    assert_eq!(found(&[all[0], all[2]]), ["audit-gap"]);
    let other = all[1].replace("\"two\"", "\"six\"");
    assert_eq!(found(&[all[0], &other, all[2]]), ["audit-chain-mismatch", "audit-gap"]);
    assert_eq!(found(&[all[0], all[1], "", all[2]]), ["audit-malformed"]);
}

#[test]
fn a_line_of_a_change_counts_only_in_the_folder_of_changes() {
    let place = vault();
    place.ctx("read nodes/a").ok();
    let changes = |place: &Place| {
        let names = fs::read_dir(place.path(".context/audit")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".jsonl")).collect::<Vec<_>>()
    };
    let [log] = changes(&place).try_into().unwrap();
    // The change log in the folder of accesses records no event.
    let moved = place.duplicate();
    fs::rename(moved.path(&format!(".context/audit/{log}")), moved.path(FOLDER).join(&log))
        .unwrap();
    assert_eq!(codes(&moved)[0].0, "audit-missing");
    // An access log in the folder of changes records no change, and binds nothing.
    let moved = place.duplicate();
    let path = file(&moved);
    let name = PathBuf::from(&path).file_name().unwrap().to_str().unwrap().to_owned();
    fs::rename(moved.path(&path), moved.path(&format!(".context/audit/{name}"))).unwrap();
    assert!(codes(&moved).is_empty());
    moved.ctx("publish --all").ok();
}

#[test]
fn no_access_is_published_or_selected() {
    let place = vault();
    place.ctx("read nodes/a").ok();
    let path = file(&place);
    let before = place.read(&path);
    let listed = place.ctx("list --json").ok().json("ctx.list");
    assert_eq!(listed["documents"].as_array().unwrap().len(), 1);
    place.ctx("publish --all").ok();
    place.ctx("status").ok();
    place.ctx("recover").ok();
    place.ctx("checkpoint rebuild").ok();
    assert!(place.read(&path).starts_with(&before));
    place.ctx("verify").ok();
    place.ctx("checkout 1 ../as-of-1").ok();
    assert!(!place.home().join("as-of-1/.context/audit").exists());
}

#[test]
fn eight_readers_at_once_lose_no_line() {
    let place = vault();
    place.ctx("read nodes/a").ok();
    let path = file(&place);
    let runs: Vec<_> = (0..8)
        .map(|n| place.typed(&format!("read nodes/a --session s{n}")).command().spawn().unwrap())
        .collect();
    for run in runs {
        assert!(run.wait_with_output().unwrap().status.success());
    }
    assert_eq!((place.read(&path).lines().count(), files(&place).len()), (9, 1));
    place.ctx("verify").ok();
}

/// Reads a document at a time.
fn read_at(place: &Place, time: &str, session: &str) {
    let line = format!("read nodes/a --session {session}");
    place.typed(&line).var("CTX_NOW", &format!("{time}T12:00:00.000Z")).run().ok();
}

#[test]
fn old_accesses_are_pruned_where_no_other_machine_goes_on() {
    let origin = vault();
    git(&origin, "init -q -b main");
    git(&origin, "add -A");
    git(&origin, "commit -q -m one");
    let clone = || {
        let place = Place::new();
        git(&place, &format!("clone -q {} .", origin.root().display()));
        place
    };
    let (ours, theirs, dead) = (clone(), clone(), clone());
    for place in [&ours, &theirs, &dead] {
        read_at(place, "2026-12-01", "old");
        read_at(place, "2026-12-02", "old");
    }
    read_at(&ours, "2027-12-01", "new");
    read_at(&theirs, "2027-12-01", "new");
    let [own, their] = [&ours, &theirs].map(|place| {
        let path = file(place);
        path.strip_prefix(&format!("{FOLDER}/")).unwrap().trim_end_matches(".jsonl").to_owned()
    });
    let commit = |place: &Place| {
        git(place, "add -A");
        git(place, "commit -q -m all");
    };
    [&ours, &theirs, &dead].into_iter().for_each(commit);
    for place in [&theirs, &dead] {
        git(&ours, &format!("pull -q --no-rebase {} main", place.root().display()));
    }
    let prune = |line: &str| ours.typed(line).var("CTX_NOW", "2027-12-02T12:00:00.000Z").run();
    prune("trace hold place --session other --reason case").ok();
    let report = prune("trace prune --json").ok().json("ctx.trace.prune");
    assert_eq!(report["lines"], 3, "two of ours, one of the machine that is gone: {report:#}");
    assert_eq!(report["elsewhere"], serde_json::json!([their]));
    let pruned = report["writers"].as_array().unwrap();
    assert!(pruned.len() == 2 && pruned.iter().any(|writer| writer["writer"] == own.as_str()));
    let count = |session: &str| traces(&ours, &format!("--session {session}")).len();
    assert_eq!((count("old"), count("new")), (3, 2));
    // The other machine continues, and git merges both.
    read_at(&theirs, "2027-12-02", "new");
    [&ours, &theirs].into_iter().for_each(commit);
    git(&theirs, &format!("pull -q --no-rebase {} main", ours.root().display()));
    let later = |place: &Place, line: &str| {
        place.typed(line).var("CTX_NOW", "2027-12-02T12:00:00.000Z").run().ok().stdout
    };
    later(&theirs, "verify");
    let verified = later(&theirs, "trace verify");
    assert!(verified.contains("pruned: lines 1 to 2 of"), "{verified}");
    later(&ours, "verify");
}

#[test]
fn holds_keep_accesses_in_the_vault() {
    let place = vault();
    read_at(&place, "2026-12-01", "case");
    read_at(&place, "2026-12-02", "other");
    read_at(&place, "2027-12-01", "new");
    place.ctx("trace hold place --session case --reason 'case 7'").ok();
    let prune = |line: &str| place.typed(line).var("CTX_NOW", "2027-12-02T12:00:00.000Z").run();
    let report = prune("trace prune --json").ok().json("ctx.trace.prune");
    assert_eq!((&report["lines"], &report["held"][0]["lines"]), (&0.into(), &1.into()));
    assert_eq!(traces(&place, "--verb read").len(), 3);
}
