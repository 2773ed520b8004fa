//! Lines that this user wrote to logs in the vault, and that these lack (AUDIT-21, AUDIT-30).
//!
//! Each ref that git has checked out has writers of its own, whose last lines are kept in mind in a
//! folder of its own. Those of another ref may not be on this one yet: what is known of them is
//! damage only where a commit of this ref, or the file itself, shows that they were.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use super::chain::Logs;
use super::change::LostLines;
use super::cut::Cuts;
use super::end::End;
use super::fault::{Fault, FaultKind};
use super::find::Standing;
use super::last::LastLines;
use super::tails::Tails;
use super::writer::WriterId;
use crate::model::layout::{ACCESS_DIR, AUDIT_DIR};
use crate::model::visible::shown;
use crate::trust::{self, Memory};
use crate::vault::Vault;
use crate::vault::history::{Commits, History};
use crate::vault::outside;
use crate::words::count;

/// What this user wrote last as one writer.
struct Wrote {
    writer: WriterId,
    line: End,
    /// The last line that a power cut does not take.
    durable: End,
}

/// Lines of a writer that its log lacks.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    /// The writer.
    pub(super) writer: WriterId,
    /// The folder of state that knows of them.
    pub(super) memory: PathBuf,
    /// The number of the first and of the last of them.
    lines: [u64; 2],
    /// How the log stands to the last one.
    standing: Standing,
    kind: FaultKind,
    dir: &'static str,
    why: String,
}

impl Missing {
    /// The writer and the numbers, for people.
    pub(crate) fn named(&self) -> String {
        format!("{} of the writer {}", numbers(self.lines), self.writer)
    }

    /// The same, as a line of the change log says it.
    pub(crate) fn lost(&self) -> LostLines {
        let [from, to] = self.lines;
        LostLines { writer: self.writer.to_string(), from, to }
    }

    /// Whether it is given up where a user declares that the vault counts as it is. A file that goes
    /// further on another ref is not lost.
    pub(super) fn is_given_up(&self) -> bool {
        self.kind != FaultKind::Elsewhere || self.standing == Standing::Absent
    }

    fn is_unknown(&self) -> bool {
        self.kind == FaultKind::Elsewhere && self.standing == Standing::Absent
    }

    fn fault(&self) -> Fault {
        let file = format!("{}/{}", self.dir, self.writer.file(1));
        Fault { file, ..Fault::new(self.kind, 1, self.why.clone()) }
    }
}

/// What is missing, as faults: all files of other refs that are nowhere are one.
pub(crate) fn faults(missing: &[Missing]) -> Vec<Fault> {
    let unknown = missing.iter().filter(|one| one.is_unknown()).count();
    let mut is_told = false;
    let listed = missing.iter().filter_map(|one| {
        if !one.is_unknown() || unknown == 1 {
            return Some(one.fault());
        }
        let first = !std::mem::replace(&mut is_told, true);
        let why = || format!("{}; so it is of {}", one.why, count(unknown - 1, "other writer"));
        first.then(|| Fault { why: why(), ..one.fault() })
    });
    listed.collect()
}

fn numbers([from, to]: [u64; 2]) -> String {
    if from == to { format!("line {to}") } else { format!("lines {from} to {to}") }
}

/// The accesses of this user that the vault lacks, if they were not pruned.
///
/// # Errors
/// A log cannot be read.
pub(crate) fn accesses(vault: &Vault, cuts: &Cuts) -> io::Result<Vec<Missing>> {
    let read = |memory: &Memory| {
        let lines = LastLines::read_from(&memory.dir);
        let one = |last: &super::last::Last| Wrote {
            writer: last.writer.clone(),
            line: last.line.clone(),
            durable: last.durable.clone(),
        };
        lines.iter().map(one).collect()
    };
    let open = || Ok(Logs::none().with_accesses_in(vault)?.pruned_at(cuts.clone()));
    missing(vault, (ACCESS_DIR, &open), &read)
}

/// The changes of this user that the vault lacks.
///
/// # Errors
/// A log cannot be read.
pub(crate) fn changes(vault: &Vault) -> io::Result<Vec<Missing>> {
    let read = |memory: &Memory| {
        let (_, tails) = Tails::read_from(&memory.dir.join(outside::CHANGES));
        let one = |tail: &super::tails::Tail| {
            let line = End { seq: tail.seq, hash: tail.hash.clone() };
            Wrote { writer: tail.writer.clone(), durable: line.clone(), line }
        };
        tails.iter().map(one).collect()
    };
    missing(vault, (AUDIT_DIR, &|| Logs::of_changes(vault)), &read)
}

