//! Logs of accesses and changes, and their faults (`spec/audit.md`, sections 5 and 10).

use std::collections::BTreeMap;
use std::fs;

use contextnest::model::digest::Digest;
use contextnest::model::number::{CheckpointNumber, Version};
use contextnest::model::principal::PrincipalKey;
use contextnest::policy::rules::StepKind;
use contextnest::prove::verify::{
    Acknowledgers, Binding, BoundChains, Compared, NamedKind, Recorded, compare_changes,
};
use contextnest::record::audit::{Cuts, Logs, Tail, TraceId, Verified};
use contextnest::record::checkpoint::merge::Held;
use proptest::prelude::*;
use proptest::sample::Index;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    files: BTreeMap<String, String>,
    /// Number of lines that match their hashes.
    lines: u64,
    /// Code, file and line.
    faults: Vec<(String, String, u64)>,
    /// The files of change logs.
    #[serde(default)]
    changes: BTreeMap<String, String>,
    /// Writer, first and last line.
    #[serde(default)]
    pruned: Vec<(String, u64, u64)>,
}

/// Returns a folder with these files.
fn folder(files: &BTreeMap<String, String>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn every_change_of_a_log_is_found() {
    let cases: Vec<Case> = load("audit/cases.json");
    for case in cases {
        let (changes, folder) = (folder(&case.changes), folder(&case.files));
        let cuts = Cuts::of(&Logs::open(changes.path()).unwrap()).unwrap();
        let logs = Logs::open(folder.path()).unwrap().pruned_at(cuts);
        let Verified { lines, faults, pruned } = logs.verify().unwrap();
        let faults: Vec<(String, String, u64)> = faults
            .into_iter()
            .map(|fault| (fault.kind.as_str().to_owned(), fault.file, fault.line))
            .collect();
        assert_eq!((lines, faults), (case.lines, case.faults), "{}", case.name);
        let gone = pruned.into_iter().map(|p| (p.writer, p.from, p.cut.seq));
        assert_eq!(gone.collect::<Vec<_>>(), case.pruned, "{}", case.name);
    }
}

const WRITER: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";

/// Returns a line of a writer with a text of this length, without its line end.
fn line(seq: usize, prev: &str, cause: Option<String>, length: usize) -> (String, String) {
    let mut line = json!({
        "v": 1, "seq": seq, "prev": prev, "at": "2026-11-24T10:00:01.000Z", "writer": WRITER,
        "tool": "0.1.0", "verb": "publish", "args": {"argv": ["publish"]}, "event": "refused",
        "principal_source": "none", "labels": {}, "code": "governed", "further": "x".repeat(length),
    });
    if let Some(cause) = cause {
        line["cause"] = cause.into();
    }
    let hash = Digest::of(&serde_jcs::to_vec(&line).unwrap()).to_string();
    line["hash"] = hash.clone().into();
    (serde_jcs::to_string(&line).unwrap(), hash)
}

/// Returns a sound log of lines with texts of these lengths; every third one is a further line of
/// the one before it.
fn log(lengths: &[usize]) -> Vec<String> {
    let mut prev = format!("contextnest:audit:v1:{WRITER}");
    let mut lines = Vec::new();
    for (seq, length) in (1..).zip(lengths) {
        let cause = (seq % 3 == 0).then(|| format!("0a1b2c3d-{}", seq - 1));
        let (line, hash) = line(seq, &prev, cause, *length);
        (prev, _) = (hash, lines.push(line + "\n"));
    }
    lines
}

/// Returns a folder with one log, its number of verified lines, and true if the log is damaged.
fn verified(text: &[u8]) -> (tempfile::TempDir, u64, bool) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(format!("{WRITER}.jsonl")), text).unwrap();
    let Verified { lines, faults, .. } = Logs::open(folder.path()).unwrap().verify().unwrap();
    let is_damaged = faults.iter().any(|fault| fault.kind.is_damage());
    (folder, lines, is_damaged)
}

