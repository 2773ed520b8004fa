//! Calls that are drawn from the schemas of the tools: with any arguments, each call gets an answer
//! that is not an internal error, and the connection stays open.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use crate::mcp::{STATELESS, answers_of, opener, place, request};

/// Texts that mean something to one argument or another, and some without a meaning.
const TEXTS: [&str; 28] = [
    "",
    "nodes/returns",
    "nodes/returns@1",
    "nodes/returns#exceptions",
    "nodes/fees",
    "nodes/secret",
    "nodes/new",
    "CONTEXT.md",
    "../../etc/passwd",
    "nodes/../.context/config.yaml",
    "/etc/passwd",
    "nodes/returns.md",
    "contextnest://nodes/returns@1",
    "contextnest://nodes/returns@99999999999999999999",
    "contextnest://other/nodes/x#%00",
    "#policy",
    "#policy - (#fee | type:",
    "pack:desk",
    "desk",
    "2:1",
    "2026-11-21T10:00:01.000Z",
    "1,2",
    "9999999999,0",
    "sha256:0000000000000000000000000000000000000000000000000000000000000000",
    "---\ntitle: [\n---\n",
    "---\nstatus: published\nversion: 7\n---\n# T\n",
    "\u{0}\u{1b}[2J\u{202e}\u{feff}",
    "\u{1f4a9}e\u{301}",
];

/// Draws a value that a schema allows, mostly.
fn allowed(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return proptest::sample::select(values.clone()).boxed();
    }
    if let Some(schemas) = schema["anyOf"].as_array() {
        return proptest::strategy::Union::new(schemas.iter().map(allowed)).boxed();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => prop_oneof![
            (0..5_u64).prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            Just(json!(1.0)),
            Just(json!(0.5)),
            Just(json!(1e300)),
        ]
        .boxed(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("array") => {
            proptest::collection::vec(allowed(&schema["items"]), 0..4).prop_map(Value::from).boxed()
        }
        Some("string") | None => text(),
        Some(other) => panic!("no values for {other}"),
    }
}

fn text() -> BoxedStrategy<Value> {
    prop_oneof![
        6 => proptest::sample::select(&TEXTS[..]).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        1 => (1..20_000_usize).prop_map(|length| "x/".repeat(length).into()),
    ]
    .boxed()
}

/// Draws a value that a schema may not allow.
fn strange() -> BoxedStrategy<Value> {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    proptest::sample::select(vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!([]),
        json!({}),
        json!({"a": [{"b": null}]}),
        json!([[["nodes/returns"]]]),
        json!("nodes/returns\n"),
        deep,
    ])
    .boxed()
}

/// Draws arguments of a tool: most of those in the schema, a few of them strange, or one too many.
fn arguments(schema: &Value) -> BoxedStrategy<Value> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = schema["properties"].as_object().cloned().unwrap_or_default();
    let one = |(name, schema): (String, Value)| {
        let likely = if required.contains(&name.as_str()) { 0.95 } else { 0.4 };
        let value = prop_oneof![12 => allowed(&schema), 1 => strange()];
        (Just(name), proptest::option::weighted(likely, value))
    };
    let members: Vec<_> = members.into_iter().map(one).collect();
    let more = proptest::option::weighted(0.05, ("[a-z_]{1,9}", strange()));
    (members, more)
        .prop_map(|(members, more)| {
            let given = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
            Value::Object(given.chain(more).collect::<Map<_, _>>())
        })
        .boxed()
}

#[test]
fn no_arguments_cause_a_fault_or_end_the_connection() {
    let mut messages = opener(STATELESS);
    messages.push(request(STATELESS, 1, "tools/list", json!({})));
    let listed = answers_of(&place(), "mcp --profile reviewer", &messages);
    let tools = listed[&1]["result"]["tools"].as_array().unwrap().clone();
    assert!(tools.len() > 20, "{}", tools.len());
    let strategy: Vec<_> = tools
        .iter()
        .map(|tool| {
            let name = tool["name"].as_str().unwrap().to_owned();
            (Just(name), arguments(&tool["inputSchema"]))
        })
        .collect();
    // Several calls of each tool run on one vault, which the first ones change.
    let calls = proptest::collection::vec(strategy, 3);
    let mut runner =
        TestRunner::new(Config { cases: 8, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&(calls, any::<bool>()), |(calls, is_asked)| {
        let mut messages = opener(STATELESS);
        for ((name, arguments), id) in calls.into_iter().flatten().zip(1..) {
            let params = json!({"name": name, "arguments": arguments});
            let mut call = request(STATELESS, id, "tools/call", params);
            if is_asked {
                call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                    json!({"elicitation": {"form": {}}});
            }
            messages.push(call);
        }
        let answers = answers_of(&place(), "mcp --profile reviewer", &messages);
        for message in &messages {
            let answer = &answers[&message["id"].as_u64().unwrap()];
            // Arguments never cause an error of the protocol.
            prop_assert!(answer.get("error").is_none(), "{message}\n{answer}");
            let result = &answer["result"];
            if result["isError"] == true {
                let code = result["structuredContent"]["code"].as_str();
                prop_assert!(code.is_some_and(|code| code != "io"), "{message}\n{answer}");
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|why| panic!("{why}"));
}
