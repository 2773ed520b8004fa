//! Recorded honest commands, so that the same vault can be made again, or one that differs in a
//! word, an author or a time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use contextnest::model::timestamp::Timestamp;

use super::forge::{Target, habits};
use crate::inside::{self, Said, copy, scratch};
use crate::process::Result;

/// Runs one command in a vault. `state` is the folder of trusted heads; `None` stores none.
pub(super) fn ctx(root: &Path, args: &[&str], state: Option<&Path>) -> Said {
    inside::ctx(root, args, state.map(|state| ("XDG_STATE_HOME", state.display().to_string())))
}

/// A change of a file by a person or an editor.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Write(String, String),
    Append(String, String),
}

impl Step {
    pub(super) fn path(&self) -> &str {
        let (Self::Write(path, _) | Self::Append(path, _)) = self;
        path
    }
}

/// The actions of one principal at one time.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// Milliseconds since 1970.
    pub(super) at: i64,
    pub(super) by: String,
    /// Changes of files, before the command.
    pub(super) steps: Vec<Step>,
    pub(super) args: Vec<String>,
}

impl Event {
    /// Returns the time as it is recorded.
    pub(super) fn time(&self) -> String {
        Timestamp::from_millis(self.at).to_string()
    }
}

/// The initial state of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// An empty folder.
    Empty,
    /// The vault of the reference implementation, with some of its habits added by hand.
    Interop,
}

/// The events that make a vault.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) start: Start,
    pub(super) events: Vec<Event>,
}

impl Script {
    /// Makes the vault in a folder that does not exist yet.
    pub(super) fn play(&self, root: &Path) -> Result<()> {
        fs::create_dir_all(root)?;
        if self.start == Start::Interop {
            let fixture = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
                .join("fixtures/interop/procurement");
            copy(&fixture, root)?;
            habits(&Target::at(root));
        }
        // The state directory identifies the writer of a change log.
        let state = scratch(root)?;
        let is_recorded = self.events.iter().any(|event| event.args[0] == "audit");
        let state = is_recorded.then(|| state.path());
        for event in &self.events {
            for step in &event.steps {
                let path = root.join(step.path());
                fs::create_dir_all(path.parent().unwrap_or(root))?;
                match step {
                    Step::Write(_, text) => fs::write(path, text)?,
                    Step::Append(_, text) => {
                        let before = fs::read_to_string(&path)?;
                        fs::write(path, before + text)?;
                    }
                }
            }
            let now = event.time();
            let mut args: Vec<&str> = event.args.iter().map(String::as_str).collect();
            // Making a vault records no principal.
            if args.first() != Some(&"init") {
                args.extend(["--as", &event.by]);
            }
            args.extend(["--now", &now]);
            let said = ctx(root, &args, state);
            if said.exit != 0 {
                return Err(said.complaint().into());
            }
        }
        Ok(())
    }
}

/// Returns the files that anyone relies on: the record and the live files, nothing derived or
/// local, and no change log, whose writer has a random name.
pub(super) fn tree(root: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(root)?.to_owned();
            let derived = [
                "context.yaml",
                ".context/audit",
                ".context/local",
                ".gitattributes",
                ".context/.gitignore",
            ];
            if derived.iter().any(|derived| name == Path::new(derived)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, fs::read(&path)?);
            }
        }
    }
    Ok(found)
}
