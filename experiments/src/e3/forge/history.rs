//! A history as entries that can be edited, as text or as values.

use contextnest::model::number::Version;
use contextnest::record::chain::diff;

use super::spell::{long, scalar};
use super::{Target, hash, history_dir};

/// The storage of the text of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::e3) enum Stored {
    Keyframe,
    Diff(String),
    /// A file of its own, a habit of the reference implementation.
    DiffFile,
}

/// One version.
#[derive(Clone, Debug)]
pub(in crate::e3) struct Entry {
    /// The lines of the entry.
    pub(in crate::e3) raw: String,
    pub(in crate::e3) version: u64,
    pub(in crate::e3) stored: Stored,
    pub(in crate::e3) by: String,
    pub(in crate::e3) at: String,
    pub(in crate::e3) published: Option<String>,
    pub(in crate::e3) retired: Option<String>,
    pub(in crate::e3) note: Option<String>,
    pub(in crate::e3) content: String,
    pub(in crate::e3) chain: String,
}

/// The versions of one document or governance file.
#[derive(Clone, Debug)]
pub(in crate::e3) struct History {
    pub(in crate::e3) id: String,
    /// The text before the entries.
    pub(in crate::e3) head: String,
    pub(in crate::e3) entries: Vec<Entry>,
}

impl Entry {
    fn read(raw: &str) -> Option<Self> {
        let value: serde_yaml::Value = serde_yaml::from_str(raw).ok()?;
        let entry = value.get(0)?;
        let text = |key: &str| entry.get(key).and_then(|v| v.as_str()).map(str::to_owned);
        let keyframe = entry.get("keyframe").and_then(serde_yaml::Value::as_bool);
        let stored = match (keyframe, text("diff")) {
            (Some(true), _) => Stored::Keyframe,
            (_, Some(diff)) => Stored::Diff(diff),
            _ => Stored::DiffFile,
        };
        Some(Self {
            raw: raw.to_owned(),
            version: entry.get("version")?.as_u64()?,
            stored,
            by: text("edited_by")?,
            at: text("edited_at")?,
            published: text("published_at"),
            retired: text("retired_at"),
            note: text("note"),
            content: text("content_hash")?,
            chain: text("chain_hash")?,
        })
    }

    /// Returns an entry that follows another, with nothing stored yet.
    pub(in crate::e3) fn after(before: &Self) -> Self {
        Self {
            version: before.version + 1,
            note: None,
            published: None,
            retired: None,
            ..before.clone()
        }
    }

    /// Spells the values (HIST-35).
    pub(in crate::e3) fn respell(&mut self) {
        let mut out = format!("  - version: {}\n", self.version);
        match &self.stored {
            Stored::Keyframe => out += "    keyframe: true\n",
            Stored::Diff(diff) => out += &format!("    diff:{}", long(diff)),
            Stored::DiffFile => {}
        }
        let optional = [&self.published, &self.retired, &self.note].map(Option::as_deref);
        let fields = [
            ("edited_by", Some(self.by.as_str())),
            ("edited_at", Some(&self.at)),
            ("published_at", optional[0]),
            ("retired_at", optional[1]),
            ("note", optional[2]),
            ("content_hash", Some(&self.content)),
            ("chain_hash", Some(&self.chain)),
        ];
        for (key, value) in fields {
            if let Some(value) = value {
                out += &format!("    {key}: {}\n", scalar(value));
            }
        }
        self.raw = out;
    }

    /// Replaces the spelled value of a key of the text.
    pub(in crate::e3) fn set(&mut self, key: &str, value: &str) {
        self.line(key, |before| Some(format!("{before}{key}: {value}")));
    }

    /// Removes a key with its value from the text.
    pub(in crate::e3) fn unset(&mut self, key: &str) {
        self.line(key, |_| None);
    }

    /// Replaces the line of a key; `change` gets the indentation of the key.
    pub(in crate::e3) fn line(&mut self, key: &str, change: impl Fn(&str) -> Option<String>) {
        let mut out = String::new();
        for line in self.raw.split_inclusive('\n') {
            // Lines of a diff are indented deeper.
            let (before, rest) = line.split_at(line.len().min(4));
            if ["    ", "  - "].contains(&before) && rest.starts_with(&format!("{key}:")) {
                out.extend(change(before).map(|line| line + "\n"));
            } else {
                out += line;
            }
        }
        self.raw = out;
    }

    pub(in crate::e3) fn is_published(&self) -> bool {
        self.published.is_some()
    }

    /// Returns the time of the publication or retirement.
    pub(in crate::e3) fn event(&self) -> Option<&str> {
        self.published.as_deref().or(self.retired.as_deref())
    }
}

