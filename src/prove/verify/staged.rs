//! Checks staged results: every chain, and the content of every live entry (STAGE-11).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;

use super::bound_chains::BoundChains;
use super::finding::{Code, Finding};
use super::review_steps::Steps;
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::policy::in_force::ActJudge;
use crate::record::audit::{Fault, FaultKind, missing};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::log::Log;
use crate::record::staging::{
    ActKind, Chain, Chains, DisputedAct, FoundPayload, JudgedAct, LineKind, Staged, StagedEntry,
    StagedLine, Standing, VoidAct, all_payloads, chain_path, lost, parse_name, payload_path,
    read_payload, share_names,
};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{STAGING_DIR, STAGING_OBJECTS};
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// Checks the staged results of a vault. Returns the findings and what was read. Without a sound
/// log, all acts are treated as allowed. Contents are only read if `reads_contents`.
pub(super) fn check(
    (vault, log): (&Vault, Option<&Log>),
    bound: &BoundChains,
    reads_contents: bool,
    now: Timestamp,
) -> (Vec<Finding>, Staged) {
    let unreadable = |why: &FileError| {
        let message = format!("unreadable: {why}");
        vec![Finding::new(Code::StagedMalformed, STAGING_DIR, message)]
    };
    let mut chains = match Chains::read(vault.files()) {
        Ok(chains) => chains,
        Err(why) => return (unreadable(&why), Staged::default()),
    };
    let strays = chains.strays.iter();
    let mut findings: Vec<Finding> = strays
        .map(|stray| Finding::new(Code::StagedMalformed, &stray.path, stray.why.clone()))
        .collect();
    for chain in &mut chains.chains {
        findings.extend(chain.faults.drain(..).map(finding));
    }
    match lost(vault, &chains) {
        Ok(lost) => findings.extend(missing::faults(&lost).into_iter().map(of_this_user)),
        Err(why) => findings.push(Finding::new(
            Code::StagedMalformed,
            STAGING_DIR,
            format!("unreadable: {why}"),
        )),
    }
    findings.extend(namesakes(&chains));
    findings.extend(chains.chains.iter().filter_map(|chain| ahead(chain, now)));
    findings.extend(bound.lost(&chains));
    let chronicle = log.and_then(|log| log.sound().ok());
    let judge = chronicle.as_ref().map(|log| ActJudge::new(vault.files(), log));
    let standing =
        |act: &JudgedAct<'_>| judge.as_ref().map_or(Standing::Sound, |judge| judge.standing(act));
    let staged = Staged::judged(&chains, &standing);
    findings.extend(staged.disputed.iter().map(disputed));
    findings.extend(staged.entries.iter().filter_map(|entry| early(entry, now)));
    findings.extend(chronicle.iter().flat_map(|log| unsealed(&staged, log)));
    findings.extend(staged.astray.iter().map(|(source, writer, seq)| {
        let message = format!("line {seq} is an act on an entry that no chain contains");
        let path = chain_path(source, writer);
        Finding::new(Code::StagedChainMismatch, path, message)
    }));
    if !reads_contents {
        return (findings, staged);
    }
    findings.extend(contents(vault, &staged));
    match all_payloads(vault.files()) {
        Ok(all) => findings.extend(unclaimed(all, &staged, now)),
        Err(why) => findings.extend(unreadable(&why)),
    }
    (findings, staged)
}

/// Reports published texts that name an existing staged entry as their origin, if no act recorded
/// the promotion. The acts of a moved document have its former id.
pub(super) fn claims(staged: &Staged, promoted: &[PromotedText]) -> Vec<Finding> {
    let unproved = |text: &PromotedText| {
        let name = parse_name(&text.entry).ok()?;
        let entries = staged.all_named(&name);
        let is_told = |entry: &&StagedEntry| entry.promoted.iter().any(|p| p.document == text.id);
        if entries.is_empty() || entries.iter().any(is_told) {
            return None;
        }
        let message = format!("it says that it was promoted from {name}, but no act records that");
        let finding = Finding::new(Code::StagedUnproved, text.id.live_path(), message);
        Some(finding.id(&text.id).version(text.version))
    };
    promoted.iter().filter_map(unproved).collect()
}

/// A published text that names a staged entry as its origin.
#[derive(Debug)]
pub(super) struct PromotedText {
    pub(super) id: DocumentId,
    pub(super) version: Version,
    pub(super) entry: String,
}

/// Reports chains of one source whose writers begin with the same digits, so that two entries share
/// one name (STAGE-6).
fn namesakes(chains: &Chains) -> impl Iterator<Item = Finding> {
    chains.chains.windows(2).filter_map(|pair| {
        let [a, b] = pair else { return None };
        let is_same = share_names((&a.source, &a.writer), (&b.source, &b.writer));
        let message = format!("its writer id begins with the same digits as that of {}", a.path());
        is_same.then(|| Finding::new(Code::StagedChainMismatch, b.path(), message))
    })
}

