//! `history.yaml`: the versions of one artifact, read leniently and only ever appended to
//! (`spec/history.md`).
//!
//! Reading gathers the faults of each entry instead of stopping, because a verifier wants them
//! all; [`History::chain_to`] is the strict view for those who need versions to be sound.

use super::digest::{Digest, DigestError};
use super::preimage::MAX_NUMBER;
use crate::vault::clock::Timestamp;
use crate::vault::layout::limit;
use crate::yaml::{self, Dialect, Node, Value, emit};

/// A history as it lies on disk.
#[derive(Clone, Debug)]
pub struct History {
    /// Every how many versions a full text is stored.
    pub keyframe_interval: Option<u64>,
    /// The entries in file order.
    pub slots: Vec<Slot>,
    /// Bytes of the file.
    pub length: u64,
    /// What has to come before a new entry, and its indentation; none where the file is spelled
    /// so that nothing can be appended.
    tail: Option<Tail>,
}

#[derive(Clone, Copy, Debug)]
struct Tail {
    newline: bool,
    indent: usize,
}

/// One item of `versions`.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The line where it begins.
    pub line: usize,
    /// Its version number, if it has one.
    pub version: Option<u64>,
    /// The entry, or what is wrong with it.
    pub entry: Result<Entry, Vec<Fault>>,
}

/// How a version's text is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// In full, in `v<N>.md`.
    Keyframe,
    /// As the diff from the version before, in the entry.
    Diff(String),
    /// As the diff from the version before, in `v<N>.diff`.
    DiffFile,
}

/// One version's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub version: u64,
    /// Where its text is.
    pub stored: Stored,
    /// Who made it.
    pub edited_by: String,
    /// When it was made.
    pub edited_at: Timestamp,
    /// When it was published, if it was.
    pub published_at: Option<Timestamp>,
    /// When it was retired, if it records that.
    pub retired_at: Option<Timestamp>,
    /// A remark that no hash covers.
    pub note: Option<String>,
    /// Hash of the keyframe or diff.
    pub content_hash: Digest,
    /// Hash that binds this entry to all before it.
    pub chain_hash: Digest,
}

/// A fault of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which rule.
    pub kind: FaultKind,
    /// The field.
    pub field: &'static str,
    /// What stands there.
    pub found: String,
    /// The line.
    pub line: usize,
}

/// The rule that an entry breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The entry is no mapping, lacks a field, or has both or neither of keyframe and diff.
    EntryMalformed,
    /// A field has not its one form.
    FieldMalformed,
    /// A timestamp has not its one form.
    TimestampMalformed,
    /// A hash names another algorithm.
    UnknownHashAlgorithm,
}

/// Why a file is no history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// Bytes that are no text.
    #[error("not UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// A line of more than 16 MiB.
    #[error("line {0} is longer than 16 MiB")]
    LineTooLong(usize),
    /// Not YAML that we read, or not of this shape.
    #[error("{0}")]
    Yaml(#[from] yaml::Error),
    /// There is no version in it.
    #[error("it holds no version")]
    Empty,
}

impl History {
    /// A history with nothing in it.
    pub fn new() -> Self {
        Self { keyframe_interval: None, slots: Vec::new(), length: 0, tail: None }
    }

