//! Tricks of YAML: spellings that readers understand differently, or that are slow to read.

use super::{Attack, entry, place};
use crate::e3::forge::Target;
use crate::e3::forge::history::{Entry, History};
use crate::e3::place::Place;

/// Characters that end a line for readers of YAML 1.1 only.
pub(super) const HIDDEN: [&str; 3] = ["\u{85}", "\u{2028}", "\u{2029}"];

pub(super) const SPELLING: &[(&str, Attack)] = &[
    ("yaml-alias", |t| {
        one(t, |_, entry| {
            let at = entry.at.clone();
            entry.set("edited_at", &format!("&time '{at}'"));
            entry.raw += "    seen_at: *time\n";
        })
    }),
    ("yaml-merge-key", |t| one(t, |_, entry| entry.raw += "    <<: {note: merged}\n")),
    ("yaml-key-twice", |t| one(t, |_, entry| entry.raw += "    edited_by: eve@example.com\n")),
    ("yaml-tag", |t| {
        one(t, |t, entry| {
            let (tag, by) = (t.draw.of(&["!!str ", "! ", "!<x> "]), entry.by.clone());
            entry.set("edited_by", &format!("{tag}'{by}'"));
        })
    }),
    ("yaml-directive", |t| whole(t, |text| format!("%YAML 1.1\n---\n{text}"))),
    ("yaml-two-documents", |t| whole(t, |text| format!("{text}---\nversions: []\n"))),
    ("yaml-nesting", |t| {
        one(t, |_, entry| {
            entry.raw += &format!("    deep: {}{}\n", "[".repeat(60), "]".repeat(60));
        })
    }),
    ("yaml-huge-number", |t| {
        let (mut history, at) = entry(t, |_, _, _| true)?;
        history.entries[at].set("version", &"1".repeat(1000));
        history.write(t);
        Some(Place::of(&history.id))
    }),
    ("yaml-number-respelled", |t| {
        let (mut history, at) = entry(t, |_, _, _| true)?;
        let n = history.entries[at].version;
        let spelled = [
            format!("{n:#x}"),
            format!("{n}.0"),
            format!("+{n}"),
            format!("0{n}"),
            format!("{n}_0"),
            format!("'{n}'"),
        ];
        let spelled = &spelled[t.draw.below(spelled.len())];
        history.entries[at].set("version", spelled);
        history.write(t);
        Some(Place::of(&history.id))
    }),
    ("yaml-value-respelled", |t| {
        let which = t.draw.below(4);
        let (history, _) = one_of(t, |_, entry| match which {
            0 => {
                let by = entry.by.replace('\\', "\\\\").replace('"', "\\\"");
                entry.set("edited_by", &format!("\"{by}\""));
            }
            1 => entry.raw += "    # checked\n",
            2 => entry.raw += "\n",
            _ => {
                let at = entry.at.clone();
                entry.set("edited_at", &format!("  \"{at}\""));
            }
        })?;
        Some(Place::of(&history.id))
    }),
    ("yaml-hidden-line-end", |t| {
        one(t, |t, entry| {
            let end = t.draw.of(&HIDDEN);
            entry.raw += &format!("    # {end}    retired_at: '2020-01-01T00:00:00.000Z'\n");
        })
    }),
    ("yaml-null", |t| {
        let (history, at) = one_of(t, |t, entry| {
            let null = t.draw.of(&["~", "null", "Null", "NULL", ""]);
            match t.draw.below(2) {
                0 => entry.set("edited_by", null),
                _ if entry.raw.contains("\n    note: ") => entry.set("note", null),
                _ => entry.raw += &format!("    note: {null}\n"),
            }
        })?;
        Some(place(&history, at))
    }),
    ("yaml-bomb", |t| {
        one(t, |_, entry| entry.raw += &format!("    more: [{}]\n", "a,".repeat(1_000_000)))
            .map(|place| Place { version: None, ..place })
    }),
];

fn one_of(
    target: &mut Target,
    change: impl Fn(&mut Target, &mut Entry),
) -> Option<(History, usize)> {
    let (mut history, at) = entry(target, |_, _, _| true)?;
    change(target, &mut history.entries[at]);
    history.write(target);
    Some((history, at))
}

/// Changes the text of one entry, so that the history cannot be read.
fn one(target: &mut Target, change: impl Fn(&mut Target, &mut Entry)) -> Option<Place> {
    let (history, at) = one_of(target, change)?;
    Some(Place { version: None, ..place(&history, at) })
}

/// Changes the text of a history.
fn whole(target: &mut Target, change: impl Fn(&str) -> String) -> Option<Place> {
    let (history, _) = entry(target, |_, _, _| true)?;
    target.write(&history.path(), change(&history.text()));
    Some(Place::of(&history.id))
}
