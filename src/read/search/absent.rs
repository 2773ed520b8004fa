//! Stands in for the built-in back-end in a library without the feature `search`.

use std::path::{Path, PathBuf};

use super::{Backend, Proposals, Query, SearchError};
use crate::read::snapshot::Snapshot;
use crate::values::model::digest::Digest;

/// Name of the built-in back-end.
pub(crate) const NAME: &str = "builtin";

/// A back-end that refuses every search.
pub(crate) struct Builtin;

impl Builtin {
    /// Accepts the arguments of the built-in back-end.
    pub(crate) fn new(_: &Snapshot<'_>, _: Digest, _: Option<PathBuf>, _: &dyn Fn(usize)) -> Self {
        Self
    }
}

impl Backend for Builtin {
    fn name(&self) -> &str {
        NAME
    }

    fn search(&self, _: &Query, _: usize) -> Result<Proposals, SearchError> {
        Err(SearchError::NotBuilt)
    }
}

/// Returns true if an index was made for a vault, which is never the case here.
pub(crate) fn is_made(_: &Path) -> bool {
    false
}
