//! Small vaults, honest and attacked, each with its verdict and its findings: `vectors/verify`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use contextnest::files::vault::Vault;
use contextnest::model::number::{CheckpointNumber, Version};
use contextnest::prove::verify::{Request, verify};
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vaults {
    now: String,
    bases: BTreeMap<String, BTreeMap<String, File>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    base: String,
    changes: BTreeMap<String, Option<File>>,
    verdict: String,
    findings: BTreeSet<Finding>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum File {
    Text(String),
    Link {
        #[serde(rename = "link")]
        _target: String,
    },
    Folder {
        #[serde(rename = "folder")]
        _is_folder: bool,
    },
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
struct Finding {
    code: String,
    /// The id of the artifact, or else the path.
    of: String,
    version: Option<Version>,
    checkpoint: Option<CheckpointNumber>,
}

/// Writes a vault of `vectors/verify`, with changes to some of its files.
pub(crate) fn vault_in(root: &Path, base: &str, changes: &BTreeMap<String, Option<File>>) -> Vault {
    let Vaults { bases, .. } = load("verify/cases.json");
    write_all(root, &bases[base], changes);
    Vault::open(root).unwrap()
}

pub(crate) fn write_all(
    root: &Path,
    base: &BTreeMap<String, File>,
    changes: &BTreeMap<String, Option<File>>,
) {
    let kept = base.iter().filter(|(path, _)| !changes.contains_key(*path));
    let changed = changes.iter().filter_map(|(path, file)| Some((path, file.as_ref()?)));
    for (path, file) in kept.chain(changed) {
        write(root, path, file);
    }
}

fn write(root: &Path, path: &str, file: &File) {
    let place = root.join(path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    match file {
        File::Text(text) => fs::write(place, text).unwrap(),
        File::Link { .. } => std::os::unix::fs::symlink("/nowhere", place).unwrap(),
        File::Folder { .. } => fs::create_dir(place).unwrap(),
    }
}

#[test]
fn verify_gives_the_verdict_and_the_findings_of_each_vault() {
    let Vaults { now, bases, cases } = load("verify/cases.json");
    assert_eq!(cases.len(), 109);
    for case in cases {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path(), &bases[&case.base], &case.changes);
        let vault = Vault::open(folder.path()).unwrap();
        let report = verify(&vault, &Request::whole(now.parse().unwrap())).unwrap();
        // Another test compares the findings of the annex.
        let portable =
            report.findings.iter().filter(|found| found.code.as_str() != "derived-differs");
        let found = portable.map(|finding| Finding {
            code: finding.code.as_str().to_owned(),
            of: finding.id.as_ref().map_or(finding.path.clone(), ToString::to_string),
            version: finding.version,
            checkpoint: finding.checkpoint,
        });
        assert_eq!(found.collect::<BTreeSet<_>>(), case.findings, "{}", case.name);
        assert_eq!(report.verdict.as_str(), case.verdict, "{}", case.name);
    }
}
