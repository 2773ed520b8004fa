//! One version of an artifact, and what a published text differs in from its live file.

use super::Call;
use super::diff::{Ground, as_live, handed_out};
use crate::read::snapshot::{Served, seals};
use crate::record::audit::Traced;
use crate::record::chain::diff::print_between;
use crate::service::report::failure::Failure;
use crate::service::workspace::version::{recorded, text_of};
use crate::text::uri::Class;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

impl Call<'_> {
    /// Returns the text of a version, and the checkpoint that seals it, if one does.
    ///
    /// # Errors
    /// A version that does not exist, or that the reader may not read.
    pub(crate) fn version(
        &mut self,
        (vault, chronicle, head): Ground<'_>,
        id: &DocumentId,
        version: Version,
    ) -> Result<(String, Option<CheckpointNumber>), Failure> {
        let (text, history) = text_of(vault, head, chronicle, id, version)?;
        let checkpoint = seals::of_log(chronicle, id, &history).get(&version).copied();
        self.recording.class = Some(Class::Direct);
        let found = recorded((vault.files(), chronicle), id, (version, &history), (&text, &text));
        Ok((self.release(Traced::new(text, found.into_iter().collect())), checkpoint))
    }

    /// Returns the diff from a published text to its live file.
    pub(crate) fn diff_to_live(
        &mut self,
        served: Served,
        live: &str,
        (from, to): (&str, &str),
    ) -> String {
        let version = served.origin().text("");
        let diff = print_between(&as_live(&served.id, served.text), live, from, to);
        self.release(handed_out(diff, vec![version]))
    }
}
