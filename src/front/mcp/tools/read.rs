//! `context_read`: one document, or a section of it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, At, Outputs, Question, limit, places};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::{Call, read};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// ID, ID@CHECKPOINT or URI, with #ANCHOR for a section
    id: String,
    /// Checkpoint number or RFC 3339 time
    #[serde(default)]
    at: Option<At>,
    /// List the sections instead
    #[serde(default)]
    outline: bool,
    /// Read your own draft or submission
    #[serde(default)]
    draft: bool,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Read {
    const NAME: &'static str = "context_read";
    const TITLE: &'static str = "Read a document";
    const DESCRIPTION: &'static str = "Reads one published document, verified against its hash \
        chain, with author, approver, version and tags. Add #ANCHOR for one section; outline lists \
        the sections.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::document::DocumentReport<'static>>();
        outputs.add::<crate::service::report::document::OutlineReport<'static>>();
        outputs.add::<crate::service::report::draft::DraftTextReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        if self.draft {
            return self.own(call);
        }
        let (vault, source) = places(call, read::NEED)?;
        let reading = call.read((&vault, &source), &self.id, At::moment(self.at.as_ref())?)?;
        let limit = limit(self.budget);
        if self.outline {
            let sections = call.outline(&reading);
            let report = reading.outlined(&sections);
            let answer = Answer::of(call, &report).cut(limit, &[("sections", "omitted")]);
            return answer.within(limit, "raise `budget`");
        }
        let (report, text) = call.release(reading.report_with_block());
        Answer::with_texts(call, &report, (&["body"], &text)).within(
            limit,
            "set `outline` to see the sections, and read one by `#ANCHOR`, or raise `budget`",
        )
    }
}

impl Read {
    /// Returns the unpublished text of the principal.
    fn own(&self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        if self.at.is_some() || self.outline {
            let message = "`draft` excludes `at` and `outline`: no checkpoint contains a draft";
            return Err(Failure::new(Code::Usage, message).hint("leave them out"));
        }
        let vault = call.vault()?;
        let own = call.own_text(&vault, &self.id)?;
        Answer::with_texts(call, &own.report(), (&["text"], &own.block()))
            .within(limit(self.budget), "raise `budget`")
    }
}
