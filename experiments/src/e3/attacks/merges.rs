//! Attacks on vaults that merged two logs, and on the logs before they merge.
//!
//! Honest commands publish in the vault and in a copy of it; the forger merges both by hand, with
//! valid hashes, and then attacks.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::reviews::{ANA, ASSIGNED, BO, Governed, KIM, OTHER, PLAIN, STEWARDS};
use super::{Attack, reworded};
use crate::e3::attacks::fields::moved;
use crate::e3::forge::history::History;
use crate::e3::forge::lines::CHANGES;
use crate::e3::forge::log::{Checkpoint, Log};
use crate::e3::forge::{DELTA_LOG, Target, hash, live_path};
use crate::e3::place::Place;
use crate::e3::script::ctx;

/// A document that only the branch publishes.
const CARRIED: &str = "nodes/merge/carried";
/// A document that both sides publish.
const BOTH: &str = "nodes/merge/both";
/// A document that the trunk publishes, and that the branch moves.
const FROM: &str = "nodes/merge/from";
const TO: &str = "nodes/merge/to";

const LATER: &str = "2026-12-31T17:00:00.000Z";

pub(super) const MERGES: &[(&str, Attack)] = &[
    ("merge-item-edited", |t| {
        with_items(t, |t, log, at| {
            let item = t.draw.below(log.checkpoints[at].merged.len());
            log.checkpoints[at].merged[item]["triggered_by"] = "nodes/merge/nobody".into();
            Some(())
        })
    }),
    ("merge-item-dropped", |t| {
        with_items(t, |t, log, at| {
            let item = t.draw.below(log.checkpoints[at].merged.len());
            log.checkpoints[at].merged.remove(item);
            Some(())
        })
    }),
    ("merge-item-added", |t| {
        with_items(t, |_, log, at| {
            let added = another(log, log.checkpoints[at].merged.first()?)?;
            log.checkpoints[at].merged.insert(1, added);
            Some(())
        })
    }),
    ("merge-item-reordered", |t| {
        with_items(t, |t, log, at| {
            let item = t.draw.below(log.checkpoints[at].merged.len() - 1);
            log.checkpoints[at].merged.swap(item, item + 1);
            Some(())
        })
    }),
    ("merge-value-invented", |t| {
        merged(t)?;
        let (version, chain) = if t.draw.below(2) == 0 {
            (9, hash::sha(b"nothing"))
        } else {
            t.take_aside(BOTH)?;
            (2, chain(t, BOTH)?)
        };
        rehashed(t, |merge| merge.seal(BOTH, version, &chain))
    }),
    ("merge-head-exchanged", |t| {
        merged(t)?;
        let log = t.log();
        let at = log.merge()?;
        let mut held: Vec<String> = log.checkpoints[..at].iter().map(|c| c.hash.clone()).collect();
        let (_, items) = log.checkpoints[at].merged.split_last()?;
        held.extend(items.iter().filter_map(|i| i["checkpoint_hash"].as_str()).map(str::to_owned));
        let other = t.draw.pick(held)?;
        rehashed(t, |merge| merge.seal(DELTA_LOG, 1, &other))
    }),
    ("merge-set-split", |t| {
        merged(t)?;
        t.take_aside(TO)?;
        let chain = chain(t, TO)?;
        rehashed(t, |merge| merge.seal(TO, 1, &chain))
    }),
    ("merge-removed-reviewer", |t| {
        Governed::begin(t)?;
        let branch = t.cloned("branch")?;
        edit(&branch, PLAIN);
        run(&branch, &minute(1), ANA, &["submit", PLAIN])?;
        run(&branch, &minute(2), KIM, &["approve", PLAIN])?;
        without_kim(t, 3)?;
        t.merge(&branch, LATER, |_| false);
        Some(Place::of(PLAIN).version(t.last(PLAIN).1))
    }),
    ("merge-former-reviewer", |t| {
        Governed::begin(t)?;
        let branch = t.cloned("branch")?;
        without_kim(&branch, 1)?;
        edit(&branch, PLAIN);
        run(&branch, &minute(3), ANA, &["submit", PLAIN])?;
        let at = minute(4);
        branch.approve(PLAIN, (KIM, &at), &[KIM])?;
        branch.seal(&at, &[PLAIN], &[])?;
        branch.write(&live_path(PLAIN), branch.last(PLAIN).0);
        edit(t, OTHER);
        run(t, &minute(5), ANA, &["submit", OTHER])?;
        run(t, &minute(6), BO, &["approve", OTHER])?;
        t.merge(&branch, LATER, |_| false);
        Some(Place::of(PLAIN).version(t.last(PLAIN).1))
    }),
    ("aside-edited", |t| {
        merged(t)?;
        let path = format!("{}/v1.md", t.aside(TO)?);
        t.edit(&path, reworded);
        Some(Place::of(TO).version(1))
    }),
    ("aside-deleted", |t| {
        merged(t)?;
        let id = t.draw.of(&[BOTH, TO]).to_owned();
        let folder = t.aside(&id)?;
        t.remove(&folder);
        Some(Place::of(&id))
    }),
    ("aside-retirement-deleted", |t| {
        merged(t)?;
        let folder = t.aside(FROM)?;
        t.remove(&folder);
        Some(Place::of(FROM))
    }),
    ("log-refolded", |t| refolded(t).map(|_| Place::vault())),
    ("log-refolded-committed", |t| {
        let honest = refolded(t)?;
        for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "state"]] {
            git(&honest, args)?;
        }
        fs::rename(honest.path(".git"), t.path(".git")).ok()?;
        Some(Place::at(honest.log().checkpoints.last()?.number))
    }),
    ("side-line-backdated", |t| {
        let last = t.log().checkpoints.last()?.at.clone();
        merged_at(t, &|n| moved(&last, n * 1_000))?;
        Some(Place::vault())
    }),
];

