//! The actions of people in a vault: publishing, and editing published texts.

use std::fs;

use super::scene::{CONFIG, Kind, Scene, is_document};
use crate::inside::write;
use crate::process::Result;

/// A step; returns true if it applied.
pub(super) type Step = fn(&mut Scene) -> Result<bool>;

/// The steps of every kind of vault, with their weights.
pub(super) const STEPS: [(&str, usize, Step); 22] = [
    ("publish one document", 10, publish_one),
    ("publish several by name", 3, publish_some),
    ("publish --changed", 8, publish_changed),
    ("publish --all", 7, publish_all),
    ("add", 7, add),
    ("retire", 5, retire),
    ("publish a retired document again", 3, restore_retired),
    ("mv", 5, move_one),
    ("write a new file", 6, new_file),
    ("edit the body", 12, edit_body),
    ("edit the frontmatter", 5, edit_frontmatter),
    ("save as a draft", 3, save_as_draft),
    ("save with CRLF", 2, save_with_crlf),
    ("save with a U+FEFF", 2, save_with_bom),
    ("delete a live file", 2, delete_live),
    ("edit a governance file", 5, edit_governance),
    ("delete a governance file", 1, delete_governance),
    ("change the configuration", 4, configure),
    ("audit begin", 3, begin_audit),
    ("restore a live file by `ctx read`", 5, restore_by_read),
    ("ctx index, search, resolve", 2, look),
    ("commands that change nothing", 2, look_only),
];

/// Publishes one document, edited before or not, with a note now and then.
fn publish_one(scene: &mut Scene) -> Result<bool> {
    let documents = scene.documents()?;
    let Some(path) = scene.one_of(&documents) else { return Ok(false) };
    if scene.draw.below(3) > 0 {
        change_body(scene, &path)?;
    }
    let id = path.trim_end_matches(".md");
    match scene.draw.below(3) {
        0 => scene.event(&["publish", id, "-m", "why: \"so\", # and\n- so"]),
        1 => scene.event(&["publish", id, "--author", "Somebody Else"]),
        _ => scene.event(&["publish", id]),
    }?;
    Ok(true)
}

fn publish_some(scene: &mut Scene) -> Result<bool> {
    let documents = scene.documents()?;
    if documents.len() < 3 {
        return Ok(false);
    }
    let chosen: Vec<String> = (0..3).filter_map(|_| scene.one_of(&documents)).collect();
    for path in &chosen {
        change_body(scene, path)?;
    }
    let ids: Vec<&str> = chosen.iter().map(|path| path.trim_end_matches(".md")).collect();
    scene.event(&[&["publish", "-m", "together"][..], &ids].concat())?;
    Ok(true)
}

fn publish_changed(scene: &mut Scene) -> Result<bool> {
    edit_body(scene)?;
    scene.event(&["publish", "--changed"])?;
    Ok(true)
}

fn publish_all(scene: &mut Scene) -> Result<bool> {
    match scene.draw.below(3) {
        0 => scene.event(&["publish", "--all", "--skip-invalid"]),
        1 => scene.event(&["publish", "--all", "--no-sync"]),
        _ => scene.event(&["publish", "--all"]),
    }?;
    Ok(true)
}

fn add(scene: &mut Scene) -> Result<bool> {
    let id = new_id(scene);
    let body = body(scene);
    let mut args = vec!["add", &id, "--body", &body, "--tags", "new"];
    if scene.draw.below(4) == 0 {
        args.push("--draft");
    }
    scene.event(&args)?;
    Ok(true)
}

fn retire(scene: &mut Scene) -> Result<bool> {
    if scene.published().len() < 2 {
        return Ok(false);
    }
    let Some(id) = scene.any_published() else { return Ok(false) };
    // Unpublished edits and missing files do not prevent it.
    match scene.draw.below(4) {
        0 => change_body(scene, &format!("{id}.md"))?,
        1 => drop(fs::remove_file(scene.root.join(format!("{id}.md")))),
        _ => {}
    }
    scene.event(&["retire", &id, "-m", "replaced"])?;
    Ok(true)
}

fn restore_retired(scene: &mut Scene) -> Result<bool> {
    let retired: Vec<String> =
        scene.model.retired.iter().filter(|id| is_document(id)).cloned().collect();
    let Some(id) = scene.one_of(&retired) else { return Ok(false) };
    let path = format!("{id}.md");
    if scene.live(&path).is_none() {
        let text = document(scene);
        write(&scene.root, &path, text)?;
    }
    scene.event(&["publish", &id])?;
    Ok(true)
}

