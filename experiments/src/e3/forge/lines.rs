//! Logs of lines as values, written by hand: change logs and accesses in the vault (AUDIT-2,
//! AUDIT-3, AUDIT-18, AUDIT-30), and chains of staged results (STAGE-1, STAGE-2).

use serde_json::Value;

use super::{Target, hash};
use crate::e3::place::Place;

/// Folder of the change logs.
pub(in crate::e3) const CHANGES: &str = ".context/audit";
/// Folder of the accesses.
pub(in crate::e3) const ACCESSES: &str = ".context/audit/access";
/// Folder of the chains of a source.
const STAGED: &str = ".context/staging/chains/";

/// The log of one writer.
#[derive(Clone, Debug)]
pub(in crate::e3) struct LineLog {
    folder: String,
    pub(in crate::e3) writer: String,
    pub(in crate::e3) lines: Vec<Value>,
}

impl LineLog {
    /// Returns the log with the most lines in a folder; `None` if no log exists.
    pub(in crate::e3) fn longest(target: &Target, folder: &str) -> Option<Self> {
        Self::all(target, folder).into_iter().max_by_key(|log| log.lines.len())
    }

    /// Returns the logs of all writers in a folder.
    pub(in crate::e3) fn all(target: &Target, folder: &str) -> Vec<Self> {
        if !target.has(folder) {
            return Vec::new();
        }
        let names = target.names(folder).into_iter();
        let logs = names.filter_map(|name| {
            let writer = name.strip_suffix(".jsonl")?.to_owned();
            let text = target.read(&format!("{folder}/{name}"));
            let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
            Some(Self { folder: folder.to_owned(), writer, lines })
        });
        logs.collect()
    }

    pub(in crate::e3) fn path(&self) -> String {
        format!("{}/{}.jsonl", self.folder, self.writer)
    }

    pub(in crate::e3) fn text(&self) -> String {
        self.lines.iter().map(|line| hash::jcs(line) + "\n").collect()
    }

    pub(in crate::e3) fn write(&self, target: &Target) {
        target.write(&self.path(), self.text());
    }

    /// Writes the log; the finding about it names no document.
    pub(in crate::e3) fn written(&self, target: &Target) -> Option<Place> {
        self.write(target);
        Some(Place::vault())
    }

    /// Computes the hash of a line from its fields.
    pub(in crate::e3) fn rehash(&mut self, at: usize) {
        if let Some(line) = self.lines[at].as_object_mut() {
            line.remove("hash");
            let hash = hash::sha(hash::jcs(line).as_bytes());
            line.insert("hash".to_owned(), hash.into());
        }
    }

    /// Computes writer, numbers, links and hashes of all lines.
    pub(in crate::e3) fn renew(&mut self) {
        let staged = self.folder.strip_prefix(STAGED);
        let kind = staged.map_or("audit:v1".to_owned(), |source| format!("staging:v1:{source}"));
        let is_staged = staged.is_some();
        let mut before = format!("contextnest:{kind}:{}", self.writer);
        for at in 0..self.lines.len() {
            if !is_staged {
                self.lines[at]["writer"] = self.writer.as_str().into();
            }
            self.lines[at]["seq"] = (at + 1).into();
            self.lines[at]["prev"] = before.into();
            self.rehash(at);
            before = self.lines[at]["hash"].as_str().unwrap_or_default().to_owned();
        }
    }

    /// Returns the checkpoint whose event a line records.
    pub(in crate::e3) fn sealed(&self, at: usize) -> Option<u64> {
        self.lines[at]["sealed"]["checkpoint"].as_u64()
    }
}