/// Draws lengths of lines; some are longer than the block that a thread reads.
fn lengths() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![6 => 0..200_usize, 1 => 30_000..40_000_usize, 1 => Just(300_000)];
    prop::collection::vec(length, 2..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_edited_byte_of_a_log_is_found(
        lengths in lengths(),
        at in any::<Index>(),
        byte in any::<u8>(),
        edit in 0..3,
    ) {
        let mut text = log(&lengths).concat().into_bytes();
        // Without its line end the last line is torn, which is not damage.
        let at = at.index(text.len() - 1);
        match edit {
            0 if text[at] != byte => text[at] = byte,
            1 => text.insert(at, byte),
            _ => drop(text.remove(at)),
        }
        let (_folder, count, is_damaged) = verified(&text);
        // A power cut leaves NUL bytes in the last line (AUDIT-10); the line is not sound.
        let last = text[..text.len() - 1].iter().rposition(|byte| *byte == b'\n');
        let is_torn = text[last.map_or(0, |end| end + 1)..].contains(&0);
        prop_assert!(!is_torn || count < lengths.len() as u64);
        prop_assert!(is_damaged || is_torn);
    }

    #[test]
    fn nul_is_damage_where_a_sound_line_follows_it(
        lengths in lengths(),
        place in any::<Index>(),
        (nul, garbage) in (1..300_000_usize, prop::collection::vec("[a-z]{0,9}", 0..4)),
    ) {
        let mut lines = log(&lengths);
        let place = place.index(lines.len() + 1);
        lines.insert(place, "\0".repeat(nul) + "\n" + &garbage.join("\n") + "\n");
        let (folder, count, is_damaged) = verified(lines.concat().as_bytes());
        // No line hides another from the verifier.
        prop_assert_eq!(count, lengths.len() as u64);
        prop_assert_eq!(is_damaged, place < lengths.len());
        if !is_damaged {
            let faults = Logs::open(folder.path()).unwrap().verify().unwrap().faults;
            let faults: Vec<_> = faults.iter().map(|f| (f.kind.as_str(), f.line)).collect();
            prop_assert_eq!(faults, [("audit-torn", lengths.len() as u64 + 1)]);
        }
    }

    #[test]
    fn every_line_that_is_missing_twice_or_elsewhere_is_found(
        lengths in lengths(),
        (a, b) in any::<(Index, Index)>(),
        edit in 0..4,
    ) {
        let mut lines = log(&lengths);
        let (a, b) = (a.index(lines.len()), b.index(lines.len()));
        match edit {
            0 => drop(lines.remove(a.min(lines.len() - 2))),
            1 => lines.insert(b, lines[a].clone()),
            2 if a != b => lines.swap(a, b),
            _ => lines.insert(a, line(a + 1, "sha256:", None, 3).0 + "\n"),
        }
        prop_assert!(verified(lines.concat().as_bytes()).2);
    }

    #[test]
    fn a_log_that_is_truncated_at_the_end_of_a_line_is_sound(
        lengths in lengths(),
        end in any::<Index>(),
        torn in any::<Index>(),
    ) {
        let lines = log(&lengths);
        let end = end.index(lines.len());
        let mut text = lines[..end].concat();
        prop_assert_eq!(verified(text.as_bytes()).1, end as u64);
        text.push_str(&lines[end][..torn.index(lines[end].len())]);
        let (_folder, count, is_damaged) = verified(text.as_bytes());
        prop_assert_eq!((count, is_damaged), (end as u64, false));
    }

    #[test]
    fn a_line_is_found_by_its_number_whatever_the_others_are(
        lengths in lengths(),
        wanted in any::<Index>(),
        (a, b) in any::<(Index, Index)>(),
    ) {
        let mut lines = log(&lengths);
        let wanted = wanted.index(lines.len()) + 1;
        let trace: TraceId = format!("0a1b2c3d-{wanted}").parse().unwrap();
        let expected = 1 + usize::from(wanted % 3 == 2 && wanted < lines.len());
        // The link is in the place of the log, and in a log whose lines are in another order.
        for _ in 0..2 {
            let (folder, ..) = verified(lines.concat().as_bytes());
            let found = Logs::open(folder.path()).unwrap().find(&trace).unwrap();
            prop_assert_eq!(found.first().map(|line| &line.seq), Some(&(wanted as u64)));
            prop_assert!(found.len() <= expected);
            let (a, b) = (a.index(lines.len()), b.index(lines.len()));
            lines.swap(a, b);
        }
    }
}

