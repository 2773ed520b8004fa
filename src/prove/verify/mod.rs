//! Recomputes everything that a vault claims (paper, sections 7.1 and 8.2; `spec/verify.md`).
//!
//! [`verify`] reads everything and collects every finding. It never stops at the first one, and
//! never repairs. Missing data is a finding and is never skipped.
//!
//! `log` checks the log by itself, and `rules` what the sealed configuration demands of it.
//! `artifact` checks each artifact with its history, in parallel: `sealed` its seals, and `working`
//! its live file. `changes` checks the change logs, `staged` the staged results, and `bound_chains`
//! their bound lines. `review_steps` and `reviewed` check the reviews, and `line_claims` other
//! claims of lines. `moved`, `left_out` and `reformatted` explain findings, and `capped` limits
//! their number. `changed` is the part that changed since an earlier state. `anchor` compares the
//! log with what is known from elsewhere, and `past_logs` the audit logs and staging chains.

mod anchor;
mod artifact;
mod aside;
mod bound_chains;
mod capped;
mod changed;
mod changes;
pub mod finding;
mod left_out;
mod line_claims;
mod log;
mod moved;
mod past_logs;
mod reformatted;
mod remedy;
mod review_steps;
mod reviewed;
mod rules;
mod sealed;
mod staged;
mod working;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rayon::prelude::*;

pub use anchor::{Anchor, AnchorResult, AnchorSource};
pub use bound_chains::BoundChains;
pub(crate) use changed::Changed;
pub use changes::{Acknowledgers, Binding, Recorded, Unrecorded, compare as compare_changes};
pub use finding::{Class, Code, Finding};
pub use line_claims::Compared;
pub(crate) use reformatted::{FORMATTER, KINDS, solid};
pub use review_steps::{NamedKind, Steps};

use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::files::vault::progress::Phase;
use crate::files::vault::walk::{Folder, Survey};
use crate::policy::in_force::Moves;
use crate::read::derived;
use crate::read::index::Index;
use crate::record::audit::{Logs, prunings};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::foreign::Foreign;
use crate::record::checkpoint::log::Log;
use crate::record::staging::Staged;
use crate::record::trusted_head::{
    self, EventKey, Head, Incomplete, TrustError, TrustedHead, TrustedHeads,
};
use crate::values::codes::words;
use crate::values::model::digest::Digest;
use crate::values::model::emoji::difference;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;
use crate::write::commit;
use artifact::Checked;
use capped::{Gathered, OF_VAULT};
use rules::Rules;

/// Scope of a verification, and what the vault is compared with.
#[derive(Debug)]
pub struct Request {
    /// Time of the clock. It is compared with recorded times, and stored with a trusted head.
    pub now: Timestamp,
    /// Checks only the log and these artifacts.
    pub only: Option<BTreeSet<DocumentId>>,
    /// Anchors of the log from elsewhere, in addition to the trusted head.
    pub anchors: Vec<Anchor>,
    /// Accepts an anchor that the log holds on a side line (MERGE-24).
    pub allow_merged: bool,
}

impl Request {
    /// Makes a request to verify everything, compared only with the trusted head.
    pub fn whole(now: Timestamp) -> Self {
        Self { now, only: None, anchors: Vec::new(), allow_merged: false }
    }
}

words! {
    /// Result of a verification.
    pub enum Verdict {
        /// Every hash was recomputed, and the log contains a checkpoint that is known
        /// from elsewhere.
        IntactAnchored = "intact, anchored",
        /// Every hash was recomputed. No data outside of the vault shows that the end of the log is
        /// still there, or that the log was not replaced as a whole.
        IntactNotAnchored = "intact, not anchored",
        /// Nothing was published.
        NothingPublished = "nothing published",
        /// The record is intact; live files differ from it.
        WorkingCopyDiffers = "intact, working copy differs",
        /// The checked part is intact; git leaves the rest of the record out of the working copy.
        Incomplete = "incomplete, git leaves files out",
        /// Some records are incomplete.
        Unsettled = "unsettled",
        /// Recorded data was altered or is missing.
        Damaged = "damaged",
    }
}

impl Verdict {
    /// Returns true if the record is intact, even if live files differ.
    pub fn is_whole(self) -> bool {
        !matches!(self, Self::Incomplete | Self::Unsettled | Self::Damaged)
    }
}

