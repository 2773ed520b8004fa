//! Habits of the reference implementation that its fixture does not show, added by hand: a diff in
//! a file of its own, and a version that was submitted and never published.

use super::history::{Entry, Stored, with_field};
use super::{Target, history::History};

/// Adds these habits to a copy of the reference implementation's vault, without changing a hash in
/// the log.
pub(in crate::e3) fn habits(target: &Target) {
    let mut risk = History::read(target, "nodes/vendor-risk");
    for version in [5, 12] {
        let path = risk.diff_file(version);
        let found = risk.entries.iter_mut().find(|entry| entry.version == version);
        let entry = found.expect("the fixture has this version");
        if let Stored::Diff(diff) = std::mem::replace(&mut entry.stored, Stored::DiffFile) {
            target.write(&path, diff);
        }
        entry.respell();
    }
    risk.write(target);
    for id in ["nodes/glossaire", "nodes/legal/review"] {
        let mut history = History::read(target, id);
        let text = history.texts(target).pop().expect("a history has a version");
        let mut entry = Entry::after(&history.entries[history.entries.len() - 1]);
        let version = entry.version.to_string();
        let text = with_field(&with_field(&text, "version", &version), "status", "draft");
        entry.by = "system:seed".to_owned();
        entry.at = "2026-11-21T21:00:00.000Z".to_owned();
        history.push(target, entry, &(text + "\nSubmitted.\n"));
        history.write(target);
    }
}
