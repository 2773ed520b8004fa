//! The change logs: every chain, what their lines say of checkpoints, and whether each event of
//! ctx has its line (AUDIT-20 to AUDIT-22).

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Code, Finding};
use super::log::View;
use super::rules::Rules;
use super::steps::Steps;
use crate::audit::{Change, Event, Fault, FaultKind, HeadRef, Line, Logs, Tail, Tails};
use crate::model::digest::Digest;
use crate::model::id::DocumentId;
use crate::model::layout::AUDIT_DIR;
use crate::model::number::CheckpointNumber;
use crate::model::timestamp::Timestamp;
use crate::vault::Vault;

/// What change logs are compared with.
#[derive(Debug)]
pub struct Recorded<'r> {
    /// The hash of each checkpoint.
    pub hashes: &'r BTreeMap<CheckpointNumber, Digest>,
    /// The checkpoints whose events need a line.
    pub owed: Vec<CheckpointNumber>,
    /// The lines that this user wrote last.
    pub tails: Tails,
    /// The lines that checkpoints bind.
    pub bindings: &'r [Binding],
    /// The checkpoints that must bind a line.
    pub must_bind: Vec<CheckpointNumber>,
}

/// A line of a change log that a checkpoint binds (AUDIT-25).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The checkpoint.
    pub checkpoint: CheckpointNumber,
    /// When it was made.
    pub at: Timestamp,
    /// The path of the writer's first file.
    pub id: DocumentId,
    /// The number of the line.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
}

/// Checks the change logs of a vault; what they say of steps is compared with each history.
pub(super) fn check(vault: &Vault, view: &View, rules: &Rules) -> (Vec<Finding>, Steps) {
    let logs = match Logs::of_changes(vault) {
        Ok(logs) => logs,
        Err(why) => return (vec![unreadable(&why)], Steps::default()),
    };
    let from = rules.recorded_from.map_or(u64::MAX, |from| from.0);
    let numbers = (from..=view.head_number.0).map(CheckpointNumber);
    let owed = numbers.filter(|number| rules.is_strict(*number)).collect();
    let tails = Tails::read(vault.state());
    let must_bind = view.hashes.keys().copied().filter(|number| rules.is_bound(*number)).collect();
    let (hashes, bindings) = (&view.hashes, view.bindings.as_slice());
    compare(&logs, Recorded { hashes, owed, tails, bindings, must_bind })
}

/// Compares change logs with the checkpoint log, and with what this user wrote; gives what they say
/// of steps.
pub fn compare(logs: &Logs, recorded: Recorded<'_>) -> (Vec<Finding>, Steps) {
    let Recorded { hashes, owed, tails, bindings, must_bind } = recorded;
    let mut said = Said::new(hashes, tails, bindings);
    let mut findings: Vec<Finding> = match logs.each(&mut |line| said.take(&line)) {
        Ok(faults) => faults.into_iter().map(finding).collect(),
        Err(why) => vec![unreadable(&why)],
    };
    findings.extend(said.rolled_back());
    findings.extend(said.contradicting());
    findings.extend(said.missing(owed));
    findings.extend(said.unbound(must_bind));
    findings.extend(said.lost_bindings());
    said.steps.excuse(&said.declared);
    (findings, said.steps)
}

fn unreadable(why: &dyn std::fmt::Display) -> Finding {
    Finding::new(Code::AuditMalformed, AUDIT_DIR, format!("unreadable: {why}"))
}

fn finding(fault: Fault) -> Finding {
    let code = match fault.kind {
        FaultKind::Malformed => Code::AuditMalformed,
        FaultKind::Mismatch => Code::AuditChainMismatch,
        FaultKind::Gap => Code::AuditGap,
        FaultKind::Rollback => Code::AuditRollback,
        FaultKind::Contradicts => Code::AuditContradicts,
        FaultKind::Torn => Code::AuditTorn,
    };
    let line = usize::try_from(fault.line).unwrap_or(usize::MAX);
    Finding::new(code, format!("{AUDIT_DIR}/{}", fault.file), fault.why).line(line)
}

/// A line that names a checkpoint which the log does not have.
struct Contradiction {
    trace: String,
    at: String,
    sealed: HeadRef,
}

/// What the lines say.
struct Said<'r> {
    hashes: &'r BTreeMap<CheckpointNumber, Digest>,
    /// The lines that this user wrote last and that were not met yet.
    lost: Tails,
    /// The checkpoints that have their line.
    recorded: BTreeSet<CheckpointNumber>,
    contradictions: Vec<Contradiction>,
    /// The lines that checkpoints bind, by writer's file and number, until they are met.
    unmet: BTreeMap<(String, u64), Vec<&'r Binding>>,
    /// Lines that are bound, and are not of the event that binds them.
    strange: Vec<(&'r Binding, String)>,
    /// The checkpoints that bind a line.
    binding: BTreeSet<CheckpointNumber>,
    /// When this log was declared to be the one that counts, and by which line.
    declared: Vec<(String, String)>,
    /// The versions that lines name.
    steps: Steps,
}

