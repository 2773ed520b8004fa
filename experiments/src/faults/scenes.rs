//! Commands that write, each in a vault that is prepared for it.

use std::path::Path;
use std::sync::Arc;

use contextnest::files::vault::disk::Disk as Overseen;

use super::disk::{Disk, Fault, Watch};
use super::reviewed;
use crate::changes::Op;
use crate::inside::{Person, write};
use crate::process::Result;

/// A command and its preparation.
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) args: &'static [&'static str],
    pub(super) prepare: fn(&Person, &Path) -> Result<()>,
    /// True if the vault's log is broken before the command.
    pub(super) is_broken: bool,
    /// The principal of the command.
    pub(super) who: &'static str,
    /// True if the command is a step of a review, or an event of a governed vault.
    pub(super) is_governed: bool,
}

impl Scene {
    /// Returns a command of a principal in an ungoverned vault with a sound log.
    pub(super) const fn by(
        name: &'static str,
        who: &'static str,
        args: &'static [&'static str],
        prepare: fn(&Person, &Path) -> Result<()>,
    ) -> Self {
        Self { name, args, prepare, is_broken: false, who, is_governed: false }
    }

    /// Returns the arguments, for a vault whose log has this form.
    pub(super) fn args(&self, form: Form) -> Vec<&'static str> {
        let word = |arg: &&'static str| if *arg == OTHER { form.other().word() } else { *arg };
        self.args.iter().map(word).collect()
    }

    /// Returns true if the log has the form that it must have in the end.
    pub(super) fn is_done(&self, root: &Path, form: Form) -> bool {
        !self.args.contains(&OTHER)
            || root.join(form.other().log()).exists() && !root.join(form.log()).exists()
    }
}

/// In a command, stands for the form that the log does not have.
const OTHER: &str = "OTHER";

/// The form of the log, and the setting for frontmatter. Changes are recorded in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Delta,
    Full,
    /// A delta log; live files stay as they are.
    Untouched,
}

impl Form {
    pub(super) const ALL: [Self; 3] = [Self::Delta, Self::Full, Self::Untouched];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Full => "full",
            Self::Untouched => "delta, files untouched",
        }
    }

    /// Returns the configuration of a vault of this form.
    pub(super) fn config(self) -> String {
        let (log, more) = match self {
            Self::Delta => ("delta", "audit:\n"),
            Self::Full => ("full", ""),
            Self::Untouched => ("delta", "frontmatter: untouched\n"),
        };
        format!(
            "version: 1\nname: vault\nlayout: structured\n{more}versions:\n  keyframe_interval: 3\n  checkpoint_log: {log}\n"
        )
    }

    fn other(self) -> Self {
        match self {
            Self::Delta | Self::Untouched => Self::Full,
            Self::Full => Self::Delta,
        }
    }

    /// Returns the path of the log.
    pub(super) fn log(self) -> &'static str {
        match self {
            Self::Delta | Self::Untouched => ".versions/checkpoints.jsonl",
            Self::Full => ".versions/context_history.yaml",
        }
    }
}

/// Returns every scene with every form that it is possible in; in a short run, those of reviews
/// with one.
pub(super) fn all(is_quick: bool) -> impl Iterator<Item = (&'static Scene, Form)> {
    let scenes = SCENES.iter().chain(&reviewed::SCENES);
    let all = scenes.flat_map(|scene| Form::ALL.map(|form| (scene, form)));
    all.filter(move |(scene, form)| match scene.is_governed {
        true => !is_quick || *form == Form::Delta,
        false => *form != Form::Untouched || !scene.args.contains(&OTHER),
    })
}

/// More documents than are synced one by one.
pub(super) const MANY: usize = 18;

/// The principal who publishes, and who edits in a governed vault.
pub(super) const ANA: &str = "ana@example.com";

const fn scene(
    name: &'static str,
    args: &'static [&'static str],
    prepare: fn(&Person, &Path) -> Result<()>,
) -> Scene {
    Scene::by(name, ANA, args, prepare)
}

