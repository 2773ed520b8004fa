//! A command that is killed anywhere: nothing is damaged or unsettled, only files that were edited
//! before differ, and `recover --dry-run` lists what `recover` does.
//!
//! By default every third change of the disk is tested; with `CTX_REVIEW_FAULTS`, every one; in
//! `.ci/run`, fewer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use contextnest::files::vault::disk::{Change, Overseer, Verdict};
use insta::assert_snapshot;
use serde_json::Value;

use crate::changes::{codes, lines};
use crate::harness::{self, Output, Place, files_in};
use crate::review_faults::{Fault, Watch};

const AUDIT: &str = ".context/audit/";
const LOG: &str = ".versions/checkpoints.jsonl";
/// An upper bound of the changes of the disk that each of these commands makes.
const MOST: usize = 400;

/// A disk that dies when the change log gets its next line after this number of lines.
#[derive(Debug)]
struct DiesAtALine(AtomicUsize);

impl Overseer for DiesAtALine {
    fn judge(&self, change: &Change<'_>) -> Verdict {
        let is_line = matches!(change, Change::Write { path, .. } if path.starts_with(AUDIT));
        let left = self.0.load(Relaxed);
        self.0.store(left - usize::from(is_line && left > 0), Relaxed);
        if left == 0 || is_line && left == 1 { Verdict::Refuse(5) } else { Verdict::Allow }
    }
}

/// Returns a vault whose last command published checkpoint 2, and was killed before its line.
fn interrupted_before_its_line() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    killed_before_its_line(&place, "more", 1);
    place
}

/// Publishes `nodes/a`, and is killed before a line of the change log.
fn killed_before_its_line(place: &Place, word: &str, line: usize) {
    place.edit("nodes/a.md", "# A\n", &format!("# A\n\n{word}\n"));
    let _ = place.typed("publish nodes/a").on(Arc::new(DiesAtALine(line.into())));
}

