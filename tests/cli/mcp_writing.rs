//! Tools that write: drafts, submissions and decisions over `ctx mcp` (`spec/mcp.md`, section 6).

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};

use serde_json::{Value, json};

use crate::harness::Place;
use crate::mcp::{REVISIONS, STATELESS, opener, request};

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - \
    {principal: kim@x.com, role: reviewer}\n  - {principal: ana@x.com, role: editor}\n  - \
    {principal: lee@x.com, role: editor}\n  - {principal: eve@x.com, role: viewer}\n";

/// Returns a governed vault with `nodes/a`; Bo and Kim review, Ana and Lee edit, Eve views.
fn governed() -> Place {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntitle: A\n---\none\n");
    place.ctx("publish --all --as ana@x.com").ok();
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on --as ana@x.com").ok();
    place
}

/// Returns the answer to one call of a principal, by a server with these options.
pub(crate) fn called(place: &Place, options: &str, tool: &str, arguments: Value) -> Value {
    let mut messages = opener(STATELESS);
    let meta = json!({"contextnest/session": "s-1", "contextnest/agent": "writer"});
    let mut params = json!({"name": tool, "_meta": meta});
    params["arguments"] = arguments;
    messages.push(request(STATELESS, 1, "tools/call", params));
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let output = place.typed(&format!("mcp {options}")).stdin(lines).here().ok();
    let last = output.stdout.lines().last().unwrap();
    let answer: Value = serde_json::from_str(last).unwrap();
    crate::mcp_schema::check(tool, &answer["result"]);
    answer
}

/// Returns the report of one call of an author, which must succeed.
#[track_caller]
fn by(place: &Place, who: &str, tool: &str, arguments: Value) -> Value {
    let options = format!("--profile author --as {who}@x.com");
    let answer = called(place, &options, tool, arguments);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    answer["result"]["structuredContent"].clone()
}

/// Returns the code of one call of an author, which must fail.
#[track_caller]
fn refused(place: &Place, who: &str, tool: &str, arguments: Value) -> String {
    let options = format!("--profile author --as {who}@x.com");
    let answer = called(place, &options, tool, arguments);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["structuredContent"]["code"].as_str().unwrap().to_owned()
}

/// Asserts that the vault is intact and no live file differs.
#[track_caller]
fn intact(place: &Place) {
    let verified = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(verified["findings"], json!([]), "{verified}");
}

/// Returns the changes that the change log names, in order.
fn changes(place: &Place) -> Vec<Value> {
    let files = place.tree().into_iter().filter(|(path, _)| {
        path.starts_with(".context/audit/") && path.ends_with(".jsonl") && !path.contains("access")
    });
    let texts: Vec<String> = files.map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    let mut lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by(|a, b| a["at"].as_str().cmp(&b["at"].as_str()));
    lines
}

