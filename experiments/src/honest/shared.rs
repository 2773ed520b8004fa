//! Steps in which the reference implementation works in the vault, in turn with ctx.

use super::scene::{Kind, Scene, is_document, normal};
use super::steps::{Step, change_body};
use crate::process::Result;
use crate::reference::{OtherTool, What, create};

/// The steps of the reference implementation, in vaults with a log of whole maps.
pub(super) const STEPS: [(&str, usize, Step); 6] = [
    ("reference: publish", 8, publish),
    ("reference: publish a new document", 4, publish_new),
    ("reference: publish, diff in a file", 4, publish_diff_file),
    ("reference: a submission that is never published", 3, submit),
    ("reference: an event that changes nothing", 2, change_nothing),
    ("reference: two events at once, one checkpoint lost", 3, race),
];

/// Runs the reference implementation at the clock of the scene.
fn with<T>(scene: &mut Scene, work: impl FnOnce(&mut OtherTool<'_>) -> Result<T>) -> Result<T> {
    let root = scene.root.clone();
    let now = scene.person.now;
    let mut tool =
        OtherTool { root: &root, principal: "lee@example.com", draw: &mut scene.draw, now };
    let done = work(&mut tool);
    scene.person.now = tool.now;
    scene.latest = scene.latest.max(scene.person.now);
    done
}

/// Drops governance files from the published texts, as an event of the reference
/// implementation does.
fn drop_governance(scene: &mut Scene) {
    let sealed = std::mem::take(&mut scene.model.sealed);
    let (kept, dropped) = sealed.into_iter().partition(|(id, _)| is_document(id));
    scene.model.sealed = kept;
    scene.model.dropped.extend(dropped);
}

/// Publishes a version of each document; all but the last lose their checkpoint.
fn event(scene: &mut Scene, ids: &[String], diffs_in_files: bool) -> Result<bool> {
    let mut texts = Vec::new();
    let published = with(scene, |tool| {
        let mut versions = Vec::new();
        for id in ids {
            if let Some((text, version, chain)) =
                tool.version(id, What::Published, diffs_in_files)?
            {
                texts.push((id.clone(), text));
                versions.push((id.as_str(), version, chain));
            }
        }
        let versions: Vec<_> = versions.iter().map(|(id, v, c)| (*id, *v, c.as_str())).collect();
        if let Some((trigger, ..)) = versions.last() {
            tool.checkpoint(trigger, &versions)?;
        }
        Ok(!versions.is_empty())
    })?;
    if published {
        drop_governance(scene);
    }
    for (id, text) in texts {
        scene.model.sealed.insert(id.clone(), normal(text.as_bytes()));
        scene.model.retired.remove(&id);
    }
    Ok(published)
}

fn edited(scene: &mut Scene) -> Result<Option<String>> {
    let Some(id) = scene.any_published() else { return Ok(None) };
    change_body(scene, &format!("{id}.md"))?;
    Ok(Some(id))
}

fn publish(scene: &mut Scene) -> Result<bool> {
    let Some(id) = edited(scene)? else { return Ok(false) };
    event(scene, &[id], false)
}

fn publish_diff_file(scene: &mut Scene) -> Result<bool> {
    let Some(id) = edited(scene)? else { return Ok(false) };
    event(scene, &[id], true)
}

fn publish_new(scene: &mut Scene) -> Result<bool> {
    let id = format!("nodes/other/n{}", scene.number());
    create(&scene.root, &id, "From elsewhere", "Words.")?;
    event(scene, &[id], false)
}

fn race(scene: &mut Scene) -> Result<bool> {
    let (Some(one), Some(other)) = (edited(scene)?, edited(scene)?) else { return Ok(false) };
    if one == other {
        return Ok(false);
    }
    event(scene, &[one, other], false)
}

/// Adds a version that was never published: the live file is a draft of that number.
fn submit(scene: &mut Scene) -> Result<bool> {
    let Some(id) = edited(scene)? else { return Ok(false) };
    Ok(with(scene, |tool| tool.version(&id, What::Submitted, false))?.is_some())
}

fn change_nothing(scene: &mut Scene) -> Result<bool> {
    let Some(id) = scene.any_published() else { return Ok(false) };
    let done = with(scene, |tool| {
        let may = tool.is_on_time()? && tool.seals(&id)?;
        if may {
            tool.checkpoint(&id, &[])?;
        }
        Ok(may)
    })?;
    if done {
        drop_governance(scene);
    }
    Ok(done)
}

/// Returns true if the reference implementation may have written this vault.
pub(super) fn is_possible(kind: Kind) -> bool {
    kind != Kind::Delta
}
