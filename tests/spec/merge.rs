//! Merges of two logs, and vaults that merged: `vectors/merge`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use contextnest::files::vault::Vault;
use contextnest::files::vault::config::LogForm;
use contextnest::model::number::Version;
use contextnest::model::timestamp::Timestamp;
use contextnest::prove::verify::{Request, verify};
use contextnest::record::checkpoint::log::Log;
use contextnest::record::checkpoint::merge::merge;
use serde::Deserialize;

use crate::vectors::load;
use crate::verify::{File, write_all};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Merges {
    merges: Vec<Case>,
    /// The function that chooses the trunk is not public.
    #[serde(rename = "trunks")]
    _trunks: Vec<serde_json::Value>,
}

/// A log in delta form by its lines, or in full form by its text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Lines(Vec<String>),
    Full(String),
}

impl Text {
    fn log(&self) -> Log {
        match self {
            Self::Lines(lines) => Log::parse(LogForm::Delta, ended(lines).as_bytes()),
            Self::Full(text) => Log::parse(LogForm::Full, text.as_bytes()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    trunk: Vec<String>,
    branch: Text,
    #[serde(rename = "branch_form")]
    _branch_form: Option<String>,
    now: String,
    #[serde(default)]
    governed: bool,
    /// `ctx merge` compares it with the log of a commit.
    #[serde(rename = "picked_after")]
    _picked_after: Option<String>,
    outcome: String,
    line: Option<String>,
    carried: Option<Vec<String>>,
    conflicts: Option<BTreeMap<String, String>>,
    /// The ids of the merged vault are compared when it is verified.
    #[serde(rename = "collides")]
    _collides: Option<Vec<String>>,
}

fn ended(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

impl Case {
    /// Returns what differs from the expected merge.
    fn differs(&self) -> Option<String> {
        let line = self.line.clone()?;
        let (trunk, branch) = (Text::Lines(self.trunk.clone()).log(), self.branch.log());
        let (trunk, branch) = (trunk.sound().unwrap(), branch.sound().unwrap());
        let after = |log: Option<Timestamp>| log.and_then(Timestamp::next);
        let heads = [&trunk, &branch].map(|log| after(log.head().map(|head| head.at)));
        let at = heads.into_iter().flatten().fold(self.now.parse().unwrap(), Timestamp::max);
        let Some((found, decision)) =
            merge(trunk.checkpoints(), branch.checkpoints(), at, self.governed)
        else {
            return Some("no merge".to_owned());
        };
        let merged =
            Log::parse(LogForm::Delta, ended(&[&self.trunk[..], &[line]].concat()).as_bytes());
        let merged = match merged.sound() {
            Ok(merged) => merged,
            Err(why) => return Some(why.to_string()),
        };
        // A line is read only if it is, byte for byte, the spelling of its values.
        let expected = merged.head()?;
        if *expected != found {
            return Some(format!("expected {expected:?}\nfound {found:?}"));
        }
        let artifacts = |id: &&_| !contextnest::model::id::DocumentId::is_chain(id);
        let carried = decision.carried.keys().filter(artifacts).map(ToString::to_string);
        let conflicts = decision.conflicts.iter().filter(|(id, _)| artifacts(id));
        let conflicts =
            conflicts.map(|(id, conflict)| (id.to_string(), conflict.as_str().to_owned()));
        let found = (Some(carried.collect()), Some(conflicts.collect()));
        let expected = (self.carried.clone(), self.conflicts.clone());
        (found != expected).then(|| format!("expected {expected:?}\nfound {found:?}"))
    }
}

#[test]
fn merge_makes_the_line_of_each_pair_of_logs() {
    let Merges { merges, .. } = load("merge/cases.json");
    let merged = merges.iter().filter(|case| case.outcome == "merged");
    let differ = merged.filter_map(|case| Some(format!("{}: {}", case.name, case.differs()?)));
    assert_eq!(differ.collect::<Vec<_>>(), Vec::<String>::new());
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Altered {
    name: String,
    log: Vec<String>,
    codes: BTreeSet<String>,
}

/// The findings of a log that need no history.
const OF_THE_LOG: [&str; 10] = [
    "checkpoint-gap",
    "checkpoint-hash-mismatch",
    "checkpoint-log-unreadable",
    "checkpoint-trigger-mismatch",
    "field-malformed",
    "merge-mismatch",
    "timestamp-malformed",
    "timestamp-order",
    "unknown-hash-algorithm",
    "version-regression",
];

#[test]
fn verify_reports_altered_merges() {
    let cases: Vec<Altered> = load("merge/logs.json");
    let now = "2027-01-01T00:00:00.000Z".parse().unwrap();
    let mut differ = Vec::new();
    for case in cases {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".versions")).unwrap();
        fs::write(dir.path().join(".versions/checkpoints.jsonl"), ended(&case.log)).unwrap();
        let vault = Vault::open(dir.path()).unwrap();
        let report = verify(&vault, &Request::whole(now)).unwrap();
        let codes = report.findings.iter().map(|found| found.code.as_str());
        let codes = codes.filter(|code| OF_THE_LOG.contains(code)).map(ToOwned::to_owned);
        let codes: BTreeSet<String> = codes.collect();
        // The lines of the log cannot be followed, so nothing else about them is reported.
        let is_structural = codes.len() == 1 && codes.contains("merge-mismatch");
        if codes != case.codes && (!is_structural || case.codes.is_empty()) {
            differ.push(format!("{}: expected {:?}, found {codes:?}", case.name, case.codes));
        }
    }
    assert_eq!(differ, Vec::<String>::new());
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vaults {
    now: String,
    bases: BTreeMap<String, BTreeMap<String, File>>,
    cases: Vec<Attack>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    name: String,
    base: String,
    changes: BTreeMap<String, Option<File>>,
    verdict: String,
    findings: BTreeSet<Finding>,
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
struct Finding {
    code: String,
    /// The id of the artifact; empty if there is none.
    of: String,
    version: Option<Version>,
}

#[test]
fn verify_judges_vaults_that_merged() {
    let Vaults { now, bases, cases } = load("merge/vaults.json");
    let now: Timestamp = now.parse().unwrap();
    let mut differ = Vec::new();
    for case in cases {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path(), &bases[&case.base], &case.changes);
        let vault = Vault::open(folder.path()).unwrap();
        let report = verify(&vault, &Request::whole(now)).unwrap();
        let portable =
            report.findings.iter().filter(|found| found.code.as_str() != "derived-differs");
        let found = portable.map(|finding| Finding {
            code: finding.code.as_str().to_owned(),
            of: finding.id.as_ref().map(ToString::to_string).unwrap_or_default(),
            version: finding.version,
        });
        let found = (report.verdict.as_str().to_owned(), found.collect::<BTreeSet<_>>());
        let expected = (case.verdict, case.findings);
        // Of a damaged record two programs may name other parts; each names one.
        let is_damaged = ["damaged", "unsettled"].contains(&found.0.as_str())
            && expected.0 == found.0
            && !found.1.is_empty();
        if found != expected && !is_damaged {
            differ.push(format!("{}: expected {expected:?}\nfound {found:?}", case.name));
        }
    }
    assert_eq!(differ, Vec::<String>::new());
}