#[test]
fn an_unreadable_line_does_not_hide_others() {
    let mut lines = log(&[5; 40]);
    lines[20] = "no line\n".to_owned();
    let (folder, ..) = verified(lines.concat().as_bytes());
    let logs = Logs::open(folder.path()).unwrap();
    for wanted in (1..=40).filter(|seq| *seq != 21) {
        let found = logs.find(&format!("0a1b2c3d-{wanted}").parse().unwrap()).unwrap();
        assert_eq!(found.first().map(|line| line.seq), Some(wanted));
    }
    for missing in ["0a1b2c3d-21", "0a1b2c3d-41", "ffffffff-1"] {
        assert!(logs.find(&missing.parse().unwrap()).unwrap().is_empty(), "{missing}");
    }
}

#[test]
fn the_faults_of_a_hostile_log_are_counted_beyond_the_first_thousand() {
    let (folder, ..) = verified("\n".repeat(300_000).as_bytes());
    let Verified { lines, faults, .. } = Logs::open(folder.path()).unwrap().verify().unwrap();
    assert_eq!((lines, faults.len()), (0, 1001));
    let last = faults.last().unwrap();
    assert_eq!((last.line, last.kind.as_str()), (1001, "audit-malformed"));
    let said = "this fault and those after it, 299000 in all, are not listed";
    assert_eq!(last.why, said);
    // A message that quotes a line is shortened.
    let mut line: Value = serde_json::from_str(&log(&[0])[0]).unwrap();
    line["hash"] = "x".repeat(100_000).into();
    let (folder, ..) = verified((serde_jcs::to_string(&line).unwrap() + "\n").as_bytes());
    let faults = Logs::open(folder.path()).unwrap().verify().unwrap().faults;
    assert!(faults[0].why.len() < 1000, "{}", faults[0].why.len());
}
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    name: String,
    files: BTreeMap<String, String>,
    /// The hashes of the checkpoints, from 1 on.
    checkpoints: Vec<String>,
    /// The first strict checkpoint, if there is one.
    strict_from: Option<u64>,
    /// The first checkpoint whose changes are recorded.
    recorded_from: Option<u64>,
    tails: Vec<LastLine>,
    /// The lines that checkpoints bind: checkpoint, time, writer, number, hash.
    #[serde(default)]
    bindings: Vec<(u64, String, String, u64, String)>,
    /// The checkpoints that must bind a line.
    #[serde(default)]
    must_bind: Vec<u64>,
    /// The lines of staging chains that the maps bind: checkpoint, chain, number and hash.
    #[serde(default)]
    chains: Vec<(u64, String, u64, String)>,
    /// The principals who may acknowledge a missing line, from a checkpoint on; `None` if every
    /// principal may.
    #[serde(default)]
    acknowledgers: Vec<(u64, Option<Vec<String>>)>,
    /// The chain hashes of histories, by version.
    #[serde(default)]
    histories: BTreeMap<String, BTreeMap<String, String>>,
    /// The known kinds of versions of these histories.
    #[serde(default)]
    kinds: BTreeMap<String, BTreeMap<String, String>>,
    /// The ids that checkpoints set or removed.
    #[serde(default)]
    changed: BTreeMap<u64, Vec<String>>,
    /// The current time.
    now: Option<String>,
    /// The days for which accesses are kept.
    retention: Option<u64>,
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

fn binding(said: (u64, String, String, u64, String)) -> Binding {
    let (checkpoint, at, writer, seq, hash) = said;
    Binding {
        checkpoint: CheckpointNumber(checkpoint),
        at: at.parse().unwrap(),
        id: format!(".context/audit/{writer}.jsonl").parse().unwrap(),
        seq,
        hash: hash.parse().unwrap(),
    }
}

