//! Merging of two checkpoint logs, while git merges two branches of a vault (`spec/merge.md`).
//!
//! Git gives the files of both sides. The merged log is computed from the two logs, and the
//! histories follow from it. The vault as it would be is verified before anything is written.
//! Then the histories and the log replace the files of the working copy, which may have git's
//! conflict markers.

pub(crate) mod histories;
pub(crate) mod take;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

use histories::{Differing, HistoryFiles, Planned};

use crate::files::vault::config::LogForm;
use crate::files::vault::files::FileError;
use crate::files::vault::lock::LockError;
use crate::files::vault::tree::Tree;
use crate::files::vault::{OpenError, Vault};
use crate::prove::verify::{self, Class, Finding};
use crate::read::derived::{self, Which};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::codec::path_of;
use crate::record::checkpoint::event::{self, Checkpoint};
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::log::Log;
use crate::record::checkpoint::merge::{self, Conflict, Decision, Lines, MergeFault};
use crate::record::checkpoint::state::{Mark, PublishedSet};
use crate::record::trusted_head::{self, HeadError, Lost, TrustError};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;
use crate::write::publish::{self, PublishError};

/// Options of a merge.
#[derive(Debug)]
pub(crate) struct Request<'r> {
    /// Text that commands waiting for the write lock show.
    pub(crate) holder: &'r str,
    /// The time of the clock.
    pub(crate) now: Timestamp,
    /// True if nothing is written.
    pub(crate) dry_run: bool,
    /// The log of the branch that is checked out.
    pub(crate) ours: Log,
    /// The log of the branch that is merged.
    pub(crate) theirs: Log,
    /// The hashes of the logs that decide which side is the trunk, in order (MERGE-11).
    pub(crate) upstream: Vec<Vec<Digest>>,
    /// The histories that differ, with the files of the branch that is checked out and of the other
    /// one.
    pub(crate) histories: Vec<(DocumentId, [HistoryFiles; 2])>,
    /// The logs of audit and staging that differ, with the bytes of both sides.
    pub(crate) logs: Vec<DifferingLog>,
    /// The vault as the branch that is checked out has it, and the other one.
    pub(crate) vaults: [Vault; 2],
    /// The paths of all files that one of the sides has.
    pub(crate) paths: BTreeSet<String>,
}

/// The path of a log, and its bytes on the branch that is checked out and on the other one.
pub(crate) type DifferingLog = (String, [Vec<u8>; 2]);

/// A side of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The branch that is checked out.
    Ours,
    /// The branch that is merged.
    Theirs,
}

/// Result of a merge.
#[derive(Debug)]
pub(crate) struct Merged {
    /// The side whose log goes on as the main line.
    pub(crate) trunk: Side,
    /// The last checkpoint that both logs have on their main lines.
    pub(crate) base: CheckpointNumber,
    /// The last checkpoint of the trunk, and of the branch.
    pub(crate) heads: [(CheckpointNumber, Digest); 2],
    /// The merge; `None` if one log begins with the other.
    pub(crate) checkpoint: Option<Checkpoint>,
    /// True if the working copy had the merged log already.
    pub(crate) is_done: bool,
    /// Reason why a derived file was not updated.
    pub(crate) not_followed: Option<String>,
    /// The ids that both sides changed, or that were changed together with such ids.
    pub(crate) conflicts: Vec<InConflict>,
    /// True if the trunk is governed.
    pub(crate) is_governed: bool,
}

/// An id in conflict, with its last value on the trunk and on the branch.
#[derive(Clone, Debug)]
pub(crate) struct InConflict {
    /// The artifact.
    pub(crate) id: DocumentId,
    /// The reason.
    pub(crate) why: Conflict,
    /// The values of the trunk and of the branch; `None` for one that is not published.
    pub(crate) marks: [Option<Mark>; 2],
    /// True if it was published or submitted after an earlier run.
    pub(crate) is_settled: bool,
}

