//! `context_history`: the versions of a document.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Outputs, Question, limit, places};
use crate::report::Limited;
use crate::report::failure::Failure;
use crate::workspace::call::{Call, history};

/// How many versions are listed at most, where the call does not say.
const LISTED: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct History {
    /// Id of a document
    id: String,
    /// The most versions, the newest of all; 50 if left out
    #[serde(default)]
    limit: Option<usize>,
    /// Most tokens of the answer, if above 25,000
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for History {
    const NAME: &'static str = "context_history";
    const VERB: &'static str = "history";
    const TITLE: &'static str = "Versions of a document";
    const DESCRIPTION: &'static str = "Lists the versions of one document, the newest last, with \
        editor, approver, time, checkpoint and chain hash; every hash is recomputed. Use it to see \
        who decided what and when, or to find the checkpoint of a past state, then read it with \
        `at`.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Limited<crate::report::history::HistoryReport<'static>>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        let id = call.workspace.known_id(&vault, &self.id)?;
        let (vault, source) = places(call, history::NEED)?;
        let versions = call.history((&vault, &source), id)?;
        let mut report = versions.report(&vault);
        call.cut_steps((&vault, &source), (&versions, &mut report))?;
        let omitted = call.cut_history(&mut report, Some(self.limit.unwrap_or(LISTED)));
        Answer::of(call, &Limited { report, omitted })
            .within(limit(self.budget), "lower `limit`, or raise `budget`")
    }
}