fn named(place: &Place, options: &str) -> Vec<String> {
    let mut messages = opener(STATELESS);
    messages.push(request(STATELESS, 1, "tools/list", json!({})));
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let output = place.typed(&format!("mcp {options}")).stdin(lines).here().ok().stdout;
    let list: Value = serde_json::from_str(output.lines().last().unwrap()).unwrap();
    let tools = list["result"]["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Every principal may read the change log, but only its author a draft.
#[test]
fn the_log_has_the_hash_of_a_draft_and_not_its_text() {
    let place = governed();
    let draft = json!({"id": "nodes/new", "body": "# New\n\nAPPLE"});
    by(&place, "ana", "context_create", draft);
    by(
        &place,
        "ana",
        "context_update",
        json!({"id": "nodes/a", "body": "APPLE\n", "submit": true}),
    );
    let lines = changes(&place);
    assert!(!json!(lines).to_string().contains("APPLE"), "{lines:?}");
    let said = |tool: &str| {
        let is_of = |line: &&Value| line["args"]["argv"][0] == tool;
        lines.iter().find(is_of).unwrap()["args"]["argv"][1].as_str().unwrap().to_owned()
    };
    assert!(said("context_create").contains(r#""body":{"bytes":12,"hash":"sha256:"#));
    assert!(said("context_update").contains(r#""submit":true"#));
}

#[test]
fn a_profile_decides_which_tools_there_are() {
    let place = governed();
    let reader = named(&place, "");
    assert!(!reader.contains(&"context_create".to_owned()), "{reader:?}");
    let author = named(&place, "--profile author");
    assert_eq!(author[..reader.len()], reader);
    assert!(author.contains(&"context_create".to_owned()), "{author:?}");
    let reads: Vec<&String> = author
        .iter()
        .filter(|tool| reader.contains(tool) || *tool == "context_stage_list")
        .collect();
    assert_eq!(named(&place, "--profile author --read-only").iter().collect::<Vec<_>>(), reads);
    assert_eq!(
        named(&place, "--tools context_read,context_init"),
        ["context_init", "context_read"]
    );
    let create = json!({"id": "nodes/b", "body": "b"});
    for options in ["", "--profile author --read-only", "--profile author --tools context_read"] {
        let answer = called(&place, options, "context_create", create.clone());
        assert_eq!(answer["error"]["code"], -32602, "{options}: {answer}");
    }
    assert!(!place.has("nodes/b.md"));
    let refused = place.ctx("mcp --tools context_create").exits(2).stderr;
    assert!(refused.contains("`--profile author` has it"), "{refused}");
}

#[test]
fn a_draft_is_written_changed_read_and_submitted_by_its_author() {
    let place = governed();
    let create = json!({"id": "nodes/b", "body": "# B\n\none\n", "tags": ["policy"]});
    let draft = by(&place, "ana", "context_create", create.clone());
    assert_eq!((&draft["schema"], &draft["status"]), (&json!("ctx.add"), &json!("draft")));
    intact(&place);
    assert_eq!(refused(&place, "ana", "context_create", create), "exists");
    let own = by(&place, "ana", "context_read", json!({"id": "nodes/b", "draft": true}));
    assert_eq!((&own["state"], &own["live_hash"]), (&json!("draft"), &draft["live_hash"]));
    assert!(own["text"].as_str().unwrap().ends_with("# B\n\none\n"), "{own}");

    // Only the writer gets the draft, and a text that was not read is not overwritten.
    for (who, tool, arguments, code) in [
        ("lee", "context_read", json!({"id": "nodes/b", "draft": true}), "not-submitted"),
        ("lee", "context_read", json!({"id": "nodes/b"}), "unknown-id"),
        ("lee", "context_update", json!({"id": "nodes/b", "body": "x"}), "unknown-id"),
        ("lee", "context_submit", json!({"ids": ["nodes/b"]}), "unpublished-changes"),
        ("ana", "context_update", json!({"id": "nodes/b", "body": "x"}), "unpublished-changes"),
    ] {
        assert_eq!(refused(&place, who, tool, arguments.clone()), code, "{who} {tool} {arguments}");
    }
    let again =
        json!({"id": "nodes/b", "body": "# B\n\ntwo\n", "expected_live": draft["live_hash"]});
    let changed = by(&place, "ana", "context_update", again.clone());
    assert_ne!(changed["live_hash"], draft["live_hash"]);
    assert_eq!(refused(&place, "ana", "context_update", again), "unpublished-changes");
    assert!(place.read("nodes/b.md").contains("tags: [policy]"), "{}", place.read("nodes/b.md"));

    let submitted = by(&place, "ana", "context_submit", json!({"ids": ["nodes/b"], "note": "new"}));
    assert_eq!(submitted["schema"], "ctx.submit");
    assert_eq!(submitted["versions"][0]["change"], "submitted");
    intact(&place);
    place.ctx("approve nodes/b --version 1 --as bo@x.com").ok();
    assert!(place.ctx("read nodes/b").ok().stdout.ends_with("two\n"));
    intact(&place);
    let actions: Vec<Value> = changes(&place).iter().map(|line| line["action"].clone()).collect();
    let expected = ["draft", "draft", "submit", "event"].map(Value::from);
    assert!(actions.ends_with(&expected), "{actions:?}");
    let submit = changes(&place).into_iter().find(|line| line["action"] == "submit").unwrap();
    assert_eq!(
        (&submit["client"], &submit["principal"]),
        (&json!("tester/1"), &json!("ana@x.com"))
    );
    assert_eq!(submit["labels"], json!({"agent": "writer", "session": "s-1"}));
}

#[test]
fn a_draft_of_a_published_document_is_no_drift_and_says_its_base() {
    let place = governed();
    let stale = json!({"id": "nodes/a", "body": "two", "expected_version": 0});
    assert_eq!(refused(&place, "ana", "context_update", stale), "not-as-expected");
    let update = json!({"id": "nodes/a", "body": "two\n", "title": "New", "expected_version": 1});
    let draft = by(&place, "ana", "context_update", update);
    assert_eq!(draft["based_on"], 1);
    intact(&place);
    assert!(place.ctx("read nodes/a").ok().stdout.ends_with("one\n"));
    let text = place.read("nodes/a.md");
    assert!(text.contains("title: New") && text.contains("status: draft"), "{text}");
    // The author may return the text that they got unchanged.
    let own = by(&place, "ana", "context_read", json!({"id": "nodes/a", "draft": true}));
    let whole = own["text"].as_str().unwrap().replace("two", "three");
    let again = json!({"id": "nodes/a", "body": whole, "expected_live": own["live_hash"]});
    by(&place, "ana", "context_update", again);
    by(&place, "ana", "context_submit", json!({"ids": ["nodes/a"]}));
    place.ctx("approve nodes/a --version 2 --as bo@x.com").ok();
    intact(&place);
    assert!(place.read("nodes/a.md").contains("status: published"));
}

#[test]
fn a_submission_leaves_the_live_file_alone_and_is_its_submitters_to_read() {
    let place = governed();
    let before = place.read("nodes/a.md");
    let update = json!({"id": "nodes/a", "body": "two\n", "submit": true, "note": "why"});
    let submitted = by(&place, "ana", "context_update", update);
    assert_eq!(submitted["versions"][0]["version"], 2);
    assert_eq!(place.read("nodes/a.md"), before);
    intact(&place);
    let own = by(&place, "ana", "context_read", json!({"id": "nodes/a", "draft": true}));
    assert_eq!((&own["state"], &own["version"]), (&json!("submitted"), &json!(2)));
    let of_others = json!({"id": "nodes/a", "draft": true});
    for who in ["lee", "bo", "eve"] {
        assert_eq!(
            refused(&place, who, "context_read", of_others.clone()),
            "not-submitted",
            "{who}"
        );
    }
    let other = json!({"id": "nodes/a", "body": "three\n", "submit": true});
    assert_eq!(refused(&place, "lee", "context_update", other), "submission-pending");
    let withdraw = json!({"ids": ["nodes/a"], "reason": "a typo"});
    assert_eq!(refused(&place, "lee", "context_withdraw", withdraw.clone()), "not-the-submitter");
    let withdrawn = by(&place, "ana", "context_withdraw", withdraw);
    assert_eq!(withdrawn["versions"][0]["change"], "withdrawn");
    intact(&place);
    let new = json!({"id": "nodes/n", "body": "# N\n", "submit": true, "change": "set"});
    by(&place, "ana", "context_create", new);
    assert!(!place.has("nodes/n.md"));
    place.ctx("approve nodes/n --version 1 --as bo@x.com").ok();
    assert!(place.has("nodes/n.md"));
    intact(&place);
}

#[test]
fn a_submission_replaces_the_draft_that_it_names() {
    let place = governed();
    let draft = by(&place, "ana", "context_update", json!({"id": "nodes/a", "body": "two\n"}));
    let body = json!({"id": "nodes/a", "body": "three\n", "submit": true});
    assert_eq!(refused(&place, "ana", "context_update", body.clone()), "unpublished-changes");
    let mut named = body;
    named["expected_live"] = draft["live_hash"].clone();
    by(&place, "ana", "context_update", named);
    intact(&place);
    place.ctx("approve nodes/a --version 2 --as bo@x.com").ok();
    assert!(place.read("nodes/a.md").ends_with("three\n"));
    intact(&place);
}

#[test]
fn edits_of_others_are_neither_overwritten_nor_submitted_unread() {
    let place = governed();
    place.edit("nodes/a.md", "one", "secret plans");
    for (tool, arguments) in [
        ("context_update", json!({"id": "nodes/a", "body": "x"})),
        ("context_restore", json!({"id": "nodes/a"})),
        ("context_submit", json!({"ids": ["nodes/a"]})),
    ] {
        let options = "--profile author --as lee@x.com";
        let answer = called(&place, options, tool, arguments).to_string();
        assert!(answer.contains("unpublished-changes"), "{tool}: {answer}");
        assert!(!answer.contains("secret plans"), "{tool}: {answer}");
    }
    assert!(place.read("nodes/a.md").contains("secret plans"));
    // A text that is submitted leaves the edit in place.
    by(&place, "lee", "context_update", json!({"id": "nodes/a", "body": "x", "submit": true}));
    assert!(place.read("nodes/a.md").contains("secret plans"));
}

#[test]
fn only_editors_write_drafts_in_a_governed_vault() {
    let place = governed();
    for (tool, arguments) in [
        ("context_create", json!({"id": "nodes/e", "body": "e"})),
        ("context_update", json!({"id": "nodes/a", "body": "e"})),
        ("context_create", json!({"id": "nodes/e", "body": "e", "submit": true})),
        ("context_update", json!({"id": "nodes/a", "body": "e", "submit": true})),
    ] {
        assert_eq!(refused(&place, "eve", tool, arguments), "not-a-steward", "{tool}");
    }
    assert!(!place.has("nodes/e.md"));
    intact(&place);
}

#[test]
fn tools_do_not_reveal_drafts_to_those_who_cannot_read_them() {
    let place = governed();
    let draft = by(&place, "ana", "context_create", json!({"id": "nodes/b", "body": "x\n"}));
    let hash = draft["live_hash"].clone();
    let other = json!("sha256:".to_owned() + &"0".repeat(64));
    let said = |who: &str, tool: &str, arguments: Value| {
        let answer = called(&place, &format!("--profile author --as {who}@x.com"), tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"].to_string().replace("nodes/none", "nodes/b")
    };
    let submit = |id: &str, hash: &Value| json!({"ids": [id], "expected_live": hash});
    for who in ["lee", "eve"] {
        let none = said(who, "context_submit", json!({"ids": ["nodes/none"]}));
        for (id, hash) in [
            ("nodes/b", &Value::Null),
            ("nodes/b", &other),
            ("nodes/none", &other),
            ("nodes/none", &hash),
        ] {
            assert_eq!(said(who, "context_submit", submit(id, hash)), none, "{who} {id} {hash}");
        }
    }
    // A principal who is not an editor does not learn that a hash is right.
    let none = said("eve", "context_submit", submit("nodes/none", &hash));
    assert_eq!(said("eve", "context_submit", submit("nodes/b", &hash)), none);
    for arguments in [
        json!({"id": "nodes/none", "body": "y"}),
        json!({"id": "nodes/none", "body": "y", "expected_live": hash}),
    ] {
        let none = said("eve", "context_update", arguments.clone());
        let mut named = arguments;
        named["id"] = "nodes/b".into();
        assert_eq!(said("eve", "context_update", named), none);
    }
    let none = said("eve", "context_create", json!({"id": "nodes/none", "body": "y"}));
    assert_eq!(said("eve", "context_create", json!({"id": "nodes/b", "body": "y"})), none);
    // An editor who has read the file names its hash.
    by(&place, "lee", "context_submit", submit("nodes/b", &hash));
}

#[test]
fn unpublished_documents_answer_like_missing_ones() {
    let place = governed();
    by(&place, "ana", "context_create", json!({"id": "nodes/b", "body": "x\n"}));
    by(&place, "ana", "context_create", json!({"id": "nodes/c", "body": "x\n", "submit": true}));
    for (tool, argument, more) in [
        ("context_read", "id", json!({})),
        ("context_history", "id", json!({})),
        ("context_diff", "id", json!({"v1": 1, "v2": 2})),
        ("context_blame", "id", json!({})),
        ("context_neighbors", "id", json!({})),
        ("context_verify", "ids", json!({})),
        ("context_check", "uris", json!({})),
        ("context_resolve", "selector", json!({})),
        ("context_restore", "id", json!({"version": 1})),
        ("context_source_record", "id", json!({"tools": ["t"], "result": ""})),
        ("context_withdraw", "ids", json!({})),
        ("context_reject", "ids", json!({"reason": "no"})),
        ("context_review", "id", json!({})),
        ("context_approve", "id", json!({"version": 1})),
        ("context_publish", "id", json!({})),
    ] {
        let said = |id: &str| {
            let id = match tool {
                "context_check" => format!("contextnest://{id}@1"),
                "context_resolve" => format!("contextnest://{id}"),
                _ => id.to_owned(),
            };
            let mut arguments = more.clone();
            arguments[argument] = if argument.ends_with('s') { json!([id]) } else { id.into() };
            let answer = called(&place, "--profile reviewer --as eve@x.com", tool, arguments);
            answer["result"].to_string().replace("nodes/d", "nodes/b").replace("nodes/c", "nodes/b")
        };
        // The name has the same length, so the length of an answer reveals nothing either.
        let none = said("nodes/d");
        for id in ["nodes/b", "nodes/c"] {
            assert_eq!(said(id), none, "{tool} {id}");
        }
    }
}

#[test]
fn a_history_has_no_submission_of_others_but_for_editors() {
    let place = governed();
    by(&place, "ana", "context_update", json!({"id": "nodes/a", "body": "two\n", "submit": true}));
    let versions = |who: &str| {
        let report = by(&place, who, "context_history", json!({"id": "nodes/a"}));
        report["versions"].as_array().unwrap().len()
    };
    assert_eq!((versions("eve"), versions("ana"), versions("bo")), (1, 2, 2));
    let command = place.ctx("history nodes/a --json --as bo@x.com").ok().stdout;
    let command: Value = serde_json::from_str(&command).unwrap();
    assert_eq!(by(&place, "bo", "context_history", json!({"id": "nodes/a"})), command);
}

#[test]
fn a_text_that_could_not_be_published_is_no_draft() {
    let place = governed();
    let before = place.tree();
    let refused = |tool: &str, arguments: Value| {
        let answer = called(&place, "--profile author --as ana@x.com", tool, arguments);
        let report = &answer["result"]["structuredContent"];
        let problem = &report["documents"][0]["problems"][0]["code"];
        format!("{} {}\n", report["code"].as_str().unwrap(), problem.as_str().unwrap_or("-"))
    };
    let all = [
        ("context_create", json!({"id": "nodes/n", "body": "x", "title": "x".repeat(1000)})),
        ("context_create", json!({"id": "nodes/n", "body": "x", "type": "source"})),
        ("context_create", json!({"id": "nodes/A", "body": "x"})),
        ("context_create", json!({"id": "nodes/n", "body": "x", "tags": [""]})),
        ("context_create", json!({"id": "nodes/n", "body": "---\ntitle: [x\n---\n"})),
        ("context_update", json!({"id": "nodes/a", "title": "x".repeat(1000)})),
        ("context_update", json!({"id": "nodes/a", "type": "source"})),
    ];
    let said: String = all.into_iter().map(|(tool, arguments)| refused(tool, arguments)).collect();
    insta::assert_snapshot!(said, @r#"
    refused title-invalid
    refused source-invalid
    refused id-collision
    usage -
    refused frontmatter-spelling
    refused title-invalid
    refused source-invalid
    "#);
    assert!(before == place.tree());
}

#[test]
fn an_earlier_version_is_restored_as_a_draft() {
    let place = governed();
    by(&place, "ana", "context_update", json!({"id": "nodes/a", "body": "two\n", "submit": true}));
    place.ctx("approve nodes/a --version 2 --as bo@x.com").ok();
    let restored = by(&place, "ana", "context_restore", json!({"id": "nodes/a", "version": 1}));
    assert_eq!((&restored["status"], &restored["based_on"]), (&json!("draft"), &json!(3)));
    intact(&place);
    assert!(place.read("nodes/a.md").ends_with("one\n"));
    let discard = json!({"id": "nodes/a"});
    assert_eq!(refused(&place, "ana", "context_restore", discard), "unpublished-changes");
    let discard = json!({"id": "nodes/a", "expected_live": restored["live_hash"]});
    assert_eq!(by(&place, "ana", "context_restore", discard)["status"], "published");
    assert!(place.read("nodes/a.md").ends_with("two\n"));
    by(&place, "ana", "context_restore", json!({"id": "nodes/a", "version": 1}));
    by(&place, "ana", "context_submit", json!({"ids": ["nodes/a"]}));
    place.ctx("approve nodes/a --version 4 --as kim@x.com").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.ends_with("one\n"));
    intact(&place);
}

#[test]
fn an_ungoverned_vault_has_drafts_and_no_submissions() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let submit = json!({"id": "nodes/b", "body": "b", "submit": true});
    assert_eq!(refused(&place, "ana", "context_create", submit), "not-governed");
    let submit = json!({"id": "nodes/a", "body": "b", "submit": true});
    assert_eq!(refused(&place, "ana", "context_update", submit), "not-governed");
    assert!(!place.has("nodes/b.md"));
    by(&place, "ana", "context_create", json!({"id": "nodes/b", "body": "b"}));
    by(&place, "ana", "context_update", json!({"id": "nodes/a", "tags": ["x"]}));
    intact(&place);
    for outside in ["../b", "/etc/b", "nodes/../../b", ".context/b", "nodes/.versions/b"] {
        let create = json!({"id": outside, "body": "b"});
        let code = refused(&place, "ana", "context_create", create);
        assert!(["id-invalid", "misplaced"].contains(&code.as_str()), "{outside}: {code}");
    }
    for id in ["stewards.yaml", "CONTEXT.md", ".context/config.yaml"] {
        let code = refused(&place, "ana", "context_update", json!({"id": id, "body": "x"}));
        assert_eq!(code, "usage", "{id}");
    }
}

/// A running server, and its client.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    revision: &'static str,
    next: u64,
}

/// The answer of the human of a client.
pub(crate) type Human = Option<fn() -> Value>;

pub(crate) fn yes() -> Value {
    json!({"action": "accept", "content": {"agree": true}})
}

pub(crate) fn no() -> Value {
    json!({"action": "decline"})
}

impl Client {
    /// Connects as a principal, in a revision; `asks` is true if it has a human.
    pub(crate) fn connect(place: &Place, who: &str, revision: &'static str, asks: bool) -> Self {
        let run = place.typed(&format!("mcp --profile reviewer --as {who}@x.com"));
        let mut child = run.command().spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self { child, input, output, revision, next: 1 };
        if revision != STATELESS {
            let capabilities = if asks { json!({"elicitation": {}}) } else { json!({}) };
            client.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": revision, "capabilities": capabilities,
                "clientInfo": {"name": "tester", "version": "1"},
            }}));
            client.receive();
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line:?}"))
    }

    /// Sends one call, and returns the first message that comes back.
    pub(crate) fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        more: &Value,
        asks: bool,
    ) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments});
        if self.revision == STATELESS {
            let capabilities = if asks { json!({"elicitation": {"form": {}}}) } else { json!({}) };
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            });
        }
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        self.receive()
    }

    /// Returns the question that answers a call, and the result after the human's answer.
    pub(crate) fn decided(
        &mut self,
        tool: &str,
        arguments: &Value,
        human: Human,
    ) -> (Value, Value) {
        let first = self.call(tool, arguments, &json!({}), human.is_some());
        let Some(human) = human else { return (Value::Null, first["result"].clone()) };
        if self.revision == STATELESS {
            let result = &first["result"];
            if result["resultType"] != "input_required" {
                return (Value::Null, result.clone());
            }
            let question = result["inputRequests"]["consent"].clone();
            let more = json!({
                "requestState": result["requestState"], "inputResponses": {"consent": human()},
            });
            let second = self.call(tool, arguments, &more, true);
            crate::mcp_schema::check(tool, &second["result"]);
            return (question, second["result"].clone());
        }
        if first["method"] != "elicitation/create" {
            return (Value::Null, first["result"].clone());
        }
        self.send(&json!({"jsonrpc": "2.0", "id": first["id"], "result": human()}));
        let second = self.receive();
        (first, second["result"].clone())
    }

    /// Returns the answer to one call of a stateless client that has a human, with these labels.
    pub(crate) fn call_in(&mut self, labels: &Value, tool: &str, arguments: &Value) -> Value {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        });
        for (key, value) in labels.as_object().into_iter().flatten() {
            meta[key] = value.clone();
        }
        self.call(tool, arguments, &json!({"_meta": meta}), true)
    }

    pub(crate) fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

