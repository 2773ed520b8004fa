//! `context_overview`: the published documents by name, page by page.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, At, Outputs, Question, limit, places};
use crate::model::number::CheckpointNumber;
use crate::report::Paged;
use crate::report::failure::{Code, Failure};
use crate::words::beginning;
use crate::workspace::call::{Call, list};
use crate::workspace::moment::Moment;

/// So many bytes of what is no cursor are said back.
const LONGEST: usize = 64;
/// How many documents a page has, where the call does not say.
const PAGE: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Overview {
    /// List only what this selector, contextnest:// URI or folder selects, as `#policy` or
    /// `nodes/policies/`
    #[serde(default)]
    selector: Option<String>,
    /// Checkpoint number, or RFC 3339 time, to answer as of
    #[serde(default)]
    at: Option<At>,
    /// Documents of a page; 50 if left out
    #[serde(default)]
    limit: Option<usize>,
    /// `next_cursor` of the page before, with the same `selector`
    #[serde(default)]
    cursor: Option<String>,
    /// Most tokens of the answer, if above 25,000
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Overview {
    const NAME: &'static str = "context_overview";
    const VERB: &'static str = "list";
    const TITLE: &'static str = "List documents";
    const DESCRIPTION: &'static str = "Lists published documents, or those of a selector or folder, \
        by id, title, type, tags, version and approver, with a snippet of how each text begins. Use \
        it to see what there is before you read. A page that is not the last has next_cursor.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Paged<crate::report::resolve::ListReport<'static>>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let at = At::moment(self.at.as_ref())?;
        let page = self.cursor.as_deref().map(Page::read).transpose()?;
        let at = match (&page, at) {
            (Some(_), Some(_)) => {
                let message = "`cursor` and `at` both name a checkpoint";
                return Err(Failure::new(Code::Usage, message)
                    .hint("leave `at` out: a cursor keeps the checkpoint of the first page"));
            }
            (Some(page), None) => Some(Moment::Number(page.checkpoint)),
            (None, at) => at,
        };
        let vault = call.vault()?;
        let selector = self.selector.as_deref();
        let selector = selector.and_then(|text| call.workspace.listed(&vault, text));
        let (vault, source) = places(call, list::need(selector.as_deref()))?;
        let mut listing = call.list((&vault, &source), selector.as_deref(), at, &|_| ())?;
        let skipped = page.map_or(0, |page| page.skipped);
        let limit_of_page = self.limit.unwrap_or(PAGE).max(1);
        let omitted = call.cut(&mut listing, skipped, Some(limit_of_page));
        call.withholds(&listing.all.withheld);
        let next =
            Page { checkpoint: listing.checkpoint, skipped: skipped + listing.all.documents.len() };
        let next_cursor = (omitted > 0).then(|| next.to_string());
        let openings = call.openings(&listing);
        let report = Paged { report: listing.report(Some(&openings)), omitted, next_cursor };
        Answer::of(call, &report).within(limit(self.budget), "lower `limit`, or raise `budget`")
    }
}

/// Where a page begins: so many documents further, in the list of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcp) struct Page {
    pub(in crate::mcp) checkpoint: CheckpointNumber,
    pub(in crate::mcp) skipped: usize,
}

impl std::fmt::Display for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.checkpoint, self.skipped)
    }
}

impl Page {
    pub(in crate::mcp) fn read(cursor: &str) -> Result<Self, Failure> {
        let parts = cursor.split_once(':');
        let page = parts.and_then(|(checkpoint, skipped)| {
            Some(Self { checkpoint: checkpoint.parse().ok()?, skipped: skipped.parse().ok()? })
        });
        page.ok_or_else(|| Self::none(cursor))
    }

    /// What is no cursor of a list.
    pub(in crate::mcp) fn none(cursor: &str) -> Failure {
        let cursor = beginning(cursor, LONGEST);
        Failure::new(Code::Usage, format!("`{cursor}` is no cursor"))
            .hint("pass `next_cursor` of an answer as it is")
    }
}
