//! Prompts of `ctx mcp`, and completion (`spec/mcp.md`, section 9).

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::Place;
use crate::mcp::{REVISIONS, answers_of, compare, keep_from_bo, log, opener, place, request};
use crate::mcp_resources::asked;

const DOCUMENT: &str = "contextnest://{+id}";
const SECTION: &str = "contextnest://{+id}#{anchor}";
const PINNED: &str = "contextnest://{+id}@{checkpoint}";

/// Returns the parameters that complete an argument.
fn completing(of: Value, name: &str, value: &str, others: Value) -> Value {
    let mut params = json!({"argument": {"name": name, "value": value}});
    params["ref"] = of;
    if others != json!({}) {
        params["context"] = json!({});
        params["context"]["arguments"] = others;
    }
    params
}

fn template(uri: &str) -> Value {
    json!({"type": "ref/resource", "uri": uri})
}

fn prompt(name: &str) -> Value {
    json!({"type": "ref/prompt", "name": name})
}

/// Returns the completions of an argument, and the number of values.
#[track_caller]
fn completed(place: &Place, command: &str, params: Value) -> (Vec<String>, u64) {
    let answer = asked(place, command, &[("completion/complete", params)]).remove(0);
    let completion = &answer["result"]["completion"];
    let values = completion["values"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let values: Vec<String> = values.iter().map(|v| v.as_str().unwrap().to_owned()).collect();
    let total = completion["total"].as_u64().unwrap();
    assert_eq!(completion["hasMore"], total > values.len() as u64, "{answer}");
    (values, total)
}

fn get(place: &Place, command: &str, name: &str, arguments: Value) -> Value {
    let mut params = json!({"name": name});
    params["arguments"] = arguments;
    asked(place, command, &[("prompts/get", params)]).remove(0)
}

/// Returns the names of the prompts of a server.
fn names(place: &Place, command: &str) -> Vec<String> {
    let answer = asked(place, command, &[("prompts/list", json!({}))]).remove(0);
    let prompts = answer["result"]["prompts"].as_array().unwrap_or_else(|| panic!("{answer}"));
    prompts.iter().map(|prompt| prompt["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_revision_has_prompts_and_completion_as_recorded() {
    let mut exchanges = Vec::new();
    for revision in REVISIONS {
        let place = place();
        let mut messages = opener(revision);
        let id = json!({"id": "nodes/returns"});
        let requests = [
            ("prompts/list", json!({})),
            ("prompts/get", json!({"name": "desk"})),
            ("prompts/get", json!({"name": "cite"})),
            ("prompts/get", json!({"name": "select", "arguments": {"selector": "#fee"}})),
            ("prompts/get", json!({"name": "none"})),
            ("completion/complete", completing(template(DOCUMENT), "id", "nodes/", json!({}))),
            ("completion/complete", completing(template(PINNED), "checkpoint", "", id.clone())),
            ("completion/complete", completing(template(SECTION), "anchor", "ex", id)),
            ("completion/complete", completing(prompt("select"), "selector", "#", json!({}))),
            ("completion/complete", completing(prompt("cite"), "selector", "#", json!({}))),
        ];
        for ((method, params), id) in requests.iter().zip(1..) {
            messages.push(request(revision, id, method, params.clone()));
        }
        let answers = answers_of(&place, "mcp --profile reviewer", &messages);
        let asked = messages[1..].iter().filter(|message| message.get("id").is_some());
        exchanges.extend(asked.map(|message| {
            json!({"request": message, "answer": answers[&message["id"].as_u64().unwrap()]})
        }));
    }
    compare("prompts.json", &exchanges.into());
}

#[test]
fn a_prompt_of_a_pack_is_what_the_tool_hands_out_and_is_recorded_alike() {
    let place = place();
    let requests = [
        ("prompts/get", json!({"name": "desk", "_meta": {"contextnest/session": "s-1"}})),
        ("tools/call", json!({"name": "context_pack", "arguments": {"id": "desk"}})),
        ("prompts/get", json!({"name": "cite"})),
    ];
    let answers = asked(&place, "mcp", &requests);
    let messages = &answers[0]["result"]["messages"];
    assert_eq!(messages[1]["content"]["text"], answers[1]["result"]["content"][0]["text"]);
    assert_eq!(messages[1]["role"], "user");
    let lines = log(&place);
    let [of_prompt, of_tool] = lines.as_slice() else { panic!("{lines:?}") };
    for same in ["event", "verb", "class", "query", "documents"] {
        assert_eq!(of_prompt[same], of_tool[same], "{same}");
    }
    let words = "{\"arguments\":{},\"name\":\"desk\"}";
    assert_eq!(of_prompt["args"]["argv"], json!(["prompts/get", words]));
    assert_eq!(of_prompt["labels"]["session"], "s-1");
    let sent = serde_jcs::to_vec(&json!({"messages": messages})).unwrap();
    let hash: String = Sha256::digest(&sent).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(of_prompt["sha256"], format!("sha256:{hash}"));
}

#[test]
fn prompts_are_offered_with_the_tools_that_they_are_about() {
    let place = place();
    assert_eq!(names(&place, "mcp"), ["cite", "select", "desk"]);
    assert_eq!(names(&place, "mcp --profile reviewer"), ["cite", "review", "select", "desk"]);
    assert_eq!(names(&place, "mcp --tools context_init"), ["cite"]);
    assert_eq!(names(&place, "mcp --tools context_pack"), ["cite", "desk"]);
    for (command, name) in [
        ("mcp", "review"),
        ("mcp --tools context_init", "desk"),
        ("mcp --tools context_init", "select"),
    ] {
        let answer = get(&place, command, name, json!({}));
        assert_eq!(answer["error"]["code"], -32602, "{command} {name}: {answer}");
        assert!(!answer.to_string().contains("fee of"), "{answer}");
    }
    let review = get(&place, "mcp --profile reviewer", "review", json!({"id": "a\"\nb"}));
    let text = review["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.starts_with("Call context_review with `id`: \"a\\\"\\nb\" to show"), "{text}");
}

#[test]
fn an_argument_that_a_prompt_has_not_is_refused() {
    let place = place();
    for (name, arguments) in [
        ("desk", json!({"budget": "9"})),
        ("cite", json!({"x": "y"})),
        ("select", json!({})),
        ("select", json!({"selector": 3})),
        ("select", json!({"selector": "#policy +"})),
        ("select", json!({"selector": "#policy", "vault": "x"})),
        ("select", json!({"selector": "x".repeat(1 << 20)})),
        ("none", json!({})),
        ("", json!({})),
        ("pack:", json!({})),
        (&"x".repeat(1 << 20), json!({})),
    ] {
        let answer = get(&place, "mcp", name, arguments);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer.to_string().len() < 5_000);
    }
}

#[test]
fn an_unknown_prompt_is_refused_as_such_whatever_its_arguments() {
    let place = place();
    let error = |name: &str, arguments: Value| get(&place, "mcp", name, arguments)["error"].clone();
    let unknown = error("none", json!({}));
    assert_eq!(unknown["data"]["message"], "no prompt has this name", "{unknown}");
    for name in ["none", "", "pack:", "pack:none", "review", "no/ne", "a b", &"x".repeat(5_000)] {
        for arguments in [json!({}), json!({"selector": "#policy"}), json!({"vault": "x"})] {
            assert_eq!(error(name, arguments.clone()), unknown, "{name} {arguments}");
        }
    }
    let known = error("desk", json!({"selector": "#policy"}));
    assert_eq!(known["data"]["message"], "unknown argument `selector` of the prompt", "{known}");
    assert!(log(&place).is_empty(), "a refusal hands out nothing");
}

#[test]
fn a_pack_with_the_id_of_another_prompt_keeps_a_name() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntags: ['#x']\n---\nText of a.\n");
    for id in ["cite", "pack:x", "b/c d"] {
        let file = format!("packs/p-{}.yml", id.len());
        place.write(&file, format!("id: '{id}'\nlabel: L\nquery: '#x'\n"));
    }
    place.write("packs/one.yml", "id: twin\nlabel: L\nquery: '#x'\n");
    place.write("packs/two.yml", "id: twin\nlabel: L\nquery: '#x'\n");
    place.ctx("publish --all").ok();
    let listed = names(&place, "mcp");
    assert_eq!(listed, ["cite", "select", "pack:cite", "b/c d", "pack:pack:x"]);
    for name in &listed[2..] {
        assert!(get(&place, "mcp", name, json!({})).to_string().contains("Text of a."), "{name}");
    }
    let answer = get(&place, "mcp", "twin", json!({}));
    assert!(answer["error"]["data"]["code"] == "pack-invalid", "{answer}");
    let packs =
        completed(&place, "mcp", completing(prompt("select"), "selector", "#x + pa", json!({})));
    assert_eq!(packs.0, ["#x + pack:\"b/c d\"", "#x + pack:cite", "#x + pack:\"pack:x\""]);
}

