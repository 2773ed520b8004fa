//! A list of findings with a limit for each kind, because planted files can contain millions of
//! faults. Kinds are limited separately, so that many notes hide nothing else.

use std::collections::BTreeMap;

use super::finding::{Code, Finding};

/// Maximum number of kept findings of one kind and artifact.
pub(super) const OF_ARTIFACT: usize = 1_000;
/// Maximum number of kept findings of one kind and vault.
pub(super) const OF_VAULT: usize = 10_000;

/// Kept findings, and the number of omitted ones.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) findings: Vec<Finding>,
    pub(super) omitted: u64,
    kept: BTreeMap<Code, usize>,
    most: usize,
}

impl Gathered {
    /// Makes an empty list that keeps up to `most` findings of each kind.
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

    /// Adds the findings of another list.
    pub(super) fn take(&mut self, other: Self) {
        self.omitted += other.omitted;
        self.extend(other.findings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_limited_for_each_kind() {
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
