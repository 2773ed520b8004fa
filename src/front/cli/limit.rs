//! `-n`, for every verb that prints a list.

use super::session::Session;
use crate::service::report::{Limited, Report};

/// The number of printed entries of a list.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct Limit {
    /// Print at most this many entries
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
}

impl Limit {
    /// Returns the limit of the user, or this one.
    pub(super) fn or(self, limit: usize) -> Self {
        Self { limit: self.limit.or(Some(limit)) }
    }

    /// Returns the number of entries that the user wants, if given.
    pub(super) fn entries(self) -> Option<usize> {
        self.limit
    }

    /// Cuts a list after its first entries; returns the number of omitted ones.
    pub(super) fn first<T>(self, entries: &mut Vec<T>) -> usize {
        let all = entries.len();
        entries.truncate(self.limit.unwrap_or(all));
        all - entries.len()
    }

    /// Cuts a list before its last entries; returns the number of omitted ones.
    pub(super) fn last<T>(self, entries: &mut Vec<T>) -> usize {
        let omitted = entries.len() - self.limit.unwrap_or(entries.len()).min(entries.len());
        entries.drain(..omitted);
        omitted
    }
}

/// Returns the note about a list that was cut.
pub(super) fn note(omitted: usize) -> Option<String> {
    (omitted > 0).then(|| format!("note: {omitted} more; `-n N` prints more of them"))
}

/// Prints a report of a list that was cut, as JSON or by `text`, and a note.
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

/// Returns a report of a list that was cut.
pub(super) fn report<R>(report: R, omitted: usize) -> Limited<R> {
    Limited { report, omitted }
}
