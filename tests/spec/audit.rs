//! Logs of accesses and changes, and what is wrong with them (`spec/audit.md`, sections 5 and 10).

use std::collections::BTreeMap;
use std::fs;

use contextnest::audit::{Logs, Tail};
use contextnest::model::digest::Digest;
use contextnest::model::number::CheckpointNumber;
use contextnest::verify::{Recorded, compare_changes};
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    files: BTreeMap<String, String>,
    /// How many lines are what their hashes say.
    lines: usize,
    /// Code, file and line.
    faults: Vec<(String, String, u64)>,
}

#[test]
fn every_change_of_a_log_is_found() {
    let cases: Vec<Case> = load("audit/cases.json");
    for case in cases {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in &case.files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut lines = 0;
        let faults = Logs::open(folder.path()).unwrap().each(None, &mut |_| lines += 1).unwrap();
        let faults: Vec<(String, String, u64)> = faults
            .into_iter()
            .map(|fault| (fault.kind.as_str().to_owned(), fault.file, fault.line))
            .collect();
        assert_eq!((lines, faults), (case.lines, case.faults), "{}", case.name);
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    name: String,
    files: BTreeMap<String, String>,
    /// The hashes of the checkpoints, from 1 on.
    checkpoints: Vec<String>,
    /// From which checkpoint on they are strict; none, if none is.
    strict_from: Option<u64>,
    /// From which checkpoint on changes are recorded.
    recorded_from: Option<u64>,
    tails: Vec<LastLine>,
    /// Code and checkpoint.
    findings: Vec<(String, Option<u64>)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LastLine {
    writer: String,
    seq: u64,
    hash: String,
}

#[test]
fn what_change_logs_say_is_compared_with_the_checkpoints() {
    for case in load::<Vec<Changes>>("audit/changes.json") {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in &case.files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let digests = case.checkpoints.iter().map(|hash| hash.parse::<Digest>().unwrap());
        let hashes = (1..).map(CheckpointNumber).zip(digests).collect::<BTreeMap<_, _>>();
        let begin = case.strict_from.zip(case.recorded_from).map(|(a, b)| a.max(b));
        let numbers = hashes.keys().copied();
        let owed = numbers.filter(|number| begin.is_some_and(|begin| number.0 >= begin)).collect();
        let tail = |LastLine { writer, seq, hash }: LastLine| Tail {
            writer: writer.parse().unwrap(),
            seq,
            hash,
            sealed: None,
        };
        let tails = case.tails.into_iter().map(tail).collect();
        let logs = Logs::open(folder.path()).unwrap();
        let found = compare_changes(&logs, Recorded { hashes: &hashes, owed, tails });
        let mut found: Vec<(String, Option<u64>)> = found
            .into_iter()
            .map(|f| (f.code.as_str().to_owned(), f.checkpoint.map(|number| number.0)))
            .collect();
        let mut findings = case.findings;
        found.sort();
        findings.sort();
        assert_eq!(found, findings, "{}", case.name);
    }
}
