//! `context_init`: the instructions of the vault, and a map of it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, At, Outputs, Question, limit, places};
use crate::report::failure::Failure;
use crate::report::map::Extent;
use crate::resolve::portion::Portion;
use crate::workspace::call::{Call, map};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Init {
    /// Checkpoint number, or RFC 3339 time, to answer as of
    #[serde(default)]
    at: Option<At>,
    /// Name every tag, folder, server and pack, not only the 100 largest
    #[serde(default)]
    all: bool,
    /// Most tokens of the answer, if above 25,000
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Init {
    const NAME: &'static str = "context_init";
    const VERB: &'static str = "context";
    const TITLE: &'static str = "Vault instructions and map";
    const DESCRIPTION: &'static str = "Start here, once per session. Returns the vault's \
        instructions for agents (CONTEXT.md) and its types, tags, folders, servers and packs with \
        the number of documents in each: what you need to write selectors for context_resolve, or \
        to choose a pack for context_pack.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::report::map::MapReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let (vault, source) = places(call, map::NEED)?;
        let mapped = call.map((&vault, &source), At::moment(self.at.as_ref())?)?;
        let extent = if self.all { Extent::Whole } else { Extent::Bounded };
        let map = call.map_report(&mapped, extent)?;
        call.withholds(mapped.withheld());
        let report = call.release(mapped.with_instructions(map));
        let text = mapped.instructions.as_ref().map(|served| Portion::whole(served).alone());
        let texts = (["instructions"].as_slice(), text.as_deref().unwrap_or_default());
        Answer::with_texts(call, &report, texts)
            .within(limit(self.budget), "leave `all` out, or raise `budget`")
    }
}