/// Reason why nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum MergeError {
    /// The logs begin with different checkpoints.
    #[error("the two branches have two vaults: their logs begin with {ours} and {theirs}")]
    TwoVaults {
        /// First checkpoint of the branch that is checked out.
        ours: Digest,
        /// First checkpoint of the other branch.
        theirs: Digest,
    },
    /// One of the logs has no checkpoint.
    #[error("the log of {} has no checkpoint", .0.words())]
    Empty(Side),
    /// The trunk has whole maps, which cannot hold a merge.
    #[error("the log of {} has the form `full`, which cannot hold a merge", .0.words())]
    FullForm(Side),
    /// The log of a side cannot be relied on.
    #[error("the log of {} cannot be relied on: {why}", .side.words())]
    Log {
        /// The side.
        side: Side,
        /// The reason.
        why: LogError,
    },
    /// The log of a side has a merge that is not one of two logs.
    #[error("in the log of {}, checkpoint {number} is not a merge of two logs: {why}", .side.words())]
    Lines {
        /// The side.
        side: Side,
        /// The checkpoint.
        number: CheckpointNumber,
        /// The reason.
        why: MergeFault,
    },
    /// The merged vault would not verify.
    #[error("the merged vault would not verify: {}", .0.first().map_or("", |first| &first.message))]
    Damaged(Vec<Finding>),
    /// Nothing says which branch is the trunk of a governed vault.
    #[error(
        "nothing says which of the two branches is the trunk, and in a governed vault its rules decide"
    )]
    NoTrunk,
    /// A head is more than 24 hours ahead of the clock.
    #[error("the log of {} ends at {at}, more than 24 hours ahead of the clock ({now})", .side.words())]
    ClockBehind {
        /// The side.
        side: Side,
        /// Time of its head.
        at: Timestamp,
        /// Time of the clock.
        now: Timestamp,
    },
    /// No time follows the head.
    #[error("no time follows {0}")]
    ClockEnded(Timestamp),
    /// Neither side holds the trusted head.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// The trusted head cannot be read or written.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The configuration in force cannot be read.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// Another process holds the write lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The folder of the vault cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Reading or writing failed.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Side {
    /// Returns the words for the side in messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Ours => "the branch that is checked out",
            Self::Theirs => "the branch that is merged",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Ours => Self::Theirs,
            Self::Theirs => Self::Ours,
        }
    }
}

/// Merges the logs of two branches, and writes the result into the working copy.
///
/// # Errors
/// Nothing was written; see [`MergeError`].
pub(crate) fn merge(vault: &Vault, request: &Request<'_>) -> Result<Merged, MergeError> {
    let _lock = if request.dry_run { None } else { Some(vault.lock(request.holder)?) };
    let Request { ours, theirs, now, .. } = request;
    let of_trunk = |trunk| -> Vec<Differing<'_>> {
        request.histories.iter().map(|one| differing(trunk, one)).collect()
    };
    let seen = |side| match side {
        Side::Ours => (&request.vaults[0], ours),
        Side::Theirs => (&request.vaults[1], theirs),
    };
    let is_governed = |trunk: Side| {
        let is_governed = |(vault, log): (&Vault, &Log)| {
            let why = |why| MergeError::Log { side: trunk, why };
            Ok::<_, MergeError>(publish::is_governed(vault, &log.sound().map_err(why)?)?)
        };
        let (main, branch) = (seen(trunk), seen(trunk.other()));
        let is_main = is_governed(main)?;
        if is_main || is_governed(branch)? {
            // What was approved on the branch, by the rules of its own line.
            refuse_findings(branch.0, *now, branch.1)?;
        }
        Ok::<bool, MergeError>(is_main)
    };
    let parted = |trunk, decision: &Decision| histories::parted(&of_trunk(trunk), decision);
    let governed = Cell::new(false);
    let is_governed = |trunk: Side, is_known: bool| {
        let is_main = is_governed(trunk)?;
        governed.set(is_main);
        // A trunk that nothing names could be the branch with the rules of an attacker.
        if is_main && !is_known { Err(MergeError::NoTrunk) } else { Ok(is_main) }
    };
    let joined = join((ours, theirs), &request.upstream, *now, &is_governed, &parted)?;
    let histories = of_trunk(joined.trunk);
    let branch = match joined.trunk {
        Side::Ours => theirs,
        Side::Theirs => ours,
    };
    let [result, branch] = [&joined.log, branch].map(state_of);
    let planned: Vec<Planned> = histories
        .iter()
        .map(|one| {
            let id = one.id.as_str();
            one.planned(&joined.decision, result.get(id) == branch.get(id))
        })
        .collect();
    let mut conflicts = in_conflict(&joined, &result, &branch);
    // A review on both sides is a conflict, too: the branch's steps are kept aside.
    for one in planned.iter().filter(|one| one.puts_aside) {
        if conflicts.iter().all(|known| known.id != one.id) {
            let marks = [&result, &branch].map(|state| state.get(one.id.as_str()).copied());
            let (id, why) = (one.id.clone(), Conflict::History);
            conflicts.push(InConflict { id, why, marks, is_settled: false });
        }
    }
    let is_done = is_done(vault, &joined.held, &joined.heads)?
        && planned.iter().all(|one| one.is_done(vault))
        && longer_logs(request)
            .all(|(path, bytes)| histories::begins_with(vault, (path, limit::LOG), bytes));
    for one in &mut conflicts {
        let own = planned.iter().find(|planned| planned.id == one.id);
        one.is_settled = is_done && own.is_some_and(|own| own.has_grown(vault));
    }
    let mut result = Merged {
        trunk: joined.trunk,
        base: joined.base,
        heads: joined.heads,
        checkpoint: joined.checkpoint,
        is_done,
        not_followed: None,
        conflicts,
        is_governed: governed.get(),
    };
    if result.is_done {
        return Ok(result);
    }
    refuse_lost_head(vault, &joined.held)?;
    refuse_damage(vault, request, &planned, &joined.log)?;
    if !request.dry_run {
        planned.iter().try_for_each(|one| one.write(vault))?;
        longer_logs(request)
            .try_for_each(|(path, bytes)| histories::replace(vault, (path, limit::LOG), bytes))?;
        // A trusted head stays: the merge is not committed, and git can take it back.
        if let Some(merge) = &result.checkpoint {
            trusted_head::record_merge(vault, &merge.hash)?;
        }
        write(vault, &joined.log)?;
        result.not_followed = follow(vault).err();
    }
    Ok(result)
}

