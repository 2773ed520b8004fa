//! `context_withdraw`: ends one's own submissions.

use schemars::JsonSchema;
use serde::Deserialize;

use super::author::{check_ids, event, version};
use super::{Answer, Outputs, Question};
use crate::service::report::event::Withdrawn;
use crate::service::report::failure::Failure;
use crate::service::workspace::call::Call;
use crate::service::workspace::call::submit::{Decided, Deciding};
use crate::write::publish::Mode;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Withdraw {
    /// Ids of your submissions
    #[schemars(extend("x-holds" = "document"))]
    #[serde(default)]
    ids: Vec<String>,
    /// Every submission of this change
    #[serde(default)]
    change: Option<String>,
    /// Withdraw only if the submission of the one document is this version
    #[serde(default)]
    version: Option<u64>,
    /// Reason; part of the recorded text
    #[serde(default)]
    reason: Option<String>,
    /// Note to store with each version
    #[serde(default)]
    note: Option<String>,
}

impl Question for Withdraw {
    const NAME: &'static str = "context_withdraw";
    const TITLE: &'static str = "Withdraw own submissions";
    const DESCRIPTION: &'static str = "Withdraws your own submissions before they are decided, with \
        the other parts of their change. Drafts and published texts stay as they are.";
    const REPLACES: bool = true;

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Withdrawn<'static>>();
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
        let withdrawing = Deciding::Withdraw(self.reason.as_deref());
        let outcome = call.decide(&vault, &decided, withdrawing)?;
        event(call, &outcome, Withdrawn)
    }
}
