//! Attacks on bound chains of staged results, and on the checkpoints that bind them.

use serde_json::Value;

use super::staged::{CHAINS, SOURCE, in_state, recorded};
use super::{Attack, CONFIG};
use crate::e3::forge::Target;
use crate::e3::forge::lines::{CHANGES, LineLog};
use crate::e3::forge::log::Checkpoint;
use crate::e3::place::Place;

pub(super) const BOUND: &[(&str, Attack)] = &[
    ("staged-truncated-bound", |t| {
        let mut chain = bound(t)?;
        let kept = t.draw.below(3);
        chain.lines.truncate(kept);
        chain.written(t)
    }),
    ("staged-rewritten-bound", |t| {
        let mut chain = bound(t)?;
        for line in &mut chain.lines {
            line["principal"] = "eve@example.com".into();
        }
        chain.renew();
        chain.written(t)
    }),
    ("staged-deleted-bound", |t| {
        let path = bound(t)?.path();
        t.remove(&path);
        Some(Place::vault())
    }),
    ("staged-unbound", |t| {
        let path = bound(t)?.path();
        resealed(t, |last| last.drop(&path))
    }),
    ("staged-bound-otherwise", |t| {
        let chain = bound(t)?;
        let (path, hash) = (chain.path(), chain.lines[3]["hash"].as_str()?.to_owned());
        resealed(t, |last| last.seal(&path, 4, &hash))
    }),
];

/// Returns the chain of a source with four lines; the last checkpoint binds the third.
fn bound(target: &mut Target) -> Option<LineLog> {
    in_state(target, 0, "", &["audit", "begin"])?;
    target.edit(CONFIG, |before| format!("{before}staging: {{bind: true}}\n"));
    in_state(target, 1, "", &["publish", CONFIG, "--no-sync"])?;
    recorded(target)?;
    target.edit(&format!("{SOURCE}.md"), |before| format!("{before}\nAgain.\n"));
    in_state(target, 12, "", &["publish", SOURCE, "--no-sync"])?;
    let record = ["source", "record", SOURCE, "--tools", "call", "--session", "s"];
    in_state(target, 13, "a fourth result", &record)?;
    LineLog::longest(target, CHAINS).filter(|chain| chain.lines.len() == 4)
}

/// Changes the maps of the last checkpoint; its hash follows, and the line of its event names it.
fn resealed(target: &mut Target, change: impl FnOnce(&mut Checkpoint)) -> Option<Place> {
    let mut log = target.log();
    let last = log.checkpoints.last_mut()?;
    let (number, before) = (last.number, last.hash.clone());
    change(last);
    log.renew();
    log.write(target);
    let hash = log.checkpoints.last()?.hash.clone();
    for mut changes in LineLog::all(target, CHANGES) {
        let is_of_it = |line: &Value| line["sealed"]["hash"] == before.as_str();
        if let Some(at) = changes.lines.iter().position(is_of_it) {
            changes.lines[at]["sealed"]["hash"] = hash.as_str().into();
            changes.rehash(at);
            changes.write(target);
        }
    }
    Some(Place::at(number))
}
