//! `ctx mcp doctor`: tests the server as a client would start it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Child;

use serde_json::Value;

use crate::harness::Place;

fn vault() -> Place {
    Place::published(&[("nodes/a", "# A\n")])
}

/// Returns the name, outcome and message of each check.
fn checks(report: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = report["checks"].as_array().unwrap().iter();
    all.map(|one| (text(&one["check"]), text(&one["outcome"]), text(&one["message"]))).collect()
}

fn outcomes(report: &Value) -> String {
    let all = checks(report).into_iter();
    all.map(|(check, outcome, _)| format!("{check}: {outcome}")).collect::<Vec<_>>().join(", ")
}

#[track_caller]
fn has_problem(place: &Place, line: &str, check: &str, why: &str) {
    let output = place.ctx(&format!("mcp doctor {line} --json")).exits(1);
    let report = output.json("ctx.mcp.doctor");
    assert_eq!(report["works"], false);
    let found = checks(&report).into_iter().find(|(_, outcome, _)| outcome == "problem").unwrap();
    assert!(found.0 == check && found.2.contains(why), "{found:?}");
}

/// Returns the program, as a client has to name it.
fn program() -> &'static str {
    env!("CARGO_BIN_EXE_ctx")
}

#[test]
fn a_server_that_works_has_no_problem() {
    let place = vault();
    let report = place.ctx("mcp doctor --json").ok().json("ctx.mcp.doctor");
    let all = "connect: ok, protocol: ok, version: ok, tools: ok, call: ok, verify: ok";
    assert_eq!(
        (outcomes(&report), report["works"].clone()),
        (all.to_owned(), true.into()),
        "{report}"
    );
    let nobody = place.typed("mcp doctor --profile author --json").without("CTX_PRINCIPAL").run();
    let report = nobody.ok().json("ctx.mcp.doctor");
    assert!(outcomes(&report).contains("tools: ok, principal: warning, call: ok"), "{report}");
    let text = place.ctx("mcp doctor --as bo@example.com --profile reviewer").ok().stdout;
    assert!(
        text.contains("ok       tools      23 tools") || text.contains("of the profile `reviewer`"),
        "{text}"
    );
    place.ctx("mcp doctor --vault /nowhere").exits(2);
    place.ctx("mcp doctor --url https://127.0.0.1/mcp").exits(2);
    place.ctx("mcp doctor cursor --profile author").exits(2);
    place.ctx("mcp doctor --project .").exits(2);
}

#[test]
fn the_entry_that_was_written_works() {
    for client in ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "zed"] {
        let place = vault();
        let program = program();
        place.ctx(&format!("mcp config {client} --write --program {program}")).ok();
        let report = place.ctx(&format!("mcp doctor {client} --json")).ok().json("ctx.mcp.doctor");
        let all =
            "config: ok, connect: ok, protocol: ok, version: ok, tools: ok, call: ok, verify: ok";
        assert_eq!(outcomes(&report), all, "{report}");
    }
}

/// Returns the hint of a check.
fn hint(report: &Value, check: &str) -> String {
    let mut all = report["checks"].as_array().unwrap().iter();
    let found = all.find(|one| one["check"] == check && !one["hint"].is_null());
    found.unwrap_or_else(|| panic!("{report}"))["hint"].as_str().unwrap().to_owned()
}

#[test]
fn the_advice_for_a_program_that_is_not_found_works_and_keeps_the_entry() {
    for client in ["claude-code", "cursor", "vscode", "codex", "zed"] {
        let place = vault();
        let line =
            format!("mcp config {client} --write --name 'our rules' --profile author --as bo");
        place.typed(&line).run().ok();
        let doctor = format!("mcp doctor {client} --json");
        let report = place.typed(&doctor).var("PATH", "/nowhere").run().exits(1);
        let hint = hint(&report.json("ctx.mcp.doctor"), "program");
        let command = hint.split('`').nth(1).unwrap().strip_prefix("ctx ").unwrap();
        assert!(command.contains("--profile author --as bo"), "{command}");
        let told = place.typed(command).run().ok().stdout;
        assert!(told.ends_with("  updated\n"), "{told}");
        place.ctx(&doctor).ok();
    }
    let place = vault();
    let path = place.home().join(".cursor/mcp.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for entry in [
        r#"{"command": "ours", "args": ["mcp"]}"#,
        r#"{"command": "ctx", "args": ["mcp", "--read-only"]}"#,
        r#"{"command": "ctx", "args": ["mcp", "--vault", "a=/a", "--vault", "b=/b"]}"#,
    ] {
        fs::write(&path, format!("{{\"mcpServers\": {{\"a\": {entry}}}}}")).unwrap();
        let report = place.typed("mcp doctor cursor --json").var("PATH", "/nowhere").run().exits(1);
        let hint = hint(&report.json("ctx.mcp.doctor"), "program");
        assert!(hint.contains("in `command` of the entry"), "{hint}");
    }
}

