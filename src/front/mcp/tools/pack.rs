//! `context_pack`: the instructions and texts of a pack.

use schemars::JsonSchema;
use serde::Deserialize;

use super::resolve::Wanted;
use super::{Answer, At, Outputs, Question};
use crate::service::report::failure::Failure;
use crate::service::workspace::call::Call;
use crate::text::selector::Term;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pack {
    /// Id of the pack
    id: String,
    /// Checkpoint number or RFC 3339 time
    #[serde(default)]
    at: Option<At>,
    /// false: list without texts
    #[serde(default)]
    bodies: Option<bool>,
    /// Maximum tokens of the answer; texts that do not fit are listed
    #[serde(default)]
    budget: Option<u64>,
    /// `bytes/4` (default), `cl100k_base` or `o200k_base`
    #[serde(default)]
    tokenizer: Option<String>,
}

/// Returns the selector of a pack.
pub(in crate::front::mcp) fn selector(id: &str) -> String {
    Term::Pack(id.to_owned()).to_string()
}

impl Question for Pack {
    const NAME: &'static str = "context_pack";
    const TITLE: &'static str = "Open a pack";
    const DESCRIPTION: &'static str = "Returns a context pack: its instructions, then the texts of \
        its documents. An editor chose them for a kind of task: if context_init lists a pack that \
        fits yours, use it first.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::resolve::ResolveReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let id = self.id.strip_prefix("pack:").unwrap_or(&self.id);
        let wanted = Wanted {
            at: self.at,
            bodies: self.bodies.unwrap_or(true),
            budget: self.budget,
            tokenizer: self.tokenizer,
            ..Wanted::of(selector(id))
        };
        wanted.ask(call)
    }
}
