//! Reads a history in any spelling, one entry after the other, so that memory grows with the
//! entries and not with a tree of the whole file.

use super::{
    Entry, EntryState, Fault, FaultKind, Forget, History, HistoryError, Slot, Tail, TextStorage,
    UnknownKey, UnknownKeys,
};
use crate::values::model::digest::{Digest, DigestError};
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;
use crate::values::yaml::{self, Dialect, List, Node, Value};

/// Maximum number of values in one entry. An entry has nine fields; unknown keys are ignored, but
/// only up to this limit.
const MAX_NODES: usize = 1_000;
/// Maximum number of faulty entries. A file with more is not a history: its entries could be as
/// short as three bytes, and each would cost hundreds to report.
pub(super) const MAX_FAULTY: usize = 100;
/// Maximum number of unknown keys that are named.
const NAMED: usize = 8;
/// Maximum number of characters that are kept of an invalid text.
const SHOWN: usize = 120;

const ROOT_KEYS: [&str; 2] = ["keyframe_interval", "versions"];
const ENTRY_KEYS: [&str; 10] = [
    "version",
    "keyframe",
    "diff",
    "edited_by",
    "edited_at",
    "published_at",
    "retired_at",
    "note",
    "content_hash",
    "chain_hash",
];

/// Keys with which the reference implementation marks a version whose text it erased.
const ERASED_KEYS: [&str; 4] = ["tombstone", "forgotten_at", "forgotten_by", "reason_code"];

/// Parses a history as YAML.
pub(super) fn history(text: &str) -> Result<History, HistoryError> {
    let mut slots = Vec::new();
    let (mut faulty, mut tail) = (0, None);
    let mut unknown = UnknownKeys::default();
    let mut take = |item: Node| {
        if slots.is_empty() {
            tail = place_of(text, &item);
        }
        let slot = slot(text, &item);
        faulty += usize::from(slot.entry.is_err());
        if faulty > MAX_FAULTY {
            return Err(item.error(format!("more than {MAX_FAULTY} entries are malformed")));
        }
        let is_erased = slot.entry.as_ref().is_ok_and(|entry| entry.forget == Forget::Erased);
        slots.push(slot);
        match is_erased {
            true => unknown.gather(&item, &[&ENTRY_KEYS[..], &ERASED_KEYS].concat()),
            false => unknown.gather(&item, &ENTRY_KEYS),
        }
        Ok(())
    };
    let list = List { key: "versions", nodes: MAX_NODES, take: &mut take };
    let root = yaml::parse_list(text, Dialect::Format, list)?;
    let Some(entries) = root.entries() else {
        return Err(root.error("expected `versions:`").into());
    };
    let versions = root.get("versions").ok_or_else(|| root.error("expected the key `versions`"))?;
    let in_block = match versions.value {
        Value::Sequence { flow, .. } => !flow,
        _ if versions.is_null() => return Err(HistoryError::Empty),
        _ => return Err(versions.error("expected a list of versions").into()),
    };
    if slots.is_empty() {
        return Err(HistoryError::Empty);
    }
    let keyframe_interval = match root.get("keyframe_interval") {
        Some(node) => Some(
            node.number()
                .filter(|n| *n > 0)
                .ok_or_else(|| node.error("expected a number above 0"))?,
        ),
        None => None,
    };
    unknown.gather(&root, &ROOT_KEYS);
    let is_last = entries.last().is_some_and(|(k, _)| k.text() == Some("versions"));
    // An append after a document end mark is not valid.
    let ends = || text.split(['\n', '\r']).any(|line| line.starts_with("..."));
    let tail = tail.filter(|_| is_last && in_block && !ends());
    let length = text.len() as u64;
    Ok(History { keyframe_interval, slots, length, torn: 0, canonical: false, unknown, tail })
}