static SCENES: [Scene; 14] = [
    scene("the first event", &["publish", "--all"], |_, _| Ok(())),
    scene("add", &["add", "nodes/new", "--body", "# New\n"], published),
    scene("publish one", &["publish", "nodes/d0"], edited),
    scene("publish a keyframe", &["publish", "nodes/d0"], keyframe_due),
    scene("publish many", &["publish", "--changed"], edited),
    scene("retire", &["retire", "nodes/d1", "nodes/d2"], published),
    scene("mv", &["mv", "nodes/d1", "nodes/else/d1"], published),
    scene("pack add", &["pack", "add", "p", "--query", "#x"], published),
    scene("index", &["index"], published),
    Scene {
        is_broken: true,
        ..scene("rebuild a cut log", &["checkpoint", "rebuild"], |person, root| {
            edited(person, root)?;
            person.done(root, &["publish", "--changed"])?;
            for log in [Form::Delta, Form::Full].map(|form| root.join(form.log())) {
                if let Ok(bytes) = std::fs::read(&log) {
                    std::fs::write(&log, &bytes[..bytes.len() - 500])?;
                }
            }
            Ok(())
        })
    },
    // The lines are the first one of a new writer, and another one that is durable before the text
    // leaves.
    scene("read, kept in the vault", &["read", "nodes/d0"], |person, root| {
        keeping_accesses(person, root, "async")
    }),
    scene("read, kept durably", &["read", "nodes/d0"], |person, root| {
        keeping_accesses(person, root, "sync")?;
        person.done(root, &["read", "nodes/d1"]).map(drop)
    }),
    scene("convert", &["checkpoint", "convert", "--to", OTHER], published),
    scene("recover", &["recover"], |person, root| {
        keyframe_due(person, root)?;
        die_within_the_history(person, root, &["publish", "nodes/d0"])
    }),
];

/// Makes the initial vault of a scene.
pub(super) fn begin(scene: &Scene, form: Form, person: &Person, root: &Path) -> Result<()> {
    person.done(root, &["init", "."])?;
    write(root, ".context/config.yaml", form.config())?;
    for n in 0..MANY {
        write(root, &format!("nodes/d{n}.md"), format!("# Document {n}\n\nfirst\n"))?;
    }
    (scene.prepare)(person, root)
}

pub(super) fn published(person: &Person, root: &Path) -> Result<()> {
    person.done(root, &["publish", "--all"]).map(drop)
}

/// Configures the vault to keep accesses.
fn keeping_accesses(person: &Person, root: &Path, durability: &str) -> Result<()> {
    let config = std::fs::read_to_string(root.join(".context/config.yaml"))?;
    let audit = format!("audit:\n  accesses: vault\n  durability: {durability}\n");
    write(root, ".context/config.yaml", config.replace("audit:\n", "") + &audit)?;
    published(person, root)
}

/// Publishes until the next version of a document is stored in full.
fn keyframe_due(person: &Person, root: &Path) -> Result<()> {
    published(person, root)?;
    write(root, "nodes/d0.md", "---\ntitle: d0\nversion: 1\n---\nbefore\n")?;
    person.done(root, &["publish", "nodes/d0"])?;
    let text = std::fs::read_to_string(root.join("nodes/d0.md"))?;
    write(root, "nodes/d0.md", text.replace("before", "after"))
}

/// Kills a command in the middle of an append to a history.
fn die_within_the_history(person: &Person, root: &Path, args: &[&str]) -> Result<()> {
    let home = person.home.clone().ok_or("nothing is remembered")?;
    let before = Disk::read(root, &home)?;
    let watch = Arc::new(Watch::new(None));
    person.ctx_on(Overseen::overseen(watch.clone()), root, args);
    let is_entry = |op: &Op| op.writes("nodes/.versions/d0/history.yaml");
    let at = watch.made().iter().position(is_entry).ok_or("no history was written")?;
    before.lay(root, &home)?;
    let watch = Arc::new(Watch::new(Some((u64::try_from(at)?, Fault::DiesWithin))));
    person.ctx_on(Overseen::overseen(watch), root, args);
    Ok(())
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