impl<'r> Said<'r> {
    fn new(
        hashes: &'r BTreeMap<CheckpointNumber, Digest>,
        lost: Tails,
        bindings: &'r [Binding],
    ) -> Self {
        let mut unmet: BTreeMap<(String, u64), Vec<&Binding>> = BTreeMap::new();
        for binding in bindings {
            unmet.entry((binding.id.to_string(), binding.seq)).or_default().push(binding);
        }
        Self {
            unmet,
            strange: Vec::new(),
            binding: bindings.iter().map(|binding| binding.checkpoint).collect(),
            hashes,
            lost,
            recorded: BTreeSet::new(),
            contradictions: Vec::new(),
            declared: Vec::new(),
            steps: Steps::default(),
        }
    }

    fn take(&mut self, line: &Line) {
        self.lost.find(line);
        self.meet(line);
        let Event::Change(change) = &line.event else { return };
        self.steps.begin();
        self.steps.take(line, change.versions());
        match change {
            Change::Event { sealed, .. } if self.is_held(Some(sealed)) => {
                self.recorded.insert(CheckpointNumber(sealed.checkpoint));
            }
            Change::Event { sealed, .. } => self.contradictions.push(Contradiction {
                trace: line.trace().to_string(),
                at: line.at.clone(),
                sealed: sealed.clone(),
            }),
            Change::HeadTrust { to, .. } | Change::ReplaceLog { to, .. }
                if self.is_held(to.as_ref()) =>
            {
                self.declared.push((line.at.clone(), line.trace().to_string()));
            }
            _ => {}
        }
    }

    /// Compares a line with the checkpoints that bind it.
    fn meet(&mut self, line: &Line) {
        if self.unmet.is_empty() {
            return;
        }
        let key = (format!("{AUDIT_DIR}/{}.jsonl", line.writer), line.seq);
        let Some(bindings) = self.unmet.get_mut(&key) else { return };
        let of = match &line.event {
            Event::Change(change) => change.event_at().map(str::to_owned),
            _ => None,
        };
        let met = bindings.extract_if(.., |binding| line.hash == Some(binding.hash));
        for binding in met {
            if of.as_deref() != Some(binding.at.to_string().as_str()) {
                self.strange.push((binding, line.trace().to_string()));
            }
        }
        if bindings.is_empty() {
            self.unmet.remove(&key);
        }
    }

    /// The bound lines that change logs lack, for each writer the first.
    fn lost_bindings(&self) -> impl Iterator<Item = Finding> {
        let mut lost: BTreeMap<&str, (&Binding, usize)> = BTreeMap::new();
        for binding in self.unmet.values().flatten() {
            lost.entry(binding.id.as_str()).or_insert((binding, 0)).1 += 1;
        }
        let strange = self.strange.iter().map(|(binding, trace)| {
            let message = format!("it binds line {trace}, which is not of its event");
            Finding::new(Code::AuditContradicts, AUDIT_DIR, message).checkpoint(binding.checkpoint)
        });
        let lost = lost.into_iter().map(|(file, (binding, count))| {
            let more = match count - 1 {
                0 => String::new(),
                more => format!(", nor {}", crate::words::count(more, "later bound line")),
            };
            let (checkpoint, seq) = (binding.checkpoint, binding.seq);
            let message = format!(
                "checkpoint {checkpoint} binds line {seq}, which the change log does not have{more}"
            );
            Finding::new(Code::AuditRollback, file, message).checkpoint(checkpoint)
        });
        strange.chain(lost).collect::<Vec<_>>().into_iter()
    }

    fn unbound(&self, must: Vec<CheckpointNumber>) -> impl Iterator<Item = Finding> {
        must.into_iter().filter(|number| !self.binding.contains(number)).map(|number| {
            let message = "`audit.bind` is sealed, but it binds no line of a change log";
            Finding::new(Code::AuditMissing, AUDIT_DIR, message).checkpoint(number)
        })
    }

    /// Whether the log has a checkpoint with this hash; every log has the empty one before it.
    fn is_held(&self, head: Option<&HeadRef>) -> bool {
        head.is_none_or(|head| {
            let found = self.hashes.get(&CheckpointNumber(head.checkpoint));
            found.is_some_and(|found| found.to_string() == head.hash)
        })
    }

    fn rolled_back(&self) -> impl Iterator<Item = Finding> {
        self.lost.iter().map(|Tail { writer, seq, .. }| {
            let message = format!("this machine wrote line {seq} of the writer {writer}");
            Finding::new(Code::AuditRollback, format!("{AUDIT_DIR}/{writer}.jsonl"), message)
        })
    }

    fn contradicting(&self) -> impl Iterator<Item = Finding> {
        self.contradictions.iter().map(|Contradiction { trace, at, sealed }| {
            // Times are written in one form, so that they compare as texts.
            let declared = self.declared.iter().find(|(when, _)| when >= at);
            let number = CheckpointNumber(sealed.checkpoint);
            let has = match self.hashes.get(&number) {
                Some(_) => "has with another hash",
                None => "lacks",
            };
            let message = format!("line {trace} names checkpoint {number}, which the log {has}");
            let (code, message) = match declared {
                Some((_, by)) => {
                    (Code::AuditReplaced, format!("{message}; line {by} trusts the log as it is"))
                }
                None => (Code::AuditContradicts, message),
            };
            Finding::new(code, AUDIT_DIR, message).checkpoint(number)
        })
    }

    fn missing(&self, owed: Vec<CheckpointNumber>) -> impl Iterator<Item = Finding> {
        owed.into_iter().filter(|number| !self.recorded.contains(number)).map(|number| {
            let message = "no line of a change log records the event";
            Finding::new(Code::AuditMissing, AUDIT_DIR, message).checkpoint(number)
        })
    }
}