/// Merges two logs without histories, as git merges one file (MERGE-18); `None` if histories are
/// needed.
///
/// # Errors
/// The logs cannot be merged; see [`MergeError`].
pub(crate) fn merge_logs(
    vault: &Vault,
    (ours, theirs): (&Log, &Log),
    upstream: &[Vec<Digest>],
    now: Timestamp,
) -> Result<Option<Vec<u8>>, MergeError> {
    // A review is in the histories. A vault that was governed has sealed its stewards.
    let has_stewards = [ours, theirs].iter().any(|log| {
        let mut changed = log.entries.iter().flatten().flat_map(Checkpoint::artifacts);
        changed.any(|id| *id == DocumentId::stewards())
    });
    if has_stewards {
        return Ok(None);
    }
    let joined = join((ours, theirs), upstream, now, &|_, _| Ok(false), &|_, _| Vec::new())?;
    if !joined.decision.conflicts.is_empty() || joined.leaves_some {
        return Ok(None);
    }
    if let Some(merge) = &joined.checkpoint {
        trusted_head::record_merge(vault, &merge.hash)?;
    }
    let log = &joined.log;
    let why = |why| MergeError::Log { side: joined.trunk, why };
    Ok(Some(log.sound().map_err(why)?.export(log.form)))
}

/// Ids that are in conflict although both logs allow to carry them.
type Refused = Vec<(DocumentId, Conflict)>;

/// A log that follows from two others.
struct Joined {
    trunk: Side,
    base: CheckpointNumber,
    /// The last checkpoint of the trunk, and of the branch.
    heads: [(CheckpointNumber, Digest); 2],
    /// The checkpoints that each holds.
    held: [HashSet<Digest>; 2],
    log: Log,
    checkpoint: Option<Checkpoint>,
    decision: Decision,
    /// True if the branch changed an artifact that the merge does not carry, as after an earlier
    /// conflict: then the histories have to be looked at.
    leaves_some: bool,
}

