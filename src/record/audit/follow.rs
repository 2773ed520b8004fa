//! New lines of the logs in a folder, as their writers append them. Every look lists the folder
//! again, so that new writers and further files of a writer are met; a last line without an end is
//! waited for. Whether lines follow each other is for a verifier.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::blocks::{Ending, LineReader, LogFile};
use super::end::end_of_line;
use super::fault::{cut, writer_of};
use super::find::begin_of;
use super::folder::Folder;
use super::line::Line;
use super::sight::Sight;
use crate::files::vault::Vault;
use crate::record::journal::{WriterId, last_line};

/// A place in each file of a folder of logs.
#[derive(Debug)]
pub struct Follower {
    folder: Folder,
    places: BTreeMap<String, FileProgress>,
    /// The files that cannot be read, which were told of.
    unread: BTreeSet<String>,
    /// What of its lines may be seen.
    sight: Sight,
}

/// What was read of a file.
#[derive(Debug, Default)]
struct FileProgress {
    /// Which file it was: pruning puts another one in its place.
    identity: (u64, u64),
    /// How many bytes.
    end: u64,
    /// The number of the last line; 0 before the first.
    last: u64,
}

impl FileProgress {
    fn at_end(file: &LogFile, writer: &WriterId) -> io::Result<Self> {
        let end = file.end_of_lines()?;
        let (line, _) = last_line(end, |from, length| file.part(from, length))?;
        let last = line.and_then(|line| end_of_line(&line, writer)).map_or(0, |end| end.seq);
        Ok(Self { identity: file.identity()?, end, last })
    }

    /// The same place in the file that is there now. Of one that was pruned only older lines are
    /// gone.
    fn find_in(&mut self, file: &LogFile) -> io::Result<()> {
        let identity = file.identity()?;
        if identity != self.identity {
            let begin = begin_of(file, self.last)?;
            let after = |begin| LineReader::new(file).line_after(begin);
            self.end = begin.map(after).transpose()?.unwrap_or(0);
            self.identity = identity;
        }
        Ok(())
    }
}

/// What is new in a log.
#[derive(Debug)]
pub enum New {
    /// A line that is what its hash says.
    Line(Box<Line>),
    /// A line that is none, or another change of a file.
    Fault {
        /// The file.
        file: String,
        /// What it is.
        why: String,
    },
}

/// Takes what is new, and says whether to go on.
pub type Take<'t> = &'t mut dyn FnMut(New) -> bool;

impl Follower {
    /// Begins after the last whole line of each file.
    ///
    /// # Errors
    /// The folder or a file cannot be read.
    pub fn at_end(dir: &Path) -> io::Result<Self> {
        Self::begin(Folder::Outside(dir.to_owned()))
    }

    /// The same in the change logs of a vault.
    ///
    /// # Errors
    /// The folder or a file cannot be read.
    pub fn of_changes(vault: &Vault) -> io::Result<Self> {
        Self::begin(Folder::of_changes(vault.files()))
    }

    /// The same in the logs of accesses that a vault has.
    ///
    /// # Errors
    /// The folder or a file cannot be read.
    pub fn of_accesses_in(vault: &Vault) -> io::Result<Self> {
        Self::begin(Folder::of_accesses(vault.files()))
    }

    fn begin(folder: Folder) -> io::Result<Self> {
        let mut places = BTreeMap::new();
        for (writer, firsts) in folder.files()? {
            for first in firsts {
                let name = writer.file(first);
                // One that cannot be read is told of when it is looked at.
                let Ok(file) = folder.open(&name) else { continue };
                places.insert(name, FileProgress::at_end(&file, &writer)?);
            }
        }
        Ok(Self { folder, places, unread: BTreeSet::new(), sight: Sight::default() })
    }

    /// The same for a reader who may not see every line.
    #[must_use]
    pub fn seen_by(self, sight: Sight) -> Self {
        Self { sight, ..self }
    }

