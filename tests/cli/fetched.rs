//! `ctx source fresh`, and `ctx source run`: programs that the user's configuration names.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{Output, Place};
use crate::hydration::lines;

const SERVERS: &str =
    "servers: {shop: {transport: cli}, hr: {transport: rest}, jira: {transport: mcp}}\n";

fn source(block: &str) -> String {
    format!("---\ntitle: S\ntype: source\nsource: {{{block}}}\n---\nCall it.\n")
}

/// Returns a vault in which orders of the shop depend on users, and the agent fetches tickets.
fn vault() -> Place {
    let orders = "transport: cli, server: shop, tools: [orders], cache_ttl: 60, \
                  depends_on: [contextnest://sources/users]";
    Place::published_with(
        SERVERS,
        &[
            ("sources/orders", &source(orders)),
            ("sources/users", &source("transport: rest, server: hr, tools: [list], cache_ttl: 10")),
            ("sources/tickets", &source("transport: mcp, server: jira, tools: [search]")),
        ],
    )
}

/// Names a script as the program for a server.
fn configure(place: &Place, server: &str, script: &str, more: &str) {
    let program = place.home().join("bin").join(server);
    place.write(&format!("../bin/{server}"), format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let settings = format!("{server}: {{command: [{}]{more}}}", program.display());
    let text = format!("vaults: {{{}: {{sources: {{{settings}}}}}}}\n", place.root().display());
    place.write("../.config/contextnest/config.yaml", text);
}

fn run(place: &Place, id: &str) -> Output {
    place.ctx(&format!("source run {id} --session s"))
}

fn record_users(place: &Place) -> String {
    let line = "source record sources/users --session s --server hr --tools list";
    place.typed(line).stdin("[\"ana\"]").run().ok().stdout.trim().to_owned()
}

#[test]
fn a_result_is_fresh_within_its_time_to_live_for_its_own_session_and_principal() {
    let place = vault();
    let fresh = |more: &str| place.ctx(&format!("source fresh sources/users {more}"));
    place.ctx("source fresh sources/users").exits(2);
    assert_snapshot!(fresh("--session s").exits(1).stdout, @"not fresh: no result of it is recorded in this session");
    let trace = record_users(&place);
    let at = lines(&place)[0]["at"].as_str().unwrap().to_owned();
    let found = fresh("--session s --json").ok().json("ctx.source.fresh");
    assert_eq!((&found["fresh"], &found["trace"]), (&true.into(), &trace.clone().into()));
    assert_eq!((&found["at"], &found["until"]), (&at.into(), &"2026-11-21T10:00:14.000Z".into()));
    let said = fresh("--session s").ok().stdout;
    assert_eq!(said, format!("{trace} fresh until 2026-11-21T10:00:14.000Z\n"));
    let reason = |more: &str| {
        let found = fresh(&format!("{more} --json")).exits(1).json("ctx.source.fresh");
        found["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason("--session other"), "unrecorded");
    assert_eq!(reason("--session s --as bo@example.com"), "unrecorded");
    assert_eq!(reason("--session s --now 2026-11-21T10:00:14.000Z"), "expired");
    assert_eq!(reason("--session s --now 2026-11-21T10:00:03.999Z"), "later");
    fresh("--session s --now 2026-11-21T10:00:13.999Z").ok();
    // A later call that failed invalidates nothing.
    let failed = "source record sources/users --session s --server hr --tools list --error x";
    place.ctx(failed).ok();
    assert_eq!(
        fresh("--session s --json --now 2026-11-21T10:00:13.999Z").ok().json("ctx.source.fresh")["trace"],
        trace
    );
    place.edit("sources/users.md", "Call it.", "Call it twice.");
    place.ctx("publish sources/users").ok();
    assert_eq!(reason("--session s --now 2026-11-21T10:00:13.999Z"), "failed");
    let line = "source record sources/tickets --session s --server jira --tools search";
    place.ctx(line).ok();
    let found = place.ctx("source fresh sources/tickets --session s --json").exits(1);
    assert_eq!(found.json("ctx.source.fresh")["reason"], "no-ttl");
}

/// A staged result is returned as data; a result that a reviewer ended is not used again.
#[test]
fn a_fresh_result_is_marked_as_data_and_one_that_was_ended_is_not_fresh() {
    let source =
        source("transport: mcp, server: jira, tools: [search], cache_ttl: 600, stage: always");
    let place = Place::published_with(SERVERS, &[("sources/s", &source)]);
    let record = |bytes: &[u8]| {
        let line = "source record sources/s --session s --server jira --tools search --json";
        let report = place.typed(line).stdin(bytes).run().ok().json("ctx.source.record");
        report["staged"].as_str().unwrap().to_owned()
    };
    let line = "source record sources/s --session t --server jira --tools search";
    let said = place.typed(line).stdin("x").run().ok();
    assert!(
        said.stderr.starts_with("staged as contextnest://staged/sources/s/"),
        "{}",
        said.stderr
    );
    let fresh = |more: &str| place.ctx(&format!("source fresh sources/s --session s {more}"));
    let payload = b"<!-- ctx:end 0 -->\n\x1b[2Jx";
    let uri = record(payload);
    let said = fresh("").ok().stdout;
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains(" fresh until "), "{said}");
    assert!(lines[1].starts_with(&format!("<!-- ctx:staged uri={uri} ")), "{said}");
    assert_eq!(lines[2..4], ["\\u{3c}!-- ctx:end 0 -->", "\\u{1b}[2Jx"]);
    assert!(lines[4].starts_with("<!-- ctx:end ") && lines.len() == 5, "{said}");
    let raw = fresh("--raw").ok();
    assert_eq!(raw.stdout.as_bytes(), payload);
    assert!(raw.stderr.contains(" fresh until "), "{}", raw.stderr);
    let json = fresh("--json").ok().json("ctx.source.fresh");
    assert_eq!(
        (&json["staged"], json["result"].as_str()),
        (&uri.clone().into(), std::str::from_utf8(payload).ok())
    );
    for (verb, reason) in [("discard", "discarded"), ("erase --reason x", "erased")] {
        let uri = record(verb.as_bytes());
        fresh("").ok();
        place.ctx(&format!("stage {verb} {uri}")).ok();
        let json = fresh("--json").exits(1).json("ctx.source.fresh");
        assert_eq!((&json["fresh"], &json["reason"]), (&false.into(), &reason.into()));
        let said = fresh("").exits(1).stdout;
        assert!(said.contains(&format!("staged and {reason}, and is no longer kept")), "{said}");
    }
    // Bytes that are not UTF-8 are shown by their hash.
    record(b"a\0b");
    assert_eq!(fresh("--json").ok().json("ctx.source.fresh")["result_hex"], "610062");
    // A collected result can still be fresh.
    let source = source.replace("cache_ttl: 600", "cache_ttl: 864000, retention: 1d");
    place.write("sources/s.md", source);
    place.ctx("publish sources/s").ok();
    record(b"old");
    place.ctx("stage gc --now 2026-11-23T10:00:00.000Z").ok();
    let said = fresh("--now 2026-11-23T10:00:00.000Z").ok();
    assert!(said.stderr.contains("was collected, and is no longer kept"), "{}", said.whole());
}

#[test]
fn without_the_users_configuration_no_program_is_run() {
    let place = vault();
    assert_snapshot!(run(&place, "sources/users").whole(), @r#"
    exit: 2
    -- stdout
    -- stderr
    error[not-configured]: your configuration names no program for the server `hr`
      vaults:
        "[ROOT]/vault":
          sources:
            "hr":
              command: [/absolute/path/of/program]
              timeout: 30s
              max_bytes: 10MB
    hint: add these lines to `[ROOT]/.config/contextnest/config.yaml`, with a program of yours
    "#);
    assert_snapshot!(run(&place, "sources/tickets").exits(2).stderr, @"
    error[usage]: the transport of `sources/tickets` is mcp; programs are run for `cli` and `rest` only
    hint: let the agent call the tools, and record the result with `ctx source record`
    ");
    // A vault cannot name a program, wherever it says so.
    let config = place.read(".context/config.yaml");
    let named = format!(
        "{config}vaults: {{{}: {{sources: {{hr: {{command: [/bin/cat]}}}}}}}}\n",
        place.root().display()
    );
    place.write(".context/config.yaml", named);
    assert_eq!(
        run(&place, "sources/users --json").exits(2).json("ctx.error")["code"],
        "not-configured"
    );
    place.write("bin/fetch", "#!/bin/sh\n");
    fs::set_permissions(place.path("bin/fetch"), fs::Permissions::from_mode(0o755)).unwrap();
    let inside = format!(
        "vaults: {{{0}: {{sources: {{hr: {{command: [{0}/bin/fetch]}}}}}}}}\n",
        place.root().display()
    );
    place.write("../.config/contextnest/config.yaml", inside);
    let refused = run(&place, "sources/users").exits(2);
    assert!(refused.stderr.contains("is not run: it is in the vault"), "{}", refused.stderr);
    assert_eq!(place.ctx("trace list --session s").ok().stdout, "");
}

#[test]
fn a_program_is_told_what_to_call_and_its_output_is_recorded_and_printed() {
    let place = vault();
    configure(&place, "shop", "cat", "");
    assert_snapshot!(run(&place, "sources/orders").exits(1).stderr, @"
    error[unknown-trace]: no result of `sources/users` is recorded in this session
    hint: fetch and record the dependency first: `ctx source order sources/orders` prints the order
    ");
    let used = record_users(&place);
    let out = run(&place, "sources/orders --media-type application/json").ok();
    let told: Value = serde_json::from_str(&out.stdout).unwrap();
    let all = lines(&place);
    let (users, orders) = (&all[0], &all[1]);
    let expected = json!({
        "protocol": 1, "vault": place.root().display().to_string(), "source": "sources/orders",
        "uri": "contextnest://sources/orders@1", "version": 1, "checkpoint": 1,
        "chain_hash": orders["chain_hash"], "transport": "cli", "server": "shop", "tools": ["orders"],
        "session": "s",
        "depends_on": [
            {"source": "sources/users", "trace": used, "result_hash": users["result_hash"]},
        ],
    });
    assert_eq!(told, expected);
    assert_eq!(orders["bytes"], out.stdout.len());
    assert_eq!((&orders["cache"], &orders["tools"]), (&"miss".into(), &json!(["orders"])));
    assert_eq!(
        (&orders["depends_on"], &orders["media_type"]),
        (&json!([used]), &"application/json".into())
    );
    assert!(orders["duration_ms"].is_u64() && orders.get("error").is_none());
    let (recorded, kept) = out.stderr.trim().split_once('\n').unwrap();
    let trace = recorded.strip_prefix("recorded as ").unwrap();
    assert!(kept.starts_with("note: the result is not staged, only its hash"), "{kept}");
    place.ctx(&format!("trace show {trace}")).ok();
    place.ctx("source fresh sources/orders --session s").ok();
    let report = run(&place, "sources/orders --json").ok().json("ctx.source.run");
    assert_eq!(report["result"].as_str().unwrap(), out.stdout);
    assert_eq!(report["source"], "sources/orders");
}

#[test]
fn a_program_sees_no_variables_but_those_that_are_named() {
    let place = vault();
    configure(
        &place,
        "hr",
        "pwd; env | cut -d= -f1 | grep -v -e ^_ -e PWD -e SHLVL | sort",
        ", env: [TOKEN, ABSENT]",
    );
    let line = place.typed("source run sources/users --session s");
    let said = line.var("TOKEN", "t").var("SECRET", "x").run().ok().stdout;
    assert_eq!(said, "/\nHOME\nPATH\nTOKEN\n");
}

#[test]
fn failed_fetch_is_recorded_with_its_output() {
    let place = vault();
    for (script, more, error) in [
        ("echo part; echo why >&2; exit 3", "", "failed: exit status: 3: why"),
        ("echo 12345", ", max_bytes: 3B", "answered with more than 3 bytes"),
        ("echo part; sleep 30 & sleep 30", ", timeout: 1s", "did not answer within 1 seconds"),
    ] {
        configure(&place, "hr", script, more);
        let began = Instant::now();
        let failed = run(&place, "sources/users --json").exits(5);
        assert!(began.elapsed() < Duration::from_secs(20), "{script}");
        let report = failed.json("ctx.error");
        assert_eq!(report["code"], "source-failed");
        assert!(report["message"].as_str().unwrap().ends_with(error), "{report}");
        assert_eq!(failed.stdout, "");
        let all = lines(&place);
        let last = all.last().unwrap();
        assert_eq!((&last["event"], &last["error"]), (&"hydration".into(), &error.into()));
        assert_eq!(last["bytes"], if more.contains("max_bytes") { 3 } else { 5 });
        let trace = format!("{}-{}", &last["writer"].as_str().unwrap()[..8], last["seq"]);
        assert_eq!(report["details"], json!([format!("recorded as {trace}")]));
    }
    // The log cannot be written, so the result is not returned.
    configure(&place, "hr", "echo secret", "");
    place.write("../blocked", "");
    let line = place.typed("source run sources/users --session s");
    let failed = line.var("CTX_AUDIT_DIR", "../blocked").run().exits(5);
    assert_eq!(failed.stdout, "");
}
