//! Lines that this user wrote to logs in the vault, but that are missing there
//! (AUDIT-21, AUDIT-30).
//!
//! Each ref that git has checked out has its own writers, and its own folder of state for their
//! last lines. Lines of another ref may not be on this ref yet. Their absence is damage only if a
//! commit of this ref, or the file itself, shows that they were here.

use std::io;
use std::path::PathBuf;

use super::chain::Logs;
use super::change::LostLines;
use super::cut::Cuts;
use super::fault::{Fault, FaultKind};
use super::find::Standing;
use crate::files::vault::Vault;
use crate::files::vault::git_past::{Commits, History};
use crate::files::vault::outside;
use crate::record::journal::{End, Last, LastLines, Tails, WriterId};
use crate::record::trusted_head::{self, Memory};
use crate::values::model::layout::{ACCESS_DIR, AUDIT_DIR};
use crate::values::model::visible::shown;
use crate::values::text_util::count;

/// The last line that this user wrote to a log in the vault, and the source of that knowledge.
pub(crate) struct Known {
    /// The folder of state for the ref that was checked out.
    pub(crate) memory: Memory,
    /// The folder of the log in the vault.
    pub(crate) dir: String,
    /// The last lines that this user wrote to it.
    pub(crate) wrote: Last,
}

/// Compares the log of a writer in a folder of the vault with a line.
pub(crate) type Stand<'s> = &'s dyn Fn(&str, &WriterId, &End) -> io::Result<Standing>;

/// Lines of a writer that are missing from its log.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    pub(crate) writer: WriterId,
    /// The folder of state that records them.
    pub(crate) memory: PathBuf,
    /// The numbers of the first and the last missing line.
    lines: [u64; 2],
    /// Result of comparing the log with the last line.
    standing: Standing,
    kind: FaultKind,
    /// The folder of the log in the vault.
    pub(crate) dir: String,
    why: String,
}

impl Missing {
    /// Returns the line numbers and the writer, for people.
    pub(crate) fn named(&self) -> String {
        format!("{} of the writer {}", numbers(self.lines), self.writer)
    }

    /// Returns the missing lines in the form of the change log.
    pub(crate) fn lost(&self) -> LostLines {
        let [from, to] = self.lines;
        LostLines { writer: self.writer.to_string(), from, to }
    }

    /// Returns true if the lines are given up when a user declares the vault valid as it is. A file
    /// that is longer on another ref is not lost.
    pub(crate) fn is_given_up(&self) -> bool {
        self.kind != FaultKind::Elsewhere || self.standing == Standing::Absent
    }

    /// Returns true if the absence is damage. Lines of another ref are not lost.
    pub(crate) fn is_damage(&self) -> bool {
        self.kind.is_damage()
    }

    fn is_unknown(&self) -> bool {
        self.kind == FaultKind::Elsewhere && self.standing == Standing::Absent
    }

    fn fault(&self) -> Fault {
        let file = format!("{}/{}", self.dir, self.writer.file(1));
        Fault { file, ..Fault::new(self.kind, 1, self.why.clone()) }
    }
}

/// Returns the faults of missing lines. All unknown files of other refs are one fault.
pub(crate) fn faults(missing: &[Missing]) -> Vec<Fault> {
    let unknown = missing.iter().filter(|one| one.is_unknown()).count();
    let mut is_told = false;
    let listed = missing.iter().filter_map(|one| {
        if !one.is_unknown() || unknown == 1 {
            return Some(one.fault());
        }
        let first = !std::mem::replace(&mut is_told, true);
        let why = || format!("{}; likewise for {}", one.why, count(unknown - 1, "other writer"));
        first.then(|| Fault { why: why(), ..one.fault() })
    });
    listed.collect()
}

fn numbers([from, to]: [u64; 2]) -> String {
    if from == to { format!("line {to}") } else { format!("lines {from} to {to}") }
}

/// Returns the accesses of this user that are missing from the vault and were not pruned.
///
/// # Errors
/// Fails if a log cannot be read.
pub(crate) fn accesses(vault: &Vault, cuts: &Cuts) -> io::Result<Vec<Missing>> {
    let read = |memory: &Memory| LastLines::read_from(&memory.dir).iter().cloned().collect();
    let open = || Ok(Logs::none().with_accesses_in(vault)?.pruned_at(cuts.clone()));
    of_logs(vault, (ACCESS_DIR, &open), &read)
}

/// Returns the changes of this user that are missing from the vault.
///
/// # Errors
/// Fails if a log cannot be read.
pub(crate) fn changes(vault: &Vault) -> io::Result<Vec<Missing>> {
    let read = |memory: &Memory| {
        let (_, tails) = Tails::read_from(&memory.dir.join(outside::CHANGES));
        tails.iter().map(Last::from).collect()
    };
    of_logs(vault, (AUDIT_DIR, &|| Logs::of_changes(vault)), &read)
}

