//! Recomputing everything that a vault claims (paper, sections 7.1 and 8.2; `spec/verify.md`).
//!
//! [`verify`] reads everything, gathers every finding, never stops at the first, and never
//! repairs. The passes: the log by itself (`log`), what the sealed configuration demands of it
//! (`rules`), each artifact with its history (`artifact`), the log's word on it (`sealed`) and its
//! live file (`working`), in parallel, the change logs (`changes`), staged results (`staged`) and what is bound of them (`bound_chains`), steps of reviews (`review_steps`, `reviewed`), moves (`moved`), and what the vault holds beside them (`left_out`, `reformatted`). `line_claims` compares what lines say with the record, and `capped` bounds how many findings are kept. What is absent is a
//! finding, never a skip. `anchor` compares the log with what is known of it from elsewhere.

mod anchor;
mod artifact;
mod bound_chains;
mod capped;
mod changes;
pub mod finding;
mod left_out;
mod line_claims;
mod log;
mod moved;
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
use crate::record::trusted_head::{self, EventKey, Head, Incomplete, TrustError, TrustedHeads};
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

/// What is to be verified, and against what.
#[derive(Debug)]
pub struct Request {
    /// The clock; only compared with recorded times, and kept with a trusted head.
    pub now: Timestamp,
    /// Check the log and these artifacts only.
    pub only: Option<BTreeSet<DocumentId>>,
    /// What is known of the log from elsewhere, beside the head that is trusted for it.
    pub anchors: Vec<Anchor>,
}

impl Request {
    /// Everything, against nothing but what is trusted.
    pub fn whole(now: Timestamp) -> Self {
        Self { now, only: None, anchors: Vec::new() }
    }
}

words! {
    /// What may be said of a vault.
    pub enum Verdict {
        /// Every hash was recomputed, and the log holds a checkpoint that is known from elsewhere.
        IntactAnchored = "intact, anchored",
        /// Every hash was recomputed. Nothing outside the vault says that the log's end is still
        /// there, or that it was not replaced as a whole.
        IntactNotAnchored = "intact, not anchored",
        /// There is nothing that could be intact.
        NothingPublished = "nothing published",
        /// The record is whole; live files differ from it.
        WorkingCopyDiffers = "intact, working copy differs",
        /// Nothing is wrong with what was checked; git leaves the rest of the record out of the working
        /// copy.
        Incomplete = "incomplete, git leaves files out",
        /// Something is recorded incompletely.
        Unsettled = "unsettled",
        /// Something was altered or is gone.
        Damaged = "damaged",
    }
}

impl Verdict {
    /// Whether the record is whole, whatever live files say.
    pub fn is_whole(self) -> bool {
        !matches!(self, Self::Incomplete | Self::Unsettled | Self::Damaged)
    }
}

impl Report {
    /// Whether a live file differs from what is published.
    pub fn has_edits(&self) -> bool {
        self.findings.iter().any(|finding| finding.code.class() == Class::WorkingCopy)
    }
}

/// The outcome of a verification.
#[derive(Debug)]
pub struct Report {
    /// Everything that was found, worst first.
    pub findings: Vec<Finding>,
    /// Findings of artifacts with very many of them, beyond those that are listed.
    pub omitted: u64,
    /// What may be said.
    pub verdict: Verdict,
    /// What the log was compared with, and holds. An anchor that it does not hold is a finding.
    pub anchors: Vec<AnchorResult>,
    /// Why the trusted head could not be read or brought up to date.
    pub trust_error: Option<TrustError>,
    /// Checkpoints read.
    pub checkpoints: u64,
    /// Hash of the last checkpoint.
    pub head: Option<Digest>,
    /// Documents and governance files checked.
    pub ids: Vec<DocumentId>,
    /// Versions recomputed.
    pub versions: u64,
    /// Versions with a note, which no hash covers.
    pub unprotected_notes: u64,
    /// Retirements whose author no hash covers: no map holds the hash of a retired version.
    pub unprotected_retirements: u64,
    /// Edited live files of published documents that say that they are drafts, and are no finding.
    pub drafts: u64,
    /// Entries of staging chains, with those whose content is gone.
    pub staged_results: usize,
    /// Whether the reference implementation wrote the whole log (CKPT-40).
    pub is_foreign: bool,
}

