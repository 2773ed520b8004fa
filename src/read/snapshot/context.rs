//! An answer as the context of an agent: the texts that fit into a budget of tokens, and one
//! Markdown block that names the origin of each text (paper, section 9.1; `spec/resolve.md`,
//! section 3).
//!
//! [`Context::new`] selects the texts, independently of the output form, and
//! [`Context::to_markdown`] makes the block. A block never takes more tokens than its budget.

mod fit;

use std::cell::OnceCell;

use super::instructions::Instructions;
use super::portion::{Frame, Line, Mark, Portion};
use super::tokens::Tokenizer;
use super::{Ranking, Resolution, Snapshot};
use crate::record::audit::Traced;
use crate::record::checkpoint::fault::LogError;
use crate::text::uri::Class;
use crate::values::codes::serialize_as_words;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

use fit::Choice;

/// Question of an answer, and the checkpoint that it was asked at.
#[derive(Clone, Debug)]
pub struct Question {
    /// Selector in canonical form.
    pub selector: String,
    /// Class of the answer.
    pub class: Class,
    /// Back-end that answered its searches.
    pub backend: Option<String>,
    /// Checkpoint; 0 before the first.
    pub checkpoint: CheckpointNumber,
    /// Hash of the checkpoint.
    pub hash: Option<Digest>,
    /// Time of the checkpoint.
    pub at: Option<Timestamp>,
    /// Number of its documents that the reader may not read (REV-23); `None` if the vault does not
    /// limit readers.
    pub may_not_read: Option<usize>,
}

impl Question {
    /// Makes a question of a selector in canonical form and a snapshot.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub fn new(
        snapshot: &Snapshot<'_>,
        selector: String,
        class: Class,
        backend: Option<String>,
    ) -> Result<Self, LogError> {
        let (hash, at) = (snapshot.hash(), snapshot.made_at());
        let may_not_read =
            snapshot.is_limited().then(|| snapshot.unreadable_count()).transpose()?;
        let checkpoint = snapshot.checkpoint();
        Ok(Self { selector, class, backend, checkpoint, hash, at, may_not_read })
    }
}

/// Output options of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape<'r> {
    /// Maximum number of tokens of the block.
    pub budget: Option<u64>,
    /// Number of tokens left for the block next to other text; `None` for the whole budget.
    pub room: Option<u64>,
    /// Tokenizer that counts the tokens.
    pub tokenizer: Tokenizer,
    /// Instructions before the texts of the answer.
    pub instructions: &'r [Instructions],
}

/// Context for an agent.
#[derive(Debug)]
pub struct Context<'r> {
    question: Question,
    withheld: usize,
    frame: Frame,
    /// Instructions, in order.
    pub instructions: Vec<Portion<'r>>,
    /// Texts, in the order of the answer.
    pub portions: Vec<Portion<'r>>,
    /// Texts that do not fit, in the order of the answer.
    pub left_out: Vec<LeftOut<'r>>,
    /// Maximum number of tokens of the answer.
    pub budget: Option<u64>,
    /// Maximum number of tokens of the block.
    pub(crate) room: Option<u64>,
    /// True if there is a block, because its first line fits.
    fits: bool,
    /// Number of [`Context::left_out`] texts that the block has room to name.
    named: usize,
    /// Number of tokens of the frame and the texts, counted on first use.
    taken: OnceCell<u64>,
}

/// A text that is left out.
#[derive(Debug)]
pub struct LeftOut<'r> {
    /// The text.
    pub portion: Portion<'r>,
    /// Number of tokens that it would take.
    pub tokens: u64,
    /// Reason why it is left out.
    pub why: Reason,
}

/// Reason why a text is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The remaining budget is too small.
    Budget {
        /// Remaining number of tokens.
        left: u64,
    },
    /// The source depends on this one, which is left out completely or in part.
    Dependency(DocumentId),
    /// The text repeats this one, which a search ranked higher.
    Duplicate(String),
}

serialize_as_words!(Reason);

