//! `ctx replay --output`: commands that are run again as of their checkpoint (AUDIT-17).

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::{Place, files_in};

fn vault() -> Place {
    let place = Place::published(&[
        ("nodes/fees", "---\ntags: [money]\n---\n# Fees\n\nFive percent.\n\n## Waivers\n\nNone.\n"),
        ("nodes/returns", "---\ntags: [money]\n---\n30 days.\n"),
    ]);
    place.edit("nodes/fees.md", "Five", "Four");
    place.ctx("publish nodes/fees").ok();
    place
}

/// Returns the path of the only file of the log.
fn log(place: &Place) -> PathBuf {
    let audit = place.home().join(".local/state/contextnest/audit");
    audit.join(files_in(&audit).keys().next().unwrap())
}

/// Changes the only line of the log, and gives it the hash that follows.
fn forge(place: &Place, change: impl FnOnce(&mut Value)) {
    let text = fs::read_to_string(log(place)).unwrap();
    let mut line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    change(&mut line);
    line.as_object_mut().unwrap().remove("hash");
    let spelled = serde_jcs::to_string(&line).unwrap();
    let hash: String = Sha256::digest(spelled).iter().map(|b| format!("{b:02x}")).collect();
    line["hash"] = format!("sha256:{hash}").into();
    fs::write(log(place), serde_jcs::to_string(&line).unwrap() + "\n").unwrap();
}

