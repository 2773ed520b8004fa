//! An answer as the context of an agent: what of it fits into a budget of tokens, and one block of
//! Markdown in which each text carries where it is from (paper, section 9.1; `spec/resolve.md`,
//! section 3).
//!
//! [`Context::new`] selects, and does so alike whatever is printed then; [`Context::to_markdown`]
//! is the block. A block never takes more tokens than its budget.

use std::collections::{BTreeSet, HashMap};

use super::portion::{Line, Portion, tokens};
use super::{Resolution, Snapshot};
use crate::graph::order::needed;
use crate::model::digest::Digest;
use crate::model::id::DocumentId;
use crate::model::number::CheckpointNumber;
use crate::model::timestamp::Timestamp;
use crate::uri::Class;

/// What was asked, and of what.
#[derive(Clone, Debug)]
pub struct Question {
    /// The selector in canonical form.
    pub selector: String,
    /// The class of the answer.
    pub class: Class,
    /// Which back-end answered its searches.
    pub backend: Option<String>,
    /// The checkpoint; 0 before the first.
    pub checkpoint: CheckpointNumber,
    /// The hash of the checkpoint.
    pub hash: Option<Digest>,
    /// When it was made.
    pub at: Option<Timestamp>,
}

impl Question {
    /// A selector in canonical form, asked of a snapshot.
    pub fn new(
        snapshot: &Snapshot<'_>,
        selector: String,
        class: Class,
        backend: Option<String>,
    ) -> Self {
        let (hash, at) = (snapshot.hash(), snapshot.made_at());
        Self { selector, class, backend, checkpoint: snapshot.checkpoint(), hash, at }
    }
}

/// What an agent gets.
#[derive(Debug)]
pub struct Context<'r> {
    question: Question,
    withheld: usize,
    /// The texts, in the order of the answer.
    pub portions: Vec<Portion<'r>>,
    /// What did not fit, in the order of the answer.
    pub left_out: Vec<LeftOut<'r>>,
    /// How many tokens the block may take.
    pub budget: Option<u64>,
    /// Whether there is a block: its first line fits.
    fits: bool,
    /// How many of [`Context::left_out`] the block has room to name.
    named: usize,
}

/// A text that is left out.
#[derive(Debug)]
pub struct LeftOut<'r> {
    /// The text.
    pub portion: Portion<'r>,
    /// Why it is left out.
    pub why: Reason,
}

/// Why a text is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Only so many tokens were left.
    Budget {
        /// What was left.
        left: u64,
    },
    /// The source depends on this one, which is left out, or a part of it.
    Dependency(DocumentId),
}

impl Reason {
    /// The word for it in answers.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Budget { .. } => "budget",
            Self::Dependency(_) => "dependency",
        }
    }
}

impl<'r> Context<'r> {
    /// What of an answer fits into a budget: in the order of the answer each text that fits into
    /// what is left, and no source without those of the answer that it depends on.
    pub fn new(question: Question, resolution: &'r Resolution, budget: Option<u64>) -> Self {
        let mut context = Self {
            question,
            withheld: resolution.withheld.len(),
            portions: resolution.portions(),
            left_out: Vec::new(),
            budget,
            fits: true,
            named: 0,
        };
        if let Some(budget) = budget {
            context.keep_within(budget);
        }
        context
    }

    /// How many tokens the block takes, or a few more: its numbers count as if they were the
    /// largest that they can be.
    pub fn tokens(&self) -> u64 {
        if !self.fits {
            return 0;
        }
        let named = self.left_out.iter().take(self.named).map(LeftOut::line_tokens);
        self.head_tokens() + named.chain(self.portions.iter().map(Portion::tokens)).sum::<u64>()
    }

    /// The block: one line about the whole, one for each text that is left out while there is room,
    /// and the texts, each between its two lines. Nothing, if not even the first line fits.
    pub fn to_markdown(&self) -> String {
        if !self.fits {
            return String::new();
        }
        let mut block = self.head(self.portions.len(), self.left_out.len(), self.tokens());
        self.left_out.iter().take(self.named).for_each(|out| block.push_str(&out.line()));
        self.portions.iter().for_each(|portion| block.push_str(&portion.to_markdown()));
        block
    }

