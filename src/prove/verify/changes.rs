//! Checks the change logs: every chain, the checkpoints that lines name, and that each event of ctx
//! has its line (AUDIT-20 to AUDIT-22).

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::bound_chains::{BoundChains, Named};
use super::finding::{Code, Finding};
use super::line_claims::{Changed, Compared, Told};
use super::log::View;
use super::review_steps::Steps;
use super::rules::Rules;
use crate::files::vault::Vault;
use crate::policy::rules;
use crate::policy::stewards::Role;
use crate::record::audit::{
    BindLines, Change, Cuts, Event, Fault, FaultKind, HeadRef, Line, Logs, Tail, Tails, VersionRef,
    changes, missing,
};
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::merge::Held;
use crate::record::checkpoint::state::Bound;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{ACCESS_DIR, AUDIT_DIR};
use crate::values::model::number::CheckpointNumber;
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::values::model::timestamp::Timestamp;
use crate::values::text_util::count;

const ADDED_LATER: &str = "its command was interrupted after the commit, and the next writing command \
                           adds the line";

/// Data that change logs are compared with.
#[derive(Debug)]
pub struct Recorded<'r> {
    /// The checkpoints that the log holds.
    pub held: &'r Held,
    /// Checkpoints whose events need a line.
    pub owed: Vec<CheckpointNumber>,
    /// Checkpoints of side lines whose events need a line, with their hashes.
    pub owed_sides: Vec<(CheckpointNumber, String)>,
    /// Last lines that this user wrote.
    pub tails: Tails,
    /// Lines that checkpoints bind.
    pub bindings: &'r [Binding],
    /// Checkpoints that must bind a line.
    pub must_bind: Vec<CheckpointNumber>,
    /// Staging chains that checkpoints bind.
    pub chains: &'r BoundChains,
    /// Principals who may acknowledge a missing line, from each of these checkpoints on, in order.
    pub acknowledgers: Vec<(CheckpointNumber, Acknowledgers)>,
    /// Last checkpoint, if a command of this user was interrupted right after it committed it. The
    /// next command adds the line.
    pub interrupted: Option<CheckpointNumber>,
    /// Further data that lines are compared with.
    pub compared: Compared<'r>,
}

/// Principals who may acknowledge that no change log records an event (AUDIT-31).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acknowledgers {
    /// Any principal, in an ungoverned vault.
    All,
    /// Reviewers of the whole vault.
    Reviewers(BTreeSet<PrincipalKey>),
}

impl Acknowledgers {
    /// Returns the principals by the review rules in force; `None` stands for an ungoverned vault.
    pub(super) fn of(rules: Option<&rules::Rules>) -> Self {
        let Some(rules) = rules else { return Self::All };
        let scope = rules.stewards.scope_of(&DocumentId::config(), &[]);
        let holders = scope.map(|scope| rules.stewards.holders(scope)).unwrap_or_default();
        let reviewers = holders.into_iter().filter(|holder| holder.role == Role::Reviewer);
        Self::Reviewers(reviewers.map(|holder| holder.principal.key()).collect())
    }

    /// Returns true if a principal may acknowledge.
    pub fn has(&self, principal: &str) -> bool {
        // A text that ctx never records as a principal is not a name.
        let is_sound = principal.parse::<Principal>().is_ok();
        match self {
            Self::All => is_sound,
            Self::Reviewers(keys) => is_sound && keys.contains(&PrincipalKey::of(principal)),
        }
    }
}

/// A line of a change log that a checkpoint binds (AUDIT-25).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Checkpoint that binds the line.
    pub checkpoint: CheckpointNumber,
    /// Time of the checkpoint.
    pub at: Timestamp,
    /// Path of the writer's first file.
    pub id: DocumentId,
    /// Number of the line.
    pub seq: u64,
    /// Hash of the line.
    pub hash: Digest,
}

