//! `context_overview`: the published documents by name, page by page.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::page::{Found, Start, Tag};
use super::{Answer, At, Outputs, Question, fitting, limit, places};
use crate::service::report::Paged;
use crate::service::report::failure::Failure;
use crate::service::workspace::call::{Call, list};

/// Default number of documents of a page.
const PAGE: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Overview {
    /// List only what this selects, as `#policy` or `nodes/policies/`
    #[serde(default)]
    selector: Option<String>,
    /// Checkpoint number or RFC 3339 time
    #[serde(default)]
    at: Option<At>,
    /// Documents of a page; default 50
    #[serde(default)]
    limit: Option<usize>,
    /// `next_cursor` of the page before
    #[serde(default)]
    cursor: Option<String>,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Overview {
    const NAME: &'static str = "context_overview";
    const TITLE: &'static str = "List documents";
    const DESCRIPTION: &'static str = "Lists published documents with id, title, type, tags, \
        version, approver and how each text begins. Use it to see what there is before you read.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Paged<crate::service::report::resolve::ListReport<'static>>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let tag = Tag::of(Self::NAME, &json!([self.selector]));
        let start = Start::of(tag, self.cursor.as_deref(), self.at.as_ref())?;
        let vault = call.vault()?;
        let selector = self.selector.as_deref();
        let selector = selector.and_then(|text| call.workspace.listed(&vault, text));
        let (vault, source) = places(call, list::need(selector.as_deref()))?;
        let limit_of_page = self.limit.unwrap_or(PAGE).max(1);
        let asked = (selector.as_deref(), start.at);
        let mut withheld = Vec::new();
        let answer =
            fitting(call, (limit(self.budget), limit_of_page, "raise `budget`"), |call, most| {
                let page = (start.skipped, Some(most));
                let listed = call.list((&vault, &source), asked, page, &|_| ());
                let listing = listed.map_err(|why| start.explained(why))?;
                let omitted = listing.omitted;
                let given = listing.entries();
                let next_cursor = start.next(&Found {
                    checkpoint: listing.checkpoint,
                    seen: listing.seen,
                    given,
                    goes_on: omitted > 0,
                    is_past: given == 0,
                })?;
                let openings = call.openings(&listing);
                let report =
                    Paged { report: listing.report(Some(&openings)), omitted, next_cursor };
                let answer = Answer::of(call, &report);
                withheld = listing.all.withheld;
                Ok((answer, given))
            })?;
        call.withholds(&withheld);
        Ok(answer)
    }
}