impl Report {
    /// Returns true if a live file differs from its published version.
    pub fn has_edits(&self) -> bool {
        self.findings.iter().any(|finding| finding.code.class() == Class::WorkingCopy)
    }

    /// Returns true if the record is whole, and no live file was edited unless that is allowed.
    pub fn passes(&self, allow_drift: bool) -> bool {
        self.verdict.is_whole() && (allow_drift || !self.has_edits())
    }
}

/// Report of a verification.
#[derive(Debug)]
pub struct Report {
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// Number of findings beyond those that are listed, of artifacts with very many.
    pub omitted: u64,
    /// Overall result.
    pub verdict: Verdict,
    /// Anchors that the log contains. A missing anchor is a finding.
    pub anchors: Vec<AnchorResult>,
    /// Reason why the trusted head could not be read or updated.
    pub trust_error: Option<TrustError>,
    /// Number of checkpoints read.
    pub checkpoints: u64,
    /// Hash of the last checkpoint.
    pub head: Option<Digest>,
    /// Documents and governance files checked.
    pub ids: Vec<DocumentId>,
    /// Number of versions recomputed.
    pub versions: u64,
    /// Number of versions with a note, which no hash covers.
    pub unprotected_notes: u64,
    /// Number of retirements whose author no hash covers, because no map contains the hash of a
    /// retired version.
    pub unprotected_retirements: u64,
    /// Number of edited live files of published documents that are drafts, which is not a finding.
    pub drafts: u64,
    /// Number of entries of staging chains, including those whose content is gone.
    pub staged_results: usize,
    /// True if the reference implementation wrote the whole log (CKPT-40).
    pub is_foreign: bool,
    /// Number of edited live files that no publication since the earlier state contains, if only
    /// changes since then were verified.
    pub(crate) unpublished: usize,
}

/// Verifies the vault, or the requested part. If the vault is intact, its head becomes trusted.
///
/// # Errors
/// Fails if the log file exists but cannot be opened. Faults inside are findings.
pub fn verify(vault: &Vault, request: &Request) -> Result<Report, FileError> {
    let before = vault.log_stamp();
    let report = recompute(vault, request, Basis::Log)?;
    let has = |code| report.findings.iter().any(|found| found.code == code);
    let is_settled = report.verdict.is_whole() && !has(Code::Interrupted);
    if is_settled && !report.has_edits() {
        return Ok(report);
    }
    // A concurrent writer shows half of its event, so the vault is checked again without one. A
    // writer that has finished since may have added the line of its event meanwhile, which the log
    // does not show.
    let held_off = vault.hold_off_writers();
    let lacks_line = has(Code::AuditMissing) || has(Code::Interrupted);
    match held_off.was_busy || lacks_line || vault.log_stamp() != before {
        true => recompute(vault, request, Basis::Log),
        false => Ok(report),
    }
}

/// Verifies the vault as if it had this log. Writes nothing, and does not take a lock.
///
/// # Errors
/// Fails like [`verify`].
pub(crate) fn verify_as(vault: &Vault, request: &Request, log: Log) -> Result<Report, FileError> {
    recompute(vault, request, Basis::Supposed(Box::new(log)))
}

/// Verifies the part of the vault that changed since an earlier state, which an anchor of the
/// request vouches for. Writes nothing.
///
/// The logs, and the names of all files, are checked as a whole. Of the artifacts, and of the live
/// files of unpublished documents, only changed ones are read.
///
/// # Errors
/// Fails like [`verify`].
pub(crate) fn verify_changed(
    vault: &Vault,
    request: &Request,
    changed: &Changed,
) -> Result<Report, FileError> {
    recompute(vault, request, Basis::Changed(changed))
}

/// Log, and earlier state, that a verification relies on.
enum Basis<'b> {
    /// The log of the vault.
    Log,
    /// This log, as if the vault had it.
    Supposed(Box<Log>),
    /// The log of the vault, and the state before these changes.
    Changed(&'b Changed),
}

