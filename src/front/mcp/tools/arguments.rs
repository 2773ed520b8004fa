//! The arguments of a tool: their schema, their declared contents, and conversions of values of
//! other types, which models write.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::Question;
use crate::service::report::failure::{Code, Failure};

/// Numbers below are exact integers in 64 bits.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The keyword of a schema that declares the content of an argument. Clients do not get it.
pub(super) const HOLDS: &str = "x-holds";

/// The content of an argument of a tool that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::front::mcp) enum Holds {
    /// The name of a document. The principal may be told of it only if they may read it.
    Document,
    /// A text. The log has only its length and its hash, because a reader of the log may not be
    /// allowed to read a draft, or the result of a source.
    Text,
}

impl Holds {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Text => "text",
        }
    }
}

/// Returns a schema as clients get it.
pub(super) fn listed(schema: &JsonObject) -> JsonObject {
    let mut schema = schema.clone();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|all| all.values_mut()) {
        property.as_object_mut().map(|members| members.remove(HOLDS));
    }
    schema
}

/// Arguments whose empty text is a value, and not a missing argument: texts, and versions that
/// guard the text of another writer.
const KEPT: [&str; 5] = ["body", "title", "version", "expected_version", "expected_live"];

/// Parses the arguments of a call. Null, and an empty text if the argument is optional, is left
/// out. A value in the spelling of another type is converted: models write `"5"` for 5.
pub(super) fn read<Q: Question>(arguments: JsonObject) -> Result<Q, Failure> {
    let arguments = fitted::<Q>(arguments)?;
    serde_json::from_value(Value::Object(arguments)).map_err(|why| invalid::<Q>(&why.to_string()))
}

fn invalid<Q: Question>(why: &str) -> Failure {
    Failure::new(Code::Usage, format!("the arguments of `{}` are invalid: {why}", Q::NAME))
        .hint("`tools/list` has the schema of the arguments")
}

/// Returns the arguments that are not left out, each of the type that the schema asks for.
pub(super) fn fitted<Q: Question>(arguments: JsonObject) -> Result<JsonObject, Failure> {
    let schema = made_once::<Q>();
    let wanted = schema.get("properties").unwrap_or(&Value::Null);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
    let is_left_out = |(name, value): &(String, Value)| {
        value.is_null() || (*value == "" && !is_required(name) && !KEPT.contains(&name.as_str()))
    };
    let given = arguments.into_iter().filter(|given| !is_left_out(given));
    let fitting = given.map(|(name, value)| match fit(value, &wanted[name.as_str()]) {
        Ok(value) => Ok((name, value)),
        Err(why) => Err(invalid::<Q>(&format!("`{name}` {why}"))),
    });
    fitting.collect()
}

/// Returns the schema of the arguments of a tool, which is made with its first call.
pub(super) fn made_once<Q: Question>() -> Arc<JsonObject> {
    static MADE: Mutex<BTreeMap<&str, Arc<JsonObject>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(Q::NAME).or_insert_with(|| Arc::new(schema::<Q>())).clone()
}

/// Returns a value of the type that a schema asks for: `1.0`, `"1"` and `"true"` are a number and a
/// boolean, `1` is the text `"1"`, and `"a"` is the list `["a"]`, if that is asked for.
///
/// # Errors
/// The value has another type, or the schema does not list it.
pub(super) fn fit(value: Value, schema: &Value) -> Result<Value, String> {
    let is_wanted = |value: &Value| match schema["type"].as_str() {
        Some("integer") => value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    let value = match with_integer(value) {
        Value::String(text) if !is_wanted(&Value::String(String::new())) => {
            // Python spells it `True`.
            let read = |text: &str| serde_json::from_str(text).ok().map(with_integer);
            let lower = || read(&text.to_ascii_lowercase()).filter(is_wanted);
            read(&text).filter(is_wanted).or_else(lower).unwrap_or(Value::String(text))
        }
        Value::Number(number) if schema["type"] == "string" => number.to_string().into(),
        value => value,
    };
    let value = match value {
        one @ (Value::String(_) | Value::Number(_)) if schema["type"] == "array" => {
            vec![one].into()
        }
        value => value,
    };
    let value = match value {
        Value::Array(values) if is_wanted(&Value::Array(Vec::new())) => {
            let fitting = values.into_iter().map(|value| fit(value, &schema["items"]));
            fitting.collect::<Result<_, _>>().map_err(|why| format!("has an entry that {why}"))?
        }
        value => value,
    };
    if !is_wanted(&value) {
        let wanted = match schema["type"].as_str() {
            Some("integer") => "a whole number, 0 or more",
            Some("boolean") => "`true` or `false`",
            Some("string") => "a text",
            Some("array") => "a list",
            _ => "an object",
        };
        return Err(format!("must be {wanted}"));
    }
    let listed = schema["enum"].as_array().filter(|listed| !listed.contains(&value));
    listed.map_or(Ok(value), |listed| {
        let names: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
        Err(format!("must be one of `{}`", names.join("`, `")))
    })
}

/// Returns a number without a fraction as an integer: JSON of other programs does not
/// distinguish them.
fn with_integer(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let integer = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < EXACT);
            let integer = integer.and_then(|n| format!("{n:.0}").parse::<i64>().ok());
            integer.map_or(Value::Number(number), Value::from)
        }
        value => value,
    }
}

/// Returns the schema of arguments, without keywords that are useless for a model.
fn schema<Q: Question>() -> JsonObject {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Q>();
    let mut schema = serde_json::to_value(schema).unwrap_or_default();
    shorten(&mut schema);
    let object = schema.as_object_mut().map(std::mem::take).unwrap_or_default();
    let kept = ["type", "properties", "required", "additionalProperties"];
    object.into_iter().filter(|(name, _)| kept.contains(&name.as_str())).collect()
}

/// Removes from a schema the repetitions that an argument is optional, and sizes of integers. The
/// rest is understood by every client: some refuse all tools because of a list of types, or an
/// unknown keyword.
fn shorten(schema: &mut Value) {
    let is_null = |value: &Value| *value == "null" || value["type"] == "null";
    if let Value::Object(members) = schema {
        members.retain(|name, _| !["default", "format", "minimum"].contains(&name.as_str()));
        if let Some(Value::Array(values)) = members.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        for name in ["type", "anyOf"] {
            let Some(Value::Array(choices)) = members.get_mut(name) else { continue };
            choices.retain(|choice| !is_null(choice));
            let [only] = choices.as_mut_slice() else { continue };
            match only.take() {
                Value::Object(only) => {
                    members.remove(name);
                    only.into_iter().for_each(|(name, value)| {
                        members.entry(name).or_insert(value);
                    });
                }
                only => drop(members.insert(name.to_owned(), only)),
            }
        }
        members.values_mut().for_each(shorten);
    } else if let Value::Array(values) = schema {
        values.iter_mut().for_each(shorten);
    }
}
