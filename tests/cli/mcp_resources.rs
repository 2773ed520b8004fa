//! Resources of `ctx mcp`: published documents, by URIs (`spec/mcp.md`, section 9).

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::Place;
use crate::mcp::{
    REVISIONS, STATELESS, answers, answers_of, compare, keep_from_bo, log, opener, place, request,
};

/// Returns the answers to requests, in order.
pub(crate) fn asked(place: &Place, command: &str, requests: &[(&str, Value)]) -> Vec<Value> {
    let mut messages = opener(STATELESS);
    for ((method, params), id) in requests.iter().zip(1..) {
        messages.push(request(STATELESS, id, method, params.clone()));
    }
    let answers = answers_of(place, command, &messages);
    (1..=requests.len()).map(|id| answers[&u64::try_from(id).unwrap()].clone()).collect()
}

fn read(place: &Place, uri: &str) -> Value {
    asked(place, "mcp", &[("resources/read", json!({"uri": uri}))]).remove(0)
}

#[track_caller]
fn text(place: &Place, uri: &str) -> String {
    let answer = read(place, uri);
    let text = answer["result"]["contents"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Returns the error of a read, as a text.
#[track_caller]
fn refused(place: &Place, uri: &str) -> String {
    let answer = read(place, uri);
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    answer["error"].to_string()
}

#[test]
fn each_revision_reads_resources_as_recorded() {
    let mut exchanges = Vec::new();
    for revision in REVISIONS {
        let place = place();
        let mut messages = opener(revision);
        let requests = [
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({"uri": "contextnest://nodes/returns"})),
            ("resources/read", json!({"uri": "contextnest://nodes/returns@1#exceptions"})),
            ("resources/read", json!({"uri": "contextnest://packs/desk.yml"})),
            ("resources/read", json!({"uri": "contextnest://nodes/secret"})),
            ("resources/read", json!({"uri": "contextnest://nodes/returns#none"})),
            ("resources/read", json!({})),
        ];
        for ((method, params), id) in requests.iter().zip(1..) {
            messages.push(request(revision, id, method, params.clone()));
        }
        let answers = answers(&place, &messages);
        let asked = messages.iter().filter(|message| message.get("id").is_some());
        exchanges.extend(asked.map(|message| {
            json!({"request": message, "answer": answers[&message["id"].as_u64().unwrap()]})
        }));
    }
    compare("resources.json", &exchanges.into());
}

#[test]
fn a_resource_is_what_the_command_reads() {
    let place = place();
    for uri in [
        "contextnest://nodes/returns",
        "contextnest://nodes/returns#exceptions",
        "contextnest://nodes/returns@1",
        "contextnest://CONTEXT.md",
        "contextnest://packs/desk.yml",
    ] {
        let answer = read(&place, uri);
        let contents = &answer["result"]["contents"][0];
        let command = place.typed(&format!("read {uri} --json")).here().ok().stdout;
        let mut expected: Value = serde_json::from_str(&command).unwrap();
        let body = match expected.as_object_mut().unwrap().remove("body") {
            Some(body) => body.as_str().unwrap().to_owned(),
            None => panic!("{expected}"),
        };
        assert_eq!(contents["_meta"]["contextnest/report"], expected, "{uri}");
        assert!(contents["text"].as_str().unwrap().contains(body.trim_end()), "{contents}");
        assert_eq!(contents["uri"], uri);
        assert_eq!(answer["result"]["ttlMs"], 0);
        assert_eq!(answer["result"]["cacheScope"], "private");
    }
}

#[test]
fn a_read_resource_is_recorded_as_a_document_that_was_read() {
    let place = place();
    let params = json!({"uri": "contextnest://nodes/returns",
                        "_meta": {"contextnest/session": "s-1"}});
    let answer = asked(&place, "mcp", &[("resources/read", params)]).remove(0);
    let lines = log(&place);
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&line["event"], &line["verb"]), (&json!("access"), &json!("read")));
    let words = "{\"uri\":\"contextnest://nodes/returns\"}";
    assert_eq!(line["args"]["argv"], json!(["resources/read", words]));
    assert_eq!((&line["client"], &line["labels"]["session"]), (&json!("tester/1"), &json!("s-1")));
    assert_eq!(line["documents"][0]["uri"], "contextnest://nodes/returns@2");
    let sent = json!({"contents": answer["result"]["contents"]});
    let sent = serde_jcs::to_vec(&sent).unwrap();
    let hash: String = Sha256::digest(&sent).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(line["sha256"], format!("sha256:{hash}"));
    assert_eq!(line["bytes"], sent.len());
    place.ctx("trace verify").ok();
}

