//! `ctx trace list|show --format`: the access log for other programs (AUDIT-14 to AUDIT-16).
//! `spec/reader/exports.py` compares what those programs read.

use serde_json::{Value, json};

use crate::harness::Place;

const HOSTILE: &str = "x\"}]},:%/é";

/// Returns a place with two accesses, an output after them, and an access after that.
fn place() -> Place {
    let place =
        Place::unrecorded(&[("nodes/fees", "Five percent.\n"), ("nodes/returns", "30 days.\n")]);
    place.ctx("read nodes/fees --session s --agent scout").ok();
    place.args(&["read", "nodes/fees", "--session", "s", "--agent", HOSTILE]).run().ok();
    place.typed("trace output --session s --model m").stdin("Five.").run().ok();
    place.ctx("read nodes/returns --session s").ok();
    place
}

fn spans(text: &str) -> Vec<Value> {
    let requests = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    requests.map(|one| one["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone()).collect()
}

fn attribute(span: &Value, name: &str) -> Value {
    let all = span["attributes"].as_array().unwrap().iter();
    all.filter(|one| one["key"] == name).map(|one| one["value"].clone()).collect()
}

#[test]
fn each_line_is_a_span_of_its_session() {
    let place = place();
    let text = place.ctx("trace list --format otlp").ok().stdout;
    assert_eq!(text, place.ctx("trace list --format otlp").ok().stdout);
    let spans = spans(&text);
    assert_eq!(spans.len(), 4);
    // The id is from the SHA-256 of `contextnest:session:s`.
    let trace = "b96b84d7bdf04a9353be528d6843ec71";
    assert!(spans.iter().all(|span| span["traceId"] == trace), "{}", spans[0]["traceId"]);
    assert_eq!(attribute(&spans[1], "gen_ai.agent.id"), json!([{"stringValue": HOSTILE}]));
    assert_eq!(attribute(&spans[2], "contextnest.produced.bytes"), json!([{"intValue": "5"}]));
    assert_eq!(spans[0]["events"].as_array().unwrap().len(), 1);
    assert_eq!(spans[0]["endTimeUnixNano"], "1795255202000000000");
    // A terminal gets the characters escaped, and a program gets them as typed.
    let typed = "five \u{7f}\u{202e}";
    place.args(&["search", typed]).run().ok();
    for format in ["otlp", "prov-json"] {
        let text = place.ctx(&format!("trace list --verb search --format {format}")).ok().stdout;
        assert!(!text.contains(['\u{7f}', '\u{202e}']), "{text}");
        assert!(text.contains("\"five \\u007f\\u202e\""), "{text}");
    }
}

#[test]
fn an_output_is_derived_from_the_texts_before_it_and_no_others() {
    let place = place();
    let listed = place.ctx("trace list").ok().stdout;
    let output = listed.lines().nth(2).unwrap().split(' ').next().unwrap().to_owned();
    let all = place.ctx("trace list --format prov-json").ok().stdout;
    let one = place.ctx(&format!("trace show {output} --format prov-json")).ok().stdout;
    let filtered = place.ctx("trace list --format prov-json --verb trace").ok().stdout;
    assert_eq!(one, filtered);
    let count = |text: &str, kind: &str| {
        let document: Value = serde_json::from_str(text).unwrap();
        document[kind].as_object().map_or(0, serde_json::Map::len)
    };
    let kinds = ["activity", "used", "wasGeneratedBy", "wasDerivedFrom", "actedOnBehalfOf"];
    assert_eq!(kinds.map(|kind| count(&all, kind)), [4, 3, 1, 3, 2]);
    assert_eq!(kinds.map(|kind| count(&one, kind)), [3, 2, 1, 2, 2]);
    let document: Value = serde_json::from_str(&all).unwrap();
    let agents: Vec<&String> = document["agent"].as_object().unwrap().keys().collect();
    assert_eq!(
        agents,
        ["agent:scout", "agent:x%22%7D%5D%7D%2C%3A%25%2F%C3%A9", "principal:ana%40example%2Ecom"]
    );
}

#[test]
fn a_format_is_of_all_lines_and_is_not_json_of_ours() {
    let place = place();
    for refused in ["list --format otlp --json", "list --format otlp -n 1", "list --format csv"] {
        assert_eq!(place.ctx(&format!("trace {refused}")).exit, 2, "{refused}");
    }
    assert_eq!(place.ctx("trace list --format otlp --session none-of-these").ok().stdout, "");
    let nothing = place.ctx("trace list --format prov-json --session none-of-these").ok().stdout;
    let document: Value = serde_json::from_str(&nothing).unwrap();
    assert_eq!(document.as_object().unwrap().len(), 1, "{nothing}");
}
