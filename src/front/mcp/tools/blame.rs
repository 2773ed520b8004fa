//! `context_blame`: the version that each line of a text comes from.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, At, Outputs, Question, fitting, limit, places};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::{Call, blame};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Blame {
    /// ID, ID@CHECKPOINT or URI, with #ANCHOR for a section
    id: String,
    /// Checkpoint number or RFC 3339 time
    #[serde(default)]
    at: Option<At>,
    /// START,END or START,+COUNT
    #[serde(default)]
    lines: Option<String>,
    /// Count by section instead
    #[serde(default)]
    sections: bool,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Blame {
    const NAME: &'static str = "context_blame";
    const TITLE: &'static str = "Where lines come from";
    const DESCRIPTION: &'static str = "Returns for each line of a published document the version \
        that added it, its editor and approver. Narrow it by #ANCHOR or lines; sections gives an \
        overview.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::blame::BlameReport<'static>>();
        outputs.add::<crate::service::report::blame::BlameSectionsReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        if self.sections && self.lines.is_some() {
            return Err(Failure::new(Code::Usage, "`sections` and `lines` exclude each other")
                .hint("pass only one of them"));
        }
        let (vault, source) = places(call, blame::NEED)?;
        let at = At::moment(self.at.as_ref())?;
        let attributed = call.blame((&vault, &source), &self.id, at)?;
        let limit = limit(self.budget);
        if self.sections {
            let report = call.blame_sections(&attributed);
            let answer = Answer::of(call, &report).cut(limit, &[("sections", "omitted")]);
            return answer.within(limit, "raise `budget`");
        }
        fitting(call, (limit, usize::MAX, "raise `budget`"), |call, most| {
            let asked = (self.lines.as_deref(), most);
            let report = call.blame_lines(&attributed, asked, false)?;
            Ok((Answer::of(call, &report), report.lines.len()))
        })
    }
}
