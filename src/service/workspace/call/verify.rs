//! Verifies the vault, or the artifacts that ids name.

use std::collections::BTreeSet;

use crate::files::vault::Vault;
use crate::prove::verify::{Anchor, Request};
use crate::service::report::failure::Failure;
use crate::service::workspace::Workspace;

impl Workspace<'_> {
    /// Returns the request to a verifier: the artifacts with these ids, or everything if there
    /// are none.
    ///
    /// # Errors
    /// An id is neither in the log nor in a history.
    pub(crate) fn verification(
        &self,
        vault: &Vault,
        ids: &[String],
        anchors: Vec<Anchor>,
    ) -> Result<Request, Failure> {
        let ids = ids.iter().map(|text| self.recorded_id(vault, text));
        let ids = ids.collect::<Result<BTreeSet<_>, Failure>>()?;
        let only = (!ids.is_empty()).then_some(ids);
        Ok(Request { now: self.now()?, only, anchors, allow_merged: false })
    }
}
