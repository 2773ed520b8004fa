//! What is wrong with a log (AUDIT-10). The number of faults is that of the lines of a hostile log:
//! the first ones are listed, and the others counted.

use crate::values::codes::words;

/// What is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind.
    pub kind: FaultKind,
    /// The file.
    pub file: String,
    /// The line in the file, from 1 on.
    pub line: u64,
    /// What it is.
    pub why: String,
}

words! {
    /// A kind of fault.
    pub enum FaultKind {
        /// A line is not one, or is not in its one spelling.
        Malformed = "audit-malformed",
        /// A line was changed, or does not follow the one before it.
        Mismatch = "audit-chain-mismatch",
        /// Lines are missing at the beginning or between two files.
        Gap = "audit-gap",
        /// A copy has lines that its source no longer has.
        Rollback = "audit-rollback",
        /// A line names a checkpoint with another hash than the vault, or one that was made after it.
        Contradicts = "audit-contradicts",
        /// The last line was not written to its end; no fault of anybody.
        Torn = "audit-torn",
        /// Lines of this user that were written on another ref; what is checked out lacks them.
        Elsewhere = "audit-elsewhere",
        /// The system refuses to read the file, as one of another user.
        Unreadable = "file-unreadable",
    }
}

impl FaultKind {
    /// Whether the log can no longer be relied on.
    pub fn is_damage(self) -> bool {
        !matches!(self, Self::Torn | Self::Elsewhere)
    }
}

/// Cuts what quotes a line, which may have megabytes.
pub(super) fn cut(mut why: String) -> String {
    if let Some((end, _)) = why.char_indices().nth(300) {
        why.truncate(end);
        why.push('…');
    }
    why
}

/// The writer of the file that a fault is in, by its name.
pub(super) fn writer_of(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split('.').next().unwrap_or_default()
}

impl Fault {
    /// A fault of a line whose file is not named yet.
    pub(crate) fn new(kind: FaultKind, line: u64, why: String) -> Self {
        Self { kind, file: String::new(), line, why: cut(why) }
    }

    /// The same fault in a file, counted from the number of a line on.
    pub(crate) fn placed(self, file: &str, number: u64) -> Self {
        Self { file: file.to_owned(), line: self.line + number, ..self }
    }
}

/// Faults in their order.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    kept: Vec<Fault>,
    /// The first that is not kept; it is damage if one of these is.
    first: Option<Fault>,
    more: u64,
}

impl Faults {
    /// How many are listed.
    pub(super) const MAX: usize = 1000;

    pub(super) fn kept(&self) -> usize {
        self.kept.len()
    }

    pub(crate) fn add(&mut self, fault: Fault) {
        if self.kept.len() < Self::MAX {
            self.kept.push(fault);
        } else {
            self.leave_out(fault, 1);
        }
    }

    fn leave_out(&mut self, fault: Fault, count: u64) {
        self.more += count;
        match &mut self.first {
            Some(first) if fault.kind.is_damage() && !first.kind.is_damage() => {
                first.kind = fault.kind;
            }
            Some(_) => {}
            first => *first = Some(fault),
        }
    }

    /// Adds the faults of a block, with one in front of those from a place on.
    pub(super) fn join(
        &mut self,
        block: Self,
        (place, fault): (usize, Option<Fault>),
        placed: impl Fn(Fault) -> Fault,
    ) {
        let mut kept = block.kept;
        let rest = kept.split_off(place.min(kept.len()));
        kept.into_iter().chain(fault).chain(rest).for_each(|fault| self.add(placed(fault)));
        if let Some(first) = block.first {
            self.leave_out(placed(first), block.more);
        }
    }

    /// All of them; the last one counts those that are left out.
    pub(crate) fn listed(self) -> Vec<Fault> {
        let mut listed = self.kept;
        let why = format!("this fault and those after it, {} in all, are not listed", self.more);
        listed.extend(self.first.map(|first| Fault { why, ..first }));
        listed
    }
}