/// Joins two logs (MERGE-6 to MERGE-9). `is_governed` returns true if the trunk is governed, and
/// `parted` the carried ids whose histories part.
fn join(
    (ours, theirs): (&Log, &Log),
    upstream: &[Vec<Digest>],
    now: Timestamp,
    is_governed: &dyn Fn(Side, bool) -> Result<bool, MergeError>,
    parted: &dyn Fn(Side, &Decision) -> Refused,
) -> Result<Joined, MergeError> {
    let logs = |side| match side {
        Side::Ours => ours,
        Side::Theirs => theirs,
    };
    let of = |side: Side| logs(side).sound().map_err(|why| MergeError::Log { side, why });
    let (mine, other) = (of(Side::Ours)?, of(Side::Theirs)?);
    let first = |side, log: &Chronicle<'_>| {
        log.hash_of(CheckpointNumber::FIRST).ok_or(MergeError::Empty(side))
    };
    let firsts = (first(Side::Ours, &mine)?, first(Side::Theirs, &other)?);
    if firsts.0 != firsts.1 {
        return Err(MergeError::TwoVaults { ours: firsts.0, theirs: firsts.1 });
    }
    let (trunk, is_known) = trunk(&mine, &other, upstream);
    let (main, branch) = (of(trunk)?, of(trunk.other())?);
    if logs(trunk).form == LogForm::Full {
        return Err(MergeError::FullForm(trunk));
    }
    let lines = |side, log: &Chronicle<'_>| {
        let fault = |(number, why)| MergeError::Lines { side, number, why };
        Lines::of(log.checkpoints()).map(|lines| lines.hashes()).map_err(fault)
    };
    let held = [lines(trunk, &main)?, lines(trunk.other(), &branch)?];
    let end =
        |log: &Chronicle<'_>| (log.head_number(), log.head().map_or(firsts.0, |head| head.hash));
    let heads = [end(&main), end(&branch)];
    let base = CheckpointNumber::of_count(common(&hashes(&main), &hashes(&branch)));
    let is_same = held[0].contains(&heads[1].1) || base == heads[0].0;
    let is_governed = is_governed(trunk, is_known || is_same)?;
    let whole = |log: &Log| {
        let (log, checkpoint, decision) = (log.clone(), None, Decision::default());
        let held = held.clone();
        Joined { trunk, base, heads, held, log, checkpoint, decision, leaves_some: false }
    };
    if held[0].contains(&heads[1].1) {
        return Ok(whole(logs(trunk)));
    }
    if base == heads[0].0 {
        return Ok(whole(logs(trunk.other())));
    }
    let at = time_of(now, [(trunk, &main), (trunk.other(), &branch)])?;
    let fault = |(number, why)| MergeError::Lines { side: trunk, number, why };
    let sides = merge::sides(main.checkpoints(), branch.checkpoints()).map_err(fault)?;
    let mut refused = match is_governed {
        true => by_other_rules(&main.checkpoints()[base.count()..], &sides),
        false => BTreeMap::new(),
    };
    let (checkpoint, decision) = loop {
        let why = |id: &DocumentId| refused.get(id).copied();
        let joined = merge::join(
            (main.checkpoints(), branch.checkpoints()),
            sides.clone(),
            at,
            is_governed,
            &why,
        );
        let (made, decision) = joined.map_err(fault)?;
        let parted = parted(trunk, &decision);
        if parted.is_empty() {
            break (made, decision);
        }
        refused.extend(parted);
    };
    let all = main.checkpoints().iter().map(|one| (*one).clone()).chain([checkpoint.clone()]);
    let log = Log::of(LogForm::Delta, all.collect());
    let mut changed = sides.iter().flat_map(|side| side.checkpoint.artifacts());
    let leaves_some = changed.any(|id| !decision.carried.contains_key(id));
    let checkpoint = Some(checkpoint);
    Ok(Joined { trunk, base, heads, held, log, checkpoint, decision, leaves_some })
}

/// Returns the ids that the branch changed under other rules than the trunk has (MERGE-17): all, if
/// the trunk changed the rules since the logs parted, and otherwise those that the branch changed
/// after it had changed the rules.
fn by_other_rules(trunk: &[&Checkpoint], sides: &[event::Side]) -> BTreeMap<DocumentId, Conflict> {
    let is_rule = |checkpoint: &Checkpoint| checkpoint.artifacts().any(DocumentId::is_rule);
    let of_trunk = trunk.iter().flat_map(|one| one.events().chain([*one]));
    let first = match of_trunk.into_iter().any(is_rule) {
        true => 0,
        false => {
            sides.iter().position(|one| is_rule(&one.checkpoint)).map_or(sides.len(), |n| n + 1)
        }
    };
    let later = sides[first..].iter().flat_map(|one| one.checkpoint.artifacts());
    later.map(|id| (id.clone(), Conflict::Approval)).collect()
}

