//! `context_diff`: compares two versions of a document.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Outputs, Question, limit};
use crate::read::snapshot::Snapshot;
use crate::service::report::failure::Failure;
use crate::service::workspace::call::Call;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Diff {
    /// Id of a document
    id: String,
    /// The older version
    v1: u64,
    /// The newer version
    v2: u64,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Diff {
    const NAME: &'static str = "context_diff";
    const TITLE: &'static str = "Compare two versions";
    const DESCRIPTION: &'static str = "Compares two published versions of a document, as a unified \
        diff. context_history lists the versions.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::history::DiffReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        let log = call.log(&vault)?;
        let chronicle = log.sound()?;
        let head = Snapshot::at(&vault, &chronicle, None)?;
        let id = call.workspace.readable_id(&vault, &self.id)?;
        let (v1, v2) = (self.v1.to_string(), self.v2.to_string());
        let sides = (Some(v1.as_str()), Some(v2.as_str()));
        let difference = call.diff((&vault, &chronicle, &head), &id, sides)?;
        Answer::of(call, &difference.report())
            .within(limit(self.budget), "read the versions by section, or raise `budget`")
    }
}
