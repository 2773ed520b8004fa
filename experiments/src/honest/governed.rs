//! A copy of the vault that becomes governed: people submit, decide, retire and move as reviews
//! allow. Nothing is reported as damage, and only approved changes are served.

use std::collections::BTreeMap;
use std::fs;

use super::scene::{Scene, copy_of, is_document};
use super::steps::{Step, change_body};
use crate::inside::{Person, Said, copy, write};
use crate::process::Result;

/// The step: its name, its weight, and its function.
pub(super) const STEP: (&str, usize, Step) = ("a copy elsewhere, governed there", 2, governed);

const ANA: &str = "ana@example.com";
const REVIEWERS: [&str; 2] = ["bo@example.com", "kim@example.com"];

/// The served text of each document.
type Served = BTreeMap<String, String>;

fn governed(scene: &mut Scene) -> Result<bool> {
    if scene.published().len() < 2 {
        return Ok(false);
    }
    let number = scene.number();
    let (here, there) = (scene.root.clone(), copy_of(&scene.root, number));
    let (model, git, person) = (scene.model.clone(), scene.git.clone(), scene.person.clone());
    copy(&here, &there)?;
    scene.root = there.clone();
    let done = review(scene);
    (scene.root, scene.model, scene.git, scene.person) = (here, model, git, person);
    scene.latest = scene.latest.max(scene.person.now);
    fs::remove_dir_all(there)?;
    done
}

fn review(scene: &mut Scene) -> Result<bool> {
    let required = 1 + scene.draw.below(2);
    let [bo, kim] = REVIEWERS;
    write(
        &scene.root,
        "stewards.yaml",
        format!(
            "version: 1\nvault:\n  - {{principal: {bo}, role: reviewer}}\n  - {{principal: {kim}, role: reviewer}}\n  - {{principal: {ANA}, role: editor}}\nreview:\n  vault: {{required: {required}}}\n"
        ),
    )?;
    let begun = ctx(scene, ANA, &["govern", "on"]);
    if begun.exit != 0 {
        // The live configuration may not be valid for publishing.
        return match begun.exit {
            1..=4 => Ok(false),
            _ => Err(begun.complaint().into()),
        };
    }
    sound(scene, &begun)?;
    for _ in 0..3 + scene.draw.below(10) {
        let before = served(scene)?;
        let (said, may_change) = step(scene)?;
        if !matches!(said.exit, 0..=4) {
            return Err(said.complaint().into());
        }
        sound(scene, &said)?;
        let after = served(scene)?;
        if !may_change && before != after {
            return Err(format!("it changed what is served: {}", said.complaint()).into());
        }
    }
    Ok(true)
}

/// Runs a command; returns true if the served texts may change.
fn step(scene: &mut Scene) -> Result<(Said, bool)> {
    let ids = served(scene)?.into_keys().filter(|id| is_document(id)).collect::<Vec<_>>();
    let id = scene.one_of(&ids).unwrap_or_else(|| "nodes/none".to_owned());
    let waiting = waiting(scene);
    let pending = scene.one_of(&waiting).unwrap_or_else(|| id.clone());
    let reviewer = REVIEWERS[scene.draw.below(2)];
    let number = scene.number();
    let (new, change) = (format!("nodes/moved{number}"), format!("change {number}"));
    let (who, args, may_change): (&str, Vec<&str>, bool) = match scene.draw.below(12) {
        0 | 1 => {
            change_body(scene, &format!("{id}.md"))?;
            (ANA, vec!["submit", &id], false)
        }
        2 => {
            change_body(scene, &format!("{id}.md"))?;
            (ANA, vec!["submit", "--changed", "--change", &change], false)
        }
        3..=5 => (reviewer, vec!["approve", &pending], true),
        6 => (reviewer, vec!["reject", &pending, "--reason", "not yet"], false),
        7 => (ANA, vec!["withdraw", &pending], false),
        8 => (ANA, vec!["retire", &id], false),
        9 => (reviewer, vec!["retire", &id, "--emergency", "--reason", "wrong"], true),
        10 => (ANA, vec!["mv", &id, &new], false),
        // No author approves their own text, and an editor approves nothing.
        _ => (ANA, vec!["approve", &pending], false),
    };
    Ok((ctx(scene, who, &args), may_change))
}

fn ctx(scene: &mut Scene, who: &str, args: &[&str]) -> Said {
    scene.person.now += 1 + scene.draw.below(1_000_000) as i64;
    scene.person.named(who).ctx(&scene.root, args)
}

/// Returns the ids of the pending submissions.
fn waiting(scene: &Scene) -> Vec<String> {
    let said = scene.person.named(REVIEWERS[0]).ctx(&scene.root, &["review", "--all", "--json"]);
    let waiting = said.json()["waiting"].as_array().cloned().unwrap_or_default();
    waiting.iter().filter_map(|one| one["id"].as_str().map(str::to_owned)).collect()
}

fn served(scene: &Scene) -> Result<Served> {
    let said = scene
        .person
        .done(&scene.root, &["resolve", "status:published", "--bodies", "--json"])?
        .json();
    let documents = said["documents"].as_array().cloned().unwrap_or_default();
    let text = |one: &serde_json::Value| {
        Some((one["id"].as_str()?.to_owned(), one["body"].as_str()?.to_owned()))
    };
    Ok(documents.iter().filter_map(text).collect())
}

/// Checks that nothing is damaged or unsettled, for its user and for one who never saw the vault.
fn sound(scene: &mut Scene, after: &Said) -> Result<()> {
    let stranger = Person { home: None, ..scene.person.clone() };
    for person in [&scene.person, &stranger] {
        let said = person.ctx(&scene.root, &["verify", "--json", "--allow-drift"]);
        scene.tally.verifications += 1;
        if said.exit != 0 {
            let (after, said) = (after.complaint(), said.complaint());
            return Err(format!("false alarm after {after}: {said}").into());
        }
    }
    Ok(())
}
