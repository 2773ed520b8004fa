//! Logs of accesses, and what is wrong with them (`spec/audit.md`, section 5).

use std::collections::BTreeMap;
use std::fs;

use contextnest::audit::Logs;
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
