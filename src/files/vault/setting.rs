//! Setting one line of the configuration in place.

use std::fmt;

use super::config::Config;
use crate::values::yaml::edit::{NotExact, Splice, entry, first_entries, replace_value, spliced};
use crate::values::yaml::{self, Dialect, Node, Value};

/// A value of the configuration: its key, optionally below an outer one, and the word to write.
/// `Display` writes it as lines of YAML.
pub(crate) struct Setting<'s> {
    pub(crate) outer: Option<&'s str>,
    pub(crate) key: &'s str,
    pub(crate) word: &'s str,
}

impl fmt::Display for Setting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outer, key, word } = self;
        match outer {
            Some(outer) => writeln!(f, "{outer}:\n  {key}: {word}"),
            None => writeln!(f, "{key}: {word}"),
        }
    }
}

impl Setting<'_> {
    /// Returns the configuration with this value; all other bytes stay. `is_said` returns true if a
    /// configuration has the value.
    ///
    /// # Errors
    /// The text is not a configuration, or its spelling does not allow the edit.
    pub(crate) fn set(
        &self,
        text: &str,
        is_said: impl Fn(&Config) -> bool,
    ) -> Result<String, String> {
        let parse = |text: &str| yaml::parse(text, Dialect::Format).map_err(|why| why.to_string());
        let root = parse(text)?;
        if is_said(&Config::parse(text).map_err(|why| why.to_string())?) {
            return Ok(text.to_owned());
        }
        let refused = || format!("`{}` cannot be inserted into this spelling", self.inline());
        let new = self.edited(text, &root).map_err(|NotExact| refused())?;
        // Whatever the spelling was, the result must differ by this value only.
        let is_meant = parse(&new).is_ok_and(|edited| self.is_same_beside(&root, &edited))
            && Config::parse(&new).is_ok_and(|config| is_said(&config));
        if is_meant { Ok(new) } else { Err(refused()) }
    }

    fn inline(&self) -> String {
        let Self { outer, key, word } = self;
        match outer {
            Some(outer) => format!("{outer}: {{{key}: {word}}}"),
            None => format!("{key}: {word}"),
        }
    }

    fn edited(&self, text: &str, root: &Node) -> Result<String, NotExact> {
        let Self { outer, key, word } = *self;
        let nl = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let line = |indent: &str| format!("{indent}{key}: {word}");
        let at_end = || {
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { nl };
            let lines = self.to_string().replace('\n', nl);
            Splice { range: text.len()..text.len(), text: format!("{gap}{lines}") }
        };
        let Some(outer) = outer else {
            let splice = match entry(root, key) {
                Some((key, old)) => replace_value(text, key, old, word)?,
                None => at_end(),
            };
            return spliced(text, vec![splice]);
        };
        let splice = match entry(root, outer) {
            None => at_end(),
            Some((key, null)) if null.is_null() => {
                // The span of an absent value is not usable.
                let colon = key.span.end + 1;
                let range = colon..null.span.end.max(colon);
                Splice { range, text: format!("{nl}{}", line("  ")) }
            }
            Some((_, inner)) => match (entry(inner, key), &inner.value) {
                (Some((key, old)), _) => replace_value(text, key, old, word)?,
                (None, Value::Mapping { entries, flow: true }) if !entries.is_empty() => {
                    let at = entries[0].0.span.start;
                    Splice { range: at..at, text: line("") + ", " }
                }
                _ => first_entries(text, inner, &[(key.to_owned(), word.to_owned())], nl),
            },
        };
        spliced(text, vec![splice])
    }

    /// Returns true if two configurations are the same except for this value.
    fn is_same_beside(&self, a: &Node, b: &Node) -> bool {
        let rest = |node: &Node| -> Vec<(Node, Node)> {
            let beside = |entries: &[(Node, Node)], name: &str| -> Vec<(Node, Node)> {
                entries.iter().filter(|(key, _)| key.text() != Some(name)).cloned().collect()
            };
            let entries = node.entries().unwrap_or_default();
            let Some(outer) = self.outer else { return beside(entries, self.key) };
            let inner = node.get(outer).and_then(Node::entries).unwrap_or_default();
            [beside(entries, outer), beside(inner, self.key)].concat()
        };
        let (a, b) = (rest(a), rest(b));
        a.len() == b.len()
            && a.iter().zip(&b).all(|(x, y)| x.0.same_value(&y.0) && x.1.same_value(&y.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::vault::config::LogForm;

    fn delta(text: &str) -> Result<String, String> {
        let setting = Setting {
            outer: Some("versions"),
            key: "checkpoint_log",
            word: LogForm::Delta.as_str(),
        };
        setting.set(text, |config| config.checkpoint_log == Some(LogForm::Delta))
    }

    fn governed(text: &str) -> Result<String, String> {
        let setting = Setting { outer: None, key: "governance", word: "governed" };
        setting.set(text, Config::is_governed)
    }

    #[test]
    fn setting_changes_or_inserts_one_line_only() {
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
            assert_eq!(delta(before).as_deref(), Ok(after), "{before:?}");
        }
    }

    #[test]
    fn setting_without_an_outer_key_is_changed_or_appended() {
        for (before, after) in [
            ("", "governance: governed\n"),
            ("name: x", "name: x\ngovernance: governed\n"),
            ("name: x\r\n", "name: x\r\ngovernance: governed\r\n"),
            ("governance: ungoverned # yet\nname: x\n", "governance: governed # yet\nname: x\n"),
            ("# governance:\n", "# governance:\ngovernance: governed\n"),
        ] {
            assert_eq!(governed(before).as_deref(), Ok(after), "{before:?}");
        }
        for before in ["{name: x}\n", "name: x\n...\n", "- a\n"] {
            assert!(governed(before).is_err(), "{before:?}");
        }
    }

    #[test]
    fn setting_refuses_spellings_that_it_cannot_edit() {
        let refused = |text: &str| delta(text).unwrap_err();
        insta::assert_snapshot!(refused("{name: x}\n"), @"`versions: {checkpoint_log: delta}` cannot be inserted into this spelling");
        insta::assert_snapshot!(refused("name: x\n...\n"), @"`versions: {checkpoint_log: delta}` cannot be inserted into this spelling");
        insta::assert_snapshot!(refused("- a\n"), @"line 1, column 1: expected `key: value` lines");
    }
}
