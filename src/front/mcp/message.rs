//! Parses the bytes of a client as a message, or returns the error to answer with, for every
//! transport (MCP-2).

use std::fmt;

use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value, json};

/// The methods whose lists have pages.
const PAGED: [&str; 4] =
    ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

/// An error in place of a message.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The request that it answers, if its id can be read.
    pub(super) id: Option<RequestId>,
    pub(super) error: ErrorData,
}

impl Refusal {
    /// Returns the error of an invalid message.
    pub(super) fn invalid(id: Option<RequestId>, why: impl Into<String>) -> Self {
        Self { id, error: ErrorData::invalid_request(why.into(), None) }
    }
}

/// Returns the bytes of a message without a byte order mark, which some programs write first.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Parses a message; `None` if there is nothing to answer.
///
/// # Errors
/// The bytes are not a message of the protocol.
pub(super) fn understood(bytes: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    let not_json = |why: &serde_json::Error| {
        let error = ErrorData::parse_error(format!("the message is not JSON: {why}"), None);
        Refusal { id: None, error }
    };
    let mut value = match serde_json::from_slice::<Strict>(bytes) {
        Ok(Strict(value)) => value,
        // Programs disagree on which of two members with the same name is valid; the rest may not
        // be JSON.
        Err(why) if why.classify() == Category::Data => {
            let read: Value = serde_json::from_slice(bytes).map_err(|why| not_json(&why))?;
            let id = read.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
            return Err(Refusal::invalid(id, format!("the message is ambiguous: {why}")));
        }
        Err(why) => return Err(not_json(&why)),
    };
    if value.is_array() {
        let why = "batches of messages are not supported: send each message by itself";
        return Err(Refusal::invalid(None, why));
    }
    without_empty(&mut value);
    let id: Option<RequestId> =
        value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    let is_request = value.get("method").is_some();
    let is_answer = value.get("result").is_some() || value.get("error").is_some();
    if value.get("id").is_some() && id.is_none() && is_request {
        let why = "`id` of a request must be a text, or an integer of at most 64 bits";
        return Err(Refusal::invalid(None, why));
    }
    if let (Some(id), true) = (&id, is_request)
        && let Some(why) = lost(&value)
    {
        let error = ErrorData::invalid_params(why, None);
        return Err(Refusal { id: Some(id.clone()), error });
    }
    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(message)),
        // A notification is not answered.
        Err(_) if id.is_none() && is_request => Ok(None),
        // An answer to a question of the server is not answered either.
        Err(_) if is_answer && !is_request => Ok(None),
        Err(_) => Err(Refusal::invalid(id, "the message does not follow the protocol")),
    }
}

/// Returns the message as [`understood`] reads it, for a program that reads the bytes again; `None`
/// if it reads these bytes alike.
pub(super) fn respelled(bytes: &[u8]) -> Option<Vec<u8>> {
    let read: Value = serde_json::from_slice(bytes).ok()?;
    let mut changed = read.clone();
    without_empty(&mut changed);
    (changed != read).then(|| serde_json::to_vec(&changed).ok()).flatten()
}

/// Replaces an empty list, which PHP writes for an empty object, by an empty object, and removes an
/// empty cursor.
fn without_empty(message: &mut Value) {
    let is_paged = message["method"].as_str().is_some_and(|method| PAGED.contains(&method));
    let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) else { return };
    if is_paged && params.get("cursor").is_some_and(|cursor| *cursor == "") {
        params.remove("cursor");
    }
    for name in ["arguments", "capabilities", "_meta"] {
        if let Some(empty) = params.get_mut(name).filter(|value| **value == json!([])) {
            *empty = json!({});
        }
    }
}

/// Returns the missing parameter of `initialize`, without which the types of the protocol read it
/// as another request.
fn lacks(request: &Value) -> Option<String> {
    let params = &request["params"];
    let lacking = [
        ("protocolVersion", params["protocolVersion"].is_string()),
        ("capabilities", params["capabilities"].is_object()),
        ("clientInfo", params["clientInfo"].is_object()),
        ("clientInfo.name", params["clientInfo"]["name"].is_string()),
        ("clientInfo.version", params["clientInfo"]["version"].is_string()),
    ];
    let (name, _) = lacking.into_iter().find(|(_, is_there)| !is_there)?;
    Some(format!("the parameters of `initialize` lack `{name}`"))
}

/// Returns the fault of parameters that the types of the protocol would silently drop: invalid
/// optional parameters.
fn lost(request: &Value) -> Option<String> {
    if request["method"] == "initialize" {
        return lacks(request);
    }
    let method = request["method"].as_str().filter(|method| PAGED.contains(method))?;
    let params = request.get("params").filter(|params| !params.is_null())?;
    let cursor = params.get("cursor").filter(|cursor| !cursor.is_null());
    match params.is_object() && cursor.is_none_or(Value::is_string) {
        true => None,
        false => Some(unfit(method)),
    }
}

/// Returns the message for parameters that do not fit their method.
pub(super) fn unfit(method: &str) -> String {
    format!("the parameters of `{method}` are not those of the protocol")
}