fn recompute(vault: &Vault, request: &Request, basis: Basis<'_>) -> Result<Report, FileError> {
    let now = request.now;
    let (supposed, changed) = match basis {
        Basis::Log => (None, None),
        Basis::Supposed(log) => (Some(*log), None),
        Basis::Changed(changed) => (None, Some(changed)),
    };
    let whole = request.only.is_none();
    // A trusted head is never ahead of a log that is read later.
    let (heads, intents) = (trusted_head::trusted_heads(vault), trusted_head::intents(vault));
    // The log is read on one core. The others list the folders meanwhile.
    let survey = || if whole { vault.survey() } else { Survey::default() };
    let is_supposed = supposed.is_some();
    let (seen, survey) = rayon::join(|| look_at_log(vault, supposed, now), survey);
    let (log, mut view, mut findings) = seen?;
    let (mut rules, found) = Rules::of(vault, &view);
    findings.extend(found);
    if let Some(log) = &log {
        rules.foreign = Foreign::of(&log.entries, log.form, vault.files());
        excused(&mut findings.findings, &rules.foreign);
        findings.take(log::check_strictly(log, &rules));
        findings.extend(log::check_merges(log, &rules));
    }
    let (log_exists, path) =
        log.as_ref().map_or((true, layout::DELTA_LOG), |log| (log.exists, log.path()));
    let (heads, trust_error) = match heads {
        Ok(heads) => (heads, None),
        Err(why) => (TrustedHeads::default(), Some(why)),
    };
    let other = elsewhere(&heads, &view, path);
    let anchors = anchors(vault, request, &heads, log.as_ref()).into_iter();
    let compared = anchors.map(|anchor| anchor.check(&view, request.allow_merged, path));
    let (held, lost): (Vec<_>, Vec<_>) = compared.partition(Result::is_ok);
    findings.extend(lost.into_iter().filter_map(Result::err));
    // A branch without a trusted head cannot be anchored by the head of another branch while a
    // third one is ahead.
    let is_known = heads.here.is_some() || other.is_none();
    let is_sure =
        |held: &AnchorResult| is_known || !matches!(held.source, AnchorSource::Trusted { .. });
    let held: Vec<AnchorResult> = held.into_iter().filter_map(Result::ok).filter(is_sure).collect();
    findings.extend(other);
    findings.extend(held.iter().filter_map(|held| merged(held, path)));
    let is_whole = view.complete || !log_exists;
    let intent = intents.into_iter().find(|intent| is_whole && intent.upon == view.end());
    view.interrupted = intent.map(|intent| intent.event);
    let is_undone =
        |step: &EventKey| rules.in_force.was_governed() && !commit::is_whole(vault, step);
    view.undone = view.interrupted.clone().filter(is_undone);
    if view.interrupted.is_some() {
        for torn in findings.findings.iter_mut().filter(|finding| finding.code == Code::TornTail) {
            torn.code = Code::Unfinished;
        }
    }

    let (mut steps, mut staged) = (Steps::default(), Staged::default());
    let (ids, documents, policy) = match request.only.clone() {
        Some(only) => {
            let exist = |path: &String| vault.files().exists(path);
            let live = only.iter().map(DocumentId::live_path).filter(exist);
            let (documents, policy) =
                live.partition(|path| DocumentId::of_document_file(path).is_ok());
            (only, documents, policy)
        }
        None => {
            let (mut ids, found) = everything(&view, &survey.histories);
            findings.extend(found);
            findings.extend(working::strays(&survey, &rules.foreign));
            findings.extend(working::ignored(&survey.found));
            findings.extend(working::acts(vault.files()));
            findings.extend(working::inside(vault));
            if changed.is_none_or(Changed::is_of_record) {
                let found;
                let reads = changed.is_none_or(|changed| changed.has_within(layout::STAGING_DIR));
                (found, staged) = staged::check((vault, log.as_ref()), &view.chains, reads, now);
                findings.extend(found);
                let found;
                (found, steps) = changes::check(vault, &view, &rules);
                findings.extend(found);
                findings.extend(past_logs::check(vault, &request.anchors));
                findings.extend(staged::older(&staged, log.as_ref(), &steps));
            }
            let (named, found) = steps.ids();
            findings.extend(found);
            ids.extend(named);
            let mut documents = survey.found.documents;
            if let Some(changed) = changed {
                ids = changed.artifacts(vault, ids, (&view, &rules, &steps));
                documents.retain(|path| changed.paths.contains(path));
            }
            (ids, documents, vault.governance_files())
        }
    };
    let ids: Vec<DocumentId> = ids.into_iter().collect();
    let names = Names(whole.then_some(&survey.histories));
    let moves = Moves::default();
    let known = Known { view: &view, rules: &rules, steps: &steps, moves: &moves };
    // With an index, derived files are computed from it on one core. Without one, they need every
    // text, which is worthwhile only if the record is intact.
    let is_compared = whole && !is_supposed && changed.is_none();
    let is_cheap = is_compared && vault.cache().is_some_and(Index::lies_in);
    let (checked, early) = rayon::join(
        || artifacts(vault, &ids, &names, &known),
        || is_cheap.then(|| derived::differing(vault)),
    );
    let checked = checked?;
    let published = checked.published;
    findings.extend(reviewed::split_changes(&checked.parts));
    // Earlier events are vouched for, and some of their versions are not checked.
    let skipped = changed.map(|_| view.incomplete(&ids)).unwrap_or_default();
    findings.extend(reviewed::contradicted(&checked.decided, &skipped));
    findings.take(checked.findings);
    findings.extend(staged::claims(&staged, &checked.promoted));
    let is_empty = log.as_ref().is_none_or(Log::is_blank);
    let is_lost = published && !log_exists || checked.orphaned && is_empty;
    if is_lost && view.interrupted.is_none() {
        let message = match published {
            true => "histories have published versions, but the checkpoint log is missing",
            false => {
                "there are texts of versions, but the checkpoint log and histories are missing"
            }
        };
        findings.push(Finding::new(Code::CheckpointLogMissing, layout::DELTA_LOG, message));
    }
    // If the log was not read completely, absent artifacts may not be missing.
    let is_sealed = published || view.head_number > CheckpointNumber::NONE;
    if view.complete || !is_sealed {
        findings.extend(working::planted(vault, &documents, &view, rules.frontmatter));
        findings.extend(working::unsealed_policy(&policy, &view));
    }
    let Gathered { mut findings, omitted, .. } = findings;
    explain_lives(vault, log.as_ref(), &view, &mut findings);
    let before = findings.len();
    if let Some(changed) = changed {
        findings.retain(|finding| {
            finding.code.class() != Class::WorkingCopy
                || is_partly_published(finding, &view, changed)
        });
    }
    let unpublished = before - findings.len();
    moved::explain(vault, &view, &mut findings);
    left_out::explain(vault, whole, &mut findings);
    findings.sort_by(|a, b| a.rank().cmp(&b.rank()));
    findings.dedup();
    let mut report = Report {
        findings,
        omitted,
        verdict: Verdict::Damaged,
        anchors: held,
        trust_error,
        checkpoints: view.head_number.0,
        head: view.hash_of(view.head_number),
        ids,
        versions: checked.versions,
        unprotected_notes: checked.notes,
        unprotected_retirements: checked.retirements,
        drafts: checked.drafts,
        staged_results: staged.entries.len(),
        is_foreign: rules.foreign.is_whole(),
        unpublished,
    };
    report.verdict = verdict(&report, is_sealed, if whole { is_sealed } else { published });
    if is_compared && report.verdict.is_whole() {
        let differing = early.unwrap_or_else(|| derived::differing(vault)).into_iter();
        let found = differing.map(|(path, why)| Finding::new(Code::DerivedDiffers, path, why));
        report.findings.extend(found);
        report.findings.sort_by(|a, b| a.rank().cmp(&b.rank()));
    }
    if is_compared && report.verdict.is_whole() && report.trust_error.is_none() {
        let holds = |hash: &Digest| log.as_ref().is_some_and(|log| log.holds(hash));
        report.trust_error = trusted_head::advance(vault, &view.end(), holds, now).err();
    }
    Ok(report)
}