/// Returns the outcomes of the outputs of a session, each with its reason.
fn outcomes(place: &Place, session: &str) -> Vec<String> {
    let report = place.ctx(&format!("replay --session {session} --output --json"));
    let report = report.json("ctx.replay.output");
    let row = |row: &Value| {
        let why = row["why"].as_str().map_or(String::new(), |why| format!(": {why}"));
        format!("{} {}{why}", row["verb"].as_str().unwrap(), row["outcome"].as_str().unwrap())
    };
    report["outputs"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn a_text_under_the_name_of_another_section_is_different() {
    let place = Place::published(&[("nodes/a", "# A\n\nDo not pay.\n\n## B\n\nPay.\n")]);
    place.ctx("read nodes/a#b --session s").ok();
    let replayed = |exit| place.ctx("replay --session s").exits(exit).stdout;
    assert!(replayed(0).contains("1 same"));
    for (anchor, why) in [
        ("#gone", "the version does not have a section with this anchor"),
        ("#a", "its bytes do not match the section that its URI names"),
        (
            "",
            "its URI does not name a section, but its bytes are not the whole text or the whole body",
        ),
    ] {
        forge(&place, |line| {
            let uri = &mut line["documents"][0]["uri"];
            let base = uri.as_str().unwrap().split('#').next().unwrap().to_owned();
            *uri = format!("{base}{anchor}").into();
        });
        let told = replayed(1);
        assert!(told.contains(&format!("different: {why}")), "{told}");
    }
}

#[test]
fn a_section_whose_anchor_is_too_long_for_a_uri_is_proved_by_the_uri_of_its_document() {
    let long = "é".repeat(2_800);
    let text = format!("# A\n\n## {long}\n\nPay the zebra.\n\n## B\n\nb\n");
    let place = Place::published(&[("nodes/a", text.as_str())]);
    let read = place.ctx(&format!("read nodes/a#{long} --session s --json")).ok();
    let report = read.json("ctx.read");
    assert_eq!(report["uri"], "contextnest://nodes/a@1");
    assert!(report["body"].as_str().unwrap().contains("zebra"), "{report}");
    let hits = place.ctx("search zebra --session t --json").ok().json("ctx.search")["hits"].take();
    assert_eq!((&hits[0]["uri"], &hits[0]["anchor"]), (&report["uri"], &long.as_str().into()));
    let asked = json!({"id": format!("nodes/a#{long}")});
    let shown = crate::mcp_writing::called(&place, "", "context_read", asked);
    let shown = shown["result"]["content"][0]["text"].as_str().unwrap();
    let begin = shown.lines().find(|line| line.contains("ctx:begin")).unwrap();
    let named = format!("uri=contextnest://nodes/a@1 section=\"{long}\"");
    assert!(begin.contains(&named), "{}", &begin[..200]);

    let replayed = place.ctx("replay --session s").ok().stdout;
    assert!(replayed.contains("1 same"), "{replayed}");
    let replayed = place.ctx("replay --session t").exits(1).stdout;
    assert!(replayed.contains("0 different, 1 cannot tell"), "{replayed}");
    place.ctx("evidence export --session s -o s.tar").ok();
    place.ctx("evidence verify s.tar").ok();
    // The line of a section contains its anchor, if it is valid.
    fs::remove_file(log(&place)).unwrap();
    place.ctx("read nodes/a#b --session s").ok();
    forge(&place, |line| line["documents"][0]["uri"] = "contextnest://nodes/a@1".into());
    let told = place.ctx("replay --session s").exits(1).stdout;
    assert!(told.contains("different: its URI does not name a section"), "{told}");
}

#[test]
fn a_session_of_which_a_line_was_exchanged_is_not_said_to_be_whole() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    for line in ["read nodes/a --session s", "read nodes/b --session s", "list --session t"] {
        place.ctx(line).ok();
    }
    place.ctx("replay --session s").ok();
    let text = fs::read_to_string(log(&place)).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let other = lines[0].replace("\"session\":\"s\"", "\"session\":\"t\"");
    lines[0] = &other;
    fs::write(log(&place), lines.join("\n") + "\n").unwrap();
    let replayed = place.ctx("replay --session s").exits(1);
    assert!(replayed.stdout.contains("1 text: 1 same"), "{}", replayed.stdout);
    assert!(replayed.stderr.contains("run `ctx trace verify`"), "{}", replayed.stderr);
}

#[test]
fn a_session_with_an_altered_line_is_not_said_to_be_the_same() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.ctx("read nodes/a --session s").ok();
    place.ctx("read nodes/b --session s").ok();
    let folder = place.home().join(".local/state/contextnest/audit");
    let (path, text) = files_in(&folder).into_iter().next().unwrap();
    let text = String::from_utf8(text).unwrap();
    fs::write(folder.join(&path), text.replacen("nodes/a", "nodes/c", 1)).unwrap();
    let replayed = place.ctx("replay --session s").exits(1);
    assert_eq!(
        replayed.stdout.lines().last().unwrap(),
        "1 text: 1 same, 0 different, 0 cannot tell"
    );
    // The faults are the line, and the next one, which does not follow it.
    let warning =
        "warning: the log has 2 faults, so accesses may be missing; run `ctx trace verify`\n";
    assert_eq!(replayed.stderr, warning);
    fs::write(folder.join(&path), text.replace("nodes/", "nodes_")).unwrap();
    for line in ["replay --session s", "evidence export --session s"] {
        let told = place.ctx(line).exits(1).stderr;
        assert!(told.contains("`ctx trace verify` names lines that were altered"), "{told}");
    }
}

#[test]
fn the_output_of_a_command_follows_from_its_words_and_its_head() {
    let place = vault();
    let commands = [
        "read nodes/fees",
        "read nodes/fees@1#waivers --json",
        "read nodes/fees --outline",
        "read nodes/fees --at 2026-11-21T10:00:01Z",
        "resolve #money",
        "resolve #money --json --bodies",
        "resolve #money --budget 300 --format markdown",
        "resolve #nothing --json",
        "show nodes/fees 1",
        "show nodes/fees 2 --json",
        "blame nodes/fees --json",
        "blame nodes/fees --sections",
        "context",
        "context --json",
        "diff nodes/fees 1 2",
    ];
    for command in commands {
        place.typed(command).var("CTX_SESSION", "s").run().ok();
    }
    place.typed("read fees.md").within("nodes".as_ref()).var("CTX_SESSION", "s").run().ok();
    // Later events change nothing of the replay.
    place.edit("nodes/fees.md", "Four", "Three");
    place.write("nodes/more.md", "---\ntags: [money, nothing]\n---\nMore.\n");
    place.write("CONTEXT.md", "---\ntitle: Other\n---\nOther.\n");
    place.ctx("publish --all").ok();
    place.ctx("retire nodes/returns").ok();
    let found = outcomes(&place, "s");
    assert_eq!(found.len(), commands.len() + 1);
    assert!(found.iter().all(|row| row.ends_with(" same")), "{found:#?}");
    let text = place.ctx("replay --session s --output").ok().stdout;
    assert_eq!(text.lines().last(), Some("16 outputs: 16 same, 0 different, 0 cannot tell"));
}

