//! Faults of audit logs (AUDIT-10). A hostile log can have a fault in every line: only the first
//! ones are listed, and the others are counted.

use crate::values::codes::words;

/// A fault of an audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The name of the file.
    pub file: String,
    /// The number of the line in the file, from 1.
    pub line: u64,
    /// The reason, for people.
    pub why: String,
}

words! {
    /// A kind of fault.
    pub enum FaultKind {
        /// A line cannot be parsed, or is not in canonical form.
        Malformed = "audit-malformed",
        /// A line was changed, or does not follow the one before it.
        Mismatch = "audit-chain-mismatch",
        /// Lines are missing at the beginning or between two files.
        Gap = "audit-gap",
        /// A copy has lines that its source no longer has.
        Rollback = "audit-rollback",
        /// A line names a checkpoint with another hash than the vault, or one that was made after it.
        Contradicts = "audit-contradicts",
        /// The last line is incomplete, as after an interrupted write.
        Torn = "audit-torn",
        /// Lines of this user are missing here, because they were written on another ref.
        Elsewhere = "audit-elsewhere",
        /// The system refuses to read the file, such as a file of another user.
        Unreadable = "file-unreadable",
    }
}

impl FaultKind {
    /// Returns true if the log can no longer be relied on.
    pub fn is_damage(self) -> bool {
        !matches!(self, Self::Torn | Self::Elsewhere)
    }
}

/// Shortens a reason that quotes a line, which may have megabytes.
pub(super) fn cut(mut why: String) -> String {
    if let Some((end, _)) = why.char_indices().nth(300) {
        why.truncate(end);
        why.push('…');
    }
    why
}

/// Returns the writer of the file that a fault is in, from the name of the file.
pub(super) fn writer_of(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split('.').next().unwrap_or_default()
}

impl Fault {
    /// Returns a fault without the name of a file.
    pub(crate) fn new(kind: FaultKind, line: u64, why: String) -> Self {
        Self { kind, file: String::new(), line, why: cut(why) }
    }

    /// Returns the fault with a file, and its line number increased by `number`.
    pub(crate) fn placed(self, file: &str, number: u64) -> Self {
        Self { file: file.to_owned(), line: self.line + number, ..self }
    }
}

/// Faults in their order.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    kept: Vec<Fault>,
    /// The first fault that is not kept. It is damage if one of the others is.
    first: Option<Fault>,
    more: u64,
}

impl Faults {
    /// Maximum number of faults that are listed.
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

    /// Adds the faults of a block, with one more fault before index `place`.
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

    /// Returns the faults in order. The last one counts those that are not listed.
    pub(crate) fn listed(self) -> Vec<Fault> {
        let mut listed = self.kept;
        let why = format!("this fault and those after it, {} in all, are not listed", self.more);
        listed.extend(self.first.map(|first| Fault { why, ..first }));
        listed
    }
}
