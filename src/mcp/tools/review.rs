//! `context_review`: what awaits a decision, and one submission.

use schemars::JsonSchema;
use serde::Deserialize;

use super::author::version;
use super::{Answer, Outputs, Profile, Question, limit, places};
use crate::mcp::spelling;
use crate::report::failure::{Code, Failure};
use crate::report::submission::SubmissionReport;
use crate::workspace::call::{Call, review};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Review {
    /// Show the submission of this document or governance file; left out, list what awaits you
    #[serde(default)]
    id: Option<String>,
    /// With id: the version that was submitted, decided or not
    #[serde(default)]
    version: Option<u64>,
    /// Without id: list what awaits others, too
    #[serde(default)]
    all: bool,
    /// Most tokens of the answer, if above 25,000
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Review {
    const NAME: &'static str = "context_review";
    const VERB: &'static str = "review";
    const TITLE: &'static str = "Read submissions";
    const DESCRIPTION: &'static str = "Lists the submissions that await your decision; with id it \
        shows one: what changed against the published text, who submitted it and why, and who may \
        approve it. Read it before context_approve or context_reject, and pass its version.";
    const PROFILE: Profile = Profile::Reviewer;

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::report::review::QueueReport<'static>>();
        outputs.add::<SubmissionReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let limit = limit(self.budget);
        let Some(id) = &self.id else {
            if self.version.is_some() {
                return Err(Failure::new(Code::Usage, "`version` is that of one submission")
                    .hint("pass `id`, too"));
            }
            let (vault, source) = places(call, review::NEED)?;
            let queued = call.queue((&vault, &source), self.all)?;
            return Answer::of(call, &queued.report())
                .within(limit, "leave `all` out, or raise `budget`");
        };
        if self.all {
            let message = "`all` is about the list, and `id` about one submission";
            return Err(Failure::new(Code::Usage, message).hint("give one of them only"));
        }
        let vault = call.vault()?;
        let submitted = call.submission(&vault, id, version(self.version))?;
        let report = SubmissionReport::new(&submitted, spelling::of(Profile::Reviewer));
        Answer::of(call, &report).within(limit, "raise `budget`")
    }
}