fn of_logs(
    vault: &Vault,
    (dir, open): (&str, &dyn Fn() -> io::Result<Logs>),
    read: &dyn Fn(&Memory) -> Vec<Last>,
) -> io::Result<Vec<Missing>> {
    let of_memory = |memory: Memory| {
        let known = |wrote| Known { memory: memory.clone(), dir: dir.to_owned(), wrote };
        read(&memory).into_iter().map(known).collect::<Vec<_>>()
    };
    let known: Vec<Known> = trusted_head::memories(vault).into_iter().flat_map(of_memory).collect();
    if known.is_empty() {
        return Ok(Vec::new());
    }
    let logs = open()?;
    missing(vault, known, &|_, writer, end| logs.standing(writer, end))
}

/// Returns the lines in `known` that are missing from logs in a vault.
///
/// # Errors
/// Fails if a log cannot be read.
pub(crate) fn missing(
    vault: &Vault,
    known: Vec<Known>,
    stand: Stand<'_>,
) -> io::Result<Vec<Missing>> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    for one in known {
        let checked_out = one.memory.checked_out.clone();
        let Some(missing) = compare(stand, one)? else { continue };
        if missing.standing != Standing::Another && missing.kind != FaultKind::Rollback {
            open.push((found.len(), checked_out));
        }
        found.push(missing);
    }
    judge(vault.history(), &mut found, &open);
    Ok(found.into_iter().filter(|one| !one.why.is_empty()).collect())
}

/// Compares a log with the recorded last lines of a writer, without git.
fn compare(
    stand: Stand<'_>,
    Known { memory, dir, wrote: Last { writer, line, durable } }: Known,
) -> io::Result<Option<Missing>> {
    let (standing, is_durable) = match stand(&dir, &writer, &durable)? {
        Standing::Has => (stand(&dir, &writer, &line)?, false),
        other => (other, true),
    };
    let end = if is_durable { durable.seq } else { line.seq };
    let from = match standing {
        Standing::Has => return Ok(None),
        Standing::Another => end,
        Standing::Shorter(last) => last + 1,
        Standing::Absent => 1,
    };
    let (kind, why) = match (standing, memory.is_binding, is_durable) {
        (Standing::Another, ..) => (FaultKind::Rollback, ", but the log has another hash for it"),
        (_, true, true) => (FaultKind::Rollback, ", which the log does not have"),
        (_, true, false) => {
            (FaultKind::Torn, ", which the log does not have, perhaps because of a power cut")
        }
        (_, false, _) => (FaultKind::Elsewhere, ""),
    };
    let why = match why {
        "" => String::new(),
        why => format!("this machine wrote line {end} of the writer{why}"),
    };
    let (memory, lines) = (memory.dir, [from, line.seq]);
    Ok(Some(Missing { writer, memory, lines, standing, kind, dir, why }))
}

impl Missing {
    /// Returns the pattern of the writer's files, for git.
    fn pattern(&self) -> String {
        format!("{}/{}*", self.dir, self.writer)
    }

    /// Returns a pattern for the first missing line, which every commit with a longer log contains.
    /// Quotes in texts are escaped, and the number of a cut is followed by the writer.
    fn first_line(&self) -> String {
        format!("\"seq\":{},\"[^w]", self.lines[0])
    }
}

/// Decides with the history of git whether the lines in `open` are lost: a power cut may have
/// removed them, or they may have been written on other refs. Lines that are only on other refs, of
/// a writer without a file here, are not a finding.
fn judge(history: &History, found: &mut [Missing], open: &[(usize, Option<String>)]) {
    if open.is_empty() {
        return;
    }
    let is_unborn = history.is_unborn();
    let patterns: Vec<String> = open.iter().map(|(at, _)| found[*at].pattern()).collect();
    let changed = |commits| match is_unborn {
        true => String::new(),
        false => history.changed(commits, &patterns).unwrap_or_default(),
    };
    let here = changed(Commits::CheckedOut);
    let anywhere = match open.iter().any(|(at, _)| found[*at].is_unknown()) {
        true => changed(Commits::Any),
        false => String::new(),
    };
    for (at, checked_out) in open {
        let one = &mut found[*at];
        let name = |name: &str| format!(" on `{}`", shown(name));
        let on = checked_out.as_deref().map(name).unwrap_or_default();
        let wrote = format!("this machine wrote {} of the writer{on}", numbers(one.lines));
        let writer = one.writer.to_string();
        let is_committed = here.contains(&writer)
            && history.has(Commits::CheckedOut, &one.pattern(), &one.first_line());
        let is_absent = one.standing == Standing::Absent;
        (one.kind, one.why) = match one.kind {
            _ if is_committed => {
                let why = "which a commit of the checked-out history has, but the log does not";
                (FaultKind::Rollback, format!("{wrote}, {why}"))
            }
            FaultKind::Elsewhere if is_unborn => {
                let why = "which git cannot have removed, because nothing is committed";
                (FaultKind::Rollback, format!("{wrote}, {why}"))
            }
            FaultKind::Elsewhere if !is_absent => {
                (FaultKind::Elsewhere, format!("{wrote}, which are not in the log here"))
            }
            FaultKind::Elsewhere if !anywhere.contains(&writer) => {
                let why = "but neither the vault nor a commit that git names has its file";
                (FaultKind::Elsewhere, format!("{wrote}, {why}"))
            }
            kind => (kind, std::mem::take(&mut one.why)),
        };
    }
}