impl History {
    pub(in crate::e3) fn read(target: &Target, id: &str) -> Self {
        let text = target.read(&format!("{}/history.yaml", history_dir(id)));
        let (head, items) = items(&text);
        let entries: Vec<Entry> = items.iter().filter_map(|raw| Entry::read(raw)).collect();
        assert_eq!(entries.len(), items.len(), "a history that the forger cannot read:\n{text}");
        Self { id: id.to_owned(), head, entries }
    }

    pub(in crate::e3) fn path(&self) -> String {
        format!("{}/history.yaml", history_dir(&self.id))
    }

    pub(in crate::e3) fn keyframe(&self, version: u64) -> String {
        format!("{}/v{version}.md", history_dir(&self.id))
    }

    pub(in crate::e3) fn diff_file(&self, version: u64) -> String {
        format!("{}/v{version}.diff", history_dir(&self.id))
    }

    /// Returns the whole text.
    pub(in crate::e3) fn text(&self) -> String {
        let entries: String = self.entries.iter().map(|entry| entry.raw.as_str()).collect();
        self.head.clone() + &entries
    }

    pub(in crate::e3) fn write(&self, target: &Target) {
        target.write(&self.path(), self.text());
    }

    /// Returns the texts of all versions.
    pub(in crate::e3) fn texts(&self, target: &Target) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for entry in &self.entries {
            let before = texts.last().map_or("", String::as_str);
            let apply = |diff: &str| diff::apply(before, diff).expect("a vault that verified");
            let text = match &entry.stored {
                Stored::Keyframe => target.read(&self.keyframe(entry.version)),
                Stored::Diff(diff) => apply(diff),
                Stored::DiffFile => apply(&target.read(&self.diff_file(entry.version))),
            };
            texts.push(hash::normalised(&text));
        }
        texts
    }

    /// Stores other texts from one entry on, and recomputes the hashes of every entry from there.
    pub(in crate::e3) fn store(&mut self, target: &Target, from: usize, texts: &[String]) {
        for at in from..self.entries.len() {
            let text = &texts[at];
            let (keyframe, file) =
                (self.keyframe(self.entries[at].version), self.diff_file(self.entries[at].version));
            let entry = &mut self.entries[at];
            if entry.stored == Stored::Keyframe {
                target.write(&keyframe, text);
                entry.content = hash::content(text);
            } else {
                let version = Version(entry.version);
                let diff = diff::print(&texts[at - 1], text, version.previous(), version);
                entry.content = hash::content(&diff);
                if entry.stored == Stored::DiffFile {
                    target.write(&file, diff);
                } else {
                    entry.stored = Stored::Diff(diff);
                }
            }
        }
        self.rechain(from);
    }

    /// Recomputes the chain hash of every entry from one on.
    pub(in crate::e3) fn rechain(&mut self, from: usize) {
        for at in from..self.entries.len() {
            let before = at.checked_sub(1).map(|at| self.entries[at].chain.clone());
            let entry = &mut self.entries[at];
            let (content, by, when) = (&entry.content, &entry.by, &entry.at);
            entry.chain = hash::chain(before.as_deref(), content, entry.version, by, when);
            entry.respell();
        }
    }

    /// Adds a version with this text, stored as a diff, with valid hashes.
    pub(in crate::e3) fn push(&mut self, target: &Target, mut entry: Entry, text: &str) {
        let mut texts = self.texts(target);
        texts.push(text.to_owned());
        entry.stored = Stored::Diff(String::new());
        self.entries.push(entry);
        self.store(target, texts.len() - 1, &texts);
    }
}

/// Splits a text before each line that begins an item of its list.
pub(super) fn items(text: &str) -> (String, Vec<String>) {
    let (mut head, mut items) = (String::new(), Vec::<String>::new());
    for line in text.split_inclusive('\n') {
        if line.starts_with("  - ") {
            items.push(String::new());
        }
        *items.last_mut().unwrap_or(&mut head) += line;
    }
    (head, items)
}

/// Returns the text of a document with another value in its frontmatter.
pub(in crate::e3) fn with_field(text: &str, key: &str, value: &str) -> String {
    let mut out = String::new();
    let (mut marks, mut is_done) = (0, false);
    for line in text.split_inclusive('\n') {
        marks += usize::from(line == "---\n");
        if marks == 1 && !is_done && line.starts_with(&format!("{key}:")) {
            out += &format!("{key}: {value}\n");
            is_done = true;
        } else {
            out += line;
        }
    }
    out
}

/// Returns the text of a document with a valid checksum.
pub(in crate::e3) fn with_checksum(text: &str) -> String {
    match hash::checksum(text) {
        Some(checksum) => {
            let quoted = text.contains("\nchecksum: '");
            let value = if quoted { format!("'{checksum}'") } else { checksum };
            with_field(text, "checksum", &value)
        }
        None => text.to_owned(),
    }
}
