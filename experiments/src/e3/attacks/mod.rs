//! The attacks, one function for each name of the table.
//!
//! A function makes its attack on the vault it is given and says where the finding has to point,
//! or gives `None` where this vault has no place for it.

mod accesses;
mod bound;
mod bundles;
mod changes;
mod edits;
mod entries;
mod fields;
mod live;
mod log;
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

/// The configuration of a vault.
const CONFIG: &str = ".context/config.yaml";

/// Makes an attack, if the vault has a place for it.
pub(super) type Attack = fn(&mut Target) -> Option<Place>;

/// All attacks that leave something wrong in the files, or that no verifier is to find.
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
    ]
    .concat()
}

/// One of the entries of all documents that are as wanted, as its history and its position.
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

/// Where a finding about an entry points.
fn place(history: &History, at: usize) -> Place {
    Place::of(&history.id).version(history.entries[at].version)
}

/// Where a finding about an entry points that says what the log has instead.
fn sealed_place(target: &Target, history: &History, at: usize) -> Option<Place> {
    let place = place(history, at);
    let first = target.log().first(&history.id, history.entries[at].version)?;
    Some(place.checkpoint(first))
}

/// The text with a word of its last line of words exchanged.
fn reworded(text: &str) -> String {
    let end = text.rfind(|c: char| c.is_ascii_alphabetic()).map_or(text.len(), |at| at + 1);
    let start = text[..end]
        .rfind(|c: char| !c.is_ascii_alphabetic())
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let word = if &text[start..end] == "otherwise" { "altered" } else { "otherwise" };
    format!("{}{word}{}", &text[..start], &text[end..])
}
