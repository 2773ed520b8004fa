//! Replaces values of TOML in place: all other bytes stay, including comments.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

/// Returns a text, or a list of texts, as TOML spells it on one line. JSON has the same spelling,
/// except for one character that TOML does not allow.
pub(super) fn spelled(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(spelled).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}

/// Returns the text in which members of the table at `path` have these values, in any spelling of
/// the table; `None` if one of them is missing.
pub(super) fn replaced(text: &str, path: &[&str], members: &Map<String, Value>) -> Option<String> {
    let whole = DeTable::parse(text).ok()?.into_inner();
    let (first, rest) = path.split_first()?;
    let mut table: &DeValue<'_> = whole.get(*first)?.get_ref();
    for name in rest {
        table = table.get(*name)?.get_ref();
    }
    let mut places: Vec<(Range<usize>, String)> = Vec::new();
    for (name, value) in members {
        places.push((table.get(name.as_str())?.span(), spelled(value)));
    }
    // The last one is replaced first, so that the positions of the others stay valid.
    places.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let mut edited = text.to_owned();
    for (place, value) in places {
        // A value that is not in the text cannot be replaced.
        edited.get(place.clone())?;
        edited.replace_range(place, &value);
    }
    Some(edited)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn members(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn values_are_replaced_however_their_table_is_spelled() {
        let new = members(&json!({"command": "é\"\u{7f}", "args": ["mcp", "x"]}));
        let replaced = |text: &str| replaced(text, &["s", "a"], &new).unwrap();
        let value = "\"é\\\"\\u007f\"";
        for (text, wanted) in [
            (
                "# mine\n[s.\"a\"] # one\nargs = [\n  \"mcp\", # two\n] # three\ncommand = 'x' # four\n[t]\n",
                "# mine\n[s.\"a\"] # one\nargs = [\"mcp\", \"x\"] # three\ncommand = VALUE # four\n[t]\n",
            ),
            (
                "\u{feff}s = {a = {command=\"\"\"\nx\"\"\", args=[], k=1}}",
                "\u{feff}s = {a = {command=VALUE, args=[\"mcp\", \"x\"], k=1}}",
            ),
            (
                "s.a.args = [ \"mcp\" ]\r\ns.a.command = \"x\"\r\n",
                "s.a.args = [\"mcp\", \"x\"]\r\ns.a.command = VALUE\r\n",
            ),
        ] {
            assert_eq!(replaced(text), wanted.replace("VALUE", value));
        }
    }

    #[test]
    fn replaced_returns_none_if_the_table_is_missing() {
        let new = members(&json!({"command": "c", "args": []}));
        for text in ["", "s = 1", "[s]", "[s.a]\ncommand = \"c\"", "[[s.a]]\ncommand = 1", "s ="] {
            assert_eq!(replaced(text, &["s", "a"], &new), None, "{text}");
        }
        assert_eq!(replaced("a = 1", &[], &new), None);
    }
}