    /// Reads a history.
    ///
    /// # Errors
    /// The file as a whole is not a history. Faults of single entries are in their slots.
    pub fn parse(bytes: &[u8]) -> Result<Self, HistoryError> {
        let text =
            std::str::from_utf8(bytes).map_err(|e| HistoryError::NotUtf8(e.valid_up_to()))?;
        if let Some(n) = text.split('\n').position(|line| line.len() > limit::LINE) {
            return Err(HistoryError::LineTooLong(n + 1));
        }
        let root = yaml::parse(text, Dialect::Format)?;
        let Some(entries) = root.entries() else {
            return Err(root.error("expected `versions:`").into());
        };
        let versions =
            root.get("versions").ok_or_else(|| root.error("expected the key `versions`"))?;
        let Some(items) = versions.items() else {
            if versions.is_null() {
                return Err(HistoryError::Empty);
            }
            return Err(versions.error("expected a list of versions").into());
        };
        if items.is_empty() {
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
        let is_last = entries.last().is_some_and(|(k, _)| k.text() == Some("versions"));
        let in_block = matches!(versions.value, Value::Sequence { flow: false, .. });
        let first = items.first().filter(|i| matches!(i.value, Value::Mapping { flow: false, .. }));
        let tail = first.filter(|_| is_last && in_block).and_then(|first| {
            let indent = first.column.checked_sub(3)?;
            // `-   version:` and the like leave the column of the dash open, and nothing may
            // follow a document end mark.
            let start = first.span.start.checked_sub(2 + indent)?;
            let dash = text.get(start..first.span.start)?;
            let aligned = dash.trim_start_matches(' ') == "- " && text[..start].ends_with('\n');
            let ended = text.lines().any(|line| line.starts_with("..."));
            (aligned && !ended).then_some(Tail { newline: text.ends_with('\n'), indent })
        });
        let slots = items.iter().map(read_slot).collect();
        Ok(Self { keyframe_interval, slots, length: bytes.len() as u64, tail })
    }

    /// The last entry's version, if that can be read.
    pub fn last_version(&self) -> Option<u64> {
        self.slots.last().map_or(Some(0), |slot| slot.version)
    }

    /// The entries from the keyframe that `version` is built from up to `version`, and the chain
    /// hash before them.
    ///
    /// # Errors
    /// Some slot on the way is faulty, missing or out of order.
    pub fn chain_to(&self, version: u64) -> Result<(Option<Digest>, Vec<&Entry>), ChainGap> {
        let end = self
            .slots
            .iter()
            .position(|s| s.version == Some(version))
            .ok_or(ChainGap::Missing(version))?;
        let mut chain = Vec::new();
        for (index, slot) in self.slots[..=end].iter().enumerate().rev() {
            let entry = slot
                .entry
                .as_ref()
                .map_err(|faults| ChainGap::Faulty(slot.line, faults.clone()))?;
            if entry.version + (end - index) as u64 != version {
                return Err(ChainGap::Missing(version - (end - index) as u64));
            }
            chain.push(entry);
            if entry.stored == Stored::Keyframe {
                chain.reverse();
                let previous = match index.checked_sub(1).map(|i| &self.slots[i].entry) {
                    None => None,
                    Some(Ok(before)) => Some(before.chain_hash),
                    Some(Err(faults)) => {
                        return Err(ChainGap::Faulty(self.slots[index - 1].line, faults.clone()));
                    }
                };
                return Ok((previous, chain));
            }
        }
        Err(ChainGap::NoKeyframe)
    }

    /// The entries that are sound, in file order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.slots.iter().filter_map(|slot| slot.entry.as_ref().ok())
    }

    /// The entry of a version, if there is a sound one.
    pub fn entry(&self, version: u64) -> Option<&Entry> {
        self.entries().find(|entry| entry.version == version)
    }

    /// The bytes to append for a new entry; for a new history, the whole file.
    ///
    /// # Errors
    /// The file is spelled so that nothing can be appended, or would grow beyond its limit.
    pub fn append(&self, entry: &Entry, keyframe_interval: u64) -> Result<String, AppendError> {
        let text = match (self.slots.is_empty(), self.tail) {
            (true, _) => {
                let head = format!("keyframe_interval: {keyframe_interval}\nversions:\n");
                head + &spell(entry, 2)
            }
            (false, Some(tail)) => {
                let newline = if tail.newline { "" } else { "\n" };
                format!("{newline}{}", spell(entry, tail.indent))
            }
            (false, None) => return Err(AppendError::Spelling),
        };
        if self.length + text.len() as u64 > limit::HISTORY {
            return Err(AppendError::TooLarge);
        }
        Ok(text)
    }
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

/// Why an entry cannot be appended to a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// `versions` is not the last key, or not in block form.
    #[error("its `versions` are not a block list at the end of the file")]
    Spelling,
    /// More than 256 MiB.
    #[error("it would grow beyond 256 MiB")]
    TooLarge,
}

/// Why the strict view of a history has no version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainGap {
    /// This version is not where it should be.
    Missing(u64),
    /// An entry on the way is faulty; its line.
    Faulty(usize, Vec<Fault>),
    /// No keyframe before the version.
    NoKeyframe,
}

