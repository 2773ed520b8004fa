//! Lines of the access log: any bytes are read, and they are a line if and only if the second
//! reader agrees, which parses them as any JSON value and spells it again.

use contextnest::model::digest::Digest;
use contextnest::record::audit::{Event, Line, Text};
use serde_json::Value;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    compare(bytes);
    // Few inputs have the hash of their fields.
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(bytes) else { return };
    fields.remove("hash");
    let Ok(said) = serde_jcs::to_vec(&fields) else { return };
    fields.insert("hash".to_owned(), Digest::of(&said).to_string().into());
    compare(&serde_jcs::to_vec(&fields).expect("it was spelled before"));
}

fn compare(bytes: &[u8]) {
    let read = Line::read(bytes);
    let slowly = read_slowly(bytes);
    if let Ok(read) = &read {
        assert_eq!(Some(read), slowly.as_ref());
    } else if slowly.is_some() {
        let value: Value = serde_json::from_slice(bytes).expect("it was read");
        let is_event = value["event"].is_string();
        assert!(!is_event || !is_of_a_line(&value, 32), "{}", String::from_utf8_lossy(bytes));
    }
}

fn read_slowly(bytes: &[u8]) -> Option<(Line, Digest)> {
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    if serde_jcs::to_vec(&value).ok()? != bytes {
        return None;
    }
    let Value::String(hash) = value.as_object_mut()?.remove("hash")? else { return None };
    let found = Digest::of(&serde_jcs::to_vec(&value).ok()?);
    let mut line: Line = serde_json::from_value(value).ok()?;
    line.hash = Some(found);
    let is_pinned = match &line.event {
        Event::Access(access) => access.documents.iter().all(Text::is_pinned),
        _ => true,
    };
    // With another pin, it is not a line (AUDIT-7).
    if !is_pinned {
        return None;
    }
    (found.to_string() == hash && line.v == 1).then_some((line, found))
}

/// Returns true if a line may have such values; no input is long enough for too many of them.
fn is_of_a_line(value: &Value, depth: usize) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => number.as_u64().is_some_and(|number| number < 1 << 53),
        Value::Array(_) | Value::Object(_) if depth == 0 => false,
        Value::Array(items) => items.iter().all(|item| is_of_a_line(item, depth - 1)),
        Value::Object(fields) => fields.values().all(|value| is_of_a_line(value, depth - 1)),
    }
}
