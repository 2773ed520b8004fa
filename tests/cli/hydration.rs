//! `ctx source record`: results of a source in the access log (AUDIT-32), and how its readers
//! use them.

use std::sync::Arc;

use contextnest::files::vault::disk::{Change, Overseer, Verdict};
use insta::assert_snapshot;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::{Output, Place, files_in};

const SERVERS: &str = "servers:\n  jira: {transport: mcp}\n  hr: {transport: rest}\n";

/// Returns a source that calls tools of jira, with these lines in its block.
pub(crate) fn source(lines: &str) -> String {
    format!(
        "---\ntitle: S\ntype: source\nsource:\n  transport: mcp\n  server: jira\n  tools: [search, get]\n{lines}---\nCall `search`.\n"
    )
}

/// Returns a vault in which tickets depend on users, and a document on neither.
pub(crate) fn vault() -> Place {
    let place = Place::vault();
    let config = place.read(".context/config.yaml");
    place.write(".context/config.yaml", config + SERVERS);
    place.write("sources/tickets.md", source("  depends_on: [contextnest://sources/users]\n"));
    place.write("sources/users.md", source("  cache_ttl: 60\n"));
    place.write("nodes/fees.md", "Five percent.\n");
    place.ctx("publish --all").ok();
    place
}

/// Returns every line of every access log, the oldest first.
pub(crate) fn lines(place: &Place) -> Vec<Value> {
    let audit = files_in(&place.home().join(".local/state/contextnest/audit"));
    let texts = audit.into_values().map(|bytes| String::from_utf8(bytes).unwrap());
    let all = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    let mut all: Vec<Value> = all.map(|line| serde_json::from_str(&line).unwrap()).collect();
    all.sort_by_key(|line| line["at"].as_str().unwrap().to_owned());
    all
}

/// Returns a text without the random digits of the writer.
fn named(place: &Place, text: &str) -> String {
    let all = lines(place);
    let writer = all.first().map_or("none", |line| line["writer"].as_str().unwrap());
    text.replace(&writer[..writer.len().min(8)], "WRITER")
}

/// Returns the hash of some bytes, as logs spell it.
fn hash(bytes: &[u8]) -> String {
    let digits: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{digits}")
}

/// Records a result of `sources/users`; returns its name.
fn users(place: &Place, result: &[u8]) -> String {
    let line = "source record sources/users --session s --tools search --server jira";
    place.typed(line).stdin(result).run().ok().stdout.trim().to_owned()
}

