//! Ranks of the parts of an answer that a search found (`spec/resolve.md`, section 3).
//!
//! A rank orders an answer, and decides what a budget includes first. It never decides what the
//! answer contains: that is the selector's task.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::plan::{Cut, Found};
use super::portion::Portion;
use super::{Resolution, Served};
use crate::text::document::sections::Section;
use crate::values::model::id::DocumentId;

/// Search results for the documents of an answer.
#[derive(Debug, Default)]
pub struct Ranking(BTreeMap<DocumentId, Ranked>);

/// Search results for one document.
#[derive(Debug)]
struct Ranked {
    /// Best rank; 0 is the best of all.
    best: usize,
    /// Ranks, with the byte ranges that were found.
    places: Vec<(usize, Range<usize>)>,
    /// Each section without its subsections, and the text before the first one: found ones by rank,
    /// then the others in the order of the text.
    sections: Vec<Section>,
}

impl Ranking {
    /// Returns the rank of a text; `None` if no search found it.
    pub(super) fn of(&self, portion: &Portion<'_>) -> Option<usize> {
        let ranked = self.0.get(&portion.served.id)?;
        let Some(section) = portion.section else { return Some(ranked.best) };
        let range = &section.range;
        let is_inside = |found: &Range<usize>| range.start <= found.start && found.end <= range.end;
        let ranks = ranked.places.iter().filter(|(_, found)| is_inside(found));
        ranks.map(|(rank, _)| *rank).min()
    }

    /// Returns the sections that can replace a text that a search found, best first: those
    /// inside it.
    pub(super) fn sections_of<'r>(&'r self, portion: &Portion<'r>) -> Vec<Portion<'r>> {
        let Some(ranked) = self.0.get(&portion.served.id) else { return Vec::new() };
        let served = portion.served;
        let all = portion.section.map_or(served.body_range(), |section| section.range.clone());
        let is_inside = |section: &&Section| {
            let Range { start, end } = section.range;
            all.start <= start && end <= all.end && (start, end) != (all.start, all.end)
        };
        let inside = ranked.sections.iter().filter(is_inside);
        inside.map(|section| Portion { section: Some(section), ..*portion }).collect()
    }
}

impl Resolution {
    /// Moves the documents that a search found before the others, best first.
    pub(super) fn rank(&mut self, found: &[Found]) {
        let mut cuts: HashMap<&DocumentId, Vec<(usize, &Cut)>> = HashMap::new();
        for (rank, Found { id, cut }) in found.iter().enumerate() {
            cuts.entry(id).or_default().push((rank, cut));
        }
        let ranked = self.documents.iter().filter_map(|served| {
            Some((served.id.clone(), Ranked::new(served, cuts.get(&served.id)?)))
        });
        let ranking = Ranking(ranked.collect());
        let best = |served: &Served| ranking.0.get(&served.id).map_or(usize::MAX, |r| r.best);
        self.documents.sort_by_key(best);
        self.ranking = ranking;
    }
}

impl Ranked {
    fn new(served: &Served, found: &[(usize, &Cut)]) -> Self {
        let all = served.sections();
        let mut places = Vec::with_capacity(found.len());
        let beginning = served.beginning(&all);
        let own = all.iter().zip(1..).map(|(section, next)| section.own(all.get(next)));
        let mut sections: Vec<(usize, Section)> =
            std::iter::once(beginning).chain(own).map(|section| (usize::MAX, section)).collect();
        let by_anchor: HashMap<String, usize> =
            all.into_iter().zip(1..).map(|(section, n)| (section.anchor, n)).collect();
        for (rank, cut) in found {
            let place = match cut {
                Cut::Whole => {
                    places.push((*rank, served.body_range()));
                    continue;
                }
                Cut::Beginning => Some(&0),
                Cut::Section(anchor) | Cut::Own(anchor) => by_anchor.get(anchor),
            };
            let Some(n) = place else { continue };
            let (first, section) = &mut sections[*n];
            *first = (*first).min(*rank);
            places.push((*rank, section.range.clone()));
        }
        sections.retain(|(_, section)| !served.visible()[section.range.clone()].trim().is_empty());
        sections.sort_by_key(|(rank, section)| (*rank, section.range.start));
        let best = found.first().map_or(usize::MAX, |(rank, _)| *rank);
        Self { best, places, sections: sections.into_iter().map(|(_, s)| s).collect() }
    }
}