/// Reports the first line of a chain that is later than the clock. Collections have a finding of
/// their own.
fn ahead(chain: &Chain, now: Timestamp) -> Option<Finding> {
    let is_ahead = |line: &&StagedLine| {
        let is_collection = matches!(line.kind, LineKind::Collect(_));
        !is_collection && line.at.parse().is_ok_and(|at: Timestamp| at > now)
    };
    let line = chain.lines.iter().find(is_ahead)?;
    let message = format!("line {} is dated {}, but the clock says {now}", line.seq, line.at);
    Some(Finding::new(Code::TimestampFuture, chain.path(), message))
}

/// Reports entries whose source had another version, or did not exist, at the checkpoint that they
/// name. A merge that kept the log of the other clone can cause this.
fn unsealed(staged: &Staged, log: &Chronicle<'_>) -> Vec<Finding> {
    // Sealed versions of each source, with the checkpoints that sealed them.
    let mut seals: HashMap<&DocumentId, Vec<(CheckpointNumber, Option<Version>)>> = HashMap::new();
    for entry in &staged.entries {
        seals.entry(&entry.source).or_default();
    }
    for checkpoint in log.checkpoints() {
        let set = checkpoint.set.iter().map(|(id, mark)| (id, mark.version));
        for (id, version) in set.chain(checkpoint.removed.iter().map(|id| (id, None))) {
            if let Some(seals) = seals.get_mut(id) {
                seals.push((checkpoint.number, version));
            }
        }
    }
    let is_unsealed = |entry: &&StagedEntry| {
        let Some(at) = entry.entry.checkpoint() else { return true };
        let seals = seals.get(&entry.source).map_or(&[][..], Vec::as_slice);
        let then = seals.partition_point(|(number, _)| *number <= at).checked_sub(1);
        let version = then.and_then(|then| seals[then].1);
        at > log.head_number() || version != Some(Version(entry.entry.source_version))
    };
    let finding = |entry: &StagedEntry| {
        let message = format!(
            "{}: no checkpoint seals version {} of its source as {}",
            entry.name(),
            entry.entry.source_version,
            entry.entry.source
        );
        let path = chain_path(&entry.source, &entry.writer);
        Finding::new(Code::StagedUnproved, path, message)
    };
    staged.entries.iter().filter(is_unsealed).map(finding).collect()
}

/// Reports entries that are older than the checkpoint that they consumed (STAGE-11). A merge that
/// kept the log of the other clone can cause this, too; then a line of a change log declares it.
pub(super) fn older(staged: &Staged, log: Option<&Log>, steps: &Steps) -> Vec<Finding> {
    let Some(chronicle) = log.and_then(|log| log.sound().ok()) else { return Vec::new() };
    let older = |entry: &StagedEntry| {
        let number = entry.entry.checkpoint()?;
        let made_at = chronicle.checkpoint(number).ok()?.at;
        let is_older = entry.at.parse().is_ok_and(|at: Timestamp| at < made_at);
        let code = match steps.bind_at(&entry.at) {
            true => Code::StagedContradicts,
            false => Code::StagedUnproved,
        };
        let (name, at) = (entry.name(), &entry.at);
        let message =
            format!("{name}: it is dated {at}, but checkpoint {number} was made at {made_at}");
        let path = chain_path(&entry.source, &entry.writer);
        is_older.then(|| Finding::new(code, path, message))
    };
    staged.entries.iter().filter_map(older).collect()
}

/// Converts a fault about lines of this user that a chain lacks to a finding.
fn of_this_user(fault: Fault) -> Finding {
    let code = match fault.kind {
        FaultKind::Elsewhere => Code::AuditElsewhere,
        _ => Code::StagedRollback,
    };
    Finding::new(code, fault.file, fault.why)
}

fn finding(fault: Fault) -> Finding {
    let code = match fault.kind {
        FaultKind::Torn => Code::StagedTorn,
        FaultKind::Malformed => Code::StagedMalformed,
        _ => Code::StagedChainMismatch,
    };
    let line = usize::try_from(fault.line).unwrap_or(usize::MAX);
    Finding::new(code, fault.file, fault.why).line(line)
}

