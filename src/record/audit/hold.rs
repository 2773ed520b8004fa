//! Legal holds: accesses that must not be pruned, with a reason (AUDIT-29). A hold is a file next
//! to the access logs of a machine, and a line of the change log. Either of them is sufficient.

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

/// Version of the format of a file.
const FORM: u64 = 1;
/// Suffix of the names of files.
const ENDING: &str = ".hold.json";
/// Name of a file until it is renamed.
const TEMPORARY: &str = ".holding";
/// Maximum length of a file in bytes.
const LIMIT: u64 = 64 << 10;

/// A hold that is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedHold {
    /// Version of this format.
    v: u64,
    /// The time when the hold was placed.
    pub at: String,
    /// The principal who placed it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<String>,
    /// The held accesses, and the reason.
    #[serde(flatten)]
    pub hold: Hold,
}

impl Hold {
    /// Returns a filter for the held lines. A field that cannot be parsed is ignored: the hold then
    /// matches more lines.
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
    /// Returns a hold in the current format.
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
    /// Reads the holds in the folder of access logs, and those in lines of the change logs. A line
    /// that lifts a hold, and is valid by `counts`, ends only holds in lines. A file remains in
    /// force: each machine lifts its own.
    ///
    /// # Errors
    /// Fails if the folder or a file cannot be read, because the holds are then not known.
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

    /// Iterates over the holds in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &PlacedHold> {
        self.by_id.values()
    }

    /// Returns the holds that satisfy a condition.
    #[must_use]
    pub fn filtered(mut self, is_wanted: impl Fn(&PlacedHold) -> bool) -> Self {
        self.by_id.retain(|_, placed| is_wanted(placed));
        self
    }

    /// Returns the hold with an id.
    pub fn get(&self, id: &str) -> Option<&PlacedHold> {
        self.by_id.get(id)
    }

    /// Returns the test of every hold.
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

/// Test for the lines that a hold holds.
pub(super) struct HoldTest<'h> {
    pub(super) id: &'h str,
    filter: Filter,
    trace: Option<String>,
}

impl HoldTest<'_> {
    /// Returns true if a line is held.
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
            return Err(failed("unknown format, or the id is not the file name".to_owned()));
        }
        holds.push(placed);
    }
    Ok(holds)
}

/// Writes and syncs the file of a hold.
///
/// # Errors
/// Fails if the file could not be written.
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
/// Fails if the file could not be removed.
pub(crate) fn lift(dir: &Path, disk: &Disk, id: &str) -> io::Result<()> {
    match disk.remove_outside(&dir.join(format!("{id}{ENDING}"))) {
        Err(why) if why == rustix::io::Errno::NOENT => Ok(()),
        other => Ok(other?),
    }
}