impl Reason {
    /// Returns the word of the reason in answers.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Budget { .. } => "budget",
            Self::Dependency(_) => "dependency",
            Self::Duplicate(_) => "duplicate",
        }
    }
}

impl<'r> Context<'r> {
    /// Selects the texts of an answer that fit into a budget: the instructions, and each text that
    /// fits into the rest. Texts found by a search come first, by rank, then the others in the
    /// order of the answer. A source is only included with the sources of the answer that it
    /// depends on.
    pub fn new(question: Question, resolution: &'r Resolution, shape: Shape<'r>) -> Self {
        let of = |instructions: &'r Instructions| Portion {
            instructions: Some(instructions),
            ..Portion::whole(&instructions.served)
        };
        let instructions: Vec<Portion<'r>> = shape.instructions.iter().map(of).collect();
        let files = instructions.iter().map(|portion| portion.served);
        let hashes = files.chain(&resolution.documents).map(|served| &served.entry.chain_hash);
        let mark = Mark::of(hashes);
        let portions = resolution.portions();
        let last = instructions.len() + portions.len();
        let mut context = Self {
            question,
            withheld: resolution.withheld.len(),
            frame: Frame { mark, tokenizer: shape.tokenizer, last },
            instructions,
            portions,
            left_out: Vec::new(),
            budget: shape.budget,
            room: shape.room.or(shape.budget),
            fits: true,
            named: 0,
            taken: OnceCell::new(),
        };
        if let Some(room) = context.room {
            context.keep_within(room, &resolution.ranking);
        }
        context
    }

    /// Returns the context with a block that does not name the texts that are left out, for an
    /// answer that names them next to the block.
    #[cfg(feature = "mcp")]
    pub(crate) fn unnamed(self) -> Self {
        Self { named: 0, ..self }
    }

    /// Returns the number of tokens of the block, or a few more: its numbers count as if they were
    /// the largest possible ones.
    pub fn tokens(&self) -> u64 {
        if !self.fits {
            return 0;
        }
        let named = self.left_out.iter().take(self.named).map(|out| self.line_tokens(out));
        let taken = self.taken.get_or_init(|| {
            let texts = self.texts();
            let texts = texts.chunk_by(Portion::is_beside).map(|portions| self.tokens_of(portions));
            self.head_tokens() + texts.sum::<u64>()
        });
        taken + named.sum::<u64>()
    }

    /// Returns the number of tokens of texts of one document: each between its lines, and their
    /// line in the table of hashes.
    pub fn tokens_of(&self, portions: &[Portion<'_>]) -> u64 {
        self.row_tokens(portions) + self.tokens_of_texts(portions).iter().sum::<u64>()
    }

    /// Returns the number of tokens of each text between its lines.
    pub fn tokens_of_texts(&self, portions: &[Portion<'_>]) -> Vec<u64> {
        portions.iter().map(|portion| portion.tokens(&self.frame)).collect()
    }

    /// Returns the number of tokens of a document's line in the table of hashes.
    pub fn row_tokens(&self, portions: &[Portion<'_>]) -> u64 {
        portions.first().map_or(0, |portion| portion.row_tokens(&self.frame))
    }

    /// Returns the tokenizer.
    pub fn tokenizer(&self) -> Tokenizer {
        self.frame.tokenizer
    }

    /// Returns the block; empty if the first line does not fit. It begins with one line about the
    /// whole, and one for each text that is left out while there is room. The texts follow, each
    /// between its two lines, then the chain hashes of their versions.
    pub fn to_markdown(&self) -> String {
        if !self.fits {
            return String::new();
        }
        let texts = self.texts();
        let mut block = self.head(texts.len(), self.left_out.len(), self.tokens());
        for out in self.left_out.iter().take(self.named) {
            block.push_str(&out.line());
        }
        let mut rows = String::new();
        for (portions, n) in texts.chunk_by(Portion::is_beside).zip(1..) {
            for portion in portions {
                block.push_str(&portion.to_markdown(&self.frame.mark, n));
            }
            rows.extend(portions.first().map(|portion| portion.row(n)));
        }
        block + HASHES[0] + &rows + HASHES[1]
    }

    /// Returns the block, with the texts that the access log records.
    pub(crate) fn handed_out(&self) -> Traced<String> {
        let texts = if self.fits { self.texts() } else { Vec::new() };
        Traced::new(self.to_markdown(), texts.iter().map(Portion::recorded).collect())
    }

    /// Returns all texts of the block, in order.
    fn texts(&self) -> Vec<Portion<'r>> {
        self.instructions.iter().chain(&self.portions).copied().collect()
    }

    /// Leaves out the texts that exceed the budget.
    fn keep_within(&mut self, budget: u64, ranking: &'r Ranking) {
        let head = self.head_tokens();
        self.fits = head <= budget;
        let texts = self.texts();
        let choices = fit::choose(&texts, ranking, &self.frame, budget.saturating_sub(head));
        let (mut instructions, mut portions) = (Vec::new(), Vec::new());
        for (portion, Choice { tokens, left_out, instead }) in texts.into_iter().zip(choices) {
            match left_out {
                None if portion.instructions.is_some() => instructions.push(portion),
                None => portions.push(portion),
                Some(why) => {
                    self.left_out.push(LeftOut { portion, tokens, why });
                    portions.extend(instead);
                }
            }
        }
        (self.instructions, self.portions) = (instructions, portions);
        let mut left = budget.saturating_sub(self.tokens());
        let named = self.left_out.iter().map(|out| self.line_tokens(out));
        self.named = named
            .take_while(|tokens| {
                let fits = *tokens <= left;
                left = left.saturating_sub(*tokens);
                fits
            })
            .count();
    }

    /// Returns the number of tokens of the first line and the table without its rows, for the
    /// largest possible numbers.
    pub fn head_tokens(&self) -> u64 {
        let all = self.frame.last;
        let head = self.head(all, all, self.budget.unwrap_or(u64::MAX));
        let tokenizer = self.frame.tokenizer;
        tokenizer.count(&head) + HASHES.iter().map(|line| tokenizer.count(line)).sum::<u64>()
    }

    fn line_tokens(&self, out: &LeftOut<'_>) -> u64 {
        self.frame.tokenizer.count(&out.line())
    }

    /// Returns the first line.
    fn head(&self, parts: usize, left_out: usize, tokens: u64) -> String {
        let Question { selector, class, backend, checkpoint, hash, at, may_not_read } =
            &self.question;
        let mut line =
            Line::new("context").text("selector", selector).word("class", class.as_str());
        if let Some(backend) = backend {
            line = line.text("backend", backend);
        }
        line = line.word("checkpoint", checkpoint);
        if let (Some(hash), Some(at)) = (hash, at) {
            line = line.word("checkpoint_hash", hash).word("at", at);
        }
        line = line.word("mark", &self.frame.mark).word("parts", parts).word("tokens", tokens);
        if self.frame.tokenizer != Tokenizer::Bytes {
            line = line.word("tokenizer", self.frame.tokenizer);
        }
        if let Some(budget) = self.budget {
            line = line.word("budget", budget);
        }
        line = line.word("left_out", left_out).word("withheld", self.withheld);
        if let Some(count) = may_not_read {
            line = line.word("may_not_read", count);
        }
        line.end()
    }
}

/// Lines around the table of hashes.
const HASHES: [&str; 2] = ["<!-- ctx:hashes sha256\n", "-->\n"];

impl LeftOut<'_> {
    fn line(&self) -> String {
        let line = Line::new("left-out").name(&self.portion);
        let line = line.word("tokens", self.tokens).word("reason", self.why.as_str());
        match &self.why {
            Reason::Budget { left } => line.word("left", left),
            Reason::Dependency(id) => line.text("on", id.as_str()),
            Reason::Duplicate(name) => line.text("of", name),
        }
        .end()
    }
}

#[cfg(test)]
mod tests;
