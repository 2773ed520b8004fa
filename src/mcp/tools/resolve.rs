//! `context_resolve`: what a selector or URI selects, with texts.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, At, Outputs, Question, limit, places};
use crate::mcp::answer::BUDGET;
use crate::report::failure::{Code, Failure};
use crate::report::resolve::Detail;
use crate::resolve::tokens::Tokenizer;
use crate::vault::Vault;
use crate::workspace::ask::Asked;
use crate::workspace::call::Call;
use crate::workspace::call::beside::StagedResult;
use crate::workspace::call::resolve::Resolved;

/// So often an answer that is too large is made again of fewer texts.
const TRIES: usize = 8;
/// The members of a report that are texts.
const TEXTS: [&str; 3] = ["body", "content", "content_hex"];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Resolve {
    /// Selector, contextnest:// URI or id, as `#policy + type:document - #retired`
    selector: String,
    /// Checkpoint number, or RFC 3339 time, to answer as of
    #[serde(default)]
    at: Option<At>,
    /// `false` lists the documents without their texts
    #[serde(default)]
    bodies: Option<bool>,
    /// Give what fits into this many tokens, and list the rest; 25,000 if left out
    #[serde(default)]
    budget: Option<u64>,
    /// Count tokens by `bytes/4`, `cl100k_base` or `o200k_base`; `bytes/4` if left out
    #[serde(default)]
    tokenizer: Option<String>,
    /// Give the whole documents that a search finds, not the sections
    #[serde(default)]
    whole: bool,
    /// Leave out CONTEXT.md and the instructions of packs
    #[serde(default)]
    no_instructions: bool,
}

impl Question for Resolve {
    const NAME: &'static str = "context_resolve";
    const VERB: &'static str = "resolve";
    const TITLE: &'static str = "Select documents";
    const DESCRIPTION: &'static str = "Selects published documents with a selector (#TAG, type:, \
        pack:, contextnest:// URIs, joined by +, - and |) and returns their texts with URIs to \
        cite: the same for the same checkpoint, always. Prefer it to search. Use bodies: false to \
        see what would be selected, and budget to limit tokens.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::report::resolve::ResolveReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let wanted = Wanted {
            selector: self.selector,
            at: self.at,
            bodies: self.bodies.unwrap_or(true),
            budget: self.budget,
            tokenizer: self.tokenizer,
            whole: self.whole,
            instructions: !self.no_instructions,
        };
        wanted.ask(call)
    }
}

/// What is wanted of a selector.
pub(in crate::mcp) struct Wanted {
    pub(super) selector: String,
    pub(super) at: Option<At>,
    pub(super) bodies: bool,
    pub(super) budget: Option<u64>,
    pub(super) tokenizer: Option<String>,
    pub(super) whole: bool,
    pub(super) instructions: bool,
}

impl Wanted {
    /// Instructions and texts, as of now.
    pub(in crate::mcp) fn of(selector: String) -> Self {
        Self {
            selector,
            at: None,
            bodies: true,
            budget: None,
            tokenizer: None,
            whole: false,
            instructions: true,
        }
    }

    /// The answer, with as many texts as it has room for.
    pub(in crate::mcp) fn ask(&self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let tokenizer = self.tokenizer()?;
        let at = At::moment(self.at.as_ref())?;
        let (vault, source) = places(call, Asked::need(&self.selector))?;
        let asked = (self.selector.as_str(), at, self.whole);
        let planned = call.plan((&vault, &source), asked, &|_| ())?;
        let has_instructions = self.instructions && (self.bodies || self.budget.is_some());
        let resolved = call.resolve(&vault, planned, has_instructions)?;
        call.withholds(&resolved.resolution.withheld);
        let limit = limit(self.budget);
        let smaller =
            "select fewer documents, list them with `context_overview`, or raise `budget`";
        if !self.bodies {
            let answer = self.answer(call, (&vault, &resolved), (self.budget, tokenizer))?;
            return answer.within(limit, smaller);
        }
        let mut budget = self.budget.unwrap_or(BUDGET);
        for _ in 0..TRIES {
            let answer = self.answer(call, (&vault, &resolved), (Some(budget), tokenizer))?;
            let tokens = answer.tokens();
            if tokens <= limit {
                return Ok(answer);
            }
            // The block fits, but not with what stands around it.
            call.unsend();
            budget = budget.saturating_mul(limit) / tokens * 9 / 10;
        }
        self.answer(call, (&vault, &resolved), (Some(0), tokenizer))?.within(limit, smaller)
    }

    fn answer(
        &self,
        call: &mut Call<'_>,
        (vault, resolved): (&Vault, &Resolved<'_>),
        (budget, tokenizer): (Option<u64>, Tokenizer),
    ) -> Result<Answer, Failure> {
        let context = resolved.context(budget, tokenizer);
        let beside = call.beside(vault, resolved, (&context, self.bodies))?;
        let detail = Detail {
            bodies: self.bodies,
            tokens: self.bodies || budget.is_some() || self.tokenizer.is_some(),
            instructions: self.bodies && self.instructions,
        };
        let report = call.release(resolved.report(&context, &beside, detail));
        if !self.bodies {
            return Ok(Answer::of(call, &report));
        }
        let blocks = beside.taken.iter().filter_map(StagedResult::block);
        let texts = context.to_markdown() + &blocks.collect::<String>();
        Ok(Answer::with_texts(call, &report, (&TEXTS, &texts)))
    }

    fn tokenizer(&self) -> Result<Tokenizer, Failure> {
        let Some(name) = &self.tokenizer else { return Ok(Tokenizer::default()) };
        name.parse().map_err(|_| {
            let names = Tokenizer::ALL.map(|(_, name)| name).join(", ");
            Failure::new(Code::Usage, format!("`{name}` is no tokenizer"))
                .hint(format!("tokenizers are {names}"))
        })
    }
}