/// Makes an honest merge of two branches that began at one minute.
fn merged(t: &Target) -> Option<()> {
    merged_at(t, &minute)
}

/// Makes an honest merge, after which the trunk goes on. The branch published at these times.
fn merged_at(t: &Target, of_branch: &dyn Fn(i64) -> String) -> Option<()> {
    for id in [CARRIED, BOTH, FROM] {
        let text = format!("---\ntitle: About {id}\n---\n\n# About {id}\n\nFirst line.\n");
        t.write(&live_path(id), text);
    }
    run(t, &of_branch(0), ANA, &["publish", CARRIED, BOTH, FROM, "--no-sync"])?;
    let branch = t.cloned("branch")?;
    for (n, id) in [(1, CARRIED), (2, BOTH)] {
        edit(&branch, id);
        run(&branch, &of_branch(n), BO, &["publish", id, "--no-sync"])?;
    }
    run(&branch, &of_branch(3), BO, &["mv", FROM, TO])?;
    for (n, id) in [(4, BOTH), (5, FROM)] {
        t.edit(&live_path(id), |text| format!("{text}\nA line of the trunk.\n"));
        run(t, &minute(n), ANA, &["publish", id, "--no-sync"])?;
    }
    t.merge(&branch, LATER, |id| [BOTH, FROM, TO].contains(&id));
    edit(t, CARRIED);
    run(t, &moved(LATER, 1_000), ANA, &["publish", CARRIED, "--no-sync"])?;
    run(t, &moved(LATER, 2_000), ANA, &["verify"])
}

/// Makes an honest merge, and changes its items; no hash follows.
fn with_items(
    t: &mut Target,
    change: impl FnOnce(&mut Target, &mut Log, usize) -> Option<()>,
) -> Option<Place> {
    merged(t)?;
    let mut log = t.log();
    let at = log.merge()?;
    change(t, &mut log, at)?;
    log.respell(at);
    log.write(t);
    Some(Place::at(log.checkpoints[at].number))
}

/// Changes the maps of the merge and of all checkpoints after it; their hashes follow.
fn rehashed(t: &Target, change: impl Fn(&mut Checkpoint)) -> Option<Place> {
    let mut log = t.log();
    let at = log.merge()?;
    log.checkpoints[at..].iter_mut().for_each(change);
    log.retrigger(at);
    log.renew();
    log.write(t);
    Some(Place::at(log.checkpoints[at].number))
}

/// Returns another checkpoint, with a valid hash, in the place of the first of a side line.
fn another(log: &Log, item: &Value) -> Option<Value> {
    let before = log.checkpoints.iter().find(|one| item["follows"] == one.hash.as_str())?;
    let mut maps = before.clone();
    for (id, mark) in item["set"].as_object()? {
        maps.seal(id, mark[0].as_u64()?, mark[1].as_str()?);
    }
    let (at, trigger) = (moved(item["at"].as_str()?, 1), item["triggered_by"].as_str()?);
    let (versions, hashes) = (&maps.versions, &maps.hashes);
    let hash =
        hash::checkpoint(Some(&before.hash), before.number + 1, &at, trigger, versions, hashes);
    let mut added = item.clone();
    (added["at"], added["checkpoint_hash"]) = (at.into(), hash.into());
    Some(added)
}

/// Returns the chain hash of the last version of an artifact.
fn chain(t: &Target, id: &str) -> Option<String> {
    Some(History::read(t, id).entries.last()?.chain.clone())
}

/// Makes the honest log, which is trusted, the side line of a forged one. Returns the honest vault.
fn refolded(t: &mut Target) -> Option<Target> {
    // A change log would show that an event is missing on the main line.
    if t.has(CHANGES) {
        return None;
    }
    let honest = t.cloned("honest")?;
    t.take_back()?;
    let id = t.live()?;
    edit(t, &id);
    run(t, &minute(1), BO, &["publish", &id, "--no-sync"])?;
    t.merge(&honest, LATER, |kept| kept == id);
    Some(honest)
}

/// Removes a reviewer of the vault by a review.
fn without_kim(vault: &Target, from: i64) -> Option<()> {
    let kim = format!("  - {{principal: {KIM}, role: reviewer}}\n");
    vault.write(STEWARDS, ASSIGNED.replace(&kim, ""));
    run(vault, &minute(from), ANA, &["submit", STEWARDS])?;
    run(vault, &minute(from + 1), BO, &["approve", STEWARDS])
}

/// Runs an honest command; `None` if it fails.
fn run(vault: &Target, now: &str, by: &str, args: &[&str]) -> Option<()> {
    let state = vault.outside.join("state");
    fs::create_dir_all(&state).ok()?;
    let args = [args, &["--as", by, "--now", now]].concat();
    (ctx(&vault.root, &args, Some(&state)).exit == 0).then_some(())
}

/// Changes the live file of a document.
fn edit(vault: &Target, id: &str) {
    vault.edit(&live_path(id), |text| format!("{text}\nA line of the branch.\n"));
}

fn minute(minute: i64) -> String {
    moved("2026-12-31T16:00:00.000Z", minute * 60_000)
}

fn git(vault: &Target, args: &[&str]) -> Option<()> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ana", "-c", "user.email=ana@example.com"]);
    command.args(["-c", "commit.gpgsign=false", "-c", "core.fsync=none"]);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let said = command.args(args).current_dir(&vault.root).stdin(Stdio::null()).output().ok()?;
    said.status.success().then_some(())
}
