//! `context_search`: finds sections by words.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::page::{Found, Start, Tag};
use super::{Answer, Outputs, Question, fitting, limit, places};
use crate::read::search::{MAX_HITS, Query};
use crate::service::report::Paged;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::Call;
use crate::service::workspace::call::search::{self, Hits};

/// Default number of hits.
const HITS: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    /// Words; "words in quotes" must be adjacent
    query: String,
    /// Hits of a page; default 10
    #[serde(default)]
    limit: Option<usize>,
    /// `next_cursor` of the page before
    #[serde(default)]
    cursor: Option<String>,
    /// Find also words that begin with the last word
    #[serde(default)]
    prefix: bool,
    /// Show how scores are computed
    #[serde(default)]
    explain: bool,
    /// Whole hashes, not 12 digits
    #[serde(default)]
    full_hashes: bool,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Search {
    const NAME: &'static str = "context_search";
    const TITLE: &'static str = "Search by words";
    const DESCRIPTION: &'static str = "Finds sections of published documents by words, best \
        first, with snippets and URIs. Use it if you do not know tags or ids; read a hit by its \
        uri. For an answer that stays the same use context_resolve.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Paged<crate::service::report::search::SearchReport<'static>>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let query = Query::parse(&self.query)?.with_prefix(self.prefix);
        let limit_of_page = self.limit.unwrap_or(HITS);
        if !(1..=MAX_HITS).contains(&limit_of_page) {
            let message = format!("`limit` is {limit_of_page}, but may be from 1 to {MAX_HITS}");
            return Err(Failure::new(Code::Usage, message));
        }
        let tag = Tag::of(Self::NAME, &json!([self.query, self.prefix]));
        let start = Start::in_list(tag, self.cursor.as_deref())?;
        let hits = Hits { limit: limit_of_page, skipped: start.skipped, at: start.pinned() };
        let vault = call.vault()?;
        let (vault, source) = places(call, search::need(&vault))?;
        let found = call.search((&vault, &source), (&query, hits), &|_| ());
        let mut found = found.map_err(|why| start.explained(why))?;
        call.withholds(&found.answer.withheld);
        fitting(call, (limit(self.budget), limit_of_page, "raise `budget`"), |call, most| {
            let answer = &mut found.answer;
            answer.goes_on |= answer.hits.len() > most;
            answer.hits.truncate(most);
            let given = answer.hits.len();
            call.recording.listed = Some(given);
            let next_cursor = start.next(&Found {
                checkpoint: found.checkpoint,
                seen: found.seen,
                given,
                goes_on: found.answer.goes_on,
                is_past: found.is_past,
            })?;
            let report = call.release(found.report(self.explain));
            let report = if self.full_hashes { report } else { report.with_short_hashes() };
            // The number of later hits is unknown, because no back-end counts them.
            Ok((Answer::of(call, &Paged { report, omitted: 0, next_cursor }), given))
        })
    }
}