pub(crate) fn code(result: &Value) -> &str {
    result["structuredContent"]["code"].as_str().unwrap_or_default()
}

#[test]
fn an_approval_needs_the_consent_of_a_human() {
    for revision in REVISIONS {
        let place = governed();
        let update = json!({"id": "nodes/a", "body": "two\n", "submit": true});
        by(&place, "ana", "context_update", update);
        let approve = json!({"id": "nodes/a", "version": 2});
        let before = place.tree();
        let unchanged = |what: &str| assert!(before == place.tree(), "{revision}: {what}");
        let mut client = Client::connect(&place, "bo", revision, true);
        let (question, result) = client.decided("context_approve", &approve, Some(no));
        assert_eq!(code(&result), "consent-declined", "{result}");
        let text = question["params"]["message"].as_str().unwrap();
        assert!(
            text.starts_with(
                "As \"bo@x.com\": approve the changes (+1 -1 lines) of \"nodes/a\", version 2"
            ) && text.contains("submitted by \"ana@x.com\"")
                && text.ends_with("\nChanges:\n- \"one\"\n+ \"two\""),
            "{text}"
        );
        unchanged("declined");
        for answer in [
            || json!({"action": "accept"}),
            || json!({"action": "accept", "content": {"agree": false}}),
            || json!({"action": "accept", "content": {"agree": "yes"}}),
            || json!({"action": "cancel", "content": {"agree": true}}),
        ] {
            let (_, result) = client.decided("context_approve", &approve, Some(answer));
            assert_eq!(code(&result), "consent-declined", "{result}");
        }
        unchanged("not agreed");
        // No human is asked in vain.
        let other = json!({"id": "nodes/a", "version": 3});
        let (question, result) = client.decided("context_approve", &other, Some(yes));
        assert_eq!((question, code(&result)), (Value::Null, "submission-changed"), "{result}");
        let (_, result) = client.decided("context_approve", &approve, Some(yes));
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!(result["structuredContent"]["schema"], "ctx.approve");
        client.end();
        assert!(place.ctx("read nodes/a").ok().stdout.ends_with("two\n"));
        intact(&place);
        let event = changes(&place).pop().unwrap();
        assert_eq!((&event["action"], &event["client"]), (&json!("event"), &json!("tester/1")));
    }
}