/// Converts an act that is not valid to a finding (STAGE-19).
fn disputed(act: &DisputedAct) -> Finding {
    let path = chain_path(&act.source, &act.writer);
    let (seq, kind, entry) = (act.seq, act.kind.as_str(), &act.entry);
    let by = act.by.as_deref().unwrap_or("no principal");
    let role = match act.kind {
        ActKind::Promote => "an editor of the document",
        _ => "a reviewer of the source",
    };
    let (code, why) = match act.standing {
        Standing::Void(VoidAct::Early) => {
            (Code::StagedContradicts, "its retention had not ended".to_owned())
        }
        Standing::Void(VoidAct::NoDocument) => {
            (Code::StagedContradicts, "no version of the document records that".to_owned())
        }
        Standing::Void(VoidAct::OtherBody) => {
            let why = "the body of the version that was made from it does not match the content";
            (Code::StagedContradicts, why.to_owned())
        }
        Standing::Void(VoidAct::NoRole) => {
            (Code::StagedUnauthorised, format!("`{by}` was not {role}"))
        }
        Standing::Doubtful | Standing::Sound => (
            Code::StagedUnproved,
            format!("at the time of the line, `{by}` was not {role}, or the rules cannot be read"),
        ),
    };
    Finding::new(code, path, format!("line {seq}, {kind} {entry}: {why}"))
}

/// Reports a collection that only a clock ahead of ours allowed. If it was ahead by more than a
/// day, it removed evidence.
fn early(entry: &StagedEntry, now: Timestamp) -> Option<Finding> {
    let ended = entry.ended.as_ref().filter(|_| entry.is_collected_before(now))?;
    let (name, until) = (entry.name(), &entry.entry.retention_until);
    let is_forged = until.parse().is_ok_and(|until: Timestamp| until.is_far_ahead_of(now));
    let code = if is_forged { Code::StagedContradicts } else { Code::TimestampFuture };
    let message = format!("{name}: collected at {}, and kept until {until}", ended.at);
    let path = chain_path(&entry.source, &entry.writer);
    Some(Finding::new(code, path, message))
}

/// Checks the content of live entries. Each payload is read once.
fn contents(vault: &Vault, staged: &Staged) -> Vec<Finding> {
    let mut of: BTreeMap<Digest, Vec<&StagedEntry>> = BTreeMap::new();
    for entry in staged.entries.iter().filter(|entry| entry.is_live()) {
        if let Some(raw) = entry.entry.raw() {
            of.entry(raw).or_default().push(entry);
        }
    }
    let ended = staged.ended_payloads();
    let of: Vec<(Digest, Vec<&StagedEntry>)> = of.into_iter().collect();
    let found = of.par_iter().map(|(raw, entries)| content(vault, *raw, entries, &ended));
    found.flatten().collect()
}

fn content(
    vault: &Vault,
    raw: Digest,
    entries: &[&StagedEntry],
    ended: &BTreeSet<Digest>,
) -> Vec<Finding> {
    let path = payload_path(raw);
    let each = |code, why: &str| {
        let one =
            |entry: &&StagedEntry| Finding::new(code, &path, format!("{}: {why}", entry.name()));
        entries.iter().map(one).collect::<Vec<_>>()
    };
    match read_payload(vault.files(), raw) {
        FoundPayload::Whole(bytes) => {
            let is_other = |entry: &&&StagedEntry| {
                let found = entry.entry.canonical.hash(&bytes, raw).map(|hash| hash.to_string());
                found.as_ref() != Some(&entry.entry.content_hash)
                    || entry.entry.bytes != bytes.len() as u64
            };
            let message = "its `content_hash` or `bytes` does not match the content";
            let other = entries.iter().filter(is_other);
            let one = |entry: &&StagedEntry| {
                let message = format!("{}: {message}", entry.name());
                Finding::new(Code::StagedContentMismatch, &path, message)
            };
            other.map(one).collect()
        }
        FoundPayload::Altered(found) => {
            let altered = each(Code::StagedContentMismatch, "the bytes are not those received");
            altered.into_iter().map(|finding| finding.values(&raw, &found)).collect()
        }
        FoundPayload::Missing if ended.contains(&raw) => {
            each(Code::StagedElsewhere, "an entry with the same content was ended")
        }
        FoundPayload::Missing => each(Code::StagedMissing, "its content is missing"),
        FoundPayload::Unreadable(FileError::Io { source, .. }) => {
            vec![Finding::new(Code::FileUnreadable, &path, format!("unreadable: {source}"))]
        }
        FoundPayload::Unreadable(why) => each(Code::StagedContentMismatch, &why.to_string()),
    }
}

/// Reports payloads that no live entry names.
fn unclaimed(all: Vec<Digest>, staged: &Staged, now: Timestamp) -> Option<Finding> {
    let claimed = staged.claimed_payloads(now);
    let left = all.into_iter().filter(|raw| !claimed.contains(raw)).count();
    let message = format!("{} without a live entry", crate::values::text_util::count(left, "file"));
    (left > 0).then(|| Finding::new(Code::StagedUnclaimed, STAGING_OBJECTS, message))
}
