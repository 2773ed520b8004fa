//! Queries of the access log: `ctx trace grep`, `follow` and `collect`, and logs in another folder.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Output, Place};

fn vault() -> Place {
    Place::unrecorded(&[
        ("nodes/fees", "---\ntitle: Fees\ntags: [money]\n---\nLate fees are 5 percent.\n"),
        ("nodes/returns", "---\ntitle: Returns\ntags: [money]\n---\nReturns take 30 days.\n"),
    ])
}

/// Returns the folder with the logs of the vault on this machine.
fn logs(place: &Place) -> PathBuf {
    let audit = place.home().join(".local/state/contextnest/audit");
    let mut vaults = fs::read_dir(audit).unwrap();
    vaults.next().unwrap().unwrap().path()
}

/// Returns the traces that a report lists, without the ids of writers.
fn listed(output: &Output, schema: &str) -> Vec<String> {
    let report = output.json(schema);
    let traces = report["traces"].as_array().unwrap().iter();
    let place = |trace: &Value| trace["trace"].as_str().unwrap()[9..].to_owned();
    traces.map(place).collect()
}

#[test]
fn grep_finds_accesses_by_query_words_labels_principal_and_names() {
    let place = vault();
    place.ctx("read nodes/fees --session s1 --agent scout").ok();
    place.ctx("resolve #money --bodies --task t-77").ok();
    place.ctx("search percent").ok();
    let found = |args: &str| {
        let output = place.ctx(&format!("trace grep {args} --json"));
        let exit = output.exit;
        (exit, listed(&output, "ctx.trace.grep").join(" "))
    };
    let yes = |traces: &str| (0, traces.to_owned());
    assert_eq!(found("nodes/fees"), yes("1 2 3"), "URIs of texts");
    assert_eq!(found("'^#money$'"), yes("2"), "the query");
    assert_eq!(found("'^read nodes/fees'"), yes("1"), "the words of the command");
    assert_eq!(found("^sc[ou]+t$"), yes("1"), "a label");
    assert_eq!(found("T-77"), (1, String::new()), "case counts");
    assert_eq!(found("'(?i)T-77'"), yes("2"));
    assert_eq!(found("^ana@"), yes("1 2 3"), "the principal");
    assert_eq!(found("nodes/fees --verb search"), yes("3"), "filters");
    assert_eq!(found(". -n 1"), yes("3"));
    let text = place.ctx("trace grep percent").ok().stdout;
    assert!(text.contains("  search  1 text  ana@example.com"), "{text}");
    insta::assert_snapshot!(place.ctx("trace grep '(a{1000}){1000}'").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: invalid regular expression: Compiled regex exceeds size limit of 1048576 bytes.
    ");
    insta::assert_snapshot!(place.ctx("trace grep nothing").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    note: no recorded access or change matches
    ");
    assert_eq!(place.args(&["trace", "grep", &"a".repeat(5000)]).run().exit, 2);
}

#[test]
fn logs_are_read_in_a_folder_that_is_named() {
    let place = vault();
    place.ctx("read nodes/fees --session s1").ok();
    let copy = place.home().join("copy");
    fs::rename(logs(&place), &copy).unwrap();
    let copy = copy.to_str().unwrap();
    assert_eq!(listed(&place.ctx("trace list --json").ok(), "ctx.trace.list").len(), 0);
    for command in [
        "trace list --session s1",
        "trace grep fees",
        "trace verify",
        "impact nodes/fees",
        "replay --session s1",
    ] {
        let output = place.ctx(&format!("{command} --logs {copy}")).ok();
        assert!(!output.stdout.is_empty(), "{command}: {}", output.whole());
    }
    let missing = place.ctx("trace list --logs nowhere");
    assert_eq!(missing.exit, 5, "{}", missing.whole());
}

#[test]
fn follow_prints_accesses_as_they_are_recorded() {
    let place = vault();
    place.ctx("read nodes/returns --session old").ok();
    let mut child = place
        .typed("trace follow --count 2 --for 60 --json --agent scout")
        .command()
        .spawn()
        .unwrap();
    // The follower begins at some moment of these reads.
    while child.try_wait().unwrap().is_none() {
        place.ctx("read nodes/fees --agent scout").ok();
        place.ctx("read nodes/fees --agent other").ok();
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!((&row["schema"], &row["agent"]), (&"ctx.trace.follow".into(), &"scout".into()));
    }
}

#[test]
fn follow_and_verify_read_the_change_log_too() {
    let place = vault();
    place.ctx("audit begin").ok();
    let verify = || place.ctx("trace verify");
    let said = "every chain of the change log is intact up to its last line: 1 line of 1 writer\n";
    assert!(verify().ok().stdout.ends_with(said), "{}", verify().whole());
    let follow = place.typed("trace follow --count 1 --for 60 --verb publish --json");
    let mut child = follow.command().spawn().unwrap();
    for n in 5.. {
        place.edit("nodes/fees.md", &format!("{n} percent"), &format!("{} percent", n + 1));
        place.ctx("publish --changed").ok();
        if child.try_wait().unwrap().is_some() {
            break;
        }
    }
    let output = child.wait_with_output().unwrap();
    let row: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&row["event"], &row["action"]), (&"change".into(), &"event".into()));
    // A line of the change log was altered.
    let entries = fs::read_dir(place.path(".context/audit")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let log = paths.into_iter().find(|path| path.extension().is_some_and(|e| e == "jsonl"));
    let log = log.unwrap();
    let text = fs::read_to_string(&log).unwrap().replace("ana@example.com", "bo@example.com");
    fs::write(&log, text).unwrap();
    let output = verify().exits(1).stdout;
    assert!(output.starts_with("audit-chain-mismatch: .context/audit/"), "{output}");
    assert!(output.contains("\nthe change log is damaged: "), "{output}");
    let report = place.ctx("trace verify --json").exits(1).json("ctx.trace.verify");
    assert_eq!(report["changes"]["faults"][0]["code"], "audit-chain-mismatch");
    let copies = format!("trace verify --logs {}", place.home().join("vault").display());
    assert!(!place.ctx(&copies).exits(5).whole().contains("change log"));
}

#[test]
fn follow_ends_when_its_time_is_over_or_its_reader_is_gone() {
    let place = vault();
    assert_eq!(place.ctx("trace follow --for 0").exit, 0);
    insta::assert_snapshot!(place.ctx("trace follow --for 0 --count 1").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    ");
    let mut child = place.typed("trace follow --for 60").command().spawn().unwrap();
    drop(child.stdout.take());
    while child.try_wait().unwrap().is_none() {
        place.ctx("read nodes/fees").ok();
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Two machines from one image have the same writer, and each continues its log in its own way.
#[test]
fn logs_that_two_machines_continue_are_not_joined() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("read nodes/a").ok();
    let log = place.home().join(".local/state/contextnest/audit");
    let folder = fs::read_dir(&log).unwrap().next().unwrap().unwrap().path();
    let copy = place.home().join("image");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    let other = folder.with_extension("other");
    place.ctx("read nodes/a --session one").ok();
    fs::rename(&folder, &other).unwrap();
    fs::rename(&copy, &folder).unwrap();
    place.ctx("read nodes/a --session two").ok();
    let collect = |source: &std::path::Path, into: &str| {
        place.ctx(&format!("trace collect {} --into {into}", source.display()))
    };
    collect(&other, "../logs").ok();
    let told = collect(&folder, "../logs").exits(1).stdout;
    assert!(
        told.contains("audit-rollback") && told.contains("two machines continue one log"),
        "{told}"
    );
    collect(&folder, "../more").ok();
}

/// Returns the exit code, and a summary of what `trace collect` reports of each file.
fn collected(place: &Place, args: &str) -> (i32, String) {
    let output = place.ctx(&format!("trace collect {args} --json"));
    let report = output.json("ctx.trace.collect");
    let outcome = |row: &Value| {
        let code = row["fault"]["code"].as_str().unwrap_or_default();
        format!("{} {code}", row["outcome"].as_str().unwrap()).trim_end().to_owned()
    };
    let rows: Vec<String> = report["files"].as_array().unwrap().iter().map(outcome).collect();
    (output.exit, rows.join(", "))
}

fn said(exit: i32, outcomes: &str) -> (i32, String) {
    (exit, outcomes.to_owned())
}

#[test]
fn logs_of_several_machines_are_brought_together_and_grow() {
    let place = vault();
    // On another machine, the reads of the same vault have a log of their own.
    let read = |machine: &str, id: &str| {
        let state = place.home().join(machine);
        let command = place.typed(&format!("read {id} --session {machine}"));
        command.var("XDG_STATE_HOME", state.to_str().unwrap()).run().ok();
    };
    read("a", "nodes/fees");
    read("b", "nodes/fees");
    let audit = |machine: &str| place.home().join(machine).join("contextnest/audit");
    let (a, b) = (audit("a"), audit("b"));
    let sources = format!("{} {} --into ../logs", a.display(), b.display());
    assert_eq!(collected(&place, &sources), said(0, "new, new"));
    read("b", "nodes/returns");
    assert_eq!(collected(&place, &sources), said(0, "unchanged, extended"));
    let copies = place.root().join("../logs");
    let verified = place.ctx("trace verify --logs ../logs").ok().stdout;
    assert_eq!(verified, "every chain is intact up to its last line: 3 lines of 2 writers\n");
    let list = place.ctx("trace list --document nodes/fees --logs ../logs --json").ok();
    assert_eq!(listed(&list, "ctx.trace.list"), ["1", "1"]);
    insta::assert_snapshot!(place.ctx(&format!("trace collect {sources}")).whole(), @"
    exit: 0
    -- stdout
    2 files: 0 new, 0 extended, 2 unchanged, 0 refused
    -- stderr
    ");
    for entry in fs::read_dir(&copies).unwrap() {
        use std::os::unix::fs::PermissionsExt as _;
        let meta = entry.unwrap().metadata().unwrap();
        assert_eq!((meta.is_file(), meta.permissions().mode() & 0o777), (true, 0o600));
    }
    // A torn last line is not copied.
    let log = fs::read_dir(fs::read_dir(&b).unwrap().next().unwrap().unwrap().path());
    let log = log.unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{text}{{\"args\"")).unwrap();
    assert_eq!(collected(&place, &sources), said(0, "unchanged, unchanged"));
    // A source with missing or different lines changes nothing.
    let first = text.lines().next().unwrap();
    fs::write(&log, format!("{first}\n")).unwrap();
    assert_eq!(collected(&place, &sources), said(1, "unchanged, refused audit-rollback"));
    fs::write(&log, text.replace("nodes/returns", "nodes/fees")).unwrap();
    assert_eq!(collected(&place, &sources), said(1, "unchanged, refused audit-chain-mismatch"));
    fs::write(&log, "").unwrap();
    insta::assert_snapshot!(
        place.ctx(&format!("trace collect {sources}")).stdout
            .replace(log.parent().unwrap().to_str().unwrap(), "SOURCE")
            .replace(log.file_name().unwrap().to_str().unwrap(), "FILE"),
        @"
    audit-rollback: SOURCE/FILE:1: the copy has a line here that the source lacks
    2 files: 0 new, 0 extended, 1 unchanged, 1 refused
    "
    );
    assert_eq!(place.ctx("trace verify --logs ../logs").ok().stdout, verified);
    // A deleted log may be of a machine that was not named.
    fs::remove_file(&log).unwrap();
    for sources in [sources, format!("{} --into ../logs", a.display())] {
        let told = place.ctx(&format!("trace collect {sources}")).ok().stderr;
        assert!(told.contains("copies of 1 writer of whom no source has a log"), "{told}");
        let report = place.ctx(&format!("trace collect {sources} --json")).ok();
        let report = report.json("ctx.trace.collect");
        let absent = report["absent"][0].as_str().unwrap();
        assert!(log.to_str().unwrap().contains(absent), "{report}");
    }
}

#[test]
fn collect_refuses_what_is_no_log_of_this_vault() {
    let place = vault();
    place.ctx("read nodes/fees").ok();
    let source = logs(&place);
    let line = fs::read_dir(&source).unwrap().next().unwrap().unwrap().path();
    let foreign = place.home().join("foreign");
    fs::create_dir(&foreign).unwrap();
    let name = line.file_name().unwrap();
    let collect = format!("{} --into ../logs", foreign.display());
    // A link is not followed, and a pipe is not waited for.
    std::os::unix::fs::symlink(&line, foreign.join(name)).unwrap();
    assert_eq!(collected(&place, &collect), said(1, "refused audit-malformed"));
    fs::remove_file(foreign.join(name)).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, foreign.join(name), rustix::fs::Mode::RUSR).unwrap();
    assert_eq!(collected(&place, &collect), said(1, "refused audit-malformed"));
    fs::remove_file(foreign.join(name)).unwrap();
    // The same checkpoint has another hash in another vault.
    let other = Place::published(&[("nodes/other", "# Other\n")]);
    other.ctx("read nodes/other").ok();
    let other = format!("{} --into ../logs", logs(&other).display());
    assert_eq!(collected(&place, &other), said(1, "refused audit-contradicts"));
    assert_eq!(fs::read_dir(place.root().join("../logs")).unwrap().count(), 0);
    for (args, why) in [
        (format!("{} --into logs", source.display()), "is in the vault"),
        (format!("{0} --into {0}", source.display()), "has the logs of a machine, not copies"),
        (format!("{} --into ../logs", foreign.display()), "it contains no logs"),
        ("nowhere --into ../logs".to_owned(), "cannot read"),
    ] {
        let output = place.ctx(&format!("trace collect {args}"));
        assert!(output.exit > 1 && output.stderr.contains(why), "{args}: {}", output.whole());
    }
}
