//! Commands of a governed vault. A step of a review does not make a checkpoint: the next writer
//! determines whether it happened, and it happened completely or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Case;
use super::Counts;
use super::scenes::{ANA, MANY, Scene, published};
use crate::inside::{Person, files, write};
use crate::process::Result;

pub(super) const BO: &str = "bo@example.com";
const KIM: &str = "kim@example.com";

/// The versions of every history, and the pending submissions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps {
    versions: BTreeMap<String, Vec<String>>,
    waiting: BTreeSet<String>,
}

const fn scene(
    name: &'static str,
    who: &'static str,
    args: &'static [&'static str],
    prepare: fn(&Person, &Path) -> Result<()>,
) -> Scene {
    Scene { is_governed: true, ..Scene::by(name, who, args, prepare) }
}

const CHANGE: &[&str] = &["nodes/d0", "nodes/d1", "nodes/d2"];

pub(super) static SCENES: [Scene; 17] = [
    scene("govern on", ANA, &["govern", "on"], ungoverned),
    scene("submit", ANA, &["submit", "nodes/d0"], |person, root| {
        governed(person, root, 1)?;
        edit(root, 1, "second")
    }),
    scene("submit a change", ANA, &["submit", "--changed", "--change", "one"], |person, root| {
        governed(person, root, 1)?;
        // The next version of one of them is stored in full.
        edit(root, 1, "second")?;
        person.done(root, &["submit", "nodes/d0"])?;
        edit(root, MANY, "third")
    }),
    scene("approve", BO, &["approve", "nodes/d0"], |person, root| submitted(person, root, 1)),
    scene("approve in part", BO, &["approve", "--change", "one"], |person, root| {
        submitted(person, root, 2)
    }),
    scene("complete a change", KIM, &["approve", "--change", "one"], |person, root| {
        submitted(person, root, 2)?;
        person.named(BO).done(root, &["approve", "--change", "one"]).map(drop)
    }),
    scene("approve many", BO, &["approve", "--change", "many"], |person, root| {
        governed(person, root, 1)?;
        edit(root, MANY, "second")?;
        person.done(root, &["submit", "--changed", "--change", "many"]).map(drop)
    }),
    scene("reject", BO, &["reject", "--change", "one", "--reason", "wrong"], |person, root| {
        submitted(person, root, 2)?;
        person.named(KIM).done(root, &["approve", "nodes/d0"]).map(drop)
    }),
    scene("withdraw", ANA, &["withdraw", "nodes/d1"], |person, root| submitted(person, root, 1)),
    scene(
        "retire in an emergency",
        BO,
        &["retire", "nodes/d0", "nodes/d5", "--emergency", "--reason", "wrong"],
        |person, root| submitted(person, root, 1),
    ),
    scene("ratify", KIM, &["approve", "nodes/d0", "nodes/d5"], |person, root| {
        governed(person, root, 1)?;
        let retire = ["retire", "nodes/d0", "nodes/d5", "--emergency", "--reason", "wrong"];
        person.named(BO).done(root, &retire).map(drop)
    }),
    scene("approve a retirement", BO, &["approve", "nodes/d1", "nodes/d2"], |person, root| {
        governed(person, root, 1)?;
        person.done(root, &["retire", "nodes/d1", "nodes/d2"]).map(drop)
    }),
    scene("propose a move", ANA, &["mv", "nodes/d1", "nodes/else/d1"], |person, root| {
        governed(person, root, 1)
    }),
    scene("approve a move", BO, &["approve", "nodes/d1"], |person, root| {
        governed(person, root, 1)?;
        person.done(root, &["mv", "nodes/d1", "nodes/else/d1"]).map(drop)
    }),
    scene("submit governance files", ANA, &["submit", "stewards.yaml", "CONTEXT.md"], remarked),
    scene(
        "approve governance files",
        BO,
        &["approve", "stewards.yaml", "CONTEXT.md"],
        |p, root| {
            remarked(p, root)?;
            p.done(root, &["submit", "stewards.yaml", "CONTEXT.md"]).map(drop)
        },
    ),
    scene(
        "reject a governance file",
        KIM,
        &["reject", "stewards.yaml", "--reason", "wrong"],
        |person, root| {
            remarked(person, root)?;
            person.done(root, &["submit", "stewards.yaml"]).map(drop)
        },
    ),
];

/// Adds published documents, and stewards that are not published yet.
fn ungoverned(person: &Person, root: &Path) -> Result<()> {
    published(person, root)?;
    write(root, "stewards.yaml", stewards(1))
}

