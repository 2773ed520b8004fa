//! Answers from logs that are incomplete or impossible, and say so.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::evidence::sha256;
use crate::harness::Place;

/// Returns the path of the only file of the access log.
fn log(place: &Place) -> PathBuf {
    let audit = place.home().join(".local/state/contextnest/audit");
    let vault = fs::read_dir(audit).unwrap().next().unwrap().unwrap().path();
    fs::read_dir(vault).unwrap().next().unwrap().unwrap().path()
}

/// Changes the lines of the log, and chains them again.
fn forge(place: &Place, change: impl FnOnce(&mut Vec<Value>)) {
    let path = log(place);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    change(&mut lines);
    let mut before = lines[0]["prev"].clone();
    let mut out = Vec::new();
    for line in &mut lines {
        line["prev"] = before;
        line.as_object_mut().unwrap().remove("hash");
        line["hash"] = sha256(&serde_jcs::to_vec(line).unwrap()).into();
        before = line["hash"].clone();
        out.extend(serde_jcs::to_vec(line).unwrap());
        out.push(b'\n');
    }
    fs::write(path, out).unwrap();
}

fn vault() -> Place {
    let place = Place::unrecorded(&[("nodes/a", "# A\n\n## Part\n\nOne.\n")]);
    for line in ["read nodes/a", "read nodes/a#part --task t", "search one --thread th", "list"] {
        place.ctx(&format!("{line} --session s --agent scout")).ok();
    }
    place
}

/// Returns the number of traces that an answer lists.
fn listed(place: &Place, line: &str) -> usize {
    let output = place.ctx(line);
    output.stdout.lines().count()
}

#[test]
fn a_missing_line_is_told_with_every_answer() {
    let place = vault();
    let whole = fs::read_to_string(log(&place)).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let (warning, more) =
        ("warning: the log has ", ", so accesses may be missing; run `ctx trace verify`");
    for missing in [0, 1] {
        let mut left = lines.clone();
        left.remove(missing);
        fs::write(log(&place), left.join("\n") + "\n").unwrap();
        for line in [
            "trace list",
            "trace list --session s",
            "trace grep one",
            "trace list --format otlp",
            "trace list --format prov-json",
            "replay --session s",
            "impact nodes/a",
        ] {
            let told = place.ctx(line);
            let is_told = told.stderr.contains(warning) && told.stderr.contains(more);
            assert!(is_told, "{line}: {}", told.stderr);
            assert_eq!(told.exit, 1, "{line}");
        }
    }
    fs::write(log(&place), whole).unwrap();
    assert_eq!(place.ctx("trace list").ok().stderr, "");
}

#[test]
fn labels_are_filters() {
    let place = vault();
    assert_eq!(listed(&place, "trace list --task t"), 1);
    assert_eq!(listed(&place, "trace list --thread th"), 1);
    assert_eq!(listed(&place, "trace list --node n"), 0);
    assert_eq!(listed(&place, "trace list --agent scout"), 4);
    assert_eq!(listed(&place, "impact nodes/a"), 3);
    assert_eq!(listed(&place, "impact nodes/a --task t"), 1);
    assert_eq!(listed(&place, "impact nodes/a --session other"), 0);
    assert_eq!(listed(&place, "impact nodes/a --agent scout --thread th"), 1);
}

