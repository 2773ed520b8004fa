//! Attacks on the log with recomputed hashes; the histories stay as they are.

use std::collections::BTreeSet;

use super::Attack;
use super::fields::moved;
use crate::e3::forge::history::Entry;
use crate::e3::forge::log::{Checkpoint, Log, trigger};
use crate::e3::forge::{Target, hash, is_document};
use crate::e3::place::Place;

pub(super) const RELOGGED: &[(&str, Attack)] = &[
    ("forged-empty-event", |t| {
        appended(t, |t, c| {
            let ids: Vec<String> = c.versions.keys().cloned().collect();
            c.trigger = t.draw.pick(ids)?;
            Some(Place::at(c.number))
        })
    }),
    ("forged-older-version", |t| {
        let published = t.published().into_iter().filter(|(h, head)| h.entries[0].version < *head);
        let (history, head) = t.draw.pick(published)?;
        let log = t.log();
        let older = history
            .entries
            .iter()
            .filter(|e| e.version < head && log.first(&history.id, e.version).is_some());
        let older = t.draw.pick(older)?.clone();
        sealing(t, &history.id, &older)
    }),
    ("forged-retired-version", |t| {
        let log = t.log();
        let last = log.checkpoints.last()?;
        let retired = t.documents().into_iter().filter(|history| {
            !last.versions.contains_key(&history.id)
                && history.entries.iter().any(|entry| entry.retired.is_some())
        });
        let history = t.draw.pick(retired)?;
        let old = history.entries.iter().rfind(|entry| entry.is_published())?;
        sealing(t, &history.id, old)
    }),
    ("forged-unknown-version", |t| {
        let (history, _) = {
            let all = t.published();
            t.draw.pick(all)?
        };
        let mut unknown = Entry::after(history.entries.last()?);
        unknown.chain = hash::sha(unknown.chain.as_bytes());
        sealing(t, &history.id, &unknown)
    }),
    ("forged-unknown-document", |t| {
        appended(t, |_, c| {
            let chain = hash::sha(b"nothing");
            c.seal("nodes/invented", 1, &chain);
            c.trigger = "nodes/invented".to_owned();
            Some(Place::of("nodes/invented"))
        })
    }),
    ("forged-unpublished-version", |t| {
        // In a vault of ctx, only a retirement was never published.
        let documents = t.documents().into_iter().filter_map(|history| {
            let last = history.entries.last().filter(|entry| !entry.is_published())?;
            Some((history.id.clone(), last.clone()))
        });
        let (id, entry) = t.draw.pick(documents)?;
        sealing(t, &id, &entry)
    }),
    ("forged-look-alike", |t| {
        appended(t, |t, c| {
            let ids = c.versions.keys().filter(|id| is_document(id));
            let ids: Vec<String> = ids.filter(|id| alike(id) != **id).cloned().collect();
            let id = t.draw.pick(ids)?;
            let (version, chain) = (c.versions[&id], c.hashes[&id].clone());
            c.trigger = alike(&id);
            c.seal(&alike(&id), version, &chain);
            Some(Place::of(&id).or(&alike(&id)))
        })
    }),
    ("forged-chain-hash", |t| {
        let mut log = t.log();
        let (id, from) = document_set(t, &log)?;
        let chain = log.checkpoints[from].hashes[&id].clone();
        let version = log.checkpoints[from].versions[&id];
        for checkpoint in &mut log.checkpoints[from..] {
            if checkpoint.hashes.get(&id) == Some(&chain) {
                checkpoint.hashes.insert(id.clone(), hash::sha(chain.as_bytes()));
            }
        }
        settled(t, log);
        Some(Place::of(&id).version(version).checkpoint(from as u64 + 1))
    }),
    ("map-loses-document", |t| {
        let mut log = t.log();
        // The checkpoint changes something else as well, so that it stays one.
        let mut found = Vec::new();
        for at in 1..log.checkpoints.len() {
            let changed = log.changed(at);
            let held = log.checkpoints[at - 1].versions.keys();
            let held =
                held.filter(|id| is_document(id) && log.checkpoints[at].versions.contains_key(*id));
            found.extend(
                held.filter(|id| changed.iter().any(|c| c != *id)).map(|id| (at, id.clone())),
            );
        }
        let (from, id) = t.draw.pick(found)?;
        for checkpoint in &mut log.checkpoints[from..] {
            checkpoint.drop(&id);
        }
        settled(t, log);
        Some(Place::of(&id).checkpoint(from as u64 + 1))
    }),
    ("map-never-had-document", |t| {
        let mut log = t.log();
        let id = document_set(t, &log)?.0;
        for checkpoint in &mut log.checkpoints {
            checkpoint.drop(&id);
        }
        settled(t, log);
        Some(Place::of(&id))
    }),
    ("map-keeps-old-version", |t| {
        let mut log = t.log();
        let last = log.checkpoints.last()?.versions.clone();
        let mut found = Vec::new();
        for (id, version) in last.iter().filter(|(id, _)| is_document(id)) {
            let first = log.checkpoints.iter().position(|c| c.versions.get(id) == Some(version))?;
            let before = first.checked_sub(1).map(|at| &log.checkpoints[at]);
            let old = before.and_then(|c| Some((*c.versions.get(id)?, c.hashes.get(id)?.clone())));
            found.extend(old.map(|old| (id.clone(), *version, first, old)));
        }
        let (id, version, first, (old, chain)) = t.draw.pick(found)?;
        for checkpoint in &mut log.checkpoints[first..] {
            checkpoint.seal(&id, old, &chain);
        }
        settled(t, log);
        Some(Place::of(&id).version(version))
    }),
    ("map-keeps-retired-document", |t| {
        let mut log = t.log();
        let gone = (1..log.checkpoints.len())
            .flat_map(|at| log.removed(at).into_iter().map(move |id| (at, id)))
            .filter(|(at, id)| log.checkpoints[*at..].iter().all(|c| !c.versions.contains_key(id)));
        let gone: Vec<(usize, String)> = gone.collect();
        let (at, id) = t.draw.pick(gone)?;
        let (version, chain) =
            (log.checkpoints[at - 1].versions[&id], log.checkpoints[at - 1].hashes[&id].clone());
        for checkpoint in &mut log.checkpoints[at..] {
            checkpoint.seal(&id, version, &chain);
        }
        settled(t, log);
        Some(Place::of(&id).version(version + 1))
    }),
    ("dropped-first-recomputed", |t| dropped(t, |at, _| at == 0)),
    ("dropped-middle-recomputed", |t| dropped(t, |at, last| at > 0 && at < last)),
    ("dropped-last-recomputed", |t| {
        let mut log = t.log();
        let kept = log.checkpoints.len() - 1 - t.draw.below(log.checkpoints.len().min(3) - 1);
        let first = log.changed(kept).into_iter().next()?;
        log.checkpoints.truncate(kept);
        log.renew();
        log.write(t);
        Some(Place::of(&first))
    }),
    ("checkpoints-merged", |t| {
        let mut log = t.log();
        let at = t.draw.pick(neighbours(&log))?;
        let first = log.set(at).into_iter().next()?;
        let mut changed = log.changed(at);
        changed.extend(log.changed(at + 1));
        log.checkpoints.remove(at);
        log.checkpoints[at].trigger = trigger(&changed);
        log.renew();
        log.write(t);
        Some(Place::of(&first))
    }),
    ("checkpoint-split", split),
    ("log-redated", |t| {
        let log = t.log();
        // A retirement repeats the time of its checkpoint, in either form.
        if !log.is_delta && (1..log.checkpoints.len()).any(|at| !log.removed(at).is_empty()) {
            return None;
        }
        let by = [1, 1_000, 86_400_000][t.draw.below(3)];
        redated(t, log, by)
    }),
    ("log-backdated", |t| {
        let log = t.log();
        // The reference implementation writes `at` some milliseconds after `published_at`.
        redated(t, log, -60_000)
    }),
    ("log-reordered", |t| {
        let mut log = t.log();
        let at = t.draw.pick(neighbours(&log))?;
        let second = log.set(at + 1).into_iter().next()?;
        let before = at.checked_sub(1).map(|at| &log.checkpoints[at]);
        let (mut versions, mut hashes) =
            before.map(|c| (c.versions.clone(), c.hashes.clone())).unwrap_or_default();
        for id in log.set(at + 1) {
            versions.insert(id.clone(), log.checkpoints[at + 1].versions[&id]);
            hashes.insert(id.clone(), log.checkpoints[at + 1].hashes[&id].clone());
        }
        let moved = Checkpoint { versions, hashes, ..log.checkpoints[at].clone() };
        log.checkpoints[at] = moved;
        let triggers = [trigger(&log.changed(at)), trigger(&log.changed(at + 1))];
        log.checkpoints[at].trigger.clone_from(&triggers[0]);
        log.checkpoints[at + 1].trigger.clone_from(&triggers[1]);
        log.renew();
        log.write(t);
        Some(Place::of(&second))
    }),
    ("log-retriggered", |t| {
        let mut log = t.log();
        let several = (0..log.checkpoints.len()).filter(|at| log.set(*at).len() > 1);
        let at = t.draw.pick(several)?;
        let others = log.set(at).into_iter().filter(|id| *id != log.checkpoints[at].trigger);
        let other = t.draw.pick(others)?;
        log.checkpoints[at].trigger = other;
        log.renew();
        log.write(t);
        Some(Place::at(at as u64 + 1))
    }),
];