    /// Hands out what was appended since the last look. Gives whether to go on. What has the name of a
    /// file and cannot be read, as a link, hides no other file: it is told of once.
    ///
    /// # Errors
    /// The folder cannot be listed, or a file that was opened not be read.
    pub fn look(&mut self, take: Take<'_>) -> io::Result<bool> {
        for (writer, firsts) in self.folder.files()? {
            for first in firsts {
                let name = writer.file(first);
                let file = match self.folder.open(&name) {
                    // It was there when the folder was listed.
                    Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
                    Err(why) => {
                        let why = cut(format!("it cannot be read: {why}"));
                        let is_told = !self.unread.insert(name.clone());
                        if is_told || take(New::Fault { file: name, why }) {
                            continue;
                        }
                        return Ok(false);
                    }
                    Ok(file) => file,
                };
                self.unread.remove(&name);
                if !self.look_at(&name, &file, take)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn look_at(&mut self, name: &str, file: &LogFile, take: Take<'_>) -> io::Result<bool> {
        let (sight, folder) = (&self.sight, &self.folder);
        let place = self.places.entry(name.to_owned()).or_default();
        place.find_in(file)?;
        let fault = |why: String| New::Fault { file: name.to_owned(), why: cut(why) };
        if file.length() < place.end {
            place.end = file.end_of_lines()?;
            return Ok(take(fault("the file was truncated".to_owned())));
        }
        if file.length() == place.end {
            return Ok(true);
        }
        let mut lines = LineReader::new(file);
        lines.go_to(place.end)?;
        loop {
            let (bytes, new) = match lines.next()? {
                Ending::Line(bytes) => (
                    bytes.len() as u64 + 1,
                    match Line::read(bytes) {
                        Ok((line, _)) if writer_of(name) == line.writer => {
                            place.last = line.seq;
                            sight.of(line, folder).map(|line| New::Line(Box::new(line)))
                        }
                        Ok((line, _)) => {
                            Some(fault(format!("a line is of the writer {}", line.writer)))
                        }
                        Err(why) => Some(fault(why.to_string())),
                    },
                ),
                Ending::TooLong(bytes) => {
                    (bytes, Some(fault("a line is longer than 16 MiB".to_owned())))
                }
                Ending::None => return Ok(true),
            };
            place.end += bytes;
            if new.is_some_and(|new| !take(new)) {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test writes its own logs")]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;

    use super::*;

    /// The lines of the first vector: a sound log of three.
    fn lines() -> (String, Vec<String>) {
        let cases = include_str!("../../../spec/vectors/audit/cases.json");
        let cases: serde_json::Value = serde_json::from_str(cases).unwrap();
        let (name, text) = cases[0]["files"].as_object().unwrap().iter().next().unwrap();
        let lines = text.as_str().unwrap().split_inclusive('\n').map(str::to_owned).collect();
        (name.clone(), lines)
    }

    /// The numbers of new lines, and what is wrong.
    fn look(follower: &mut Follower) -> String {
        let mut seen = Vec::new();
        follower
            .look(&mut |new| {
                seen.push(match new {
                    New::Line(line) => line.seq.to_string(),
                    New::Fault { why, .. } => why,
                });
                true
            })
            .unwrap();
        seen.join(" ")
    }

    #[test]
    fn lines_are_handed_out_once_when_they_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (name, lines) = lines();
        let path = folder.path().join(&name);
        let (half, rest) = lines[1].split_at(50);
        let write = |text: &str| {
            let mut options = OpenOptions::new();
            let mut file = options.append(true).create(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        write(&lines[0]);
        write(half);
        let mut follower = Follower::at_end(folder.path()).unwrap();
        assert_eq!(look(&mut follower), "");
        write(rest);
        assert_eq!(look(&mut follower), "2");
        // The next file of the writer.
        let next = folder.path().join(name.replace(".jsonl", ".3.jsonl"));
        fs::write(&next, &lines[2]).unwrap();
        assert_eq!(look(&mut follower), "3");
        assert_eq!(look(&mut follower), "");
        // Another writer, whose lines are not its own.
        fs::write(folder.path().join(format!("{}.jsonl", "f".repeat(32))), &lines[0]).unwrap();
        let writer = name.trim_end_matches(".jsonl");
        assert_eq!(look(&mut follower), format!("a line is of the writer {writer}"));
        fs::write(&next, "").unwrap();
        assert_eq!(look(&mut follower), "the file was truncated");
        write("no line\n");
        assert!(look(&mut follower).starts_with("not in canonical form"));
    }

    #[test]
    fn a_file_that_was_pruned_is_followed_from_the_line_that_was_read_last() {
        let folder = tempfile::tempdir().unwrap();
        let (name, lines) = lines();
        let path = folder.path().join(&name);
        // As pruning does it: another file gets the name.
        let replace = |text: String| {
            let new = folder.path().join("new");
            fs::write(&new, text).unwrap();
            fs::rename(&new, &path).unwrap();
        };
        fs::write(&path, lines[..2].concat()).unwrap();
        let mut follower = Follower::at_end(folder.path()).unwrap();
        replace(lines[1].clone());
        assert_eq!(look(&mut follower), "");
        replace(lines[1..].concat());
        assert_eq!(look(&mut follower), "3");
        // The line that was read last is gone, too.
        let mut follower = Follower::at_end(folder.path()).unwrap();
        follower.places.values_mut().for_each(|place| place.last = 2);
        replace(lines[2].clone());
        assert_eq!(look(&mut follower), "3");
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("logs");
        let mut follower = Follower::at_end(&dir).unwrap();
        assert_eq!(look(&mut follower), "");
        let (name, lines) = lines();
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(name), lines.concat()).unwrap();
        let mut count = 0;
        let goes_on = follower.look(&mut |_| {
            count += 1;
            count < 2
        });
        assert!(!goes_on.unwrap());
        assert_eq!(look(&mut follower), "3");
    }
}