#[test]
fn a_label_with_blanks_is_one_column() {
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    place.args(&["read", "nodes/a", "--agent", "scout  s-1  x", "--session", "s \"1\""]).run().ok();
    place.args(&["read", "nodes/a", "--agent", "-"]).run().ok();
    let listed = place.ctx("trace list --verb read").ok().stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].contains(r#"  "scout  s-1  x"  "s \"1\""  "#), "{listed}");
    assert!(lines[1].contains("  \"-\"  "), "{listed}");
    let told = place.ctx("impact nodes/a").ok().stdout;
    assert!(told.contains(r#""scout  s-1  x""#), "{told}");
}

#[test]
fn a_search_of_the_log_counts_the_lines_that_have_only_hashes() {
    let place = Place::unrecorded(&[("nodes/a", "# A\n\nOne.\n")]);
    place.edit(".context/config.yaml", "layout:", "audit: {queries: hash}\nlayout:");
    for line in ["search one", "read nodes/a", "list"] {
        place.ctx(&format!("{line} --session s")).ok();
    }
    let told = place.ctx("trace grep one --session s").exits(1);
    let note =
        "note: 3 lines not searched: the log has only the hash of the query or of the command line";
    assert!(told.stderr.contains(note), "{}", told.stderr);
    let told = place.ctx("trace grep nodes/a --session s").ok().stderr;
    assert!(told.contains("note: 1 line not searched: "), "{told}");
}

#[test]
fn options_that_choose_say_so() {
    let place = Place::new();
    for (verb, help) in [
        ("trace list", "Only accesses of this session"),
        ("trace grep", "Only accesses by this agent"),
        ("trace follow", "Only accesses of this task"),
        ("impact", "Only accesses of this thread"),
        ("replay", "Reproduce the texts of every access of this session"),
        ("evidence export", "Every line of this session"),
        ("trace hold place", "Hold accesses of this session"),
    ] {
        let told = place.ctx(&format!("help {verb}")).ok().stdout;
        assert!(told.contains(help) && !told.contains("access under this session"), "{told}");
    }
    assert!(place.ctx("help read").ok().stdout.contains("Record the access under this session"));
}

#[test]
fn impact_names_the_section_and_the_kind_of_part() {
    let place = vault();
    let table = place.ctx("impact nodes/a").ok().stdout;
    let texts: Vec<&str> = table.lines().map(|line| line.split("  ").nth(2).unwrap()).collect();
    assert_snapshot!(texts.join("\n"), @"
    v1
    v1 #part
    v1 #part (snippet)
    ");
    let json = place.ctx("impact nodes/a --json").ok().json("ctx.impact");
    assert_eq!(json["accesses"][1]["anchor"], "part");
    assert_eq!(json["accesses"][2]["part"], "snippet");
}

#[test]
fn trace_refuses_invalid_filters() {
    let place = vault();
    for line in [
        "trace list --verb bogus",
        "trace list --from 2026-11-22 --to 2026-11-21",
        "impact nodes/a --from 2026-11-22 --to 2026-11-21",
    ] {
        assert_eq!(place.ctx(line).exit, 2, "{line}");
    }
    assert_snapshot!(place.ctx("trace list --verb bogus").stderr, @"
    error[usage]: unknown command `bogus`
    hint: `ctx --help` lists the commands
    ");
    let told = place.ctx("impact nodes/a@2").exits(1).stderr;
    assert!(told.contains("`ctx impact nodes/a 2` lists the accesses to one version"), "{told}");
    let told = place.ctx("impact nodes/a#part").exits(1).stderr;
    assert!(told.contains("`ctx impact nodes/a` lists the accesses to it"), "{told}");
    // The period has ended already.
    place.ctx("trace follow --to 2020-01-01").ok();
}

#[test]
fn replay_refuses_records_without_texts() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("read nodes/a --session s").ok();
    let output = place.typed("trace output --session s").stdin("answer").run().ok().stdout;
    let told = place.ctx(&format!("replay {}", output.trim())).exits(2).stderr;
    let name = output.trim().to_owned();
    assert_snapshot!(told.replace(&name, "TRACE"), @"
    error[usage]: `TRACE` is not an access but a line `output` without texts
    hint: `ctx trace show TRACE` prints it
    ");
    let changes = place.ctx("trace list --json").ok().json("ctx.trace.list");
    let is_change = |line: &&Value| line["event"] == "change";
    let change = changes["traces"].as_array().unwrap().iter().find(is_change).unwrap();
    let name = change["trace"].as_str().unwrap();
    let told = place.ctx(&format!("replay {name}")).exits(2).stderr;
    assert_snapshot!(told.replace(name, "TRACE"), @"
    error[usage]: `TRACE` is not an access but a line `change` without texts
    hint: `ctx trace show TRACE` prints it
    ");
}

#[test]
fn a_line_whose_head_is_gone_or_older_than_its_text_is_told() {
    let older = |line: &mut Value| line["head"]["checkpoint"] = 0.into();
    let gone = |line: &mut Value| drop(line.as_object_mut().unwrap().remove("head"));
    let edits: [fn(&mut Value); 2] = [older, gone];
    for edit in edits {
        let place = Place::published(&[("nodes/a", "# A\n")]);
        place.ctx("read nodes/a --session s").ok();
        let is_access = |line: &&mut Value| line["event"] == "access";
        forge(&place, |lines| lines.iter_mut().filter(is_access).for_each(edit));
        let told = place.ctx("trace verify").exits(1).stdout;
        assert!(told.contains("audit-contradicts: "), "{told}");
        assert!(told.contains("it names checkpoint 1, but "), "{told}");
        place.ctx("evidence export --session s -o ../bundle.tar").exits(1);
        let judged = place.ctx("evidence verify ../bundle.tar").exits(1).stdout;
        assert!(judged.contains("it names checkpoint 1, but "), "{judged}");
    }
}

#[test]
fn a_line_that_contradicts_itself_or_its_checkpoint_is_told() {
    let place = vault();
    forge(&place, |lines| lines[1]["at"] = "2020-01-01T00:00:00.000Z".into());
    let told = place.ctx("trace verify").exits(1).stdout;
    assert!(told.contains("audit-contradicts: ") && told.contains("it is dated 2020"), "{told}");
    let told = place.ctx("replay --session s").exits(1).stdout;
    assert!(told.contains("different: checkpoint 1 was made after 2020"), "{told}");
    let place = vault();
    forge(&place, |lines| {
        lines[1]["documents"][0]["uri"] = "contextnest://nodes/a@7#part".into();
    });
    let told = place.ctx("trace verify").exits(1).stdout;
    assert!(told.contains("audit-malformed: ") && told.contains("not pinned"), "{told}");
    let told = place.ctx("replay --session s").exits(1).stderr;
    // The faults are the line, and the next one, which does not follow it.
    assert!(told.contains("the log has 2 faults"), "{told}");
}

#[test]
fn the_clock_of_a_reader_may_be_behind_that_of_a_publisher() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("read nodes/a --now 2026-01-01T00:00:00Z --session s").ok();
    place.ctx("trace verify").ok();
    let listed = place.ctx("trace list --json").ok().json("ctx.trace.list");
    let traces = listed["traces"].as_array().unwrap();
    let read = traces.iter().find(|line| line["verb"] == "read").unwrap();
    assert!(read["at"].as_str().unwrap() > "2026-11-21", "{read}");
}

#[test]
fn every_command_of_a_line_can_be_filtered_by() {
    let place = crate::mcp::place();
    place.write("stewards.yaml", "version: 1\nvault:\n  - {principal: ana@example.com, role: reviewer}\n  - {principal: bo@example.com, role: reviewer}\n");
    place.ctx("govern on").ok();
    for line in ["read nodes/fees", "review", "stage list", "pack list", "checkpoint list"] {
        place.ctx(line).ok();
    }
    place.typed("trace output --session s").stdin("x").run().ok();
    let draft = json!({"id": "nodes/new", "body": "# New\n", "title": "New"});
    for (tool, arguments) in [
        ("context_review", json!({})),
        ("context_stage_list", json!({})),
        ("context_create", draft),
    ] {
        let mut messages = crate::mcp::opener("2025-11-25");
        let meta = json!({"contextnest/session": "s"});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        messages.push(crate::mcp::request("2025-11-25", 1, "tools/call", params));
        let answers = crate::mcp::answers_of(&place, "mcp --profile reviewer", &messages);
        assert_eq!(answers[&1]["result"]["isError"], false, "{answers:?}");
    }
    let listed = |option: &str| {
        let report = place.ctx(&format!("trace list --json {option}")).ok();
        report.json("ctx.trace.list")["traces"].as_array().unwrap().clone()
    };
    let all = listed("");
    let count = |verb: &str| all.iter().filter(|line| line["verb"] == verb).count();
    assert_eq!((count("stage list"), count("review"), count("trace output")), (2, 2, 1));
    for line in &all {
        let verb = line["verb"].as_str().unwrap();
        let found = listed(&format!("--verb '{verb}'"));
        assert!(found.contains(line) && found.len() == count(verb), "{verb}: {found:?}");
    }
    assert_eq!(listed("--verb stage").len(), 2);
    assert_eq!(listed("--verb draft").len(), 0);
    for unknown in ["stag", "stage lis", "stage  list", "read x", ""] {
        place.args(&["trace", "list", "--verb", unknown]).run().exits(2);
    }
}

#[test]
fn a_place_for_the_log_that_is_none_is_named() {
    let place = vault();
    let inside = place.root().join("logs").display().to_string();
    for (dir, why) in [("rel", "not an absolute path"), (&*inside, "a folder in the vault")] {
        let told = place.typed("read nodes/a").var("CTX_AUDIT_DIR", dir).run().ok().stderr;
        assert!(told.contains("CTX_AUDIT_DIR is `") && told.contains(why), "{told}");
        let told = place.typed("trace list").var("CTX_AUDIT_DIR", dir).run().exits(1).stderr;
        assert!(told.contains("no access log is read") && told.contains(why), "{told}");
        let told = place.typed("impact nodes/a").var("CTX_AUDIT_DIR", dir).run().exits(5).stderr;
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn an_empty_or_unreadable_label_is_refused() {
    let place = vault();
    let told = place.typed("read nodes/a").var("CTX_SESSION", "").run().exits(2).stderr;
    assert_snapshot!(told, @"
    error[usage]: the label of `CTX_SESSION` is empty
    hint: give the id that your program has, or leave the label out
    ");
    let odd = std::ffi::OsString::from_vec(vec![b'a', 0xff]);
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_ctx"))
        .args(["read", "nodes/a"])
        .current_dir(place.root())
        .env("HOME", place.home())
        .env("CTX_SESSION", odd)
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert_snapshot!(String::from_utf8(run.stderr).unwrap(), @"
    error[usage]: `CTX_SESSION` is not UTF-8
    hint: set it to a text in UTF-8, or do not set it
    ");
}

#[test]
fn restoring_hands_out_a_text_and_is_recorded_first() {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n")]);
    place.edit("nodes/a.md", "One", "Two");
    place.ctx("publish --all").ok();
    place.write("nodes/a.md", "lost\n");
    place.ctx("restore nodes/a --force --session r").ok();
    place.ctx("restore nodes/a --version 1 --dry-run --session r").ok();
    place.ctx("restore nodes/a --version 1 --session r").ok();
    // The file already has the text, so no text is returned.
    place.ctx("restore nodes/a --version 1 --session r").ok();
    let listed = place.ctx("trace list --session r --json").ok().json("ctx.trace.list");
    let events: Vec<&Value> =
        listed["traces"].as_array().unwrap().iter().map(|line| &line["event"]).collect();
    assert_eq!(events, ["access", "access", "access"]);
    let replayed = place.ctx("replay --session r").exits(1).stdout;
    let outcomes =
        replayed.lines().map(|line| line.split_once("  ").map_or(line, |(_, rest)| rest));
    assert_snapshot!(outcomes.collect::<Vec<_>>().join("\n"), @"
    contextnest://nodes/a@2 v2  same
    contextnest://nodes/a@1 v1  cannot tell: a diff is not reproduced
    contextnest://nodes/a@1 v1  same
    3 texts: 2 same, 0 different, 1 cannot tell
    ");
    // If the access must be recorded but cannot be, no file is written.
    place.edit(".context/config.yaml", "audit:\n", "audit:\n  durability: sync\n");
    place.write("nodes/a.md", "lost\n");
    let dir = place.home().join("file");
    fs::write(&dir, "").unwrap();
    let run = place.typed("restore nodes/a --force");
    let refused = run.var("CTX_AUDIT_DIR", &dir.display().to_string()).run();
    assert_eq!((refused.exit, refused.stdout.as_str()), (5, ""), "{}", refused.stderr);
    assert_eq!(place.read("nodes/a.md"), "lost\n");
}

#[test]
fn a_report_that_cannot_be_recorded_leaves_no_note_either() {
    let place = vault();
    place.edit(".context/config.yaml", "layout:", "audit:\n  durability: sync\nlayout:");
    let dir = place.home().join("file");
    fs::write(&dir, "").unwrap();
    for line in ["search one", "resolve #nothing"] {
        let run = place.typed(line).var("CTX_AUDIT_DIR", &dir.display().to_string());
        let refused = run.run().exits(5);
        assert!(refused.stderr.starts_with("error[io]: "), "{line}: {}", refused.stderr);
    }
}

#[test]
fn collected_logs_become_evidence() {
    let place = vault();
    let (read, collected) = (log(&place), place.home().join("collected"));
    place
        .ctx(&format!(
            "trace collect --into {} {}",
            collected.display(),
            read.parent().unwrap().display()
        ))
        .ok();
    fs::remove_file(&read).unwrap();
    let place_of = collected.display().to_string();
    place.ctx(&format!("evidence export --session s --logs {place_of} -o ../s.tar")).ok();
    place.ctx("evidence verify ../s.tar").ok();
    assert_eq!(place.ctx("evidence export --session s -o ../t.tar").exit, 1);
}

#[test]
fn a_list_says_what_a_hold_holds_and_which_event_is_bound() {
    let place = Place::vault();
    place.edit(".context/config.yaml", "audit:\n", "audit:\n  bind: true\n");
    place.write("nodes/a.md", "# A\n");
    place.ctx("publish --all").ok();
    place.ctx("read nodes/a --session s").ok();
    let placed = place.ctx("trace hold place --session s --reason 'the case of Smith' --json").ok();
    let hold = placed.json("ctx.trace.hold.place")["id"].as_str().unwrap().to_owned();
    place.ctx(&format!("trace hold lift {hold} --reason 'the case is closed'")).ok();
    let table = place.ctx("trace list").ok().stdout.replace(&hold, "HOLD");
    let whats =
        table.lines().map(|line| line.split("  ").filter(|cell| !cell.is_empty()).nth(3).unwrap());
    assert_snapshot!(whats.map(str::trim).collect::<Vec<_>>().join("\n"), @"
    bind the event of 2026-11-21T10:00:01.000Z
    3 documents in checkpoint 1
    1 text
    hold HOLD of session s: the case of Smith
    lift HOLD: the case is closed
    ");
}

#[test]
fn stray_files_in_the_log_folder_are_ignored() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("read nodes/a --session s").ok();
    let whole = place.ctx("trace list").ok().stdout;
    let name = format!("{}.jsonl", "0".repeat(32));
    let accesses = log(&place).parent().unwrap().join(&name);
    let changes = place.root().join(".context/audit").join(&name);
    for path in [accesses, changes] {
        fs::create_dir(&path).unwrap();
        let told = place.ctx("trace list").exits(1);
        assert_eq!(told.stdout, whole);
        assert!(told.stderr.contains("the log has 1 fault"), "{}", told.stderr);
        let told = place.ctx("trace verify").exits(1).stdout;
        assert!(told.contains(&format!("{name}:1: cannot be read: ")), "{told}");
        fs::remove_dir(&path).unwrap();
    }
    place.ctx("trace verify").ok();
}

#[test]
fn derived_files_are_written_where_nothing_can_be_recorded() {
    let place = vault();
    place.edit(".context/config.yaml", "layout:", "audit:\n  durability: sync\nlayout:");
    let dir = place.home().join("file");
    fs::write(&dir, "").unwrap();
    let run = |line: &str| place.typed(line).var("CTX_AUDIT_DIR", &dir.display().to_string()).run();
    run("list").exits(5);
    run("index").ok();
    assert!(place.has("INDEX.md"));
}

#[test]
fn a_list_that_is_cut_to_nothing_is_not_said_to_be_empty() {
    let place = vault();
    place.ctx("read nodes/a").ok();
    for line in ["trace list -n 0", "impact nodes/a -n 0", "trace grep nodes/a -n 0"] {
        let told = place.ctx(line).ok().stderr;
        assert!(told.contains(" more; ") && !told.contains("no "), "{line}: {told}");
    }
}

#[test]
fn where_accesses_cannot_be_read_the_list_does_not_say_that_there_is_none() {
    let place = vault();
    place.ctx("read nodes/a").ok();
    for line in ["trace list --principal zoe@x.com", "trace list --format otlp", "trace grep x"] {
        let told = place.typed(line).var("CTX_AUDIT_DIR", "rel").run().exits(1).stderr;
        assert!(told.contains("no access log is read"), "{line}: {told}");
        assert!(!told.contains("no recorded access or change"), "{line}: {told}");
    }
}

#[test]
fn a_directory_of_state_that_is_none_is_named() {
    let place = vault();
    for dir in ["/dev/null", "/nope/nope"] {
        let run = |line: &str| place.typed(line).var("XDG_STATE_HOME", dir).run();
        for line in ["trace list --verb read", "impact nodes/a"] {
            let told = run(line).ok().stderr;
            let note = format!("there is no access log of this user: `{dir}` is not a folder");
            assert!(told.contains(&note), "{line}: {told}");
        }
    }
}

#[test]
fn a_folder_of_accesses_that_is_none_is_a_fault_and_hides_no_other_log() {
    let place = vault();
    place.ctx("read nodes/a --session s").ok();
    fs::create_dir_all(place.path(".context/audit")).unwrap();
    let access = place.path(".context/audit/access");
    for is_link in [true, false] {
        let _ = fs::remove_file(&access);
        match is_link {
            true => std::os::unix::fs::symlink("/", &access).unwrap(),
            false => fs::write(&access, "x").unwrap(),
        }
        for line in [
            "trace list",
            "impact nodes/a",
            "replay --session s",
            "trace grep nodes/a",
            "trace list --format otlp",
            "evidence export --session s -o - --force",
        ] {
            let told = place.ctx(line).exits(1);
            assert!(!told.stdout.is_empty(), "{line}: {}", told.stderr);
            assert!(told.stderr.contains("warning: "), "{line}: {}", told.stderr);
        }
        let told = place.ctx("trace verify").exits(1).stdout;
        assert!(
            told.contains("file-unreadable: .context/audit/access:1: cannot list it"),
            "{told}"
        );
        // The log may contain lines that are not found.
        let told = place.ctx("replay --session t").exits(5).stderr;
        assert!(told.contains("the access log `.context/audit/access`"), "{told}");
        place.ctx("trace show 00000000-1").exits(5);
    }
}

#[test]
fn help_names_words_that_are_not_a_command() {
    let place = Place::new();
    for (words, named) in [("-", "-"), ("publish -", "publish -")] {
        let refused = place.ctx(&format!("help {words}")).exits(2).stderr;
        assert!(refused.contains(&format!("error[usage]: unknown command `{named}`")), "{refused}");
        assert!(refused.contains("hint: `ctx help` lists all commands"), "{refused}");
    }
}