fn missing(
    vault: &Vault,
    (dir, open): (&'static str, &dyn Fn() -> io::Result<Logs>),
    read: &dyn Fn(&Memory) -> Vec<Wrote>,
) -> io::Result<Vec<Missing>> {
    let known: Vec<(Memory, Vec<Wrote>)> = trust::memories(vault)
        .into_iter()
        .map(|memory| {
            let wrote = read(&memory);
            (memory, wrote)
        })
        .collect();
    if known.iter().all(|(_, wrote)| wrote.is_empty()) {
        return Ok(Vec::new());
    }
    let logs = open()?;
    let mut found = Vec::new();
    let mut others = BTreeMap::new();
    for (memory, wrote) in known {
        for one in wrote {
            let durable = logs.standing(&one.writer, &one.durable)?;
            let (standing, is_durable) = match durable {
                Standing::Has => (logs.standing(&one.writer, &one.line)?, false),
                other => (other, true),
            };
            let end = if is_durable { &one.durable } else { &one.line };
            let from = match standing {
                Standing::Has => continue,
                Standing::Another => end.seq,
                Standing::Shorter(last) => last + 1,
                Standing::Absent => 1,
            };
            let (kind, why) = match (&standing, memory.is_binding) {
                (Standing::Another, _) => {
                    let why = "with another hash than the log has";
                    (
                        FaultKind::Rollback,
                        format!("this machine wrote line {} of the writer {why}", end.seq),
                    )
                }
                (_, true) if is_durable => {
                    let why = "which the log does not have";
                    (
                        FaultKind::Rollback,
                        format!("this machine wrote line {} of the writer, {why}", end.seq),
                    )
                }
                (_, true) => {
                    let why = "which a power cut may have taken, and the log does not have";
                    (
                        FaultKind::Torn,
                        format!("this machine wrote line {} of the writer, {why}", end.seq),
                    )
                }
                (_, false) => {
                    others.insert(found.len(), (memory.checked_out.clone(), end.hash.clone()));
                    (FaultKind::Elsewhere, String::new())
                }
            };
            let (writer, memory) = (one.writer.clone(), memory.dir.clone());
            let lines = [from, one.line.seq];
            found.push(Missing { writer, memory, lines, standing, kind, dir, why });
        }
    }
    judge(vault.history(), &mut found, &others);
    Ok(found.into_iter().filter(|one| !one.why.is_empty()).collect())
}

/// Says of the lines of writers of other refs whether they are lost here, with what git knows of
/// them. What is only on other refs, in a file of which this one has nothing, is no finding.
fn judge(
    history: &History,
    found: &mut [Missing],
    others: &BTreeMap<usize, (Option<String>, String)>,
) {
    if others.is_empty() {
        return;
    }
    let is_unborn = history.is_unborn();
    let pattern = |one: &Missing| format!("{}/{}*", one.dir, one.writer);
    let patterns: Vec<String> = others.keys().map(|at| pattern(&found[*at])).collect();
    let changed = |commits| match is_unborn {
        true => None,
        false => history.changed(commits, &patterns),
    };
    let here = changed(Commits::CheckedOut).unwrap_or_default();
    let is_absent = |at: &usize| found[*at].standing == Standing::Absent;
    let anywhere = match others.keys().any(is_absent) {
        true => changed(Commits::Any).unwrap_or_default(),
        false => String::new(),
    };
    for (at, (checked_out, hash)) in others {
        let one = &mut found[*at];
        let on = checked_out
            .as_deref()
            .map_or("another ref".to_owned(), |name| format!("`{}`", shown(name)));
        let wrote = format!("this machine wrote {} of the writer on {on}", numbers(one.lines));
        let writer = one.writer.to_string();
        let is_committed =
            here.contains(&writer) && history.has(Commits::CheckedOut, &pattern(one), hash);
        (one.kind, one.why) = if is_unborn || is_committed {
            let by = match is_committed {
                true => "a commit of what is checked out has",
                false => "no commit has, so that git did not take them away",
            };
            (FaultKind::Rollback, format!("{wrote}, which {by}, and the log does not"))
        } else if one.standing != Standing::Absent {
            let why = "which are not in the log here";
            (FaultKind::Elsewhere, format!("{wrote}, {why}"))
        } else if anywhere.contains(&writer) {
            (FaultKind::Elsewhere, String::new())
        } else {
            let why = "of which the vault has no file, and no commit that git names";
            (FaultKind::Elsewhere, format!("{wrote}, {why}"))
        };
    }
}
