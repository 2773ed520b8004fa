//! More than one place: copies of a vault, backups, and interrupted commands.

use std::fs;
use std::path::{Path, PathBuf};

use contextnest::files::vault::Vault;
use contextnest::files::vault::outside::StateFolder;
use contextnest::record::checkpoint::log::Log;
use contextnest::record::trusted_head::{EventKey, Head, Intent, intend};

use super::scene::{Kind, Scene, copy_of};
use super::steps::{Step, change_body, document};
use crate::inside::{copy, files, write};
use crate::process::Result;

/// The steps with more than one place.
pub(super) const STEPS: [(&str, usize, Step); 4] = [
    ("a copy elsewhere, publications in both", 2, duplicates),
    ("keep a backup", 2, keep_backup),
    ("restore a backup elsewhere", 1, restore_backup),
    ("an interrupted publication", 3, interrupted),
];

/// Continues two copies of a vault independently, each with its own state.
fn duplicates(scene: &mut Scene) -> Result<bool> {
    let (here, model) = (scene.root.clone(), scene.model.clone());
    let git = scene.git.clone();
    let number = scene.number();
    let there = copy_of(&here, number);
    copy(&here, &there)?;
    scene.root = there.clone();
    scene.verify()?;
    publish_something(scene)?;
    scene.verify()?;
    scene.verify_without_trusted_head()?;
    if scene.draw.below(2) == 0 {
        // The history continues in the copy, and the first one is abandoned.
        fs::remove_dir_all(here)?;
        return Ok(true);
    }
    (scene.root, scene.model, scene.git) = (here, model, git);
    publish_something(scene)?;
    fs::remove_dir_all(there)?;
    Ok(true)
}

fn publish_something(scene: &mut Scene) -> Result<()> {
    if let Some(id) = scene.any_published() {
        change_body(scene, &format!("{id}.md"))?;
        scene.event(&["publish", &id])?;
    }
    Ok(())
}

fn keep_backup(scene: &mut Scene) -> Result<bool> {
    let to = scene.beside("backup");
    copy(&scene.root, &to)?;
    if let Some((before, _)) = scene.backup.replace((to, scene.model.clone())) {
        fs::remove_dir_all(before)?;
    }
    Ok(true)
}

/// Restores an old copy at another path, where no later head is trusted. The vault itself stays.
fn restore_backup(scene: &mut Scene) -> Result<bool> {
    let Some((backup, then)) = scene.backup.clone() else { return Ok(false) };
    let there = scene.beside("restored");
    copy(&backup, &there)?;
    let (here, model, git) = (scene.root.clone(), scene.model.clone(), scene.git.clone());
    (scene.root, scene.model) = (there.clone(), then);
    scene.verify()?;
    publish_something(scene)?;
    scene.verify()?;
    fs::remove_dir_all(there)?;
    (scene.root, scene.model, scene.git) = (here, model, git);
    Ok(true)
}

/// Interrupts a publication before its checkpoint was written, or between that and the live files:
/// its uncommitted files are notes, for a user who trusts the head before it.
fn interrupted(scene: &mut Scene) -> Result<bool> {
    let Some(home) = scene.person.home.clone() else { return Ok(false) };
    let state = home.join(".local/state");
    let Some(id) = scene.any_published() else { return Ok(false) };
    change_body(scene, &format!("{id}.md"))?;
    let name = format!("nodes/late{}.md", scene.number());
    let text = document(scene);
    write(&scene.root, &name, text)?;
    scene.verify()?;

    let (root, model) = (scene.root.clone(), scene.model.clone());
    let (before, kept) = (scene.beside("before"), scene.beside("state"));
    copy(&root, &before)?;
    copy(&state, &kept)?;
    let learned = scene.event(&["publish", &id, name.trim_end_matches(".md")])?;
    // The state folders that had the intent record, which the event ended.
    let intents = files(&state)?.into_iter().filter(|path| path.ends_with("/intent.json"));
    let intents: Vec<PathBuf> = intents.map(|path| state.join(path)).collect();
    let after = scene.beside("after");
    fs::rename(&root, &after)?;
    copy(&before, &root)?;
    if scene.draw.below(3) > 0 {
        fs::remove_dir_all(&state)?;
        copy(&kept, &state)?;
    }
    let how = if learned { scene.draw.below(4) } else { 0 };
    // If the log contains the event, it has happened; otherwise it has not.
    let happened = how == 3;
    if happened {
        overlay(scene, &before, &after, &root, usize::MAX)?;
        for log in LOGS {
            put_again(&after, &root, log)?;
        }
        // Without its line, the event is reported until the next command of this user.
        for path in files(&after)?.iter().filter(|path| path.starts_with(CHANGES)) {
            put_again(&after, &root, path)?;
        }
    } else {
        fs::remove_dir_all(&state)?;
        copy(&kept, &state)?;
        if learned {
            restore_intents((&intents, &state), (&before, &after), &scene.person.principal)?;
        }
        scene.model = model.clone();
        let most = if how == 0 { scene.draw.below(4) } else { usize::MAX };
        overlay(scene, &before, &after, &root, most)?;
        if how == 2 && scene.kind == Kind::Delta {
            tear(scene, &before, &after, &root)?;
        }
    }
    scene.verify()?;
    if happened || !learned {
        for left in [&before, &kept, &after] {
            fs::remove_dir_all(left)?;
        }
        return Ok(true);
    }
    if scene.draw.below(3) == 0 {
        scene.over = true;
        return Ok(true);
    }
    // Another user continues to work, and later the uncommitted files are removed.
    let mut went_on = false;
    if how != 2
        && let Some(other) = scene.any_published().filter(|other| *other != id)
    {
        change_body(scene, &format!("{other}.md"))?;
        went_on = scene.event(&["publish", &other])?;
        scene.verify()?;
    }
    mend(&before, &after, &root, went_on)?;
    for left in [&before, &kept, &after] {
        fs::remove_dir_all(left)?;
    }
    Ok(true)
}