#[test]
fn a_client_that_cannot_ask_is_refused_and_no_argument_stands_for_consent() {
    for revision in REVISIONS {
        let place = governed();
        let update = json!({"id": "nodes/a", "body": "two\n", "submit": true});
        by(&place, "ana", "context_update", update);
        let before = place.tree();
        let mut client = Client::connect(&place, "bo", revision, false);
        for (tool, arguments) in [
            ("context_approve", json!({"id": "nodes/a", "version": 2})),
            ("context_publish", json!({"id": "nodes/a", "version": 2})),
            (
                "context_assign_steward",
                json!({"who": "eve@x.com", "role": "reviewer", "whole_vault": true}),
            ),
        ] {
            let (_, result) = client.decided(tool, &arguments, None);
            assert_eq!(code(&result), "consent-unavailable", "{tool}: {result}");
            for name in ["agree", "consent", "force", "yes"] {
                let mut forced = arguments.clone();
                forced[name] = json!(true);
                let (_, result) = client.decided(tool, &forced, None);
                assert_eq!(code(&result), "usage", "{tool} {name}: {result}");
            }
        }
        client.end();
        assert!(before == place.tree(), "{revision}");
        let refused = crate::mcp::log(&place);
        let refused: Vec<_> = refused.iter().filter(|line| line["event"] == "refused").collect();
        assert_eq!(refused.len(), 3, "{refused:?}");
        assert!(refused.iter().all(|line| line["code"] == "consent-unavailable"), "{refused:?}");
    }
}

