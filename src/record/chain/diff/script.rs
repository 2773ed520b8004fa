//! Edit scripts for printed diffs, found in bounded work (`spec/history.md`, HIST-16).
//!
//! The library finds the fewest changed lines, or nearly so, in time that grows with the texts and
//! with their distance. Two long texts that differ much would occupy it for minutes. So its search
//! is used only if the texts are short, or if a bounded search shows that they are near. Otherwise,
//! lines that are unique in both texts divide the work, and the parts that still differ much are
//! replaced as a block. Work is counted in steps, not in time, so that the same texts have the same
//! script everywhere.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Maximum work for one script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Maximum total of lines of texts that the library compares whatever their distance.
    pub(super) short: usize,
    /// Steps of the search for the distance of longer texts: compared lines and visited diagonals.
    pub(super) steps: u64,
}

/// Allows about a second of work on one core in the worst case.
pub(super) const BUDGET: Budget = Budget { short: 100_000, steps: 1 << 26 };

/// Equal lines of both texts: the first one in each, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Match {
    old: usize,
    new: usize,
    len: usize,
}

/// Returns the edit script between two texts, given as lines.
pub(super) fn script(old: &[&str], new: &[&str], budget: Budget) -> Vec<DiffOp> {
    if old.len() + new.len() <= budget.short {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    let (mut near, mut gaps) = (budget.steps, budget.steps);
    bounded(old, new, &mut near, &mut gaps)
}

/// Returns the script within the remaining steps: `near` for the check that the texts are near, and
/// otherwise `gaps` for the parts between the lines that divide them.
pub(super) fn bounded(old: &[&str], new: &[&str], near: &mut u64, gaps: &mut u64) -> Vec<DiffOp> {
    let (old, new) = numbered(old, new);
    if may_be_near(&old, &new, *near) && is_near(&old, &new, near) {
        return capture_diff_slices(Algorithm::Myers, &old, &new);
    }
    let mut search = Search { old: &old, new: &new, steps: gaps, matches: Vec::new() };
    search.divide();
    ops(&search.matches, old.len(), new.len())
}

/// Maps lines to numbers, equal for equal lines.
fn numbered<'t>(old: &[&'t str], new: &[&'t str]) -> (Vec<u32>, Vec<u32>) {
    let mut numbers: HashMap<&'t str, u32> = HashMap::new();
    let mut number = |line: &&'t str| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(line).or_insert(next)
    };
    let old = old.iter().map(&mut number).collect();
    (old, new.iter().map(&mut number).collect())
}

/// Returns false if the greedy search cannot end within these steps, because one text is too many
/// lines longer than the other.
fn may_be_near(old: &[u32], new: &[u32], steps: u64) -> bool {
    let changes = old.len().abs_diff(new.len()) as u64;
    // The search first visits every diagonal of fewer changes.
    changes.saturating_mul(changes.saturating_add(1)) / 2 <= steps
}

/// Returns true if the greedy search of Myers ends within the remaining steps, which it uses up.
fn is_near(old: &[u32], new: &[u32], steps: &mut u64) -> bool {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    // The furthest line of `old` on the diagonals -d, -d+2 .. d, each reached with d changes;
    // diagonal k is new - old.
    let mut reached: Vec<usize> = Vec::new();
    for changes in 0..=old.len() + new.len() {
        let mut next = Vec::with_capacity(changes + 1);
        for n in 0..=changes {
            // Diagonal k = 2n - changes, by an insertion from k - 1 or a removal from k + 1.
            let inserted = n.checked_sub(1).map(|before| reached[before]);
            let removed = reached.get(n).map(|x| x + 1);
            let mut x = inserted.max(removed).unwrap_or(0);
            let y = |x: usize| (x + 2 * n).checked_sub(changes);
            let start = x;
            while let Some(y) = y(x).filter(|y| *y < new.len() && x < old.len())
                && old[x] == new[y]
            {
                x += 1;
            }
            if x >= old.len() && y(x).is_some_and(|y| y >= new.len()) {
                return true;
            }
            next.push(x);
            match steps.checked_sub((x - start) as u64 + 1) {
                Some(left) => *steps = left,
                None => return false,
            }
        }
        reached = next;
    }
    true
}