/// Restores the intent record of the event between two copies of a vault, in each state folder that
/// had it.
fn restore_intents(
    (intents, home): (&[PathBuf], &Path),
    (before, after): (&Path, &Path),
    by: &str,
) -> Result<()> {
    let vault = Vault::open(after)?;
    let (old, new) = (Log::read(&Vault::open(before)?)?, Log::read(&vault)?);
    let (upon, new) = (Head::of(&old.sound()?), new.sound()?);
    let made = new.head().ok_or("an event without a checkpoint")?;
    let event = EventKey { at: made.at, by: by.to_owned() };
    let intent = Intent { upon, event, makes: Some(made.hash) };
    for path in intents {
        let dir = path.parent().ok_or("a file without a folder")?.to_owned();
        let folder =
            StateFolder { home: home.to_owned(), dir, checked_out: None, repository: None };
        intend(&vault.clone().with_state(Some(folder)), &intent)?;
    }
    Ok(())
}

const LOGS: [&str; 2] = [".versions/checkpoints.jsonl", ".versions/context_history.yaml"];

const CHANGES: &str = ".context/audit/";

/// Returns the files of histories that an event wrote.
fn written(before: &Path, after: &Path) -> Result<Vec<String>> {
    let mut written = Vec::new();
    for path in files(after)? {
        let is_history = path.contains(".versions/")
            && !LOGS.contains(&path.as_str())
            && !path.ends_with("/.gitattributes");
        if is_history && fs::read(before.join(&path)).ok() != fs::read(after.join(&path)).ok() {
            written.push(path);
        }
    }
    // A full text is written before the history that names it.
    written.sort_by_key(|path| path.ends_with("history.yaml"));
    Ok(written)
}

/// Copies the first few files of an event into a vault without it.
fn overlay(scene: &mut Scene, before: &Path, after: &Path, root: &Path, most: usize) -> Result<()> {
    for path in written(before, after)?.iter().take(most) {
        put_again(after, root, path)?;
    }
    if scene.draw.below(3) == 0 {
        // The file is a live file under its temporary name.
        write(root, "nodes/.late.md.1234-0.ctx-tmp", "---\ntitle: Late\n")?;
    }
    Ok(())
}

fn put_again(from: &Path, to: &Path, path: &str) -> Result<()> {
    if from.join(path).exists() {
        write(to, path, fs::read(from.join(path))?)?;
    }
    Ok(())
}

/// Appends an incomplete line to the log.
fn tear(scene: &mut Scene, before: &Path, after: &Path, root: &Path) -> Result<()> {
    let (old, new) = (fs::read(before.join(LOGS[0]))?, fs::read(after.join(LOGS[0]))?);
    let line = new.len() - old.len();
    if line > 2 {
        let cut = old.len() + 1 + scene.draw.below(line - 2);
        write(root, LOGS[0], &new[..cut])?;
    }
    Ok(())
}

/// Removes the uncommitted files of an interrupted event, by a copy from before it.
fn mend(before: &Path, after: &Path, root: &Path, went_on: bool) -> Result<()> {
    for path in written(before, after)? {
        let is_of_documents = path.starts_with("nodes/") || path.starts_with("sources/");
        let is_there = fs::read(root.join(&path)).ok() == fs::read(after.join(&path)).ok();
        // A later event included the governance files, and may have written the same bytes.
        if !is_there || went_on && !is_of_documents {
            continue;
        }
        match fs::read(before.join(&path)) {
            Ok(bytes) => write(root, &path, bytes)?,
            Err(_) => fs::remove_file(root.join(&path))?,
        }
    }
    let log = fs::read(root.join(LOGS[0])).unwrap_or_default();
    let whole = log.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < log.len() {
        write(root, LOGS[0], &log[..whole])?;
    }
    let temporary = root.join("nodes/.late.md.1234-0.ctx-tmp");
    if temporary.exists() {
        fs::remove_file(temporary)?;
    }
    Ok(())
}
