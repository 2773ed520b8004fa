//! A checkpoint log as checkpoints with whole maps, in either form.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::history::items;
use super::spell::scalar;
use super::{Target, hash, is_document};

/// One checkpoint.
#[derive(Clone, Debug)]
pub(in crate::e3) struct Checkpoint {
    /// The line or lines of the checkpoint.
    pub(in crate::e3) raw: String,
    pub(in crate::e3) number: u64,
    pub(in crate::e3) at: String,
    pub(in crate::e3) trigger: String,
    pub(in crate::e3) hash: String,
    pub(in crate::e3) versions: BTreeMap<String, u64>,
    pub(in crate::e3) hashes: BTreeMap<String, String>,
    /// The items of a merge (MERGE-3).
    pub(in crate::e3) merged: Vec<Value>,
}

/// A log.
#[derive(Clone, Debug)]
pub(in crate::e3) struct Log {
    pub(in crate::e3) is_delta: bool,
    head: String,
    pub(in crate::e3) checkpoints: Vec<Checkpoint>,
}

impl Checkpoint {
    /// Sets a version in both maps.
    pub(in crate::e3) fn seal(&mut self, id: &str, version: u64, chain: &str) {
        self.versions.insert(id.to_owned(), version);
        self.hashes.insert(id.to_owned(), chain.to_owned());
    }

    /// Removes an id from both maps.
    pub(in crate::e3) fn drop(&mut self, id: &str) {
        self.versions.remove(id);
        self.hashes.remove(id);
    }
}

impl Log {
    pub(in crate::e3) fn read(target: &Target) -> Self {
        let text = target.read(target.log_path());
        if target.is_delta() { Self::of_lines(&text) } else { Self::of_items(&text) }
    }

    fn of_lines(text: &str) -> Self {
        let mut log = Self { is_delta: true, head: String::new(), checkpoints: Vec::new() };
        let (mut versions, mut hashes) = (BTreeMap::new(), BTreeMap::new());
        for raw in text.split_inclusive('\n') {
            let line: Value = serde_json::from_str(raw).expect("a line of a vault that verified");
            for id in line["removed"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                versions.remove(id);
                hashes.remove(id);
            }
            for (id, mark) in line["set"].as_object().into_iter().flatten() {
                versions.insert(id.clone(), mark[0].as_u64().unwrap_or(0));
                hashes.insert(id.clone(), mark[1].as_str().unwrap_or_default().to_owned());
            }
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            log.checkpoints.push(Checkpoint {
                raw: raw.to_owned(),
                number: line["checkpoint"].as_u64().unwrap_or(0),
                at: text("at"),
                trigger: text("triggered_by"),
                hash: text("checkpoint_hash"),
                versions: versions.clone(),
                hashes: hashes.clone(),
                merged: line["merged"].as_array().cloned().unwrap_or_default(),
            });
        }
        log
    }

    fn of_items(text: &str) -> Self {
        let (head, items) = items(text);
        let checkpoints = items.into_iter().map(|raw| {
            let value: serde_yaml::Value =
                serde_yaml::from_str(&raw).expect("an entry of a vault that verified");
            let text = |key: &str| value[0][key].as_str().unwrap_or_default().to_owned();
            let map = |key: &str| {
                let map = value[0][key].as_mapping().cloned().unwrap_or_default().into_iter();
                map.filter_map(|(id, value)| Some((id.as_str()?.to_owned(), value)))
            };
            let versions = map("document_versions").filter_map(|(id, n)| Some((id, n.as_u64()?)));
            let hashes = map("document_chain_hashes")
                .filter_map(|(id, hash)| Some((id, hash.as_str()?.to_owned())));
            let (versions, hashes) = (versions.collect(), hashes.collect());
            let number = value[0]["checkpoint"].as_u64().unwrap_or(0);
            Checkpoint {
                number,
                at: text("at"),
                trigger: text("triggered_by"),
                hash: text("checkpoint_hash"),
                versions,
                hashes,
                merged: Vec::new(),
                raw,
            }
        });
        Self { is_delta: false, head, checkpoints: checkpoints.collect() }
    }

    /// Returns the whole text.
    pub(in crate::e3) fn text(&self) -> String {
        let raws: String = self.checkpoints.iter().map(|c| c.raw.as_str()).collect();
        self.head.clone() + &raws
    }

    pub(in crate::e3) fn write(&self, target: &Target) {
        target.write(target.log_path(), self.text());
    }

    /// Spells one checkpoint from its values.
    pub(in crate::e3) fn respell(&mut self, at: usize) {
        self.checkpoints[at].raw = if self.is_delta { self.line(at) } else { self.item(at) };
    }