/// A search that divides two texts.
struct Search<'t> {
    old: &'t [u32],
    new: &'t [u32],
    steps: &'t mut u64,
    /// The matches found, in order.
    matches: Vec<Match>,
}

impl Search<'_> {
    /// Divides the texts at the lines that are unique in both.
    fn divide(&mut self) {
        let (mut old, mut new) = (0, 0);
        for (a, b) in anchors(self.old, self.new) {
            self.gap(old..a, new..b);
            self.matches.push(Match { old: a, new: b, len: 1 });
            (old, new) = (a + 1, b + 1);
        }
        self.gap(old..self.old.len(), new..self.new.len());
    }

    /// Finds equal lines between two matched lines.
    fn gap(&mut self, old: Range<usize>, new: Range<usize>) {
        let pairs = || self.old[old.clone()].iter().zip(&self.new[new.clone()]);
        let head = pairs().take_while(|(a, b)| a == b).count();
        let (old_rest, new_rest) = (old.start + head..old.end, new.start + head..new.end);
        let back = self.old[old_rest.clone()].iter().rev();
        let back = back.zip(self.new[new_rest.clone()].iter().rev());
        let tail = back.take_while(|(a, b)| a == b).count();
        let (a, b) = (old_rest.start..old_rest.end - tail, new_rest.start..new_rest.end - tail);
        self.matches.push(Match { old: old.start, new: new.start, len: head });
        self.middle(a.clone(), b.clone());
        self.matches.push(Match { old: a.end, new: b.end, len: tail });
    }

    /// Adds the matches of two parts that are near. Other parts are left to be replaced as a block.
    fn middle(&mut self, a: Range<usize>, b: Range<usize>) {
        let (old, new) = (&self.old[a.clone()], &self.new[b.clone()]);
        if old.is_empty() || new.is_empty() || !is_near(old, new, self.steps) {
            return;
        }
        for op in capture_diff_slices(Algorithm::Myers, old, new) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                self.matches.push(Match {
                    old: a.start + old_index,
                    new: b.start + new_index,
                    len,
                });
            }
        }
    }
}

/// Returns pairs of lines that are unique in both texts: the most that are in the same order.
fn anchors(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    let once = |lines: &[u32]| {
        let mut seen: HashMap<u32, Option<usize>> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            seen.entry(*line).and_modify(|once| *once = None).or_insert(Some(at));
        }
        seen
    };
    let (in_old, in_new) = (once(old), once(new));
    let pair = |(at, line): (usize, &u32)| {
        in_old.get(line).copied().flatten().filter(|own| *own == at)?;
        Some((at, in_new.get(line).copied().flatten()?))
    };
    let pairs: Vec<(usize, usize)> = old.iter().enumerate().filter_map(pair).collect();
    longest_rising(&pairs)
}

