//! A verification of the vault, or of what ids name.

use std::collections::BTreeSet;

use crate::files::vault::Vault;
use crate::prove::verify::{Anchor, Request};
use crate::service::report::failure::Failure;
use crate::service::workspace::Workspace;

impl Workspace<'_> {
    /// What a verifier is to check: what these ids name, or everything.
    ///
    /// # Errors
    /// An id names nothing that the log or a history ever held.
    pub(crate) fn verification(
        &self,
        vault: &Vault,
        ids: &[String],
        anchors: Vec<Anchor>,
    ) -> Result<Request, Failure> {
        let ids = ids.iter().map(|text| self.recorded_id(vault, text));
        let ids = ids.collect::<Result<BTreeSet<_>, Failure>>()?;
        let only = (!ids.is_empty()).then_some(ids);
        Ok(Request { now: self.now()?, only, anchors })
    }
}
