//! Attacks on the change logs, with valid hashes and without.

use std::fs;

use serde_json::{Value, json};

use super::edits::{self, any};
use super::{Attack, CONFIG};
use crate::e3::forge::Target;
use crate::e3::forge::lines::{CHANGES, LineLog};
use crate::e3::place::Place;
use crate::e3::script::ctx;

/// A writer that none of our machines has.
const FORGER: &str = "0123456789abcdef0123456789abcdef";

pub(super) const CHANGE_LOGS: &[(&str, Attack)] = &[
    ("change-edited", |t| edits::edited(t, recorded)),
    ("change-rehashed", |t| edits::rehashed(t, recorded)),
    ("change-respelled", |t| edits::respelled(t, recorded)),
    ("change-dropped-first", |t| edits::dropped_first(t, recorded)),
    ("change-dropped-middle", |t| edits::dropped_middle(t, recorded)),
    ("change-dropped-last", |t| {
        let mut log = recorded(t)?;
        let sealed = log.sealed(log.lines.len() - 1)?;
        log.lines.pop();
        log.write(t);
        Some(Place::at(sealed))
    }),
    ("changes-exchanged", |t| edits::exchanged(t, recorded)),
    ("change-duplicated", |t| {
        let (mut log, at) = any(t, recorded, 0)?;
        log.lines.insert(at, log.lines[at].clone());
        log.written(t)
    }),
    ("change-log-deleted", |t| {
        let log = recorded(t)?;
        let at = t.draw.below(log.lines.len());
        t.remove(&log.path());
        Some(Place::at(log.sealed(at)?))
    }),
    ("change-truncated-bound", |t| {
        let (mut log, at) = bound(t)?;
        log.lines.truncate(at);
        log.written(t)
    }),
    ("change-rewritten-bound", |t| {
        let (mut log, at) = bound(t)?;
        for line in &mut log.lines[..=at] {
            line["principal"] = "eve@example.com".into();
        }
        log.renew();
        log.written(t)
    }),
    ("change-log-as-link", |t| edits::as_link(t, recorded)),
    ("change-log-as-folder", |t| {
        let log = recorded(t)?;
        t.remove(&log.path());
        t.folder(&log.path());
        Some(Place::vault())
    }),
    ("change-logs-as-link", |t| {
        recorded(t)?;
        t.link_out(CHANGES);
        Some(Place::vault())
    }),
    ("change-invented", |t| {
        let mut log = recorded(t)?;
        let invented = invented(&log)?;
        let sealed = invented["sealed"]["checkpoint"].as_u64()?;
        log.lines.push(invented);
        log.renew();
        log.write(t);
        Some(Place::at(sealed))
    }),
    ("change-excused", |t| excused(t, None)),
    ("change-acknowledged", |t| {
        let mut log = recorded(t)?;
        let sealed = log.sealed(log.lines.len() - 1)?;
        let last = log.lines.pop()?;
        let head = last["sealed"].clone();
        let mut line = other(&last, "acknowledge", "acknowledged", head.clone())?;
        (line["head"], line["reason"]) = (head, "a machine was lost".into());
        log.lines.push(line);
        log.renew();
        log.write(t);
        Some(Place::at(sealed))
    }),
    ("change-id-dropped", |t| event(t, |line| line["ids"].as_array_mut()?.pop().map(drop))),
    ("change-id-added", |t| {
        event(t, |line| {
            line["ids"].as_array_mut()?.push("zz/never".into());
            Some(())
        })
    }),
    ("change-head-unknown", |t| event(t, |line| head(line, 1_000_000))),
    ("change-head-dropped", |t| event(t, |line| line.as_object_mut()?.remove("head").map(drop))),
    ("change-head-of-itself", |t| {
        event(t, |line| {
            line["head"] = line["sealed"].clone();
            Some(())
        })
    }),
    ("change-pruned-early", |t| pruned(t, "2026-12-31T20:00:00.000Z", "2026-12-31T19:00:00.000Z")),
    ("change-pruned-in-the-future", |t| {
        pruned(t, "2099-12-31T20:00:00.000Z", "2098-12-31T20:00:00.000Z")
    }),
    ("change-excused-in-the-future", |t| excused(t, Some("2099-12-31T12:00:00.000Z"))),
    ("changes-rewritten", |t| edits::rewritten(t, recorded)),
    ("change-claimed", |t| {
        let (mut log, at) = any(t, recorded, 0)?;
        let mut claim = log.lines[at].clone();
        claim["principal"] = "eve@example.com".into();
        FORGER.clone_into(&mut log.writer);
        log.lines = vec![claim];
        log.renew();
        log.written(t)
    }),
];

/// Returns the log of a writer with at least three events. In a vault that does not record changes
/// yet, honest commands begin it and publish something.
fn recorded(target: &mut Target) -> Option<LineLog> {
    let is_long = |log: &LineLog| log.lines.len() >= 3;
    if let Some(log) = LineLog::longest(target, CHANGES).filter(is_long) {
        return Some(log);
    }
    let state = target.outside.join("state");
    fs::create_dir_all(&state).ok()?;
    let at = |minute: usize| format!("2026-12-31T12:{minute:02}:00.000Z");
    let run = |minute, args: &[&str]| {
        let now = at(minute);
        let args = [args, &["--as", "ana@example.com", "--now", &now]].concat();
        (ctx(&target.root, &args, Some(&state)).exit == 0).then_some(())
    };
    run(0, &["audit", "begin"])?;
    published(target, 1..4, &run)?;
    LineLog::longest(target, CHANGES).filter(is_long)
}