/// Recomputes everything, or what is asked for. A head that is found whole is trusted.
///
/// # Errors
/// The log file exists but could not be opened; what is wrong inside is a finding.
pub fn verify(vault: &Vault, request: &Request) -> Result<Report, FileError> {
    let before = vault.log_stamp();
    let report = recompute(vault, request, None)?;
    let has = |code| report.findings.iter().any(|found| found.code == code);
    let is_settled = report.verdict.is_whole() && !has(Code::Interrupted);
    if is_settled && !report.has_edits() {
        return Ok(report);
    }
    // Beside a writer at work one sees the half of its event: that is looked at again without one. A
    // writer who was at work before the first look, and is not any more, may have added the line of
    // its event since, which the log does not show.
    let held_off = vault.hold_off_writers();
    let lacks_line = has(Code::AuditMissing) || has(Code::Interrupted);
    match held_off.was_busy || lacks_line || vault.log_stamp() != before {
        true => recompute(vault, request, None),
        false => Ok(report),
    }
}

/// Recomputes everything as if the vault had this log. Writes nothing, takes no lock.
///
/// # Errors
/// As [`verify`].
pub(crate) fn verify_as(vault: &Vault, request: &Request, log: Log) -> Result<Report, FileError> {
    recompute(vault, request, Some(log))
}

fn recompute(vault: &Vault, request: &Request, supposed: Option<Log>) -> Result<Report, FileError> {
    let now = request.now;
    let whole = request.only.is_none();
    // What is trusted for a log is never ahead of one that is read later.
    let (heads, intents) = (trusted_head::trusted_heads(vault), trusted_head::intents(vault));
    // The log is read on one core; the others look through the folders meanwhile.
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
    }
    let (log_exists, path) =
        log.as_ref().map_or((true, layout::DELTA_LOG), |log| (log.exists, log.path()));
    let (heads, trust_error) = match heads {
        Ok(heads) => (heads, None),
        Err(why) => (TrustedHeads::default(), Some(why)),
    };
    let other = elsewhere(&heads, &view, path);
    let compared = anchors(request, &heads).into_iter().map(|anchor| anchor.check(&view, path));
    let (held, lost): (Vec<_>, Vec<_>) = compared.partition(Result::is_ok);
    findings.extend(lost.into_iter().filter_map(Result::err));
    // A branch of which nothing is trusted is anchored to no other trusted head while another one
    // is ahead.
    let is_known = heads.here.is_some() || other.is_none();
    let is_sure =
        |held: &AnchorResult| is_known || !matches!(held.source, AnchorSource::Trusted { .. });
    let held: Vec<AnchorResult> = held.into_iter().filter_map(Result::ok).filter(is_sure).collect();
    findings.extend(other);
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
            let found;
            (found, staged) = staged::check(vault, log.as_ref(), &view.chains, now);
            findings.extend(found);
            let found;
            (found, steps) = changes::check(vault, &view, &rules);
            findings.extend(found);
            findings.extend(staged::older(&staged, log.as_ref(), &steps));
            let (named, found) = steps.ids();
            findings.extend(found);
            ids.extend(named);
            (ids, survey.found.documents, vault.governance_files())
        }
    };
    let ids: Vec<DocumentId> = ids.into_iter().collect();
    let names = Names(whole.then_some(&survey.histories));
    let moves = Moves::default();
    let known = Known { view: &view, rules: &rules, steps: &steps, moves: &moves };
    // With an index, derived files are made on one core from what it holds. Without one every text
    // is read for them, which is worth it only if the record is whole.
    let is_compared = whole && !is_supposed;
    let is_cheap = is_compared && vault.cache().is_some_and(Index::lies_in);
    let (checked, early) = rayon::join(
        || artifacts(vault, &ids, &names, &known),
        || is_cheap.then(|| derived::differing(vault)),
    );
    let checked = checked?;
    let published = checked.published;
    findings.extend(reviewed::split_changes(&checked.parts));
    findings.extend(reviewed::contradicted(&checked.decided));
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
    // What a log says that was not read whole is not known to be missing.
    let is_sealed = published || view.head_number > CheckpointNumber::NONE;
    if view.complete || !is_sealed {
        findings.extend(working::planted(vault, &documents, &view, rules.frontmatter));
        findings.extend(working::unsealed_policy(&policy, &view));
    }
    let Gathered { mut findings, omitted, .. } = findings;
    explain_lives(vault, log.as_ref(), &view, &mut findings);
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
    };
    report.verdict = verdict(&report, is_sealed, if whole { is_sealed } else { published });
    if is_compared && report.verdict.is_whole() {
        let differing = early.unwrap_or_else(|| derived::differing(vault)).into_iter();
        let found = differing.map(|(path, why)| Finding::new(Code::DerivedDiffers, path, why));
        report.findings.extend(found);
        report.findings.sort_by(|a, b| a.rank().cmp(&b.rank()));
    }
    if whole && !is_supposed && report.verdict.is_whole() && report.trust_error.is_none() {
        report.trust_error = trusted_head::advance(vault, &view.end(), now).err();
    }
    Ok(report)
}

