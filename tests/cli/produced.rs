//! `ctx trace output`: the output of an agent, bound to the accesses before it (AUDIT-12), and the
//! distributed trace that a command runs in (AUDIT-13).

use insta::assert_snapshot;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::anchored::git;
use crate::harness::{Place, files_in};

fn vault() -> Place {
    Place::published(&[("nodes/fees", "Five percent.\n"), ("nodes/returns", "30 days.\n")])
}

/// Returns every line of every log, the oldest first.
fn lines(place: &Place) -> Vec<Value> {
    let audit = files_in(&place.home().join(".local/state/contextnest/audit"));
    let texts = audit.into_values().map(|bytes| String::from_utf8(bytes).unwrap());
    let all = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    let mut all: Vec<Value> = all.map(|line| serde_json::from_str(&line).unwrap()).collect();
    all.sort_by_key(|line| line["at"].as_str().unwrap().to_owned());
    all
}

/// Returns a text without the random digits of the writers.
fn named(place: &Place, text: &str) -> String {
    let mut writers: Vec<String> =
        lines(place).iter().map(|line| line["writer"].as_str().unwrap()[..8].to_owned()).collect();
    writers.dedup();
    let names = ["WRITER", "OTHER"];
    writers.iter().zip(names).fold(text.to_owned(), |text, (id, name)| text.replace(id, name))
}

