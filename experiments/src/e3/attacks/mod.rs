//! The attacks, one function for each name of the table.
//!
//! A function makes its attack on a vault and returns where the finding has to point, or `None` if
//! the attack does not apply to this vault.

mod accesses;
mod bound;
mod bundles;
mod changes;
mod edits;
mod entries;
mod fields;
mod live;
mod log;
mod merges;
mod names;
mod policy;
mod rechained;
mod relogged;
mod reviews;
mod rewritten;
mod spelling;
mod staged;
mod texts;

use super::forge::Target;
use super::forge::history::{Entry, History};
use super::place::Place;
pub(super) use bundles::{BUNDLES, BundleAttack, Exported, UNAPPROVED};
pub(super) use reviews::PLAIN;
pub(super) use rewritten::{REWRITTEN, Rewritten};

/// Path of the configuration of a vault.
const CONFIG: &str = ".context/config.yaml";

/// Makes an attack; returns `None` if it does not apply to the vault.
pub(super) type Attack = fn(&mut Target) -> Option<Place>;

/// Returns all attacks that leave a fault in the files, or that no verifier has to find.
pub(super) fn all() -> Vec<(&'static str, Attack)> {
    [
        texts::TEXTS,
        entries::ENTRIES,
        fields::FIELDS,
        rechained::RECHAINED,
        log::LOG,
        relogged::RELOGGED,
        live::LIVE,
        policy::POLICY,
        spelling::SPELLING,
        names::NAMES,
        changes::CHANGE_LOGS,
        reviews::APPROVALS,
        reviews::RULES,
        reviews::STEPS,
        reviews::MOVES,
        accesses::ACCESS_LOGS,
        staged::STAGED,
        bound::BOUND,
        merges::MERGES,
    ]
    .concat()
}

/// Returns one of the wanted entries of all documents, as its history and its position.
fn entry(
    target: &mut Target,
    is_wanted: impl Fn(&History, usize, &Entry) -> bool,
) -> Option<(History, usize)> {
    let mut found: Vec<(History, usize)> = Vec::new();
    for history in target.documents() {
        for (at, entry) in history.entries.iter().enumerate() {
            if is_wanted(&history, at, entry) {
                found.push((history.clone(), at));
            }
        }
    }
    target.draw.pick(found)
}

/// Returns the place of a finding about an entry.
fn place(history: &History, at: usize) -> Place {
    Place::of(&history.id).version(history.entries[at].version)
}

/// Returns the place of a finding about an entry that differs from the log.
fn sealed_place(target: &Target, history: &History, at: usize) -> Option<Place> {
    let place = place(history, at);
    let first = target.log().first(&history.id, history.entries[at].version)?;
    Some(place.checkpoint(first))
}

/// Returns the text with another word in its last line of words.
fn reworded(text: &str) -> String {
    let end = text.rfind(|c: char| c.is_ascii_alphabetic()).map_or(text.len(), |at| at + 1);
    let start = text[..end]
        .rfind(|c: char| !c.is_ascii_alphabetic())
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let word = if &text[start..end] == "otherwise" { "altered" } else { "otherwise" };
    format!("{}{word}{}", &text[..start], &text[end..])
}
