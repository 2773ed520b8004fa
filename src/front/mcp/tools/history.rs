//! `context_history`: the versions of a document.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::page::{Before, Tag, none};
use super::{Answer, Outputs, Question, fitting, limit, places};
use crate::service::report::Paged;
use crate::service::report::failure::Failure;
use crate::service::workspace::call::{Call, history};

/// Default number of versions in a list.
const LISTED: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct History {
    /// Id of a document
    id: String,
    /// Versions of a page; default 50
    #[serde(default)]
    limit: Option<usize>,
    /// `next_cursor`, for older versions
    #[serde(default)]
    cursor: Option<String>,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for History {
    const NAME: &'static str = "context_history";
    const TITLE: &'static str = "Versions of a document";
    const DESCRIPTION: &'static str = "Lists the versions of a document, newest last, with editor, \
        approver, time, checkpoint and chain hash. Use it to see who decided what and when, or to \
        find a checkpoint for `at`.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Paged<crate::service::report::history::HistoryReport<'static>>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let tag = Tag::of(Self::NAME, &json!([self.id]));
        let before = self.cursor.as_deref().map(|cursor| tag.read::<Before>(cursor)).transpose()?;
        let vault = call.vault()?;
        let id = call.workspace.recorded_id(&vault, &self.id)?;
        let (vault, source) = places(call, history::NEED)?;
        let versions = call.history((&vault, &source), id)?;
        let mut report = versions.report(&vault);
        call.cut_steps((&vault, &source), (&versions, &mut report))?;
        let is_between = |place| match report.versions.as_slice() {
            [first, .., last] => first.place < place && place <= last.place,
            _ => false,
        };
        if let (Some(Before(place)), Some(cursor)) = (before, &self.cursor)
            && !is_between(place)
        {
            return Err(none(cursor));
        }
        let before = before.map(|Before(place)| place);
        let limit_of_page = self.limit.unwrap_or(LISTED).max(1);
        let mut page = Paged { report, omitted: 0, next_cursor: None };
        fitting(call, (limit(self.budget), limit_of_page, "raise `budget`"), |call, most| {
            page.omitted += call.cut_history(&mut page.report, before, Some(most));
            let first = page.report.versions.first().filter(|_| page.omitted > 0);
            page.next_cursor = first.map(|first| tag.cursor(&Before(first.place)));
            Ok((Answer::of(call, &page), page.report.versions.len()))
        })
    }
}
