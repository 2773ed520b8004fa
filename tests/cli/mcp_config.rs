//! `ctx mcp config`: what is pasted starts the server.

use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::Place;

fn vault() -> Place {
    Place::published(&[("nodes/a", "# A\n")])
}

#[test]
fn what_is_printed_starts_the_server() {
    let place = vault();
    let clients = ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "zed"];
    for client in clients {
        let report = place.ctx(&format!("mcp config {client} --json")).ok().json("ctx.mcp.config");
        let args: Vec<&str> =
            report["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        assert_eq!(args[..2], ["mcp", "--vault"]);
        let text = report["text"].as_str().unwrap();
        assert!(args.iter().all(|arg| text.contains(&format!("\"{arg}\""))), "{text}");
        if client != "codex" {
            let entry: Value = serde_json::from_str(text).unwrap();
            let of_client = entry.as_object().unwrap().values().next().unwrap();
            assert_eq!(of_client["vault"]["args"], report["args"], "{text}");
        }
    }
    let report = place.ctx("mcp config zed --json").ok().json("ctx.mcp.config");
    let args: Vec<String> = serde_json::from_value(report["args"].clone()).unwrap();
    let answer =
        place.args(&args).stdin("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").run();
    assert!(answer.ok().stdout.contains("\"id\":1"));
}

#[test]
fn a_profile_a_principal_and_names_are_those_that_are_asked_for() {
    let place = vault();
    let line =
        "mcp config codex --name Rules --program /opt/ctx --profile author --as ANA@example.com";
    let output = place.ctx(line).ok();
    let root = place.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let printed = output.stdout.replace(&root, "VAULT");
    assert_snapshot!(printed, @r#"
    [mcp_servers."Rules"]
    command = "/opt/ctx"
    args = ["mcp", "--vault", "VAULT", "--profile", "author", "--as", "ANA@example.com"]
    "#);
    assert_snapshot!(output.stderr, @"note: this belongs into ~/.codex/config.toml");
    let refused = place.ctx("mcp config emacs").exits(2);
    assert!(refused.stderr.contains("possible values"), "{}", refused.whole());
    let refused = place.ctx("mcp config zed --vault /nowhere").exits(2);
    assert!(
        refused.stderr.contains("no-vault") || refused.stderr.contains("not-a-vault"),
        "{}",
        refused.whole()
    );
}