/// Writes a log whose checkpoints are as if these events had happened.
fn settled(target: &Target, mut log: Log) {
    log.settle();
    log.write(target);
}

/// Appends a checkpoint, a second after the last.
fn appended(
    target: &mut Target,
    change: impl Fn(&mut Target, &mut Checkpoint) -> Option<Place>,
) -> Option<Place> {
    let mut log = target.log();
    let mut forged = log.checkpoints.last()?.clone();
    forged.at = moved(&forged.at, 1_000);
    forged.number += 1;
    let place = change(target, &mut forged)?;
    log.checkpoints.push(forged);
    log.renew();
    log.write(target);
    Some(place)
}

/// Appends a checkpoint that seals this version.
fn sealing(target: &mut Target, id: &str, entry: &Entry) -> Option<Place> {
    appended(target, |_, checkpoint| {
        checkpoint.seal(id, entry.version, &entry.chain);
        checkpoint.trigger = id.to_owned();
        Some(Place::of(id).version(entry.version).checkpoint(checkpoint.number))
    })
}

/// Returns the id in the opposite case.
fn alike(id: &str) -> String {
    match id.rsplit_once('/') {
        Some((folder, name)) if name.chars().any(|c| c.is_ascii_lowercase()) => {
            format!("{folder}/{}", name.to_ascii_uppercase())
        }
        _ => id.to_owned(),
    }
}

