//! Commands that write, each in a vault that is ready for it.

use std::path::Path;

use crate::inside::{Person, write};
use crate::process::Result;

/// A command and what comes before it.
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) args: &'static [&'static str],
    prepare: fn(&Person, &Path) -> Result<()>,
}

/// Which form the log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Delta,
    Full,
}

impl Form {
    pub(super) const ALL: [Self; 2] = [Self::Delta, Self::Full];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Full => "full",
        }
    }
}

/// More documents than are synced one by one.
const MANY: usize = 18;

pub(super) const SCENES: [Scene; 9] = [
    Scene { name: "the first event", args: &["publish", "--all"], prepare: |_, _| Ok(()) },
    Scene { name: "add", args: &["add", "nodes/new", "--body", "# New\n"], prepare: published },
    Scene { name: "publish one", args: &["publish", "nodes/d0"], prepare: edited },
    Scene {
        name: "publish a keyframe",
        args: &["publish", "nodes/d0"],
        prepare: |person, root| {
            published(person, root)?;
            write(root, "nodes/d0.md", "---\ntitle: d0\nversion: 1\n---\nbefore\n")?;
            person.done(root, &["publish", "nodes/d0"])?;
            let text = std::fs::read_to_string(root.join("nodes/d0.md"))?;
            write(root, "nodes/d0.md", text.replace("before", "after"))
        },
    },
    Scene { name: "publish many", args: &["publish", "--changed"], prepare: edited },
    Scene { name: "retire", args: &["retire", "nodes/d1", "nodes/d2"], prepare: published },
    Scene { name: "mv", args: &["mv", "nodes/d1", "nodes/else/d1"], prepare: published },
    Scene { name: "pack add", args: &["pack", "add", "p", "--query", "#x"], prepare: published },
    Scene { name: "index", args: &["index"], prepare: published },
];

/// Makes the vault that a scene begins with.
pub(super) fn begin(scene: &Scene, form: Form, person: &Person, root: &Path) -> Result<()> {
    person.done(root, &["init", "."])?;
    let form = form.word();
    let config = format!(
        "version: 1\nname: vault\nlayout: structured\nversions:\n  keyframe_interval: 3\n  checkpoint_log: {form}\n"
    );
    write(root, ".context/config.yaml", config)?;
    for n in 0..MANY {
        write(root, &format!("nodes/d{n}.md"), format!("# Document {n}\n\nfirst\n"))?;
    }
    (scene.prepare)(person, root)
}

fn published(person: &Person, root: &Path) -> Result<()> {
    person.done(root, &["publish", "--all"]).map(drop)
}

fn edited(person: &Person, root: &Path) -> Result<()> {
    published(person, root)?;
    for n in 0..MANY {
        let path = format!("nodes/d{n}.md");
        let text = std::fs::read_to_string(root.join(&path))?;
        write(root, &path, text.replace("first", "second"))?;
    }
    Ok(())
}
