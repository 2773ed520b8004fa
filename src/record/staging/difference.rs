//! Differences between two JSON values, by the paths of their parts (STAGE-20).

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

/// Change of a part of a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(tag = "change", rename_all = "lowercase")]
pub enum PartChange {
    /// Only the newer value has the part.
    Added {
        /// The place, as a JSON Pointer (RFC 6901).
        pointer: String,
        /// The value of the part.
        new: Value,
    },
    /// Only the older value has the part.
    Removed {
        /// The place in the older value.
        pointer: String,
        /// The value of the part.
        old: Value,
    },
    /// Both values have the part, and it differs.
    Changed {
        /// The place, as a JSON Pointer (RFC 6901).
        pointer: String,
        /// The older value of the part.
        old: Value,
        /// The newer value of the part.
        new: Value,
    },
}

/// Writes one line without a line end. Pointer and values are JSON, so that no content can end
/// the line.
impl fmt::Display for PartChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |pointer: &str| Value::from(pointer);
        match self {
            Self::Added { pointer, new } => write!(f, "added {}: {new}", quoted(pointer)),
            Self::Removed { pointer, old } => write!(f, "removed {}: {old}", quoted(pointer)),
            Self::Changed { pointer, old, new } => {
                write!(f, "changed {}: {old} -> {new}", quoted(pointer))
            }
        }
    }
}

/// Returns the changes from one value to another, in the order of pointers: members of objects by
/// their names, items of arrays by their indices. Values must not be nested deeper than those of a
/// content (STAGE-5). If the pointers together are too long, as with many parts below a long name,
/// the result is one change of the whole value.
pub fn changes(old: &Value, new: &Value) -> Vec<PartChange> {
    let mut found = Found::default();
    compare(&mut String::new(), old, new, &mut found);
    if found.bytes > MOST_BYTES {
        let (pointer, old, new) = (String::new(), old.clone(), new.clone());
        return vec![PartChange::Changed { pointer, old, new }];
    }
    found.changes
}

/// Maximum number of bytes of all pointers.
const MOST_BYTES: usize = 8 << 20;

/// The changes so far. No more are added once their pointers are too long.
#[derive(Default)]
struct Found {
    changes: Vec<PartChange>,
    bytes: usize,
}

impl Found {
    fn add(&mut self, at: &str, change: impl FnOnce(String) -> PartChange) {
        self.bytes += at.len();
        if self.bytes <= MOST_BYTES {
            self.changes.push(change(at.to_owned()));
        }
    }
}

fn compare(at: &mut String, old: &Value, new: &Value, found: &mut Found) {
    match (old, new) {
        _ if found.bytes > MOST_BYTES => {}
        (Value::Object(old), Value::Object(new)) => compare_objects(at, old, new, found),
        (Value::Array(old), Value::Array(new)) => {
            for n in 0..old.len().max(new.len()) {
                below(at, &n.to_string(), |at| compare_parts(at, old.get(n), new.get(n), found));
            }
        }
        (old, new) if is_same(old, new) => {}
        (old, new) => {
            let (old, new) = (old.clone(), new.clone());
            found.add(at, |pointer| PartChange::Changed { pointer, old, new });
        }
    }
}

fn compare_objects(
    at: &mut String,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    found: &mut Found,
) {
    let added = new.keys().filter(|name| !old.contains_key(*name));
    let mut names: Vec<&String> = old.keys().chain(added).collect();
    names.sort_unstable();
    for name in names {
        below(at, name, |at| compare_parts(at, old.get(name), new.get(name), found));
    }
}

fn compare_parts(at: &mut String, old: Option<&Value>, new: Option<&Value>, found: &mut Found) {
    match (old, new) {
        (None, None) => {}
        (None, Some(new)) => {
            found.add(at, |pointer| PartChange::Added { pointer, new: new.clone() });
        }
        (Some(old), None) => {
            found.add(at, |pointer| PartChange::Removed { pointer, old: old.clone() });
        }
        (Some(old), Some(new)) => compare(at, old, new, found),
    }
}

/// Calls `work` with the pointer of a part.
fn below(at: &mut String, name: &str, work: impl FnOnce(&mut String)) {
    let length = at.len();
    at.push('/');
    at.push_str(&name.replace('~', "~0").replace('/', "~1"));
    work(at);
    at.truncate(length);
}

/// Returns true if two values have one canonical form: `1` and `1.0` are one number. The values are
/// not both objects, nor both arrays.
fn is_same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.as_f64().is_some() && a.as_f64() == b.as_f64())
        }
        (old, new) => old == new,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(old: &Value, new: &Value) -> Vec<String> {
        changes(old, new).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn changes_name_parts_by_pointers() {
        let old = json!({"a/b": {"m~n": [1, 2.0, "x"]}, "gone": {"k": 1}, "same": [null, {}]});
        let new = json!({"a/b": {"m~n": [1.0, 3, "x", true]}, "new\n": "é", "same": [null, {}]});
        assert_eq!(
            lines(&old, &new),
            [
                "changed \"/a~1b/m~0n/1\": 2.0 -> 3",
                "added \"/a~1b/m~0n/3\": true",
                "removed \"/gone\": {\"k\":1}",
                "added \"/new\\n\": \"é\"",
            ]
        );
    }

    #[test]
    fn changes_replace_a_value_of_another_kind() {
        assert_eq!(lines(&json!([1]), &json!({"0": 1})), ["changed \"\": [1] -> {\"0\":1}"]);
        assert_eq!(lines(&json!({"a": [1]}), &json!({"a": 1})), ["changed \"/a\": [1] -> 1"]);
        assert_eq!(lines(&json!({"": {"": 1}}), &json!({"": {"": 2}})), ["changed \"//\": 1 -> 2"]);
    }

    #[test]
    fn changes_with_long_pointers_are_one_change() {
        let long = "k".repeat(100_000);
        let items = |step: usize| (0..50_000).map(|n| n * step).collect::<Vec<usize>>();
        let value = |step| json!({ long.as_str(): items(step) });
        let found = changes(&value(1), &value(2));
        assert_eq!(found.len(), 1);
        assert!(matches!(&found[0], PartChange::Changed { pointer, .. } if pointer.is_empty()));
        let mut deep = [json!(items(1)), json!(items(2))];
        for _ in 0..60 {
            deep = deep.map(|value| json!([value]));
        }
        assert_eq!(changes(&deep[0], &deep[1]).len(), 49_999);
    }

    #[test]
    fn changes_of_equal_values_are_empty() {
        let value = json!({"a": [{"b": 1}, null], "c": "x"});
        assert_eq!(changes(&value, &value), []);
        assert_eq!(changes(&json!([1, 1e3]), &json!([1.0, 1000])), []);
    }
}
