//! A change log as values (AUDIT-2, AUDIT-3, AUDIT-18), written by hand.

use serde_json::Value;

use super::{Target, hash};

/// The folder of the change logs.
pub(in crate::e3) const CHANGES: &str = ".context/audit";

/// The log of one writer.
#[derive(Clone, Debug)]
pub(in crate::e3) struct ChangeLog {
    pub(in crate::e3) writer: String,
    pub(in crate::e3) lines: Vec<Value>,
}

impl ChangeLog {
    /// The log that has the most lines; none where changes are not recorded.
    pub(in crate::e3) fn longest(target: &Target) -> Option<Self> {
        Self::all(target).into_iter().max_by_key(|log| log.lines.len())
    }

    /// The logs of all writers.
    pub(in crate::e3) fn all(target: &Target) -> Vec<Self> {
        if !target.has(CHANGES) {
            return Vec::new();
        }
        let names = target.names(CHANGES).into_iter();
        let logs = names.filter_map(|name| {
            let writer = name.strip_suffix(".jsonl")?.to_owned();
            let text = target.read(&format!("{CHANGES}/{name}"));
            let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
            Some(Self { writer, lines })
        });
        logs.collect()
    }

    pub(in crate::e3) fn path(&self) -> String {
        format!("{CHANGES}/{}.jsonl", self.writer)
    }

    pub(in crate::e3) fn text(&self) -> String {
        self.lines.iter().map(|line| hash::jcs(line) + "\n").collect()
    }

    pub(in crate::e3) fn write(&self, target: &Target) {
        target.write(&self.path(), self.text());
    }

    /// The hash of a line follows from what it says.
    pub(in crate::e3) fn rehash(&mut self, at: usize) {
        if let Some(line) = self.lines[at].as_object_mut() {
            line.remove("hash");
            let hash = hash::sha(hash::jcs(line).as_bytes());
            line.insert("hash".to_owned(), hash.into());
        }
    }

    /// Writer, numbers, links and hashes follow from what the lines say.
    pub(in crate::e3) fn renew(&mut self) {
        let mut before = format!("contextnest:audit:v1:{}", self.writer);
        for at in 0..self.lines.len() {
            self.lines[at]["writer"] = self.writer.as_str().into();
            self.lines[at]["seq"] = (at + 1).into();
            self.lines[at]["prev"] = before.into();
            self.rehash(at);
            before = self.lines[at]["hash"].as_str().unwrap_or_default().to_owned();
        }
    }

    /// The checkpoint whose event a line records.
    pub(in crate::e3) fn sealed(&self, at: usize) -> Option<u64> {
        self.lines[at]["sealed"]["checkpoint"].as_u64()
    }
}