/// Returns a document, and a checkpoint that set it.
fn document_set(target: &mut Target, log: &Log) -> Option<(String, usize)> {
    let all = (0..log.checkpoints.len())
        .flat_map(|at| log.set(at).into_iter().map(move |id| (id, at)))
        .filter(|(id, _)| is_document(id));
    target.draw.pick(all.collect::<Vec<_>>())
}

/// Returns the versions that only one checkpoint contains.
fn only(log: &Log, at: usize) -> Vec<(String, u64)> {
    let next = log.checkpoints.get(at + 1);
    let set = log.set(at).into_iter().map(|id| (id.clone(), log.checkpoints[at].versions[&id]));
    set.filter(|(id, version)| {
        next.is_none_or(|next| next.versions.get(id).is_none_or(|then| then != version))
    })
    .collect()
}

/// Drops a checkpoint that alone contained a version, or, in a vault of ctx, with all changes of
/// its line; the others are numbered and hashed again.
fn dropped(target: &mut Target, is_wanted: fn(usize, usize) -> bool) -> Option<Place> {
    let mut log = target.log();
    let last = log.checkpoints.len() - 1;
    let places =
        (0..=last).filter(|at| is_wanted(*at, last)).filter(|at| !only(&log, *at).is_empty());
    let at = target.draw.pick(places)?;
    let lost = only(&log, at);
    if log.is_delta && target.draw.below(2) == 0 {
        // The changes of its line are missing until a later line sets them.
        for id in log.set(at) {
            let mark = log.checkpoints[at].hashes[&id].clone();
            let was = at.checked_sub(1).and_then(|at| {
                let before = &log.checkpoints[at];
                Some((*before.versions.get(&id)?, before.hashes.get(&id)?.clone()))
            });
            for later in &mut log.checkpoints[at + 1..] {
                if later.hashes.get(&id) != Some(&mark) {
                    break;
                }
                match &was {
                    Some((version, chain)) => later.seal(&id, *version, chain),
                    None => later.drop(&id),
                }
            }
        }
    }
    log.checkpoints.remove(at);
    settled(target, log);
    let (id, version) = &lost[0];
    Some(Place::of(id).version(*version))
}