/// Returns the logs that both sides have a part of, with the longer part: a commit was picked,
/// squashed or amended.
fn longer_logs<'r>(request: &'r Request<'_>) -> impl Iterator<Item = (&'r str, &'r [u8])> {
    request.logs.iter().filter_map(|(path, [ours, theirs])| {
        let longer = if ours.len() < theirs.len() { theirs } else { ours };
        let is_one = longer.starts_with(ours) && longer.starts_with(theirs);
        is_one.then_some((path.as_str(), &longer[..]))
    })
}

/// Returns a history with the files of the trunk first.
fn differing(trunk: Side, (id, [ours, theirs]): &(DocumentId, [HistoryFiles; 2])) -> Differing<'_> {
    let sides = match trunk {
        Side::Ours => [ours, theirs],
        Side::Theirs => [theirs, ours],
    };
    Differing { id, sides }
}

/// Returns the state at the head of a log.
fn state_of(log: &Log) -> PublishedSet {
    let mut state = PublishedSet::default();
    log.entries.iter().flatten().for_each(|checkpoint| checkpoint.apply(&mut state));
    state
}

/// Returns the artifacts in conflict, with their values in the result and on the branch.
fn in_conflict(joined: &Joined, result: &PublishedSet, branch: &PublishedSet) -> Vec<InConflict> {
    let artifacts = joined.decision.conflicts.iter().filter(|(id, _)| !id.is_chain());
    let one = |(id, why): (&DocumentId, &Conflict)| {
        let marks = [result, branch].map(|state| state.get(id.as_str()).copied());
        InConflict { id: id.clone(), why: *why, marks, is_settled: false }
    };
    artifacts.map(one).collect()
}

/// Updates the derived files; fails with the reason why one was not updated.
fn follow(vault: &Vault) -> Result<(), String> {
    let files = derived::files(vault, Which::Automatic, &[]).map_err(|why| why.to_string())?;
    let outcomes = derived::write(vault, &files, false);
    let mut failed = files
        .iter()
        .zip(&outcomes)
        .filter_map(|(file, outcome)| Some(format!("`{}`: {}", file.path, outcome.reason()?)));
    failed.next().map_or(Ok(()), Err)
}

/// Returns the side that is the trunk (MERGE-11), and true if a ref says so.
fn trunk(ours: &Chronicle<'_>, theirs: &Chronicle<'_>, upstream: &[Vec<Digest>]) -> (Side, bool) {
    let (mine, other) = (hashes(ours), hashes(theirs));
    for log in upstream {
        let (of_ours, of_theirs) = (common(&mine, log), common(&other, log));
        if of_ours != of_theirs {
            return (if of_ours > of_theirs { Side::Ours } else { Side::Theirs }, true);
        }
    }
    let after = common(&mine, &other);
    let next = |log: &Chronicle<'_>| {
        let next = log.checkpoints().get(after);
        next.map(|next| (next.at, next.hash.to_string()))
    };
    let side = match (next(ours), next(theirs)) {
        (Some(mine), Some(other)) if other < mine => Side::Theirs,
        // A log without a further checkpoint is the beginning of the other one.
        (Some(_), None) => Side::Theirs,
        _ => Side::Ours,
    };
    (side, false)
}

fn hashes(log: &Chronicle<'_>) -> Vec<Digest> {
    log.checkpoints().iter().map(|checkpoint| checkpoint.hash).collect()
}