/// Returns true if an artifact differs only because a publication of it is incomplete: a checkpoint
/// since the earlier state seals or removes it, or its live file says that it is published.
fn is_partly_published(finding: &Finding, view: &log::View, changed: &Changed) -> bool {
    let record = finding.id.as_ref().and_then(|id| view.records.get(id));
    finding.code == Code::PublishedWithoutHistory || changed.is_sealed_since(record)
}

/// Turns findings about live files into notes if a command was interrupted after it committed the
/// last checkpoint and before it updated them. The next writer updates them (TXN-24). Only the
/// intent record shows the interruption.
fn explain_lives(vault: &Vault, log: Option<&Log>, view: &log::View, findings: &mut [Finding]) {
    let mut found: Vec<&mut Finding> =
        findings.iter_mut().filter(|found| found.code.class() == Class::WorkingCopy).collect();
    let hash_of = |number| view.hash_of(number);
    let is_last = |one: &Incomplete| one.checkpoint() == view.head_number;
    if found.is_empty()
        || !view.complete
        || !trusted_head::incomplete(vault, hash_of).iter().any(is_last)
    {
        return;
    }
    let Some(chronicle) = log.and_then(|log| log.sound().ok()) else { return };
    let lives: BTreeSet<DocumentId> =
        commit::interrupted_lives(vault, &chronicle).into_iter().map(|(id, _)| id).collect();
    for finding in found.iter_mut().filter(|f| f.id.as_ref().is_some_and(|id| lives.contains(id))) {
        finding.code = Code::Interrupted;
        "its command was interrupted before it updated the live file; the next writing command does"
            .clone_into(&mut finding.message);
        finding.checkpoint = Some(view.head_number);
    }
}