fn spell(entry: &Entry, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut out = format!("{pad}- version: {}\n", entry.version);
    let mut line = |key: &str, value: &str| out.push_str(&format!("{pad}  {key}:{value}"));
    match &entry.stored {
        Stored::Keyframe => line("keyframe", " true\n"),
        Stored::Diff(diff) => line("diff", &emit::long_text(diff, indent + 2)),
        Stored::DiffFile => {}
    }
    let time = |t: Timestamp| format!(" {}\n", emit::scalar(&t.to_string()));
    line("edited_by", &format!(" {}\n", emit::scalar(&entry.edited_by)));
    line("edited_at", &time(entry.edited_at));
    if let Some(at) = entry.published_at {
        line("published_at", &time(at));
    }
    if let Some(at) = entry.retired_at {
        line("retired_at", &time(at));
    }
    if let Some(note) = &entry.note {
        line("note", &format!(" {}\n", emit::scalar(note)));
    }
    line("content_hash", &format!(" {}\n", entry.content_hash));
    line("chain_hash", &format!(" {}\n", entry.chain_hash));
    out
}

fn read_slot(node: &Node) -> Slot {
    let mut reader = Reader { node, faults: Vec::new() };
    let version = reader.version();
    let entry = reader.entry(version);
    let entry = match entry {
        Some(entry) if reader.faults.is_empty() => Ok(entry),
        _ => Err(reader.faults),
    };
    Slot { line: node.line, version, entry }
}

