//! `-n`, of every verb that prints a list.

use super::session::Session;
use crate::service::report::{Limited, Report};

/// How many entries of a list are printed.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct Limit {
    /// Print at most this many entries
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
}

impl Limit {
    /// The limit that the user gave, or this one.
    pub(super) fn or(self, limit: usize) -> Self {
        Self { limit: self.limit.or(Some(limit)) }
    }

    /// How many entries are wanted, where that was said.
    pub(super) fn entries(self) -> Option<usize> {
        self.limit
    }

    /// Cuts a list after its first entries; gives how many are left out.
    pub(super) fn first<T>(self, entries: &mut Vec<T>) -> usize {
        let all = entries.len();
        entries.truncate(self.limit.unwrap_or(all));
        all - entries.len()
    }

    /// Cuts a list before its last entries; gives how many are left out.
    pub(super) fn last<T>(self, entries: &mut Vec<T>) -> usize {
        let omitted = entries.len() - self.limit.unwrap_or(entries.len()).min(entries.len());
        entries.drain(..omitted);
        omitted
    }
}

/// What is said of a list that was cut.
pub(super) fn note(omitted: usize) -> Option<String> {
    (omitted > 0).then(|| format!("note: {omitted} more; `-n N` prints more of them"))
}

/// Prints a report of a list that was cut: as JSON, or as the text that `text` prints and a note.
pub(super) fn print<R: Report>(
    session: &mut Session<'_>,
    report: R,
    omitted: usize,
    text: impl FnOnce(&mut Session<'_>, &R),
) {
    session.print(&self::report(report, omitted), |session, limited| {
        text(session, &limited.report);
        note(omitted).iter().for_each(|note| session.ui.note(note));
    });
}

/// A report of a list that was cut.
pub(super) fn report<R>(report: R, omitted: usize) -> Limited<R> {
    Limited { report, omitted }
}