/// Checks the change logs of a vault. Returns the findings, and the recorded steps to compare with
/// each history.
pub(super) fn check(vault: &Vault, view: &View, rules: &Rules) -> (Vec<Finding>, Steps) {
    let (mut findings, steps) = check_changes(vault, view, rules);
    findings.extend(accesses(vault));
    (findings, steps)
}

/// Checks the access logs in the vault (AUDIT-30): their chains, and that they contain the last
/// lines of this user.
fn accesses(vault: &Vault) -> Vec<Finding> {
    let check = || -> io::Result<Vec<Fault>> {
        let logs = Logs::none().with_accesses_in(vault)?;
        let logs = logs.pruned_at(Cuts::of(&Logs::of_changes(vault)?)?);
        let mut faults = logs.verify()?.faults;
        faults.extend(missing::faults(&missing::accesses(vault, logs.cuts())?));
        Ok(faults)
    };
    match check() {
        Ok(faults) => faults.into_iter().map(|fault| finding("", fault)).collect(),
        Err(why) => vec![unreadable(&why, ACCESS_DIR)],
    }
}

fn check_changes(vault: &Vault, view: &View, rules: &Rules) -> (Vec<Finding>, Steps) {
    match Logs::of_changes(vault) {
        Ok(logs) => {
            let (mut findings, steps, by) = compare_all(&logs, recorded(vault, view, rules));
            name_makers((vault, view), &mut findings, &by);
            match missing::changes(vault) {
                Ok(lost) => {
                    findings.extend(missing::faults(&lost).into_iter().map(|f| finding("", f)));
                }
                Err(why) => findings.push(unreadable(&why, AUDIT_DIR)),
            }
            (findings, steps)
        }
        Err(why) => (vec![unreadable(&why, AUDIT_DIR)], Steps::default()),
    }
}

/// Returns the data that the change logs of a vault are compared with.
fn recorded<'v>(vault: &Vault, view: &'v View, rules: &Rules) -> Recorded<'v> {
    let from = rules.recorded_from.map_or(u64::MAX, |from| from.0);
    let numbers = (from..=view.head_number.0).map(CheckpointNumber);
    // A merge has neither a line nor a bound one (MERGE-22).
    let is_event = |number: &CheckpointNumber| !view.merges.contains(number);
    let numbers = numbers.filter(is_event);
    let must_bind = view.held.of_main_line().map(|(number, _)| number).filter(is_event);
    let must_bind = must_bind.filter(|number| rules.is_bound(*number));
    let unwritten = changes::unwritten(vault, |number| view.hash_of(number));
    let is_last = unwritten.iter().any(|one| one.checkpoint() == view.head_number);
    Recorded {
        interrupted: (is_last && view.complete).then_some(view.head_number),
        held: &view.held,
        owed: numbers.filter(|number| rules.is_strict(*number)).collect(),
        owed_sides: rules
            .recorded_from
            .iter()
            .flat_map(|from| view.held.sides_from(*from))
            .map(|(number, hash)| (number, hash.to_owned()))
            .collect(),
        // Missing lines of this user are checked separately, with those of other refs.
        tails: Tails::default(),
        bindings: &view.bindings,
        must_bind: must_bind.collect(),
        chains: &view.chains,
        acknowledgers: rules.acknowledgers(),
        compared: Compared { changed: changed(view), now: view.now, retention: rules.retention },
    }
}

/// Returns the ids that each checkpoint set or removed.
fn changed(view: &View) -> Changed<'_> {
    let mut changed = Changed::new();
    for (id, record) in view.records.iter().filter(|_| view.complete) {
        let seals = record.seals.iter().map(|seal| seal.checkpoint);
        let removals = record.removals.iter().map(|removal| removal.checkpoint);
        for number in seals.chain(removals) {
            changed.entry(number).or_default().push(id.as_str());
        }
    }
    changed
}

