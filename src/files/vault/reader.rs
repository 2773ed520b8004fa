//! Who reads a vault. It is found when it is first needed: to decide what may be read, or to record
//! an access. Asking git takes a process of its own.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::values::model::principal::Principal;

/// Gives who reads, and which source said so; none where no principal is configured.
type Ask = dyn Fn() -> Option<(Principal, &'static str)> + Send + Sync;

/// Who reads a vault; nobody where no front end said whom to ask.
#[derive(Clone, Default)]
pub struct Reader {
    ask: Option<Arc<Ask>>,
    found: Arc<OnceLock<Option<(Principal, &'static str)>>>,
    only_published: bool,
}

impl Reader {
    /// Whom this names, when it is first asked.
    pub fn new(
        ask: impl Fn() -> Option<(Principal, &'static str)> + Send + Sync + 'static,
    ) -> Self {
        Self { ask: Some(Arc::new(ask)), ..Self::default() }
    }

    /// The same for a front end through which no live file is seen: what was never published is not
    /// there, and no answer differs by it.
    #[must_use]
    pub fn of_published(self, only_published: bool) -> Self {
        Self { only_published, ..self }
    }

    /// Whether what was never published is not there.
    pub fn is_of_published(&self) -> bool {
        self.only_published
    }

    /// Who reads, and which source said so.
    pub fn principal(&self) -> Option<&(Principal, &'static str)> {
        self.found.get_or_init(|| self.ask.as_ref()?()).as_ref()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reader").field(&self.found.get()).finish()
    }
}
