//! `context_resolve`: the documents that a selector or URI selects, with texts.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, At, Outputs, Question, limit, places};
use crate::files::vault::Vault;
use crate::front::mcp::answer::{Cut, STAGED, Size, WITHHELD};
use crate::read::snapshot::context::Shape;
use crate::read::snapshot::tokens::Tokenizer;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::resolve::Detail;
use crate::service::workspace::ask::Asked;
use crate::service::workspace::call::Call;
use crate::service::workspace::call::beside::StagedResult;
use crate::service::workspace::call::resolve::Resolved;

/// Maximum number of attempts to make an answer with fewer texts, if it is too large.
const TRIES: usize = 8;
/// A block that uses its room except for this part is not reproduced.
const NEARLY: u64 = 16;
/// Members that are omitted from an answer that is too large with texts.
const BESIDE_TEXTS: [Cut; 3] = [LEFT_OUT, ("staged_left_out", STAGED.1), WITHHELD];
/// Members that are omitted from an answer without texts.
const NAMES: [Cut; 5] =
    [LEFT_OUT, ("staged_left_out", STAGED.1), ("documents", "omitted"), STAGED, WITHHELD];
const LEFT_OUT: Cut = ("left_out", "omitted");
/// The members of a report that are texts.
const TEXTS: [&str; 3] = ["body", "content", "content_hex"];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Resolve {
    /// Selector, URI or id, as `#policy + type:document - #old`
    selector: String,
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
    /// Whole documents that a search finds, not sections
    #[serde(default)]
    whole: bool,
    /// Leave out instructions
    #[serde(default)]
    no_instructions: bool,
}

impl Question for Resolve {
    const NAME: &'static str = "context_resolve";
    const TITLE: &'static str = "Select documents";
    const DESCRIPTION: &'static str = "Selects published documents (#TAG, type:TYPE, FOLDER/, \
        pack:ID, joined by +, - and |) and returns their texts with URIs to cite: the same for the \
        same checkpoint, always. Prefer it to search.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::resolve::ResolveReport<'static>>();
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

/// The options of a selection.
pub(in crate::front::mcp) struct Wanted {
    pub(super) selector: String,
    pub(super) at: Option<At>,
    pub(super) bodies: bool,
    pub(super) budget: Option<u64>,
    pub(super) tokenizer: Option<String>,
    pub(super) whole: bool,
    pub(super) instructions: bool,
}

impl Wanted {
    /// Returns the options for instructions and texts at the head.
    pub(in crate::front::mcp) fn of(selector: String) -> Self {
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

    /// Returns the answer, with the texts that it has room for.
    pub(in crate::front::mcp) fn ask(&self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let tokenizer = self.tokenizer()?;
        let at = At::moment(self.at.as_ref())?;
        let (vault, source) = places(call, Asked::need(&self.selector))?;
        let asked = (self.selector.as_str(), at, self.whole);
        let planned = call.plan((&vault, &source), asked, &|_| ())?;
        let has_instructions = self.instructions && (self.bodies || self.budget.is_some());
        let resolved = call.resolve(&vault, planned, has_instructions)?;
        call.withholds(&resolved.resolution.withheld);
        let size = Size { tokenizer, ..limit(self.budget) };
        let smaller = "raise `budget`, or select fewer documents";
        if !self.bodies {
            let shape = Shape { budget: self.budget, tokenizer, ..Shape::default() };
            let answer = self.answer(call, (&vault, &resolved), shape)?.cut(size, &NAMES);
            call.recording.listed = Some(answer.entries("documents") + answer.entries("staged"));
            return answer.within(size, smaller);
        }
        // The block has a part of the budget; the size of the rest is known when the block is made.
        let made = |call: &mut Call<'_>, room: u64| {
            let budget = Some(size.tokens);
            let shape = Shape { budget, room: Some(room), tokenizer, ..Shape::default() };
            let answer = self.answer(call, (&vault, &resolved), shape)?;
            Ok::<_, Failure>(answer.cut(size, &BESIDE_TEXTS))
        };
        let (mut fits, mut over, mut room) = (0, size.tokens.saturating_add(1), size.tokens);
        for _ in 0..TRIES {
            let answer = made(call, room)?;
            let tokens = answer.tokens(size);
            let is_first = over > size.tokens;
            if tokens > size.tokens {
                over = room;
            } else if over - room <= 1 + size.tokens / NEARLY {
                return Ok(answer);
            } else {
                fits = room;
            }
            call.unsend();
            if over - fits <= 1 + size.tokens / NEARLY {
                break;
            }
            room = match is_first {
                true => room.saturating_mul(size.tokens) / tokens,
                false => u64::midpoint(fits, over),
            };
        }
        made(call, fits)?.within(size, smaller)
    }

    fn answer(
        &self,
        call: &mut Call<'_>,
        (vault, resolved): (&Vault, &Resolved<'_>),
        shape: Shape<'_>,
    ) -> Result<Answer, Failure> {
        let budget = shape.budget;
        let context = resolved.context_of(shape)?.unnamed();
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
            Failure::new(Code::Usage, format!("unknown tokenizer `{name}`"))
                .hint(format!("tokenizers are {names}"))
        })
    }
}