pub(super) fn stewards(required: u32) -> String {
    format!(
        "version: 1\nvault:\n  - {{principal: {BO}, role: reviewer}}\n  - {{principal: {KIM}, role: reviewer}}\n  - {{principal: {ANA}, role: editor}}\nreview:\n  vault: {{required: {required}}}\n"
    )
}

pub(super) fn governed(person: &Person, root: &Path, required: u32) -> Result<()> {
    published(person, root)?;
    write(root, "stewards.yaml", stewards(required))?;
    person.done(root, &["govern", "on"]).map(drop)
}

/// Submits three documents together.
pub(super) fn submitted(person: &Person, root: &Path, required: u32) -> Result<()> {
    governed(person, root, required)?;
    edit(root, 3, "second")?;
    person.done(root, &[&["submit"], CHANGE, &["--change", "one"]].concat())?;
    if required == 1 {
        // It is submitted alone, so that it can be approved alone.
        edit(root, 1, "third")?;
        person.done(root, &["submit", "nodes/d0"])?;
    }
    Ok(())
}

/// Edits governance files.
fn remarked(person: &Person, root: &Path) -> Result<()> {
    governed(person, root, 1)?;
    write(root, "stewards.yaml", format!("# for everyone\n{}", stewards(1)))?;
    write(root, "CONTEXT.md", "# Read this first\n")
}

/// Changes the last line of the first documents.
pub(super) fn edit(root: &Path, count: usize, word: &str) -> Result<()> {
    for n in 0..count {
        let path = format!("nodes/d{n}.md");
        let text = std::fs::read_to_string(root.join(&path))?;
        let last = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
        write(root, &path, format!("{}{word}\n", &text[..last]))?;
    }
    Ok(())
}

/// Returns the steps of a vault, without those of documents that are written after a fault.
pub(super) fn steps(person: &Person, root: &Path, scene: &Scene) -> Result<Steps> {
    let mut steps = Steps::default();
    if !scene.is_governed {
        return Ok(steps);
    }
    for path in files(root)? {
        // A history that was moved away does not count.
        let is_left_out = path.contains("/later/") || path.starts_with(".context/local/");
        if path.ends_with("/history.yaml") && !is_left_out {
            let text = std::fs::read_to_string(root.join(&path))?;
            let hashes = text.lines().filter(|line| line.contains("chain_hash: "));
            steps.versions.insert(path, hashes.map(|line| line.trim().to_owned()).collect());
        }
    }
    let said = person.named(KIM).ctx(root, &["review", "--all", "--json"]).json();
    for one in said["waiting"].as_array().into_iter().flatten() {
        let line =
            format!("{} {} {} {}", one["id"], one["version"], one["action"], one["approvals"]);
        steps.waiting.extend((one["id"] != "nodes/later").then_some(line));
    }
    Ok(steps)
}

impl Case<'_> {
    /// Checks the state that the next writer finds, and continues to work with it. The publications
    /// were already compared with those before and after the command.
    pub(super) fn judge_review(&self, told: bool, is_new: bool, counts: &mut Counts) -> Result<()> {
        let mut later = self.person.named(ANA);
        later.now += 60_000;
        write(&self.root, "nodes/later.md", "# Later\n")?;
        // In a vault that turns out to be ungoverned, this is not a step.
        let said = later.ctx(&self.root, &["submit", "nodes/later"]);
        if said.exit != 0 {
            if said.stderr.contains("error[not-governed]") {
                later.done(&self.root, &["publish", "nodes/later"])?;
            } else {
                return Err(format!("the next step: {}", said.complaint()).into());
            }
        }
        self.sound("after the next step")?;
        let found = steps(&self.person, &self.root, self.scene)?;
        let [old, new] = &self.steps;
        match (found == *old, found == *new) {
            (_, true) => counts.new += 1,
            (true, false) if told || is_new => return Err("the step is gone".into()),
            (true, false) => counts.old += 1,
            (false, false) => {
                return Err(format!("neither step: {found:#?}\n{old:#?}\n{new:#?}").into());
            }
        }
        counts.uncommitted += u64::from(self.root.join(".context/local/recovered").exists());
        if found == *new {
            return Ok(());
        }
        // The missing work is repeated.
        later = later.named(self.scene.who);
        later.now += 60_000;
        later.done(&self.root, &self.scene.args(self.form))?;
        self.sound("after doing it again")
    }
}