/// Turns findings into notes if the reference implementation causes them (CKPT-40).
fn excused(findings: &mut [Finding], foreign: &Foreign) {
    for finding in findings {
        let (Some(id), Some(checkpoint)) = (&finding.id, finding.checkpoint) else { continue };
        let why = match finding.code {
            Code::CheckpointHashMissing if foreign.is_half(checkpoint, id) => {
                "the reference implementation records documents before their first version"
            }
            Code::VersionRegression if foreign.excuses(checkpoint, id) => {
                "the document was deleted and made again"
            }
            _ => continue,
        };
        finding.code = Code::ForeignRecord;
        finding.message = format!("{}: {why}", finding.message);
    }
}

/// Returns the events of a vault that no change log records, and who may acknowledge
/// that (AUDIT-31).
///
/// # Errors
/// Fails if the log or a change log cannot be read.
pub fn unrecorded(vault: &Vault, now: Timestamp) -> Result<Unrecorded, FileError> {
    let (_, view, _) = look_at_log(vault, None, now)?;
    let (rules, _) = Rules::of(vault, &view);
    changes::unrecorded(vault, &view, &rules).map_err(FileError::io("read", layout::AUDIT_DIR))
}

/// Reports lines that the checkpoints of a vault show to have existed, and that its change logs
/// lack: bound lines (AUDIT-26), and those of events (AUDIT-20).
///
/// # Errors
/// Fails if the log or a change log cannot be read.
pub fn lacking_lines(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    now: Timestamp,
) -> Result<Vec<Finding>, FileError> {
    let look = || -> Result<Vec<Finding>, FileError> {
        let (_, view, _) = look_at_log(vault, None, now)?;
        let (rules, _) = Rules::of(vault, &view);
        let missing = changes::missing_events(vault, &view, &rules);
        let found = missing.and_then(|missing| Ok((changes::bound(vault, chronicle)?, missing)));
        let (mut findings, missing) = found.map_err(FileError::io("read", layout::AUDIT_DIR))?;
        findings.extend(missing);
        left_out::explain(vault, false, &mut findings);
        Ok(findings)
    };
    let findings = look()?;
    if findings.is_empty() {
        return Ok(findings);
    }
    // A concurrent writer adds the line of its event after the commit.
    let _held_off = vault.hold_off_writers();
    look()
}

/// Reports lines of the change logs that record a pruning which ctx never makes (AUDIT-37).
///
/// # Errors
/// Fails if the log or a change log cannot be read.
pub fn false_prunings(vault: &Vault, now: Timestamp) -> Result<Vec<Finding>, FileError> {
    let unreadable = FileError::io("read", layout::AUDIT_DIR);
    let mut lines = Vec::new();
    let read =
        Logs::of_changes(vault).and_then(|logs| prunings(&logs, &mut |line| lines.push(line)));
    read.map_err(unreadable)?;
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    let (_, view, _) = look_at_log(vault, None, now)?;
    let (rules, _) = Rules::of(vault, &view);
    Ok(line_claims::false_prunings(&lines, view.now, rules.retention))
}

