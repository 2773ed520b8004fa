//! Every operation that returns texts, over both front ends: a text leaves only together with the
//! line of the access log that has its version and hash (`spec/audit.md`, AUDIT-5). The cases come
//! from the table of the verbs, so that a new verb or tool without a case fails.

use std::collections::BTreeSet;
use std::fs;

use contextnest::files::vault::disk::Disk;
use contextnest::model::verb::{Discloses, Verb};
use serde_json::{Value, json};

use crate::harness::{Place, files_in};
use crate::mcp::STATELESS;
use crate::mcp_writing::Client;
use crate::stage::{shop, staged_at};

/// A word that every text of the vault contains.
const MARKER: &str = "zebrafish";

/// A command of each verb that returns texts, and a file or folder that it writes, next to
/// the vault.
const COMMANDS: &[(Verb, &str, &str)] = &[
    (Verb::Diff, "diff nodes/a 1 2", ""),
    (Verb::Restore, "restore nodes/b --version 1 --dry-run", ""),
    (Verb::ReviewShow, "review show nodes/a", ""),
    (Verb::List, "list --snippets", ""),
    (Verb::Read, "read nodes/a", ""),
    (Verb::Resolve, "resolve type:document --bodies", ""),
    (Verb::Search, "search zebrafish", ""),
    (Verb::Context, "context", ""),
    (Verb::PackShow, "pack show p", ""),
    (Verb::SourceShow, "source show sources/prices", ""),
    (Verb::SourceFresh, "source fresh sources/prices --raw", ""),
    (Verb::SourceDiff, "source diff sources/prices", ""),
    (Verb::Blame, "blame nodes/a", ""),
    (Verb::Show, "show nodes/a 1", ""),
    (Verb::Checkout, "checkout 2 ../out", "../out"),
    (Verb::EvidenceExport, "evidence export --output ../x.tar", "../x.tar"),
    (Verb::StageShow, "stage show STAGED", ""),
    (Verb::StageDiff, "stage diff STAGED", ""),
    (Verb::SkillInstall, "skill install", "AGENTS.md"),
];

/// Returns the arguments of a call of each tool.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("context_init", json!({})),
        ("context_overview", json!({})),
        ("context_search", json!({"query": MARKER})),
        ("context_resolve", json!({"selector": "type:document"})),
        ("context_read", json!({"id": "nodes/a"})),
        ("context_neighbors", json!({"id": "nodes/a"})),
        ("context_pack", json!({"id": "p", "bodies": true})),
        ("context_diff", json!({"id": "nodes/a", "v1": 1, "v2": 2})),
        ("context_history", json!({"id": "nodes/a"})),
        ("context_blame", json!({"id": "nodes/a"})),
        ("context_check", json!({"uris": ["contextnest://nodes/a@1"]})),
        ("context_verify", json!({})),
        ("context_replay", json!({})),
        ("context_review", json!({"id": "nodes/a"})),
        ("context_create", json!({"id": "nodes/new", "body": "zebrafish"})),
        ("context_update", json!({"id": "nodes/a", "body": "zebrafish draft"})),
        ("context_restore", json!({"id": "nodes/b", "version": 1})),
        ("context_submit", json!({"ids": ["nodes/b"]})),
        ("context_withdraw", json!({"ids": ["nodes/a"]})),
        (
            "context_source_record",
            json!({"id": "sources/prices", "tools": ["list_prices"], "result": "zebrafish"}),
        ),
        ("context_stage_list", json!({})),
        ("context_reject", json!({"ids": ["nodes/a"], "reason": "no"})),
        ("context_approve", json!({"id": "nodes/a", "version": 3})),
        ("context_publish", json!({"id": "nodes/a", "version": 3})),
        ("context_stage_promote", json!({"entry": "STAGED", "to": "nodes/promoted"})),
        (
            "context_assign_steward",
            json!({"who": "zed@x.com", "role": "viewer", "whole_vault": true}),
        ),
    ]
}

/// Returns a governed vault with a text of each kind, and the URI of a staged result.
fn vault() -> (Place, String) {
    let place = shop(Place::vault());
    place.edit("sources/prices.md", "Call ", "Call zebrafish ");
    place.edit("sources/prices.md", "[list_prices]", "[list_prices]\n  cache_ttl: 36000");
    place.write("nodes/a.md", "# Alpha\n\nzebrafish one\n");
    place.write("nodes/b.md", "# Beta\n\nzebrafish two\n");
    place.write("CONTEXT.md", "# How\n\nzebrafish rules\n");
    place.ctx("publish --all").ok();
    place.write("nodes/a.md", place.read("nodes/a.md") + "zebrafish three\n");
    place.write("nodes/b.md", place.read("nodes/b.md") + "zebrafish five\n");
    place
        .args(&[
            "pack",
            "add",
            "p",
            "--label",
            "P",
            "--query",
            "type:document",
            "--instructions",
            "zebrafish pack",
        ])
        .run()
        .ok();
    place.ctx("publish --all").ok();
    let holder =
        |name: &str, role: &str| format!("  - {{principal: {name}@x.com, role: {role}}}\n");
    let holders = [holder("kim", "reviewer"), holder("bo", "reviewer"), holder("ana", "editor")];
    place.write("stewards.yaml", format!("version: 1\nvault:\n{}", holders.concat()));
    place.ctx("govern on --as kim@x.com").ok();
    let file = place.read("nodes/a.md");
    place.write("nodes/a.md", file + "zebrafish four\n");
    place.ctx("submit nodes/a --as ana@x.com").ok();
    let stage = |payload: &[u8], at| {
        staged_at(&place, Disk::default(), ("kim@x.com", "s"), (payload, at)).unwrap()
    };
    stage(b"zebrafish [0]\n", "2026-11-21T10:01:00.000Z");
    let staged = stage(b"zebrafish [1]\n", "2026-11-21T10:01:01.000Z").name.to_string();
    (place, staged)
}

