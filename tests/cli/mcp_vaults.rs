//! `ctx mcp --vault NAME=DIR`, repeated: several vaults of one server (`spec/mcp.md`).

use serde_json::{Value, json};

use crate::harness::{Place, files_in};
use crate::mcp::{STATELESS, answers_of, opener, place, request};

/// Returns a place with a second vault next to its own, in which a document has another text.
fn two() -> Place {
    let place = place();
    place.ctx("init ../other --name Other").ok();
    std::fs::write(place.home().join("other/nodes/fees.md"), "# Fees\n\nOf the other vault.\n")
        .unwrap();
    place.ctx("publish --all --vault ../other").ok();
    place
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let mut params = json!({"name": tool});
    params["arguments"] = arguments;
    request(STATELESS, id, "tools/call", params)
}

#[test]
fn each_call_names_one_of_several_vaults() {
    let place = two();
    let mut messages = opener(STATELESS);
    messages.push(request(STATELESS, 1, "tools/list", json!({})));
    messages.push(call(2, "context_read", json!({"id": "nodes/fees", "vault": "one"})));
    messages.push(call(3, "context_read", json!({"id": "nodes/fees", "vault": "other"})));
    messages.push(call(4, "context_read", json!({"id": "nodes/fees"})));
    messages.push(call(5, "context_read", json!({"id": "nodes/fees", "vault": "othe"})));
    messages.push(call(6, "context_read", json!({"id": "nodes/fees", "vault": "../other"})));
    messages.push(call(7, "context_read", json!({"id": "nodes/returns", "vault": "other"})));
    let said = answers_of(&place, "mcp --vault one=. --vault other=../other", &messages);
    let told = said[&0]["result"]["instructions"].as_str().unwrap();
    assert!(told.ends_with("pass the name of one as `vault` in each call."), "{told}");
    for tool in said[&1]["result"]["tools"].as_array().unwrap() {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["properties"]["vault"]["enum"], json!(["one", "other"]), "{schema}");
        assert!(schema["required"].as_array().unwrap().contains(&json!("vault")), "{schema}");
    }
    let text = |id: u64| said[&id]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text(2).contains("A late fee of 5") && !text(2).contains("Of the other vault"));
    assert!(text(3).contains("Of the other vault") && !text(3).contains("A late fee of 5"));
    assert!(text(4).starts_with("error[usage]: the server has several vaults"), "{}", text(4));
    assert!(text(4).contains("hint: vaults are one, other"), "{}", text(4));
    assert!(text(5).contains("hint: did you mean `other`?"), "{}", text(5));
    assert!(text(6).starts_with("error[usage]: no vault has the name `../other`"), "{}", text(6));
    assert!(text(7).starts_with("error[unknown-id]"), "{}", text(7));
    // Each vault has its own log.
    let logs = files_in(&place.home().join(".local/state/contextnest/audit"));
    let reads = logs.values().map(|bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        text.lines().filter(|line| line.contains("context_read")).count()
    });
    assert_eq!(reads.collect::<Vec<_>>(), [1, 1], "{:?}", logs.keys());
}

#[test]
fn one_vault_with_a_name_needs_none_in_a_call() {
    let place = two();
    let mut messages = opener(STATELESS);
    messages.push(call(1, "context_read", json!({"id": "nodes/fees"})));
    messages.push(call(2, "context_read", json!({"id": "nodes/fees", "vault": "other"})));
    let said = answers_of(&place, "mcp --vault other=../other", &messages);
    for id in [1, 2] {
        let text = said[&id]["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("Of the other vault"), "{text}");
    }
    // Without a name, the argument does not exist.
    let said = answers_of(&place, "mcp --vault ../other", &messages);
    assert_eq!(said[&1]["result"]["isError"], false);
    assert_eq!(said[&2]["result"]["structuredContent"]["code"], "usage");
}

#[test]
fn vaults_that_cannot_be_named_are_refused() {
    let place = two();
    for (line, why) in [
        ("mcp --vault one=. --vault ../other", "needs a name"),
        ("mcp --vault one=. --vault one=../other", "two vaults have the name `one`"),
        ("mcp --vault one=. --vault other=../none", "error[no-vault]"),
    ] {
        let said = place.ctx(line).exits(2).stderr;
        assert!(said.contains(why), "{line}: {said}");
    }
}
