//! Logs of a vault as they were at a revision of git. They must be the beginning of the present
//! ones (VER-42).

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;

use super::chain::Logs;
use super::find::Standing;
use crate::record::journal::{End, WriterId};
use crate::values::model::layout::{ACCESS_DIR, AUDIT_DIR, STAGING_CHAINS};

/// The audit logs and staging chains of a vault at a revision, by folder and writer.
#[derive(Clone, Debug, Default)]
pub(crate) struct PastLogs(BTreeMap<(String, WriterId), PastLog>);

/// A log or a staging chain of one writer at a revision.
#[derive(Clone, Debug)]
pub(crate) struct PastLog {
    /// The file with the last line.
    pub(crate) path: String,
    /// The last line.
    pub(crate) last: End,
    lines: Vec<PastLine>,
}

/// The members of a line that are compared.
#[derive(Clone, Debug, Deserialize)]
struct PastLine {
    seq: u64,
    hash: String,
    at: String,
}

impl PastLine {
    fn end(&self) -> End {
        End { seq: self.seq, hash: self.hash.clone() }
    }
}

/// Returns true if a file of the vault has lines of a log or a staging chain.
pub(crate) fn is_log(path: &str) -> bool {
    place_of(path).is_some()
}

fn place_of(path: &str) -> Option<(&str, WriterId)> {
    let (dir, name) = path.rsplit_once('/')?;
    let (writer, _) = WriterId::of_file(name)?;
    let is_chain = || dir.strip_prefix(STAGING_CHAINS).is_some_and(|id| id.starts_with('/'));
    (dir == AUDIT_DIR || dir == ACCESS_DIR || is_chain()).then_some((dir, writer))
}

impl PastLogs {
    /// Adds the lines of a file. Lines that cannot be read are skipped, such as an incomplete one
    /// at the end.
    pub(crate) fn add(&mut self, path: &str, bytes: &[u8]) {
        let Some((dir, writer)) = place_of(path) else { return };
        let whole = bytes.split_inclusive(|b| *b == b'\n').filter(|line| line.ends_with(b"\n"));
        let read = |line| serde_json::from_slice::<PastLine>(line).ok();
        let lines: Vec<PastLine> = whole.filter_map(read).collect();
        let Some(last) = lines.last().map(PastLine::end) else { return };
        let of = |last| PastLog { path: path.to_owned(), last, lines: Vec::new() };
        let log = self.0.entry((dir.to_owned(), writer)).or_insert_with(|| of(last.clone()));
        if log.last.seq < last.seq {
            (log.path, log.last) = (path.to_owned(), last);
        }
        log.lines.extend(lines);
    }

    /// Returns true if the change log of a writer had a line with this number.
    pub(crate) fn has_line(&self, writer: &str, seq: u64) -> bool {
        self.logs_in(AUDIT_DIR).any(|(of, log)| of.is(writer) && seq <= log.last.seq)
    }

    /// Returns the staging chains, with their folders and writers.
    pub(crate) fn chains(&self) -> impl Iterator<Item = (&str, &WriterId, &PastLog)> {
        let all = self.0.iter().map(|((dir, writer), log)| (dir.as_str(), writer, log));
        all.filter(|(dir, ..)| dir.starts_with(STAGING_CHAINS))
    }

    /// Returns the logs in a folder, with their writers.
    pub(crate) fn logs_in(&self, dir: &str) -> impl Iterator<Item = (&WriterId, &PastLog)> {
        let all = self.0.iter().filter(move |((of, _), _)| of == dir);
        all.map(|((_, writer), log)| (writer, log))
    }
}

impl Logs {
    /// Returns the number of a line of the past that the log of its writer lacks, and how the log
    /// compares with it. Each line names the hash of the line before it, so the last line suffices.
    ///
    /// A line that was pruned is not lacking if its cut is sound: the line is older than the time of
    /// the cut, and the log goes on after the cut (AUDIT-27).
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(crate) fn lacks(
        &self,
        writer: &WriterId,
        past: &PastLog,
    ) -> io::Result<Option<(u64, Standing)>> {
        let cuts = self.cuts().of_writer(&writer.to_string());
        let end = match self.files.get(writer).filter(|_| !cuts.is_empty()) {
            Some(files) => self.last_of(writer, files)?,
            None => 0,
        };
        let cut = cuts.iter().map(|cut| cut.seq).max().unwrap_or(0);
        // Times are written in one form, so they compare as texts.
        let is_pruned = |line: &&PastLine| {
            let mut cuts = cuts.iter().filter(|cut| line.seq <= cut.seq && cut.seq < end);
            cuts.any(|cut| line.at < cut.before)
        };
        let is_asked = |line: &&PastLine| line.seq <= cut || line.seq == past.last.seq;
        for line in past.lines.iter().filter(is_asked).filter(|line| !is_pruned(line)) {
            match self.unpruned(writer, &line.end())? {
                Standing::Has => {}
                other => return Ok(Some((line.seq, other))),
            }
        }
        Ok(None)
    }
}