#[test]
fn an_output_is_recorded_by_its_hash_and_bound_to_the_accesses_before_it() {
    let place = vault();
    place.ctx("read nodes/fees --session s").ok();
    place.ctx("read nodes/fees --session other").ok();
    place.ctx("list --session s").ok();
    place.ctx("resolve contextnest://nodes/ --bodies --no-instructions --session s").ok();
    let answer = "{\"session\":\"s\"}\nThe fee is 5 percent.\u{202e}\n";
    let said = place.typed("trace output --session s --model small-1").stdin(answer).run().ok();
    place.ctx("read nodes/returns --session s").ok();
    let all = lines(&place);
    let line = &all[4];
    let hash: String = Sha256::digest(answer).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(line["event"], "output");
    assert_eq!(line["sha256"], format!("sha256:{hash}"));
    assert_eq!(line["bytes"], answer.len());
    assert_eq!(line["model"], "small-1");
    assert_eq!(line["prev"], all[3]["hash"]);
    assert_eq!(line["head"]["checkpoint"], 1);
    assert!(line.get("elapsed_us").is_none() && !line.to_string().contains("percent"));
    assert_snapshot!(named(&place, &said.stdout), @"WRITER-5");
    let name = said.stdout.trim();
    let shown = place.ctx(&format!("trace show {name}")).ok().stdout;
    assert_snapshot!(named(&place, &shown), @"
    WRITER-5 output
      at         2026-11-21T10:00:06.000Z
      command    ctx trace output --session s --model small-1
      principal  ana@example.com
      session    s
      head       checkpoint 1 sha256:9b04a51c20a456f3d2ab0ca600d5a742984b969b075e427c2c6d0967f3483248
      model      small-1
      produced   41 bytes sha256:dd4b3f82ce33ee413f19f0aa0c9c6c719870ab16db40f61ea1cf8057afff3329

      2 accesses of the session before it
      WRITER-1  2026-11-21T10:00:02.000Z  1 text
      WRITER-4  2026-11-21T10:00:05.000Z  2 texts
    ");
    let json = place.ctx(&format!("trace show {name} --json")).ok().json("ctx.trace.show");
    let before: Vec<&Value> = json["before"]["accesses"].as_array().unwrap().iter().collect();
    assert_eq!(json["before"]["count"], 2);
    assert_eq!((&before[0]["texts"], &before[1]["texts"]), (&1.into(), &2.into()));
    assert!(before.iter().all(|access| access["is_bound"] == true), "{before:?}");
    let listed = place.ctx("trace list --session s").ok().stdout;
    assert_snapshot!(named(&place, &listed), @"
    WRITER-1  2026-11-21T10:00:02.000Z  read          1 text             ana@example.com  -  s  nodes/fees
    WRITER-3  2026-11-21T10:00:04.000Z  list          2 listed           ana@example.com  -  s
    WRITER-4  2026-11-21T10:00:05.000Z  resolve       2 texts            ana@example.com  -  s  contextnest://nodes/
    WRITER-5  2026-11-21T10:00:06.000Z  trace output  41 bytes produced  ana@example.com  -  s
    WRITER-6  2026-11-21T10:00:07.000Z  read          1 text             ana@example.com  -  s  nodes/returns
    ");
    place.ctx("trace verify").ok();
    // It returned no text, so there is nothing to reproduce.
    let report = place.ctx("replay --session s --json").ok().json("ctx.replay");
    assert_eq!(report["texts"].as_array().unwrap().len(), 4);
    let report = place.ctx("impact nodes/fees --json").ok().json("ctx.impact");
    assert_eq!(report["accesses"].as_array().unwrap().len(), 3);
}

#[test]
fn an_output_may_be_a_file_and_may_be_empty() {
    let place = vault();
    place.write("out/answer.md", "Five.\n");
    let said = place.typed("trace output answer.md --json").within("out".as_ref());
    let said = said.var("CTX_SESSION", "s").run().ok().json("ctx.trace.output");
    assert_eq!((&said["session"], &said["bytes"]), (&"s".into(), &6.into()));
    assert!(said.get("model").is_none());
    place.ctx("trace output --session s -").ok();
    let all = lines(&place);
    assert_eq!((&all[0]["args"]["cwd"], &all[1]["bytes"]), (&"out".into(), &0.into()));
    // This session returned no text.
    let name = said["trace"].as_str().unwrap();
    let shown = place.ctx(&format!("trace show {name}")).ok().stdout;
    assert!(shown.ends_with("\n  0 accesses of the session before it\n"), "{shown}");
}

#[test]
fn accesses_in_the_log_of_another_branch_are_before_an_output_by_their_time() {
    let place = vault();
    git(&place, "init -q");
    place.ctx("read nodes/fees --session s").ok();
    git(&place, "symbolic-ref HEAD refs/heads/other");
    place.ctx("read nodes/returns --session s").ok();
    let name = place.ctx("trace output --session s").ok().stdout;
    git(&place, "symbolic-ref HEAD refs/heads/main");
    place.ctx("read nodes/fees --session s").ok();
    let shown = place.ctx(&format!("trace show {name}")).ok().stdout;
    let rows: Vec<&str> = shown.lines().skip_while(|line| !line.contains("before it")).collect();
    assert_snapshot!(named(&place, &rows.join("\n")), @"
    2 accesses of the session before it
    WRITER-1  2026-11-21T10:00:03.000Z  1 text  in another log: before it by its time only
    OTHER-1  2026-11-21T10:00:05.000Z  1 text
    ");
}

#[test]
fn an_output_without_a_session_or_a_place_is_refused() {
    let place = vault();
    assert_snapshot!(place.ctx("trace output").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: an output needs the session that produced it
    hint: name the session of the accesses before it, with `--session` or CTX_SESSION
    ");
    assert_snapshot!(place.ctx("trace output --session none").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: the label of `--session` is `none`, which programs write if they do not know the id
    hint: give the id that your program has, or leave the label out
    ");
    assert_snapshot!(place.ctx("trace output --session s --model Unknown").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: the name of `--model` is `Unknown`, which programs write if they do not know the id
    ");
    let long = "m".repeat(257);
    assert_eq!(place.ctx(&format!("trace output --session s --model {long}")).exit, 2);
    assert_snapshot!(place.ctx("trace output --session s missing.md").whole(), @"
    exit: 5
    -- stdout
    -- stderr
    error[io]: cannot read `missing.md`: No such file or directory (os error 2)
    ");
    let taken = place.home().join("taken").display().to_string();
    std::fs::write(&taken, "").unwrap();
    let refused = place.typed("trace output --session s").var("CTX_AUDIT_DIR", &taken).run();
    assert_eq!(refused.exit, 5);
    assert_snapshot!(refused.stderr.split(" to `").next().unwrap(), @"error[io]: the output was not recorded: cannot write");
    assert!(!place.home().join(".local/state/contextnest/audit").exists());
}

#[test]
fn a_command_records_the_trace_that_it_is_run_in() {
    let place = vault();
    let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for parent in [valid, "00-0-0-00", "", "x\u{1b}"] {
        place.typed("read nodes/fees").var("TRACEPARENT", parent).run().ok();
    }
    let all = lines(&place);
    assert_eq!(all[0]["traceparent"], valid);
    assert!(all[1..].iter().all(|line| line.get("traceparent").is_none()), "{all:#?}");
    let name = place.ctx("trace list -n 4").ok().stdout;
    let shown = place.ctx(&format!("trace show {}", name.split(' ').next().unwrap())).ok().stdout;
    assert!(shown.contains(&format!("  traced in  {valid}\n")), "{shown}");
    place.ctx("trace verify").ok();
}
