//! Histories with recomputed hashes; the log, which seals them, stays as it is.

use super::fields::moved;
use super::{Attack, entry, place, reworded, sealed_place};
use crate::e3::forge::Target;
use crate::e3::forge::history::{Entry, History, Stored, with_checksum, with_field};
use crate::e3::place::Place;

pub(super) const RECHAINED: &[(&str, Attack)] = &[
    ("rechained-text", |t| {
        let (history, at) = sealed(t)?;
        text(t, history, at)
    }),
    ("rechained-author", |t| rechained(t, |entry| entry.by = "eve@example.com".to_owned())),
    ("rechained-time", |t| rechained(t, |entry| entry.at = moved(&entry.at, 1))),
    ("rechained-order", order),
    ("rechained-splice", |t| {
        let (mut history, at) = sealed(t)?;
        let own = history.id.clone();
        let (other, from) = entry(t, |h, _, entry| h.id != own && entry.is_published())?;
        let spliced = other.texts(t).swap_remove(from);
        let mut texts = history.texts(t);
        texts[at] = in_place_of(&spliced, &texts[at]);
        history.store(t, at, &texts);
        history.write(t);
        sealed_place(t, &history, at)
    }),
    ("rechained-keyframe", |t| {
        let log = t.log();
        let (mut history, _) = entry(t, |h, at, entry| {
            at == 0 && h.entries.len() > 2 && log.first(&h.id, entry.version).is_some()
        })?;
        let gone = history.entries[0].version;
        let texts = history.texts(t);
        let kept = history.entries.len() - 2;
        for entry in history.entries.drain(..kept) {
            if entry.stored == Stored::Keyframe {
                t.remove(&format!("{}/v{}.md", dir(&history.id), entry.version));
            }
        }
        history.entries[0].stored = Stored::Keyframe;
        history.store(t, 0, &texts[kept..]);
        history.write(t);
        let first = log.first(&history.id, gone)?;
        Some(Place::of(&history.id).version(gone).checkpoint(first))
    }),
    ("rechained-two", |t| {
        let (history, at) = sealed(t)?;
        let own = history.id.clone();
        let place = text(t, history, at)?;
        let log = t.log();
        let (other, at) =
            entry(t, |h, _, entry| h.id != own && log.first(&h.id, entry.version).is_some())?;
        text(t, other, at)?;
        Some(place)
    }),
    ("retirement-rewritten", |t| {
        let (mut history, at) = retired_at_last(t)?;
        let mut texts = history.texts(t);
        texts[at] = with_checksum(&reworded(&texts[at]));
        history.store(t, at, &texts);
        history.write(t);
        Some(place(&history, at))
    }),
    ("retirement-reattributed", |t| {
        let (mut history, at) = retired_at_last(t)?;
        history.entries[at].by = "eve@example.com".to_owned();
        history.rechain(at);
        history.write(t);
        Some(place(&history, at))
    }),
    ("retired-twice", |t| {
        let (mut history, at) = retired_at_last(t)?;
        let before = history.entries[at].clone();
        let mut entry = Entry::after(&before);
        entry.retired = before.retired;
        entry.by = "eve@example.com".to_owned();
        let text = history.texts(t).swap_remove(at);
        let text = with_field(&text, "version", &entry.version.to_string());
        history.push(t, entry, &text);
        history.write(t);
        Some(place(&history, at + 1))
    }),
];

fn dir(id: &str) -> String {
    crate::e3::forge::history_dir(id)
}

/// Returns a version that the log seals.
fn sealed(target: &mut Target) -> Option<(History, usize)> {
    let log = target.log();
    entry(target, |h, _, entry| log.first(&h.id, entry.version).is_some())
}

/// Returns the retirement of a document that did not come back.
fn retired_at_last(target: &mut Target) -> Option<(History, usize)> {
    entry(target, |h, at, e| e.retired.is_some() && at + 1 == h.entries.len())
}

/// Rewrites the text of one version, and every hash of the history from there.
fn text(target: &Target, mut history: History, at: usize) -> Option<Place> {
    let mut texts = history.texts(target);
    texts[at] = with_checksum(&reworded(&texts[at]));
    history.store(target, at, &texts);
    history.write(target);
    sealed_place(target, &history, at)
}

fn rechained(target: &mut Target, change: impl Fn(&mut Entry)) -> Option<Place> {
    let (mut history, at) = sealed(target)?;
    change(&mut history.entries[at]);
    history.rechain(at);
    history.write(target);
    sealed_place(target, &history, at)
}

/// Returns a text with the fields of another, so that it passes the comparisons of a verifier.
fn in_place_of(text: &str, other: &str) -> String {
    let field = |key: &str| {
        let line = other.lines().find(|line| line.starts_with(&format!("{key}:")));
        line.map(|line| line[key.len() + 1..].trim().to_owned())
    };
    let mut text = text.to_owned();
    for key in ["version", "updated_at", "status"] {
        text = with_field(&text, key, &field(key).unwrap_or_default());
    }
    text
}

fn order(target: &mut Target) -> Option<Place> {
    let log = target.log();
    let (mut history, at) = entry(target, |h, at, entry| {
        let next = h.entries.get(at + 1);
        log.first(&h.id, entry.version).is_some() && next.is_some_and(Entry::is_published)
    })?;
    let mut texts = history.texts(target);
    let (one, two) = (texts[at].clone(), texts[at + 1].clone());
    texts[at] = in_place_of(&two, &one);
    texts[at + 1] = in_place_of(&one, &two);
    let by = history.entries[at].by.clone();
    history.entries[at].by = std::mem::replace(&mut history.entries[at + 1].by, by);
    history.store(target, at, &texts);
    history.write(target);
    sealed_place(target, &history, at)
}
