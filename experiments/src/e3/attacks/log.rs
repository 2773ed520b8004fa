//! Attacks on the log, without changes to hashes.

use super::spelling::HIDDEN;
use super::{Attack, fields};
use crate::e3::forge::log::{Checkpoint, Log};
use crate::e3::forge::{DELTA_LOG, FULL_LOG, Target, hash, is_document};
use crate::e3::place::Place;

pub(super) const LOG: &[(&str, Attack)] = &[
    ("checkpoint-redated", |t| one(t, |_, c| c.at = fields::moved(&c.at, 1))),
    ("checkpoint-retriggered", |t| {
        let (mut log, at) = any(t);
        let others = log.checkpoints[at].versions.keys();
        let others = others.filter(|id| **id != log.checkpoints[at].trigger).cloned();
        let trigger = t.draw.pick(others.collect::<Vec<_>>())?;
        log.checkpoints[at].trigger = trigger;
        written(t, log, at)
    }),
    ("checkpoint-trigger-invented", |t| one(t, |_, c| c.trigger = "nodes/nobody".to_owned())),
    ("map-version-changed", |t| {
        map(t, |c, id| {
            let version = c.versions.get_mut(id)?;
            *version += 1;
            Some(())
        })
    }),
    ("map-hash-changed", |t| {
        map(t, |c, id| {
            let hash = c.hashes.get_mut(id)?;
            *hash = hash::sha(hash.as_bytes());
            Some(())
        })
    }),
    ("map-id-renamed", |t| {
        map(t, |c, id| {
            let (version, chain) = (c.versions[id], c.hashes[id].clone());
            c.drop(id);
            c.seal(&format!("{id}-2"), version, &chain);
            Some(())
        })
    }),
    ("map-halved", |t| {
        let (mut log, at) = any(t);
        let ids: Vec<String> = log.checkpoints[at].versions.keys().cloned().collect();
        let id = t.draw.pick(ids)?;
        if t.draw.below(2) == 0 {
            log.checkpoints[at].versions.remove(&id);
        } else {
            log.checkpoints[at].hashes.remove(&id);
        }
        let number = log.checkpoints[at].number;
        written(t, log, at)?;
        Some(Place::of(&id).checkpoint(number))
    }),
    ("checkpoint-dropped-first", |t| {
        let mut log = t.log();
        log.checkpoints.remove(0);
        log.write(t);
        Some(Place::at(log.checkpoints.first()?.number))
    }),
    ("checkpoint-dropped-middle", |t| {
        let mut log = t.log();
        let at = 1 + t.draw.below(log.checkpoints.len() - 2);
        log.checkpoints.remove(at);
        log.write(t);
        Some(Place::at(log.checkpoints[at].number))
    }),
    ("checkpoint-dropped-last", |t| {
        let mut log = t.log();
        let last = log.checkpoints.len() - 1;
        let changed = log.changed(last);
        log.checkpoints.pop();
        log.write(t);
        changed.first().map(|id| Place::of(id))
    }),
    ("checkpoint-duplicated", |t| {
        let (mut log, at) = any(t);
        log.checkpoints.insert(at, log.checkpoints[at].clone());
        log.write(t);
        Some(Place::at(log.checkpoints[at].number))
    }),
    ("checkpoints-exchanged", |t| {
        let mut log = t.log();
        let at = t.draw.below(log.checkpoints.len() - 1);
        log.checkpoints.swap(at, at + 1);
        log.write(t);
        Some(Place::at(log.checkpoints[at].number))
    }),
    ("checkpoint-renumbered", |t| one(t, |log, c| c.number += 1 + log.checkpoints.len() as u64)),
    ("checkpoint-hash-rewritten", |t| one(t, |_, c| c.hash = hash::sha(c.hash.as_bytes()))),
    ("log-spliced", |t| {
        let mut log = t.log();
        let other = Log::read(&Target::at(&t.other));
        let common = log.checkpoints.len().min(other.checkpoints.len());
        let differing =
            (0..common).filter(|at| log.checkpoints[*at].hash != other.checkpoints[*at].hash);
        let differing: Vec<usize> = differing.collect();
        let first = *differing.first()?;
        let at = t.draw.pick(differing)?;
        log.checkpoints[at] = other.checkpoints[at].clone();
        log.write(t);
        // The first differing checkpoint follows from data in both logs, and is valid in itself.
        let told = if at == first { at + 1 } else { at };
        log.checkpoints.get(told).map(|checkpoint| Place::at(checkpoint.number))
    }),
    ("log-deleted", |t| {
        t.remove(t.log_path());
        Some(Place::vault())
    }),
    ("log-emptied", |t| {
        let log = t.log();
        t.write(t.log_path(), "");
        Some(Place::of(&log.checkpoints[0].trigger))
    }),
    ("log-emptied-full", |t| {
        t.write(t.log_path(), "");
        Some(Place::vault())
    }),
    ("log-cut", |t| {
        let text = t.read(t.log_path());
        let last = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
        let end = last + 1 + t.draw.below(text.len() - last - 1);
        // Not within a character.
        let end = (last + 1..=end).rev().find(|end| text.is_char_boundary(*end))?;
        t.write(t.log_path(), &text[..end]);
        Some(Place::vault())
    }),
    ("log-tail-planted", |t| {
        let tail = t.draw.of(&["{", "{\"at\":", "garbage", "\0"]);
        t.edit(t.log_path(), |text| format!("{text}{tail}"));
        Some(Place::vault())
    }),
    ("log-twice", |t| {
        let mut log = t.log();
        log.checkpoints.pop();
        if log.is_delta {
            t.write(FULL_LOG, log.full_text());
        } else {
            t.write(DELTA_LOG, log.delta_text());
        }
        Some(Place::vault())
    }),
    ("log-twin-emptied", |t| {
        t.write(if t.is_delta() { FULL_LOG } else { DELTA_LOG }, "");
        Some(Place::vault())
    }),
    ("log-junk-line", |t| {
        let junk = t.draw.of(&["}\n", "garbage: [\n", "\"\n{\n"]);
        t.edit(t.log_path(), |text| format!("{text}{junk}"));
        Some(Place::vault())
    }),
    ("log-respelled", |t| {
        let mut log = t.log();
        // The entries before the first one with a governance file are the reference
        // implementation's.
        let ours =
            log.checkpoints.iter().position(|c| c.versions.keys().any(|id| !is_document(id)))?;
        let at = ours + t.draw.below(log.checkpoints.len() - ours);
        let raw = log.checkpoints[at].raw.clone();
        log.checkpoints[at].raw = match t.draw.below(5) {
            0 => raw.replacen("    at: '", "    at:   '", 1),
            1 => raw.replacen("\n", " # checked\n", 1),
            2 => raw.replacen("    checkpoint_hash:", "    seen: yes\n    checkpoint_hash:", 1),
            3 => raw.replace('\n', "\r\n"),
            _ => raw + "\n",
        };
        log.write(t);
        Some(Place::vault())
    }),
    ("log-hidden-line-end", |t| {
        let mut log = t.log();
        let at = t.draw.below(log.checkpoints.len());
        let end = t.draw.of(&HIDDEN);
        let raw = &mut log.checkpoints[at].raw;
        *raw = raw.replacen(
            "    at:",
            &format!("    # {end}    at: '2020-01-01T00:00:00.000Z'\n    at:"),
            1,
        );
        log.write(t);
        Some(Place::vault())
    }),
    ("log-null", |t| {
        let mut log = t.log();
        let at = t.draw.below(log.checkpoints.len());
        let null = t.draw.of(&["~", "null", "Null", ""]);
        let raw = log.checkpoints[at].raw.clone();
        let line = raw.lines().find(|line| line.starts_with("    triggered_by:"))?;
        log.checkpoints[at].raw = raw.replacen(line, &format!("    triggered_by: {null}"), 1);
        log.write(t);
        Some(Place::at(log.checkpoints[at].number))
    }),
    ("log-as-link", |t| {
        t.link_out(t.log_path());
        Some(Place::vault())
    }),
    ("log-as-folder", |t| {
        let path = t.log_path();
        t.remove(path);
        t.folder(path);
        Some(Place::vault())
    }),
    ("log-form-changed", |t| {
        let log = t.log();
        t.write(FULL_LOG, log.full_text());
        t.remove(DELTA_LOG);
        Some(Place::vault())
    }),
    ("json-respaced", |t| {
        raw(t, |t, raw| {
            let (tokens, spaced) =
                [(",\"", ", \""), (":", ": "), ("}\n", " }\n"), ("{", "\t{")][t.draw.below(4)];
            Some(raw.replacen(tokens, spaced, 1))
        })
    }),
    ("json-key-twice", |t| {
        raw(t, |_, raw| {
            let at = raw.split_once("\"checkpoint\"")?.0.trim_start_matches('{').to_owned();
            Some(raw.replacen('{', &format!("{{{}", at.replace("20", "19")), 1))
        })
    }),
    ("json-number-respelled", |t| {
        raw(t, |t, raw| {
            let at = raw.find("\",\"set\":").or_else(|| raw.find("\"set\":"))?;
            let start = at + raw[at..].find(":[")? + 2;
            let end = start + raw[start..].find(',')?;
            let ending = t.draw.of(&[".0", "e0", "E0"]);
            Some(format!("{}{ending}{}", &raw[..end], &raw[end..]))
        })
    }),
    ("json-number-beyond", |t| {
        let (mut log, at) = any(t);
        let set = log.set(at);
        let id = t.draw.pick(set)?;
        log.checkpoints[at].versions.insert(id, 9_007_199_254_740_000);
        log.respell(at);
        let raw = &mut log.checkpoints[at].raw;
        *raw = raw.replacen("9007199254740000", "9007199254740993", 1);
        log.write(t);
        Some(Place::at(log.checkpoints[at].number))
    }),
    ("json-escaped", |t| {
        raw(t, |_, raw| {
            let at = raw.find("\"set\":{\"")? + 8;
            let letter = raw[at..].chars().next().filter(char::is_ascii_alphabetic)?;
            let escape = format!("\\u{:04x}", u32::from(letter));
            Some(format!("{}{escape}{}", &raw[..at], &raw[at + 1..]))
        })
    }),
    ("id-with-nul", |t| with_id(t, "nodes/a\0b").map(|place| Place { ids: Vec::new(), ..place })),
    ("id-climbing", |t| {
        let id = t.draw.of(&["../../etc/passwd", "nodes/../../x", "/etc/passwd"]);
        with_id(t, id).map(|place| Place { ids: Vec::new(), ..place })
    }),
    ("id-reserved", |t| {
        let ids = ["nodes/policy.yaml", "CLAUDE", ".github/instructions", "nodes/INDEX"];
        let id = t.draw.of(&ids);
        with_id(t, id)
    }),
    ("id-with-invisible", |t| {
        let id = t.draw.of(&["nodes/a\u{202e}b", "nodes/a\u{200b}", "nodes/\u{2066}a"]);
        with_id(t, id)
    }),
];