/// Returns the length of the common beginning.
fn common(a: &[Digest], b: &[Digest]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Returns the time of the merge, which is later than both heads (MERGE-4).
fn time_of(now: Timestamp, logs: [(Side, &Chronicle<'_>); 2]) -> Result<Timestamp, MergeError> {
    let mut at = now;
    for (side, log) in logs {
        let Some(head) = log.head() else { continue };
        if head.at.millis() - now.millis() > publish::MAX_AHEAD_MILLIS {
            return Err(MergeError::ClockBehind { side, at: head.at, now });
        }
        at = at.max(head.at.next().ok_or(MergeError::ClockEnded(head.at))?);
    }
    Ok(at)
}

/// Returns true if the log of the working copy holds everything that both logs hold: an earlier run
/// wrote it.
fn is_done(
    vault: &Vault,
    held: &[HashSet<Digest>; 2],
    heads: &[(CheckpointNumber, Digest); 2],
) -> Result<bool, MergeError> {
    let Some(bytes) = vault.files().read_optional(path_of(LogForm::Delta), limit::LOG)? else {
        return Ok(false);
    };
    let log = Log::parse(LogForm::Delta, &bytes);
    let Ok(chronicle) = log.sound() else { return Ok(false) };
    let Ok(here) = Lines::of(chronicle.checkpoints()).map(|lines| lines.hashes()) else {
        return Ok(false);
    };
    let has_all = held.iter().all(|held| held.is_subset(&here));
    let is_one_side =
        heads.iter().any(|(_, head)| chronicle.head().is_some_and(|h| h.hash == *head));
    Ok(has_all && (!is_one_side || here.len() == held[0].union(&held[1]).count()))
}

/// Refuses a merge if neither side holds a trusted head.
fn refuse_lost_head(vault: &Vault, held: &[HashSet<Digest>; 2]) -> Result<(), MergeError> {
    for known in trusted_head::trusted_heads(vault)?.binding() {
        let Some(hashes) = known.head.hashes else { continue };
        if !held.iter().any(|held| held.contains(&hashes.last)) {
            let (checkpoint, hash) = (known.head.checkpoint, hashes.last);
            let last = CheckpointNumber::of_count(held[0].len());
            return Err(HeadError::Lost(Lost::Rollback { checkpoint, hash, last }).into());
        }
    }
    Ok(())
}

/// Verifies the vault as it would be: the files of the working copy, with the histories and the log
/// of the merge.
fn refuse_damage(
    vault: &Vault,
    request: &Request<'_>,
    planned: &[Planned],
    log: &Log,
) -> Result<(), MergeError> {
    let folders: HashSet<&str> = planned.iter().map(|one| one.folder.as_str()).collect();
    let is_planned = |path: &str| {
        let mut above = path.char_indices().filter(|(_, c)| *c == '/').map(|(at, _)| &path[..at]);
        above.any(|folder| folders.contains(folder))
    };
    let mut contents: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for one in planned {
        contents.extend(one.files().map(|(path, bytes)| (path, bytes.to_vec())));
    }
    contents.extend(longer_logs(request).map(|(path, bytes)| (path.to_owned(), bytes.to_vec())));
    let files = vault.files().clone();
    let kept = request.paths.iter().filter(|path| !is_planned(path) && files.is_file(path));
    let paths: BTreeSet<String> = kept.chain(contents.keys()).cloned().collect();
    let entries = paths.iter().map(|path| ("100644", path.as_str(), path.as_bytes()));
    let tree = Tree::new(entries, move |path, limit| match contents.get(path) {
        Some(bytes) => Ok(Some(bytes.clone()).filter(|bytes| bytes.len() as u64 <= limit)),
        None => match files.read(path, limit) {
            Err(FileError::TooLarge { .. }) => Ok(None),
            read => read.map(Some).map_err(io::Error::other),
        },
    });
    let seen = Vault::of_tree(vault.root(), tree)?;
    refuse_findings(&seen, request.now, log)
}

/// Verifies a vault as if it had a log, and refuses it if its record is not intact.
fn refuse_findings(seen: &Vault, now: Timestamp, log: &Log) -> Result<(), MergeError> {
    let report = verify::verify_as(seen, &verify::Request::whole(now), log.clone())?;
    let is_fault = |found: &Finding| matches!(found.code.class(), Class::Damage | Class::Unsettled);
    let damage: Vec<Finding> = report.findings.into_iter().filter(is_fault).collect();
    if damage.is_empty() { Ok(()) } else { Err(MergeError::Damaged(damage)) }
}

/// Replaces the log of the working copy, which has git's conflict markers or is that of one side.
fn write(vault: &Vault, log: &Log) -> Result<(), MergeError> {
    let bytes = log.sound().map(|chronicle| chronicle.export(log.form)).unwrap_or_default();
    Ok(histories::replace(vault, (log.path(), limit::LOG), &bytes)?)
}
