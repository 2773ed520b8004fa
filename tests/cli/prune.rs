//! `ctx trace prune` and `ctx trace hold`: which lines are pruned or kept, and the state after
//! a crash.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contextnest::files::vault::disk::{Change, Overseer, Verdict};
use insta::assert_snapshot;
use serde_json::Value;

use crate::acknowledged::rehashed;
use crate::harness::{Output, Place};

/// Returns a vault that records its changes, older than the accesses to it.
fn vault() -> Place {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n");
    place.write("nodes/b.md", "# B\n");
    for (line, at) in [("publish --all", "2025-06-01"), ("audit begin", "2025-06-02")] {
        place.typed(line).var("CTX_NOW", &format!("{at}T12:00:00.000Z")).run().ok();
    }
    place
}

/// Reads at some times, each in its own session: `s1`, `s2` and so on.
fn read_at(place: &Place, times: &[&str]) {
    for (n, time) in (1..).zip(times) {
        read(place, &format!("nodes/a --session s{n}"), time);
    }
}

fn read(place: &Place, what: &str, time: &str) {
    place
        .typed(&format!("read {what}"))
        .var("CTX_NOW", &format!("{time}T12:00:00.000Z"))
        .run()
        .ok();
}

/// Returns the folder with the access logs of the vault on this machine.
fn folder(place: &Place) -> PathBuf {
    let audit = place.home().join(".local/state/contextnest/audit");
    fs::read_dir(audit).unwrap().next().unwrap().unwrap().path()
}

/// Returns the files with lines of the only writer, oldest first.
fn files(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(place)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    let first = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        name.split('.').nth(1).map_or(1, |first| first.parse::<u64>().unwrap())
    };
    files.sort_by_key(first);
    files
}