#[test]
fn a_result_is_recorded_by_its_hash_with_the_version_of_its_source() {
    let place = vault();
    let result = b"{\"users\":[\0\xff\"ana\"]}\r\n";
    let first = users(&place, result);
    let line = "source record sources/tickets --session s --tools search,get --server jira --cache miss \
                --duration-ms 412 --media-type application/json --json --depends-on";
    let run = place.typed(&format!("{line} {first}")).stdin("[]");
    let report = run.run().ok().json("ctx.source.record");
    let all = lines(&place);
    let (users, tickets) = (&all[0], &all[1]);
    assert_eq!(users["event"], "hydration");
    assert_eq!(
        (&users["result_hash"], &users["bytes"]),
        (&hash(result).into(), &result.len().into())
    );
    for absent in ["cache", "duration_ms", "error", "depends_on", "media_type", "documents"] {
        assert!(users.get(absent).is_none(), "{absent}");
    }
    assert_eq!(tickets["prev"], users["hash"]);
    let expected = json!({
        "source": "sources/tickets", "uri": "contextnest://sources/tickets@1", "source_version": 1,
        "checkpoint": 1, "server": "jira", "tools": ["search", "get"], "cache": "miss",
        "duration_ms": 412, "media_type": "application/json", "bytes": 2, "result_hash": hash(b"[]"),
        "depends_on": [first],
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&tickets[key], value, "{key}");
        assert_eq!(&report[key], value, "{key}");
    }
    assert_eq!(
        (&report["session"], tickets["labels"]["session"].as_str()),
        (&"s".into(), Some("s"))
    );
    let history = place.read("sources/.versions/tickets/history.yaml");
    assert!(history.contains(tickets["chain_hash"].as_str().unwrap()));
    // Neither the vault nor the log contains the result.
    let trees =
        place.tree().into_values().chain(files_in(&place.home().join(".local")).into_values());
    assert!(trees.into_iter().all(|bytes| !bytes.windows(5).any(|found| found == b"\"ana\"")));
    place.ctx("trace verify").ok();
    assert_snapshot!(named(&place, &place.ctx("trace list --session s").ok().stdout), @"
    WRITER-1  2026-11-21T10:00:02.000Z  source record  21 bytes fetched  ana@example.com  -  s  contextnest://sources/users@1
    WRITER-2  2026-11-21T10:00:03.000Z  source record  2 bytes fetched   ana@example.com  -  s  contextnest://sources/tickets@1
    ");
    let name = report["trace"].as_str().unwrap();
    assert_snapshot!(named(&place, &place.ctx(&format!("trace show {name}")).ok().stdout), @"
    WRITER-2 hydration
      at         2026-11-21T10:00:03.000Z
      command    ctx source record sources/tickets --session s --tools 'search,get' --server jira --cache miss --duration-ms 412 --media-type application/json --json --depends-on WRITER-1
      principal  ana@example.com
      session    s
      head       checkpoint 1 sha256:87b48687e2133849c3b8a0b48846cc9a39154c52bcb0903ce5f61f3591a26f4d
      source     contextnest://sources/tickets@1 v1
      chain      sha256:48dbc4f79459208412a40721d86f7cb2951fb02c67db180f9e0eea77ee54c4d1
      server     jira
      tools      search, get
      cache      miss
      took       412 ms
      media type application/json
      result     2 bytes sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945
      used       WRITER-1
    ");
}

#[test]
fn record_refuses_calls_that_the_source_does_not_declare() {
    let place = vault();
    let fees = users(&place, b"x");
    place.ctx("read nodes/fees --session s").ok();
    let access = lines(&place)[1]["writer"].as_str().unwrap()[..8].to_owned() + "-2";
    let said = |line: &str| {
        let out = place.typed(&format!("source record {line}")).stdin("x").run();
        format!("{} {}", out.exit, out.stderr.lines().collect::<Vec<_>>().join(" | "))
    };
    let ok = "--session s --tools search --server jira";
    let cases = [
        "sources/users --tools search --server jira".to_owned(),
        "sources/users --session s --server jira".to_owned(),
        "sources/users --session s --tools search".to_owned(),
        "sources/users --session s --tools search --server hr".to_owned(),
        "sources/users --session s --tools search,delete --server jira".to_owned(),
        "sources/users --session s --tools '' --server jira".to_owned(),
        "sources/users --session s --tools search, --server jira".to_owned(),
        format!("nodes/fees {ok}"),
        format!("sources/none {ok}"),
        format!("sources/users {ok} --media-type json"),
        format!("sources/users {ok} --depends-on x"),
        format!("sources/tickets {ok} --depends-on 00000000-1"),
        format!("sources/tickets {ok} --depends-on {access}"),
        format!("sources/users {ok} --depends-on {fees}"),
        // A result of another session or principal was not used in this one.
        format!("sources/tickets --session t --tools search --server jira --depends-on {fees}"),
        format!("sources/tickets {ok} --depends-on {fees} --as bo@example.com"),
    ];
    let all: Vec<String> = cases.iter().map(|line| said(line)).collect();
    assert_snapshot!(named(&place, &all.join("\n")), @"
    2 error[usage]: a hydration needs a named session | hint: name the session of the agent: a command takes `--session` or CTX_SESSION, a call of a tool `contextnest/session` in `_meta`
    2 error: the following required arguments were not provided: |   --tools <NAME,...> |  | Usage: ctx source record --tools <NAME,...> --session <ID> --server <NAME> <ID> |  | For more information, try '--help'. | hint: for example `ctx source record sources/vendor-tickets --session s-42 --tools jira_search --server jira < result.json`
    2 error[usage]: `sources/users` declares the server `jira`, but none is given | hint: name the server that the source declares
    2 error[usage]: `sources/users` declares the server `jira`, not `hr` | hint: name the server that the source declares
    2 error[usage]: `sources/users` does not declare the tool `delete` | hint: its tools are search, get
    2 error: invalid value '' for '--tools <NAME,...>': expected names of tools with one comma between them, none empty |  | For more information, try '--help'.
    2 error: invalid value '' for '--tools <NAME,...>': expected names of tools with one comma between them, none empty |  | For more information, try '--help'.
    1 error[not-a-source]: `nodes/fees` is not a source | hint: `ctx source list` lists the sources
    1 error[unknown-id]: no document has the id `sources/none` | hint: `ctx list` lists published documents, `ctx status` lists new and changed ones
    2 error: invalid value 'json' for '--media-type <TYPE>': expected a media type such as `application/json` |  | For more information, try '--help'.
    2 error[usage]: `x` is not the name of a hydration: expected 8 hexadecimal digits, `-` and a number, as in `0a1b2c3d-17`
    1 error[unknown-trace]: no hydration `00000000-1` of this session is recorded in this vault | hint: record the dependency first; the answer has its name
    1 error[unknown-trace]: no hydration `WRITER-2` of this session is recorded in this vault | hint: record the dependency first; the answer has its name
    2 error[usage]: `WRITER-1` is a hydration of `sources/users`, which `sources/users` does not depend on | hint: name results of the sources in `source.depends_on`
    1 error[unknown-trace]: no hydration `WRITER-1` of this session is recorded in this vault | hint: record the dependency first; the answer has its name
    1 error[unknown-trace]: no hydration `WRITER-1` of this session is recorded in this vault | hint: record the dependency first; the answer has its name
    ");
    assert_eq!(lines(&place).len(), 2, "none of them is recorded");
}

#[test]
fn a_hydration_is_an_access_of_the_version_of_its_source() {
    let place = vault();
    let first = users(&place, b"one");
    place.edit("sources/users.md", "Call `search`.", "Call `search` twice.");
    place.ctx("publish sources/users").ok();
    let second = users(&place, b"two");
    let traces = |line: &str| -> Vec<String> {
        let found = place.ctx(line).ok();
        let value: Value = serde_json::from_str(&found.stdout).unwrap();
        let rows = value.get("traces").or(value.get("accesses")).unwrap().as_array().unwrap();
        rows.iter().map(|row| row["trace"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(traces("trace list --document sources/users --json"), [&*first, &*second]);
    assert_eq!(traces("trace list --document sources/users --version 1 --json"), [&*first]);
    assert_eq!(traces("trace list --document sources/users --version 2 --json"), [&*second]);
    assert_eq!(traces("trace list --checkpoint 2 --session s --json"), [&*second]);
    assert!(traces("trace list --document sources/tickets --json").is_empty());
    assert_eq!(traces("trace grep jira --json"), [&*first, &*second]);
    assert_eq!(traces("impact sources/users --json"), [&*first, &*second]);
    assert_eq!(traces("impact sources/users 2 --json"), [&*second]);
    let row = &place.ctx("impact sources/users 1 --json").ok().json("ctx.impact")["accesses"][0];
    assert_eq!((&row["event"], &row["sha256"]), (&"hydration".into(), &hash(b"one").into()));
}

#[test]
fn an_output_names_the_hydrations_before_it() {
    let place = vault();
    place.ctx("read nodes/fees --session s").ok();
    let first = users(&place, b"one");
    let line = "source record sources/tickets --session other --tools get --server jira";
    place.typed(line).stdin("x").run().ok();
    let output = place.typed("trace output --session s").stdin("answer").run().ok().stdout;
    users(&place, b"two");
    let shown = place.ctx(&format!("trace show {output}")).ok().stdout;
    assert_snapshot!(named(&place, shown.split_once("\n\n").unwrap().1), @"
    1 access and 1 hydration of the session before it
    WRITER-1  2026-11-21T10:00:02.000Z  1 text
    WRITER-2  2026-11-21T10:00:03.000Z  contextnest://sources/users@1 sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed
    ");
    let json = place.ctx(&format!("trace show {output} --json")).ok().json("ctx.trace.show");
    let before = json["before"]["accesses"].as_array().unwrap();
    assert_eq!(before.len(), 2);
    assert_eq!((&before[1]["trace"], &before[1]["event"]), (&first.into(), &"hydration".into()));
    assert_eq!(before[1]["result"]["result_hash"], hash(b"one"));
}

#[test]
fn exports_have_hydrations() {
    let place = vault();
    let first = users(&place, b"one");
    let line = "source record sources/tickets --session s --tools get --server jira --duration-ms 1500 \
                --error 'timed out' --depends-on";
    place.typed(&format!("{line} {first}")).stdin("").run().ok();
    place.typed("trace output --session s").stdin("answer").run().ok();
    let spans = place.ctx("trace list --format otlp").ok().stdout;
    let spans: Vec<Value> = spans.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let span = |n: usize| &spans[n]["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span(1)["status"], json!({"code": 2, "message": "timed out"}));
    let at = |key: &str| span(1)[key].as_str().unwrap().parse::<u64>().unwrap();
    assert_eq!(at("endTimeUnixNano") - at("startTimeUnixNano"), 1_500_000_000);
    let attribute = |n: usize, name: &str| -> Option<Value> {
        let all = span(n)["attributes"].as_array().unwrap().iter();
        all.clone().find(|a| a["key"] == name).map(|a| a["value"].clone())
    };
    let text = |text: &str| Some(json!({"stringValue": text}));
    assert_eq!(attribute(0, "contextnest.source.uri"), text("contextnest://sources/users@1"));
    assert_eq!(attribute(0, "contextnest.result.sha256"), text(&hash(b"one")));
    assert_eq!(attribute(1, "contextnest.error"), text("timed out"));
    assert_eq!(
        attribute(1, "contextnest.depends_on"),
        Some(json!({"arrayValue": {"values": [{"stringValue": first}]}}))
    );
    // The output is derived from both results, and one result from the other.
    let prov: Value =
        serde_json::from_str(&place.ctx("trace list --format prov-json").ok().stdout).unwrap();
    let name = |kind: &str, bytes: &[u8]| format!("{kind}:{}", &hash(bytes)[7..]);
    let derived: Vec<(String, String)> = prov["wasDerivedFrom"]
        .as_object()
        .unwrap()
        .values()
        .map(|of| {
            let text = |key: &str| of[key].as_str().unwrap().to_owned();
            (text("prov:generatedEntity"), text("prov:usedEntity"))
        })
        .collect();
    let (one, none) = (name("result", b"one"), name("result", b""));
    assert!(derived.contains(&(none.clone(), one.clone())), "{derived:?}");
    let of_output: Vec<&String> =
        derived.iter().filter(|(of, _)| of.starts_with("output:")).map(|(_, from)| from).collect();
    assert_eq!(of_output.len(), 2, "{derived:?}");
    assert!(of_output.contains(&&one) && of_output.contains(&&none));
    let versions: Vec<&String> =
        derived.iter().map(|(_, from)| from).filter(|from| from.starts_with("version:")).collect();
    assert_eq!(versions.len(), 2, "{derived:?}");
    assert!(versions.iter().all(|version| prov["entity"].get(version.as_str()).is_some()));
}

#[test]
fn a_bundle_proves_which_source_was_hydrated() {
    let place = vault();
    let first = users(&place, b"one");
    place.edit("sources/users.md", "Call `search`.", "Call `search` twice.");
    place.ctx("publish sources/users").ok();
    place.ctx("read nodes/fees --session s").ok();
    let items = |scope: &str| -> Vec<(String, String, String)> {
        place.ctx(&format!("evidence export {scope} -o ../b.tar --force")).ok();
        let report = place.ctx("evidence verify ../b.tar --json").ok().json("ctx.evidence.verify");
        let items = report["items"].as_array().unwrap().iter();
        let text = |item: &Value, key: &str| item[key].as_str().unwrap().to_owned();
        items
            .map(|item| (text(item, "kind"), text(item, "name"), text(item, "verdict")))
            .filter(|(kind, ..)| ["hydration", "version"].contains(&kind.as_str()))
            .filter(|(_, name, _)| !name.contains("config.yaml") && !name.contains("CONTEXT.md"))
            .collect()
    };
    let hydrated = ("hydration".to_owned(), first.clone(), "proved".to_owned());
    let version =
        |n: u32| ("version".to_owned(), format!("sources/users v{n}"), "proved".to_owned());
    assert_eq!(items(&first), [version(1), hydrated.clone()]);
    assert_eq!(items("--document sources/users"), [version(1), version(2), hydrated.clone()]);
    let of_session = items("--session s");
    assert!(of_session.contains(&hydrated) && of_session.contains(&version(1)), "{of_session:?}");
}

#[test]
fn a_hydration_that_cannot_be_recorded_is_an_error() {
    let place = vault();
    let run = |dir: &str| -> Output {
        let line = "source record sources/users --session s --tools search --server jira";
        place.typed(line).var("CTX_AUDIT_DIR", dir).stdin("x").run()
    };
    let folder = |name: &str| place.home().join(name).to_str().unwrap().to_owned();
    std::fs::write(place.home().join("blocked"), "").unwrap();
    let failed = run(&folder("blocked")).exits(5);
    assert!(failed.stderr.contains("the hydration was not recorded"), "{}", failed.stderr);
    assert_eq!(failed.stdout, "");
    run(&folder("logs")).ok();
}

/// A disk that refuses writes to an access log, or only to make them durable.
#[derive(Debug)]
struct Full {
    is_sync: bool,
}

impl Overseer for Full {
    fn judge(&self, change: &Change<'_>) -> Verdict {
        match change {
            Change::Sync { path } if self.is_sync && path.contains("/audit") => Verdict::Refuse(5),
            Change::Write { path, .. } if !self.is_sync && path.contains("/audit") => {
                Verdict::Refuse(28)
            }
            _ => Verdict::Allow,
        }
    }
}

#[test]
fn a_hydration_is_as_durable_as_the_vault_asks() {
    let place = vault();
    let line = "source record sources/users --session s --tools search --server jira";
    let on = |is_sync: bool| place.typed(line).stdin("x").on(Arc::new(Full { is_sync }));
    // An ungoverned vault does not wait for the disk; a failed write is an error all the same.
    on(true).ok();
    assert_eq!(on(false).exits(5).stdout, "");
    let config = place.read(".context/config.yaml");
    place.write(".context/config.yaml", config.replace("audit:\n", "audit:\n  durability: sync\n"));
    let refused = on(true).exits(5);
    assert_eq!(refused.stdout, "");
    assert!(refused.stderr.contains("the hydration was not recorded"), "{}", refused.stderr);
    place.ctx("trace verify").ok();
}

#[test]
fn a_large_result_is_hashed_and_a_larger_one_refused() {
    let place = vault();
    let line = "source record sources/users --session s --tools search --server jira --json";
    let most = vec![0; 64 << 20];
    let report = place.typed(line).stdin(&most).run().ok().json("ctx.source.record");
    assert_eq!(
        (&report["bytes"], &report["result_hash"]),
        (&most.len().into(), &hash(&most).into())
    );
    let more = place.typed(line).stdin([most, vec![0]].concat()).run().exits(1);
    assert_eq!(more.json("ctx.error")["code"], "refused");
    assert_eq!(lines(&place).len(), 1);
}