/// Events that a user may acknowledge.
#[derive(Debug)]
pub struct Unrecorded {
    /// Events without a line, with the hashes of their checkpoints.
    pub missing: BTreeMap<CheckpointNumber, Digest>,
    /// Principals who may acknowledge them now.
    pub acknowledgers: Acknowledgers,
}

/// Returns the events without a line in the change logs and without a valid acknowledgement.
///
/// # Errors
/// Fails if a log cannot be read.
pub(super) fn unrecorded(vault: &Vault, view: &View, rules: &Rules) -> io::Result<Unrecorded> {
    let (said, owed) = said(vault, view, rules)?;
    let missing = owed.into_iter().filter(|number| said.is_missing(*number));
    let missing = missing.filter(|number| !said.acknowledged.contains_key(number));
    // The next command of this user adds that line.
    let missing = missing.filter(|number| said.interrupted != Some(*number));
    let hashes = missing.filter_map(|number| Some((number, view.hash_of(number)?)));
    let last = rules.acknowledgers().pop();
    Ok(Unrecorded {
        missing: hashes.collect(),
        acknowledgers: last.map_or(Acknowledgers::All, |(_, who)| who),
    })
}

/// Reads the change logs of a vault. Also returns the checkpoints whose events need a line.
fn said<'v>(
    vault: &Vault,
    view: &'v View,
    rules: &Rules,
) -> io::Result<(Said<'v>, Vec<CheckpointNumber>)> {
    let recorded = recorded(vault, view, rules);
    let owed = recorded.owed.clone();
    let mut said = Said::new(recorded);
    Logs::of_changes(vault)?.each(&mut |line| said.take(&line))?;
    Ok((said, owed))
}

/// Reports the events without a line in the change logs (AUDIT-20), all in one finding.
///
/// # Errors
/// A log cannot be read.
pub(super) fn missing_events(
    vault: &Vault,
    view: &View,
    rules: &Rules,
) -> io::Result<Option<Finding>> {
    let (said, owed) = said(vault, view, rules)?;
    let mut missing = said.missing(owed).filter(|finding| finding.code == Code::AuditMissing);
    let Some(mut first) = missing.next() else { return Ok(None) };
    let more = match missing.count() {
        0 => String::new(),
        more => format!("; likewise for {}", count(more, "other checkpoint")),
    };
    let number = first.checkpoint.unwrap_or(CheckpointNumber::NONE);
    first.message = format!("checkpoint {number}: {}{more}", first.message);
    Ok(Some(first))
}

/// Reports bound lines that change logs lack, and bound lines that belong to another event
/// (AUDIT-26). Nothing else is compared with the checkpoints.
///
/// # Errors
/// Fails if a log cannot be read.
pub(super) fn bound(vault: &Vault, chronicle: &Chronicle<'_>) -> io::Result<Vec<Finding>> {
    let of = |checkpoint: &&Checkpoint| {
        let (number, at) = (checkpoint.number, checkpoint.at);
        let one = move |(id, mark): &Bound| {
            let (version, hash) = mark.filter(|_| id.as_str().starts_with(AUDIT_DIR))?.sealed()?;
            Some(Binding { checkpoint: number, at, id: id.clone(), seq: version.0, hash })
        };
        checkpoint.bound.iter().filter_map(one).collect::<Vec<_>>()
    };
    let bindings: Vec<Binding> = chronicle.checkpoints().iter().flat_map(of).collect();
    if bindings.is_empty() {
        return Ok(Vec::new());
    }
    let (held, chains) = (Held::default(), BoundChains::default());
    let mut said = Said::new(Recorded {
        chains: &chains,
        held: &held,
        owed: Vec::new(),
        owed_sides: Vec::new(),
        tails: Tails::default(),
        bindings: &bindings,
        must_bind: Vec::new(),
        acknowledgers: Vec::new(),
        interrupted: None,
        compared: Compared::default(),
    });
    Logs::of_changes(vault)?.each(&mut |line| said.meet(&line))?;
    Ok(said.lost_bindings().collect())
}

