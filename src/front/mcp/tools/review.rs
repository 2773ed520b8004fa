//! `context_review`: lists pending submissions, and shows one.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::author::version;
use super::page::{Mark, Marked, Tag, none};
use super::{Answer, Outputs, Profile, Question, fitting, limit, places};
use crate::front::mcp::spelling;
use crate::service::report::Paged;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::submission::SubmissionReport;
use crate::service::workspace::call::{Call, review};

/// Default number of submissions of a page.
const PAGE: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Review {
    /// Show the submission of this document or governance file; default: list those that await you
    #[serde(default)]
    id: Option<String>,
    /// With id: the version that was submitted, decided or not
    #[serde(default)]
    version: Option<u64>,
    /// Without id: include submissions that await others
    #[serde(default)]
    all: bool,
    /// Without id: submissions of a page; 50 if left out
    #[serde(default)]
    limit: Option<usize>,
    /// Without id: `next_cursor` of the page before, with the same `all`
    #[serde(default)]
    cursor: Option<String>,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Review {
    const NAME: &'static str = "context_review";
    const TITLE: &'static str = "Read submissions";
    const DESCRIPTION: &'static str = "Lists the submissions that await your decision; with id it \
        shows one: what changed against the published text, who submitted it and why, and who may \
        approve it. Read it before context_approve or context_reject, and pass its version.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Paged<crate::service::report::review::QueueReport<'static>>>();
        outputs.add::<SubmissionReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let limit = limit(self.budget);
        let Some(id) = &self.id else {
            if self.version.is_some() {
                return Err(Failure::new(Code::Usage, "`version` is only for one submission")
                    .hint("pass `id`, too"));
            }
            return self.list(call);
        };
        if self.all || self.limit.is_some() || self.cursor.is_some() {
            let message =
                "`all`, `limit` and `cursor` select from the list, but `id` names one submission";
            return Err(Failure::new(Code::Usage, message).hint("pass only one of them"));
        }
        let vault = call.vault()?;
        let submitted = call.submission(&vault, id, version(self.version))?;
        let report = SubmissionReport::new(&submitted, spelling::of(Profile::Reviewer));
        Answer::of(call, &report).within(limit, "raise `budget`")
    }
}

impl Review {
    /// Returns a page of the pending submissions.
    fn list(&self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let tag = Tag::of(Self::NAME, &json!([self.all]));
        let page = self.cursor.as_deref().map(|cursor| tag.read::<Marked>(cursor)).transpose()?;
        let (vault, source) = places(call, review::NEED)?;
        let queued = call.queue((&vault, &source), self.all)?;
        let mut report = queued.report();
        let mark = Mark::of(Some(review::hash(&report)));
        if page.as_ref().is_some_and(|page| page.mark != mark) {
            let message = "the pending submissions changed since the page before";
            return Err(Failure::new(Code::Changed, message)
                .hint("list it again from the first page, without `cursor`"));
        }
        let skipped = page.map_or(0, |page| page.skipped);
        if let Some(cursor) = self.cursor.as_ref().filter(|_| skipped >= report.waiting.len()) {
            return Err(none(cursor));
        }
        let limit_of_page = self.limit.unwrap_or(PAGE).max(1);
        call.cut_queue(&mut report, (skipped, usize::MAX));
        let mut page = Paged { report, omitted: 0, next_cursor: None };
        fitting(call, (limit(self.budget), limit_of_page, "raise `budget`"), |call, most| {
            page.omitted += call.cut_queue(&mut page.report, (0, most));
            let given = page.report.waiting.len();
            let next = Marked { mark: mark.clone(), skipped: skipped.saturating_add(given) };
            page.next_cursor = (page.omitted > 0).then(|| tag.cursor(&next));
            Ok((Answer::of(call, &page), given))
        })
    }
}