    fn line(&self, at: usize) -> String {
        let checkpoint = &self.checkpoints[at];
        let before = at.checked_sub(1).map(|at| &self.checkpoints[at]);
        let was = |id: &str| before.and_then(|b| Some((b.versions.get(id)?, b.hashes.get(id)?)));
        let mut set = serde_json::Map::new();
        for (id, version) in &checkpoint.versions {
            let Some(hash) = checkpoint.hashes.get(id) else { continue };
            if was(id) != Some((version, hash)) {
                set.insert(id.clone(), json!([version, hash]));
            }
        }
        let gone = before.into_iter().flat_map(|before| before.versions.keys());
        let removed: Vec<&String> =
            gone.filter(|id| !checkpoint.versions.contains_key(*id)).collect();
        let Checkpoint { number, at, trigger, hash, .. } = checkpoint;
        // JCS has no form for a number above 2^53, so it is inserted as text.
        let mut line = json!({
            "at": at, "checkpoint": number, "checkpoint_hash": hash, "removed": removed,
            "set": set, "triggered_by": trigger,
        });
        if !checkpoint.merged.is_empty() {
            line["merged"] = checkpoint.merged.clone().into();
        }
        hash::jcs(&line) + "\n"
    }

    fn item(&self, at: usize) -> String {
        let Checkpoint { number, at, trigger, hash, versions, hashes, .. } = &self.checkpoints[at];
        let mut out = format!(
            "  - checkpoint: {number}\n    at: {}\n    triggered_by: {}\n    document_versions:",
            scalar(at),
            scalar(trigger)
        );
        out += if versions.is_empty() { " {}\n" } else { "\n" };
        for (id, version) in versions {
            out += &format!("      {}: {version}\n", scalar(id));
        }
        out += "    document_chain_hashes:";
        out += if hashes.is_empty() { " {}\n" } else { "\n" };
        for (id, hash) in hashes {
            out += &format!("      {}: {}\n", scalar(id), scalar(hash));
        }
        out + &format!("    checkpoint_hash: {hash}\n")
    }

    /// Numbers, hashes and writes all checkpoints again.
    pub(in crate::e3) fn renew(&mut self) {
        let mut before: Option<String> = None;
        for at in 0..self.checkpoints.len() {
            let c = &mut self.checkpoints[at];
            c.number = at as u64 + 1;
            let (number, versions, hashes) = (c.number, &c.versions, &c.hashes);
            c.hash =
                hash::checkpoint(before.as_deref(), number, &c.at, &c.trigger, versions, hashes);
            before = Some(c.hash.clone());
            self.respell(at);
        }
    }

    /// Drops checkpoints without changes, recomputes each trigger (CKPT-4), and renews all hashes,
    /// as a forger does who knows the rules.
    pub(in crate::e3) fn settle(&mut self) {
        let mut before = (BTreeMap::new(), BTreeMap::new());
        self.checkpoints.retain(|c| {
            let maps = (c.versions.clone(), c.hashes.clone());
            std::mem::replace(&mut before, maps.clone()) != maps
        });
        for at in 0..self.checkpoints.len() {
            let changed = self.changed(at);
            if !changed.contains(&self.checkpoints[at].trigger) {
                self.checkpoints[at].trigger = trigger(&changed);
            }
        }
        self.renew();
    }

    /// Returns the changes of a checkpoint: the ids that it set, and those that it removed.
    pub(in crate::e3) fn changed(&self, at: usize) -> Vec<String> {
        let mut changed = self.set(at);
        changed.extend(self.removed(at));
        changed.sort();
        changed
    }

    /// Returns the ids that a checkpoint set to another version or hash.
    pub(in crate::e3) fn set(&self, at: usize) -> Vec<String> {
        let now = &self.checkpoints[at];
        let before = at.checked_sub(1).map(|at| &self.checkpoints[at]);
        let was = |id: &str| before.and_then(|b| Some((b.versions.get(id)?, b.hashes.get(id)?)));
        let is = |id: &str| Some((now.versions.get(id)?, now.hashes.get(id)?));
        now.versions.keys().filter(|id| was(id) != is(id)).cloned().collect()
    }

    /// Returns the ids that left the maps at a checkpoint.
    pub(in crate::e3) fn removed(&self, at: usize) -> Vec<String> {
        let Some(before) = at.checked_sub(1) else { return Vec::new() };
        let now = &self.checkpoints[at].versions;
        let before = self.checkpoints[before].versions.keys();
        before.filter(|id| !now.contains_key(*id)).cloned().collect()
    }

    /// Returns the first checkpoint that contains a version.
    pub(in crate::e3) fn first(&self, id: &str, version: u64) -> Option<u64> {
        let holds = |c: &&Checkpoint| c.versions.get(id) == Some(&version);
        self.checkpoints.iter().find(holds).map(|c| c.number)
    }

    /// Returns the log in the form of the reference implementation.
    pub(in crate::e3) fn full_text(&self) -> String {
        let items = (0..self.checkpoints.len()).map(|at| self.item(at));
        let head = "# Auto-generated. Do not edit manually.\ncheckpoints:\n";
        head.to_owned() + &items.collect::<String>()
    }

    /// Returns the log in the form of ctx.
    pub(in crate::e3) fn delta_text(&self) -> String {
        (0..self.checkpoints.len()).map(|at| self.line(at)).collect()
    }
}

/// Returns the greatest document of an event, or else the greatest governance file.
pub(in crate::e3) fn trigger(changed: &[String]) -> String {
    let greatest = changed.iter().filter(|id| is_document(id)).max();
    greatest.or_else(|| changed.iter().max()).cloned().unwrap_or_default()
}
