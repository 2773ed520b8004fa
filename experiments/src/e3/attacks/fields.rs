//! Attacks on single fields of an entry, without changes to hashes.

use contextnest::model::timestamp::Timestamp;

use super::{Attack, entry, place, sealed_place};
use crate::e3::forge::Target;
use crate::e3::forge::history::{Entry, History, Stored};
use crate::e3::forge::{hash, is_document};
use crate::e3::place::Place;

pub(super) const FIELDS: &[(&str, Attack)] = &[
    ("author-rewritten", |t| {
        any(t, |t, entry| {
            let by = t.draw.of(&["eve@example.com", "'é'", "Ana@example.com"]);
            entry.set("edited_by", by);
        })
    }),
    ("time-backdated", |t| {
        any(t, |_, entry| entry.set("edited_at", &quoted(&moved(&entry.at, -3_600_000))))
    }),
    ("version-renumbered", |t| {
        let (mut history, at) = entry(t, |_, _, entry| entry.stored != Stored::Keyframe)?;
        let version = history.entries.last()?.version + 7;
        history.entries[at].set("version", &version.to_string());
        history.write(t);
        Some(Place::of(&history.id).version(version))
    }),
    ("separator-moved", separator_moved),
    ("content-hash-rewritten", |t| {
        any(t, |_, entry| entry.set("content_hash", &hash::sha(entry.content.as_bytes())))
    }),
    ("chain-hash-rewritten", |t| {
        any(t, |_, entry| entry.set("chain_hash", &hash::sha(entry.chain.as_bytes())))
    }),
    ("hash-algorithm-weakened", |t| {
        any(t, |t, entry| {
            let key = t.draw.of(&["content_hash", "chain_hash"]);
            let (name, digits) = [("sha1", 40), ("md5", 32)][t.draw.below(2)];
            let value = &entry.content["sha256:".len()..][..digits];
            entry.set(key, &format!("{name}:{value}"));
        })
    }),
    ("hash-in-capitals", |t| {
        any(t, |t, entry| {
            let (key, hash) = if t.draw.below(2) == 0 {
                ("content_hash", &entry.content)
            } else {
                ("chain_hash", &entry.chain)
            };
            let digits = hash["sha256:".len()..].to_uppercase();
            entry.set(key, &format!("sha256:{digits}"));
        })
    }),
    ("author-dropped", |t| any(t, |_, entry| entry.unset("edited_by"))),
    ("author-emptied", |t| any(t, |_, entry| entry.set("edited_by", "''"))),
    ("time-respelled", |t| {
        any(t, |t, entry| {
            let at = entry.at.trim_end_matches('Z').to_owned();
            let (day, hour) = at.split_at(10);
            let forms = [
                format!("'{at}+00:00'"),
                format!("'{at}000Z'"),
                format!("'{at}z'"),
                format!("'{day} {}Z'", &hour[1..]),
                format!("' {at}Z'"),
            ];
            entry.set("edited_at", &forms[t.draw.below(forms.len())]);
        })
    }),
    ("publication-later", |t| published(t, 3_600_000)),
    ("publication-earlier", |t| published(t, -3_600_000)),
    ("publication-dropped", |t| {
        let log = t.log();
        let (mut history, at) = entry(t, |h, _, entry| {
            entry.is_published() && log.first(&h.id, entry.version).is_some()
        })?;
        history.entries[at].unset("published_at");
        history.write(t);
        sealed_place(t, &history, at)
    }),
    ("publication-added", |t| {
        let (mut history, at) = entry(t, |_, _, entry| !entry.is_published())?;
        let when = quoted(&history.entries[at].at);
        let entry = &mut history.entries[at];
        if entry.retired.is_some() {
            // In a vault of ctx, only a retirement was never published.
            entry.line("retired_at", |before| Some(format!("{before}published_at: {when}")));
        } else {
            let content = entry.content.clone();
            entry.line("content_hash", |before| {
                Some(format!("{before}published_at: {when}\n{before}content_hash: {content}"))
            });
        }
        history.write(t);
        Some(place(&history, at))
    }),
    ("retirement-moved", |t| {
        retired(t, |entry, when| entry.set("retired_at", &quoted(&moved(when, 1_000))))
    }),
    ("retirement-dropped", |t| retired(t, |entry, _| entry.unset("retired_at"))),
    ("keyframe-flag-dropped", |t| {
        let (mut history, at) = entry(t, |_, _, entry| entry.stored == Stored::Keyframe)?;
        history.entries[at].unset("keyframe");
        history.write(t);
        Some(place(&history, at))
    }),
    ("keyframe-flag-added", |t| {
        let (mut history, at) = entry(t, |_, _, e| matches!(e.stored, Stored::Diff(_)))?;
        let raw = &mut history.entries[at].raw;
        *raw = raw.replacen("    diff:", "    keyframe: true\n    diff:", 1);
        history.write(t);
        Some(place(&history, at))
    }),
    ("patch-as-keyframe", |t| patch_as_keyframe(t, is_document, str::to_owned)),
    ("patch-as-keyframe-of-policy", |t| patch_as_keyframe(t, |id| !is_document(id), str::to_owned)),
    ("patch-as-keyframe-respelled", |t| {
        let respelled = match t.draw.below(3) {
            0 => |diff: &str| format!("\u{feff}{diff}"),
            1 => |diff: &str| diff.replace('\n', "\r\n"),
            _ => |diff: &str| diff.replace('\n', "\r"),
        };
        patch_as_keyframe(t, |id| !is_document(id), respelled)
    }),
    ("keyframe-as-patch", |t| {
        let (history, at) = entry(t, |_, _, entry| entry.stored == Stored::Keyframe)?;
        keyframe_as_patch(t, history, at)
    }),
    ("keyframe-as-patch-of-policy", |t| {
        let histories = t.policies();
        let keyframes = histories.into_iter().flat_map(|history| {
            let at =
                |(at, entry): (usize, &Entry)| (entry.stored == Stored::Keyframe).then_some(at);
            let found: Vec<usize> = history.entries.iter().enumerate().filter_map(at).collect();
            found.into_iter().map(move |at| (history.clone(), at))
        });
        let keyframes: Vec<(History, usize)> = keyframes.collect();
        let (history, at) = t.draw.pick(keyframes)?;
        keyframe_as_patch(t, history, at)
    }),
    ("interval-changed", |t| interval_changed(t, |versions| versions < 10, "9007199254740991")),
    ("interval-changed-against-forms", |t| {
        let place = interval_changed(t, |versions| versions > 1, "1")?;
        Some(place.version(2))
    }),
    ("note-rewritten", |t| {
        let (mut history, at) = entry(t, |_, _, entry| entry.note.is_some())?;
        history.entries[at].note = Some("approved by the board".to_owned());
        history.entries[at].respell();
        history.write(t);
        Some(place(&history, at))
    }),
    ("key-planted", |t| {
        // The field is reported once for each history.
        any(t, |_, entry| entry.raw += "    approved_by: ceo@example.com\n")
            .map(|place| Place { version: None, ..place })
    }),
];