fn ids_of<'c>((number, ids): (&u64, &'c Vec<String>)) -> (CheckpointNumber, Vec<&'c str>) {
    (CheckpointNumber(*number), ids.iter().map(String::as_str).collect())
}

fn kind_of(word: &str) -> Option<NamedKind> {
    let kinds = [
        StepKind::Event,
        StepKind::Submitted,
        StepKind::ApprovedInPart,
        StepKind::Rejected,
        StepKind::Withdrawn,
        StepKind::Ratified,
    ];
    match word {
        "emergency" => Some(NamedKind::Emergency),
        word => kinds.into_iter().find(|kind| kind.as_str() == word).map(NamedKind::Step),
    }
}

#[test]
fn change_logs_are_compared_with_the_checkpoints() {
    for case in load::<Vec<Changes>>("audit/changes.json") {
        let folder = folder(&case.files);
        let digests = case.checkpoints.iter().map(|hash| hash.parse::<Digest>().unwrap());
        let hashes = (1..).map(CheckpointNumber).zip(digests).collect::<BTreeMap<_, _>>();
        let held = Held::of_main(hashes.clone());
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
        let bindings: Vec<Binding> = case.bindings.into_iter().map(binding).collect();
        let must_bind = case.must_bind.into_iter().map(CheckpointNumber).collect();
        let acknowledgers = case.acknowledgers.into_iter().map(|(from, names)| {
            let keys =
                |names: Vec<String>| names.iter().map(|name| PrincipalKey::of(name)).collect();
            let who =
                names.map_or(Acknowledgers::All, |names| Acknowledgers::Reviewers(keys(names)));
            (CheckpointNumber(from), who)
        });
        let acknowledgers = acknowledgers.collect();
        let bindings = &bindings;
        let mut chains = BoundChains::default();
        for (checkpoint, chain, seq, hash) in case.chains {
            let line = Some((seq, hash.parse().unwrap()));
            chains.change(chain.parse().unwrap(), CheckpointNumber(checkpoint), line);
        }
        let chains = &chains;
        let recorded = Recorded {
            held: &held,
            owed,
            owed_sides: Vec::new(),
            tails,
            bindings,
            must_bind,
            chains,
            acknowledgers,
            interrupted: None,
            compared: Compared {
                changed: case.changed.iter().map(ids_of).collect(),
                now: case.now.map(|now| now.parse().unwrap()),
                retention: case.retention,
            },
        };
        let (mut found, steps) = compare_changes(&logs, recorded);
        let (ids, unknown) = steps.ids();
        found.extend(unknown);
        found.extend(ids.iter().flat_map(|id| {
            let history = case.histories.get(id.as_str());
            let hash = |version: Version| history?.get(&version.to_string())?.parse().ok();
            let kinds = case.kinds.get(id.as_str());
            let kind = |version: Version, _: &str| kind_of(kinds?.get(&version.to_string())?);
            [steps.contradictions(id, hash, |_, _| false), steps.mistaken(id, kind)].concat()
        }));
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

#[test]
fn an_interrupted_command_excuses_no_checkpoint_that_must_bind_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let number = CheckpointNumber(2);
    let held = Held::of_main([(number, Digest::of(b"2"))]);
    let found = |must_bind, interrupted| {
        let recorded = Recorded {
            held: &held,
            owed: vec![number],
            owed_sides: Vec::new(),
            tails: [].into_iter().collect(),
            bindings: &[],
            must_bind,
            chains: &BoundChains::default(),
            acknowledgers: Vec::new(),
            interrupted,
            compared: Compared::default(),
        };
        let (found, _) = compare_changes(&logs, recorded);
        found.iter().map(|found| found.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(found(vec![], None), ["audit-missing"]);
    assert_eq!(found(vec![], Some(number)), ["interrupted"]);
    assert_eq!(found(vec![], Some(CheckpointNumber(3))), ["audit-missing"]);
    assert_eq!(found(vec![number], Some(number)), ["interrupted", "audit-missing"]);
}
