//! Attacks that move, drop and plant whole entries and histories.

use super::{Attack, entry, place, sealed_place};
use crate::e3::forge::Target;
use crate::e3::forge::history::{Entry, with_field};
use crate::e3::forge::history_dir;
use crate::e3::place::Place;

pub(super) const ENTRIES: &[(&str, Attack)] = &[
    ("entries-exchanged", |t| {
        let (mut history, at) = entry(t, |h, at, _| at + 1 < h.entries.len())?;
        history.entries.swap(at, at + 1);
        history.write(t);
        Some(place(&history, at + 1))
    }),
    ("entry-duplicated", |t| {
        let (mut history, at) = entry(t, |_, _, _| true)?;
        history.entries.insert(at, history.entries[at].clone());
        history.write(t);
        Some(place(&history, at))
    }),
    ("entry-dropped-first", |t| {
        let (mut history, _) = entry(t, |h, at, _| at == 0 && h.entries.len() > 1)?;
        history.entries.remove(0);
        history.write(t);
        Some(place(&history, 0))
    }),
    ("entry-dropped-middle", |t| {
        let (mut history, at) = entry(t, |h, at, _| at > 0 && at + 1 < h.entries.len())?;
        history.entries.remove(at);
        history.write(t);
        Some(place(&history, at))
    }),
    ("entry-dropped-last", |t| {
        let log = t.log();
        let (history, at) = entry(t, |h, at, entry| {
            at > 0 && at + 1 == h.entries.len() && log.first(&h.id, entry.version).is_some()
        })?;
        let mut dropped = history.clone();
        dropped.entries.pop();
        dropped.write(t);
        sealed_place(t, &history, at)
    }),
    ("submission-planted", |t| planted(t, None)),
    ("submission-planted-foreign", |t| planted(t, None)),
    ("submission-dropped", |t| {
        let (mut history, at) =
            entry(t, |_, _, entry| !entry.is_published() && entry.retired.is_none())?;
        history.entries.remove(at);
        history.write(t);
        Some(Place::vault())
    }),
    ("publication-forged", |t| {
        let when = t.log().checkpoints.last()?.at.clone();
        planted(t, Some(when))
    }),
    ("history-deleted", |t| {
        let id = sealed(t)?;
        t.remove(&history_dir(&id));
        Some(Place::of(&id))
    }),
    ("history-emptied", |t| {
        let id = sealed(t)?;
        t.write(&format!("{}/history.yaml", history_dir(&id)), "");
        Some(Place::of(&id))
    }),
    ("history-without-versions", |t| {
        let id = sealed(t)?;
        let list = t.draw.of(&["versions:\n", "versions: []\n", "versions: null\n"]);
        let text = format!("keyframe_interval: 10\n{list}");
        t.write(&format!("{}/history.yaml", history_dir(&id)), text);
        Some(Place::of(&id))
    }),
    ("history-of-another", |t| {
        let id = sealed(t)?;
        let others: Vec<String> = t.documents().into_iter().map(|h| h.id).collect();
        let other = t.draw.pick(others.into_iter().filter(|other| *other != id))?;
        t.remove(&history_dir(&id));
        t.copy(&history_dir(&other), &history_dir(&id));
        Some(Place::of(&id).version(1))
    }),
    ("history-as-link", |t| {
        let id = sealed(t)?;
        t.link_out(&format!("{}/history.yaml", history_dir(&id)));
        Some(Place::of(&id))
    }),
    ("versions-as-link", |t| {
        let id = sealed(t)?;
        let dir = history_dir(&id);
        t.link_out(dir.rsplit_once('/')?.0);
        Some(Place::of(&id))
    }),
    ("history-planted", |t| {
        // The history of another document replaces its own: every hash is valid.
        let (mut history, at) = entry(t, |_, at, e| at == 0 && e.is_published())?;
        let dir = history_dir(&history.id);
        history.id = "nodes/planted".to_owned();
        let text = t.read(&format!("{dir}/v{}.md", history.entries[at].version));
        history.entries.truncate(1);
        t.write(&history.keyframe(history.entries[0].version), text);
        history.write(t);
        Some(place(&history, 0))
    }),
    ("leftover-planted", |t| {
        let id = sealed(t)?;
        let name = t.draw.of(&["v99.md", "v99.diff", "notes.txt", "history.yaml.bak"]);
        t.write(&format!("{}/{name}", history_dir(&id)), "# Planted\n");
        Some(Place::of(&id))
    }),
];

/// Returns the id of a document that the log seals.
fn sealed(target: &mut Target) -> Option<String> {
    let log = target.log();
    let (history, _) = entry(target, |h, _, e| log.first(&h.id, e.version).is_some())?;
    Some(history.id)
}

/// Appends a version with valid hashes.
fn planted(target: &mut Target, published: Option<String>) -> Option<Place> {
    let documents = target.published().into_iter();
    // A pending version would be the one before.
    let documents = documents
        .filter(|(history, head)| history.entries.last().is_some_and(|last| last.version == *head));
    let mut history = target.draw.pick(documents)?.0;
    let last = history.entries.last()?;
    let mut planted = Entry::after(last);
    let text = history.texts(target).pop()?;
    let mut text = with_field(&text, "version", &planted.version.to_string());
    match published {
        Some(when) => {
            text = with_field(&text, "updated_at", &format!("'{when}'"));
            planted.at.clone_from(&when);
            planted.published = Some(when);
        }
        None => text = with_field(&text, "status", "draft"),
    }
    planted.by = "eve@example.com".to_owned();
    let version = planted.version;
    history.push(target, planted, &(text + "\nPlanted.\n"));
    history.write(target);
    Some(Place::of(&history.id).version(version))
}
