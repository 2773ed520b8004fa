//! A merge of two logs, as an honest `ctx merge` makes it, and its reversal.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::history::History;
use super::lines::CHANGES;
use super::log::{Checkpoint, Log, trigger};
use super::{DELTA_LOG, Target, history_dir, live_path};
use crate::inside::copy;

impl Target {
    /// Copies the vault to a folder outside of it.
    pub(in crate::e3) fn cloned(&self, name: &str) -> Option<Self> {
        let root = self.outside.join(name);
        copy(&self.root, &root).ok()?;
        Some(Self::at(&root))
    }

    /// Merges a branch whose log has no merges of its own into this vault (MERGE-2, MERGE-3, MERGE-12,
    /// MERGE-13). `keeps` returns true for an id that keeps the value of this vault.
    pub(in crate::e3) fn merge(&self, branch: &Self, at: &str, keeps: impl Fn(&str) -> bool) {
        let (mut log, other) = (self.log(), branch.log());
        let pairs = log.checkpoints.iter().zip(&other.checkpoints);
        let base = pairs.take_while(|(own, their)| own.hash == their.hash).count();
        let of_branch = base..other.checkpoints.len();
        let (Some(last), Some(head)) = (log.checkpoints.last(), other.checkpoints.last()) else {
            return;
        };
        let changed: BTreeSet<String> =
            of_branch.clone().flat_map(|at| other.changed(at)).collect();
        let mut merge = Checkpoint {
            at: at.to_owned(),
            number: last.number + 1,
            merged: of_branch.map(|at| item(&other, at)).collect(),
            ..last.clone()
        };
        let count = last.versions.get(DELTA_LOG).map_or(1, |count| count + 1);
        merge.seal(DELTA_LOG, count, &head.hash);
        for id in changed.iter().filter(|id| !keeps(id)) {
            match (head.versions.get(id), head.hashes.get(id)) {
                (Some(version), Some(chain)) => merge.seal(id, *version, chain),
                _ => merge.drop(id),
            }
        }
        log.checkpoints.push(merge);
        log.retrigger(log.checkpoints.len() - 1);
        log.renew();
        for id in changed.iter().filter(|id| branch.has(&history_dir(id))) {
            if keeps(id) { self.keep_aside(branch, id) } else { self.bring(branch, id) }
        }
        if branch.has(CHANGES) {
            let paths = branch.names(CHANGES).into_iter().map(|name| format!("{CHANGES}/{name}"));
            for path in paths.filter(|path| path.ends_with(".jsonl") && !self.has(path)) {
                self.write(&path, branch.bytes(&path));
            }
        }
        log.write(self);
    }

    /// Takes the history and the live file of an artifact from a branch.
    fn bring(&self, branch: &Self, id: &str) {
        let (folder, live) = (history_dir(id), live_path(id));
        for name in branch.names(&folder) {
            let path = format!("{folder}/{name}");
            self.write(&path, branch.bytes(&path));
        }
        if branch.has(&live) {
            self.write(&live, branch.bytes(&live));
        } else if self.has(&live) {
            self.remove(&live);
        }
    }

    /// Keeps the history of a branch aside, with the full texts that the own history lacks.
    fn keep_aside(&self, branch: &Self, id: &str) {
        let folder = history_dir(id);
        let aside = aside_of(&History::read(branch, id));
        for name in branch.names(&folder) {
            let (path, bytes) =
                (format!("{folder}/{name}"), branch.bytes(&format!("{folder}/{name}")));
            let is_shared = name != "history.yaml" && self.has(&path) && self.bytes(&path) == bytes;
            if !is_shared {
                self.write(&format!("{aside}/{name}"), bytes);
            }
        }
    }

    /// Replaces the history and the live file of an artifact by those that are aside.
    pub(in crate::e3) fn take_aside(&self, id: &str) -> Option<()> {
        let (folder, aside) = (history_dir(id), self.aside(id)?);
        self.copy(&aside, &folder);
        self.remove(&format!("{folder}/aside"));
        let text = self.last(id).0;
        self.write(&live_path(id), text);
        Some(())
    }

    /// Returns the folder of the history aside of an artifact.
    pub(in crate::e3) fn aside(&self, id: &str) -> Option<String> {
        let folder = format!("{}/aside", history_dir(id));
        let name = self.names(&folder).into_iter().next()?;
        Some(format!("{folder}/{name}"))
    }

    /// Takes back the last event: its checkpoint, its versions, and the live files. `None` if that
    /// would leave nothing.
    pub(in crate::e3) fn take_back(&self) -> Option<()> {
        let mut log = self.log();
        let last = log.checkpoints.len().checked_sub(1).filter(|last| *last > 0)?;
        let before = log.checkpoints[last - 1].versions.clone();
        for id in log.changed(last) {
            self.truncate(&id, 1)?;
            let live = live_path(&id);
            match before.get(&id) {
                Some(_) => self.write(&live, self.last(&id).0),
                None if self.has(&live) => self.remove(&live),
                None => {}
            }
        }
        log.checkpoints.pop();
        log.write(self);
        Some(())
    }
}

impl Log {
    /// Computes the trigger of a merge again (MERGE-4).
    pub(in crate::e3) fn retrigger(&mut self, at: usize) {
        let own: Vec<String> = self.changed(at).into_iter().filter(|id| !is_chain(id)).collect();
        let of_items = || {
            let items = self.checkpoints[at].merged.iter();
            items.flat_map(changed_by).filter(|id| !is_chain(id)).collect::<Vec<_>>()
        };
        self.checkpoints[at].trigger =
            if own.is_empty() { trigger(&of_items()) } else { trigger(&own) };
    }

    /// Returns the place of the merge.
    pub(in crate::e3) fn merge(&self) -> Option<usize> {
        self.checkpoints.iter().position(|checkpoint| !checkpoint.merged.is_empty())
    }
}

/// Returns a checkpoint of a branch as an item of a merge.
fn item(branch: &Log, at: usize) -> Value {
    let raw = &branch.checkpoints[at].raw;
    let mut item: Value = serde_json::from_str(raw).expect("a line of a vault that verified");
    let before = at.checked_sub(1).map(|at| branch.checkpoints[at].hash.as_str());
    item["follows"] = json!(before);
    item
}

/// Returns the path of the folder in which a history is kept aside.
fn aside_of(history: &History) -> String {
    let chain = history.entries.last().map_or("", |entry| entry.chain.as_str());
    let digits: String = chain.trim_start_matches("sha256:").chars().take(16).collect();
    format!("{}/aside/{digits}", history_dir(&history.id))
}

fn changed_by(item: &Value) -> Vec<String> {
    let set = item["set"].as_object().into_iter().flatten().map(|(id, _)| id.clone());
    let removed = item["removed"].as_array().into_iter().flatten();
    set.chain(removed.filter_map(Value::as_str).map(str::to_owned)).collect()
}

/// Returns true if an id is that of a log or of a chain of lines.
fn is_chain(id: &str) -> bool {
    id == DELTA_LOG || id.starts_with(".context/") && id.ends_with(".jsonl")
}