#[test]
fn ids_are_completed_as_a_uri_spells_them() {
    let place = Place::vault();
    for name in ["R&D", "a b", "a#b", "plain"] {
        place.write(&format!("nodes/{name}.md"), "Text.\n");
    }
    place.write("nodes/draft.md", "Not published.\n");
    place.ctx("publish 'nodes/R&D' 'nodes/a b' 'nodes/a#b' nodes/plain").ok();
    let of = |value: &str| {
        completed(&place, "mcp", completing(template(DOCUMENT), "id", value, json!({}))).0
    };
    assert_eq!(of(""), ["nodes/R%26D", "nodes/a%20b", "nodes/a%23b", "nodes/plain"]);
    assert_eq!(of("nodes/R&"), ["nodes/R%26D"]);
    assert_eq!(of("nodes/a%23"), ["nodes/a%23b"]);
    for none in ["nodes/d", "odes", "nodes/a%", "%ff", "../", &"x".repeat(1 << 20)] {
        assert_eq!(of(none), [""; 0], "{}", none.len());
    }
    for id in of("") {
        let params = json!({"uri": format!("contextnest://{id}")});
        let answer = asked(&place, "mcp", &[("resources/read", params)]).remove(0);
        assert_eq!(answer["result"]["contents"].as_array().map(Vec::len), Some(1), "{answer}");
    }
}