/// Returns the log with its content and its findings.
fn look_at_log(
    vault: &Vault,
    supposed: Option<Log>,
    now: Timestamp,
) -> Result<(Option<Log>, log::View, Gathered), FileError> {
    let mut findings = Gathered::new(OF_VAULT);
    let (log, found) = match supposed {
        Some(log) => (Some(log), Vec::new()),
        None => read_log(vault)?,
    };
    findings.extend(found);
    let mut view = log::View::default();
    if let Some(log) = &log {
        let (seen, found) = log::check(log, now, vault.files());
        view = seen;
        findings.take(found);
    }
    Ok((log, view, findings))
}

/// Returns the log, or the findings to report instead.
fn read_log(vault: &Vault) -> Result<(Option<Log>, Vec<Finding>), FileError> {
    let instead = |code, why: &FileError| {
        let finding = Finding::new(code, path_of(why), why.to_string());
        Ok((None, vec![finding]))
    };
    match trusted_head::read_log(vault) {
        Ok(log) => Ok((Some(log), Vec::new())),
        Err(why @ FileError::TooLarge { .. }) => instead(Code::TooLarge, &why),
        Err(why @ (FileError::Link { .. } | FileError::NotRegular { .. })) => {
            instead(Code::CheckpointLogUnreadable, &why)
        }
        Err(other) => Err(other),
    }
}

/// Returns the anchors of a request and the trusted head, unless it is empty.
fn anchors(
    vault: &Vault,
    request: &Request,
    heads: &TrustedHeads,
    log: Option<&Log>,
) -> Vec<Anchor> {
    let known = heads.binding().filter(|trusted| trusted.head.checkpoint > CheckpointNumber::NONE);
    let chronicle = log.and_then(|log| log.sound().ok());
    let remembered = |trusted: &TrustedHead| {
        let leaves = |log: &Chronicle<'_>| trusted_head::leaves(vault, log, &trusted.head);
        Anchor::remembered(trusted, chronicle.as_ref().and_then(leaves))
    };
    request.anchors.iter().cloned().chain(known.map(remembered)).collect()
}

/// Reports a trusted head on a side line (MERGE-25).
fn merged(held: &AnchorResult, path: &str) -> Option<Finding> {
    let side = held.side.filter(|_| matches!(held.source, AnchorSource::Trusted { .. }))?;
    let message = format!(
        "it was trusted on this machine, and was merged since: its line leaves the main line after \
         checkpoint {}",
        held.checkpoint
    );
    Some(Finding::new(Code::HeadMerged, path, message).checkpoint(side))
}

/// Reports a trusted head of another branch at this place. It does not bind this log, but a reader
/// that relies on trusted heads should know about it.
fn elsewhere(heads: &TrustedHeads, view: &log::View, path: &str) -> Option<Finding> {
    let is_held = |head: &Head| {
        let last = head.hashes.map(|hashes| hashes.last.to_string());
        last.is_none_or(|last| view.held.place_of(head.checkpoint, &last).is_some())
    };
    let other = heads.elsewhere(is_held)?;
    let place = other.branch.as_deref().unwrap_or_default();
    let message = format!("on `{place}` this machine trusts a checkpoint that this log lacks");
    Some(Finding::new(Code::HeadElsewhere, path, message).checkpoint(other.head.checkpoint))
}

/// Returns every artifact that the log or a history names.
fn everything(view: &log::View, histories: &[Folder]) -> (BTreeSet<DocumentId>, Vec<Finding>) {
    let mut ids: BTreeSet<DocumentId> = view.records.keys().cloned().collect();
    let mut findings = Vec::new();
    for dir in histories.iter().map(|folder| &folder.path) {
        match DocumentId::of_history_dir(dir) {
            Ok(id) => {
                // The log already reported this id.
                if let Some(why) = id.unfit().filter(|_| !ids.contains(&id)) {
                    findings.push(Finding::new(Code::IdCollision, dir, why.to_string()).id(&id));
                }
                ids.insert(id);
            }
            Err(why) => findings.push(Finding::new(Code::IdCollision, dir, why.to_string())),
        }
    }
    findings.extend(collisions(&ids));
    (ids, findings)
}