/// Returns the texts in the lines of an access log.
fn recorded(log: &std::path::Path) -> Vec<Value> {
    if !log.is_dir() {
        return Vec::new();
    }
    let files = files_in(log).into_iter().filter(|(path, _)| path.ends_with(".jsonl"));
    let lines: Vec<Value> = files
        .flat_map(|(_, bytes)| {
            let text = String::from_utf8(bytes).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
        })
        .collect();
    let accesses = lines.iter().filter(|line| line["event"] == "access");
    accesses.flat_map(|line| line["documents"].as_array().cloned().unwrap_or_default()).collect()
}

/// Returns a text without version or hash, or with another hash than its history; `None` if all
/// are sound.
fn fault(place: &Place, what: &str, texts: &[Value]) -> Option<String> {
    if texts.is_empty() {
        return Some(format!("{what}: a text left without its line"));
    }
    let is_sound = |text: &&Value| {
        let hash = |key: &str| text[key].as_str().unwrap_or_default();
        let uri = text["uri"].as_str().or(text["id"].as_str()).unwrap_or_default();
        let name = uri.split(['@', '#']).next().unwrap().split("nodes/").nth(1);
        let is_of_history = name.is_none_or(|name| {
            let history = place.read(&format!("nodes/.versions/{name}/history.yaml"));
            history.contains(hash("chain_hash"))
        });
        text["version"].is_u64()
            && hash("chain_hash").starts_with("sha256:")
            && hash("sha256").len() > 60
            && is_of_history
    };
    let unsound = texts.iter().find(|text| !is_sound(text));
    unsound.map(|text| format!("{what}: the line has no version and hash of it: {text}"))
}

#[test]
fn each_command_that_hands_out_texts_records_them() {
    let (place, staged) = vault();
    let mut faults = Vec::new();
    let disclosing = Verb::all().filter(|verb| verb.discloses() == Discloses::Texts);
    for verb in disclosing.filter(|verb| !verb.group().is_empty()) {
        let case = COMMANDS.iter().find(|(of, ..)| *of == verb);
        let (_, line, written) = case.unwrap_or_else(|| panic!("no case for `{}`", verb.as_str()));
        let at = place.duplicate();
        at.ctx("read nodes/a --session s --as kim@x.com").ok();
        let result = "source record sources/prices --session s --tools list_prices --server shop";
        at.typed(&format!("{result} --as kim@x.com")).stdin("zebrafish [2]\n").run().ok();
        let audit = at.home().join(".local/state/contextnest/audit");
        let before = recorded(&audit).len();
        let line = line.replace("STAGED", &staged);
        let said = at.ctx(&format!("{line} --as kim@x.com --session s"));
        let path = at.path(written);
        let mut output = said.whole();
        if path.is_dir() && !written.is_empty() {
            let files = files_in(&path).into_values();
            files.for_each(|bytes| output.push_str(&String::from_utf8_lossy(&bytes)));
        } else if !written.is_empty() {
            output.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()));
        }
        if verb == Verb::SkillInstall {
            let files = files_in(&at.path(".claude")).into_values();
            files.for_each(|bytes| output.push_str(&String::from_utf8_lossy(&bytes)));
        }
        if !output.contains(MARKER) {
            faults.push(format!("{line}: the case shows no text: {}", said.whole()));
            continue;
        }
        let texts = recorded(&audit).split_off(before);
        faults.extend(fault(&at, &line, &texts));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n----\n"));
}

#[test]
fn each_tool_that_hands_out_texts_records_them() {
    let (place, staged) = vault();
    let tools: BTreeSet<&str> = Verb::all().flat_map(Verb::tools).map(|tool| tool.name).collect();
    let calls = calls();
    let tried: BTreeSet<&str> = calls.iter().map(|(tool, _)| *tool).collect();
    assert_eq!(tried, tools, "each tool has a case");
    // Their answers contain no text, but the texts that they release are recorded all the same.
    let silent = ["context_restore", "context_update"];
    let (mut shown, mut faults) = (BTreeSet::new(), Vec::new());
    for (tool, arguments) in calls {
        let at = place.duplicate();
        let text = arguments.to_string().replace("STAGED", &staged);
        let arguments: Value = serde_json::from_str(&text).unwrap();
        let audit = at.home().join(".local/state/contextnest/audit");
        let before = recorded(&audit).len();
        let mut client = Client::connect(&at, "kim", STATELESS, true);
        let answer = client.call(tool, &arguments, &json!({}), true);
        client.end();
        let asked = text.contains(MARKER);
        if answer.to_string().contains(MARKER) && !(asked && answer["result"]["isError"] == true) {
            shown.insert(tool);
            faults.extend(fault(&at, tool, &recorded(&audit).split_off(before)));
        }
    }
    let texts = Verb::all().filter(|verb| verb.discloses() == Discloses::Texts);
    for tool in texts.flat_map(Verb::tools).filter(|tool| !silent.contains(&tool.name)) {
        if !shown.contains(tool.name) {
            faults.push(format!("{}: the case shows no text", tool.name));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n----\n"));
}
