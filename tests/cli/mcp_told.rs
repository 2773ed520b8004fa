//! Tools reveal neither documents that their principal may not know of, nor those that only the
//! tags of a text open to them (`spec/mcp.md`, MCP-3, MCP-8, MCP-19).

use serde_json::{Value, json};

use crate::harness::Place;
use crate::mcp::STATELESS;
use crate::mcp_writing::{Client, code, yes};
use crate::stage::shop;

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: ana@x.com, role: reviewer}\n  - \
    {principal: kim@x.com, role: reviewer}\nfolders:\n  nodes/open/:\n    - {principal: zed@x.com, \
    role: reviewer}\n    - {principal: eve@x.com, role: editor}\n    - {principal: kim@x.com, role: \
    reviewer}\n  nodes/hid/x/:\n    - {principal: kim@x.com, role: reviewer}\n";

/// Governs a vault, with these stewards as its readers.
fn govern(place: &Place, stewards: &str) {
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.ctx("publish --all --as kim@x.com").ok();
    place.write("stewards.yaml", stewards);
    place.ctx("govern on --as kim@x.com").ok();
}

/// Returns the result of one call.
fn call(place: &Place, who: &str, tool: &str, arguments: &Value) -> Value {
    let mut client = Client::connect(place, who, STATELESS, true);
    let answer = client.call(tool, arguments, &json!({}), true);
    client.end();
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

/// Returns the report of a call, which must succeed.
#[track_caller]
fn done(place: &Place, who: &str, tool: &str, arguments: &Value) -> Value {
    let result = call(place, who, tool, arguments);
    assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
    result["structuredContent"].clone()
}

/// Asserts that two ids of the same length get the same answers.
#[track_caller]
fn alike(place: &Place, who: &str, calls: &[(&str, Value)], (one, none): (&str, &str)) {
    assert_eq!(one.len(), none.len());
    for (tool, arguments) in calls {
        let of = |id: &str| {
            let said = arguments.to_string().replace("ID", id);
            let result = call(place, who, tool, &serde_json::from_str(&said).unwrap());
            assert_eq!(result["isError"], true, "{who} {tool} {said}: {result}");
            result.to_string().replace(id, "ID")
        };
        assert_eq!(of(one), of(none), "{who} {tool} {arguments} {one}");
    }
}

#[test]
fn a_review_does_not_tell_a_hidden_document_from_one_that_there_is_not() {
    let place = Place::vault();
    place.write("nodes/open/a.md", "# A\n");
    place.write("nodes/hid/pay.md", "# Pay\n");
    place.write("nodes/hid/old.md", "# Old\n");
    place.write("packs/sec.yml", "id: sec\nlabel: Sec\nquery: \"contextnest://nodes/hid/\"\n");
    govern(&place, STEWARDS);
    place.ctx("retire nodes/hid/old --as ana@x.com").ok();
    place.ctx("approve nodes/hid/old --as kim@x.com").ok();
    place.write("nodes/hid/pay.md", "# Pay\n\nmore\n");
    place.ctx("submit nodes/hid/pay --as ana@x.com").ok();
    let calls = [
        ("context_review", json!({"id": "ID"})),
        ("context_review", json!({"id": "ID", "version": 1})),
        ("context_review", json!({"id": "ID", "version": 2})),
    ];
    for who in ["zed", "eve"] {
        for pair in [
            ("nodes/hid/pay", "nodes/hid/non"),
            ("nodes/hid/old", "nodes/hid/non"),
            ("packs/sec.yml", "packs/non.yml"),
        ] {
            alike(&place, who, &calls, pair);
        }
        let read = call(&place, who, "context_review", &json!({"id": "nodes/open/a"}));
        assert_eq!(code(&read), "not-submitted", "{read}");
    }
    // The submitter reads the submission.
    let update = json!({"id": "nodes/open/a", "body": "b", "submit": true});
    done(&place, "eve", "context_update", &update);
    done(&place, "eve", "context_review", &json!({"id": "nodes/open/a"}));
    done(&place, "ana", "context_review", &json!({"id": "nodes/hid/pay", "version": 2}));
}

#[test]
fn no_call_that_writes_tells_of_a_draft_or_a_submission_of_another_principal() {
    let place = Place::vault();
    place.write("nodes/open/a.md", "# A\n");
    place.ctx("publish --all --as kim@x.com").ok();
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: kim@x.com, role: reviewer}\n  - {principal: bo@x.com, role: reviewer}\n  - {principal: ana@x.com, \
         role: editor}\n  - {principal: eve@x.com, role: viewer}\n  - {principal: lee@x.com, role: \
         editor}\n",
    );
    place.ctx("govern on --as kim@x.com").ok();
    let create = |id: &str, submit: bool| json!({"id": id, "body": "x", "submit": submit});
    done(&place, "ana", "context_create", &create("nodes/drafted", false));
    done(&place, "ana", "context_create", &create("nodes/offered", true));
    let renew = ("context_submit", json!({"ids": ["ID"], "renew": true}));
    let zeros = format!("sha256:{}", "0".repeat(64));
    let update = [
        ("context_update", json!({"id": "ID", "body": "y"})),
        ("context_update", json!({"id": "ID", "body": "y", "expected_live": zeros})),
        ("context_update", json!({"id": "ID", "body": "y", "submit": true})),
        ("context_update", json!({"id": "ID", "body": "y", "expected_version": 0})),
    ];
    for who in ["eve", "lee"] {
        alike(&place, who, std::slice::from_ref(&renew), ("nodes/drafted", "nodes/nothing"));
        alike(&place, who, &update, ("nodes/drafted", "nodes/nothing"));
    }
    // An editor may know of a submission; others may not.
    alike(&place, "eve", &[renew], ("nodes/offered", "nodes/nothing"));
    alike(&place, "eve", &update[..1], ("nodes/offered", "nodes/nothing"));
    let own = json!({"ids": ["nodes/drafted"], "renew": true});
    assert_eq!(code(&call(&place, "ana", "context_submit", &own)), "refused");
    let own = json!({"id": "nodes/drafted", "body": "y", "expected_live": zeros});
    assert_eq!(code(&call(&place, "ana", "context_update", &own)), "unpublished-changes");
    done(&place, "ana", "context_submit", &json!({"ids": ["nodes/open/a"], "renew": true}));
}

