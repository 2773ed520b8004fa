//! The line of the configuration that names the form of the log, changed in place.

use crate::vault::config::{Config, LogForm};
use crate::yaml::edit::{NotExact, Splice, entry, first_entries, replace_value, spliced};
use crate::yaml::{self, Dialect, Node, Value};

const OUTER: &str = "versions";
const KEY: &str = "checkpoint_log";

/// The configuration with `versions.checkpoint_log`; every other byte stays.
///
/// # Errors
/// It is no configuration, or is spelled so that nothing can be put there.
pub(super) fn set(text: &str, form: LogForm) -> Result<String, String> {
    let parse = |text: &str| yaml::parse(text, Dialect::Format).map_err(|why| why.to_string());
    let root = parse(text)?;
    if Config::parse(text).map_err(|why| why.to_string())?.checkpoint_log == Some(form) {
        return Ok(text.to_owned());
    }
    let refused = || {
        format!("`{OUTER}: {{{KEY}: {}}}` cannot be put into it as it is spelled", form.as_str())
    };
    let new = edited(text, &root, form.as_str()).map_err(|NotExact| refused())?;
    // Whatever the spelling was, what comes out says this one thing more, and nothing else.
    let is_meant = parse(&new).is_ok_and(|edited| is_same_beside(&root, &edited))
        && Config::parse(&new).is_ok_and(|config| config.checkpoint_log == Some(form));
    if is_meant { Ok(new) } else { Err(refused()) }
}

fn edited(text: &str, root: &Node, word: &str) -> Result<String, NotExact> {
    let nl = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let line = |indent: &str| format!("{indent}{KEY}: {word}");
    let splice = match entry(root, OUTER) {
        None => {
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { nl };
            let end = text.len();
            Splice { range: end..end, text: format!("{gap}{OUTER}:{nl}{}{nl}", line("  ")) }
        }
        Some((key, null)) if null.is_null() => {
            // An absent value has no place of its own.
            let colon = key.span.end + 1;
            Splice { range: colon..null.span.end.max(colon), text: format!("{nl}{}", line("  ")) }
        }
        Some((_, versions)) => match (entry(versions, KEY), &versions.value) {
            (Some((key, old)), _) => replace_value(text, key, old, word)?,
            (None, Value::Mapping { entries, flow: true }) if !entries.is_empty() => {
                let at = entries[0].0.span.start;
                Splice { range: at..at, text: line("") + ", " }
            }
            _ => first_entries(text, versions, &[(KEY.to_owned(), word.to_owned())], nl),
        },
    };
    spliced(text, vec![splice])
}

/// Whether two configurations say the same but for the form of the log.
fn is_same_beside(a: &Node, b: &Node) -> bool {
    let rest = |node: &Node| -> Vec<(Node, Node)> {
        let beside = |entries: &[(Node, Node)], name: &str| -> Vec<(Node, Node)> {
            entries.iter().filter(|(key, _)| key.text() != Some(name)).cloned().collect()
        };
        let outer = node.entries().unwrap_or_default();
        let inner = node.get(OUTER).and_then(Node::entries).unwrap_or_default();
        [beside(outer, OUTER), beside(inner, KEY)].concat()
    };
    let (a, b) = (rest(a), rest(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(x, y)| x.0.same_value(&y.0) && x.1.same_value(&y.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_changed_or_put_in_and_the_rest_stays() {
        for (before, after) in [
            ("", "versions:\n  checkpoint_log: delta\n"),
            ("# mine\n", "# mine\nversions:\n  checkpoint_log: delta\n"),
            ("name: x", "name: x\nversions:\n  checkpoint_log: delta\n"),
            ("versions:\nname: x\n", "versions:\n  checkpoint_log: delta\nname: x\n"),
            ("versions: ~ # none\n", "versions:\n  checkpoint_log: delta # none\n"),
            (
                "versions:\n    keyframe_interval: 5 # five\nname: é\n",
                "versions:\n    checkpoint_log: delta\n    keyframe_interval: 5 # five\nname: é\n",
            ),
            (
                "versions:\n  checkpoint_log: \"full\" # old\r\nname: x\r\n",
                "versions:\n  checkpoint_log: delta # old\r\nname: x\r\n",
            ),
            (
                "versions: { keyframe_interval: 5 }\n",
                "versions: { checkpoint_log: delta, keyframe_interval: 5 }\n",
            ),
            ("name: x\r\n", "name: x\r\nversions:\r\n  checkpoint_log: delta\r\n"),
            ("versions: {}\n", "versions: {checkpoint_log: delta}\n"),
            ("versions: {checkpoint_log: delta}", "versions: {checkpoint_log: delta}"),
        ] {
            assert_eq!(set(before, LogForm::Delta).as_deref(), Ok(after), "{before:?}");
        }
    }

    #[test]
    fn what_cannot_be_edited_is_left_to_people() {
        let refused = |text: &str| set(text, LogForm::Delta).unwrap_err();
        insta::assert_snapshot!(refused("{name: x}\n"), @"`versions: {checkpoint_log: delta}` cannot be put into it as it is spelled");
        insta::assert_snapshot!(refused("name: x\n...\n"), @"`versions: {checkpoint_log: delta}` cannot be put into it as it is spelled");
        insta::assert_snapshot!(refused("- a\n"), @"line 1, column 1: expected `key: value` lines");
    }
}