/// Returns a log that honest commands bound, and the position of one of its bound lines.
fn bound(target: &mut Target) -> Option<(LineLog, usize)> {
    let state = target.outside.join("binding");
    fs::create_dir_all(&state).ok()?;
    let run = |minute, args: &[&str]| {
        let now = format!("2026-12-31T13:{minute:02}:00.000Z");
        let args = [args, &["--as", "ana@example.com", "--now", &now]].concat();
        (ctx(&target.root, &args, Some(&state)).exit == 0).then_some(())
    };
    run(0, &["audit", "begin"])?;
    let begun = target.read(CONFIG);
    target.write(CONFIG, begun.replacen("audit:\n", "audit:\n  bind: true\n", 1));
    published(target, 1..4, &run)?;
    let is_bound = |log: &LineLog| log.lines.iter().any(|line| line["action"] == "bind");
    let log = LineLog::all(target, CHANGES).into_iter().find(is_bound)?;
    let places = log.lines.iter().enumerate().filter(|(_, line)| line["action"] == "bind");
    let places: Vec<usize> = places.map(|(at, _)| at).collect();
    let at = places[target.draw.below(places.len())];
    Some((log, at))
}

/// Publishes a document repeatedly, and any other changes.
fn published(
    target: &Target,
    minutes: std::ops::Range<usize>,
    run: &dyn Fn(usize, &[&str]) -> Option<()>,
) -> Option<()> {
    for minute in minutes {
        let path = "nodes/recorded.md";
        match target.has(path) {
            false => {
                let text = format!("---\ntitle: Recorded\n---\n\nLine {minute}.\n");
                target.write(path, text);
            }
            true => target.edit(path, |before| format!("{before}\nLine {minute}.\n")),
        }
        run(minute, &["publish", "nodes/recorded", CONFIG, "--no-sync"])?;
    }
    Some(())
}

/// Changes a field of the line of an event, with valid hashes.
fn event(target: &mut Target, alter: fn(&mut Value) -> Option<()>) -> Option<Place> {
    let mut log = recorded(target)?;
    // The first event lacks a head.
    let events: Vec<usize> =
        (0..log.lines.len()).filter(|at| log.sealed(*at).is_some_and(|n| n > 1)).collect();
    let at = *events.get(target.draw.below(events.len()))?;
    alter(&mut log.lines[at])?;
    let sealed = log.sealed(at)?;
    log.renew();
    log.write(target);
    Some(Place::at(sealed))
}

/// Changes the head of a line to another checkpoint.
fn head(line: &mut Value, checkpoint: u64) -> Option<()> {
    line["head"].as_object_mut()?.insert("checkpoint".to_owned(), checkpoint.into());
    Some(())
}

/// Returns the line of an event with another action.
fn other(event: &Value, action: &str, key: &str, value: Value) -> Option<Value> {
    let mut line = event.clone();
    let fields = line.as_object_mut()?;
    for gone in ["sealed", "ids", "recovered"] {
        fields.remove(gone);
    }
    fields.insert("action".to_owned(), action.into());
    fields.insert(key.to_owned(), value);
    Some(line)
}

/// Adds a line of another writer that prunes all accesses of a third one.
fn pruned(target: &mut Target, at: &str, before: &str) -> Option<Place> {
    let mut log = recorded(target)?;
    let cut =
        json!([{"writer": "f".repeat(32), "seq": 9, "hash": format!("sha256:{}", "0".repeat(64))}]);
    let mut line = other(log.lines.last()?, "prune", "pruned", cut)?;
    (line["at"], line["before"]) = (at.into(), before.into());
    line["head"] = log.lines.last()?["sealed"].clone();
    FORGER.clone_into(&mut log.writer);
    log.lines = vec![line];
    log.renew();
    log.written(target)
}

/// Adds a forged line before one of this time, or with its own time, that gives up the missing
/// lines of the log.
fn excused(target: &mut Target, at: Option<&str>) -> Option<Place> {
    let mut log = recorded(target)?;
    let invented = invented(&log)?;
    let sealed = invented["sealed"]["checkpoint"].as_u64()?;
    let last = log.lines.last()?;
    let mut excuse = other(last, "head-trust", "to", last["sealed"].clone())?;
    if let Some(at) = at {
        excuse["at"] = at.into();
    }
    log.lines.extend([invented, excuse]);
    log.renew();
    log.write(target);
    Some(Place::at(sealed))
}

/// Returns a line that gives the last event another hash.
fn invented(log: &LineLog) -> Option<Value> {
    let mut line = log.lines.last()?.clone();
    line["sealed"]["hash"] = format!("sha256:{}", "0".repeat(64)).into();
    Some(line)
}