#[test]
fn resources_exclude_unpublished_documents_and_hide_drafts() {
    let place = place();
    place.write("nodes/gone.md", "Once.\n");
    place.ctx("publish nodes/gone").ok();
    place.ctx("retire nodes/gone").ok();
    let before = log(&place).len();
    let nothing = refused(&place, "contextnest://nodes/none");
    assert!(nothing.contains("no resource has this URI"), "{nothing}");
    for uri in
        ["contextnest://nodes/secret", "contextnest://nodes/secret#a", "contextnest://nodes/gone"]
    {
        assert_eq!(refused(&place, uri), nothing, "{uri}");
    }
    assert_eq!(log(&place).len(), before);
    // The published text of a document whose file is a draft is served.
    assert!(text(&place, "contextnest://nodes/fees").contains("fee of 5"));
    assert!(text(&place, "contextnest://nodes/gone@3").contains("Once."));
}

#[test]
fn tricks_with_uris_read_nothing() {
    let place = place();
    let long = format!("contextnest://{}", "a".repeat(1 << 20));
    for uri in [
        "",
        "nodes/fees",
        "file:///etc/passwd",
        "contextnest://",
        "contextnest://..",
        "contextnest://../vault/nodes/fees",
        "contextnest://nodes/../../fees",
        "contextnest://nodes/%2e%2e/%2e%2e/etc/passwd",
        "contextnest://nodes%2Ffees",
        "contextnest://nodes/fees%00",
        "contextnest://nodes/fees#",
        "contextnest://nodes/fees#a#b",
        "contextnest://nodes/fees#../secret",
        "contextnest://nodes/fees@0",
        "contextnest://nodes/fees@99999999999999999999",
        "contextnest://nodes/fees@9",
        "contextnest://nodes/fees?x=1",
        "contextnest://nodes/",
        "contextnest://tag/policy",
        "contextnest://search/fee",
        "contextnest://nodes/fees.md",
        "contextnest://.versions/checkpoints.jsonl",
        long.as_str(),
    ] {
        let error = refused(&place, uri);
        assert!(error.len() < 4_000 && !error.contains("fee of"), "{error}");
    }
    assert_eq!(log(&place), Vec::<Value>::new());
}

#[test]
fn pages_of_resources_are_one_list_of_one_checkpoint() {
    let place = Place::vault();
    for n in 0..203 {
        place
            .write(&format!("nodes/part-{n:03}.md"), format!("---\ntitle: Part {n}\n---\nText.\n"));
    }
    place.write("packs/all.yml", "id: all\nlabel: All\nquery: 'type:document'\n");
    place.ctx("publish --all").ok();
    let mut uris = Vec::new();
    let mut cursor = Value::Null;
    let mut pages = Vec::new();
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let answer = asked(&place, "mcp", &[("resources/list", params)]).remove(0);
        let page = answer["result"]["resources"].as_array().unwrap().clone();
        pages.push(page.len());
        uris.extend(page.iter().map(|one| one["uri"].as_str().unwrap().to_owned()));
        cursor = answer["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
        // A later checkpoint does not change this list.
        place.write(&format!("nodes/a-{}.md", pages.len()), "New.\n");
        place.ctx(&format!("publish nodes/a-{}", pages.len())).ok();
    }
    assert_eq!(pages, [100, 100, 4]);
    assert_eq!(uris.iter().collect::<BTreeSet<_>>().len(), 204);
    assert_eq!(uris[202], "contextnest://nodes/part-202");
    assert_eq!(uris[203], "contextnest://packs/all.yml");
    for cursor in ["x", "1", "1:", "9:1", "-1:0", "1:99999999999999999999999"] {
        let requests = [("resources/list", json!({"cursor": cursor}))];
        let answer = asked(&place, "mcp", &requests).remove(0);
        assert_eq!(answer["error"]["code"], -32602, "{cursor}: {answer}");
    }
    for method in ["resources/list", "resources/templates/list", "tools/list", "prompts/list"] {
        for cursor in [json!(5), json!({}), json!("x")] {
            let answer = asked(&place, "mcp", &[(method, json!({"cursor": cursor}))]).remove(0);
            assert_eq!(answer["error"]["code"], -32602, "{method} {cursor}: {answer}");
        }
        let answer = asked(&place, "mcp", &[(method, json!({"cursor": null}))]).remove(0);
        assert!(answer["result"].is_object(), "{method}: {answer}");
    }
    let first = asked(&place, "mcp", &[("resources/list", json!({}))]).remove(0);
    let cursor = first["result"]["nextCursor"].as_str().unwrap();
    for (method, cursor) in [
        ("resources/list", cursor.replacen(":100:", ":18446744073709551615:", 1)),
        ("resources/list", cursor.replacen(":100:", ":0:", 1)),
        ("prompts/list", cursor.to_owned()),
    ] {
        let answer = asked(&place, "mcp", &[(method, json!({"cursor": cursor}))]).remove(0);
        assert_eq!(answer["error"]["data"]["code"], "usage", "{method} {cursor}: {answer}");
    }
}

#[test]
fn a_resource_that_is_too_large_is_read_by_its_sections() {
    let place = Place::vault();
    let text_of = format!("# Huge\n\n{}\n## End\n\nShort.\n", "word ".repeat(30_000));
    place.write("nodes/huge.md", text_of);
    place.ctx("publish --all").ok();
    let error = refused(&place, "contextnest://nodes/huge");
    assert!(error.contains("answer-too-large") && error.contains("#ANCHOR"), "{error}");
    assert!(text(&place, "contextnest://nodes/huge#end").contains("Short."));
    assert_eq!(log(&place).len(), 1);
}