#[test]
fn a_promotion_names_no_scope_that_its_principal_may_not_know_of() {
    let place = shop(Place::vault());
    place.write("nodes/hid/pay.md", "# Pay\n");
    place.write("nodes/hid/x/y.md", "# Y\n");
    let sources = "  sources/:\n    - {principal: eve@x.com, role: editor}\n    - {principal: \
                   kim@x.com, role: reviewer}\n";
    govern(&place, &format!("{STEWARDS}{sources}"));
    let result = json!({"id": "sources/prices", "tools": ["list_prices"], "server": "shop",
                        "result": "{}", "media_type": "application/json"});
    let session = json!({"contextnest/session": "s-1"});
    let in_session = |client: &mut Client, tool: &str, arguments: &Value| {
        client.call_in(&session, tool, arguments)["result"].clone()
    };
    let mut client = Client::connect(&place, "eve", STATELESS, true);
    let staged = in_session(&mut client, "context_source_record", &result);
    let entry = staged["structuredContent"]["staged"].clone();
    assert!(entry.is_string(), "{staged}");
    for to in ["nodes/hid/pay", "nodes/hid/non", "nodes/hid/x/y", "nodes/hid/x/z", "nodes/non"] {
        let promote = json!({"entry": entry, "to": to});
        let promoted = in_session(&mut client, "context_stage_promote", &promote);
        let create = json!({"id": to, "body": "x", "submit": true});
        let created = in_session(&mut client, "context_create", &create);
        assert_eq!(code(&created), "unknown-id", "{created}");
        assert_eq!(promoted["structuredContent"], created["structuredContent"], "{to}");
    }
    let promote = json!({"entry": entry, "to": "nodes/open/new"});
    let asked = in_session(&mut client, "context_stage_promote", &promote);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    client.end();
}

/// Returns a vault in which Bo edits documents with the tag `pub`; `nodes/p` has it, `nodes/s`
/// does not.
fn by_tags() -> Place {
    let place = Place::vault();
    place.write("nodes/p.md", "---\ntitle: P\ntags: [pub]\n---\np\n");
    place.write("nodes/s.md", "---\ntitle: S\ntags: [hidden]\n---\ns\n");
    govern(
        &place,
        "version: 1\nvault:\n  - {principal: ana@x.com, role: reviewer}\n  - {principal: kim@x.com, \
         role: reviewer}\ntags:\n  pub:\n    - {principal: bo@x.com, role: editor}\n    - \
         {principal: kim@x.com, role: reviewer}\n    - {principal: eve@x.com, role: viewer}\n",
    );
    place
}

