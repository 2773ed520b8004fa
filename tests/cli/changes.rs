//! The change log: a line for each event, in the vault, and the findings about it.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contextnest::files::vault::config::LogForm;
use contextnest::files::vault::disk::{Change, Overseer, Verdict};
use insta::assert_snapshot;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::harness::{Place, stride};

/// Returns a vault whose changes are recorded from checkpoint 2 on; checkpoint 4 is its head.
fn vault() -> Place {
    let place = Place::unrecorded(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n")]);
    place.ctx("audit begin").ok();
    place.edit("nodes/a.md", "One.", "Two.");
    place.ctx("publish --changed --session s1 --agent scout").ok();
    place.ctx("retire nodes/b").ok();
    place
}

/// Returns the paths of the change logs, the oldest writer first by the time of its first line.
fn logs(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path(".context/audit")).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let names = entries.map(|entry| name(entry.unwrap())).filter(|name| name.ends_with(".jsonl"));
    let mut paths: Vec<String> = names.map(|name| format!(".context/audit/{name}")).collect();
    let began = |path: &String| lines_of(place, path)[0]["at"].as_str().unwrap().to_owned();
    paths.sort_by_key(began);
    paths
}

fn lines_of(place: &Place, path: &str) -> Vec<Value> {
    place.read(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns all lines, those of the oldest writer first.
pub(crate) fn lines(place: &Place) -> Vec<Value> {
    logs(place).iter().flat_map(|path| lines_of(place, path)).collect()
}

pub(crate) fn codes(place: &Place) -> BTreeSet<String> {
    let report = place.ctx("verify --json").json("ctx.verify");
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn only(code: &str) -> BTreeSet<String> {
    BTreeSet::from([code.to_owned()])
}

pub(crate) fn both(a: &str, b: &str) -> BTreeSet<String> {
    BTreeSet::from([a.to_owned(), b.to_owned()])
}

#[test]
fn each_event_has_a_line_that_names_its_checkpoint() {
    let place = vault();
    place.ctx("verify").ok();
    let report = place.ctx("checkpoint list --json").ok().json("ctx.checkpoint.list");
    let checkpoints = report["checkpoints"].as_array().unwrap();
    let lines = lines(&place);
    let said: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {} {}", line["verb"], line["sealed"]["checkpoint"], line["ids"]))
        .collect();
    assert_snapshot!(said.join("\n"), @r#"
    "audit begin" 2 [".context/config.yaml"]
    "publish" 3 ["nodes/a"]
    "retire" 4 ["nodes/b"]
    "#);
    for (line, checkpoint) in lines.iter().zip(&checkpoints[1..]) {
        assert_eq!(line["sealed"]["hash"], checkpoint["checkpoint_hash"]);
        assert_eq!(
            line["head"]["checkpoint"].as_u64(),
            line["sealed"]["checkpoint"].as_u64().map(|n| n - 1)
        );
        assert_eq!(
            (&line["principal"], &line["principal_source"]),
            (&"ana@example.com".into(), &"env".into())
        );
    }
    assert_eq!(lines[1]["labels"]["agent"], "scout");
    let listed = place.ctx("trace list --session s1").ok().stdout;
    let writer = &lines[0]["writer"].as_str().unwrap()[..8];
    assert_snapshot!(listed.replace(writer, "WRITER"), @"WRITER-2  2026-11-21T10:00:03.000Z  publish  1 document in checkpoint 3  ana@example.com  scout  s1");
    assert_snapshot!(place.ctx(&format!("trace show {writer}-2")).ok().stdout.replace(writer, "WRITER"), @"
    WRITER-2 change
      at         2026-11-21T10:00:03.000Z
      command    ctx publish --changed --session s1 --agent scout
      principal  ana@example.com
      agent      scout
      session    s1
      head       checkpoint 2 sha256:c5ed1a3bd3e817e087fc8c62752e04cd6d44aedb23eeddbfaa07dafb905fcbff
      sealed     checkpoint 3 sha256:9f02854232f8855a21254c82797fd2891ff609c92a2a74f8d347defd0074ef33
        nodes/a
    ");
}

#[test]
fn verify_reports_an_altered_change_log() {
    let origin = vault();
    let path = &logs(&origin)[0];
    let text = origin.read(path);
    let all: Vec<&str> = text.lines().collect();
    let found = |lines: &[&str]| {
        // Users who wrote none of the lines rely on the chain alone.
        let place = origin.duplicate();
        place.write(path, lines.join("\n") + "\n");
        codes(&place)
    };
    // The line after an unreliable one has no line before it.
    let three = |code: &str| {
        let mut codes = both("audit-gap", "audit-missing");
        codes.insert(code.to_owned());
        codes
    };
    assert_eq!(found(&all), BTreeSet::new());
    let other = all[1].replace("\"scout\"", "\"spy\"");
    assert_eq!(found(&[all[0], &other, all[2]]), three("audit-chain-mismatch"));
    let spelled = all[1].replace("\"scout\"", " \"scout\"");
    assert_eq!(found(&[all[0], &spelled, all[2]]), three("audit-malformed"));
    assert_eq!(found(&[all[0], all[2]]), both("audit-gap", "audit-missing"));
    assert_eq!(found(&[all[1], all[2]]), three("audit-chain-mismatch"));
    assert_eq!(found(&[all[0], all[1], all[2], all[2]]), only("audit-chain-mismatch"));
    // Lines at the end can be missing only if no event needs them.
    assert_eq!(found(&all[..2]), only("audit-missing"));
    // The writer of the lines knows their end.
    origin.write(path, format!("{}\n", all[..2].join("\n")));
    assert_eq!(codes(&origin), both("audit-missing", "audit-rollback"));
    origin.remove(path);
    assert_eq!(codes(&origin), both("audit-missing", "audit-rollback"));
    assert!(origin.ctx("verify").exits(1).stdout.contains("damaged"));
}

#[test]
fn a_line_that_another_log_contradicts_is_damage() {
    let place = vault().duplicate();
    let log = place.read(".versions/checkpoints.jsonl");
    let cut: Vec<&str> = log.lines().take(3).collect();
    place.write(".versions/checkpoints.jsonl", cut.join("\n") + "\n");
    assert!(codes(&place).contains("audit-contradicts"));

    // The lines have valid hashes, but describe events that never happened.
    let place = vault().duplicate();
    let path = &logs(&place)[0];
    let mut lines = lines_of(&place, path);
    lines[2]["sealed"]["hash"] = format!("sha256:{}", "0".repeat(64)).into();
    lines[2].as_object_mut().unwrap().remove("hash");
    let digest = Sha256::digest(serde_jcs::to_string(&lines[2]).unwrap());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    lines[2]["hash"] = format!("sha256:{digest}").into();
    let text: String = lines.iter().map(|l| serde_jcs::to_string(l).unwrap() + "\n").collect();
    place.write(path, text);
    assert_eq!(codes(&place), both("audit-contradicts", "audit-missing"));
}

/// Returns a vault that is restored to its state before checkpoint 5, except for its change log;
/// and that state.
fn put_back() -> (Place, Place) {
    let place = vault();
    let before = place.duplicate();
    place.write("nodes/c.md", "# C\n");
    place.ctx("publish nodes/c").ok();
    let line = place.read(&logs(&place)[0]);
    for (path, bytes) in before.tree() {
        place.write(&path, bytes);
    }
    for path in ["nodes/c.md", "nodes/.versions/c"] {
        place.remove(path);
    }
    place.write(&logs(&place)[0], line);
    (place, before)
}

#[test]
fn a_vault_that_is_reset_on_purpose_is_accepted_by_a_line_of_its_own() {
    let (place, before) = put_back();
    let found = codes(&place);
    assert!(found.contains("head-rollback") && found.contains("audit-contradicts"), "{found:?}");
    place.ctx("head trust").ok();
    assert_eq!(codes(&place), only("audit-replaced"));
    let last = lines(&place).pop().unwrap();
    assert_eq!((&last["action"], &last["to"]["checkpoint"]), (&"head-trust".into(), &4.into()));
    assert_eq!(last["from"]["checkpoint"], 5);
    place.write("nodes/d.md", "# D\n");
    place.ctx("publish nodes/d").ok();
    assert_eq!(codes(&place), only("audit-replaced"));

    // The change log is restored, too: lines of this user are missing, until the loss is accepted.
    for (path, bytes) in before.tree() {
        place.write(&path, bytes);
    }
    for path in ["nodes/d.md", "nodes/.versions/d"] {
        place.remove(path);
    }
    assert!(codes(&place).contains("audit-rollback"));
    place.ctx("head trust").ok();
    place.ctx("verify").ok();
    // A new writer continued, so no two lines have the same name.
    assert_eq!(logs(&place).len(), 2);
    place.ctx("head forget").ok();
    assert_eq!(lines(&place).pop().unwrap()["action"], "head-forget");
    place.ctx("verify").ok();
}

/// A disk that refuses every change of a change log.
#[derive(Debug)]
pub(crate) struct Mute;

impl Overseer for Mute {
    fn judge(&self, change: &Change<'_>) -> Verdict {
        match change {
            Change::Create { path } | Change::Write { path, .. } if path.contains("audit") => {
                Verdict::Refuse(28)
            }
            Change::Write { path, .. }
                if path.contains(".jsonl") && !path.contains("checkpoints") =>
            {
                Verdict::Refuse(28)
            }
            _ => Verdict::Allow,
        }
    }
}

#[test]
fn an_event_without_its_line_gets_it_from_the_next_command_of_its_writer() {
    let muted = || {
        let place = vault();
        place.edit("nodes/a.md", "Two.", "Three.");
        let output = place.typed("publish --changed").on(Arc::new(Mute));
        assert_eq!(output.exit, 5, "{}", output.whole());
        let told = "recorded, but the change log could not be written";
        assert!(output.stderr.contains(told), "{}", output.whole());
        assert_eq!(codes(&place), only("interrupted"));
        place
    };
    for command in ["recover", "publish --all"] {
        let place = muted();
        // No other user writes the line.
        let other = place.duplicate();
        other.ctx(command).ok();
        assert_eq!(codes(&other), only("audit-missing"));
        // Its own user writes the line, and only once.
        place.ctx(command).ok();
        place.ctx(command).ok();
        place.ctx("verify").ok();
        let lines = lines(&place);
        let last = lines.last().unwrap();
        assert_eq!((lines.len(), &last["recovered"]), (4, &true.into()), "{command}");
        assert_eq!(last["sealed"]["checkpoint"], 5);
    }
}

#[test]
fn an_event_after_a_reset_gets_its_line_from_the_next_command_too() {
    let (place, _) = put_back();
    place.ctx("head trust").ok();
    // This checkpoint 5 is not the one that has a line.
    place.edit("nodes/a.md", "Two.", "Three.");
    assert_eq!(place.typed("publish --changed").on(Arc::new(Mute)).exit, 5);
    assert_eq!(codes(&place), both("audit-replaced", "interrupted"));
    place.ctx("recover").ok();
    assert_eq!(codes(&place), only("audit-replaced"));
}

#[test]
fn a_torn_line_is_truncated_by_its_writer() {
    let place = vault();
    let path = &logs(&place)[0];
    let text = place.read(path);
    place.write(path, format!("{text}{{\"action\":"));
    assert_eq!(codes(&place), only("audit-torn"));
    place.write("nodes/c.md", "# C\n");
    place.ctx("publish nodes/c").ok();
    place.ctx("verify").ok();
    assert_eq!(lines(&place).len(), 4);
    assert!(place.read(path).starts_with(&text));
}

#[test]
fn lines_with_zeros_of_a_power_cut_are_truncated_by_their_writer() {
    let zeros: [fn(&str) -> String; 3] = [
        |line| format!("{{\0\0\0\0{}\n", &line[5..]),
        |line| format!("\0\0\0\n{line}\n"),
        |_| "\0\n".repeat(9),
    ];
    for zeros in zeros {
        let place = vault();
        let path = &logs(&place)[0];
        let text = place.read(path);
        let next = text.lines().last().unwrap().replace("\"seq\":3", "\"seq\":4");
        let left = zeros(&next);
        place.write(path, format!("{text}{left}"));
        assert_eq!(codes(&place), only("audit-torn"), "{left:?}");
        place.write("nodes/c.md", "# C\n");
        place.ctx("publish nodes/c").ok();
        place.ctx("verify").ok();
        assert!(place.read(path).starts_with(&text));
    }
}

#[test]
fn two_clones_that_publish_in_turn_have_logs_of_their_own() {
    let first = vault();
    let second = first.duplicate();
    second.write("nodes/c.md", "# C\n");
    second.ctx("publish nodes/c").ok();
    assert_eq!(logs(&second).len(), 2);
    let before = logs(&first);
    for (path, bytes) in second.tree() {
        first.write(&path, bytes);
    }
    first.write("nodes/d.md", "# D\n");
    first.ctx("publish nodes/d").ok();
    first.ctx("verify").ok();
    assert_eq!((logs(&first).len(), &logs(&first)[0]), (2, &before[0]));
    assert_eq!(lines_of(&first, &before[0]).len(), 4);
}

#[test]
fn links_and_other_files_in_the_folder_are_not_read() {
    let place = vault();
    let path = &logs(&place)[0];
    let outside = place.home().join("outside.jsonl");
    fs::write(&outside, place.read(path)).unwrap();
    place.write(".context/audit/notes.txt", "mine\n");
    place.ctx("verify").ok();
    place.remove(path);
    std::os::unix::fs::symlink(&outside, place.path(path)).unwrap();
    let found = codes(&place);
    assert!(found.contains("audit-malformed"), "{found:?}");
    // A writer does not follow the link either: it begins another log.
    let before = fs::read(&outside).unwrap();
    place.write("nodes/c.md", "# C\n");
    place.ctx("publish nodes/c").ok();
    assert_eq!(fs::read(&outside).unwrap(), before);
}

#[test]
fn with_queries_hash_no_word_of_a_command_is_recorded() {
    let place = vault();
    let words = |place: &Place| {
        let last = lines(place).pop().unwrap();
        (last["args"]["argv"].is_array(), last["args"]["sha256"].is_string())
    };
    let publish = |text: &str| {
        let live = place.read("nodes/a.md");
        place.write("nodes/a.md", format!("{live}\n{text}\n"));
        place.args(&["publish", "nodes/a", "-m", "the secret"]).run().ok();
    };
    publish("Before.");
    assert_eq!(words(&place), (true, false));
    // The live configuration is stricter.
    place.edit(".context/config.yaml", "184d", "184d\n  queries: hash");
    publish("Live.");
    assert_eq!(words(&place), (false, true));
    place.ctx("head trust").ok();
    assert_eq!(words(&place), (false, true));
    // The sealed setting is in force, whatever the live file says.
    place.ctx("publish --all").ok();
    place.edit(".context/config.yaml", "queries: hash", "queries: full");
    publish("Sealed.");
    assert_eq!(words(&place), (false, true));
    place.ctx("head trust").ok();
    assert_eq!(words(&place), (false, true));
    let last = lines(&place).pop().unwrap();
    assert!(!last.to_string().contains("secret"), "{last}");
    place.ctx("publish --all").ok();
    publish("After.");
    assert_eq!(words(&place), (true, false));
    place.ctx("verify").ok();
}

#[test]
fn changes_are_not_recorded_before_audit_begin() {
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    place.ctx("head trust").ok();
    place.ctx("audit begin --dry-run").ok();
    assert!(!place.has(".context/audit"));
    assert_snapshot!(place.ctx("audit begin").ok().stdout, @"
    checkpoint 2 with 1 version, 2026-11-21T10:00:04.000Z
      changed  .context/config.yaml  v2
    ");
    assert_snapshot!(place.ctx("audit begin").ok().stdout, @"changes of this vault are recorded already");
    place.ctx("verify").ok();
}

#[test]
fn a_new_vault_records_its_first_event() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let recorded = lines(&place);
    assert_eq!((recorded.len(), &recorded[0]["sealed"]["checkpoint"]), (1, &1.into()));
    assert_eq!(recorded[0]["head"], Value::Null);
    place.ctx("verify").ok();
    // A vault that replaces another one needs no lines of that one's change log.
    place.ctx("head forget").ok();
    for name in ["nodes", ".context", ".versions", "CONTEXT.md", ".gitattributes"] {
        place.remove(name);
    }
    place.ctx("init --name Test").ok();
    place.write("nodes/b.md", "# B\n");
    place.ctx("publish --all").ok();
    place.ctx("verify").ok();
    assert_eq!(lines(&place).len(), 1);
}

/// Returns a vault whose checkpoints bind the change log; checkpoint 3 is its head.
fn bound(form: &str) -> Place {
    let place = Place::vault();
    let settings = format!("versions:\n  checkpoint_log: {form}\naudit:\n  bind: true\n");
    place.edit(".context/config.yaml", "audit:\n", &settings);
    for (id, body) in [("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n")] {
        place.write(&format!("{id}.md"), body);
    }
    place.ctx("publish --all").ok();
    place.edit("nodes/a.md", "One.", "Two.");
    place.ctx("publish --changed").ok();
    place.ctx("retire nodes/b").ok();
    place
}

#[test]
fn a_checkpoint_binds_the_change_log() {
    for form in ["delta", "full"] {
        let place = bound(form);
        place.ctx("verify").ok();
        let actions: Vec<Value> = lines(&place).iter().map(|l| l["action"].clone()).collect();
        assert_eq!(actions, ["bind", "event", "bind", "event", "bind", "event"]);
        let path = &logs(&place)[0];
        let log = place.exported(LogForm::Delta);
        let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        assert_eq!(last["set"][path], serde_json::json!([5, lines(&place)[4]["hash"]]));
        assert_eq!(last["triggered_by"], "nodes/b");
        // No command treats the log as a published artifact.
        for command in
            ["list", "history", "resolve contextnest://nodes/", "status", "checkpoint list"]
        {
            let told = place.ctx(command).ok().stdout;
            assert!(!told.contains(".context/audit"), "{command}: {told}");
        }
        let out = place.home().join("out").display().to_string();
        place.ctx(&format!("checkout 3 {out}")).ok();
        assert!(!place.home().join("out/.context/audit").exists());
        // The log is rebuilt from the histories and the change logs.
        let before = place.tree();
        let told = place.ctx("checkpoint rebuild --from-scratch").ok().stdout;
        assert_eq!(told, "the histories produce the same log: 3 checkpoints\n");
        assert_eq!(place.tree(), before);
        let other = if form == "delta" { "full" } else { "delta" };
        place.ctx(&format!("checkpoint convert --to {other}")).ok();
        place.ctx("verify").ok();
    }
}

#[test]
fn a_change_log_that_was_truncated_behind_a_bound_checkpoint_is_found_by_everyone() {
    let origin = bound("delta");
    let path = &logs(&origin)[0];
    let text = origin.read(path);
    let all: Vec<&str> = text.lines().collect();
    let found = |lines: &[&str]| {
        // Users who wrote none of the lines check the bound ones.
        let place = origin.duplicate();
        place.write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        codes(&place)
    };
    assert_eq!(found(&all), BTreeSet::new());
    // After the last bound line, only the line of the event is required.
    assert_eq!(found(&all[..5]), only("audit-missing"));
    for kept in 0..5 {
        assert_eq!(found(&all[..kept]), both("audit-missing", "audit-rollback"), "{kept}");
    }
    let place = origin.duplicate();
    place.remove(".context/audit");
    assert_eq!(codes(&place), both("audit-missing", "audit-rollback"));
    // The log cannot be replaced by one that binds fewer lines.
    let log = place.bytes(".versions/checkpoints.jsonl");
    place.ctx("checkpoint rebuild").ok();
    assert_eq!(place.bytes(".versions/checkpoints.jsonl"), log);
}

#[test]
fn trace_verify_compares_change_logs_with_the_lines_that_checkpoints_bind() {
    let origin = bound("delta");
    let path = &logs(&origin)[0];
    let text = origin.read(path);
    for kept in 0..=6 {
        // Users who wrote none of the lines check the bound ones.
        let place = origin.duplicate();
        place.write(path, text.split_inclusive('\n').take(kept).collect::<String>());
        let verified = place.ctx("trace verify --json").json("ctx.trace.verify");
        let faults = verified["changes"]["faults"].as_array().unwrap();
        let codes: Vec<&str> = faults.iter().map(|f| f["code"].as_str().unwrap()).collect();
        let is_lost = kept < 6;
        // After the last bound line, only the line of the event is required.
        let expected: &[&str] = match kept {
            0..5 => &["audit-rollback", "audit-missing"],
            5 => &["audit-missing"],
            _ => &[],
        };
        assert_eq!(codes, expected, "{kept}");
        let told = place.ctx("trace verify");
        assert_eq!(told.exit, i32::from(is_lost), "{kept}");
        assert_eq!(told.stdout.contains("the change log is damaged"), is_lost, "{kept}");
    }
    let place = origin.duplicate();
    place.remove(".context/audit");
    let told = place.ctx("trace verify").exits(1).stdout;
    assert!(told.contains("checkpoint 1 binds line 1"), "{told}");
    // An unreliable log binds nothing that could be compared.
    place.write(".versions/checkpoints.jsonl", "{}\n");
    let told = place.ctx("trace verify").exits(1).stderr;
    assert!(told.contains("the change log was not compared with it"), "{told}");
}

#[test]
fn verify_reports_bound_lines_that_are_truncated_or_omitted() {
    let origin = bound("delta");
    let log = ".versions/checkpoints.jsonl";
    let path = &logs(&origin)[0];
    let mut checkpoints: Vec<Value> =
        origin.read(log).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mark = checkpoints[0]["set"][path].clone();
    // Its hash changes then, but the fault of the maps is reported, too.
    let told = |checkpoints: &[Value]| {
        let place = origin.duplicate();
        let text: String =
            checkpoints.iter().map(|line| serde_jcs::to_string(line).unwrap() + "\n").collect();
        place.write(log, text);
        codes(&place)
    };
    checkpoints[2]["set"][path] = mark.clone();
    assert!(told(&checkpoints).contains("version-regression"));
    checkpoints[2]["set"].as_object_mut().unwrap().remove(path);
    assert!(told(&checkpoints).contains("audit-missing"));
    checkpoints[2]["removed"] = serde_json::json!([path, "nodes/b"]);
    assert!(told(&checkpoints).contains("field-malformed"));
}

/// A disk that refuses its n-th change, or all changes from there on.
#[derive(Debug)]
pub(crate) struct Fails {
    at: usize,
    for_good: bool,
    seen: AtomicUsize,
}

impl Fails {
    pub(crate) fn new(at: usize, for_good: bool) -> Self {
        Self { at, for_good, seen: AtomicUsize::new(0) }
    }

    /// Returns true if there was an n-th change.
    pub(crate) fn reached(&self) -> bool {
        self.seen.load(Ordering::SeqCst) >= self.at
    }
}

impl Overseer for Fails {
    fn judge(&self, _: &Change<'_>) -> Verdict {
        let n = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        match n == self.at || self.for_good && n > self.at {
            true => Verdict::Refuse(5),
            false => Verdict::Allow,
        }
    }
}

#[test]
fn a_bound_event_whose_write_or_sync_fails_is_old_or_new() {
    let mut outcomes = BTreeSet::new();
    let mut run = |for_good, at| {
        let place = bound("delta");
        place.edit("nodes/a.md", "Two.", "Three.");
        let disk = Arc::new(Fails::new(at, for_good));
        outcomes.insert(place.typed("publish --changed").on(disk.clone()).exit);
        // In every case, the next command of the user repairs the vault.
        place.ctx("recover").ok();
        place.ctx("publish --changed").ok();
        place.ctx("verify").ok();
        let told = place.ctx("checkpoint rebuild --from-scratch --dry-run").ok().stdout;
        assert_eq!(told, "the histories produce the same log: 4 checkpoints\n", "{for_good} {at}");
        disk.reached()
    };
    for for_good in [false, true] {
        let changes = (1..).step_by(stride(5)).take_while(|at| run(for_good, *at)).count();
        assert!(changes * stride(5) > 20, "{changes}");
    }
    assert_eq!(outcomes, BTreeSet::from([0, 5]));
}