fn move_one(scene: &mut Scene) -> Result<bool> {
    let Some(id) = scene.any_published() else { return Ok(false) };
    let to = new_id(scene);
    scene.event(&["mv", &id, &to])?;
    Ok(true)
}

fn new_file(scene: &mut Scene) -> Result<bool> {
    let path = new_id(scene) + ".md";
    let text = document(scene);
    write(&scene.root, &path, text)?;
    Ok(true)
}

pub(super) fn edit_body(scene: &mut Scene) -> Result<bool> {
    let documents = scene.documents()?;
    let Some(path) = scene.one_of(&documents) else { return Ok(false) };
    change_body(scene, &path)?;
    Ok(true)
}

/// Changes the text below the frontmatter, as an editor does.
pub(super) fn change_body(scene: &mut Scene, path: &str) -> Result<()> {
    let Some(text) = scene.live(path) else { return Ok(()) };
    let n = scene.draw.below(10_000);
    let at = text.find("\n---").map_or(0, |at| at + 4);
    let (head, body) = text.split_at(at);
    let mut lines: Vec<String> = body.split_inclusive('\n').map(str::to_owned).collect();
    let place = if lines.len() > 1 { 1 + scene.draw.below(lines.len() - 1) } else { lines.len() };
    match scene.draw.below(7) {
        0 => lines.insert(place, format!("Put in, number {n}.\n")),
        1 if lines.len() > 4 => drop(lines.remove(place)),
        2 if lines.len() > 4 => lines[place] = format!("Line {n} in the place of another.\n"),
        3 if lines.len() > 4 => lines.truncate(3),
        4 => lines.extend((0..40).map(|line| format!("Line {line} of a long part, {n}.\n"))),
        5 => lines.push(format!("No line end after {n}")),
        _ => lines.push(format!("\nAdded, number {n}: --- +++ @@ é 😀 \u{2028} .\n")),
    }
    write(&scene.root, path, format!("{head}{}", lines.concat()))
}

fn edit_frontmatter(scene: &mut Scene) -> Result<bool> {
    let Some(id) = scene.any_published() else { return Ok(false) };
    let path = format!("{id}.md");
    let n = scene.draw.below(1000);
    let Some(text) = scene.live(&path).filter(|text| text.starts_with("---\n")) else {
        return Ok(false);
    };
    let line = match scene.draw.below(3) {
        0 => format!("x-edited-{n}: true\n"),
        1 => format!("# A remark, {n}\n"),
        _ => format!("extra{n}: [a, b]\n"),
    };
    write(&scene.root, &path, text.replacen("---\n", &format!("---\n{line}"), 1))?;
    Ok(true)
}

fn save_as_draft(scene: &mut Scene) -> Result<bool> {
    let Some(id) = scene.any_published() else { return Ok(false) };
    let path = format!("{id}.md");
    let Some(text) = scene.live(&path) else { return Ok(false) };
    let text = text.replacen("status: published", "status: draft", 1) + "\nStill at work on it.\n";
    write(&scene.root, &path, text)?;
    Ok(true)
}

fn save_with_crlf(scene: &mut Scene) -> Result<bool> {
    respell(scene, |text| text.replace("\r\n", "\n").replace('\n', "\r\n"))
}

fn save_with_bom(scene: &mut Scene) -> Result<bool> {
    respell(scene, |text| format!("\u{feff}{}", text.trim_start_matches('\u{feff}')))
}

/// Saves a live file or a governance file with the same text in another spelling.
fn respell(scene: &mut Scene, how: fn(&str) -> String) -> Result<bool> {
    let mut paths = scene.documents()?;
    paths.push("CONTEXT.md".to_owned());
    let Some(path) = scene.one_of(&paths) else { return Ok(false) };
    let Some(text) = scene.live(&path) else { return Ok(false) };
    write(&scene.root, &path, how(&text))?;
    Ok(true)
}

fn delete_live(scene: &mut Scene) -> Result<bool> {
    let documents = scene.documents()?;
    let Some(path) = scene.one_of(&documents) else { return Ok(false) };
    fs::remove_file(scene.root.join(path))?;
    Ok(true)
}

fn edit_governance(scene: &mut Scene) -> Result<bool> {
    let n = scene.draw.below(1000);
    let pack = format!("packs/p{}.yml", n % 4);
    let id = n % 4;
    let (path, text) = match scene.draw.below(4) {
        0 => ("CONTEXT.md", format!("---\ntitle: Test\n---\n\n# Test\n\nRead this first, {n}.\n")),
        1 => ("stewards.yaml", format!("# nobody yet, {n}\nversion: 1\n")),
        _ => (pack.as_str(), format!("id: warm{id}\nlabel: Warm {n}\nquery: '#red | #new'\n")),
    };
    write(&scene.root, path, text)?;
    Ok(true)
}