#[test]
fn editors_of_a_tag_can_create_documents_with_it() {
    let place = by_tags();
    let submitted = json!({"id": "nodes/c1", "body": "x", "tags": ["pub"], "submit": true});
    done(&place, "bo", "context_create", &submitted);
    let drafted = json!({"id": "nodes/c2", "body": "x", "tags": ["pub"]});
    let draft = done(&place, "bo", "context_create", &drafted);
    let whole =
        json!({"id": "nodes/c3", "body": "---\ntitle: T\ntags: [pub]\n---\nx\n", "submit": true});
    done(&place, "bo", "context_create", &whole);
    place.write("text", "---\ntitle: T\ntags: [pub]\n---\nx\n");
    place.ctx("submit nodes/c4 --from text --as bo@x.com").ok();
    // Bo reads, changes, submits and withdraws the documents that Bo may edit.
    let update = json!({"id": "nodes/c1", "body": "y", "submit": true});
    done(&place, "bo", "context_update", &update);
    done(&place, "bo", "context_review", &json!({"id": "nodes/c1"}));
    let update = json!({"id": "nodes/c2", "body": "y", "expected_live": draft["live_hash"]});
    done(&place, "bo", "context_update", &update);
    done(&place, "bo", "context_submit", &json!({"ids": ["nodes/c2"]}));
    for id in ["nodes/c1", "nodes/c2", "nodes/c4"] {
        done(&place, "bo", "context_withdraw", &json!({"ids": [id]}));
    }
    // The draft stays, and is submitted again.
    done(&place, "bo", "context_submit", &json!({"ids": ["nodes/c2"]}));
    let mut client = Client::connect(&place, "kim", STATELESS, true);
    let (_, approved) =
        client.decided("context_approve", &json!({"id": "nodes/c3", "version": 1}), Some(yes));
    assert_eq!(approved["isError"], false, "{approved}");
    client.end();
    done(&place, "bo", "context_read", &json!({"id": "nodes/c3"}));
    // The reviewers of the vault create documents without such a tag.
    done(&place, "ana", "context_create", &json!({"id": "nodes/c5", "body": "x"}));
}

#[test]
fn editors_of_a_tag_learn_nothing_of_other_tags() {
    let place = by_tags();
    let create = json!({"id": "nodes/d", "body": "x", "tags": ["hidden"]});
    done(&place, "ana", "context_create", &create);
    let create = json!({"id": "nodes/o", "body": "x", "tags": ["hidden"], "submit": true});
    done(&place, "ana", "context_create", &create);
    let create = json!({"id": "nodes/t", "body": "x", "tags": ["pub"], "submit": true});
    done(&place, "kim", "context_create", &create);
    let calls = [
        ("context_create", json!({"id": "ID", "body": "x"})),
        ("context_create", json!({"id": "ID", "body": "x", "tags": ["hidden"]})),
        ("context_create", json!({"id": "ID", "body": "x", "submit": true})),
        ("context_update", json!({"id": "ID", "body": "x"})),
        ("context_update", json!({"id": "ID", "body": "x", "tags": ["pub"], "submit": true})),
        ("context_submit", json!({"ids": ["ID"]})),
        ("context_submit", json!({"ids": ["ID"], "renew": true})),
        ("context_submit", json!({"ids": ["ID"], "supersede": true})),
        ("context_withdraw", json!({"ids": ["ID"]})),
        ("context_restore", json!({"id": "ID", "version": 1})),
        ("context_review", json!({"id": "ID"})),
        ("context_review", json!({"id": "ID", "version": 1})),
        ("context_reject", json!({"ids": ["ID"], "reason": "x"})),
        ("context_approve", json!({"id": "ID", "version": 1})),
        ("context_publish", json!({"id": "ID"})),
    ];
    for id in ["nodes/s", "nodes/d", "nodes/o"] {
        alike(&place, "bo", &calls, (id, "nodes/n"));
        alike(&place, "eve", &calls, (id, "nodes/n"));
    }
    // A viewer reads published documents with the tag, and learns of no submission.
    alike(&place, "eve", &calls, ("nodes/t", "nodes/n"));
    // Two documents cannot have one id, so a creator with this text learns that it exists.
    let taken = |id: &str| {
        let create = json!({"id": id, "body": "x", "tags": ["pub"]});
        let result = call(&place, "bo", "context_create", &create);
        assert_eq!(result["isError"], true, "{result}");
        result.to_string().replace(id, "ID")
    };
    assert_eq!(taken("nodes/s"), taken("nodes/d"));
    assert_eq!(taken("nodes/s"), taken("nodes/o"));
}
