//! `context_check`: checks whether citations are current.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Outputs, Question, limit, places};
use crate::service::report::failure::Failure;
use crate::service::workspace::call::{Call, check};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    /// Pinned URIs, at most 500
    uris: Vec<String>,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Check {
    const NAME: &'static str = "context_check";
    const TITLE: &'static str = "Check citations";
    const DESCRIPTION: &'static str = "Returns for pinned URIs that you cited or kept whether each \
        is current, superseded (by which version, with the same text or not) or retired. Use it \
        before you rely on what you read earlier.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::check::CheckReport>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let (vault, source) = places(call, check::NEED)?;
        let report = call.check((&vault, &source), &self.uris)?;
        let size = limit(self.budget);
        let answer = Answer::of(call, &report).cut(size, &[("uris", "omitted")]);
        answer.within(size, "raise `budget`, or check fewer")
    }
}