/// Compares change logs with the checkpoint log, and with the lines of this user. Returns the
/// findings and the recorded steps.
pub fn compare(logs: &Logs, recorded: Recorded<'_>) -> (Vec<Finding>, Steps) {
    let (findings, steps, _) = compare_all(logs, recorded);
    (findings, steps)
}

/// Principals who acknowledged that no change log records an event, by checkpoint.
type Acknowledged = BTreeMap<CheckpointNumber, PrincipalKey>;

/// Compares change logs like [`compare`]. Also returns the acknowledgements.
fn compare_all(logs: &Logs, recorded: Recorded<'_>) -> (Vec<Finding>, Steps, Acknowledged) {
    let (owed, must_bind) = (recorded.owed.clone(), recorded.must_bind.clone());
    let mut said = Said::new(recorded);
    let mut findings: Vec<Finding> = match logs.each(&mut |line| said.take(&line)) {
        Ok(faults) => faults.into_iter().map(|fault| finding(AUDIT_DIR, fault)).collect(),
        Err(why) => vec![unreadable(&why, AUDIT_DIR)],
    };
    said.told.end();
    findings.extend(said.rolled_back());
    findings.extend(said.contradicting());
    findings.extend(said.missing(owed));
    findings.extend(said.unbound(must_bind));
    findings.extend(said.lost_bindings());
    findings.extend(said.chains());
    for (version, line) in &said.dismissed {
        if !said.steps.submit(version) {
            said.told.undismissed(version, line);
        }
    }
    let Said { told, mut steps, declared, by, .. } = said;
    steps.excuse(declared);
    findings.extend(told.findings(|at| steps.declared_at(at).map(str::to_owned)));
    (findings, steps, by)
}

/// Adds to a finding that the principal who acknowledged a missing line also made the event, as the
/// histories show.
fn name_makers(
    (vault, view): (&Vault, &View),
    findings: &mut [Finding],
    acknowledged: &Acknowledged,
) {
    for finding in findings.iter_mut().filter(|found| found.code == Code::AuditAcknowledged) {
        let Some(number) = finding.checkpoint else { continue };
        let Some(who) = acknowledged.get(&number) else { continue };
        if is_made_by((vault, view), number, who) {
            finding.message += "; the histories name this principal as the maker of the event";
        }
    }
}

fn is_made_by(
    (vault, view): (&Vault, &View),
    number: CheckpointNumber,
    who: &PrincipalKey,
) -> bool {
    view.records.iter().any(|(id, record)| {
        let seals = record.seals.iter().map(|seal| (seal.checkpoint, seal.at));
        let removals = record.removals.iter().map(|removal| (removal.checkpoint, removal.at));
        let Some((_, at)) = seals.chain(removals).find(|(of, _)| *of == number) else {
            return false;
        };
        let history = replay::load(vault.files(), id);
        history.is_ok_and(|history| {
            let mut made = history.entries().filter(|entry| entry.event_at() == Some(at));
            made.any(|entry| PrincipalKey::of(&entry.edited_by) == *who)
        })
    })
}

/// Returns the beginning of a text, which may be megabytes long.
fn beginning(text: &str) -> String {
    let end = text.char_indices().nth(300).map_or(text.len(), |(end, _)| end);
    format!("{}{}", &text[..end], if end < text.len() { "…" } else { "" })
}

pub(super) fn unreadable(why: &dyn std::fmt::Display, dir: &str) -> Finding {
    Finding::new(Code::AuditMalformed, dir, format!("unreadable: {why}"))
}