fn lines(place: &Place) -> Vec<Value> {
    let texts = files(place).into_iter().map(|path| fs::read_to_string(path).unwrap());
    let lines = texts.collect::<String>();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn numbers(place: &Place) -> Vec<u64> {
    lines(place).iter().map(|line| line["seq"].as_u64().unwrap()).collect()
}

/// Returns the output without its random names.
fn plain(place: &Place, output: &Output) -> String {
    let mut text = output.whole();
    let logs = fs::read_dir(place.path(".context/audit")).into_iter().flatten();
    let logs = logs.map(|entry| entry.unwrap().path()).chain(files(place));
    for path in logs {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let name = name.split('.').next().unwrap();
        let word = if path.starts_with(place.root()) { "CHANGES" } else { "ACCESSES" };
        if name.len() == 32 {
            text = text.replace(name, word).replace(&name[..8], word);
        }
    }
    text
}

const OLD: [&str; 3] = ["2026-01-01", "2026-02-01", "2026-03-01"];
const NEW: &str = "2026-11-20";

fn old_and_new() -> Place {
    let place = vault();
    read_at(&place, &[OLD[0], OLD[1], OLD[2], NEW]);
    place
}

#[test]
fn accesses_older_than_the_retention_are_pruned_and_the_chain_goes_on() {
    let place = old_and_new();
    let before = place.tree();
    let asked = place.ctx("trace prune --dry-run").ok();
    assert_snapshot!(plain(&place, &asked), @"
    exit: 0
    -- stdout
    ACCESSES: lines 1 to 3, from 2026-01-01T12:00:00.000Z to 2026-03-01T12:00:00.000Z
    would prune 3 lines of 1 writer, before 2026-05-21T10:00:07.000Z
    -- stderr
    ");
    assert_eq!((place.tree(), numbers(&place)), (before, vec![1, 2, 3, 4]));
    let cut = lines(&place)[3]["prev"].as_str().unwrap().to_owned();
    let done = place.ctx("trace prune --session p").ok();
    assert_snapshot!(plain(&place, &done), @"
    exit: 0
    -- stdout
    ACCESSES: lines 1 to 3, from 2026-01-01T12:00:00.000Z to 2026-03-01T12:00:00.000Z
    pruned 3 lines of 1 writer, before 2026-05-21T10:00:08.000Z
    -- stderr
    ");
    assert_eq!(numbers(&place), [4]);
    // The line that records the pruning comes before anything that follows.
    let line = place.ctx("trace list --verb trace --json").ok().json("ctx.trace.list");
    let name = line["traces"][0]["trace"].as_str().unwrap().to_owned();
    assert_snapshot!(plain(&place, &place.ctx(&format!("trace show {name}"))).replace(&cut, "HASH"), @"
    exit: 0
    -- stdout
    CHANGES-2 change
      at         2026-11-21T10:00:08.000Z
      command    ctx trace prune --session p
      principal  ana@example.com
      session    p
      head       checkpoint 1 sha256:e1e4303bbc2d731c5d2dc713c55c732ec0feb74c4d40bbec14ed49dca0a1b025
      before     2026-05-21T10:00:08.000Z
      pruned     up to line 3 of ACCESSES HASH
    -- stderr
    ");
    place.ctx("verify").ok();
    read(&place, "nodes/b", "2026-11-21");
    assert_eq!(numbers(&place), [4, 5]);
    assert_snapshot!(plain(&place, &place.ctx("trace verify")), @"
    exit: 0
    -- stdout
    pruned: lines 1 to 3 of ACCESSES, 2026-11-21T10:00:08.000Z by ana@example.com (change CHANGES-2)
    every chain is intact up to its last line: 2 lines of 1 writer
    every chain of the change log is intact up to its last line: 2 lines of 1 writer
    -- stderr
    note: truncation of a log outside of the vault, or of one of another user, cannot be detected
    ");
    let report = place.ctx("trace verify --json").ok().json("ctx.trace.verify");
    assert_eq!((&report["pruned"][0]["from"], &report["pruned"][0]["to"]), (&1.into(), &3.into()));
    assert_eq!(report["pruned"][0]["by"], name.as_str());
    // The second run prunes nothing and records nothing.
    assert_snapshot!(plain(&place, &place.ctx("trace prune")), @"
    exit: 0
    -- stdout
    pruned 0 lines of 0 writers, before 2026-05-21T10:00:15.000Z
    -- stderr
    ");
    assert_eq!(
        place.ctx("trace list --verb trace --json").ok().json("ctx.trace.list")["traces"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn every_answer_from_a_pruned_log_says_so() {
    let place = old_and_new();
    let writer = lines(&place)[0]["writer"].as_str().unwrap()[..8].to_owned();
    place.ctx("trace prune").ok();
    let notes = |command: &str| place.ctx(command).stderr;
    for command in [
        "trace list",
        "trace grep nodes/a",
        "trace list --format otlp",
        "impact nodes/a",
        "replay --session s4",
        "evidence export --session s4 -o ../s4.tar",
        "evidence export --document nodes/a -o ../a.tar",
        "trace list --from 2026-05-01",
    ] {
        let said = notes(command);
        assert!(said.contains("note: accesses before 2026-05-21T"), "{command}: {said}");
    }
    assert!(!notes("trace list --from 2026-06-01").contains("pruned"));
    for command in ["trace show", "replay", "evidence export -o ../x.tar"] {
        let output = place.ctx(&format!("{command} {writer}-2")).exits(1);
        let said = format!("error[unknown-trace]: the access `{writer}-2` was pruned");
        assert!(output.stderr.contains(&said), "{}", output.whole());
    }
    assert!(notes(&format!("trace show {writer}-9")).contains("is recorded"));
}

#[test]
fn a_cut_without_its_line_is_a_gap() {
    let place = old_and_new();
    place.ctx("trace prune").ok();
    // Another vault has the same log, but its change log does not mention the pruning.
    let other = place.home().join("logs");
    fs::rename(folder(&place), &other).unwrap();
    let verify = format!("trace verify --logs {}", other.display());
    place.ctx(&verify).ok();
    let audit = place.path(".context/audit");
    let log = fs::read_dir(&audit).unwrap().map(|entry| entry.unwrap().path());
    let log = log.into_iter().find(|path| path.extension().is_some_and(|e| e == "jsonl")).unwrap();
    let text = fs::read_to_string(&log).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("\"prune\"")).collect();
    fs::write(&log, kept.join("\n") + "\n").unwrap();
    let found = place.ctx(&verify).exits(1).stdout;
    assert!(found.starts_with("audit-gap: "), "{found}");
    // Another hash at the cut is a fault, too.
    let cut = text.replace("\"seq\":3,\"writer\"", "\"seq\":2,\"writer\"");
    assert_ne!(cut, text);
    fs::write(&log, cut).unwrap();
    assert!(place.ctx(&verify).exits(1).stdout.starts_with("audit-gap: "));
}

#[test]
fn prune_keeps_what_the_retention_keeps() {
    let place = old_and_new();
    let refused = |command: &str, code: &str| {
        let output = place.ctx(command);
        assert!(output.stderr.contains(&format!("error[{code}]")), "{command}: {}", output.whole());
        assert_eq!(numbers(&place), [1, 2, 3, 4], "{command}");
    };
    refused("trace prune --before 2026-11-01", "retained");
    refused("trace prune --before yesterday", "usage");
    assert_snapshot!(place.ctx("trace prune --before 2026-11-01").stderr, @"
    error[retained]: accesses are kept for 184 days: those from 2026-05-21T10:00:09.000Z on cannot be pruned
    hint: name an earlier time with `--before`, or leave it out
    ");
    // The live configuration keeps more, and the sealed one is in force.
    place.edit(".context/config.yaml", "184d", "300d");
    refused("trace prune --before 2026-02-15", "retained");
    place.ctx("publish --all").ok();
    place.edit(".context/config.yaml", "300d", "1d");
    refused("trace prune --before 2026-02-15", "retained");
    place.ctx("trace prune --before 2026-01-15").ok();
    assert_eq!(numbers(&place), [2, 3, 4]);
    place.ctx("publish --all").ok();
    place.ctx("trace prune").ok();
    // The last answer stays, however old it is.
    assert_eq!(numbers(&place), [4]);
}

#[test]
fn without_a_change_log_nothing_is_pruned() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let config = place.read(".context/config.yaml");
    if config.contains("audit:") {
        return;
    }
    read_at(&place, &OLD);
    assert_snapshot!(place.ctx("trace prune").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[not-begun]: this vault does not have a change log, so pruned accesses would look like lost ones
    hint: run `ctx audit begin`
    ");
    place.ctx("audit begin").ok();
    place.ctx("trace prune").ok();
    assert_eq!(numbers(&place), [3]);
}

#[test]
fn held_accesses_stay_and_the_hold_is_named() {
    let place = vault();
    read_at(&place, &[OLD[0], OLD[1], OLD[1], OLD[2], NEW]);
    assert_eq!(place.ctx("trace hold place --reason x").exit, 2);
    assert_eq!(place.ctx("trace hold place --session s3 --reason ' '").exit, 2);
    let hold = place.ctx("trace hold place --session s3 --reason 'case 7'").ok().stdout;
    let hold = hold.trim();
    let hide = |output: &Output| plain(&place, output).replace(hold, "HOLD");
    assert_snapshot!(hide(&place.ctx("trace hold list").ok()), @"
    exit: 0
    -- stdout
    HOLD  2026-11-21T10:00:10.000Z  ana@example.com  session s3  case 7
    -- stderr
    ");
    assert_snapshot!(hide(&place.ctx("trace prune --dry-run").ok()), @"
    exit: 0
    -- stdout
    ACCESSES: lines 1 to 2, from 2026-01-01T12:00:00.000Z to 2026-02-01T12:00:00.000Z
    1 line held by HOLD (session s3): case 7
    would prune 2 lines of 1 writer, before 2026-05-21T10:00:12.000Z
    -- stderr
    note: 2 lines of that age stay, held or after a held line
    ");
    place.ctx("trace prune").ok();
    assert_eq!(numbers(&place), [3, 4, 5]);
    let report = place.ctx("trace prune --json").ok().json("ctx.trace.prune");
    assert_eq!((&report["held"][0]["id"], &report["held"][0]["lines"]), (&hold.into(), &1.into()));
    assert_eq!((&report["lines"], &report["kept"]), (&0.into(), &2.into()));
    // The hold was not placed in the session that it protects.
    let changes = place.ctx("trace list --session s3 --json").ok().json("ctx.trace.list");
    assert_eq!(changes["traces"].as_array().unwrap().len(), 1);
    // Holds of every other kind, and one that combines all of them.
    for what in ["--agent x", "--principal bo@example.com", "--document nodes/b"] {
        place.ctx(&format!("trace hold place {what} --reason other")).ok();
    }
    let name = format!("{}-3", &lines(&place)[0]["writer"].as_str().unwrap()[..8]);
    let of_trace = place.ctx(&format!("trace hold place --trace {name} --reason one --json")).ok();
    let of_trace = of_trace.json("ctx.trace.hold.place")["id"].as_str().unwrap().to_owned();
    place.ctx(&format!("trace hold lift {hold} --reason done")).ok();
    place.ctx("trace prune").ok();
    assert_eq!(numbers(&place), [3, 4, 5]);
    place.ctx(&format!("trace hold lift {of_trace} --reason done")).ok();
    let gone = place.ctx(&format!("trace hold lift {of_trace} --reason again")).exits(1);
    assert!(gone.stderr.contains("error[unknown-hold]"), "{}", gone.whole());
    place.ctx("trace prune").ok();
    assert_eq!(numbers(&place), [5]);
    place.ctx("verify").ok();
    place.ctx("trace verify").ok();
}

#[test]
fn a_hold_is_a_file_and_a_line_and_either_holds() {
    let place = old_and_new();
    place.ctx("trace hold place --session s1 --reason r").ok();
    let file = || {
        let entries = fs::read_dir(folder(&place)).unwrap().map(|entry| entry.unwrap().path());
        entries.into_iter().find(|path| path.to_str().unwrap().ends_with(".hold.json"))
    };
    // The file is missing, or another clone placed it: the line is enough.
    let (path, text) = (file().unwrap(), fs::read(file().unwrap()).unwrap());
    fs::remove_file(&path).unwrap();
    place.ctx("trace prune").ok();
    assert_eq!(numbers(&place), [1, 2, 3, 4]);
    // An unreadable file may hold anything.
    fs::write(&path, "{}").unwrap();
    let output = place.ctx("trace prune");
    assert_eq!(output.exit, 5, "{}", output.whole());
    assert!(output.stderr.contains("the legal holds cannot be read"), "{}", output.whole());
    fs::write(&path, text).unwrap();
    // A change log that was altered may lack holds.
    let audit = fs::read_dir(place.path(".context/audit")).unwrap();
    let audit = audit.map(|entry| entry.unwrap().path());
    let log =
        audit.into_iter().find(|path| path.extension().is_some_and(|e| e == "jsonl")).unwrap();
    let text = fs::read_to_string(&log).unwrap();
    let less: Vec<&str> = text.lines().filter(|line| !line.contains("\"hold\"")).collect();
    fs::write(&log, less.join("\n") + "\n").unwrap();
    fs::remove_file(&path).unwrap();
    let output = place.ctx("trace prune").exits(1);
    assert!(output.stderr.contains("error[log-broken]"), "{}", output.whole());
    assert_eq!(numbers(&place), [1, 2, 3, 4]);
}

#[test]
fn a_damaged_log_is_not_pruned() {
    let place = old_and_new();
    let path = files(&place).remove(0);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"s2\"", "\"s9\"")).unwrap();
    let output = place.ctx("trace prune").exits(1);
    assert!(output.stdout.starts_with("audit-chain-mismatch: "), "{}", output.whole());
    assert_eq!(numbers(&place), [1, 2, 3, 4]);
    // Lines that are older than their checkpoint, with hashes that follow.
    let backdated = rehashed(&text, |n, line| {
        if n < 4 {
            line["at"] = format!("2025-01-0{n}T12:00:00.000Z").into();
        }
    });
    fs::write(&path, backdated).unwrap();
    place.ctx("trace verify").exits(1);
    let output = place.ctx("trace prune").exits(1);
    assert!(output.stdout.starts_with("audit-contradicts: "), "{}", output.whole());
    assert_eq!(numbers(&place), [1, 2, 3, 4]);
}

#[test]
fn collect_names_other_folders_and_refuses_copies_beside_them() {
    let place = old_and_new();
    let audit = folder(&place).parent().unwrap().to_owned();
    let collect = |into: &str| {
        let into = place.home().join(into);
        place.ctx(&format!("trace collect {} --into {}", audit.display(), into.display()))
    };
    let said = collect("one").ok();
    assert!(!said.stderr.contains("not collected"), "{}", said.whole());
    let clone = place.home().join("clone").display().to_string();
    let copy = format!("cp -a {} {clone}", place.root().display());
    place.typed("").shell(&copy).ok();
    place.ctx(&format!("read nodes/b --vault {clone}")).ok();
    let said = collect("two").ok();
    assert!(
        said.stderr.contains("has the logs of 1 other folder, of other vaults"),
        "{}",
        said.whole()
    );
    // Copies beside the folders would hide what these get later.
    let copy = audit.join(files(&place)[0].file_name().unwrap());
    fs::copy(&files(&place)[0], copy).unwrap();
    let refused = collect("three").exits(5);
    assert!(refused.stderr.contains("it has logs itself and in 2 folders"), "{}", refused.whole());
}

/// A disk that fails from the n-th change of an access log or change log on.
#[derive(Debug)]
struct Killed {
    left: AtomicUsize,
}

impl Overseer for Killed {
    fn judge(&self, _: &Change<'_>) -> Verdict {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Verdict::Refuse(5);
        }
        self.left.store(left - 1, Ordering::Relaxed);
        Verdict::Allow
    }
}

/// Splits the log into files with the lines 1 to 2, 3 to 4, and from 5 on.
fn split(place: &Place) {
    let path = files(place).remove(0);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let name = path.to_str().unwrap();
    fs::write(&path, lines[..2].concat()).unwrap();
    fs::write(name.replace(".jsonl", ".3.jsonl"), lines[2..4].concat()).unwrap();
    fs::write(name.replace(".jsonl", ".5.jsonl"), lines[4..].concat()).unwrap();
}

#[test]
fn a_command_that_is_killed_anywhere_leaves_a_log_that_verifies_and_is_pruned_later() {
    let all = [OLD[0], OLD[0], OLD[1], OLD[1], OLD[1], OLD[2], NEW, NEW];
    for (before, left, is_split) in [
        ("2026-04-01", vec![7, 8], true),
        ("2026-02-15", vec![6, 7, 8], true),
        ("2026-01-15", vec![3, 4, 5, 6, 7, 8], true),
        ("2026-02-15", vec![6, 7, 8], false),
    ] {
        let origin = vault();
        read_at(&origin, &all);
        if is_split {
            split(&origin);
        }
        let kept: Vec<(PathBuf, Vec<u8>)> =
            files(&origin).into_iter().map(|p| (p.clone(), fs::read(p).unwrap())).collect();
        let tree = origin.tree();
        let changes = origin.home().join(".local/state/contextnest");
        let state = files_below(&changes);
        let mut was_whole = false;
        for n in 0.. {
            let place = &origin;
            let overseer = Arc::new(Killed { left: AtomicUsize::new(n) });
            let prune = format!("trace prune --before {before}");
            let output = place.typed(&prune).on(overseer);
            was_whole = output.exit == 0;
            // In every case the log verifies, and contains every line that is not pruned.
            let said = place.ctx("trace verify");
            assert_eq!(said.exit, 0, "{n}: {}{}", output.whole(), said.whole());
            let numbers = numbers(place);
            assert!(numbers.ends_with(&left), "{n}: {numbers:?}");
            if numbers.len() < 8 {
                let listed = place.ctx("trace list --verb trace --json").ok();
                let listed = listed.json("ctx.trace.list");
                assert!(!listed["traces"].as_array().unwrap().is_empty(), "{n}");
            }
            read(place, "nodes/a --session next", "2026-11-21");
            place.ctx(&prune).ok();
            let mut expected = left.clone();
            expected.push(9);
            assert_eq!(self::numbers(place), expected, "{n}");
            place.ctx("trace verify").ok();
            place.ctx("verify").ok();
            if was_whole {
                break;
            }
            // The files are restored.
            for path in files(place) {
                fs::remove_file(path).unwrap();
            }
            for (path, bytes) in &kept {
                fs::write(path, bytes).unwrap();
            }
            let _ = fs::remove_dir_all(place.path(".context/audit"));
            for (path, bytes) in &tree {
                place.write(path, bytes);
            }
            for (path, bytes) in &state {
                fs::write(path, bytes).unwrap();
            }
        }
        assert!(was_whole);
    }
}

/// The files below a folder with their bytes.
fn files_below(dir: &PathBuf) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push((path.clone(), fs::read(path).unwrap())),
        }
    }
    found
}

#[test]
fn readers_lose_no_line_while_a_log_is_pruned() {
    let place = vault();
    for _ in 0..20 {
        read(&place, "nodes/a", OLD[0]);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let commands: Vec<_> = (0..6).map(|_| place.typed("read nodes/a").command()).collect();
            scope.spawn(|| {
                for mut command in commands {
                    assert!(command.output().unwrap().status.success());
                }
            });
        }
        place.ctx("trace prune").ok();
    });
    // Of the 20 old lines, the last one may be the last line when the others arrive.
    let numbers = numbers(&place);
    assert_eq!(numbers.last(), Some(&44));
    assert!(numbers[0] == 20 || numbers[0] == 21, "{numbers:?}");
    place.ctx("trace verify").ok();
}

#[test]
fn a_copy_keeps_what_was_pruned_from_its_source() {
    let place = vault();
    read_at(&place, &[OLD[0], OLD[1], OLD[1], OLD[2], NEW, NEW]);
    let collect = || {
        let source = folder(&place);
        let output = place.ctx(&format!("trace collect {} --into ../logs", source.display()));
        (output.exit, output.stdout)
    };
    let copied = || {
        let output = place.ctx("trace list --logs ../logs --json").ok();
        let report = output.json("ctx.trace.list");
        let number = |trace: &Value| trace["trace"].as_str().unwrap()[9..].to_owned();
        report["traces"].as_array().unwrap().iter().map(number).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(collect().0, 0);
    place.ctx("trace prune --before 2026-01-15").ok();
    read(&place, "nodes/b", NEW);
    assert_eq!(collect(), (0, "1 file: 0 new, 1 extended, 0 unchanged, 0 refused\n".to_owned()));
    assert_eq!(copied(), "1 2 3 4 5 6 7");
    place.ctx("trace prune").ok();
    assert_eq!(collect(), (0, "1 file: 0 new, 0 extended, 1 unchanged, 0 refused\n".to_owned()));
    let report = place.ctx("trace verify --logs ../logs --json").ok().json("ctx.trace.verify");
    assert_eq!((&report["lines"], &report["pruned"]), (&7.into(), &Value::Array(Vec::new())));
    // A copy that ends before the cut lacks the lines that were pruned in between, and reports it.
    let copy = fs::read_dir(place.home().join("logs")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&copy).unwrap();
    let first: String = text.split_inclusive('\n').take(2).collect();
    fs::write(&copy, &first).unwrap();
    assert_eq!(collect().0, 0);
    assert_eq!(copied(), "1 2 5 6 7");
    let report = place.ctx("trace verify --logs ../logs --json").ok().json("ctx.trace.verify");
    assert_eq!((&report["pruned"][0]["from"], &report["pruned"][0]["to"]), (&3.into(), &4.into()));
    // A source that lost more than the pruned lines is refused.
    let source = files(&place).remove(0);
    let whole = fs::read_to_string(&source).unwrap();
    let less: String = whole.split_inclusive('\n').take(1).collect();
    fs::write(&source, less).unwrap();
    let (exit, said) = collect();
    assert!(exit == 1 && said.starts_with("audit-rollback: "), "{said}");
    let later: String = whole.split_inclusive('\n').skip(1).collect();
    fs::write(&source, later).unwrap();
    let (exit, said) = collect();
    assert!(exit == 1 && said.starts_with("audit-gap: "), "{said}");
    assert_eq!(copied(), "1 2 5 6 7");
}

#[test]
fn a_pruning_that_no_writer_makes_is_damage_to_both_verifiers() {
    let place = old_and_new();
    // As for a forged line, the change log explains the missing lines.
    place.ctx("trace prune --now 2099-01-01T00:00:00.000Z").ok();
    assert_eq!(numbers(&place), [4]);
    let now = "--now 2026-11-27T00:00:00.000Z";
    let said = place.ctx(&format!("verify --json {now}")).exits(1).json("ctx.verify");
    let found = said["findings"].as_array().unwrap().iter();
    let messages = found.filter(|found| found["code"] == "audit-contradicts");
    let messages: Vec<&Value> = messages.map(|found| &found["message"]).collect();
    assert!(!messages.is_empty(), "{said}");
    let said = place.ctx(&format!("trace verify --json {now}")).exits(1).json("ctx.trace.verify");
    let faults: Vec<&Value> = said["changes"]["faults"].as_array().unwrap().iter().collect();
    assert_eq!(faults.iter().map(|fault| &fault["message"]).collect::<Vec<_>>(), messages);
    assert!(faults.iter().all(|fault| fault["code"] == "audit-contradicts"), "{said}");
    // The vault's change log explains the missing lines of a copy, too.
    let copy = folder(&place).display().to_string();
    let said = place.args(&["trace", "verify", "--logs", &copy]).run().exits(1);
    assert!(said.stdout.contains("audit-contradicts"), "{}", said.whole());
}