#[test]
fn a_reader_has_only_the_resources_that_they_may_read() {
    let place = Place::vault();
    place.write("nodes/open.md", "# Open\n");
    place.write("nodes/hr/pay.md", "# Pay\n");
    keep_from_bo(&place);
    let requests = [
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "contextnest://nodes/hr/pay"})),
        ("resources/read", json!({"uri": "contextnest://nodes/hr/none"})),
        ("resources/read", json!({"uri": "contextnest://nodes/open"})),
    ];
    let of_bo = asked(&place, "mcp --as bo@x.com", &requests);
    let uris = |answer: &Value| {
        let list = answer["result"]["resources"].as_array().unwrap();
        list.iter().map(|one| one["uri"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(uris(&of_bo[0]), ["contextnest://nodes/open"]);
    assert_eq!(of_bo[1]["error"], of_bo[2]["error"]);
    assert!(of_bo[3]["result"]["contents"][0]["text"].as_str().unwrap().contains("# Open"));
    let of_kim = asked(&place, "mcp --as kim@x.com", &requests);
    assert_eq!(uris(&of_kim[0]), ["contextnest://nodes/hr/pay", "contextnest://nodes/open"]);
    assert!(of_kim[1]["result"]["contents"][0]["text"].as_str().unwrap().contains("# Pay"));
}

#[test]
fn with_several_vaults_a_uri_names_the_vault_first() {
    let place = Place::vault();
    place.write("nodes/a.md", "Of one.\n");
    place.ctx("publish --all").ok();
    place.ctx("init ../other --name Other").ok();
    place.write("../other/nodes/a.md", "Of two.\n");
    place.ctx("publish --all --vault ../other").ok();
    let command = "mcp --vault one=. --vault two=../other";
    let list = |params| asked(&place, command, &[("resources/list", params)]).remove(0);
    let first = list(json!({}));
    assert_eq!(first["result"]["resources"][0]["uri"], "contextnest://one/nodes/a");
    let cursor = first["result"]["nextCursor"].as_str().unwrap();
    assert!(cursor.starts_with("two/"), "{cursor}");
    let second = list(json!({"cursor": cursor}));
    assert_eq!(second["result"]["resources"][0]["uri"], "contextnest://two/nodes/a");
    assert_eq!(second["result"].get("nextCursor"), None);
    for none in ["1:1", "two/", "one/", &cursor.replace("two", "three")] {
        assert_eq!(list(json!({"cursor": none}))["error"]["code"], -32602, "{none}");
    }
    let read = |uri: &str| {
        asked(&place, command, &[("resources/read", json!({"uri": uri}))]).remove(0).to_string()
    };
    assert!(read("contextnest://one/nodes/a").contains("Of one."));
    assert!(read("contextnest://two/nodes/a@1").contains("Of two."));
    for none in ["nodes/a", "three/nodes/a", "one/../two/nodes/a", "./one/nodes/a", "ONE/nodes/a"] {
        let answer = read(&format!("contextnest://{none}"));
        assert!(answer.contains("-32602") && !answer.contains("Of "), "{none}: {answer}");
    }
    let forms = asked(&place, command, &[("resources/templates/list", json!({}))]).remove(0);
    let form = &forms["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(form, "contextnest://{vault}/{+id}");
}

#[test]
fn resources_are_offered_with_the_tool_that_reads_them() {
    let place = place();
    let requests = [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "contextnest://nodes/fees"})),
    ];
    for answer in asked(&place, "mcp --tools context_init", &requests) {
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
    for answer in asked(&place, "mcp --tools context_read", &requests) {
        assert_eq!(answer.get("error"), None, "{answer}");
    }
}

#[test]
fn replay_reproduces_resources_and_prompts() {
    let place = place();
    let requests = [
        ("resources/read", json!({"uri": "contextnest://nodes/returns#exceptions"})),
        ("resources/list", json!({})),
        ("prompts/get", json!({"name": "desk"})),
        ("prompts/get", json!({"name": "select", "arguments": {"selector": "#fee"}})),
    ];
    for answer in asked(&place, "mcp", &requests) {
        assert_eq!(answer.get("error"), None, "{answer}");
    }
    place.edit("nodes/returns.md", "14 days", "15 days");
    place.ctx("publish nodes/returns").ok();
    let lines = log(&place);
    let outcomes = lines.iter().filter(|line| line["event"] == "access").map(|line| {
        let writer = &line["writer"].as_str().unwrap()[..8];
        let trace = format!("{writer}-{}", line["seq"]);
        let replayed = place.ctx(&format!("replay {trace} --output --json")).stdout;
        serde_json::from_str::<Value>(&replayed).unwrap_or_default().to_string()
    });
    let outcomes: Vec<String> = outcomes.collect();
    assert_eq!(outcomes.len(), 3);
    for outcome in outcomes {
        assert!(outcome.contains("\"same\":1"), "{outcome}");
    }
}
