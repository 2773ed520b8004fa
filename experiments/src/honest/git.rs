//! A vault in a git repository: commits, branches, detached checkouts, clones with other line ends,
//! and restored files.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use super::scene::{Model, Scene};
use super::steps::{Step, change_body, edit_body};
use crate::process::Result;

/// The state of the repository of a vault.
#[derive(Clone, Debug)]
pub(super) struct Git {
    /// The branch that is checked out; `None` for a detached commit.
    branch: Option<String>,
    /// The published texts at the tip of each branch.
    tips: BTreeMap<String, Model>,
    /// Some commits, with their published texts.
    commits: Vec<(String, Model)>,
}

/// The steps in a repository.
pub(super) const STEPS: [(&str, usize, Step); 6] = [
    ("git commit", 4, commit_step),
    ("git switch to another branch", 5, switch),
    ("git checkout of an older commit", 3, detach),
    ("git merge --ff-only", 2, merge),
    ("edit, then `git checkout -- nodes`", 3, discard),
    ("git clone with core.autocrlf, publish there, pull", 2, clone),
];

/// Makes the vault a repository with one commit.
pub(super) fn init(scene: &mut Scene) -> Result<bool> {
    if scene.git.is_some() {
        return Ok(false);
    }
    git(&scene.root, &["init", "-q", "-b", "main"])?;
    let branch = Some("main".to_owned());
    scene.git = Some(Git { branch, tips: BTreeMap::new(), commits: Vec::new() });
    commit(scene)?;
    Ok(true)
}

fn git(root: &Path, args: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.args(["-c", "gc.auto=0", "-c", "user.name=Ana", "-c", "user.email=ana@example.com"]);
    command.args(["-c", "commit.gpgsign=false", "-c", "core.fsync=none"]);
    command.args(args).current_dir(root).stdin(Stdio::null());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("git {}: {said}", args.join(" ")).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Commits everything, so that the published and the committed texts are the same.
fn commit(scene: &mut Scene) -> Result<()> {
    let before = git(&scene.root, &["rev-parse", "-q", "--verify", "HEAD"]).unwrap_or_default();
    if let Some(git) = scene.git.as_mut().filter(|git| git.branch.is_none()) {
        // Versions that were published since the checkout are trusted for that commit, which does
        // not contain them: a process that returns to it gets `head-rollback`. A known limit
        // (VER-29).
        git.commits.retain(|(id, _)| *id != before);
    }
    git(&scene.root, &["add", "-A"])?;
    git(&scene.root, &["commit", "-q", "--allow-empty", "-m", "state"])?;
    let id = git(&scene.root, &["rev-parse", "HEAD"])?;
    let model = scene.model.clone();
    if let Some(git) = &mut scene.git {
        if let Some(branch) = &git.branch {
            git.tips.insert(branch.clone(), model.clone());
        }
        git.commits.push((id, model));
    }
    Ok(())
}

fn commit_step(scene: &mut Scene) -> Result<bool> {
    commit(scene)?;
    Ok(true)
}

fn state(scene: &Scene) -> Git {
    let none = || Git { branch: None, tips: BTreeMap::new(), commits: Vec::new() };
    scene.git.clone().unwrap_or_else(none)
}

/// Switches to another branch, new or old.
fn switch(scene: &mut Scene) -> Result<bool> {
    commit(scene)?;
    let mut git_state = state(scene);
    let known: Vec<String> = git_state.tips.keys().cloned().collect();
    let name = match scene.draw.below(3) {
        0 => format!("topic-{}", scene.number()),
        _ => scene.one_of(&known).unwrap_or_else(|| "main".to_owned()),
    };
    if let Some(model) = git_state.tips.get(&name) {
        git(&scene.root, &["switch", "-q", &name])?;
        scene.model = model.clone();
    } else {
        git(&scene.root, &["switch", "-q", "-c", &name])?;
        git_state.tips.insert(name.clone(), scene.model.clone());
    }
    git_state.branch = Some(name);
    scene.git = Some(git_state);
    Ok(true)
}

/// Checks out a commit without a branch.
fn detach(scene: &mut Scene) -> Result<bool> {
    commit(scene)?;
    let mut git_state = state(scene);
    let at = scene.draw.below(git_state.commits.len());
    let (id, model) = git_state.commits[at].clone();
    git(&scene.root, &["checkout", "-q", "--detach", &id])?;
    git_state.branch = None;
    (scene.git, scene.model) = (Some(git_state), model);
    Ok(true)
}

/// Merges a branch that began from this one.
fn merge(scene: &mut Scene) -> Result<bool> {
    commit(scene)?;
    let mut git_state = state(scene);
    let Some(branch) = git_state.branch.clone() else { return Ok(false) };
    for (other, model) in git_state.tips.clone() {
        if other != branch && git(&scene.root, &["merge", "-q", "--ff-only", &other]).is_ok() {
            git_state.tips.insert(branch, model.clone());
            // A branch that is behind is merged without a change.
            let ahead = git(&scene.root, &["rev-parse", "HEAD"])?
                == git(&scene.root, &["rev-parse", &other])?;
            if ahead {
                scene.model = model;
            } else {
                git_state
                    .tips
                    .insert(git_state.branch.clone().unwrap_or_default(), scene.model.clone());
            }
            scene.git = Some(git_state);
            return Ok(true);
        }
    }
    Ok(false)
}

/// Discards edits. Nothing was published since the commit: the folder contains the histories too,
/// and would lose a version.
fn discard(scene: &mut Scene) -> Result<bool> {
    commit(scene)?;
    for _ in 0..3 {
        edit_body(scene)?;
    }
    scene.verify()?;
    git(&scene.root, &["checkout", "-q", "--", "nodes"])?;
    Ok(true)
}

/// Makes a second clone with the line ends of another system, in which a user publishes, and from
/// which the first one pulls.
fn clone(scene: &mut Scene) -> Result<bool> {
    commit(scene)?;
    let here = scene.root.clone();
    let there = scene.beside("clone");
    let path = there.display().to_string();
    let convert = ["true", "input", "false"][scene.draw.below(3)];
    let setting = format!("core.autocrlf={convert}");
    git(&here, &["clone", "-q", "-c", &setting, ".", &path])?;
    scene.root = there.clone();
    scene.verify()?;
    if let Some(id) = scene.any_published() {
        change_body(scene, &format!("{id}.md"))?;
        scene.verify()?;
        scene.event(&["publish", &id])?;
    }
    scene.event(&["publish", "--changed"])?;
    scene.verify()?;
    let branch = state(scene).branch;
    let Some(branch) = branch else {
        // Git cannot pull from a commit without a name.
        std::fs::remove_dir_all(&there)?;
        let at = state(scene).commits.last().map(|(_, model)| model.clone());
        (scene.root, scene.model) = (here, at.unwrap_or_default());
        return Ok(true);
    };
    commit(scene)?;
    git(&here, &["pull", "-q", "--ff-only", &path, &branch])?;
    scene.root = here;
    std::fs::remove_dir_all(&there)?;
    Ok(true)
}