fn delete_governance(scene: &mut Scene) -> Result<bool> {
    let mut paths: Vec<String> =
        scene.model.sealed.keys().filter(|id| !is_document(id)).cloned().collect();
    // The configuration decides the form of a log that has not begun.
    paths.retain(|path| path != CONFIG || scene.kind == Kind::Delta);
    let Some(path) = scene.one_of(&paths) else { return Ok(false) };
    Ok(fs::remove_file(scene.root.join(path)).is_ok())
}

/// Writes a configuration with other settings.
pub(super) fn configure(scene: &mut Scene) -> Result<bool> {
    let text = configuration(scene);
    write(&scene.root, CONFIG, text)?;
    Ok(true)
}

/// Begins to record changes, which no later configuration ends.
fn begin_audit(scene: &mut Scene) -> Result<bool> {
    scene.event(&["audit", "begin"])
}

/// Returns a configuration with drawn settings.
pub(super) fn configuration(scene: &mut Scene) -> String {
    let n = scene.draw.below(1000);
    let mut text = format!("version: 1\nname: Test\nlayout: structured\ndescription: Number {n}\n");
    if scene.draw.below(3) == 0 {
        text += "exclude: ['nodes/private/**']\n";
    }
    if scene.draw.below(3) == 0 {
        text += "index: {auto: 0}\n";
    }
    if scene.draw.below(4) == 0 {
        text += "audit: {bind: true}\n";
    }
    text += "versions:\n";
    if scene.draw.below(4) > 0 {
        text += &format!("  keyframe_interval: {}\n", [1, 2, 3, 5, 10][scene.draw.below(5)]);
    }
    // An existing log keeps its form, whatever the configuration says later.
    let form = match (scene.kind, scene.draw.below(6)) {
        (Kind::Delta, 0) if !scene.model.sealed.is_empty() => "  checkpoint_log: full\n",
        (Kind::Delta, 1) => "  checkpoint_log: delta\n",
        (Kind::Full, _) => "  checkpoint_log: full\n",
        _ => "",
    };
    text + form
}

fn restore_by_read(scene: &mut Scene) -> Result<bool> {
    let Some(id) = scene.any_published() else { return Ok(false) };
    let said = scene.ctx(&["read", &id]);
    if said.exit != 0 {
        return Err(said.complaint().into());
    }
    write(&scene.root, &format!("{id}.md"), said.stdout)?;
    Ok(true)
}

fn look(scene: &mut Scene) -> Result<bool> {
    for args in [
        &["search", "number words"][..],
        &["resolve", "status:published"],
        &["index"],
        &["index", "--rebuild"],
        &["context"],
    ] {
        let said = scene.ctx(args);
        if said.exit == 5 || said.exit == 101 {
            return Err(said.complaint().into());
        }
    }
    Ok(true)
}

fn look_only(scene: &mut Scene) -> Result<bool> {
    for args in [&["status"][..], &["publish", "--all", "--dry-run"], &["list"], &["validate"]] {
        scene.ctx(args);
    }
    Ok(true)
}

fn new_id(scene: &mut Scene) -> String {
    let n = scene.number();
    let folder = ["nodes", "nodes/x", "nodes/x/deep", "nodes/private", "sources"];
    let folder = folder[scene.draw.below(folder.len())];
    let name = ["d", "été-", "a.b-", "with space "][scene.draw.below(4)];
    format!("{folder}/{name}{n}")
}

fn body(scene: &mut Scene) -> String {
    let n = scene.draw.below(1000);
    let lines: Vec<String> = (0..scene.draw.below(12)).map(|l| format!("Words {l}.\n")).collect();
    format!("# Number {n}\n\n{}\n## Part\n\nMore {n}.\n", lines.concat())
}

/// Returns the text of a file that was never published.
pub(super) fn document(scene: &mut Scene) -> String {
    let n = scene.draw.below(1000);
    let body = body(scene);
    let tags = ["[red]", "[green, blue]", "[]"][scene.draw.below(3)];
    match scene.draw.below(6) {
        0 => body,
        1 => format!("---\r\ntitle: Number {n}\r\n---\r\n{}", body.replace('\n', "\r\n")),
        2 => format!("---\ntitle: Number {n}\ntype: glossary\ntags: {tags}\n---\n{}", body.trim()),
        3 => format!(
            "---\n# remark\ntitle: \"Number {n}\"\nversion: 7\ndate: 2026-01-01\n---\n{body}"
        ),
        _ => format!("---\ntitle: Number {n}\ntags: {tags}\n---\n\n{body}"),
    }
}