/// Returns the place where a new entry can be appended, with the indentation of `first`; `None` if
/// `first` has an unusual spelling.
fn place_of(text: &str, first: &Node) -> Option<Tail> {
    if !matches!(first.value, Value::Mapping { flow: false, .. }) {
        return None;
    }
    let indent = first.column.checked_sub(3)?;
    // In spellings such as `-   version:`, the column of the dash does not follow from that of
    // the key.
    let start = first.span.start.checked_sub(2 + indent)?;
    let dash = text.get(start..first.span.start)?;
    let aligned = dash.trim_start_matches(' ') == "- " && text[..start].ends_with('\n');
    aligned.then_some(Tail { newline: text.ends_with('\n'), indent })
}

impl UnknownKeys {
    fn gather(&mut self, node: &Node, known: &[&str]) {
        for (key, _) in node.entries().unwrap_or_default() {
            let name = key.text().unwrap_or_default();
            if known.contains(&name) {
                continue;
            }
            self.count += 1;
            if self.first.len() < NAMED {
                let name = name.chars().take(SHOWN).collect();
                self.first.push(UnknownKey { name, line: key.line });
            }
        }
    }
}

fn slot(text: &str, node: &Node) -> Slot {
    let mut reader = Reader { node, faults: Vec::new() };
    let version = reader.version();
    let entry = reader.entry(version);
    let entry = match entry {
        Some(entry) if reader.faults.is_empty() => Ok(entry),
        _ => Err(reader.faults),
    };
    let before = text.get(..node.span.start).unwrap_or_default();
    let at = before.rfind('\n').map_or(0, |n| n + 1) as u64;
    Slot { line: node.line, at, version, entry }
}

