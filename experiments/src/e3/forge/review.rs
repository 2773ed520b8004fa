//! Steps of reviews as texts (REV-4), and versions that are published or retired with their
//! checkpoints, as a forger writes them who knows the rules.

use super::Target;
use super::history::{Entry, History};
use super::spell::scalar;

/// The fields that a review sets, in the order in which they are written.
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

/// The relation of a version to the checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::e3) enum Becomes {
    Step,
    Published,
    Retired,
}

/// The principal and the time.
pub(in crate::e3) type By<'b> = (&'b str, &'b str);

/// Returns a text with fields set in place or appended, and without other fields of a review.
fn with_fields(text: &str, fields: &[(&str, String)], keeps: bool) -> String {
    let Some((head, rest)) = text.strip_prefix("---\n").and_then(|text| text.split_once("---\n"))
    else {
        return text.to_owned();
    };
    let (mut out, mut left) = ("---\n".to_owned(), fields.to_vec());
    for line in head.split_inclusive('\n') {
        let key = line.split(':').next().unwrap_or_default();
        match left.iter().position(|(name, _)| *name == key) {
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

/// Returns the text of a step: that of the version before, with other fields.
pub(in crate::e3) fn step(
    text: &str,
    version: u64,
    at: &str,
    status: &str,
    fields: &[(&str, String)],
) -> String {
    let own = [("status", status.to_owned()), ("version", version.to_string())];
    let own = own.into_iter().chain([("updated_at", scalar(at))]);
    let all: Vec<(&str, String)> = own.chain(fields.iter().cloned()).collect();
    let is_partial = fields.iter().all(|(name, _)| *name != "review");
    with_fields(text, &all, is_partial)
}

/// Returns the fields of an approval by these principals.
pub(in crate::e3) fn approval(word: &str, by: &[&str], at: &str) -> Vec<(&'static str, String)> {
    let mut fields = vec![("approved_by", names(by)), ("approved_at", scalar(at))];
    if !word.is_empty() {
        fields.insert(0, ("review", word.to_owned()));
    }
    fields
}

fn names(by: &[&str]) -> String {
    match by {
        [one] => scalar(one),
        several => {
            format!("[{}]", several.iter().map(|by| scalar(by)).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns the fields of a submission of a text.
pub(in crate::e3) fn submission(base: u64) -> Vec<(&'static str, String)> {
    vec![("review", "submitted".to_owned()), ("review_base", base.to_string())]
}

impl Target {
    /// Returns the text and number of the last version of an artifact.
    pub(in crate::e3) fn last(&self, id: &str) -> (String, u64) {
        let history = History::read(self, id);
        let version = history.entries.last().map_or(0, |entry| entry.version);
        (history.texts(self).pop().unwrap_or_default(), version)
    }

    /// Adds a version with valid hashes; returns its number.
    pub(in crate::e3) fn add(
        &self,
        id: &str,
        (by, at): By<'_>,
        becomes: Becomes,
        text: &str,
    ) -> Option<u64> {
        let mut history = History::read(self, id);
        let mut entry = Entry::after(history.entries.last()?);
        (entry.by, entry.at) = (by.to_owned(), at.to_owned());
        let event = Some(at.to_owned());
        match becomes {
            Becomes::Step => {}
            Becomes::Published => entry.published = event,
            Becomes::Retired => entry.retired = event,
        }
        let version = entry.version;
        history.push(self, entry, text);
        history.write(self);
        Some(version)
    }

    /// Adds an act on a governance file, with optional lines after its first two.
    pub(in crate::e3) fn act(
        &self,
        id: &str,
        (by, at): By<'_>,
        (becomes, word, more): (Becomes, &str, &str),
    ) -> Option<u64> {
        let text = self.last(id).0;
        let version = self.add(id, (by, at), becomes, &text)?;
        let mut history = History::read(self, id);
        let entry = history.entries.last_mut()?;
        let mark = if word.is_empty() { String::new() } else { format!("\treview: {word}") };
        let diff = format!("--- v{}\n+++ v{version}{mark}\n{more}", version - 1);
        entry.content = super::hash::content(&diff);
        entry.stored = super::history::Stored::Diff(diff);
        let last = history.entries.len() - 1;
        history.rechain(last);
        history.write(self);
        Some(version)
    }

    /// Adds the version that approves the last one of a document.
    pub(in crate::e3) fn approve(&self, id: &str, by: By<'_>, named: &[&str]) -> Option<u64> {
        let (text, version) = self.last(id);
        let text = step(&text, version + 1, by.1, "published", &approval("approved", named, by.1));
        self.add(id, by, Becomes::Published, &text)
    }

    /// Adds a checkpoint that seals the last versions of `set`, and drops `removed`.
    pub(in crate::e3) fn seal(&self, at: &str, set: &[&str], removed: &[&str]) -> Option<u64> {
        let mut log = self.log();
        let mut checkpoint = log.checkpoints.last()?.clone();
        checkpoint.number += 1;
        at.clone_into(&mut checkpoint.at);
        for id in set {
            let history = History::read(self, id);
            let entry = history.entries.last()?;
            checkpoint.seal(id, entry.version, &entry.chain);
        }
        removed.iter().for_each(|id| checkpoint.drop(id));
        let mut changed: Vec<String> =
            set.iter().chain(removed).map(|id| (*id).to_owned()).collect();
        changed.sort();
        checkpoint.trigger = super::log::trigger(&changed);
        let number = checkpoint.number;
        log.checkpoints.push(checkpoint);
        log.renew();
        log.write(self);
        Some(number)
    }

    /// Replaces the text of the last version of an artifact, and seals it in the last checkpoint.
    pub(in crate::e3) fn rewrite_last(&self, id: &str, change: impl Fn(&str) -> String) {
        let mut history = History::read(self, id);
        let mut texts = history.texts(self);
        if let Some(text) = texts.last_mut() {
            *text = change(text);
        }
        let last = texts.len().saturating_sub(1);
        history.store(self, last, &texts);
        history.write(self);
        let mut log = self.log();
        if let (Some(checkpoint), Some(entry)) =
            (log.checkpoints.last_mut(), history.entries.last())
        {
            checkpoint.seal(id, entry.version, &entry.chain);
        }
        log.renew();
        log.write(self);
    }

    /// Removes versions from the end of a history.
    pub(in crate::e3) fn truncate(&self, id: &str, count: usize) -> Option<()> {
        let mut history = History::read(self, id);
        let left = history.entries.len().checked_sub(count)?;
        for entry in history.entries.split_off(left) {
            let keyframe = History::read(self, id).keyframe(entry.version);
            if self.has(&keyframe) {
                self.remove(&keyframe);
            }
        }
        if history.entries.is_empty() {
            self.remove(&super::history_dir(id));
        } else {
            history.write(self);
        }
        Some(())
    }
}
