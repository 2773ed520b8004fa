//! Dependencies of sources: the order in which they are hydrated, and cycles, for which there is
//! none (paper, section 10.2). Iterative throughout: a chain of dependencies may be long.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use crate::document::Document;
use crate::document::frontmatter::Frontmatter;
use crate::document::links;
use crate::document::validate::{Problem, Severity};
use crate::model::id::DocumentId;

/// What each source depends on. A source without an entry depends on nothing.
pub type Dependencies = BTreeMap<DocumentId, BTreeSet<DocumentId>>;

/// Sources that wait for each other: the first depends on the second, and so on, and the last on
/// the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(Vec<DocumentId>);

/// How many sources of a cycle are printed.
const SHOWN: usize = 20;

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for id in self.0.iter().take(SHOWN) {
            write!(f, "{id} -> ")?;
        }
        if self.0.len() > SHOWN {
            write!(f, "({} more) -> ", self.0.len() - SHOWN)?;
        }
        self.0.first().map_or(Ok(()), |id| write!(f, "{id}"))
    }
}

impl Cycle {
    /// The cycle as what is wrong with one of its sources.
    pub(crate) fn problem(&self, line: Option<usize>) -> Problem {
        Problem {
            code: "dependency-cycle",
            severity: Severity::Error,
            line,
            message: format!("sources depend on each other: {self}"),
            hint: "remove one of these from `source.depends_on`".into(),
        }
    }
}

/// What a source depends on, as its frontmatter says; nothing for other documents.
pub fn needed(id: &DocumentId, fields: &Frontmatter) -> BTreeSet<DocumentId> {
    links::dependencies(id, fields).iter().filter_map(|link| link.target.document()).collect()
}

/// What a source depends on, as its text says; none for a text that cannot be read.
pub fn needed_by_text(id: &DocumentId, text: &str) -> Option<BTreeSet<DocumentId>> {
    Some(needed(id, &Document::parse(text).ok()?.frontmatter))
}

/// Everything that `starts` depend on, directly or not, as `of` tells it of one source.
pub fn closure(
    starts: impl IntoIterator<Item = DocumentId>,
    mut of: impl FnMut(&DocumentId) -> BTreeSet<DocumentId>,
) -> Dependencies {
    let mut open: Vec<DocumentId> = starts.into_iter().collect();
    let mut found = Dependencies::new();
    while let Some(id) = open.pop() {
        if !found.contains_key(&id) {
            let needed = of(&id);
            open.extend(needed.iter().filter(|id| !found.contains_key(*id)).cloned());
            found.insert(id, needed);
        }
    }
    found
}

/// The order in which `wanted` sources are hydrated: each after those it depends on, be it by way
/// of a source that is not wanted; of those that may come next, the smallest in byte order. Sources
/// for which there is no such order come last, in byte order.
pub fn hydration_order(
    dependencies: &Dependencies,
    wanted: &BTreeSet<DocumentId>,
) -> Vec<DocumentId> {
    let mut waiting: BTreeMap<&DocumentId, usize> = BTreeMap::new();
    let mut dependents: BTreeMap<&DocumentId, Vec<&DocumentId>> = BTreeMap::new();
    for id in wanted {
        waiting.entry(id).or_insert(0);
    }
    for (id, needed) in dependencies {
        *waiting.entry(id).or_insert(0) += needed.len();
        for other in needed {
            waiting.entry(other).or_insert(0);
            dependents.entry(other).or_default().push(id);
        }
    }
    // What is not wanted goes first, so that it never decides between two that are.
    let key = |id| (wanted.contains(id), id);
    let mut ready: BTreeSet<(bool, &DocumentId)> =
        waiting.iter().filter(|(_, n)| **n == 0).map(|(id, _)| key(*id)).collect();
    let mut order = Vec::with_capacity(wanted.len());
    while let Some((is_wanted, id)) = ready.pop_first() {
        if is_wanted {
            order.push(id.clone());
        }
        for dependent in dependents.remove(id).into_iter().flatten() {
            if let Some(left) = waiting.get_mut(dependent) {
                *left -= 1;
                if *left == 0 {
                    ready.insert(key(dependent));
                }
            }
        }
    }
    let done: BTreeSet<DocumentId> = order.iter().cloned().collect();
    order.extend(wanted.difference(&done).cloned());
    order
}