#[test]
fn at_most_a_hundred_values_are_given_and_all_are_counted() {
    let place = Place::vault();
    for n in 0..150 {
        place.write(&format!("nodes/n-{n:03}.md"), format!("---\ntags: ['#t{n}']\n---\nText.\n"));
    }
    place.ctx("publish --all").ok();
    let (ids, total) =
        completed(&place, "mcp", completing(template(DOCUMENT), "id", "nodes/n-", json!({})));
    assert_eq!((ids.len(), ids[99].as_str(), total), (100, "nodes/n-099", 150));
    let (tags, total) =
        completed(&place, "mcp", completing(prompt("select"), "selector", "(#t1", json!({})));
    assert_eq!((tags[0].as_str(), total), ("(#t1", 61));
    let line = &log(&place)[0];
    assert_eq!(
        (&line["event"], &line["verb"], &line["count"]),
        (&json!("listing"), &json!("list"), &json!(100))
    );
    assert_eq!(line["args"]["argv"][0], "completion/complete");
}

#[test]
fn versions_and_sections_are_completed_for_the_document_that_was_chosen() {
    let place = place();
    let of = |form: &str, name: &str, others: Value| {
        completed(&place, "mcp", completing(template(form), name, "", others)).0
    };
    let returns = json!({"id": "nodes/returns"});
    assert_eq!(of(PINNED, "checkpoint", returns.clone()), ["2", "1"]);
    assert_eq!(of(SECTION, "anchor", returns), ["returns", "exceptions"]);
    for id in ["nodes/secret", "nodes/none", "../x", "nodes/returns@1#a", "", "tag/policy"] {
        let others = json!({"id": id});
        assert_eq!(of(PINNED, "checkpoint", others.clone()), [""; 0], "{id}");
        assert_eq!(of(SECTION, "anchor", others), [""; 0], "{id}");
    }
    assert_eq!(of(PINNED, "checkpoint", json!({})), [""; 0]);
    let wrong = [
        completing(template("contextnest://{id}"), "id", "", json!({})),
        completing(template(DOCUMENT), "checkpoint", "", json!({})),
        completing(template(DOCUMENT), "vault", "", json!({})),
        completing(prompt("desk"), "id", "", json!({})),
        completing(prompt("review"), "id", "", json!({})),
    ];
    for params in wrong {
        let answer = asked(&place, "mcp", &[("completion/complete", params)]).remove(0);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[test]
fn nothing_is_completed_to_what_a_principal_may_not_know_of() {
    let place = Place::vault();
    place.write("nodes/open.md", "---\ntags: ['#open']\n---\n# Open\n");
    place.write("nodes/hr/pay.md", "---\ntags: ['#pay']\n---\n# Pay\n\n## Raise\n");
    place.write("packs/hr.yml", "id: hr\nlabel: Pay\nquery: '#pay'\n");
    keep_from_bo(&place);
    let all = |command: &str| {
        let pay = json!({"id": "nodes/hr/pay"});
        let cases = [
            completing(template(DOCUMENT), "id", "nodes/", json!({})),
            completing(template(SECTION), "anchor", "", pay.clone()),
            completing(template(PINNED), "checkpoint", "", pay),
            completing(prompt("select"), "selector", "#", json!({})),
            completing(prompt("select"), "selector", "nodes/h", json!({})),
        ];
        cases.map(|params| completed(&place, command, params).0)
    };
    let none: Vec<String> = Vec::new();
    let of_bo = all("mcp --as bo@x.com");
    assert_eq!(
        of_bo,
        [vec!["nodes/open".to_owned()], none.clone(), none.clone(), vec!["#open".to_owned()], none]
    );
    let of_kim = all("mcp --as kim@x.com");
    assert_eq!(of_kim[0], ["nodes/hr/pay", "nodes/open"]);
    assert_eq!(of_kim[1], ["pay", "raise"]);
    assert_eq!(of_kim[2], ["1"]);
    assert_eq!(of_kim[3], ["#open", "#pay"]);
    // A submission is completed for those who decide.
    place.write("nodes/open.md", "---\ntags: ['#open']\n---\n# Opened\n");
    place.ctx("submit nodes/open --as kim@x.com").ok();
    let review = || completing(prompt("review"), "id", "", json!({}));
    assert_eq!(
        completed(&place, "mcp --profile reviewer --as bo@x.com", review()).0,
        ["nodes/open"]
    );
    assert_eq!(completed(&place, "mcp --profile reviewer --as kim@x.com", review()).0, [""; 0]);
    assert_eq!(completed(&place, "mcp --profile reviewer --as eve@x.com", review()).0, [""; 0]);
}

#[test]
fn with_several_vaults_prompts_and_completion_name_the_vault() {
    let place = Place::vault();
    for root in ["", "../other/"] {
        if !root.is_empty() {
            place.ctx("init ../other --name Other").ok();
        }
        place.write(&format!("{root}nodes/a{}.md", root.len()), "---\ntags: ['#x']\n---\nText.\n");
        place.write(&format!("{root}packs/p.yml"), "id: cite\nlabel: L\nquery: '#x'\n");
        let vault = if root.is_empty() { "." } else { "../other" };
        place.ctx(&format!("publish --all --vault {vault}")).ok();
    }
    let command = "mcp --vault one=. --vault two=../other --profile reviewer";
    assert_eq!(names(&place, command), ["cite", "review", "select", "one/cite"]);
    let first = asked(&place, command, &[("prompts/list", json!({}))]).remove(0);
    let cursor = &first["result"]["nextCursor"];
    let next = asked(&place, command, &[("prompts/list", json!({"cursor": cursor}))]).remove(0);
    assert_eq!(next["result"]["prompts"][0]["name"], "two/cite");
    assert!(get(&place, command, "two/cite", json!({})).to_string().contains("nodes/a9"));
    assert!(get(&place, command, "one/cite", json!({})).to_string().contains("nodes/a0"));
    for (name, arguments) in [
        ("three/cite", json!({})),
        ("select", json!({"selector": "#x"})),
        ("select", json!({"selector": "#x", "vault": "three"})),
        ("review", json!({})),
    ] {
        assert_eq!(get(&place, command, name, arguments)["error"]["code"], -32602, "{name}");
    }
    let selected = get(&place, command, "select", json!({"selector": "#x", "vault": "two"}));
    assert!(selected.to_string().contains("nodes/a9"), "{selected}");
    let form = "contextnest://{vault}/{+id}";
    let of = |name: &str, value: &str, others| {
        completed(&place, command, completing(template(form), name, value, others)).0
    };
    assert_eq!(of("vault", "", json!({})), ["one", "two"]);
    assert_eq!(of("vault", "t", json!({})), ["two"]);
    assert_eq!(of("id", "", json!({"vault": "two"})), ["nodes/a9"]);
    assert_eq!(of("id", "", json!({"vault": "three"})), [""; 0]);
    assert_eq!(of("id", "", json!({})), [""; 0]);
}
