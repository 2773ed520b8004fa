//! The principal who reads a vault. It is determined when it is first needed, to decide about
//! access or to record it, because asking git starts a process.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::values::model::principal::Principal;

/// Returns the reader and the source of that name; `None` if no principal is configured.
type Ask = dyn Fn() -> Option<(Principal, &'static str)> + Send + Sync;

/// The principal who reads a vault; none if no front end provided a function to find out.
#[derive(Clone, Default)]
pub struct Reader {
    ask: Option<Arc<Ask>>,
    found: Arc<OnceLock<Option<(Principal, &'static str)>>>,
    only_published: bool,
}

impl Reader {
    /// Makes a reader that a function determines when it is first needed.
    pub fn new(
        ask: impl Fn() -> Option<(Principal, &'static str)> + Send + Sync + 'static,
    ) -> Self {
        Self { ask: Some(Arc::new(ask)), ..Self::default() }
    }

    /// Returns the reader for a front end that shows no live files: documents that were never
    /// published do not exist, and no answer depends on them.
    #[must_use]
    pub fn of_published(self, only_published: bool) -> Self {
        Self { only_published, ..self }
    }

    /// Returns true if documents that were never published do not exist for this reader.
    pub fn is_of_published(&self) -> bool {
        self.only_published
    }

    /// Returns the principal who reads, and the source of that name.
    pub fn principal(&self) -> Option<&(Principal, &'static str)> {
        self.found.get_or_init(|| self.ask.as_ref()?()).as_ref()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reader").field(&self.found.get()).finish()
    }
}
