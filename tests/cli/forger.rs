//! A forger who knows the rules: makes versions and checkpoints by hand, with every hash right.

use std::collections::BTreeMap;

use contextnest::files::vault::files::Files;
use contextnest::model::digest::Digest;
use contextnest::model::id::DocumentId;
use contextnest::model::number::{CheckpointNumber, Version};
use contextnest::model::timestamp::Timestamp;
use contextnest::record::chain::diff;
use contextnest::record::chain::history::{Entry, EntryState, Forget, History, TextStorage};
use contextnest::record::chain::preimage::chain_hash;
use contextnest::record::chain::replay::reconstruct;
use contextnest::record::checkpoint::state::{Mark, PublishedSet};
use serde_json::{Value, json};

use crate::harness::Place;
use crate::tampering::LOG;

/// The fields of a review, in the order of the steps.
const FIELDS: [&str; 9] = [
    "review",
    "review_base",
    "review_action",
    "review_target",
    "change",
    "approved_by",
    "approved_at",
    "rejected_by",
    "review_reason",
];

/// The relation of a forged version to the checkpoints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Becomes {
    Step,
    Published,
    Retired,
}

/// A vault whose files a forger writes. The next command is later than all of it.
pub(crate) struct Forger<'p> {
    place: &'p Place,
    /// Time of the next version or checkpoint.
    at: Timestamp,
}

impl<'p> Forger<'p> {
    /// Begins after everything that a vault records.
    pub(crate) fn new(place: &'p Place) -> Self {
        let last = place.last_command();
        Self { place, at: Timestamp::from_millis(last.millis() + 10) }
    }

    fn history(&self, id: &str) -> History {
        let id: DocumentId = id.parse().unwrap();
        let path = self.place.path(&id.history_path());
        match path.exists() {
            true => History::parse(&std::fs::read(path).unwrap()).unwrap(),
            false => History::default(),
        }
    }

    /// Returns the number and the text of the last version of an artifact.
    pub(crate) fn last(&self, id: &str) -> (u64, String) {
        let history = self.history(id);
        let version = history.entries().next_back().map(|entry| entry.version);
        let Some(version) = version else { return (0, String::new()) };
        let files = Files::open(self.place.root()).unwrap();
        let text = reconstruct(&files, &id.parse().unwrap(), &history, version).unwrap();
        (version.0, text)
    }

    /// Returns the text of the last version with other fields, as a step writes them. Fields of a
    /// review that are not named are removed, unless `keeps`.
    pub(crate) fn stamped(&self, id: &str, status: &str, fields: &[(&str, &str)]) -> String {
        let (version, text) = self.last(id);
        let at = format!("{}", self.at);
        let own = [("status", status), ("version", &(version + 1).to_string())]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut left: Vec<(String, String)> = own.to_vec();
        left.push(("updated_at".to_owned(), format!("'{at}'")));
        left.extend(fields.iter().map(|(name, value)| {
            let value = if *value == "AT" { format!("'{at}'") } else { (*value).to_owned() };
            ((*name).to_owned(), value)
        }));
        let keeps = fields.iter().all(|(name, _)| *name != "review");
        let (head, rest) =
            text.strip_prefix("---\n").and_then(|text| text.split_once("---\n")).unwrap();
        let mut out = "---\n".to_owned();
        for line in head.split_inclusive('\n') {
            let key = line.split(':').next().unwrap_or_default();
            match left.iter().position(|(name, _)| name == key) {
                Some(at) => out += &format!("{key}: {}\n", left.remove(at).1),
                None if FIELDS.contains(&key) && !keeps => {}
                None => out += line,
            }
        }
        for (name, value) in left {
            out += &format!("{name}: {value}\n");
        }
        out + "---\n" + rest
    }

    /// Adds a version.
    pub(crate) fn add(&self, id: &str, by: &str, becomes: Becomes, text: &str) {
        let (last, before) = self.last(id);
        if last == 0 {
            return self.add_keyframe(id, by, becomes, text);
        }
        let version = Version(last + 1);
        let diff = diff::print(&before, text, version.previous(), version);
        let content = Digest::of(diff.as_bytes());
        self.push(id, by, becomes, (TextStorage::Diff(diff), content));
    }

    /// Adds a version that is stored as a full text.
    pub(crate) fn add_keyframe(&self, id: &str, by: &str, becomes: Becomes, text: &str) {
        let version = Version(self.last(id).0 + 1);
        self.place.write(&id.parse::<DocumentId>().unwrap().keyframe_path(version), text);
        self.push(id, by, becomes, (TextStorage::Keyframe, Digest::of(text.as_bytes())));
    }