fn finding(dir: &str, fault: Fault) -> Finding {
    let code = match fault.kind {
        FaultKind::Malformed => Code::AuditMalformed,
        FaultKind::Mismatch => Code::AuditChainMismatch,
        FaultKind::Gap => Code::AuditGap,
        FaultKind::Rollback => Code::AuditRollback,
        FaultKind::Contradicts => Code::AuditContradicts,
        FaultKind::Torn => Code::AuditTorn,
        FaultKind::Elsewhere => Code::AuditElsewhere,
        FaultKind::Unreadable => Code::FileUnreadable,
    };
    let line = usize::try_from(fault.line).unwrap_or(usize::MAX);
    let path = if dir.is_empty() { fault.file } else { format!("{dir}/{}", fault.file) };
    Finding::new(code, path, fault.why).line(line)
}

/// A line that names a checkpoint which the log does not contain.
struct Contradiction {
    trace: String,
    at: String,
    sealed: HeadRef,
}

/// State of the lines read so far.
struct Said<'r> {
    held: &'r Held,
    /// Last lines of this user that were not read yet.
    lost: Tails,
    /// Checkpoints of side lines that need a line, and those that have one or were acknowledged.
    owed_sides: Vec<(CheckpointNumber, String)>,
    recorded_sides: BTreeSet<String>,
    /// Checkpoints that have a line.
    recorded: BTreeSet<CheckpointNumber>,
    contradictions: Vec<Contradiction>,
    /// Lines that checkpoints bind, by writer's file and number, until they are read.
    unmet: BTreeMap<(String, u64), Vec<&'r Binding>>,
    /// Bound lines that belong to another event than the one that binds them.
    strange: Vec<(&'r Binding, String)>,
    /// Checkpoints that bind a line.
    binding: BTreeSet<CheckpointNumber>,
    /// Lines `bind` of the event that was read last.
    lines: Option<BindLines>,
    /// Staging chains that these lines name.
    named: Named<'r>,
    /// Principals who may acknowledge, from each of these checkpoints on.
    acknowledgers: Vec<(CheckpointNumber, Acknowledgers)>,
    interrupted: Option<CheckpointNumber>,
    /// Messages about events without a line, from valid acknowledgements. Others are in `doubtful`.
    acknowledged: BTreeMap<CheckpointNumber, String>,
    by: Acknowledged,
    doubtful: BTreeMap<CheckpointNumber, String>,
    /// Times at which the log was declared to be valid, with the line.
    declared: Vec<(String, String)>,
    /// Versions that lines name.
    steps: Steps,
    /// Further claims of the lines.
    told: Told<'r>,
    /// Versions that lines dismiss, each with the line and its time.
    dismissed: Vec<(VersionRef, (String, String))>,
}

impl<'r> Said<'r> {
    fn new(recorded: Recorded<'r>) -> Self {
        let Recorded { held, owed_sides, tails: lost, bindings, chains, .. } = recorded;
        let Recorded { acknowledgers, interrupted, compared, .. } = recorded;
        let mut unmet: BTreeMap<(String, u64), Vec<&Binding>> = BTreeMap::new();
        for binding in bindings {
            unmet.entry((binding.id.to_string(), binding.seq)).or_default().push(binding);
        }
        Self {
            unmet,
            strange: Vec::new(),
            binding: bindings.iter().map(|binding| binding.checkpoint).collect(),
            lines: None,
            named: Named::new(chains),
            held,
            lost,
            owed_sides,
            recorded_sides: BTreeSet::new(),
            recorded: BTreeSet::new(),
            contradictions: Vec::new(),
            acknowledgers,
            interrupted,
            acknowledged: BTreeMap::new(),
            by: Acknowledged::new(),
            doubtful: BTreeMap::new(),
            declared: Vec::new(),
            steps: Steps::default(),
            told: Told::new(held, compared),
            dismissed: Vec::new(),
        }
    }

