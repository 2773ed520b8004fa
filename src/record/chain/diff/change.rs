//! The line numbers that a diff changes, to follow each line from version to version.

use similar::DiffOp;

use super::{Fate, PatchError, apply_with, lines_of, script};

/// A place where a diff changes a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Number of unchanged lines since the previous change.
    pub kept: usize,
    /// Number of lines that are removed after them.
    pub removed: usize,
    /// Number of lines that are added there.
    pub added: usize,
}

/// The changes of one diff, in the order of the text. All lines after the last change are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(pub Vec<Change>);

impl Changes {
    /// Applies a diff like [`super::apply`], and also returns its changes.
    ///
    /// # Errors
    /// Fails on the first line of the diff that does not fit.
    pub fn of_patch(old: &str, patch: &str) -> Result<(String, Self), PatchError> {
        let mut changes = Self::default();
        let text = apply_with(old, patch, |fate, lines| changes.note(fate, lines))?;
        Ok((text, changes))
    }

    /// Returns the changes between two texts that are both stored in full.
    pub fn between(old: &str, new: &str, work: &mut Work) -> Self {
        Self::of_pieces(&lines_of(old), &lines_of(new), work)
    }

    /// Returns the changes between two texts in pieces, such as lines or words.
    pub fn of_pieces(old: &[&str], new: &[&str], work: &mut Work) -> Self {
        let mut changes = Self::default();
        let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let rest = old[head..].iter().rev().zip(new[head..].iter().rev());
        let tail = rest.take_while(|(a, b)| a == b).count();
        let (removed, added) = (old.len() - head - tail, new.len() - head - tail);
        if removed == 0 || added == 0 {
            changes.note(Fate::Kept, head);
            changes.note(Fate::Removed, removed);
            changes.note(Fate::Added, added);
            return changes;
        }
        let mut near = work.near.min(script::BUDGET.steps);
        let mut gaps = work.gaps.min(script::BUDGET.steps);
        let given = (near, gaps);
        let ops = script::bounded(old, new, &mut near, &mut gaps);
        work.near -= given.0 - near;
        work.gaps -= given.1 - gaps;
        for op in ops {
            if let DiffOp::Equal { len, .. } = op {
                changes.note(Fate::Kept, len);
            } else {
                changes.note(Fate::Removed, op.old_range().len());
                changes.note(Fate::Added, op.new_range().len());
            }
        }
        changes
    }

    fn note(&mut self, fate: Fate, lines: usize) {
        if lines == 0 {
            return;
        }
        match (self.0.last_mut(), fate) {
            (Some(last), Fate::Removed) => last.removed += lines,
            (Some(last), Fate::Added) => last.added += lines,
            (Some(last), Fate::Kept) if last.removed + last.added == 0 => last.kept += lines,
            (_, Fate::Kept) => self.0.push(Change { kept: lines, ..Change::default() }),
            (None, Fate::Removed) => self.0.push(Change { removed: lines, ..Change::default() }),
            (None, Fate::Added) => self.0.push(Change { added: lines, ..Change::default() }),
        }
    }
}

/// The remaining steps for comparing the full texts of one history. An attacker decides how many
/// texts there are and how much they differ. After the last step, everything between lines that are
/// unique in both texts is treated as replaced.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    near: u64,
    gaps: u64,
}

impl Default for Work {
    fn default() -> Self {
        Self::of(1 << 27)
    }
}

impl Work {
    /// Allows this number of steps for each of the two searches.
    pub fn of(steps: u64) -> Self {
        Self { near: steps, gaps: steps }
    }
}
