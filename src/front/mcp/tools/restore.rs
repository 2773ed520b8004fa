//! `context_restore`: writes the text of a version as a draft.

use schemars::JsonSchema;
use serde::Deserialize;

use super::author::{Written, digest, version};
use super::{Answer, Outputs, Question};
use crate::service::report::failure::Failure;
use crate::service::workspace::call::Call;
use crate::service::workspace::call::draft::Fields;
use crate::service::workspace::call::write::Writing;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Restore {
    /// Id of a document
    #[schemars(extend("x-holds" = "document"))]
    id: String,
    /// A version of context_history; if left out, the published text replaces your draft
    #[serde(default)]
    version: Option<u64>,
    /// Write only if this version is published; 0 for none
    #[serde(default)]
    expected_version: Option<u64>,
    /// `live_hash` of your draft, which is overwritten
    #[serde(default)]
    expected_live: Option<String>,
}

impl Question for Restore {
    const NAME: &'static str = "context_restore";
    const TITLE: &'static str = "Restore a version as a draft";
    const DESCRIPTION: &'static str = "Writes the text of an earlier version as a draft, to be \
        submitted with context_submit; without version it discards your draft, so that the file has \
        the published text again. The published version stays.";
    const REPLACES: bool = true;

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::draft::DraftReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        let writing = Writing {
            id: &self.id,
            fields: &Fields::default(),
            body: None,
            live: digest(self.expected_live.as_deref())?,
            expect: version(self.expected_version),
            note: None,
        };
        let (id, draft) = call.restore_draft(&vault, &writing, version(self.version))?;
        Written::draft(call, (&id, &draft))
    }
}