/// The groups of sources that wait for each other, directly or not, in byte order of their
/// smallest.
pub fn knots(dependencies: &Dependencies) -> Vec<BTreeSet<DocumentId>> {
    let mut search = Search::new(dependencies);
    for id in dependencies.keys() {
        search.visit(id);
    }
    let mut knots = search.knots;
    knots.sort();
    knots
}

/// A shortest cycle through one source of a knot.
pub fn cycle(
    dependencies: &Dependencies,
    knot: &BTreeSet<DocumentId>,
    through: &DocumentId,
) -> Cycle {
    let mut before: BTreeMap<&DocumentId, &DocumentId> = BTreeMap::new();
    let mut open = VecDeque::from([through]);
    while let Some(id) = open.pop_front() {
        for next in dependencies.get(id).into_iter().flatten().filter(|id| knot.contains(*id)) {
            if next == through {
                let mut path = vec![id];
                while let Some(previous) = path.last().and_then(|id| before.get(id)) {
                    path.push(previous);
                }
                return Cycle(path.into_iter().rev().cloned().collect());
            }
            if !before.contains_key(next) {
                before.insert(next, id);
                open.push_back(next);
            }
        }
    }
    Cycle(vec![through.clone()])
}

/// Tarjan's search for strongly connected components, with its own stack.
struct Search<'d> {
    dependencies: &'d Dependencies,
    /// When a source was met, and the earliest one on the stack that it reaches.
    met: BTreeMap<&'d DocumentId, (usize, usize)>,
    stack: Vec<&'d DocumentId>,
    on_stack: BTreeSet<&'d DocumentId>,
    knots: Vec<BTreeSet<DocumentId>>,
}

impl<'d> Search<'d> {
    fn new(dependencies: &'d Dependencies) -> Self {
        let (met, stack) = (BTreeMap::new(), Vec::new());
        Self { dependencies, met, stack, on_stack: BTreeSet::new(), knots: Vec::new() }
    }

    fn visit(&mut self, start: &'d DocumentId) {
        if self.met.contains_key(start) {
            return;
        }
        let mut path = vec![(start, self.enter(start))];
        while let Some((id, left)) = path.last_mut() {
            let id = *id;
            match left.next() {
                Some(next) if !self.met.contains_key(next) => {
                    let rest = self.enter(next);
                    path.push((next, rest));
                }
                Some(next) => {
                    if self.on_stack.contains(next) {
                        let reached = self.met.get(next).map_or(0, |(at, _)| *at);
                        self.lower(id, reached);
                    }
                }
                None => {
                    path.pop();
                    let low = self.leave(id);
                    if let Some((above, _)) = path.last() {
                        self.lower(above, low);
                    }
                }
            }
        }
    }

    fn enter(&mut self, id: &'d DocumentId) -> impl Iterator<Item = &'d DocumentId> + use<'d> {
        let at = self.met.len();
        self.met.insert(id, (at, at));
        self.stack.push(id);
        self.on_stack.insert(id);
        self.dependencies.get(id).into_iter().flatten()
    }

    fn lower(&mut self, id: &DocumentId, to: usize) {
        if let Some((_, low)) = self.met.get_mut(id) {
            *low = (*low).min(to);
        }
    }

