//! Checkpoints: the hash over the maps, and the lines of a log (`spec/checkpoint.md`).

use std::collections::BTreeMap;
use std::fs;

use contextnest::files::vault::Vault;
use contextnest::files::vault::config::LogForm;
use contextnest::model::digest::{Digest, Sink as _};
use contextnest::model::id::DocumentId;
use contextnest::model::number::{CheckpointNumber, Version};
use contextnest::record::chain::preimage::checkpoint_hash;
use contextnest::record::checkpoint::fault::EntryFault;
use contextnest::record::checkpoint::log::Log;
use contextnest::record::checkpoint::state::{Mark, PublishedSet};
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    previous: Option<String>,
    checkpoint: CheckpointNumber,
    at: String,
    triggered_by: String,
    document_versions: BTreeMap<String, Version>,
    document_chain_hashes: BTreeMap<String, String>,
    #[serde(rename = "V")]
    versions: String,
    #[serde(rename = "H")]
    hashes: String,
    checkpoint_hash: String,
}

#[test]
fn a_checkpoint_hash_covers_the_complete_maps() {
    let cases: Vec<Case> = load("checkpoint/cases.json");
    for case in cases {
        let previous = case.previous.map(|p| p.parse::<Digest>().unwrap());
        let at = case.at.parse().unwrap();
        let from_bytes = checkpoint_hash(
            previous.as_ref(),
            case.checkpoint,
            at,
            &case.triggered_by,
            |out| out.put(case.versions.as_bytes()),
            |out| out.put(case.hashes.as_bytes()),
        );
        assert_eq!(from_bytes.to_string(), case.checkpoint_hash, "{}", case.name);
        let mut marks: BTreeMap<DocumentId, Mark> = BTreeMap::new();
        let nothing = Mark { version: None, chain_hash: None };
        for (id, version) in &case.document_versions {
            let mark = marks.entry(id.parse().unwrap()).or_insert(nothing);
            mark.version = Some(*version);
        }
        for (id, hash) in &case.document_chain_hashes {
            let mark = marks.entry(id.parse().unwrap()).or_insert(nothing);
            mark.chain_hash = Some(hash.parse().unwrap());
        }
        let state: PublishedSet = marks.into_iter().collect();
        let from_maps = state.hash(previous.as_ref(), case.checkpoint, at, &case.triggered_by);
        assert_eq!(from_maps.to_string(), case.checkpoint_hash, "{}", case.name);
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    line: String,
    refused: Option<String>,
}

#[test]
fn a_line_is_canonical_or_refused() {
    let cases: Vec<Line> = load("checkpoint/lines.json");
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".versions")).unwrap();
    let text: String = cases.iter().map(|c| format!("{}\n", c.line)).collect();
    fs::write(dir.path().join(".versions/checkpoints.jsonl"), text).unwrap();
    let log = Log::read(&Vault::open(dir.path()).unwrap()).unwrap();
    assert_eq!((log.diagnosis.torn, log.entries.len()), (0, cases.len()));
    for (case, entry) in cases.iter().zip(&log.entries) {
        let fault = entry.as_ref().err().map(|fault| match fault {
            EntryFault::Unreadable(_) => "unreadable",
            EntryFault::Field(..) => "field",
            EntryFault::Timestamp(_) => "timestamp",
            EntryFault::UnknownHashAlgorithm(..) => "unknown-hash-algorithm",
            other => panic!("{other}"),
        });
        assert_eq!(fault, case.refused.as_deref(), "{}: {entry:?}", case.name);
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Full {
    name: String,
    text: String,
    readable: bool,
    entries: usize,
    faults: usize,
    torn: usize,
}

#[test]
fn a_log_of_whole_maps_is_read_up_to_an_end_that_is_none() {
    let cases: Vec<Full> = load("checkpoint/full.json");
    for case in cases {
        let log = Log::parse(LogForm::Full, case.text.as_bytes());
        let faults = log.entries.iter().filter(|entry| entry.is_err()).count();
        assert_eq!(
            (log.diagnosis.unreadable.is_none(), log.entries.len(), faults, log.diagnosis.torn),
            (case.readable, case.entries, case.faults, case.torn),
            "{}: {:?}",
            case.name,
            log.diagnosis.unreadable
        );
    }
}

#[test]
fn bytes_after_the_last_newline_are_a_torn_line() {
    let cases: Vec<Line> = load("checkpoint/lines.json");
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".versions")).unwrap();
    let line = &cases[0].line;
    fs::write(dir.path().join(".versions/checkpoints.jsonl"), line).unwrap();
    let log = Log::read(&Vault::open(dir.path()).unwrap()).unwrap();
    assert_eq!((log.diagnosis.torn, log.entries.len()), (line.len(), 0));
}