/// Returns the log, and the position of one checkpoint.
fn any(target: &mut Target) -> (Log, usize) {
    let log = target.log();
    let at = target.draw.below(log.checkpoints.len());
    (log, at)
}

fn written(target: &Target, mut log: Log, at: usize) -> Option<Place> {
    log.respell(at);
    log.write(target);
    Some(Place::at(log.checkpoints[at].number))
}

/// Changes one checkpoint.
fn one(target: &mut Target, change: impl Fn(&Log, &mut Checkpoint)) -> Option<Place> {
    let (mut log, at) = any(target);
    let mut changed = log.checkpoints[at].clone();
    change(&log, &mut changed);
    log.checkpoints[at] = changed;
    written(target, log, at)
}

/// Changes the maps of one checkpoint for one document that it set.
fn map(target: &mut Target, change: impl Fn(&mut Checkpoint, &str) -> Option<()>) -> Option<Place> {
    let log = target.log();
    let setting = (0..log.checkpoints.len()).filter(|at| !log.set(*at).is_empty());
    let at = target.draw.pick(setting)?;
    let id = target.draw.pick(log.set(at))?;
    let mut log = log;
    change(&mut log.checkpoints[at], &id)?;
    written(target, log, at)
}

/// Changes the text of one line for which `change` returns a text.
fn raw(target: &mut Target, change: impl Fn(&mut Target, &str) -> Option<String>) -> Option<Place> {
    let mut log = target.log();
    let mut order: Vec<usize> = (0..log.checkpoints.len()).collect();
    target.draw.shuffle(&mut order);
    for at in order {
        let before = log.checkpoints[at].raw.clone();
        if let Some(text) = change(target, &before).filter(|text| *text != before) {
            log.checkpoints[at].raw = text;
            log.write(target);
            return Some(Place::at(log.checkpoints[at].number));
        }
    }
    None
}

/// Adds an id that no artifact may have to the maps of a checkpoint.
fn with_id(target: &mut Target, id: &str) -> Option<Place> {
    let (mut log, at) = any(target);
    let chain = log.checkpoints[at].hashes.values().next()?.clone();
    log.checkpoints[at].seal(id, 1, &chain);
    let place = written(target, log, at)?;
    Some(Place { ids: vec![id.to_owned()], ..place })
}