struct Reader<'n> {
    node: &'n Node,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn fault<T>(&mut self, kind: FaultKind, field: &'static str, found: &str) -> Option<T> {
        let line = self.node.get(field).unwrap_or(self.node).line;
        let found = found.chars().take(SHOWN).collect();
        self.faults.push(Fault { kind, field, found, line });
        None
    }

    fn version(&mut self) -> Option<Version> {
        match self.node.get("version") {
            None => self.fault(FaultKind::EntryMalformed, "version", "nothing"),
            Some(node) => match node.number().and_then(Version::recordable) {
                Some(version) => Some(version),
                None => {
                    let found = node.text().unwrap_or("a collection").to_owned();
                    self.fault(FaultKind::FieldMalformed, "version", &found)
                }
            },
        }
    }

    fn entry(&mut self, version: Option<Version>) -> Option<Entry> {
        let stored = self.stored();
        let edited_by = self.required("edited_by").and_then(|name| {
            let fits = !name.is_empty() && !name.chars().any(char::is_control);
            if fits {
                Some(name)
            } else {
                self.fault(FaultKind::FieldMalformed, "edited_by", &name)
            }
        });
        let edited_at = self.required("edited_at").and_then(|t| self.time("edited_at", &t));
        let published_at = self.optional("published_at");
        let published_at = published_at.and_then(|t| self.time("published_at", &t));
        let retired_at = self.optional("retired_at");
        let retired_at = retired_at.and_then(|t| self.time("retired_at", &t));
        let note = self.optional("note");
        let content_hash =
            self.required("content_hash").and_then(|h| self.hash("content_hash", &h));
        let chain_hash = self.required("chain_hash").and_then(|h| self.hash("chain_hash", &h));
        let forget = self.forget();
        let state = EntryState::of(published_at, retired_at).or_else(|| {
            let found = "published and retired at once";
            self.fault(FaultKind::EntryMalformed, "retired_at", found)
        });
        Some(Entry {
            version: version?,
            stored: stored?,
            edited_by: edited_by?,
            edited_at: edited_at?,
            state: state?,
            note,
            forget,
            content_hash: content_hash?,
            chain_hash: chain_hash?,
        })
    }

    /// A flag is set unless it is `false`: a text that may be forgotten is not read.
    fn forget(&self) -> Forget {
        let is_set = |key| self.node.get(key).is_some_and(|node| node.boolean() != Some(false));
        match (is_set("tombstone"), is_set("forget_stub")) {
            (true, _) => Forget::Erased,
            (false, true) => Forget::Stub,
            (false, false) => Forget::None,
        }
    }

    fn stored(&mut self) -> Option<TextStorage> {
        let keyframe = match self.node.get("keyframe") {
            None => false,
            Some(node) => match node.boolean() {
                Some(flag) => flag,
                None => {
                    let found = node.text().unwrap_or("a collection").to_owned();
                    return self.fault(FaultKind::FieldMalformed, "keyframe", &found);
                }
            },
        };
        match (keyframe, self.optional("diff")) {
            (true, None) => Some(TextStorage::Keyframe),
            (false, Some(diff)) => Some(TextStorage::Diff(diff)),
            (false, None) => Some(TextStorage::DiffFile),
            (true, Some(_)) => {
                self.fault(FaultKind::EntryMalformed, "diff", "a keyframe that has a diff too")
            }
        }
    }

    fn optional(&mut self, field: &'static str) -> Option<String> {
        let node = self.node.get(field)?;
        match node.text() {
            // Another YAML reader returns null instead of a text for this value.
            Some(text) if node.is_null() => {
                let text = text.to_owned();
                self.fault(FaultKind::FieldMalformed, field, &text)
            }
            Some(text) => Some(text.to_owned()),
            None => self.fault(FaultKind::FieldMalformed, field, "a collection"),
        }
    }

    fn required(&mut self, field: &'static str) -> Option<String> {
        match self.node.get(field) {
            None => self.fault(FaultKind::EntryMalformed, field, "nothing"),
            Some(_) => self.optional(field),
        }
    }

    fn time(&mut self, field: &'static str, text: &str) -> Option<Timestamp> {
        match text.parse() {
            Ok(time) => Some(time),
            Err(_) => self.fault(FaultKind::TimestampMalformed, field, text),
        }
    }

    fn hash(&mut self, field: &'static str, text: &str) -> Option<Digest> {
        match text.parse() {
            Ok(hash) => Some(hash),
            Err(DigestError::UnknownAlgorithm(_)) => {
                self.fault(FaultKind::UnknownHashAlgorithm, field, text)
            }
            Err(DigestError::Malformed) => self.fault(FaultKind::FieldMalformed, field, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_counts_unknown_keys_and_names_the_first() {
        let text = "mine: {a: 1}\nversions:\n  - version: 1\n    colour: red\n  - colour: blue\n";
        let unknown = history(text).unwrap().unknown;
        let named: Vec<_> = unknown.first.iter().map(|k| (k.name.as_str(), k.line)).collect();
        assert_eq!(named, [("colour", 4), ("colour", 5), ("mine", 1)]);
        let many: String = (0..50).map(|n| format!("    x{n}: 1\n")).collect();
        let unknown = history(&format!("versions:\n  - version: 1\n{many}")).unwrap().unknown;
        assert_eq!((unknown.count, unknown.first.len()), (50, NAMED));
    }

    #[test]
    fn history_refuses_many_faulty_entries_early() {
        let refusal = |text: &str| history(text).unwrap_err().to_string();
        let faulty = "more than 100 entries are malformed";
        let list = format!("versions:\n{}", "- {}\n".repeat(1_000_000));
        assert_eq!(refusal(&list), format!("line 102, column 3: {faulty}"));
        let list = format!("versions: [{}]\n", "a,".repeat(1_000_000));
        assert_eq!(refusal(&list), format!("line 1, column 212: {faulty}"));
        let values = "more than 1000 values";
        let list = format!("versions: [[{}]]\n", "a,".repeat(1_000_000));
        assert_eq!(refusal(&list), format!("line 1, column 2011: {values}"));
        let keys: String = (0..1_000_000).map(|n| format!("    k{n}: 1\n")).collect();
        let list = format!("versions:\n  - version: 1\n{keys}");
        assert_eq!(refusal(&list), format!("line 501, column 11: {values}"));
        let root = format!("versions:\n  - version: 1\n{}", keys.replace("    ", ""));
        assert!(refusal(&root).ends_with("more than 1048576 values"), "{}", refusal(&root));
    }
}
