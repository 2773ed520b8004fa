//! `context_init`: the instructions of the vault, and a map of it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, At, Outputs, Question, limit, places};
use crate::front::mcp::answer::WITHHELD;
use crate::read::snapshot::tokens::Tokenizer;
use crate::service::report::failure::Failure;
use crate::service::report::map::Extent;
use crate::service::workspace::call::{Call, Note, map};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Init {
    /// Checkpoint number or RFC 3339 time
    #[serde(default)]
    at: Option<At>,
    /// Name all, not only the 100 largest of a kind
    #[serde(default)]
    all: bool,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Init {
    const NAME: &'static str = "context_init";
    const TITLE: &'static str = "Vault instructions and map";
    const DESCRIPTION: &'static str = "Start here, once per session. Returns the vault's \
        instructions for agents (CONTEXT.md), and its types, tags, folders, servers and packs with \
        the number of documents in each: the words for selectors.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::map::MapReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let (vault, source) = places(call, map::NEED)?;
        let mapped = call.map((&vault, &source), At::moment(self.at.as_ref())?)?;
        call.withholds(mapped.withheld());
        if mapped.lacks_instructions() {
            call.note(Note::NoInstructions);
        }
        let size = limit(self.budget);
        let mut extent = if self.all { Extent::Whole } else { Extent::default() };
        let mut has_instructions = mapped.instructions.is_some();
        loop {
            let map = call.map_report(&mapped, extent)?;
            let (report, text) = match has_instructions {
                true => call.release(mapped.with_block(map)),
                false => (map, String::new()),
            };
            let answer = Answer::with_texts(call, &report, (&["instructions"], &text));
            // The more important parts are kept longer: the instructions, then the most frequent
            // names.
            extent = match extent {
                _ if answer.fits(size) => return Ok(answer),
                Extent::Whole => Extent::default(),
                Extent::Bounded(n) if n > 0 => Extent::Bounded(n / 2),
                Extent::Bounded(_) if !has_instructions => {
                    return answer.cut(size, &[WITHHELD]).within(size, "raise `budget`");
                }
                Extent::Bounded(_) => {
                    call.note(Note::LongInstructions(Tokenizer::default().count(&text)));
                    has_instructions = false;
                    Extent::default()
                }
            };
            call.unsend();
        }
    }
}