    fn keep_within(&mut self, budget: u64) {
        let head = self.head_tokens();
        self.fits = head <= budget;
        let mut left = budget.saturating_sub(head);
        let needs: Vec<BTreeSet<DocumentId>> = self.portions.iter().map(needs).collect();
        let mut missing: BTreeSet<&DocumentId> = BTreeSet::new();
        let mut reasons: Vec<Option<Reason>> = Vec::with_capacity(needs.len());
        for (portion, needs) in self.portions.iter().zip(&needs) {
            let tokens = portion.tokens();
            let reason = match lacking(needs, &missing) {
                None if tokens > left => Some(Reason::Budget { left }),
                lacking => lacking,
            };
            match reason {
                None => left -= tokens,
                Some(_) => {
                    missing.insert(&portion.served.id);
                }
            }
            reasons.push(reason);
        }
        leave_out_dependents(&self.portions, &needs, missing, &mut reasons);
        for (portion, reason) in std::mem::take(&mut self.portions).into_iter().zip(reasons) {
            match reason {
                None => self.portions.push(portion),
                Some(why) => self.left_out.push(LeftOut { portion, why }),
            }
        }
        let mut left = budget.saturating_sub(self.tokens());
        let named = self.left_out.iter().map(LeftOut::line_tokens);
        self.named = named
            .take_while(|tokens| {
                let fits = *tokens <= left;
                left = left.saturating_sub(*tokens);
                fits
            })
            .count();
    }

    /// What the first line takes, if its numbers are the largest that they can be.
    pub fn head_tokens(&self) -> u64 {
        let all = self.portions.len() + self.left_out.len();
        tokens(self.head(all, all, self.budget.unwrap_or(u64::MAX)).len())
    }

    /// The first line.
    fn head(&self, parts: usize, left_out: usize, tokens: u64) -> String {
        let Question { selector, class, backend, checkpoint, hash, at } = &self.question;
        let mut line =
            Line::new("context").text("selector", selector).word("class", class.as_str());
        if let Some(backend) = backend {
            line = line.text("backend", backend);
        }
        line = line.word("checkpoint", checkpoint);
        if let (Some(hash), Some(at)) = (hash, at) {
            line = line.word("checkpoint_hash", hash).word("at", at);
        }
        line = line.word("parts", parts).word("tokens", tokens);
        if let Some(budget) = self.budget {
            line = line.word("budget", budget);
        }
        line.word("left_out", left_out).word("withheld", self.withheld).end()
    }
}

impl LeftOut<'_> {
    fn line(&self) -> String {
        let line = Line::new("left-out").name(&self.portion);
        let line = line.word("tokens", self.portion.tokens()).word("reason", self.why.as_str());
        match &self.why {
            Reason::Budget { left } => line.word("left", left),
            Reason::Dependency(id) => line.text("on", id.as_str()),
        }
        .end()
    }

    fn line_tokens(&self) -> u64 {
        tokens(self.line().len())
    }
}

/// Leaves out the sources that stand before one that they depend on and that is left out, and those
/// that depend on them. There are such sources only on a cycle. The answer is that of rounds over
/// all texts, in their order, until a round changes nothing; but only texts that a round would
/// leave out are visited.
fn leave_out_dependents<'p>(
    portions: &'p [Portion<'_>],
    needs: &[BTreeSet<DocumentId>],
    mut missing: BTreeSet<&'p DocumentId>,
    reasons: &mut [Option<Reason>],
) {
    let mut dependents: HashMap<&DocumentId, Vec<usize>> = HashMap::new();
    for (n, needs) in needs.iter().enumerate().filter(|(n, _)| reasons[*n].is_none()) {
        needs.iter().for_each(|id| dependents.entry(id).or_default().push(n));
    }
    // Round and place of each text that is to be visited.
    let mut open: BTreeSet<(usize, usize)> = BTreeSet::new();
    for id in &missing {
        open.extend(dependents.remove(id).into_iter().flatten().map(|n| (0, n)));
    }
    while let Some((round, n)) = open.pop_first() {
        if reasons[n].is_some() {
            continue;
        }
        reasons[n] = lacking(&needs[n], &missing);
        let id = &portions[n].served.id;
        missing.insert(id);
        let later = dependents.remove(id).into_iter().flatten();
        open.extend(later.map(|other| (round + usize::from(other < n), other)));
    }
}

/// What a source depends on, other than itself.
fn needs(portion: &Portion<'_>) -> BTreeSet<DocumentId> {
    let Portion { served, .. } = portion;
    let mut needs = match served.fields.source {
        Some(_) => needed(&served.id, &served.fields),
        None => BTreeSet::new(),
    };
    needs.remove(&served.id);
    needs
}

fn lacking(needs: &BTreeSet<DocumentId>, missing: &BTreeSet<&DocumentId>) -> Option<Reason> {
    needs.iter().find(|id| missing.contains(id)).cloned().map(Reason::Dependency)
}

#[cfg(test)]
mod tests;
