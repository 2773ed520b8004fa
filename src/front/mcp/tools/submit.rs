//! `context_submit`: submits drafts for review.

use schemars::JsonSchema;
use serde::Deserialize;

use super::author::{Written, digest, mode};
use super::{Answer, Outputs, Question};
use crate::service::report::failure::Failure;
use crate::service::workspace::call::Call;
use crate::service::workspace::call::write::Submitting;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Submit {
    /// Ids of documents with drafts of yours
    #[schemars(extend("x-holds" = "document"))]
    ids: Vec<String>,
    /// Publish them only together with the others of this change
    #[serde(default)]
    change: Option<String>,
    /// Withdraw another principal's submission of the documents
    #[serde(default)]
    supersede: bool,
    /// Submit the published texts as they are, so that their approval is dated today
    #[serde(default)]
    renew: bool,
    /// Submit only if this version of the one document is published; 0 for none
    #[serde(default)]
    expected_version: Option<u64>,
    /// SHA-256 of the file of the one document, if you read it and did not write it
    #[serde(default)]
    expected_live: Option<String>,
    /// Note for reviewers
    #[serde(default)]
    note: Option<String>,
}

impl Question for Submit {
    const NAME: &'static str = "context_submit";
    const TITLE: &'static str = "Submit drafts for review";
    const DESCRIPTION: &'static str = "Submits your drafts for review, in a governed vault: a \
        reviewer who is not their author publishes them. Several that belong together get one change \
        name. Submitting again replaces your own submission. With renew it submits published texts \
        whose approval is due.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::event::Submitted<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        let live = digest(self.expected_live.as_deref())?;
        let about = (self.note.as_deref(), mode(self.expected_version));
        let how = Submitting {
            change: self.change.as_deref(),
            supersede: self.supersede,
            renew: self.renew,
        };
        let outcome = call.submit_own(&vault, (&self.ids, live), about, how)?;
        Written::submitted(call, &outcome)
    }
}
