//! Findings as they come, of each kind no more than anybody reads: planted files can hold millions
//! of faults. Kinds are counted apart, so that a heap of notes hides nothing.

use std::collections::BTreeMap;

use super::finding::{Code, Finding};

/// So many findings of one kind are kept of one artifact.
pub(super) const OF_ARTIFACT: usize = 1_000;
/// So many findings of one kind are kept of a vault.
pub(super) const OF_VAULT: usize = 10_000;

/// Findings, and how many more there were.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) findings: Vec<Finding>,
    pub(super) omitted: u64,
    kept: BTreeMap<Code, usize>,
    most: usize,
}

impl Gathered {
    /// Keeps so many of each kind.
    pub(super) fn new(most: usize) -> Self {
        Self { findings: Vec::new(), omitted: 0, kept: BTreeMap::new(), most }
    }

    pub(super) fn push(&mut self, finding: Finding) {
        let kept = self.kept.entry(finding.code).or_default();
        if *kept < self.most {
            *kept += 1;
            self.findings.push(finding);
        } else {
            self.omitted += 1;
        }
    }

    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }

    /// Takes in what was gathered elsewhere.
    pub(super) fn take(&mut self, other: Self) {
        self.omitted += other.omitted;
        self.extend(other.findings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_of_one_kind_hides_no_other() {
        let mut gathered = Gathered::new(2);
        gathered.extend((0..5).map(|n| Finding::new(Code::Unfinished, format!("{n}"), "")));
        gathered.push(Finding::new(Code::ContentHashMismatch, "text", ""));
        let mut all = Gathered::new(3);
        all.push(Finding::new(Code::Unfinished, "before", ""));
        all.take(gathered);
        let paths: Vec<&str> = all.findings.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!((paths, all.omitted), (vec!["before", "0", "1", "text"], 3));
    }
}
