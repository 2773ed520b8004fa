//! Ids over MCP are ids, never paths: however an id is written, a document that the principal may
//! not know of answers like a missing one, byte for byte (`spec/mcp.md`, MCP-36).

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use contextnest::files::vault::disk::{Change, Overseer, Verdict};
use contextnest::model::digest::{Digest, computed};
use regex::Regex;
use serde_json::{Value, json};

use crate::harness::{Place, stride};
use crate::mcp::{STATELESS, opener, request};

/// Each call that names something, as `ID`.
const CALLS: &[(&str, &str)] = &[
    ("context_read", r#"{"id": "ID"}"#),
    ("context_read", r#"{"id": "ID", "outline": true, "at": "1"}"#),
    ("context_read", r#"{"id": "ID", "draft": true}"#),
    ("context_blame", r#"{"id": "ID"}"#),
    ("context_history", r#"{"id": "ID"}"#),
    ("context_neighbors", r#"{"id": "ID"}"#),
    ("context_diff", r#"{"id": "ID", "v1": 1, "v2": 2}"#),
    ("context_check", r#"{"uris": ["ID"]}"#),
    ("context_verify", r#"{"ids": ["ID"]}"#),
    ("context_overview", r#"{"selector": "ID"}"#),
    ("context_resolve", r#"{"selector": "ID", "bodies": true}"#),
    ("context_pack", r#"{"id": "ID"}"#),
    ("context_search", r#"{"query": "ID"}"#),
    ("context_replay", r#"{"trace": "ID"}"#),
    ("context_create", r#"{"id": "ID", "body": "x"}"#),
    ("context_create", r#"{"id": "ID", "body": "x", "submit": true}"#),
    ("context_create", r#"{"id": "ID", "body": "x", "tags": ["open"], "submit": true}"#),
    ("context_update", r#"{"id": "ID", "body": "x"}"#),
    ("context_update", r#"{"id": "ID", "body": "x", "submit": true}"#),
    ("context_update", r#"{"id": "ID", "body": "x", "expected_version": 1}"#),
    ("context_update", r#"{"id": "ID", "title": "T", "submit": true, "supersede": true}"#),
    ("context_update", r#"{"id": "ID", "body": "x", "expected_live": "ZEROS"}"#),
    ("context_submit", r#"{"ids": ["ID"]}"#),
    ("context_submit", r#"{"ids": ["ID"], "renew": true}"#),
    ("context_submit", r#"{"ids": ["ID"], "supersede": true, "expected_version": 1}"#),
    ("context_submit", r#"{"ids": ["ID"], "expected_live": "ZEROS"}"#),
    ("context_withdraw", r#"{"ids": ["ID"]}"#),
    ("context_withdraw", r#"{"change": "ID"}"#),
    ("context_restore", r#"{"id": "ID", "version": 1}"#),
    ("context_source_record", r#"{"id": "ID", "tools": ["t"]}"#),
    ("context_stage_list", r#"{"source": "ID"}"#),
    ("context_stage_promote", r#"{"entry": "00000000-1", "to": "ID"}"#),
    ("context_stage_promote", r#"{"entry": "ID", "to": "nodes/open/n"}"#),
    ("context_review", r#"{"id": "ID"}"#),
    ("context_review", r#"{"id": "ID", "version": 1}"#),
    ("context_approve", r#"{"id": "ID", "version": 1}"#),
    ("context_approve", r#"{"id": "ID", "version": 2}"#),
    ("context_reject", r#"{"ids": ["ID"], "reason": "r"}"#),
    ("context_reject", r#"{"change": "ID", "reason": "r"}"#),
    ("context_publish", r#"{"id": "ID"}"#),
    ("context_publish", r#"{"id": "ID", "version": 2}"#),
    ("context_assign_steward", r#"{"who": "z@x.com", "role": "viewer", "document": "ID"}"#),
    ("context_assign_steward", r#"{"who": "z@x.com", "role": "viewer", "folder": "ID"}"#),
];

/// Arguments that name nothing of a vault.
const NO_NAMES: [&str; 26] = [
    "at",
    "body",
    "budget",
    "change",
    "cache",
    "cursor",
    "depends_on",
    "direction",
    "error",
    "expected_live",
    "kind",
    "lines",
    "media_type",
    "note",
    "reason",
    "result",
    "role",
    "server",
    "tag",
    "tags",
    "title",
    "tokenizer",
    "tools",
    "type",
    "who",
    "entry",
];

/// Invalid ways to write an id: paths to the same file, folders, and others.
const PATHS: [&str; 12] = [
    "ID.md",
    "./ID",
    "./ID.md",
    "a/../ID",
    "nodes/../ID",
    "../vault/ID",
    "ID/",
    "ROOT/ID",
    "ROOT/ID.md",
    "ID/.",
    "//ID",
    "nodes//ID",
];

/// Ways to write an id, its sections and checkpoints, and lookalikes.
const IDS: [&str; 18] = [
    "ID",
    "ID@1",
    "ID@99",
    "ID@x",
    "ID#pay",
    "ID#",
    "ID@1#pay",
    "contextnest://ID",
    "CONTEXTNEST://ID",
    "contextnest://ID@1",
    "contextnest://ID#pay",
    "contextnest://ID/",
    "contextnest://ID.md",
    " ID",
    "ID ",
    "ID\n",
    "id:ID",
    "ID.MD",
];

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: ana@x.com, role: reviewer}\n  - \
    {principal: bo@x.com, role: reviewer}\nfolders:\n  nodes/open/:\n    - {principal: zed@x.com, \
    role: reviewer}\n    - {principal: eve@x.com, role: editor}\n  nodes/hid/: &kim\n    - {principal: kim@x.com, role: \
    reviewer}\n    - {principal: sue@x.com, role: editor}\n  sources/hid/: &x\n    - {principal: kim@x.com, role: reviewer}\n    - {principal: sue@x.com, role: editor}\ntags:\n  open: [{principal: tim@x.com, role: editor}]\n  secret: [{principal: kim@x.com, role: reviewer}, {principal: sue@x.com, role: editor}]\n";

/// Returns a vault in which everything below `nodes/hid/` and with `#secret` is Kim's and Sue's:
/// published, retired, submitted, drafted, or only a file.
fn place() -> Place {
    let place = Place::vault();
    place.edit(
        ".context/config.yaml",
        "layout:",
        "reads: stewards\nservers: {s: {transport: mcp}}\nlayout:",
    );
    place.write("nodes/open/a.md", "# A\n");
    for id in ["nodes/hid/pay", "nodes/hid/old", "nodes/hid/a b", "nodes/hid/c#d", "nodes/hid/Big"]
    {
        place.write(&format!("{id}.md"), "---\ntitle: Pay\n---\n# Pay\n\nwords\n");
    }
    place.write("nodes/tagged.md", "---\ntitle: Pay\ntags: [secret]\n---\n# Pay\n\nwords\n");
    place.write(
        "sources/hid/src.md",
        "---\ntitle: S\ntype: source\nsource: {transport: mcp, server: s, tools: [t]}\n---\nx\n",
    );
    place.write("packs/sec.yml", "id: sec\nlabel: Sec\nquery: \"contextnest://nodes/hid/\"\n");
    let run = |line: &str| {
        let line = format!("{line} --as kim@x.com");
        place.args(&crate::harness::words(&line)).run().ok();
    };
    run("publish --all");
    place.write("stewards.yaml", STEWARDS.replace("&kim", "").replace("&x", ""));
    run("govern on");
    run("retire nodes/hid/old --emergency --reason r");
    place.write("nodes/hid/pay.md", place.read("nodes/hid/pay.md") + "more\n");
    for id in ["nodes/hid/sub", "nodes/tagsub"] {
        place.write(&format!("{id}.md"), "---\ntitle: T\ntags: [secret]\n---\nwords\n");
    }
    place.write("nodes/hid/raw.md", "# Raw\n");
    for line in [
        "submit nodes/hid/pay nodes/hid/sub nodes/tagsub --change hid --as sue@x.com",
        "add nodes/hid/dra --draft --body words --as sue@x.com",
    ] {
        place.ctx(line).ok();
    }
    place
}

/// Pairs of a hidden name and a missing one, without the part that the form adds.
const PAIRS: [(&str, &str); 13] = [
    ("nodes/hid/pay", "nodes/hid/non"),
    ("nodes/hid/old", "nodes/hid/non"),
    ("nodes/hid/sub", "nodes/hid/non"),
    ("nodes/hid/dra", "nodes/hid/non"),
    ("nodes/hid/raw", "nodes/hid/non"),
    ("nodes/hid/a b", "nodes/hid/x b"),
    ("nodes/hid/c#d", "nodes/hid/x#d"),
    ("nodes/hid/BIG", "nodes/hid/NON"),
    ("nodes/tagged", "nodes/nobody"),
    ("nodes/tagsub", "nodes/nobody"),
    ("nodes/hid", "nodes/had"),
    ("sources/hid/src", "sources/hid/non"),
    ("packs/sec.yml", "packs/non.yml"),
];

/// Principals who may read none of it: a reviewer of the vault, a reviewer and an editor of a
/// folder, an editor of a tag, and one without a role.
const READERS: [&str; 5] = ["ana", "zed", "eve", "tim", "nobody"];

/// Returns the answers of a server to these calls.
fn answers(place: &Place, who: &str, calls: &[(String, Value)]) -> BTreeMap<u64, Value> {
    let mut messages = opener(STATELESS);
    for (n, (tool, arguments)) in calls.iter().enumerate() {
        let params = json!({"name": tool, "arguments": arguments});
        let mut call = request(STATELESS, n as u64 + 1, "tools/call", params);
        call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({"elicitation": {"form": {}}});
        messages.push(call);
    }
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let line = format!("mcp --profile reviewer --as {who}@x.com");
    let said = place.typed(&line).stdin(lines).here().ok().stdout;
    let answers = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers.map(|mut answer| (answer["id"].as_u64().unwrap(), answer["result"].take())).collect()
}

/// Returns the calls with one way to write each name.
fn calls(place: &Place, form: &str, id: &str) -> Vec<(String, Value)> {
    let root = place.root().display().to_string();
    let name = form.replace("ROOT", &root).replace("ID", id);
    let zeros = format!("sha256:{}", "0".repeat(64));
    let arguments = |template: &str| {
        let mut arguments: Value =
            serde_json::from_str(&template.replace("ZEROS", &zeros)).unwrap();
        for (_, value) in arguments.as_object_mut().unwrap() {
            match value {
                Value::String(text) if text == "ID" => *text = name.clone(),
                Value::Array(all) if all[0] == "ID" => all[0] = json!(name),
                _ => {}
            }
        }
        arguments
    };
    CALLS.iter().map(|(tool, template)| ((*tool).to_owned(), arguments(template))).collect()
}

/// Returns an answer in which `ID` replaces a name, however it is escaped, without the random id of
/// a question.
fn without(answer: &Value, id: &str) -> String {
    let mut answer = answer.clone();
    answer.as_object_mut().unwrap().remove("requestState");
    let first = id.split([' ', '#']).next().unwrap();
    let text = answer.to_string().replace(first, "ID").replace(&first.to_lowercase(), "ID");
    // A warning about the name of a file has the last part of the id.
    let name = first.rsplit('/').next().unwrap();
    let text = text.replace(&format!("`{name} "), "`NAME ");
    // A text that names its id has another hash.
    static RANDOM: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("sha256:[0-9a-f]{64}|[0-9]{2}:[0-9]{2}:[0-9]{2}\\.000Z").unwrap()
    });
    RANDOM.replace_all(&text, "HASH").into_owned()
}

#[test]
fn every_argument_that_names_something_is_tried() {
    let schema = Place::vault().ctx("mcp schema").ok().stdout;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let tools =
        schema.as_object().unwrap().iter().filter(|(_, tool)| tool["inputSchema"].is_object());
    let mut seen = 0;
    for (tool, described) in tools {
        for (name, argument) in described["inputSchema"]["properties"].as_object().unwrap() {
            let is_name = argument["type"] == "string" || argument["type"] == "array";
            if !is_name || NO_NAMES.contains(&name.as_str()) {
                continue;
            }
            seen += 1;
            let is_tried = |(of, template): &&(&str, &str)| {
                let arguments: Value = serde_json::from_str(template).unwrap();
                of == tool && (arguments[name] == "ID" || arguments[name][0] == "ID")
            };
            assert!(CALLS.iter().any(|call| is_tried(&call)), "{tool} {name}");
        }
    }
    assert!(seen > 25, "{seen}");
}

/// Returns true if this principal may create the missing document of a pair, as a reviewer of the
/// vault or an editor by a tag (REV-25). Then the document exists.
fn may_create(who: &str, hidden: &str) -> bool {
    ["ana", "tim"].contains(&who) && !hidden.starts_with("nodes/hid")
}

/// Returns the answers that distinguish hidden from missing names: of each `step`-th call, each by
/// the next reader, or by every one if `step` is 1.
fn told(step: usize) -> Vec<String> {
    let place = place();
    let forms: Vec<&str> = IDS.into_iter().chain(PATHS).collect();
    let mut told = Vec::new();
    for (reader, who) in READERS.into_iter().enumerate() {
        // A reviewer of the vault reads its packs.
        let pairs = PAIRS.into_iter().filter(|(one, _)| who != "ana" || !one.starts_with("packs"));
        for (pair, (one, none)) in pairs.enumerate() {
            let all = |id: &str| -> Vec<(String, Value)> {
                let all = forms.iter().flat_map(|form| calls(&place, form, id)).enumerate();
                let is_asked = |n: usize| step == 1 || (n + pair) % (step * 5) == reader;
                let all = all.filter(|(n, _)| is_asked(*n)).map(|(_, call)| call);
                all.filter(|(tool, _)| tool != "context_create" || !may_create(who, one)).collect()
            };
            let (of_one, of_none) = (all(one), all(none));
            let (hidden, absent) = (answers(&place, who, &of_one), answers(&place, who, &of_none));
            for (n, (tool, arguments)) in (1..).zip(&of_one) {
                let (hidden, absent) = (without(&hidden[&n], one), without(&absent[&n], none));
                if hidden != absent {
                    told.push(format!("{who} {tool} {arguments}\n  {hidden}\n  {absent}"));
                }
            }
        }
    }
    told
}

#[test]
fn a_hidden_document_answers_like_none_however_its_id_is_written() {
    let told = told(12 * stride(2));
    assert!(told.is_empty(), "{} answers differ\n{}", told.len(), told.join("\n"));
}

#[test]
#[ignore = "takes minutes: every reader makes every call"]
fn a_hidden_document_answers_like_none_to_every_reader() {
    let told = told(1);
    assert!(told.is_empty(), "{} answers differ\n{}", told.len(), told.join("\n"));
}

#[test]
fn a_path_is_not_an_id() {
    let place = place();
    // The first id may be read.
    let ids = [("nodes/open/a", "zed"), ("nodes/hid/pay", "zed"), ("nodes/hid/non", "zed")];
    for (at, (id, who)) in ids.into_iter().enumerate() {
        let (folder, _) = id.rsplit_once('/').unwrap();
        let unknown = calls(&place, "ID", &format!("{folder}/nothing.md"));
        let unknown = answers(&place, who, &unknown);
        // In a brief run the ids share the paths.
        for form in PATHS.into_iter().skip(at % stride(3)).step_by(stride(3)) {
            let asked = calls(&place, form, id);
            let told = answers(&place, who, &asked);
            for (n, (tool, arguments)) in (1..).zip(&asked) {
                let is_id =
                    ["id", "ids", "document"].iter().any(|name| arguments.get(*name).is_some());
                if !is_id || ["context_create", "context_pack"].contains(&tool.as_str()) {
                    continue;
                }
                let code = |answer: &Value| answer["structuredContent"]["code"].clone();
                let (told, unknown) = (&told[&n], &unknown[&n]);
                assert_eq!(told["isError"], true, "{tool} {arguments}: {told}");
                let is_unknown = code(told) == "unknown-id" || code(told) == code(unknown);
                assert!(is_unknown, "{tool} {arguments}: {told}");
            }
        }
    }
}

/// Counts the accesses to each path of a vault.
#[derive(Debug, Default)]
pub(crate) struct Looks(pub(crate) Mutex<BTreeMap<String, usize>>);

impl Overseer for Looks {
    fn judge(&self, _: &Change<'_>) -> Verdict {
        Verdict::Allow
    }

    fn looks(&self, path: &str) {
        *self.0.lock().unwrap().entry(path.to_owned()).or_default() += 1;
    }
}

/// The cost of a call: how often each file is accessed, how many digests are computed, and of how
/// many bytes.
#[derive(Debug)]
struct Cost {
    looks: BTreeMap<String, usize>,
    digests: [u64; 2],
}

impl Cost {
    /// Returns the cost of a call about an id. No other thread of this process may compute digests.
    fn of(place: &Place, who: &str, call: &(String, Value), id: &str) -> Self {
        let looks = Arc::new(Looks::default());
        let mut messages = opener(STATELESS);
        let params = json!({"name": call.0, "arguments": call.1});
        messages.push(request(STATELESS, 1, "tools/call", params));
        let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
        let line = format!("mcp --profile reviewer --as {who}@x.com");
        let before = computed();
        place.typed(&line).stdin(lines).on(looks.clone()).ok();
        let after = computed();
        let found = looks.0.lock().unwrap().clone();
        let looks = found.into_iter().map(|(path, times)| (path.replace(id, "ID"), times));
        Self { looks: looks.collect(), digests: [0, 1].map(|n| after[n] - before[n]) }
    }

    /// Returns true if two calls cost the same. Numbers in the lines of logs have
    /// different lengths.
    fn is_as(&self, other: &Self) -> bool {
        let bytes = self.digests[1].abs_diff(other.digests[1]);
        self.looks == other.looks && self.digests[0] == other.digests[0] && bytes < 32
    }

    /// Describes the difference from another cost.
    fn differs(&self, other: &Self) -> String {
        let more = self.looks.iter().filter(|(path, n)| other.looks.get(*path) != Some(n));
        let less = other.looks.iter().filter(|(path, n)| self.looks.get(*path) != Some(n));
        let (more, less): (Vec<_>, Vec<_>) = (more.collect(), less.collect());
        format!("{more:?}, {less:?}, digests {:?}, {:?}", self.digests, other.digests)
    }
}

/// Returns the calls whose cost differs between hidden and missing names: of each `step`-th call,
/// each by the next reader, or by every one if `step` is 1.
fn costs_that_differ(step: usize) -> Vec<String> {
    let place = place();
    let mut told = Vec::new();
    let pairs = [PAIRS[0], PAIRS[1], PAIRS[2], PAIRS[3], PAIRS[4], PAIRS[8], PAIRS[9]];
    for (n, (one, none)) in pairs.into_iter().enumerate() {
        let all = calls(&place, "ID", one).into_iter().zip(calls(&place, "ID", none));
        for (m, (of_one, of_none)) in all.enumerate().filter(|(m, _)| (m + n) % step == 0) {
            let readers = READERS.iter().enumerate();
            let is_asked = |r: usize| step == 1 || r == (m / step + n) % READERS.len();
            for who in readers.filter(|(r, _)| is_asked(*r)).map(|(_, who)| *who) {
                if of_one.0 == "context_create" && may_create(who, one) {
                    continue;
                }
                let hidden = Cost::of(&place, who, &of_one, one);
                let absent = Cost::of(&place, who, &of_none, none);
                assert!(!hidden.looks.is_empty() && (hidden.digests[0] > 0) == is_counted());
                if !hidden.is_as(&absent) {
                    let (tool, arguments) = &of_one;
                    told.push(format!("{who} {tool} {arguments}: {}", hidden.differs(&absent)));
                }
            }
        }
    }
    told
}

/// Returns true if digests are counted.
fn is_counted() -> bool {
    let before = computed();
    let _ = Digest::of(b"x");
    computed() != before
}

/// Runs one of these tests in a process of its own, where no other test computes digests; returns
/// true in that process.
fn is_alone(name: &str) -> bool {
    const ALONE: &str = "CTX_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut alone = Command::new(std::env::current_exe().unwrap());
    let name = format!("mcp_ids::{name}");
    let args = ["--exact", &name, "--include-ignored", "--test-threads=1", "--nocapture"];
    let said = alone.args(args).env(ALONE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout) + String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && text.contains("1 passed"), "{text}");
    false
}

#[test]
fn a_call_about_a_hidden_document_costs_the_same_as_one_about_none() {
    if is_alone("a_call_about_a_hidden_document_costs_the_same_as_one_about_none") {
        let told = costs_that_differ(2 * stride(2));
        assert!(told.is_empty(), "{} calls differ\n{}", told.len(), told.join("\n"));
    }
}

#[test]
#[ignore = "takes minutes: every reader makes every call"]
fn a_call_about_a_hidden_document_costs_the_same_to_every_reader() {
    if is_alone("a_call_about_a_hidden_document_costs_the_same_to_every_reader") {
        let told = costs_that_differ(1);
        assert!(told.is_empty(), "{} calls differ\n{}", told.len(), told.join("\n"));
    }
}

#[test]
fn a_command_about_a_hidden_document_answers_like_one_about_none() {
    let place = place();
    let verbs: [&[&str]; 14] = [
        &["read", "ID"],
        &["history", "ID"],
        &["diff", "ID"],
        &["diff", "ID", "1", "2"],
        &["blame", "ID"],
        &["show", "ID", "1"],
        &["owners", "ID"],
        &["neighbors", "ID"],
        &["impact", "ID"],
        &["check", "ID"],
        &["trace", "list", "--document", "ID"],
        &["evidence", "export", "--document", "ID", "-o", "/nowhere/x.tar"],
        &["steward", "who", "ID"],
        &["comment", "ID", "x"],
    ];
    let root = place.root().display().to_string();
    let forms = ["ID", "ID.md", "./ID.md", "ROOT/ID.md", "ID/", "contextnest://ID"];
    let mut told = Vec::new();
    for (n, (one, none)) in [PAIRS[0], PAIRS[1], PAIRS[2], PAIRS[8]].into_iter().enumerate() {
        for (m, form) in forms.iter().enumerate() {
            for verb in verbs.iter().skip((n + m) % 2).step_by(2) {
                let [hidden, absent] = [one, none].map(|id| {
                    let name = form.replace("ROOT", &root).replace("ID", id);
                    let name = |arg: &&str| if *arg == "ID" { name.clone() } else { (*arg).into() };
                    let args: Vec<String> = verb.iter().map(name).collect();
                    let args = [args, vec!["--as".to_owned(), "zed@x.com".to_owned()]].concat();
                    let said = place.args(&args).here();
                    format!("{}{}{}", said.exit, said.stdout, said.stderr).replace(id, "ID")
                });
                if hidden != absent {
                    told.push(format!("{verb:?} {form}\n  {hidden}\n  {absent}"));
                }
            }
        }
    }
    assert!(told.is_empty(), "{} answers differ\n{}", told.len(), told.join("\n"));
}
