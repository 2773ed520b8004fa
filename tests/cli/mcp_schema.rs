//! Schemas of the answers of tools (`spec/mcp.md`, MCP-32): each recorded answer satisfies the full
//! schema of its tool, and the listed one.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::harness::{Place, repository};

/// Returns why a value does not satisfy a schema; `None` if it does. Supports only the keywords
/// that schemas of this program use.
fn wrong(value: &Value, schema: &Value, root: &Value) -> Option<String> {
    let Value::Object(rules) = schema else {
        return (*schema != json!(true)).then(|| format!("{value} is not allowed"));
    };
    rules.iter().find_map(|(word, rule)| match word.as_str() {
        "$ref" => {
            let place = rule.as_str().unwrap().trim_start_matches('#');
            wrong(value, root.pointer(place).unwrap(), root)
        }
        "type" => {
            let kinds = match rule {
                Value::Array(kinds) => kinds.clone(),
                kind => vec![kind.clone()],
            };
            let is = |kind: &Value| match kind.as_str().unwrap() {
                "null" => value.is_null(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                "string" => value.is_string(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                kind => panic!("{kind}"),
            };
            (!kinds.iter().any(is)).then(|| format!("{value} is no {rule}"))
        }
        "const" => (value != rule).then(|| format!("{value} is not {rule}")),
        "enum" => {
            (!rule.as_array().unwrap().contains(value)).then(|| format!("{value} is not in {rule}"))
        }
        "required" => rule
            .as_array()
            .unwrap()
            .iter()
            .find(|name| value.is_object() && value.get(name.as_str().unwrap()).is_none())
            .map(|name| format!("{name} is missing in {value}")),
        "properties" => rule.as_object().unwrap().iter().find_map(|(name, rule)| {
            wrong(value.get(name)?, rule, root).map(|why| format!("{name}: {why}"))
        }),
        "items" => {
            let items = value.as_array().into_iter().flatten();
            items.into_iter().find_map(|item| wrong(item, rule, root))
        }
        "allOf" => rule.as_array().unwrap().iter().find_map(|rule| wrong(value, rule, root)),
        "oneOf" | "anyOf" => {
            let all: Vec<Option<String>> =
                rule.as_array().unwrap().iter().map(|rule| wrong(value, rule, root)).collect();
            let fits = all.iter().filter(|why| why.is_none()).count();
            let is_right = if word == "oneOf" { fits == 1 } else { fits > 0 };
            (!is_right).then(|| format!("{fits} of {word} fit: {all:?}"))
        }
        "additionalProperties" => {
            let known = rules.get("properties").and_then(Value::as_object);
            let members = value.as_object().into_iter().flatten();
            members
                .filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)))
                .find_map(|(name, value)| {
                    wrong(value, rule, root).map(|why| format!("{name}: {why}"))
                })
        }
        "minimum" | "maximum" | "minItems" | "maxItems" => None,
        "description" | "title" | "format" | "default" | "$schema" | "$defs" => None,
        word => panic!("the test does not know `{word}`"),
    })
}

/// Returns the full schemas of answers, by tool.
fn full() -> &'static BTreeMap<String, Value> {
    static FULL: OnceLock<BTreeMap<String, Value>> = OnceLock::new();
    FULL.get_or_init(|| {
        let printed = Place::new().ctx("mcp schema").ok().stdout;
        let all: BTreeMap<String, Value> = serde_json::from_str(&printed).unwrap();
        all.into_iter().map(|(name, both)| (name, both["outputSchema"].clone())).collect()
    })
}

/// Compares the result of a call with the schema of its tool.
#[track_caller]
pub(crate) fn check(tool: &str, result: &Value) {
    if result["structuredContent"].is_object() {
        let (answer, schema) = (&result["structuredContent"], &full()[tool]);
        assert_eq!(wrong(answer, schema, schema), None, "{tool}: {answer}");
    }
}

/// Returns the schemas that a server lists, by tool, and each answer with the name of its tool.
fn recorded(file: &str) -> (BTreeMap<String, Value>, Vec<(String, Value)>) {
    let text = fs::read_to_string(repository().join("fixtures/mcp").join(file)).unwrap();
    let exchanges: Vec<Value> = serde_json::from_str(&text).unwrap();
    let (mut listed, mut answers) = (BTreeMap::new(), Vec::new());
    for one in exchanges {
        let (request, result) = (&one["request"], &one["answer"]["result"]);
        for tool in result["tools"].as_array().into_iter().flatten() {
            let name = tool["name"].as_str().unwrap().to_owned();
            listed.insert(name, tool["outputSchema"].clone());
        }
        if request["method"] == "tools/call" && result["structuredContent"].is_object() {
            let name = request["params"]["name"].as_str().unwrap().to_owned();
            answers.push((name, result["structuredContent"].clone()));
        }
    }
    (listed, answers)
}

#[test]
fn each_recorded_answer_satisfies_both_schemas_of_its_tool() {
    let full = full();
    for file in ["2025-11-25.json", "2026-07-28.json"] {
        let (listed, answers) = recorded(file);
        assert!(!answers.is_empty() && !listed.is_empty(), "{file}");
        for (tool, answer) in answers {
            for schema in [&full[&tool], &listed[&tool]] {
                let why = wrong(&answer, schema, schema);
                assert_eq!(why, None, "{file}: {tool}: {answer}");
            }
        }
    }
}

#[test]
fn the_schema_of_an_answer_refuses_what_is_none() {
    let full = full();
    let (_, answers) = recorded("2026-07-28.json");
    for (tool, answer) in answers {
        let mut without = answer.clone();
        without.as_object_mut().unwrap().remove("schema_version");
        let mut other = answer;
        other["schema"] = "ctx.none".into();
        for wrong_one in [without, other, json!({}), json!([])] {
            assert_ne!(wrong(&wrong_one, &full[&tool], &full[&tool]), None, "{tool}: {wrong_one}");
        }
    }
}

#[test]
fn the_schemas_of_one_tool_are_printed_and_an_unknown_one_is_refused() {
    let place = Place::new();
    let printed = place.ctx("mcp schema context_read").ok().stdout;
    let one: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(one.as_object().unwrap().keys().collect::<Vec<_>>(), ["context_read"]);
    let report = place.ctx("mcp schema context_read --json").ok().json("ctx.mcp.schema");
    assert_eq!(report["tools"][0]["output_schema"], one["context_read"]["outputSchema"]);
    let refused = place.ctx("mcp schema context_reed").exits(2).stderr;
    assert!(refused.contains("did you mean `context_read`?"), "{refused}");
}
