//! What a reader may see of the lines of logs (`spec/review.md`, REV-26). The rule is given from
//! above; a module that reads logs for a report gets only what it lets through.

use std::fmt;
use std::sync::Arc;

use super::event::{Event, Query};
use super::folder::Folder;
use super::line::{Arguments, Line};

/// What of a line in a folder a reader may see; nothing where the line is not there for this reader.
type See = dyn Fn(Line, &Folder) -> Option<Line> + Send + Sync;

/// What a reader may see.
#[derive(Clone, Default)]
pub struct Sight(Option<Arc<See>>);

impl Sight {
    /// Only what a rule lets through.
    pub(crate) fn limited(
        see: impl Fn(Line, &Folder) -> Option<Line> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(see)))
    }

    /// Of what this lets through, only the lines that `keep` is true of.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub(crate) fn only(self, keep: impl Fn(&Line) -> bool + Send + Sync + 'static) -> Self {
        Self::limited(move |line, folder| self.of(line, folder).filter(|line| keep(line)))
    }

    /// Whether some lines are not there, or not whole.
    pub(crate) fn is_limited(&self) -> bool {
        self.0.is_some()
    }

    /// What may be seen of a line in a folder.
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
    /// The same without the words of its command, the folder that it ran in, and what was asked for.
    #[must_use]
    pub(crate) fn without_words(mut self) -> Self {
        self.request.args = Arguments::default();
        if let Event::Access(access) = &mut self.event {
            access.query = Query::default();
        }
        self
    }
}
