//! `context_stage_list`: lists the staged results of this session.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Outputs, Question, limit};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::Call;
use crate::service::workspace::call::stage::Listing;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StageList {
    /// Only results of this source, by id
    #[serde(default)]
    source: Option<String>,
    /// Also entries whose content is gone
    #[serde(default)]
    all: bool,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for StageList {
    const NAME: &'static str = "context_stage_list";
    const TITLE: &'static str = "List staged results";
    const DESCRIPTION: &'static str = "Lists the results of sources that you recorded in this \
        session and that are kept as staged entries, the oldest first, without their contents. \
        context_resolve with status:staged in the selector returns contents.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::staging::StagedListReport>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        if call.labels.session_implicit {
            return Err(Failure::new(Code::Usage, "no session is named")
                .hint("name your session as `contextnest/session` in `_meta`"));
        }
        let vault = call.vault()?;
        let session = call.labels.session.clone();
        let listing = Listing {
            source: self.source.as_deref(),
            session: session.as_deref(),
            own: true,
            ended: self.all,
        };
        let (report, _) = call.staged(&vault, listing)?;
        let size = limit(self.budget);
        let answer = Answer::of(call, &report).cut(size, &[("staged", "omitted")]);
        call.recording.listed = Some(answer.entries("staged"));
        answer.within(size, "raise `budget`")
    }
}