#[test]
fn an_answer_counts_for_its_question_and_once() {
    let place = governed();
    for (id, body) in [("nodes/a", "two\n"), ("nodes/b", "# B\n")] {
        let tool = if id == "nodes/a" { "context_update" } else { "context_create" };
        by(&place, "ana", tool, json!({"id": id, "body": body, "submit": true}));
    }
    let before = place.tree();
    let mut client = Client::connect(&place, "bo", STATELESS, true);
    let (a, b) = (json!({"id": "nodes/a", "version": 2}), json!({"id": "nodes/b", "version": 1}));
    let answer = json!({"consent": yes()});
    let is_asked = |answer: &Value| answer["result"]["resultType"] == "input_required";
    // The answer belongs to no question.
    for state in [json!(null), json!(""), json!("0".repeat(32))] {
        let mut more = json!({"inputResponses": answer});
        if !state.is_null() {
            more["requestState"] = state.clone();
        }
        let asked = client.call("context_approve", &a, &more, true);
        assert!(is_asked(&asked), "{state}: {asked}");
    }
    // The answer belongs to another question.
    let first = client.call("context_approve", &a, &json!({}), true);
    let more = json!({"inputResponses": answer, "requestState": first["result"]["requestState"]});
    assert!(is_asked(&client.call("context_approve", &b, &more, true)));
    assert!(is_asked(&client.call("context_approve", &a, &more, true)), "it was used up");
    let noted = json!({"id": "nodes/a", "version": 2, "note": "x"});
    let first = client.call("context_approve", &a, &json!({}), true);
    let more = json!({"inputResponses": answer, "requestState": first["result"]["requestState"]});
    assert!(is_asked(&client.call("context_approve", &noted, &more, true)), "other arguments");
    assert!(before == place.tree());
    // The subject of the question was replaced.
    let first = client.call("context_approve", &a, &json!({}), true);
    by(&place, "ana", "context_withdraw", json!({"ids": ["nodes/a"]}));
    let more = json!({"inputResponses": answer, "requestState": first["result"]["requestState"]});
    let late = client.call("context_approve", &a, &more, true);
    assert_eq!(code(&late["result"]), "not-submitted", "{late}");
    client.end();
}