/// Returns the longest part of these pairs, which rise in the first number, that also rises in
/// the second.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The last pair of the best run of each length, and the pair before each pair in its run.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (n, (_, at)) in pairs.iter().enumerate() {
        let place = ends.partition_point(|end| pairs[*end].1 < *at);
        before.push(place.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(place) {
            Some(end) => *end = n,
            None => ends.push(n),
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(n) = at {
        run.push(pairs[n]);
        at = before[n];
    }
    run.reverse();
    run
}

/// Returns the script that keeps these matches and changes everything between them.
fn ops(matches: &[Match], old_len: usize, new_len: usize) -> Vec<DiffOp> {
    let mut ops = Vec::new();
    let (mut old, mut new) = (0, 0);
    let end = Match { old: old_len, new: new_len, len: 0 };
    for found in matches.iter().filter(|found| found.len > 0).chain([&end]) {
        let (removed, added) = (found.old - old, found.new - new);
        match (removed, added) {
            (0, 0) => {}
            (0, _) => ops.push(DiffOp::Insert { old_index: old, new_index: new, new_len: added }),
            (_, 0) => ops.push(DiffOp::Delete { old_index: old, old_len: removed, new_index: new }),
            _ => ops.push(DiffOp::Replace {
                old_index: old,
                old_len: removed,
                new_index: new,
                new_len: added,
            }),
        }
        match ops.last_mut() {
            // Two adjacent matches become one.
            Some(DiffOp::Equal { len, .. }) => *len += found.len,
            _ if found.len > 0 => ops.push(DiffOp::Equal {
                old_index: found.old,
                new_index: found.new,
                len: found.len,
            }),
            _ => {}
        }
        (old, new) = (found.old + found.len, found.new + found.len);
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distance_is_within(old: &str, new: &str, mut steps: u64) -> bool {
        let lines = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
        let (old, new) = (lines(old), lines(new));
        let may_be = may_be_near(&old, &new, steps);
        let is = is_near(&old, &new, &mut steps);
        assert!(may_be || !is, "may_be_near is false, but is_near is true");
        is
    }

    #[test]
    fn script_finds_texts_near_that_differ_in_few_lines() {
        assert!(distance_is_within("", "", 0));
        assert!(distance_is_within("abcdef", "abcdef", 0));
        assert!(distance_is_within("abcdef", "abxdef", 6));
        assert!(!distance_is_within("abcdef", "uvwxyz", 40));
        assert!(distance_is_within("abcdef", "uvwxyz", 100));
        assert!(distance_is_within("abcabba", "cbabac", 40));
        assert!(distance_is_within("", "abc", 10));
    }

    #[test]
    fn script_divides_a_text_at_unique_lines() {
        assert_eq!(anchors(&[1, 2, 3, 2, 5], &[5, 1, 3, 4]), [(0, 1), (2, 2)]);
        assert_eq!(
            longest_rising(&[(0, 4), (1, 0), (2, 1), (3, 5), (4, 2)]),
            [(1, 0), (2, 1), (4, 2)]
        );
    }

    proptest! {
        #[test]
        fn script_is_valid_for_every_budget(
            old in prop::collection::vec(0..12u8, 0..60),
            new in prop::collection::vec(0..12u8, 0..60),
            steps in 0..200u64,
        ) {
            let text = |lines: &[u8]| lines.iter().map(|n| format!("{n}\n")).collect::<Vec<_>>();
            let (old, new) = (text(&old), text(&new));
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            let (mut at, mut to) = (0, 0);
            let mut was_equal = None;
            for op in script(&old, &new, Budget { short: 0, steps }) {
                prop_assert_eq!((op.old_range().start, op.new_range().start), (at, to));
                let is_equal = matches!(op, DiffOp::Equal { .. });
                prop_assert_ne!(was_equal, Some(is_equal), "changes and matches take turns");
                if is_equal {
                    prop_assert_eq!(&old[op.old_range()], &new[op.new_range()]);
                }
                (at, to) = (op.old_range().end, op.new_range().end);
                was_equal = Some(is_equal);
            }
            prop_assert_eq!((at, to), (old.len(), new.len()));
        }

        #[test]
        fn script_of_near_texts_is_that_of_the_library(
            old in prop::collection::vec(0..12u8, 0..60),
            new in prop::collection::vec(0..12u8, 0..60),
        ) {
            let text = |lines: &[u8]| lines.iter().map(|n| format!("{n}\n")).collect::<Vec<_>>();
            let (old, new) = (text(&old), text(&new));
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            let plain = capture_diff_slices(Algorithm::Myers, &old, &new);
            prop_assert_eq!(script(&old, &new, Budget { short: 0, steps: 1 << 20 }), plain);
        }
    }
}