    fn take(&mut self, line: &Line) {
        self.lost.found((&line.writer, line.seq), line.hash);
        self.meet(line);
        let Event::Change(change) = &line.event else { return };
        self.steps.begin();
        self.steps.take(line, change);
        self.told.take(line, change);
        match change {
            Change::Event { sealed, .. } if self.is_held(Some(sealed)) => {
                let number = CheckpointNumber(sealed.checkpoint);
                match self.held.is_main(number, &sealed.hash) {
                    true => drop(self.recorded.insert(number)),
                    false => drop(self.recorded_sides.insert(sealed.hash.clone())),
                }
            }
            Change::Acknowledge { acknowledged, reason } if self.is_held(Some(acknowledged)) => {
                let number = CheckpointNumber(acknowledged.checkpoint);
                match self.held.is_main(number, &acknowledged.hash) {
                    true => self.acknowledge(line, acknowledged.checkpoint, reason),
                    false => drop(self.recorded_sides.insert(acknowledged.hash.clone())),
                }
            }
            Change::Event { sealed, .. } | Change::Acknowledge { acknowledged: sealed, .. } => {
                self.contradictions.push(Contradiction {
                    trace: line.trace().to_string(),
                    at: line.at.clone(),
                    sealed: sealed.clone(),
                });
            }
            Change::HeadTrust { to, .. } | Change::ReplaceLog { to, .. }
                if self.is_held(to.as_ref()) && !self.told.is_far_ahead(line) =>
            {
                self.declared.push((line.at.clone(), line.trace().to_string()));
            }
            Change::Dismiss { dismissed, .. } => {
                let by = (line.trace().to_string(), line.at.clone());
                self.dismissed.extend(dismissed.iter().map(|one| (one.clone(), by.clone())));
            }
            _ => {}
        }
    }

    /// Records an acknowledgement. It is valid if the rules at the head of its line allow it to the
    /// principal, and the event is not after that head.
    fn acknowledge(&mut self, line: &Line, number: u64, reason: &str) {
        let (number, trace) = (CheckpointNumber(number), line.trace());
        let head = line.request.head.as_ref().filter(|head| self.is_held(Some(head)));
        let head = head.map(|head| CheckpointNumber(head.checkpoint)).filter(|n| *n >= number);
        let principal = line.request.principal.as_deref().map(|name| (name, beginning(name)));
        let Some((head, (name, principal))) = head.zip(principal) else {
            let why =
                format!("line {trace} acknowledges it, but names no head and principal for it");
            self.doubtful.insert(number, why);
            return;
        };
        match self.acknowledgers_at(head).has(name) {
            true => {
                let reason = beginning(reason);
                let why = format!("line {trace} of `{principal}` acknowledges it: {reason}");
                let who = PrincipalKey::of(name);
                self.acknowledged.insert(number, why);
                self.by.insert(number, who);
            }
            false => {
                let why = format!(
                    "line {trace} acknowledges it, but `{principal}` was not a reviewer of the vault"
                );
                self.doubtful.insert(number, why);
            }
        }
    }

    /// Returns the principals who may acknowledge at a head. A line may name any head, so
    /// at a head before governance, the first reviewers may acknowledge.
    fn acknowledgers_at(&self, head: CheckpointNumber) -> &Acknowledgers {
        let at = self.acknowledgers.iter().rfind(|(from, _)| *from <= head);
        let at = at.map_or(&Acknowledgers::All, |(_, who)| who);
        let mut after = self.acknowledgers.iter().filter(|(from, _)| *from > head);
        match at {
            Acknowledgers::All => {
                after.find(|(_, who)| *who != Acknowledgers::All).map_or(at, |(_, who)| who)
            }
            Acknowledgers::Reviewers(_) => at,
        }
    }