#[test]
fn the_end_of_the_input_is_no_consent() {
    let place = governed();
    by(&place, "ana", "context_update", json!({"id": "nodes/a", "body": "two\n", "submit": true}));
    let mut client = Client::connect(&place, "bo", "2025-11-25", true);
    let approve = json!({"id": "nodes/a", "version": 2});
    let question = client.call("context_approve", &approve, &json!({}), true);
    assert_eq!(question["method"], "elicitation/create");
    drop(client.input.take());
    let refused = client.receive();
    assert_eq!(code(&refused["result"]), "consent-declined", "{refused}");
    client.end();
    assert!(place.ctx("read nodes/a").ok().stdout.ends_with("one\n"));
}

#[test]
fn nobody_approves_an_own_submission_and_roles_decide() {
    let place = governed();
    by(&place, "bo", "context_update", json!({"id": "nodes/a", "body": "two\n", "submit": true}));
    let approve = json!({"id": "nodes/a", "version": 2});
    for (who, expected) in [("bo", "own-submission"), ("lee", "not-a-steward")] {
        for tool in ["context_approve", "context_publish"] {
            let mut client = Client::connect(&place, who, STATELESS, true);
            let (question, result) = client.decided(tool, &approve, Some(yes));
            assert_eq!((question, code(&result)), (Value::Null, expected), "{who}: {result}");
            client.end();
        }
    }
    let mut client = Client::connect(&place, "kim", STATELESS, true);
    let (_, result) = client.decided("context_publish", &json!({"id": "nodes/a"}), Some(yes));
    assert_eq!(code(&result), "governed");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("version 2 of `nodes/a` awaits approval"), "{text}");
    let (_, result) = client.decided("context_publish", &json!({"id": "nodes/none"}), Some(yes));
    assert_eq!(code(&result), "unknown-id", "{result}");
    let (question, result) = client.decided("context_publish", &approve, Some(yes));
    assert_ne!(question, Value::Null);
    assert_eq!(result["isError"], false, "{result}");
    client.end();
    intact(&place);
}

#[test]
fn reviewers_list_read_and_reject_submissions() {
    let place = governed();
    by(&place, "ana", "context_update", json!({"id": "nodes/a", "body": "two\n", "submit": true}));
    let mut client = Client::connect(&place, "bo", STATELESS, true);
    for (arguments, line) in [
        (json!({}), "review"),
        (json!({"all": true}), "review --all"),
        (json!({"id": "nodes/a"}), "review show nodes/a"),
        (json!({"id": "nodes/a", "version": 2}), "review show nodes/a --version 2"),
    ] {
        let (_, result) = client.decided("context_review", &arguments, None);
        let command = place.ctx(&format!("{line} --json --as bo@x.com")).ok().stdout;
        let mut expected: Value = serde_json::from_str(&command).unwrap();
        let mut found = result["structuredContent"].clone();
        // One names a command, the other a tool.
        for report in [&mut expected, &mut found] {
            report.as_object_mut().unwrap().remove("approve");
        }
        assert_eq!(found, expected, "{line}");
    }
    let reject = json!({"ids": ["nodes/a"], "reason": "cite the law"});
    let (_, result) = client.decided("context_reject", &reject, None);
    assert_eq!(result["structuredContent"]["versions"][0]["change"], "rejected", "{result}");
    client.end();
    intact(&place);
    let mut client = Client::connect(&place, "eve", STATELESS, true);
    let (_, result) = client.decided("context_reject", &reject, None);
    assert_eq!(code(&result), "not-submitted", "{result}");
    client.end();
}

#[test]
fn an_assignment_is_submitted_with_consent_in_a_governed_vault_only() {
    let place = governed();
    let assign = json!({"who": "zoe@x.com", "role": "editor", "folder": "nodes/"});
    let mut client = Client::connect(&place, "bo", STATELESS, true);
    let (question, result) = client.decided("context_assign_steward", &assign, Some(no));
    let text = question["params"]["message"].as_str().unwrap();
    let said = "principal: \"zoe@x.com\"\nrole: \"editor\"\nscope: \"folder nodes/\"\n";
    assert!(text.contains(said), "{text}");
    assert_eq!(code(&result), "consent-declined");
    intact(&place);
    let (_, result) = client.decided("context_assign_steward", &assign, Some(yes));
    assert_eq!(result["structuredContent"]["versions"][0]["change"], "submitted", "{result}");
    intact(&place);
    let two = json!({"who": "zoe@x.com", "role": "editor", "folder": "nodes/", "tag": "x"});
    let (_, result) = client.decided("context_assign_steward", &two, Some(yes));
    assert_eq!(code(&result), "usage");
    // Text in a name is quoted.
    let odd = json!({"who": "m@x.com", "role": "reviewer", "folder": "nodes/a? Only viewers. \"b"});
    let (question, _) = client.decided("context_assign_steward", &odd, Some(no));
    let text = question["params"]["message"].as_str().unwrap();
    assert!(text.contains("scope: \"folder nodes/a? Only viewers. \\\"b/\""), "{text}");
    // Edits that a person did not submit are not submitted with it.
    place.write("stewards.yaml", place.read("stewards.yaml") + "# mine\n");
    let (_, result) = client.decided("context_assign_steward", &assign, Some(yes));
    assert_eq!(code(&result), "unpublished-changes", "{result}");
    client.end();
    assert!(named(&place, "--profile reviewer").contains(&"context_assign_steward".to_owned()));
    let plain = Place::published(&[("nodes/a", "# A\n")]);
    assert!(!named(&plain, "--profile reviewer").contains(&"context_assign_steward".to_owned()));
    let mut client = Client::connect(&plain, "bo", STATELESS, true);
    let (_, result) = client.decided("context_assign_steward", &assign, Some(yes));
    assert_eq!(code(&result), "not-governed");
    client.end();
}