#[test]
fn replay_skips_answers_that_do_not_follow_from_the_vault() {
    let place = vault();
    for command in ["search percent", "list", "checkout 1 ../copy", "diff nodes/fees 1", "history"]
    {
        place.typed(command).var("CTX_SESSION", "s").run().ok();
    }
    place.typed("read nodes/fees").var("CTX_SESSION", "s").on_terminal().ok();
    place.typed("trace output").var("CTX_SESSION", "s").run().ok();
    assert_snapshot!(outcomes(&place, "s").join("\n"), @"
    search cannot tell: the output of `search` is not reproduced
    list cannot tell: the output of `list` is not reproduced
    checkout cannot tell: the output of `checkout` is not reproduced
    diff cannot tell: a diff with a live file is not reproduced
    history cannot tell: the output of `history` is not reproduced
    read cannot tell: it was printed to a terminal
    ");
    let name = place.ctx("trace list --verb trace").ok().stdout;
    let name = name.split(' ').next().unwrap();
    let refused = place.ctx(&format!("replay {name} --output")).exits(1).stdout;
    assert_snapshot!(refused.split_once("  ").unwrap().1, @"
    trace output  cannot tell: the line records no output of a command
    1 output: 0 same, 0 different, 1 cannot tell
    ");
}

#[test]
fn the_words_of_a_line_are_not_trusted() {
    let place = vault();
    place.ctx("read nodes/fees --session s").ok();
    place.ctx("replay --session s --output").ok();
    let (vault, home) = (place.tree(), files_in(place.home()).len());
    let target = place.home().join("planted").display().to_string();
    let mut told = String::new();
    let forged: [&[&str]; 10] = [
        &["checkout", "1", &target],
        &["publish", "--all"],
        &["init", &target],
        &["replay", "--session", "s", "--output"],
        &["trace", "output", "--session", "s"],
        &["read", "nodes/fees", "--help"],
        &["read", "--unknown"],
        &["read", "../../etc/passwd"],
        &["resolve", "#money", "--at", "9"],
        &[],
    ];
    for words in forged {
        forge(&place, |line| line["args"]["argv"] = json!(words));
        told.push_str(&format!("{words:?} {}\n", outcomes(&place, "s").join("")));
    }
    assert_snapshot!(told.replace(&target, "[PLANTED]"), @r##"
    ["checkout", "1", "[PLANTED]"] read cannot tell: the output of `checkout` is not reproduced
    ["publish", "--all"] read cannot tell: the output of `publish` is not reproduced
    ["init", "[PLANTED]"] read cannot tell: the output of `init` is not reproduced
    ["replay", "--session", "s", "--output"] read cannot tell: the output of `replay` is not reproduced
    ["trace", "output", "--session", "s"] read cannot tell: the output of `trace output` is not reproduced
    ["read", "nodes/fees", "--help"] read cannot tell: its words are not a command of this version
    ["read", "--unknown"] read cannot tell: its words are not a command of this version
    ["read", "../../etc/passwd"] read cannot tell: the command fails now: `../../etc/passwd` is outside of the vault
    ["resolve", "#money", "--at", "9"] read cannot tell: the command fails now: checkpoint 9 does not exist; the last one is 2
    [] read cannot tell: its words are not a command of this version
    "##);
    // Another vault, principal, session or time in the words changes nothing.
    let words = ["read", "nodes/fees", "--vault", "/", "--now", "x", "--session", "none"];
    forge(&place, |line| line["args"]["argv"] = json!(words));
    assert_eq!(outcomes(&place, "s"), ["read same"]);
    for cwd in ["..", "/", "nodes/../.."] {
        forge(&place, |line| line["args"]["cwd"] = cwd.into());
        let expected = "read cannot tell: its folder is not inside the vault";
        assert_eq!(outcomes(&place, "s"), [expected], "{cwd}");
    }
    assert_eq!(place.tree(), vault);
    assert_eq!(files_in(place.home()).len(), home);
}

#[test]
fn other_bytes_are_told_with_their_lengths() {
    let place = vault();
    place.ctx("read nodes/fees --session s").ok();
    let other = format!("sha256:{}", "0".repeat(64));
    forge(&place, |line| line["sha256"] = other.as_str().into());
    assert_snapshot!(outcomes(&place, "s").join(""), @"read different: recorded: 303 bytes; printed now: 303 bytes with another hash");
    forge(&place, |line| line["tool"] = "0.0.9".into());
    assert_snapshot!(outcomes(&place, "s").join(""), @"read cannot tell: recorded: 303 bytes; printed now: 303 bytes with another hash; version 0.0.9 of the program printed it, and this is 0.1.0");
    forge(&place, |line| line["head"]["hash"] = other.as_str().into());
    assert_snapshot!(outcomes(&place, "s").join(""), @"read different: checkpoint 2 has another hash now");
    forge(&place, |line| line["head"]["checkpoint"] = 9.into());
    assert_snapshot!(outcomes(&place, "s").join(""), @"read cannot tell: checkpoint 9 does not exist; the last one is 2");
    forge(&place, |line| {
        line.as_object_mut().unwrap().remove("head");
    });
    assert_snapshot!(outcomes(&place, "s").join(""), @"read cannot tell: the line names no checkpoint");
    forge(&place, |line| line["args"] = json!({ "sha256": other }));
    assert_snapshot!(outcomes(&place, "s").join(""), @"read cannot tell: only the hash of its command line is recorded");
}

#[test]
fn a_damaged_history_proves_nothing_of_an_output() {
    let place = vault();
    place.ctx("read nodes/returns --session s").ok();
    place.ctx("resolve #money --session s --bodies").ok();
    place.edit("nodes/.versions/returns/v1.md", "30 days", "90 days");
    assert_snapshot!(outcomes(&place, "s").join("\n"), @"
    read cannot tell: the command fails now: `nodes/returns` is withheld: the stored text has hash sha256:62c0e4589f14b35f63f623712c0e5096471b5c72d86d997ec19387a11b480b59, but the history records sha256:bcd6d9e6e871b02b018bb4cf01a0e0b10ee09da4224282986ba57ad7a9bc6ae5
    resolve cannot tell: recorded: 1073 bytes; printed now: 872 bytes with another hash; 1 document more may not be served now
    ");
}

#[test]
fn a_search_is_made_again_without_another_program() {
    let place = vault();
    place.ctx("resolve '#money | contextnest://search/percent' --bodies --session s").ok();
    place.write("nodes/more.md", "A percent of percents.\n");
    place.ctx("publish --all").ok();
    let planted = place.home().join("planted");
    let program = format!("touch {}", planted.display());
    let replay = place.typed("replay --session s --output").var("CTX_SEARCH_COMMAND", &program);
    assert_snapshot!(replay.run().ok().stdout.split_once("  ").unwrap().1, @"
    resolve  same
    1 output: 1 same, 0 different, 0 cannot tell
    ");
    assert!(!planted.exists());
    forge(&place, |line| line["bytes"] = 1.into());
    assert_snapshot!(outcomes(&place, "s").join(""), @"resolve cannot tell: recorded: 1 byte; printed now: 1128 bytes with another hash; results of a search may change");
}
