//! Selects the texts of an answer that fit into a budget (`spec/resolve.md`, section 3).

use std::collections::{BTreeSet, HashMap};

use rayon::prelude::*;

use super::Reason;
use crate::read::graph::order::needed;
use crate::read::snapshot::Ranking;
use crate::read::snapshot::portion::{Frame, Portion};
use crate::read::snapshot::repeated::Passages;
use crate::values::model::id::DocumentId;

/// Decision about a text.
#[derive(Debug)]
pub(super) struct Choice<'r> {
    /// Number of tokens of the text, with its line in the table of hashes.
    pub(super) tokens: u64,
    /// Reason why it is left out; `None` if it is included.
    pub(super) left_out: Option<Reason>,
    /// Section that is included instead.
    pub(super) instead: Option<Portion<'r>>,
}

/// Selects the texts that fit into `left` tokens.
pub(super) fn choose<'r>(
    texts: &[Portion<'r>],
    ranking: &'r Ranking,
    frame: &Frame,
    left: u64,
) -> Vec<Choice<'r>> {
    let needs: Vec<BTreeSet<DocumentId>> = texts.iter().map(needs).collect();
    let costs: Vec<Cost> = texts.par_iter().map(|portion| Cost::of(portion, frame)).collect();
    let mut filling = Filling { left, begun: BTreeSet::new(), missing: BTreeSet::new() };
    let mut reasons: Vec<Option<Reason>> = vec![None; texts.len()];
    let mut instead: Vec<Option<Portion<'r>>> = vec![None; texts.len()];
    let mut passages = Passages::default();
    for n in order(texts, ranking) {
        let (portion, id) = (&texts[n], &texts[n].served.id);
        let is_found = !is_source(portion) && ranking.of(portion).is_some();
        reasons[n] = lacking(&needs[n], &filling.missing)
            .or_else(|| is_found.then(|| passages.repeats(portion)).flatten())
            .or_else(|| filling.take(id, costs[n]));
        match &reasons[n] {
            None if is_found => passages.add(portion),
            None => {}
            Some(why) => {
                if is_found && matches!(why, Reason::Budget { .. }) {
                    let mut sections = ranking.sections_of(portion).into_iter();
                    instead[n] = sections.find(|section| {
                        passages.repeats(section).is_none()
                            && filling.take(id, Cost::of(section, frame)).is_none()
                    });
                    instead[n].iter().for_each(|section| passages.add(section));
                }
                filling.missing.insert(id);
            }
        }
    }
    leave_out_dependents(texts, &needs, filling.missing, &mut reasons);
    let choice = |((cost, left_out), instead): ((Cost, _), _)| Choice {
        tokens: cost.text + cost.row,
        left_out,
        instead,
    };
    costs.into_iter().zip(reasons).zip(instead).map(choice).collect()
}

/// Tokens of a text, and of its document's line in the table.
#[derive(Clone, Copy)]
struct Cost {
    text: u64,
    row: u64,
}

impl Cost {
    fn of(portion: &Portion<'_>, frame: &Frame) -> Self {
        Self { text: portion.tokens(frame), row: portion.row_tokens(frame) }
    }
}

/// State of the selection.
struct Filling<'p> {
    left: u64,
    /// Documents with a line in the table.
    begun: BTreeSet<&'p DocumentId>,
    /// Documents that are left out completely or in part.
    missing: BTreeSet<&'p DocumentId>,
}

impl<'p> Filling<'p> {
    /// Includes a text; returns the reason if it does not fit.
    fn take(&mut self, id: &'p DocumentId, cost: Cost) -> Option<Reason> {
        let row = if self.begun.contains(id) { 0 } else { cost.row };
        match self.left.checked_sub(cost.text + row) {
            None => Some(Reason::Budget { left: self.left }),
            Some(left) => {
                self.left = left;
                self.begun.insert(id);
                None
            }
        }
    }
}

/// Returns the order in which texts are selected: instructions, texts found by a search by rank,
/// then the others in their order. Sources keep their relative order.
fn order(texts: &[Portion<'_>], ranking: &Ranking) -> Vec<usize> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|n| {
        let portion = &texts[*n];
        (portion.instructions.is_none(), ranking.of(portion).unwrap_or(usize::MAX))
    });
    let mut sources = (0..texts.len()).filter(|n| is_source(&texts[*n]));
    let places = order.iter_mut().filter(|n| is_source(&texts[**n]));
    places.zip(&mut sources).for_each(|(place, source)| *place = source);
    order
}

fn is_source(portion: &Portion<'_>) -> bool {
    portion.served.fields.source.is_some()
}

/// Leaves out sources that come before a left-out source on which they depend, and those that
/// depend on them. Such sources exist only on a cycle. The result is that of rounds over all
/// texts, in order, until a round changes nothing, but only texts that a round would leave out
/// are visited.
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
    // Round and position of each text to visit.
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

/// Returns the dependencies of a source, without itself.
pub(super) fn needs(portion: &Portion<'_>) -> BTreeSet<DocumentId> {
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
