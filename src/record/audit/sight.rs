//! Limits the lines of logs that a reader may see (`spec/review.md`, REV-26). The caller provides
//! the rule, and a module that reads logs for a report receives only the visible lines.

use std::fmt;
use std::sync::Arc;

use super::event::{Event, Query};
use super::folder::Folder;
use super::line::{Arguments, Line};

/// Returns the visible part of a line in a folder; `None` if the reader may not see the line.
type See = dyn Fn(Line, &Folder) -> Option<Line> + Send + Sync;

/// Rule for the lines that a reader may see. The default is every line.
#[derive(Clone, Default)]
pub struct Sight(Option<Arc<See>>);

impl Sight {
    /// Limits the lines to those that a rule returns.
    pub(crate) fn limited(
        see: impl Fn(Line, &Folder) -> Option<Line> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(see)))
    }

    /// Limits the visible lines further, to those that satisfy `keep`.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub(crate) fn only(self, keep: impl Fn(&Line) -> bool + Send + Sync + 'static) -> Self {
        Self::limited(move |line, folder| self.of(line, folder).filter(|line| keep(line)))
    }

    /// Returns true if some lines may be hidden, or not be whole.
    pub(crate) fn is_limited(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the visible part of a line in a folder.
    pub(super) fn of(&self, line: Line, folder: &Folder) -> Option<Line> {
        match &self.0 {
            None => Some(line),
            Some(see) => see(line, folder),
        }
    }
}

impl fmt::Debug for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_limited() { "limited" } else { "unlimited" })
    }
}

impl Line {
    /// Removes the arguments of the command, the folder that it ran in, and the query.
    #[must_use]
    pub(crate) fn without_words(mut self) -> Self {
        self.request.args = Arguments::default();
        if let Event::Access(access) = &mut self.event {
            access.query = Query::default();
        }
        self
    }
}
