//! Staged results: every chain, and the content of every live entry (STAGE-11).

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::bound::BoundChains;
use super::finding::{Code, Finding};
use crate::audit::{Fault, FaultKind};
use crate::checkpoint::log::Log;
use crate::model::digest::Digest;
use crate::model::layout::{STAGING_CHAINS, STAGING_DIR, STAGING_OBJECTS};
use crate::model::timestamp::Timestamp;
use crate::review::ActJudge;
use crate::staging::{
    ActKind, Chains, DisputedAct, FoundPayload, JudgedAct, Staged, StagedEntry, Standing, VoidAct,
    all_payloads, lost, payload_path, read_payload,
};
use crate::vault::Vault;
use crate::vault::files::FileError;

/// Checks what is staged in a vault. Without a sound log it is not known which acts were allowed.
pub(super) fn check(
    vault: &Vault,
    log: Option<&Log>,
    bound: &BoundChains,
    now: Timestamp,
) -> Vec<Finding> {
    let unreadable = |why: &FileError| {
        let message = format!("unreadable: {why}");
        vec![Finding::new(Code::StagedMalformed, STAGING_DIR, message)]
    };
    let mut chains = match Chains::read(vault.files()) {
        Ok(chains) => chains,
        Err(why) => return unreadable(&why),
    };
    let strays = chains.strays.iter();
    let mut findings: Vec<Finding> = strays
        .map(|stray| Finding::new(Code::StagedMalformed, &stray.path, stray.why.clone()))
        .collect();
    for chain in &mut chains.chains {
        findings.extend(chain.faults.drain(..).map(finding));
    }
    findings.extend(lost(vault, &chains).into_iter().map(|(source, tail)| {
        let message = format!("this machine wrote line {} of it", tail.seq);
        let path = format!("{STAGING_CHAINS}/{source}/{}.jsonl", tail.writer);
        Finding::new(Code::StagedRollback, path, message)
    }));
    findings.extend(bound.lost(&chains));
    let chronicle = log.and_then(|log| log.sound().ok());
    let judge = chronicle.as_ref().map(|log| ActJudge::new(vault.files(), log, true));
    let standing =
        |act: &JudgedAct<'_>| judge.as_ref().map_or(Standing::Sound, |judge| judge.standing(act));
    let staged = Staged::judged(&chains, &standing);
    findings.extend(staged.disputed.iter().map(disputed));
    findings.extend(staged.entries.iter().filter_map(|entry| early(entry, now)));
    findings.extend(staged.astray.iter().map(|(source, writer, seq)| {
        let message = format!("line {seq} is an act upon an entry that no chain has");
        let path = format!("{STAGING_CHAINS}/{source}/{writer}.jsonl");
        Finding::new(Code::StagedChainMismatch, path, message)
    }));
    findings.extend(contents(vault, &staged));
    match all_payloads(vault.files()) {
        Ok(all) => findings.extend(unclaimed(all, &staged, now)),
        Err(why) => findings.extend(unreadable(&why)),
    }
    findings
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

/// An act that is not sound (STAGE-19).
fn disputed(act: &DisputedAct) -> Finding {
    let path = format!("{STAGING_CHAINS}/{}/{}.jsonl", act.source, act.writer);
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
            (Code::StagedContradicts, "no version of the document says so".to_owned())
        }
        Standing::Void(VoidAct::OtherBody) => {
            let why = "the body of the version that was made of it is not the content";
            (Code::StagedContradicts, why.to_owned())
        }
        Standing::Void(VoidAct::NoRole) => {
            (Code::StagedUnauthorised, format!("`{by}` was not {role}"))
        }
        Standing::Doubtful | Standing::Sound => (
            Code::StagedUnproved,
            format!("by the time of the line `{by}` was not {role}, or that cannot be read"),
        ),
    };
    Finding::new(code, path, format!("line {seq}, {kind} {entry}: {why}"))
}

/// A collection that only a clock ahead of ours allowed.
fn early(entry: &StagedEntry, now: Timestamp) -> Option<Finding> {
    let ended = entry.ended.as_ref().filter(|_| entry.is_collected_before(now))?;
    let (name, until) = (entry.name(), &entry.entry.retention_until);
    let message = format!("{name}: collected at {}, and kept until {until}", ended.at);
    let path = format!("{STAGING_CHAINS}/{}/{}.jsonl", entry.source, entry.writer);
    Some(Finding::new(Code::TimestampFuture, path, message))
}

/// What is wrong with the content of live entries. Each payload is read once.
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
            let message = "its `content_hash` or `bytes` is not that of the content";
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

/// Payloads that no live entry names.
fn unclaimed(all: Vec<Digest>, staged: &Staged, now: Timestamp) -> Option<Finding> {
    let claimed = staged.claimed_payloads(now);
    let left = all.into_iter().filter(|raw| !claimed.contains(raw)).count();
    let message = format!("no live entry names {}", crate::words::count(left, "file"));
    (left > 0).then(|| Finding::new(Code::StagedUnclaimed, STAGING_OBJECTS, message))
}