#[test]
fn mcp_doctor_reports_faults_of_an_entry() {
    let place = vault();
    has_problem(&place, "cursor", "config", "does not exist");
    let path = place.home().join(".cursor/mcp.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let write = |entry: &str| fs::write(&path, format!("{{\"mcpServers\": {entry}}}")).unwrap();
    let program = program();
    for (entry, check, why) in [
        ("[", "config", "line 1"),
        ("{}", "config", "no server that is `ctx mcp`"),
        (
            r#"{"a": {"command": "x", "args": ["mcp"]}, "b": {"command": "x", "args": ["mcp"]}}"#,
            "config",
            "a, b",
        ),
        (r#"{"a": {"command": "/nowhere/ctx", "args": ["mcp"]}}"#, "program", "not found"),
        (r#"{"a": {"command": "/bin/sh", "args": ["mcp"]}}"#, "connect", "failed"),
        (
            r#"{"a": {"command": "PROGRAM", "args": ["mcp", "--vault", "/nowhere"]}}"#,
            "connect",
            "[no",
        ),
        (
            r#"{"a": {"command": "PROGRAM", "args": ["mcp", "--profile", "none"]}}"#,
            "connect",
            "failed",
        ),
    ] {
        write(&entry.replace("PROGRAM", program));
        has_problem(&place, "cursor", check, why);
    }
    write(r#"{"a": {"url": "http://127.0.0.1:1/mcp"}}"#);
    has_problem(&place, "cursor --name a", "config", "starts no program");
    has_problem(&place, "cursor --name b", "config", "no server `b`");
    // Other programs: one does not answer, one answers something else, and one hangs.
    for (words, check, why) in [
        ("true", "protocol", "the server did not answer"),
        ("echo hello", "connect", "not from an MCP server"),
        ("echo $((1/0))", "connect", "failed"),
        ("sleep 60", "connect", "within 1 seconds"),
    ] {
        write(&format!(r#"{{"a": {{"command": "/bin/sh", "args": ["-c", "{words}"]}}}}"#));
        has_problem(&place, "cursor --name a --timeout 1", check, why);
    }
}

#[test]
fn a_vault_that_does_not_verify_is_a_problem() {
    let place = vault();
    // An edit that is not published is everyday work.
    place.write("nodes/a.md", "# Edited\n");
    let report = place.ctx("mcp doctor --json").ok().json("ctx.mcp.doctor");
    assert!(outcomes(&report).ends_with("verify: ok"), "{report}");
    place.edit("nodes/.versions/a/v1.md", "# A", "# Forged");
    has_problem(&place, "", "verify", "does not verify");
}

/// A server over HTTP, which ends with the test.
struct Server(Child, String);

impl Server {
    fn start(place: &Place, options: &str) -> Self {
        let run =
            place.typed(&format!("mcp --http 127.0.0.1:0 {options}")).without("CTX_PRINCIPAL");
        let mut child = run.command().spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self(child, line.trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_over_http_is_examined_with_its_token() {
    let place = vault();
    let token = place.ctx("mcp token add bo --tokens ../tokens.json").ok().stdout;
    let server = Server::start(&place, "--tokens ../tokens.json");
    let url = server.1.clone();
    has_problem(&place, &format!("--url {url}"), "connect", "401");
    let file = place.home().join("token.txt");
    fs::write(&file, &token).unwrap();
    let line = format!("mcp doctor --url {url} --token-file {} --json", file.display());
    let report = place.ctx(&line).ok().json("ctx.mcp.doctor");
    let all = "connect: ok, protocol: ok, version: ok, tools: ok, call: ok, verify: ok";
    assert_eq!(outcomes(&report), all, "{report}");
    has_problem(&place, &format!("--url {}", url.replace("/mcp", "/other")), "connect", "404");
    let local = url.replace("127.0.0.1", "127.0.0.2");
    has_problem(&place, &format!("--url {local}"), "connect", "cannot be reached");
    drop(server);
    has_problem(&place, &format!("--url {url}"), "connect", "cannot be reached");
}