#[test]
fn verify_notes_an_interrupted_command_and_recover_adds_its_line() {
    let place = interrupted_before_its_line();
    let first = place.ctx("verify").ok().stdout;
    assert_snapshot!(place.ctx("verify").ok().stdout, @"
    intact, anchored to checkpoint 2
      anchor: checkpoint 2, trusted on this machine since 2026-11-21T10:00:03.000Z
      2 checkpoints, 4 artifacts, 5 versions recomputed
      head: checkpoint 2, sha256:4b5127d279e2cf9d1750177f6aefe99bb01b90bb07bea86ffb580bde6c3d17ea

    Notes:
      [derived-differs] context.yaml: it does not match the last checkpoint: it is older, or was edited
          in context.yaml
      [interrupted] .context/audit, checkpoint 2: no line of a change log records the event; its command was interrupted after the commit, and the next writing command adds the line
          in .context/audit
    ");
    assert!(first.contains("[interrupted]"), "{first}");
    assert_snapshot!(place.ctx("recover --dry-run").ok().stdout, @"
    1 derived file would be updated
      context.yaml
    1 event would be added to the change log
      checkpoint 2
    ");
    place.ctx("audit acknowledge 2 --reason x --dry-run").exits(1);
    assert_snapshot!(place.ctx("recover").ok().stdout, @"
    1 derived file updated
      context.yaml
    1 event added to the change log
      checkpoint 2
    ");
    assert_eq!(codes(&place), BTreeSet::new());
    assert_eq!(place.ctx("recover").ok().stdout, "nothing to clean up\n");
    let lines = lines(&place);
    assert_eq!((lines.len(), &lines[1]["recovered"]), (2, &true.into()));
}

/// Asserts that the line of the last event is missing, without an explanation.
#[track_caller]
fn is_unsettled(output: Output) {
    let report = output.exits(1).json("ctx.verify");
    assert_eq!(report["verdict"], "unsettled");
    assert_eq!(report["findings"][0]["code"], "audit-missing");
}

#[test]
fn an_intent_record_explains_nothing_to_other_users_and_in_clones() {
    let place = interrupted_before_its_line();
    let other = Place::new();
    let home = other.home().display().to_string();
    is_unsettled(place.duplicate().ctx("verify --json"));
    is_unsettled(place.typed("verify --json").var("HOME", &home).run());
    is_unsettled(place.typed("verify --json").without("HOME").run());
    for args in ["recover --dry-run", "recover"] {
        let stdout = place.typed(args).var("HOME", &home).run().ok().stdout;
        assert!(!stdout.contains("event"), "{stdout}");
    }
    is_unsettled(place.typed("verify --json").var("HOME", &home).run());
    // Its own user still adds the line.
    place.ctx("recover").ok();
    is_whole(&place, "after all");
}

#[test]
fn an_exchanged_event_is_not_explained_by_the_intent_record() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    let attacker = place.duplicate();
    killed_before_its_line(&place, "more", 1);
    // The author, the instant and the checkpoint before are the same, but the text differs.
    killed_before_its_line(&attacker, "evil", 1);
    assert!(place.read(LOG) != attacker.read(LOG));
    for (path, bytes) in attacker.chained() {
        place.write(&path, bytes);
    }
    is_unsettled(place.ctx("verify --json"));
    assert_eq!(place.ctx("recover --dry-run").ok().stdout, "nothing to clean up\n");
    place.ctx("recover").ok();
    place.ctx("publish --all").ok();
    is_unsettled(place.ctx("verify --json"));
}

#[test]
fn an_intent_record_explains_the_last_event_alone() {
    let place = interrupted_before_its_line();
    // Another user publishes after it.
    let other = Place::new();
    let home = other.home().display().to_string();
    place.edit("nodes/b.md", "# B\n", "# B\n\nmore\n");
    place.typed("publish nodes/b").var("HOME", &home).run().ok();
    is_unsettled(place.ctx("verify --json"));
    assert_snapshot!(place.ctx("recover --dry-run").ok().stdout, @"
    1 event would be added to the change log
      checkpoint 2
    ");
    place.ctx("recover").ok();
    is_whole(&place, "the line of an earlier event can still be added");
}

#[test]
fn the_last_line_of_a_complete_event_is_not_excused() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    place.ctx("publish nodes/a").ok();
    let (path, bytes) = files_in(&place.path(".context/audit"))
        .into_iter()
        .find(|(path, _)| path.ends_with(".jsonl"))
        .unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let first = text.split_inclusive('\n').next().unwrap();
    place.write(&format!(".context/audit/{path}"), first);
    // The state directory of this machine is deleted, too.
    for (path, _) in files_in(&place.home().join(".local/state")) {
        if path.ends_with("/changes") {
            fs::remove_file(place.home().join(".local/state").join(path)).unwrap();
        }
    }
    is_unsettled(place.ctx("verify --json"));
}

#[test]
fn a_bound_line_that_is_gone_is_damage_after_an_interrupted_command_too() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit(".context/config.yaml", "retention: 184d\n", "retention: 184d\n  bind: true\n");
    place.ctx("publish --changed").ok();
    // The line `bind` is durable before the commit.
    killed_before_its_line(&place, "more", 2);
    is_whole(&place, "before the line is gone");
    assert!(codes(&place).contains("interrupted"));
    for (path, bytes) in files_in(&place.path(".context/audit")) {
        if path.ends_with(".jsonl") {
            let text = String::from_utf8(bytes).unwrap();
            let kept = text.trim_end().rfind('\n').unwrap() + 1;
            place.write(&format!("{AUDIT}{path}"), &text[..kept]);
        }
    }
    assert!(codes(&place).contains("audit-rollback"));
    place.ctx("verify").exits(1);
}

fn findings(place: &Place) -> Vec<Value> {
    let report = place.typed("verify --json --allow-drift").here().json("ctx.verify");
    report["findings"].as_array().unwrap().clone()
}

/// Asserts that every finding is a note.
#[track_caller]
fn is_whole(place: &Place, when: &str) {
    let found = findings(place);
    assert!(found.iter().all(|found| found["class"] == "note"), "{when}: {found:#?}");
}

/// Returns what `recover` does, or would do.
fn recovery(place: &Place, line: &str) -> BTreeMap<String, Value> {
    let report = place.typed(line).here().ok().json("ctx.recover");
    let report = report.as_object().unwrap().clone();
    report.into_iter().filter(|(key, _)| key != "dry_run" && key != "folder").collect()
}

fn stride() -> usize {
    if std::env::var_os("CTX_REVIEW_FAULTS").is_some() { 1 } else { 3 * harness::stride(2) }
}

/// Kills a command at each change of the disk that it makes. `edited` are the documents whose files
/// were edited before.
fn suffers(prepare: &dyn Fn(&Place), line: &str, edited: &[&str]) {
    let place = Place::in_memory();
    place.typed("init --name Test").here().ok();
    place.write("nodes/a.md", "# A\n");
    place.write("nodes/b.md", "# B\n\n[a](a.md)\n");
    place.typed("publish --all").here().ok();
    prepare(&place);
    let before = files_in(place.home());
    let mut seen = BTreeSet::new();
    for fault in [Fault::Dies, Fault::Tears] {
        for n in (fault as usize % stride()..MOST).step_by(stride()) {
            put_back(&place, &before);
            let watch = Watch::new(n, fault);
            let _ = place.typed(line).var("CTX_NOW", "2026-11-22T10:00:00.000Z").on(watch.clone());
            if !watch.struck() {
                break;
            }
            let what = format!("`{line}`, {fault:?} at {n}");
            for found in findings(&place) {
                seen.insert(found["code"].as_str().unwrap().to_owned());
                let is_edited = edited.iter().any(|id| found["id"] == *id);
                let is_drift = found["code"] == "drift" && is_edited;
                assert!(found["class"] == "note" || is_drift, "{what}: {found:#?}");
            }
            let planned = recovery(&place, "recover --dry-run --json");
            assert_eq!(recovery(&place, "recover --json"), planned, "{what}");
            let left = findings(&place);
            let is_left = |code: &str| left.iter().any(|found| found["code"] == code);
            assert!(!is_left("interrupted") && !is_left("unfinished"), "{what}: {left:#?}");
            if edited.is_empty() {
                is_whole(&place, &what);
            }
            assert_eq!(
                place.typed("recover").here().ok().stdout,
                "nothing to clean up\n",
                "{what}"
            );
            let lines = lines(&place);
            let sealed: Vec<&Value> = lines.iter().map(|line| &line["sealed"]).collect();
            let sealed: Vec<&&Value> = sealed.iter().filter(|sealed| !sealed.is_null()).collect();
            let once: BTreeSet<String> = sealed.iter().map(ToString::to_string).collect();
            assert_eq!(sealed.len(), once.len(), "{what}: {lines:#?}");
            let _ = place.typed("publish --all").here();
            is_whole(&place, &what);
        }
    }
    assert!(seen.contains("interrupted") && seen.contains("unfinished"), "{seen:?}");
}

fn put_back(place: &Place, before: &BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(place.home()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }
    for (path, bytes) in before {
        let path = place.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_killed_publication_leaves_nothing_unexplained() {
    let edit = |place: &Place| {
        place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
        place.edit("nodes/b.md", "# B\n", "# B\n\nmore\n");
    };
    suffers(&edit, "publish --all", &["nodes/a", "nodes/b"]);
}

#[test]
fn a_killed_first_publication_of_a_document_leaves_nothing_unexplained() {
    suffers(&|_| (), "add nodes/c --body x", &[]);
}

#[test]
fn a_killed_retirement_leaves_nothing_unexplained() {
    suffers(&|_| (), "retire nodes/b", &[]);
}

#[test]
fn a_killed_move_leaves_nothing_unexplained() {
    suffers(&|_| (), "mv nodes/a nodes/c", &[]);
}

#[test]
fn a_killed_change_of_governance_leaves_nothing_unexplained() {
    let assign = |place: &Place| {
        place.typed("steward assign ana@example.com reviewer --whole-vault").here().ok();
        place.typed("steward assign bo@example.com reviewer --whole-vault").here().ok();
    };
    suffers(&assign, "steward remove bo@example.com --whole-vault", &[]);
    suffers(&assign, "govern on", &[]);
}

/// Kills `line` at each change of the disk, and then runs `next` without a recovery. Returns what
/// `seen` prints before and after that, for each change.
fn written_after(
    prepare: &dyn Fn(&Place),
    line: &str,
    next: &dyn Fn(&Place, &str),
    seen: &str,
) -> Vec<(String, String)> {
    let place = Place::in_memory();
    place.typed("init --name Test").here().ok();
    place.write("nodes/a.md", "# A\n");
    place.typed("publish --all").here().ok();
    prepare(&place);
    let before = files_in(place.home());
    let mut found = Vec::new();
    for n in (0..MOST).step_by(stride()) {
        put_back(&place, &before);
        let watch = Watch::new(n, Fault::Dies);
        let _ = place.typed(line).var("CTX_NOW", "2026-11-22T10:00:00.000Z").on(watch.clone());
        if !watch.struck() {
            break;
        }
        let what = format!("`{line}` at {n}");
        let was = place.typed(seen).here().ok().stdout;
        next(&place, &what);
        found.push((was, place.typed(seen).here().ok().stdout));
        is_whole(&place, &what);
    }
    found
}

#[test]
fn no_later_publication_undoes_a_killed_change_of_governance() {
    let assign = |place: &Place| {
        for who in ["ana", "bo"] {
            let line = format!("steward assign {who}@example.com reviewer --whole-vault");
            place.typed(&line).here().ok();
        }
    };
    let publish = |place: &Place, _: &str| {
        place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
        place.typed("publish --changed").here().ok();
    };
    let line = "steward remove bo@example.com --whole-vault";
    let found = written_after(&assign, line, &publish, "steward list");
    assert!(found.iter().all(|(was, is)| was == is), "{found:#?}");
    let is_removed = |(was, _): &&(String, String)| !was.contains("bo@example.com");
    let removed = found.iter().filter(is_removed).count();
    assert!(removed > 0 && removed < found.len(), "{found:#?}");
}

#[test]
fn a_file_that_is_edited_after_a_killed_publication_is_published_in_the_next_version() {
    let edit = |place: &Place| place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    let go_on = |place: &Place, what: &str| {
        let text = place.read("nodes/a.md") + "\nAnd more.\n";
        place.write("nodes/a.md", text);
        let said = place.typed("publish --changed").here();
        assert_eq!(said.exit, 0, "{what}: {}", said.stderr);
    };
    let found = written_after(&edit, "publish nodes/a", &go_on, "read nodes/a");
    let is_committed = |(was, _): &&(String, String)| was.contains("more");
    assert!(found.iter().any(|found| is_committed(&found)), "{found:#?}");
    for (_, is) in found {
        assert!(is.contains("more\n\nAnd more."), "{is}");
    }
}

#[test]
fn a_file_that_was_put_back_after_a_killed_publication_is_stale() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    let published = place.read("nodes/a.md");
    killed_before_its_line(&place, "more", 1);
    place.write("nodes/a.md", published);
    place.ctx("publish nodes/a").exits(1);
}

#[test]
fn an_interrupted_beginning_of_the_change_log_is_recorded_by_the_next_writer() {
    let stride = if std::env::var_os("CTX_REVIEW_FAULTS").is_some() { 1 } else { 2 };
    let mut seen = BTreeSet::new();
    for next in ["recover", "publish nodes/b"] {
        for n in (0..MOST).step_by(stride) {
            let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
            place.write("nodes/b.md", "# B\n");
            let watch = Watch::new(n, Fault::Dies);
            let _ = place.typed("audit begin").on(watch.clone());
            place.typed(next).here().ok();
            let said = place.typed("verify --json --allow-drift").here().ok().stdout;
            assert!(!said.contains("unfinished"), "{next} after {n}: {said}");
            seen.insert(place.has(".context/audit"));
            if !watch.struck() {
                break;
            }
        }
    }
    assert_eq!(seen.len(), 2);
}
