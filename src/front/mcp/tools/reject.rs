//! `context_reject`: ends submissions without publishing them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::author::{check_ids, event, version};
use super::{Answer, Outputs, Question};
use crate::service::report::event::Rejected;
use crate::service::report::failure::Failure;
use crate::service::workspace::call::Call;
use crate::service::workspace::call::submit::{Decided, Deciding};
use crate::write::publish::Mode;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reject {
    /// Ids of the submitted documents
    #[schemars(extend("x-holds" = "document"))]
    #[serde(default)]
    ids: Vec<String>,
    /// Every submission of this change
    #[serde(default)]
    change: Option<String>,
    /// Reject only if the submission of the one document is this version
    #[serde(default)]
    version: Option<u64>,
    /// Reason for the author; part of the recorded text
    reason: String,
    /// Note to store with each version
    #[serde(default)]
    note: Option<String>,
}

impl Question for Reject {
    const NAME: &'static str = "context_reject";
    const TITLE: &'static str = "Reject submissions";
    const DESCRIPTION: &'static str = "Rejects submissions with a reason, and the other parts of \
        their change with them. Nothing is published. Needs the role reviewer.";
    const REPLACES: bool = true;

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Rejected<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        check_ids(&self.ids, self.change.as_deref())?;
        let decided = Decided {
            ids: &self.ids,
            change: self.change.as_deref(),
            version: version(self.version),
            note: self.note.as_deref(),
            mode: Mode::default(),
        };
        let outcome = call.decide(&vault, &decided, Deciding::Reject(&self.reason))?;
        event(call, &outcome, Rejected)
    }
}