    /// Compares a line with the checkpoints that bind it.
    fn meet(&mut self, line: &Line) {
        if self.unmet.is_empty() {
            return;
        }
        if !self.lines.as_mut().is_some_and(|lines| lines.go_on(line)) {
            self.lines = BindLines::begin(line).or(self.lines.take());
        }
        let key = (format!("{AUDIT_DIR}/{}.jsonl", line.writer), line.seq);
        let Some(bindings) = self.unmet.get_mut(&key) else { return };
        let of = match &line.event {
            Event::Change(change) => change.event_at().map(str::to_owned),
            _ => None,
        };
        let met = bindings.extract_if(.., |binding| line.hash == Some(binding.hash));
        for binding in met {
            match &self.lines {
                Some(lines) if of.as_deref() == Some(binding.at.to_string().as_str()) => {
                    self.named.take(binding.checkpoint, lines);
                }
                _ => self.strange.push((binding, line.trace().to_string())),
            }
        }
        if bindings.is_empty() {
            self.unmet.remove(&key);
        }
    }

    /// Reports bound lines that change logs lack, one finding for each writer.
    fn lost_bindings(&self) -> impl Iterator<Item = Finding> {
        let mut lost: BTreeMap<&str, (&Binding, usize)> = BTreeMap::new();
        for binding in self.unmet.values().flatten() {
            lost.entry(binding.id.as_str()).or_insert((binding, 0)).1 += 1;
        }
        let strange = self.strange.iter().map(|(binding, trace)| {
            let number = binding.checkpoint;
            let message =
                format!("checkpoint {number} binds line {trace}, which belongs to another event");
            Finding::new(Code::AuditContradicts, AUDIT_DIR, message).checkpoint(number)
        });
        let lost = lost.into_iter().map(|(file, (binding, all))| {
            let more = match all - 1 {
                0 => String::new(),
                more => format!(", nor {}", count(more, "later bound line")),
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

    /// Reports staging chains that lines of events and the maps of their checkpoints
    /// record differently.
    fn chains(&mut self) -> impl Iterator<Item = Finding> {
        let strange = self.strange.iter().map(|(binding, _)| *binding);
        let faulty = self.unmet.values().flatten().copied().chain(strange);
        self.named.excuse(faulty.map(|binding| binding.checkpoint));
        self.named.findings()
    }

    /// Returns true if the log has a checkpoint with this hash; `None` is the empty log, which
    /// precedes every log.
    fn is_held(&self, head: Option<&HeadRef>) -> bool {
        head.is_none_or(|head| {
            self.held.place_of(CheckpointNumber(head.checkpoint), &head.hash).is_some()
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
            // Times are written in one form, so they compare as texts.
            let declared = self.declared.iter().find(|(when, _)| when >= at);
            let number = CheckpointNumber(sealed.checkpoint);
            let has = match self.held.main(number) {
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

    fn is_missing(&self, number: CheckpointNumber) -> bool {
        !self.recorded.contains(&number)
    }

    fn missing(&self, owed: Vec<CheckpointNumber>) -> impl Iterator<Item = Finding> {
        let sides = self.owed_sides.iter().filter(|(_, hash)| !self.recorded_sides.contains(hash));
        let sides = sides.map(|(number, hash)| {
            let message = "no line of a change log records the event, which is on a side line";
            let finding = Finding::new(Code::AuditMissing, AUDIT_DIR, message).checkpoint(*number);
            Finding { expected: Some(hash.clone()), ..finding }
        });
        owed.into_iter()
            .filter(|number| self.is_missing(*number))
            .map(|number| {
                let message = "no line of a change log records the event";
                let is_interrupted = self.interrupted == Some(number);
                let (code, why) = match self.acknowledged.get(&number) {
                    Some(why) => (Code::AuditAcknowledged, Some(why)),
                    None if is_interrupted => (Code::Interrupted, None),
                    None => (Code::AuditMissing, self.doubtful.get(&number)),
                };
                let why = match code {
                    Code::Interrupted => Some(ADDED_LATER),
                    _ => why.map(String::as_str),
                };
                let message =
                    why.map_or_else(|| message.to_owned(), |why| format!("{message}; {why}"));
                Finding::new(code, AUDIT_DIR, message).checkpoint(number)
            })
            .chain(sides)
    }
}