    fn push(&self, id: &str, by: &str, becomes: Becomes, (stored, content): (TextStorage, Digest)) {
        let history = self.history(id);
        let last = history.entries().next_back().cloned();
        let version = last.as_ref().map_or(Version::FIRST, |last| last.version.next());
        let previous = last.map(|last| last.chain_hash);
        let entry = Entry {
            version,
            stored,
            edited_by: by.to_owned(),
            edited_at: self.at,
            state: match becomes {
                Becomes::Step => EntryState::Unpublished,
                Becomes::Published => EntryState::Published(self.at),
                Becomes::Retired => EntryState::Retired(self.at),
            },
            note: None,
            forget: Forget::None,
            content_hash: content,
            chain_hash: chain_hash(previous.as_ref(), &content, version, by, self.at),
        };
        let path = id.parse::<DocumentId>().unwrap().history_path();
        let before = if previous.is_some() { self.place.read(&path) } else { String::new() };
        self.place.write(&path, before + &history.append(&entry, 10).unwrap());
    }

    /// Moves the time of the following versions back by `millis`.
    pub(crate) fn earlier(&mut self, millis: i64) {
        self.at = Timestamp::from_millis(self.at.millis() - millis);
    }

    /// Advances the time, so that the next version is another step.
    pub(crate) fn later(&mut self) {
        self.at = Timestamp::from_millis(self.at.millis() + 10);
    }

    /// Appends a checkpoint that seals the last versions of `set`, and drops `removed`.
    pub(crate) fn seal(&mut self, set: &[&str], removed: &[&str]) {
        let log = self.place.read(LOG);
        let mut marks: BTreeMap<String, (u64, String)> = BTreeMap::new();
        let lines: Vec<Value> = log.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        for line in &lines {
            for id in line["removed"].as_array().unwrap() {
                marks.remove(id.as_str().unwrap());
            }
            for (id, mark) in line["set"].as_object().unwrap() {
                let hash = mark[1].as_str().unwrap().to_owned();
                marks.insert(id.clone(), (mark[0].as_u64().unwrap(), hash));
            }
        }
        removed.iter().for_each(|id| drop(marks.remove(*id)));
        let mut changed = BTreeMap::new();
        for id in set {
            let history = self.history(id);
            let entry = history.entries().next_back().unwrap();
            let hash = entry.chain_hash.to_string();
            marks.insert((*id).to_owned(), (entry.version.0, hash.clone()));
            changed.insert(*id, json!([entry.version.0, hash]));
        }
        let (published, bound): (Vec<_>, Vec<_>) = marks
            .into_iter()
            .map(|(id, (v, hash))| (id.parse::<DocumentId>().unwrap(), (v, hash.parse().unwrap())))
            .map(|(id, (v, hash))| (id, Mark::new(Version(v), hash)))
            .partition(|_| true);
        assert!(bound.is_empty());
        let state: PublishedSet = published.into_iter().collect();
        let last = lines.last().unwrap();
        let previous: Digest = last["checkpoint_hash"].as_str().unwrap().parse().unwrap();
        let number = last["checkpoint"].as_u64().unwrap() + 1;
        let trigger = set.iter().chain(removed).max().unwrap();
        let hash = state.hash(Some(&previous), CheckpointNumber(number), self.at, trigger);
        let line = json!({
            "at": self.at.to_string(), "checkpoint": number, "checkpoint_hash": hash,
            "removed": removed, "set": changed, "triggered_by": trigger,
        });
        self.place.write(LOG, log + &serde_jcs::to_string(&line).unwrap() + "\n");
        self.later();
    }

    /// Publishes the submitted text of a governance file, by its approval.
    pub(crate) fn approve_rules(&mut self, id: &str, by: &str) {
        let before = self.last(id).0;
        let diff = format!("--- v{before}\n+++ v{}\treview: approved\n", before + 1);
        let content = Digest::of(diff.as_bytes());
        self.push(id, by, Becomes::Published, (TextStorage::Diff(diff), content));
        self.seal(&[id], &[]);
    }

    /// Submits a text of a document.
    pub(crate) fn submit(&mut self, id: &str, by: &str, more: &str) {
        let base = self.published(id);
        let fields = [("review", "submitted"), ("review_base", base.as_str())];
        let text = self.stamped(id, "draft", &fields) + more;
        self.add(id, by, Becomes::Step, &text);
        self.later();
    }

    /// Publishes the submitted text, approved by these principals.
    pub(crate) fn approve(&mut self, id: &str, by: &str, named: &str) {
        let fields = [("review", "approved"), ("approved_by", named), ("approved_at", "AT")];
        let text = self.stamped(id, "published", &fields);
        self.add(id, by, Becomes::Published, &text);
        self.seal(&[id], &[]);
    }

    fn published(&self, id: &str) -> String {
        let history = self.history(id);
        let published = history.entries().rev().find(|entry| entry.is_published());
        published.map_or(0, |entry| entry.version.0).to_string()
    }
}
