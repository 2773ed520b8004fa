//! Attacks on stored texts, without changes to hashes.

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Attack, entry, place, reworded};
use crate::e3::forge::Target;
use crate::e3::forge::history::{History, Stored};
use crate::e3::place::Place;

pub(super) const TEXTS: &[(&str, Attack)] = &[
    ("keyframe-edited", |t| keyframe(t, |t, path| t.edit(path, reworded))),
    ("keyframe-truncated", |t| {
        keyframe(t, |t, path| {
            let bytes = t.bytes(path);
            t.write(path, &bytes[..bytes.len() / 2]);
        })
    }),
    ("keyframe-emptied", |t| keyframe(t, |t, path| t.write(path, ""))),
    ("keyframe-deleted", |t| keyframe(t, Target::remove)),
    ("keyframes-exchanged", exchanged),
    ("keyframe-of-another-version", of_another_version),
    ("keyframe-as-link", |t| keyframe(t, Target::link_out)),
    ("keyframe-as-folder", |t| {
        keyframe(t, |t, path| {
            t.remove(path);
            t.folder(path);
        })
    }),
    ("keyframe-as-fifo", |t| {
        keyframe(t, |t, path| {
            t.remove(path);
            mknodat(CWD, t.path(path), FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
        })
    }),
    ("keyframe-no-text", |t| {
        keyframe(t, |t, path| {
            let mut bytes = t.bytes(path);
            bytes.extend([0xff, 0xfe, b'\n']);
            t.write(path, bytes);
        })
    }),
    ("keyframe-too-large", |t| {
        keyframe(t, |t, path| {
            let file = std::fs::OpenOptions::new().write(true).open(t.path(path));
            file.and_then(|file| file.set_len((16 << 20) + 1)).expect("a file with a hole");
        })
    }),
    ("diff-edited", |t| {
        diff(t, |diff| replace_line(diff, |line| line.starts_with('+') && is_worded(line)))
    }),
    ("diff-header-edited", |t| {
        diff(t, |diff| {
            let (line, rest) = diff.split_at(diff.find("+++ ")?);
            Some(line.replace("--- v", "--- v7") + &rest.replacen("+++ v", "+++ v7", 1))
        })
    }),
    ("diff-context-edited", |t| {
        diff(t, |diff| replace_line(diff, |line| line.starts_with(' ') && is_worded(line)))
    }),
    ("keyframe-edited-under-strays", |t| {
        keyframe(t, |t, path| {
            t.edit(path, reworded);
            for n in 0..1_200 {
                t.write(&path.replace(".md", &format!("-stray-{n}.md")), "");
            }
        })
    }),
    ("keyframe-respelled", |t| {
        let kind = t.draw.below(3);
        keyframe(t, |t, path| {
            t.edit(path, |text| match kind {
                // For readers that count LF, a line that ends in CR alone is one line less.
                0 => text.replacen('\n', "\r", 3),
                1 => text.replace('\n', "\r\n"),
                _ => format!("\u{feff}{text}"),
            });
        })
    }),
    ("diff-respelled", |t| diff(t, |diff| Some(diff.replacen('\n', "\r", 3)))),
    ("diff-moved-out", |t| {
        let (mut history, at) = diff_entry(t)?;
        let entry = &mut history.entries[at];
        if let Stored::Diff(diff) = std::mem::replace(&mut entry.stored, Stored::DiffFile) {
            t.write(&history.diff_file(history.entries[at].version), diff.replace('\n', "\r\n"));
        }
        history.entries[at].respell();
        history.write(t);
        Some(place(&history, at))
    }),
    ("diff-deleted", |t| {
        let (mut history, at) = diff_entry(t)?;
        history.entries[at].stored = Stored::DiffFile;
        history.entries[at].respell();
        history.write(t);
        Some(place(&history, at))
    }),
    ("diffs-exchanged", |t| {
        let (mut history, at) =
            entry(t, |h, at, _| is_diff(h, at) && at + 1 < h.entries.len() && is_diff(h, at + 1))?;
        let stored = history.entries[at].stored.clone();
        history.entries[at].stored = history.entries[at + 1].stored.clone();
        history.entries[at + 1].stored = stored;
        history.entries[at].respell();
        history.entries[at + 1].respell();
        history.write(t);
        Some(place(&history, at))
    }),
    ("diff-file-edited", |t| diff_file(t, |t, path| t.edit(path, reworded))),
    ("diff-file-deleted", |t| diff_file(t, Target::remove)),
];

/// Applies a change to the file of a full text.
fn keyframe(target: &mut Target, change: impl Fn(&Target, &str)) -> Option<Place> {
    let (history, at) = entry(target, |_, _, entry| entry.stored == Stored::Keyframe)?;
    change(target, &history.keyframe(history.entries[at].version));
    Some(place(&history, at))
}

fn exchanged(target: &mut Target) -> Option<Place> {
    let (one, at) = entry(target, |_, _, entry| entry.stored == Stored::Keyframe)?;
    let other = one.id.clone();
    let (two, also) =
        entry(target, |h, _, entry| h.id != other && entry.stored == Stored::Keyframe)?;
    let paths = [one.keyframe(one.entries[at].version), two.keyframe(two.entries[also].version)];
    let texts = [target.bytes(&paths[0]), target.bytes(&paths[1])];
    target.write(&paths[0], &texts[1]);
    target.write(&paths[1], &texts[0]);
    Some(place(&one, at))
}

fn of_another_version(target: &mut Target) -> Option<Place> {
    let (history, at) =
        entry(target, |h, _, e| e.stored == Stored::Keyframe && h.entries.len() > 1)?;
    let texts = history.texts(target);
    let others = (0..texts.len()).filter(|other| *other != at);
    let other = target.draw.pick(others)?;
    target.write(&history.keyframe(history.entries[at].version), &texts[other]);
    Some(place(&history, at))
}

fn is_diff(history: &History, at: usize) -> bool {
    matches!(history.entries[at].stored, Stored::Diff(_))
}

fn diff_entry(target: &mut Target) -> Option<(History, usize)> {
    entry(target, |history, at, _| is_diff(history, at))
}

/// Changes the text of a diff for which `change` returns a text.
fn diff(target: &mut Target, change: impl Fn(&str) -> Option<String>) -> Option<Place> {
    let changed = |history: &History, at: usize| match &history.entries[at].stored {
        Stored::Diff(diff) => change(diff).filter(|changed| changed != diff),
        _ => None,
    };
    let (mut history, at) = entry(target, |h, at, _| changed(h, at).is_some())?;
    let diff = changed(&history, at)?;
    history.entries[at].stored = Stored::Diff(diff);
    history.entries[at].respell();
    history.write(target);
    Some(place(&history, at))
}

/// Returns the diff with another word in the last wanted line.
fn replace_line(diff: &str, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
    let lines: Vec<&str> = diff.split_inclusive('\n').collect();
    // The first lines are the header, down to that of the first hunk.
    let first = lines.iter().position(|line| line.starts_with("@@"))? + 1;
    let at = lines.iter().skip(first).rposition(|line| is_wanted(line))? + first;
    let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    lines[at] = reworded(&lines[at]);
    Some(lines.concat())
}

fn is_worded(line: &str) -> bool {
    line.chars().any(|c| c.is_ascii_alphabetic())
}

/// Applies a change to a diff in a file of its own.
fn diff_file(target: &mut Target, change: impl Fn(&Target, &str)) -> Option<Place> {
    let (history, at) = entry(target, |_, _, entry| entry.stored == Stored::DiffFile)?;
    change(target, &history.diff_file(history.entries[at].version));
    Some(place(&history, at))
}