struct Reader<'n> {
    node: &'n Node,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn fault<T>(&mut self, kind: FaultKind, field: &'static str, found: &str) -> Option<T> {
        let line = self.node.get(field).unwrap_or(self.node).line;
        let found = found.chars().take(120).collect();
        self.faults.push(Fault { kind, field, found, line });
        None
    }

    fn version(&mut self) -> Option<u64> {
        match self.node.get("version") {
            None => self.fault(FaultKind::EntryMalformed, "version", "nothing"),
            Some(node) => match node.number().filter(|n| (1..=MAX_NUMBER).contains(n)) {
                Some(n) => Some(n),
                None => {
                    let found = node.text().unwrap_or("a collection").to_owned();
                    self.fault(FaultKind::FieldMalformed, "version", &found)
                }
            },
        }
    }

    fn entry(&mut self, version: Option<u64>) -> Option<Entry> {
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
        if published_at.is_some() && retired_at.is_some() {
            self.fault::<()>(
                FaultKind::EntryMalformed,
                "retired_at",
                "published and retired at once",
            );
        }
        Some(Entry {
            version: version?,
            stored: stored?,
            edited_by: edited_by?,
            edited_at: edited_at?,
            published_at,
            retired_at,
            note,
            content_hash: content_hash?,
            chain_hash: chain_hash?,
        })
    }

    fn stored(&mut self) -> Option<Stored> {
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
            (true, None) => Some(Stored::Keyframe),
            (false, Some(diff)) => Some(Stored::Diff(diff)),
            (false, None) => Some(Stored::DiffFile),
            (true, Some(_)) => {
                self.fault(FaultKind::EntryMalformed, "diff", "a keyframe that has a diff too")
            }
        }
    }

    fn optional(&mut self, field: &'static str) -> Option<String> {
        let node = self.node.get(field)?;
        match node.text() {
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
    use proptest::prelude::*;

    fn entry(version: u64, stored: Stored, note: Option<String>) -> Entry {
        let at: Timestamp = "2026-11-21T20:06:06.689Z".parse().unwrap();
        Entry {
            version,
            stored,
            edited_by: "ana@example.com".to_owned(),
            edited_at: at,
            published_at: Some(at),
            retired_at: None,
            note,
            content_hash: Digest::of(b"content"),
            chain_hash: Digest::of(b"chain"),
        }
    }

    #[test]
    fn an_entry_has_one_spelling() {
        let mut history = History::new().append(&entry(1, Stored::Keyframe, None), 10).unwrap();
        let parsed = History::parse(history.as_bytes()).unwrap();
        let second = entry(2, Stored::Diff("--- v1\n+++ v2\n".to_owned()), Some("why: so".into()));
        history.push_str(&parsed.append(&second, 10).unwrap());
        insta::assert_snapshot!(history, @r"
        keyframe_interval: 10
        versions:
          - version: 1
            keyframe: true
            edited_by: ana@example.com
            edited_at: '2026-11-21T20:06:06.689Z'
            published_at: '2026-11-21T20:06:06.689Z'
            content_hash: sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73
            chain_hash: sha256:9414886b1ebf025db067a4cbd13a0903fbd9733a5372bba1b58bd72c1699b798
          - version: 2
            diff: |
              --- v1
              +++ v2
            edited_by: ana@example.com
            edited_at: '2026-11-21T20:06:06.689Z'
            published_at: '2026-11-21T20:06:06.689Z'
            note: 'why: so'
            content_hash: sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73
            chain_hash: sha256:9414886b1ebf025db067a4cbd13a0903fbd9733a5372bba1b58bd72c1699b798
        ");
    }

    #[test]
    fn faults_are_gathered_for_each_entry() {
        let text = "versions:\n  - version: 01\n    keyframe: yes\n    edited_by: ''\n    \
                    edited_at: 2026-11-21\n    content_hash: md5:00\n    chain_hash: sha256:0\n  - 7\n";
        let history = History::parse(text.as_bytes()).unwrap();
        let faults: Vec<String> = history
            .slots
            .iter()
            .flat_map(|s| s.entry.as_ref().unwrap_err())
            .map(|f| format!("{:?} {} `{}` on line {}", f.kind, f.field, f.found, f.line))
            .collect();
        insta::assert_snapshot!(faults.join("\n"), @"
        FieldMalformed version `01` on line 2
        FieldMalformed keyframe `yes` on line 3
        FieldMalformed edited_by `` on line 4
        TimestampMalformed edited_at `2026-11-21` on line 5
        UnknownHashAlgorithm content_hash `md5:00` on line 6
        FieldMalformed chain_hash `sha256:0` on line 7
        EntryMalformed version `nothing` on line 8
        EntryMalformed edited_by `nothing` on line 8
        EntryMalformed edited_at `nothing` on line 8
        EntryMalformed content_hash `nothing` on line 8
        EntryMalformed chain_hash `nothing` on line 8
        ");
    }

    #[test]
    fn a_file_that_is_no_history_is_refused_whole() {
        for (text, expected) in [
            ("", "line 1, column 1: expected `versions:`"),
            ("versions:\n", "it holds no version"),
            ("versions: []\n", "it holds no version"),
            ("versions: 3\n", "line 1, column 11: expected a list of versions"),
            (
                "keyframe_interval: 0\nversions: [1]\n",
                "line 1, column 20: expected a number above 0",
            ),
        ] {
            assert_eq!(History::parse(text.as_bytes()).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn nothing_is_appended_to_a_spelling_that_it_would_break() {
        let first = History::new().append(&entry(1, Stored::Keyframe, None), 10);
        let good = first.unwrap();
        for text in [
            "versions: [{version: 1}]\n".to_owned(),
            good.replace("versions:\n  - version", "versions:\n  -   version")
                .replace("\n    ", "\n      "),
            good.replace("\n  - ", "\n  -\n    "),
            format!("{good}...\n"),
            format!("{good}more: 1\n"),
        ] {
            let history = History::parse(text.as_bytes()).unwrap();
            let second = entry(2, Stored::Keyframe, None);
            assert_eq!(history.append(&second, 10), Err(AppendError::Spelling), "{text}");
        }
        let unindented = good.replace("\n  ", "\n");
        let history = History::parse(unindented.as_bytes()).unwrap();
        let second = history.append(&entry(2, Stored::Keyframe, None), 10).unwrap();
        let both = History::parse(format!("{unindented}{second}").as_bytes()).unwrap();
        assert!(both.slots.iter().all(|s| s.entry.is_ok()));
    }

    #[test]
    fn a_version_beyond_all_numbers_is_a_fault() {
        let text = History::new().append(&entry(1, Stored::DiffFile, None), 10).unwrap();
        let more = text.split_once("versions:\n").unwrap().1.to_owned();
        let text = text.replace("version: 1", "version: 18446744073709551615") + &more;
        let history = History::parse(text.as_bytes()).unwrap();
        assert!(matches!(history.chain_to(1), Err(ChainGap::Faulty(3, _))));
    }

    proptest! {
        #[test]
        fn what_is_appended_is_read_back(texts in prop::collection::vec("(?s).{0,30}", 1..6)) {
            let mut bytes = String::new();
            let mut expected = Vec::new();
            for (n, text) in texts.iter().enumerate() {
                let stored = if n == 0 { Stored::Keyframe } else { Stored::Diff(text.clone()) };
                let new = entry(n as u64 + 1, stored, Some(text.clone()));
                let history = if n == 0 { History::new() } else { History::parse(bytes.as_bytes()).unwrap() };
                bytes.push_str(&history.append(&new, 10).unwrap());
                expected.push(new);
            }
            let read: Vec<Entry> = History::parse(bytes.as_bytes()).unwrap()
                .slots.into_iter().map(|s| s.entry.unwrap()).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
