//! Messages of clients: a parsed message is written and read as the same, and any other gets an
//! error that names the request if its id can be read.

use contextnest::mcp_message;
use serde_json::Value;

const PARSE: i32 = -32_700;
const INVALID: i32 = -32_600;
/// The code of `initialize` with missing parameters.
const INCOMPLETE: i32 = -32_602;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let json: Option<Value> = serde_json::from_slice(bytes).ok();
    match mcp_message(bytes) {
        Ok(Some(message)) => {
            assert!(json.is_some_and(|json| json.is_object()), "only an object is a message");
            let written = message.to_string();
            assert_eq!(mcp_message(written.as_bytes()), Ok(Some(message)), "{written}");
        }
        // Notifications and answers are not answered, whatever they contain.
        Ok(None) => {
            let json = json.expect("there is JSON");
            assert!(["method", "result", "error"].iter().any(|name| json.get(name).is_some()));
        }
        Err((code, id)) => {
            assert_eq!(code == PARSE, json.is_none(), "{code}");
            let is_initialize =
                json.as_ref().is_some_and(|json| json.get("method") == Some(&"initialize".into()));
            let is_known = [PARSE, INVALID].contains(&code);
            assert!(is_known || code == INCOMPLETE && is_initialize, "{code}");
            let Some(id) = id else { return };
            let of = json.as_ref().and_then(|json| json.get("id"));
            // `1.0` is the number 1.
            let is_number = id.is_i64() && of.and_then(Value::as_f64) == id.as_f64();
            assert!(of == Some(&id) || is_number, "{id}");
        }
    }
}
