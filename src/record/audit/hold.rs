//! Legal holds: accesses that must not be pruned, and why (AUDIT-29). A hold is a file beside the
//! access logs of a machine, and a line of the change log. Either of them holds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::change::{Change, Hold};
use super::event::Event;
use super::filter::Filter;
use super::line::Line;
use crate::files::vault::disk::Disk;
use crate::files::vault::outside;

/// The version of the form of a file.
const FORM: u64 = 1;
/// How the names of files end.
const ENDING: &str = ".hold.json";
/// Where a file is written before it gets its name.
const TEMPORARY: &str = ".holding";
/// More bytes than any file of ours has.
const LIMIT: u64 = 64 << 10;

/// A hold that is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedHold {
    /// The version of this form.
    v: u64,
    /// When it was placed.
    pub at: String,
    /// Who placed it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<String>,
    /// What is held.
    #[serde(flatten)]
    pub hold: Hold,
}

impl Hold {
    /// A filter of the lines that are held. What it does not understand holds every line.
    fn filter(&self) -> Filter {
        Filter {
            session: self.session.clone(),
            agent: self.agent.clone(),
            principal: self.principal.clone(),
            document: self.document.as_ref().and_then(|id| id.parse().ok()),
            ..Filter::default()
        }
    }
}

impl PlacedHold {
    /// A hold that is placed now.
    pub fn new(at: String, by: Option<String>, hold: Hold) -> Self {
        Self { v: FORM, at, by, hold }
    }
}

/// The holds that are in force.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    by_id: BTreeMap<String, PlacedHold>,
}

impl Holds {
    /// The holds of files in the folder of access logs, and of lines of the change logs. A line
    /// that lifts a hold, and counts, ends what lines say, but not a file: each machine lifts its own.
    ///
    /// # Errors
    /// The folder or a file cannot be read, so that it is not known what is held.
    pub fn read(
        dir: Option<&Path>,
        changes: &[Line],
        counts: &dyn Fn(&Line, (&Line, &Hold)) -> bool,
    ) -> io::Result<Self> {
        let (mut lifts, mut placed_by) = (Vec::new(), BTreeMap::new());
        let mut holds = Self::default();
        for line in changes {
            match &line.event {
                Event::Change(Change::Hold { hold }) => {
                    let by = line.request.principal.clone();
                    let placed = PlacedHold::new(line.at.clone(), by, hold.clone());
                    holds.by_id.insert(hold.id.clone(), placed);
                    placed_by.insert(hold.id.as_str(), (line, hold));
                }
                Event::Change(Change::Lift { lifted, .. }) => lifts.push((lifted, line)),
                _ => {}
            }
        }
        for (id, line) in lifts {
            if placed_by.get(id.as_str()).is_some_and(|placed| counts(line, *placed)) {
                holds.by_id.remove(id);
            }
        }
        for placed in dir.map_or_else(|| Ok(Vec::new()), in_folder)? {
            holds.by_id.insert(placed.hold.id.clone(), placed);
        }
        Ok(holds)
    }

    /// Each, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &PlacedHold> {
        self.by_id.values()
    }

    /// Those of them that are wanted.
    #[must_use]
    pub fn filtered(mut self, is_wanted: impl Fn(&PlacedHold) -> bool) -> Self {
        self.by_id.retain(|_, placed| is_wanted(placed));
        self
    }

    /// The hold with a name.
    pub fn get(&self, id: &str) -> Option<&PlacedHold> {
        self.by_id.get(id)
    }

    /// The test of every hold.
    pub(super) fn tests(&self) -> Vec<HoldTest<'_>> {
        let test = |placed: &'_ PlacedHold| (placed.hold.filter(), placed.hold.trace.clone());
        self.iter()
            .map(|placed| {
                let (filter, trace) = test(placed);
                HoldTest { id: &placed.hold.id, filter, trace }
            })
            .collect()
    }
}

/// Which lines a hold holds.
pub(super) struct HoldTest<'h> {
    pub(super) id: &'h str,
    filter: Filter,
    trace: Option<String>,
}

impl HoldTest<'_> {
    /// Whether a line is held.
    pub(super) fn holds(&self, line: &Line) -> bool {
        let is_it = |trace: &String| {
            line.trace().to_string() == *trace || line.cause.as_ref() == Some(trace)
        };
        self.trace.as_ref().is_none_or(is_it) && self.filter.wants(line)
    }
}

fn in_folder(dir: &Path) -> io::Result<Vec<PlacedHold>> {
    let entries = match fs::read_dir(dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut holds = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.strip_suffix(ENDING)) else { continue };
        let failed = |why: String| io::Error::other(format!("the hold `{id}`: {why}"));
        let mut text = String::new();
        let read = || File::open(entry.path())?.take(LIMIT).read_to_string(&mut text);
        let mut read = read;
        read().map_err(|why| failed(why.to_string()))?;
        let placed: PlacedHold =
            serde_json::from_str(&text).map_err(|why| failed(why.to_string()))?;
        if placed.v != FORM || placed.hold.id != id {
            return Err(failed("it is of another form, or has another name".to_owned()));
        }
        holds.push(placed);
    }
    Ok(holds)
}

/// Writes the file of a hold, durable.
///
/// # Errors
/// It could not be written.
pub(crate) fn place(dir: &Path, disk: &Disk, placed: &PlacedHold) -> io::Result<()> {
    outside::make_private(dir)?;
    let (new, name) = (dir.join(TEMPORARY), format!("{}{ENDING}", placed.hold.id));
    let _ = fs::remove_file(&new);
    let text = serde_jcs::to_vec(placed)?;
    let file = disk.create_outside(&new)?;
    disk.write(&file, &new.to_string_lossy(), 0, &text)?;
    disk.sync(&file, &new.to_string_lossy())?;
    disk.rename_outside(&new, &dir.join(name))?;
    Ok(disk.sync(File::open(dir)?, &dir.to_string_lossy())?)
}

/// Removes the file of a hold, if there is one.
///
/// # Errors
/// It could not be removed.
pub(crate) fn lift(dir: &Path, disk: &Disk, id: &str) -> io::Result<()> {
    match disk.remove_outside(&dir.join(format!("{id}{ENDING}"))) {
        Err(why) if why == rustix::io::Errno::NOENT => Ok(()),
        other => Ok(other?),
    }
}