/// Returns checkpoints that change other documents than the next one, and remove none from
/// the maps.
fn neighbours(log: &Log) -> Vec<usize> {
    let are = |at: &usize| {
        let one: BTreeSet<String> = log.changed(*at).into_iter().collect();
        let two: BTreeSet<String> = log.changed(*at + 1).into_iter().collect();
        let none_left = log.removed(*at).is_empty() && log.removed(*at + 1).is_empty();
        none_left && one.is_disjoint(&two)
    };
    (0..log.checkpoints.len() - 1).filter(are).collect()
}

/// Divides the publications of one event between two checkpoints, the second a millisecond later,
/// or the first one earlier if the log follows from the histories. (The order of times reveals
/// two at the same time; in a log of whole maps, the time of publication reveals a first one that
/// is earlier.)
fn split(target: &mut Target) -> Option<Place> {
    let mut log = target.log();
    let several = (0..log.checkpoints.len())
        .filter(|at| log.set(*at).len() > 1 && log.removed(*at).is_empty());
    let at = target.draw.pick(several)?;
    let mut first = log.checkpoints[at].clone();
    let set = log.set(at);
    let (early, late) = set.split_at(1 + target.draw.below(set.len() - 1));
    for id in late {
        let before = at.checked_sub(1).map(|at| &log.checkpoints[at]);
        match before.and_then(|c| Some((*c.versions.get(id)?, c.hashes.get(id)?.clone()))) {
            Some((version, chain)) => first.seal(id, version, &chain),
            None => first.drop(id),
        }
    }
    if log.is_delta && target.draw.below(2) == 0 {
        first.at = moved(&first.at, -1);
    } else {
        log.checkpoints[at].at = moved(&log.checkpoints[at].at, 1);
    }
    log.checkpoints.insert(at, first);
    log.settle();
    for at in [at, at + 1] {
        log.checkpoints[at].trigger = trigger(&log.changed(at));
    }
    log.renew();
    log.write(target);
    Some(early.iter().skip(1).chain(late).fold(Place::of(&early[0]), |place, id| place.or(id)))
}

fn redated(target: &Target, mut log: Log, by: i64) -> Option<Place> {
    for checkpoint in &mut log.checkpoints {
        checkpoint.at = moved(&checkpoint.at, by);
    }
    let first = log.set(0).into_iter().next()?;
    log.renew();
    log.write(target);
    Some(Place::of(&first))
}
