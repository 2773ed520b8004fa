//! Follows new lines of the logs in a folder, as their writers append them. Each look lists the
//! folder again, to find new writers and further files of a writer. An incomplete last line is read
//! when it is complete. Only a verifier checks whether lines follow each other.

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

/// Positions in the files of a folder of logs.
#[derive(Debug)]
pub struct Follower {
    folder: Folder,
    places: BTreeMap<String, FileProgress>,
    /// The files that cannot be read and were already reported.
    unread: BTreeSet<String>,
    /// The part of the lines that the reader may see.
    sight: Sight,
}

/// Position in a file.
#[derive(Debug, Default)]
struct FileProgress {
    /// Device and inode of the file. Pruning replaces the file by another one.
    identity: (u64, u64),
    /// Number of bytes that were read.
    end: u64,
    /// The number of the last line; 0 before the first line.
    last: u64,
}

impl FileProgress {
    fn at_end(file: &LogFile, writer: &WriterId) -> io::Result<Self> {
        let end = file.end_of_lines()?;
        let (line, _) = last_line(end, |from, length| file.part(from, length))?;
        let last = line.and_then(|line| end_of_line(&line, writer)).map_or(0, |end| end.seq);
        Ok(Self { identity: file.identity()?, end, last })
    }

    /// Finds the position in the file that now has the name. Pruning removes only older lines.
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

/// News of a log.
#[derive(Debug)]
pub enum New {
    /// A line that matches its hash.
    Line(Box<Line>),
    /// A line that cannot be read, or a change of a file other than an append.
    Fault {
        /// The name of the file.
        file: String,
        /// The reason, for people.
        why: String,
    },
}

/// Receives news of a log; returns false to stop.
pub type Take<'t> = &'t mut dyn FnMut(New) -> bool;

impl Follower {
    /// Begins after the last whole line of each file in a folder.
    ///
    /// # Errors
    /// Fails if the folder or a file cannot be read.
    pub fn at_end(dir: &Path) -> io::Result<Self> {
        Self::begin(Folder::Outside(dir.to_owned()))
    }

    /// Begins after the last whole line of each change log of a vault.
    ///
    /// # Errors
    /// Fails if the folder or a file cannot be read.
    pub fn of_changes(vault: &Vault) -> io::Result<Self> {
        Self::begin(Folder::of_changes(vault.files()))
    }

    /// Begins after the last whole line of each access log in a vault.
    ///
    /// # Errors
    /// Fails if the folder or a file cannot be read.
    pub fn of_accesses_in(vault: &Vault) -> io::Result<Self> {
        Self::begin(Folder::of_accesses(vault.files()))
    }

    fn begin(folder: Folder) -> io::Result<Self> {
        let mut places = BTreeMap::new();
        for (writer, firsts) in folder.files()? {
            for first in firsts {
                let name = writer.file(first);
                // A file that cannot be read is reported by `look`.
                let Ok(file) = folder.open(&name) else { continue };
                places.insert(name, FileProgress::at_end(&file, &writer)?);
            }
        }
        Ok(Self { folder, places, unread: BTreeSet::new(), sight: Sight::default() })
    }

    /// Returns the follower for a reader who may not see every line.
    #[must_use]
    pub fn seen_by(self, sight: Sight) -> Self {
        Self { sight, ..self }
    }

    /// Passes the lines since the last look to `take`; returns false if `take` stopped. A file that
    /// cannot be read, such as a link, is reported once and does not hide other files.
    ///
    /// # Errors
    /// Fails if the folder cannot be listed, or if a file that was opened cannot be read.
    pub fn look(&mut self, take: Take<'_>) -> io::Result<bool> {
        for (writer, firsts) in self.folder.files()? {
            for first in firsts {
                let name = writer.file(first);
                let file = match self.folder.open(&name) {
                    // The file was removed after the folder was listed.
                    Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
                    Err(why) => {
                        let why = cut(format!("cannot be read: {why}"));
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
                            Some(fault(format!("a line names another writer, {}", line.writer)))
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

    /// Returns the file name and the three lines of the first vector, which is a sound log.
    fn lines() -> (String, Vec<String>) {
        let cases = include_str!("../../../spec/vectors/audit/cases.json");
        let cases: serde_json::Value = serde_json::from_str(cases).unwrap();
        let (name, text) = cases[0]["files"].as_object().unwrap().iter().next().unwrap();
        let lines = text.as_str().unwrap().split_inclusive('\n').map(str::to_owned).collect();
        (name.clone(), lines)
    }

    /// Returns the numbers of new lines, and the faults.
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
    fn follow_reports_each_line_once_when_it_is_complete() {
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
        // A file of another writer, with lines of the first one.
        fs::write(folder.path().join(format!("{}.jsonl", "f".repeat(32))), &lines[0]).unwrap();
        let writer = name.trim_end_matches(".jsonl");
        assert_eq!(look(&mut follower), format!("a line names another writer, {writer}"));
        fs::write(&next, "").unwrap();
        assert_eq!(look(&mut follower), "the file was truncated");
        write("no line\n");
        assert!(look(&mut follower).starts_with("not in canonical form"));
    }

    #[test]
    fn follow_continues_in_a_pruned_file_after_the_last_line() {
        let folder = tempfile::tempdir().unwrap();
        let (name, lines) = lines();
        let path = folder.path().join(&name);
        // Like pruning: another file gets the name.
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
        // The line that was read last was also pruned.
        let mut follower = Follower::at_end(folder.path()).unwrap();
        follower.places.values_mut().for_each(|place| place.last = 2);
        replace(lines[2].clone());
        assert_eq!(look(&mut follower), "3");
    }

    #[test]
    fn follow_waits_for_a_folder_that_is_missing() {
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