/// Returns the hints of a call, on one line.
fn hints(place: &Place, profile: &str, tool: &str, arguments: Value) -> String {
    let answer = called(place, &format!("--profile {profile} --as ana@x.com"), tool, arguments);
    let report = &answer["result"]["structuredContent"];
    let hints = report["hints"].as_array().unwrap_or_else(|| panic!("{answer}")).iter();
    let hints: Vec<&str> = hints.map(|hint| hint.as_str().unwrap()).collect();
    format!("{profile} {}: {}\n", report["code"].as_str().unwrap(), hints.join(" | "))
}

#[test]
fn hints_name_tools_and_what_is_for_a_person_as_that() {
    let plain = Place::published(&[("nodes/a", "# A\n")]);
    let create = json!({"id": "nodes/a", "body": "b"});
    let submit = json!({"id": "nodes/b", "body": "b", "submit": true});
    let mut said = hints(&plain, "author", "context_create", create);
    for profile in ["author", "reviewer"] {
        said += &hints(&plain, profile, "context_create", submit.clone());
    }
    let replay = |trace: &str| hints(&plain, "reader", "context_replay", json!({"trace": trace}));
    said += &replay("00000000-1");
    plain.write("nodes/a.md", "# A\n\nEdited.\n");
    plain.ctx("publish nodes/a --as ana@x.com").ok();
    let last = changes(&plain).pop().unwrap();
    let trace = format!("{}-{}", &last["writer"].as_str().unwrap()[..8], last["seq"]);
    said += &replay(&trace).replace(&trace, "TRACE");
    insta::assert_snapshot!(said, @"
    author exists: change it with `context_update`, or choose another id
    author not-governed: `ctx publish ID` (a command for a person) publishes a text; `ctx govern on` (a command for a person) turns on mandatory review
    reviewer not-governed: `context_publish` with `id` publishes a text; `ctx govern on` (a command for a person) turns on mandatory review
    reader unknown-trace: `ctx trace list` (a command for a person) lists accesses; `ctx trace verify` (a command for a person) names lines that were altered
    reader usage: `ctx trace show TRACE` (a command for a person) prints it
    ");
}

#[test]
fn an_ungoverned_vault_publishes_own_drafts() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let draft = by(&place, "ana", "context_create", json!({"id": "nodes/b", "body": "# B\n"}));
    let publish = json!({"id": "nodes/b"});
    let mut client = Client::connect(&place, "bo", STATELESS, false);
    let (_, result) = client.decided("context_publish", &publish, None);
    assert_eq!(code(&result), "unpublished-changes", "{result}");
    let read = json!({"id": "nodes/b", "expected_live": draft["live_hash"]});
    let (_, result) = client.decided("context_publish", &read, None);
    assert_eq!(result["structuredContent"]["schema"], "ctx.publish", "{result}");
    client.end();
    by(&place, "ana", "context_update", json!({"id": "nodes/b", "body": "# B\n\ntwo\n"}));
    let mut client = Client::connect(&place, "ana", STATELESS, false);
    let (_, result) = client.decided("context_publish", &publish, None);
    assert_eq!(result["isError"], false, "{result}");
    client.end();
    intact(&place);
}

#[test]
fn tools_and_questions_are_as_recorded() {
    let place = governed();
    by(&place, "ana", "context_update", json!({"id": "nodes/a", "body": "two\n", "submit": true}));
    let mut messages = opener(STATELESS);
    messages.push(request(STATELESS, 1, "tools/list", json!({})));
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let output = place.typed("mcp --profile reviewer").stdin(lines).here().ok().stdout;
    let said: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut recorded = json!({
        "instructions": said[0]["result"]["instructions"], "tools": said[1]["result"]["tools"],
    });
    let approve = json!({"id": "nodes/a", "version": 2});
    for revision in REVISIONS {
        let mut client = Client::connect(&place, "bo", revision, true);
        let mut question = client.call("context_approve", &approve, &json!({}), true);
        if revision == STATELESS {
            // The state is random.
            question["result"]["requestState"] = "REDACTED".into();
        } else {
            client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": no()}));
            client.receive();
        }
        recorded[revision] = question;
        client.end();
    }
    crate::mcp::compare("reviewer.json", &recorded);
}

/// A failure returns no text, and least of all one that awaits a decision.
#[test]
fn no_expectation_of_a_version_hands_out_a_text() {
    let place = governed();
    let update = json!({"id": "nodes/a", "body": "two, which awaits\n", "submit": true});
    by(&place, "ana", "context_update", update);
    for version in [0, 2, 3] {
        for (who, tool, mut arguments) in [
            ("nobody", "context_update", json!({"id": "nodes/a", "body": "x"})),
            ("ana", "context_update", json!({"id": "nodes/a", "body": "x"})),
            ("nobody", "context_restore", json!({"id": "nodes/a"})),
        ] {
            arguments["expected_version"] = version.into();
            let result =
                called(&place, &format!("--profile author --as {who}@x.com"), tool, arguments);
            assert!(!result.to_string().contains("awaits"), "{tool} {version}: {result}");
        }
        let line = format!("submit nodes/a --expect-version {version} --as nobody@x.com");
        assert!(!place.ctx(&line).whole().contains("awaits"), "{version}");
    }
}