/// Returns the parsed message as it is written, `None` if there is nothing to answer, or the code
/// of the error and the id that it answers; for fuzzers.
///
/// # Errors
/// The bytes are not a message.
#[doc(hidden)]
pub fn outcome(bytes: &[u8]) -> Result<Option<Value>, (i32, Option<Value>)> {
    let written = |message| serde_json::to_value(message).unwrap_or_default();
    match understood(bytes) {
        Ok(message) => Ok(message.map(written)),
        Err(Refusal { id, error }) => {
            Err((error.code.0, id.and_then(|id| serde_json::to_value(id).ok())))
        }
    }
}

/// JSON without repeated names in any object.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AnyValue;

        impl<'de> Visitor<'de> for AnyValue {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_string<E>(self, value: String) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
                let mut values = Vec::new();
                while let Some(Strict(value)) = from.next_element()? {
                    values.push(value);
                }
                Ok(Value::Array(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
                let mut members = Map::new();
                while let Some((name, Strict(value))) = from.next_entry::<String, _>()? {
                    if members.insert(name, value).is_some() {
                        return Err(de::Error::custom(
                            "an object has two members with the same name",
                        ));
                    }
                }
                Ok(Value::Object(members))
            }
        }
        from.deserialize_any(AnyValue).map(Strict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &str) -> (i32, Option<RequestId>) {
        let refusal = understood(bytes.as_bytes()).unwrap_err();
        (refusal.error.code.0, refusal.id)
    }

    #[test]
    fn a_name_that_stands_twice_is_refused_at_any_depth() {
        let twice =
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","name":"b"}}"#;
        assert_eq!(refused(twice), (-32600, Some(RequestId::Number(3))));
        assert_eq!(refused(r#"{"a":[{"b":1,"b":1}]}"#), (-32600, None));
    }

    #[test]
    fn parse_distinguishes_invalid_json_from_invalid_messages() {
        for bytes in ["", "{", "{\"a\":1}}", "{\"a\":1,\"a\":1,", &"[".repeat(100_000), "nan"] {
            assert_eq!(refused(bytes).0, -32700, "{}", bytes.len());
        }
        assert_eq!(refused("[]"), (-32600, None));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#), (-32600, None));
    }

    #[test]
    fn a_cursor_is_a_text() {
        let asked = |method: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
        };
        for method in PAGED {
            for wrong in [r#"{"cursor":5}"#, r#"{"cursor":{}}"#, r#"{"cursor":[]}"#, "5", "[]"] {
                let refused = refused(&asked(method, wrong));
                assert_eq!(refused, (-32602, Some(RequestId::Number(1))), "{method} {wrong}");
            }
            for right in [r#"{"cursor":"5"}"#, r#"{"cursor":null}"#, "{}", "null"] {
                let message = understood(asked(method, right).as_bytes());
                assert!(matches!(message, Ok(Some(_))), "{method} {right}");
            }
        }
    }

    #[test]
    fn empty_lists_and_cursors_are_read_as_none() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":[]}}"#;
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}"#;
        for (bytes, empty, read) in [(call, "[]", "{}"), (list, r#""cursor":"""#, "")] {
            assert!(matches!(understood(bytes.as_bytes()), Ok(Some(_))), "{bytes}");
            let respelled: Value =
                serde_json::from_slice(&respelled(bytes.as_bytes()).unwrap()).unwrap();
            let expected: Value = serde_json::from_str(&bytes.replace(empty, read)).unwrap();
            assert_eq!(respelled, expected);
        }
        assert_eq!(respelled(br#"{"params":{"arguments":{"ids":[]}}}"#), None);
    }

    #[test]
    fn an_initialize_says_what_it_lacks() {
        let whole = json!({
            "protocolVersion": "2025-06-18", "capabilities": [],
            "clientInfo": {"name": "x", "version": "1"}
        });
        let asked = |params: &Value| {
            let message =
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
            understood(message.to_string().as_bytes())
        };
        assert!(matches!(asked(&whole), Ok(Some(_))));
        for (path, lacking) in [
            ("", "protocolVersion"),
            ("/protocolVersion", "protocolVersion"),
            ("/clientInfo", "clientInfo"),
            ("/clientInfo/version", "clientInfo.version"),
        ] {
            let mut params = whole.clone();
            *params.pointer_mut(path).unwrap() = Value::Null;
            let refusal = asked(&params).unwrap_err();
            let message = format!("the parameters of `initialize` lack `{lacking}`");
            assert_eq!((refusal.error.code.0, &*refusal.error.message), (-32602, &*message));
        }
    }

    #[test]
    fn a_batch_is_refused_with_the_reason() {
        for batch in ["[]", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#] {
            let refusal = understood(batch.as_bytes()).unwrap_err();
            assert_eq!((refusal.error.code.0, refusal.id), (-32600, None));
            assert!(refusal.error.message.contains("batches"), "{}", refusal.error.message);
        }
    }

    #[test]
    fn an_answer_that_is_malformed_is_not_answered() {
        for answer in [
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":7}"#,
        ] {
            assert!(matches!(understood(answer.as_bytes()), Ok(None)), "{answer}");
        }
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1}"#).0, -32600);
    }

    #[test]
    fn json_is_read_as_any_reader_reads_it() {
        for text in
            [r#"{"a":[1,-2,1.5,1e300,18446744073709551615,"x\n",null,true,{}]}"#, "\"\"", "0"]
        {
            let Strict(read) = serde_json::from_str(text).unwrap();
            assert_eq!(read, serde_json::from_str::<Value>(text).unwrap());
        }
    }
}