/// Changes the keyframe interval of a history with a wanted number of versions.
fn interval_changed(t: &mut Target, is_wanted: fn(usize) -> bool, to: &str) -> Option<Place> {
    let is_wanted =
        |h: &History| h.head.contains("keyframe_interval: 10") && is_wanted(h.entries.len());
    let mut history = entry(t, |history, _, _| is_wanted(history))?.0;
    history.head = history.head.replace("interval: 10", &format!("interval: {to}"));
    history.write(t);
    Some(Place::of(&history.id))
}

/// Stores a full text as the diff of its version, with the same hash.
fn keyframe_as_patch(t: &mut Target, mut history: History, at: usize) -> Option<Place> {
    let path = history.keyframe(history.entries[at].version);
    history.entries[at].stored = Stored::Diff(hash::normalised(&t.read(&path)));
    history.entries[at].respell();
    t.remove(&path);
    history.write(t);
    Some(place(&history, at))
}

pub(super) fn quoted(text: &str) -> String {
    format!("'{text}'")
}

/// Returns a time that is some milliseconds later, or earlier.
pub(in crate::e3) fn moved(time: &str, by: i64) -> String {
    let time: Timestamp = time.parse().expect("a time of a vault that verified");
    Timestamp::from_millis(time.millis() + by).to_string()
}

/// Changes the text of any entry.
fn any(target: &mut Target, change: impl Fn(&mut Target, &mut Entry)) -> Option<Place> {
    let (mut history, at) = entry(target, |_, _, _| true)?;
    change(target, &mut history.entries[at]);
    history.write(target);
    Some(place(&history, at))
}

/// Moves a separator, so that the hashed bytes stay the same: the `:` of a name or of the time is
/// read as the one between them.
fn separator_moved(target: &mut Target) -> Option<Place> {
    let has_colon = |_: &History, _: usize, entry: &Entry| entry.by.contains(':');
    let (mut history, at) = entry(target, has_colon).or_else(|| entry(target, |_, _, _| true))?;
    let entry = &mut history.entries[at];
    let joined = format!("{}:{}", entry.by, entry.at);
    let (by, when) = match entry.by.contains(':') {
        true => joined.split_once(':')?,
        false => joined.rsplit_once(':')?,
    };
    entry.set("edited_by", &quoted(by));
    entry.set("edited_at", &quoted(when));
    history.write(target);
    Some(place(&history, at))
}

fn published(target: &mut Target, by: i64) -> Option<Place> {
    let log = target.log();
    let (mut history, at) = entry(target, |h, _, entry| {
        entry.is_published() && log.first(&h.id, entry.version).is_some()
    })?;
    let when = history.entries[at].published.clone()?;
    history.entries[at].set("published_at", &quoted(&moved(&when, by)));
    history.write(target);
    Some(place(&history, at))
}

/// Changes the entry of a retirement.
fn retired(target: &mut Target, change: impl Fn(&mut Entry, &str)) -> Option<Place> {
    let (mut history, at) = entry(target, |_, _, entry| entry.retired.is_some())?;
    let when = history.entries[at].retired.clone()?;
    let log = target.log();
    let removal = log.checkpoints.iter().find(|c| c.at == when)?.number;
    change(&mut history.entries[at], &when);
    history.write(target);
    Some(Place::of(&history.id).checkpoint(removal))
}

/// Declares the diff of a version as its full text; content and chain hash stay the same.
fn patch_as_keyframe(
    target: &mut Target,
    is_wanted: fn(&str) -> bool,
    spell: fn(&str) -> String,
) -> Option<Place> {
    let mut found: Vec<(History, usize, String)> = Vec::new();
    for history in target.histories() {
        for (at, entry) in history.entries.iter().enumerate() {
            if let Stored::Diff(diff) = &entry.stored
                && is_wanted(&history.id)
            {
                found.push((history.clone(), at, diff.clone()));
            }
        }
    }
    let (mut history, at, diff) = target.draw.pick(found)?;
    if at + 1 == history.entries.len() && !is_document(&history.id) {
        // Only the stored text would reveal it.
        target.write(&history.id, &diff);
    }
    target.write(&history.keyframe(history.entries[at].version), spell(&diff));
    history.entries[at].stored = Stored::Keyframe;
    history.entries[at].respell();
    history.write(target);
    Some(place(&history, at))
}