    /// Takes a whole component off the stack if `id` is where it was entered.
    fn leave(&mut self, id: &'d DocumentId) -> usize {
        let (at, low) = self.met.get(id).copied().unwrap_or_default();
        if at == low {
            let from = self.stack.iter().rposition(|other| *other == id).unwrap_or(0);
            let component = self.stack.split_off(from);
            component.iter().for_each(|id| {
                self.on_stack.remove(id);
            });
            let component: BTreeSet<DocumentId> = component.into_iter().cloned().collect();
            let needs_itself = self.dependencies.get(id).is_some_and(|needed| needed.contains(id));
            if component.len() > 1 || needs_itself {
                self.knots.push(component);
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(pairs: &[(&str, &str)]) -> Dependencies {
        let mut found = Dependencies::new();
        for (from, to) in pairs {
            found.entry(from.parse().unwrap()).or_default().insert(to.parse().unwrap());
        }
        found
    }

    fn ids(text: &str) -> BTreeSet<DocumentId> {
        text.split(' ').map(|id| id.parse().unwrap()).collect()
    }

    fn order(pairs: &[(&str, &str)], wanted: &str) -> String {
        let order = hydration_order(&of(pairs), &ids(wanted));
        order.iter().map(DocumentId::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn dependencies_come_first_and_byte_order_decides_the_rest() {
        assert_eq!(order(&[("a", "c"), ("b", "a")], "a b c d"), "c a b d");
        assert_eq!(order(&[("a", "x"), ("x", "c")], "a b c"), "b c a", "by way of another");
        assert_eq!(order(&[("b", "zz")], "a b z"), "a b z", "what is not wanted decides nothing");
        assert_eq!(order(&[("b", "a"), ("a", "b"), ("c", "b")], "a b c d"), "d a b c");
    }

    #[test]
    fn a_cycle_is_found_and_printed() {
        let found = of(&[("b", "c"), ("c", "a"), ("a", "b"), ("c", "d"), ("e", "e"), ("a", "c")]);
        let printed: Vec<String> = knots(&found)
            .iter()
            .map(|knot| cycle(&found, knot, knot.first().unwrap()).to_string())
            .collect();
        assert_eq!(printed, ["a -> c -> a", "e -> e"]);
        let knot = ids("a b c");
        assert_eq!(cycle(&found, &knot, &"b".parse().unwrap()).to_string(), "b -> c -> a -> b");
    }

    #[test]
    fn a_long_chain_is_no_deep_recursion() {
        let name = |n: usize| -> DocumentId { format!("s/{n:06}").parse().unwrap() };
        let next = |id: &DocumentId| -> BTreeSet<DocumentId> {
            let n: usize = id.as_str()[2..].parse().unwrap();
            BTreeSet::from([name((n + 1) % 50_000)])
        };
        let found = closure([name(0)], next);
        assert_eq!(found.len(), 50_000);
        let knots = knots(&found);
        assert_eq!(knots[0].len(), 50_000);
        let printed = cycle(&found, &knots[0], &name(7)).to_string();
        assert!(printed.ends_with("s/000026 -> (49980 more) -> s/000007"), "{printed}");
        assert_eq!(hydration_order(&found, &BTreeSet::from([name(7)])), [name(7)]);
    }

    fn graphs() -> impl Strategy<Value = Dependencies> {
        let pairs = prop::collection::vec((0..7_u8, 0..7_u8), 0..12);
        pairs.prop_map(|pairs| {
            let mut found = Dependencies::new();
            for (from, to) in pairs {
                let id = |n: u8| -> DocumentId { format!("s{n}").parse().unwrap() };
                found.entry(id(from)).or_default().insert(id(to));
            }
            found
        })
    }

    /// What each source reaches, by repeated joining.
    fn reachable(found: &Dependencies) -> Dependencies {
        let mut all = found.clone();
        loop {
            let mut next = all.clone();
            for needed in next.values_mut() {
                let more = needed.iter().filter_map(|id| all.get(id)).flatten().cloned();
                let more: BTreeSet<DocumentId> = more.collect();
                needed.extend(more);
            }
            if next == all {
                return all;
            }
            all = next;
        }
    }

    proptest! {
        #[test]
        fn an_order_respects_every_path(found in graphs(), wanted in prop::collection::btree_set(0..7_u8, 0..7)) {
            let wanted: BTreeSet<DocumentId> = wanted.iter().map(|n| format!("s{n}").parse().unwrap()).collect();
            let order = hydration_order(&found, &wanted);
            prop_assert_eq!(&order.iter().cloned().collect::<BTreeSet<DocumentId>>(), &wanted);
            prop_assert_eq!(order.len(), wanted.len());
            let reach = reachable(&found);
            let waits = |id: &DocumentId| reach.get(id).into_iter().flatten().any(|to| {
                reach.get(to).is_some_and(|back| back.contains(to))
            });
            let place = |id: &DocumentId| order.iter().position(|other| other == id);
            for (from, needed) in &reach {
                for to in needed.iter().filter(|to| !waits(from) && *to != from) {
                    if let (Some(from), Some(to)) = (place(from), place(to)) {
                        prop_assert!(to < from, "{order:?}");
                    }
                }
            }
        }

        #[test]
        fn knots_are_what_reaches_itself(found in graphs()) {
            let reach = reachable(&found);
            let in_knots: BTreeSet<DocumentId> = knots(&found).into_iter().flatten().collect();
            let looped = reach.iter().filter(|(id, to)| to.contains(*id)).map(|(id, _)| id.clone());
            prop_assert_eq!(&in_knots, &looped.collect::<BTreeSet<DocumentId>>());
            for knot in knots(&found) {
                for id in &knot {
                    let Cycle(path) = cycle(&found, &knot, id);
                    let next = path.iter().cycle().skip(1);
                    for (from, to) in path.iter().zip(next) {
                        prop_assert!(found[from].contains(to));
                    }
                }
            }
        }
    }
}