#[test]
fn every_tool_hides_documents_that_a_principal_may_not_read() {
    let place = Place::vault();
    place.write("nodes/open.md", "# Open\n\nfor all\n");
    place.write("nodes/hr/pay.md", "---\ntitle: Wages\n---\nconfidential sums\n");
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.ctx("publish --all --as kim@x.com").ok();
    let folders = "folders:\n  nodes/hr/:\n    - {principal: kim@x.com, role: reviewer}\n    - \
                   {principal: bo@x.com, role: editor}\n";
    place.write("stewards.yaml", format!("{STEWARDS}{folders}"));
    place.ctx("govern on --as kim@x.com").ok();
    let update = json!({"id": "nodes/hr/pay", "body": "confidential raise\n", "submit": true});
    by(&place, "bo", "context_update", update);
    by(&place, "bo", "context_create", json!({"id": "nodes/hr/plan", "body": "confidential plan"}));
    let before = place.tree();
    let mut client = Client::connect(&place, "ana", STATELESS, true);
    for id in ["nodes/hr/pay", "nodes/hr/plan"] {
        for (tool, arguments) in [
            ("context_read", json!({"id": id})),
            ("context_read", json!({"id": id, "draft": true})),
            ("context_blame", json!({"id": id})),
            ("context_check", json!({"uris": [format!("contextnest://{id}@1")]})),
            ("context_create", json!({"id": id, "body": "x"})),
            ("context_create", json!({"id": id, "body": "x", "submit": true})),
            ("context_update", json!({"id": id, "body": "x"})),
            ("context_update", json!({"id": id, "title": "x", "submit": true})),
            ("context_update", json!({"id": id, "title": "x", "submit": true, "supersede": true})),
            ("context_update", json!({"id": id, "body": "x", "expected_version": 2})),
            ("context_update", json!({"id": id, "body": "x", "expected_version": 0})),
            ("context_submit", json!({"ids": [id]})),
            ("context_submit", json!({"ids": [id], "expected_version": 0})),
            ("context_submit", json!({"ids": [id], "renew": true})),
            ("context_restore", json!({"id": id})),
            ("context_restore", json!({"id": id, "version": 1})),
            ("context_withdraw", json!({"ids": [id]})),
            ("context_review", json!({"all": true})),
            ("context_review", json!({"id": id})),
            ("context_review", json!({"id": id, "version": 2})),
            ("context_approve", json!({"id": id, "version": 2})),
            ("context_reject", json!({"ids": [id], "reason": "x"})),
            ("context_publish", json!({"id": id})),
            ("context_publish", json!({"id": id, "version": 2})),
        ] {
            let answer = client.call(tool, &arguments, &json!({}), true);
            let text = answer.to_string();
            let is_told =
                ["confidential", "Wages", "bo@x.com"].iter().any(|word| text.contains(word));
            assert!(!is_told, "{tool} {arguments}: {text}");
            assert_ne!(answer["result"]["resultType"], "input_required", "{tool} {arguments}");
        }
    }
    client.end();
    assert!(before == place.tree());
}

/// Returns the question before an approval of `nodes/a` with this body.
fn question(place: &Place, body: &str) -> String {
    let update = json!({"id": "nodes/a", "body": body, "submit": true});
    let version = by(place, "ana", "context_update", update)["versions"][0]["version"].clone();
    let mut client = Client::connect(place, "bo", STATELESS, true);
    let approve = json!({"id": "nodes/a", "version": version});
    let (question, _) = client.decided("context_approve", &approve, Some(no));
    client.end();
    question["params"]["message"].as_str().expect("a human is asked").to_owned()
}

#[test]
fn the_question_before_an_approval_hides_no_change() {
    let place = governed();
    let paragraphs = |n: usize| (0..n).map(|n| format!("Paragraph {n}.\n\n")).collect::<String>();
    let long =
        |word: &str| format!("{}paid in {word} days{}.\n", "very ".repeat(100), " now".repeat(100));
    place.write(
        "nodes/a.md",
        format!("---\ntitle: A\n---\n# A\n\nRefunds are paid.\n\n{}", long("30")),
    );
    place.ctx("submit nodes/a --as ana@x.com").ok();
    place.ctx("approve nodes/a --as bo@x.com").ok();
    let text = question(&place, &format!("# A\n\n    Refunds are paid.\n\n{}", long("30")));
    assert!(text.ends_with("\nChanges:\n~ \"    Refunds are paid.\" (white space only)"), "{text}");
    let text = question(&place, &format!("# A\n\nRefunds are paid.\n\n\n{}", long("31")));
    let is_shown = |word: &str| text.lines().any(|line| line.contains(word) && line.len() < 300);
    assert!(text.starts_with("As ") && is_shown("in 30 days") && is_shown("in 31 days"), "{text}");
    assert!(text.ends_with("\n+ 1 blank line"), "{text}");
    let body = format!("# A\n\nRefunds are paid.\n\n{}{}EVIL.\n", long("30"), paragraphs(500));
    let text = question(&place, &body);
    assert!(
        text.starts_with(
            "This question leaves out 482 of 502 changes. Read all of them first: ctx review show"
        ),
        "{text}"
    );
    assert!(
        text.contains("+ \"EVIL.\"") && text.contains("\u{2026} 239 changes not shown here"),
        "{text}"
    );
    let body =
        format!("# A\n\nRefunds are paid. {}EVIL {}\n", "so ".repeat(200), "on ".repeat(200));
    let text = question(&place, &body);
    assert!(text.starts_with("This question cuts words of "), "{text}");
    let text = question(&place, "---\ntitle: \"'B' \\u202e\"\n---\n# A\n");
    assert!(text.contains("~ \"title\": \"A\" -> \"'B' \\u{202e}\""), "{text}");
}

#[test]
fn context_verify_counts_nothing_that_its_reader_may_not_know_of() {
    let place = governed();
    let verified = |who: &str| by(&place, who, "context_verify", json!({}));
    let before = [verified("eve"), verified("ana")];
    by(&place, "ana", "context_create", json!({"id": "nodes/new", "body": "x\n", "submit": true}));
    let after = [verified("eve"), verified("ana")];
    assert_eq!(before[0], after[0]);
    assert!(after[0].get("versions").is_none() && after[0].get("artifacts").is_none());
    assert_eq!(after[0]["checkpoints"], after[1]["checkpoints"]);
    assert!(after[1]["versions"].as_u64() > before[1]["versions"].as_u64(), "{}", after[1]);
}

#[test]
fn a_body_loses_its_byte_order_mark_and_is_not_wiped() {
    let place = governed();
    let update = json!({"id": "nodes/a", "body": "\u{feff}# A\n\ntwo\n"});
    by(&place, "ana", "context_update", update);
    assert!(
        place.read("nodes/a.md").ends_with("---\n# A\n\ntwo\n"),
        "{}",
        place.read("nodes/a.md")
    );
    by(&place, "ana", "context_create", json!({"id": "nodes/b", "body": "\u{feff}# B\n"}));
    assert!(place.read("nodes/b.md").starts_with("---\n"), "{}", place.read("nodes/b.md"));
    for body in ["", " \n", "\u{feff}"] {
        let empty = json!({"id": "nodes/a", "body": body, "title": "T"});
        assert_eq!(refused(&place, "ana", "context_update", empty), "usage");
    }
}