/// Notes which live files the command did not update that was interrupted after it committed the last
/// checkpoint: the next writer does (TXN-24). Only the intent record shows that it was interrupted.
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

/// Makes notes of what the reference implementation does to a log (CKPT-40).
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

/// The events of a vault that no change log has, and who may acknowledge that (AUDIT-31).
///
/// # Errors
/// The log or a change log cannot be read.
pub fn unrecorded(vault: &Vault, now: Timestamp) -> Result<Unrecorded, FileError> {
    let (_, view, _) = look_at_log(vault, None, now)?;
    let (rules, _) = Rules::of(vault, &view);
    changes::unrecorded(vault, &view, &rules).map_err(FileError::io("read", layout::AUDIT_DIR))
}

/// What the change logs of a vault lack of the lines that its checkpoints bind (AUDIT-26).
///
/// # Errors
/// A change log cannot be read.
pub fn bound_lines(vault: &Vault, chronicle: &Chronicle<'_>) -> io::Result<Vec<Finding>> {
    changes::bound(vault, chronicle)
}

/// The lines of the change logs that record a pruning which no writer makes (AUDIT-37).
///
/// # Errors
/// The log or a change log cannot be read.
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

/// The log with what it says, and what is wrong with it.
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

/// The log, or what is to be reported instead of it.
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

/// The anchors of a request and what is trusted, as far as it says anything.
fn anchors(request: &Request, heads: &TrustedHeads) -> Vec<Anchor> {
    let known = heads.binding().filter(|trusted| trusted.head.checkpoint > CheckpointNumber::NONE);
    request.anchors.iter().cloned().chain(known.map(Anchor::remembered)).collect()
}

/// What is trusted for the same place with another branch checked out says nothing of this log, but
/// a reader that relies on what is trusted here should know of it.
fn elsewhere(heads: &TrustedHeads, view: &log::View, path: &str) -> Option<Finding> {
    let is_held = |head: &Head| head.is_held(view.head_number, |n| view.hash_of(n)).is_ok();
    let other = heads.elsewhere(is_held)?;
    let place = other.branch.as_deref().unwrap_or_default();
    let message = format!("on `{place}` this machine trusts a checkpoint that this log lacks");
    Some(Finding::new(Code::HeadElsewhere, path, message).checkpoint(other.head.checkpoint))
}

/// Every artifact that the log or a history names.
fn everything(view: &log::View, histories: &[Folder]) -> (BTreeSet<DocumentId>, Vec<Finding>) {
    let mut ids: BTreeSet<DocumentId> = view.records.keys().cloned().collect();
    let mut findings = Vec::new();
    for dir in histories.iter().map(|folder| &folder.path) {
        match DocumentId::of_history_dir(dir) {
            Ok(id) => {
                // Of an id in the log this has been said already.
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

/// The files in the folders of histories; none where they were not walked.
struct Names<'s>(Option<&'s Vec<Folder>>);

impl Names<'_> {
    fn of(&self, id: &DocumentId) -> Option<&[String]> {
        let (folders, dir) = (self.0?, id.history_dir());
        let found = folders.binary_search_by(|folder| folder.path.cmp(&dir));
        Some(found.map_or(&[], |n| &folders[n].names))
    }
}

/// So many artifacts are checked before their findings are put together.
const PIECE: usize = 16_384;

/// What is known of all artifacts before each is looked at.
#[derive(Clone, Copy)]
struct Known<'k> {
    /// What the log says.
    view: &'k log::View,
    rules: &'k Rules,
    /// What change logs say of steps.
    steps: &'k Steps,
    /// What moves made of their sources, as far as it was read.
    moves: &'k Moves,
}

/// Checks artifacts, each by itself.
///
/// # Errors
/// Nothing waits for it any more: what was checked so far says nothing of the vault.
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
    // In pieces, so that the findings of a vault full of faults are not all in memory at once.
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

/// `is_sealed` says whether the vault has a checkpoint or a published version, and `published`
/// whether what was looked at has one.
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

/// Ids that some file system or reader takes for one.
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