/// Files in the folders of histories; `None` if these were not listed.
struct Names<'s>(Option<&'s Vec<Folder>>);

impl Names<'_> {
    fn of(&self, id: &DocumentId) -> Option<&[String]> {
        let (folders, dir) = (self.0?, id.history_dir());
        let found = folders.binary_search_by(|folder| folder.path.cmp(&dir));
        Some(found.map_or(&[], |n| &folders[n].names))
    }
}

/// Number of artifacts that are checked before their findings are merged.
const PIECE: usize = 16_384;

/// Shared knowledge about all artifacts before each is checked.
#[derive(Clone, Copy)]
struct Known<'k> {
    /// Content of the log.
    view: &'k log::View,
    rules: &'k Rules,
    /// Steps that change logs name.
    steps: &'k Steps,
    /// Published results of moves, cached as they are read.
    moves: &'k Moves,
}

/// Checks artifacts, each by itself.
///
/// # Errors
/// Fails if the verification was cancelled, because a partial result is not meaningful.
fn artifacts(
    vault: &Vault,
    ids: &[DocumentId],
    names: &Names<'_>,
    known: &Known<'_>,
) -> Result<Checked, FileError> {
    let progress = vault.progress();
    progress.begin(Phase::Checking, ids.len());
    let check = |id| {
        if progress.is_stopped() {
            return Checked::new(OF_VAULT);
        }
        let checked = artifact::check(vault, id, names.of(id), known);
        progress.step();
        checked
    };
    let mut all = Checked::new(OF_VAULT);
    // Chunks keep the findings of a vault with very many faults from being in memory at once.
    for ids in ids.chunks(PIECE) {
        let checked: Vec<Checked> = ids.par_iter().map(check).collect();
        checked.into_iter().for_each(|checked| all.take(checked));
    }
    match progress.is_stopped() {
        true => Err(FileError::io("verify", layout::DELTA_LOG)(io::ErrorKind::Interrupted.into())),
        false => Ok(all),
    }
}

fn path_of(why: &FileError) -> String {
    match why {
        FileError::Io { path, .. }
        | FileError::TooLarge { path, .. }
        | FileError::NotRegular { path }
        | FileError::Link { path }
        | FileError::Changed { path } => path.clone(),
    }
}

/// Returns the overall result. `is_sealed` is true if the vault has a checkpoint or a published
/// version, and `published` if the checked part has one.
fn verdict(report: &Report, is_sealed: bool, published: bool) -> Verdict {
    let has = |class| report.findings.iter().any(|f| f.code.class() == class);
    if has(Class::Damage) {
        Verdict::Damaged
    } else if has(Class::Unsettled) {
        let is_other = |f: &&Finding| f.code.class() == Class::Unsettled && f.code != Code::LeftOut;
        match report.findings.iter().find(is_other) {
            Some(_) => Verdict::Unsettled,
            None => Verdict::Incomplete,
        }
    } else if has(Class::WorkingCopy) && is_sealed {
        Verdict::WorkingCopyDiffers
    } else if !published {
        Verdict::NothingPublished
    } else if report.anchors.iter().any(AnchorResult::vouches) {
        Verdict::IntactAnchored
    } else {
        Verdict::IntactNotAnchored
    }
}

/// Reports ids that some file system or reader does not distinguish.
fn collisions(ids: &BTreeSet<DocumentId>) -> Vec<Finding> {
    let mut folded: BTreeMap<String, Vec<&DocumentId>> = BTreeMap::new();
    for id in ids {
        id.claims().for_each(|claim| folded.entry(claim).or_default().push(id));
    }
    let duplicates = folded.into_values().filter(|same| same.len() > 1);
    duplicates
        .flat_map(|same| {
            let others = same[1..].iter();
            others
                .map(|id| {
                    let form = difference(id.as_str(), same[0].as_str());
                    let message = format!("it differs from `{}` only in {form}", same[0]);
                    Finding::new(Code::IdCollision, id.history_path(), message).id(id)
                })
                .collect::<Vec<_>>()
        })
        .collect()
}
