//! Blame: the version that each line of a text comes from (`spec/evidence.md`).

use contextnest::model::number::Version;
use contextnest::prove::evidence::attribution::{Attribution, Span};
use contextnest::record::chain::diff::change::{Changes, Work};
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    versions: Vec<Stored>,
    text: String,
    lines: Vec<Version>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stored {
    Text(String),
    Diff(String),
}

#[test]
fn each_line_comes_from_the_version_that_added_it() {
    let cases: Vec<Case> = load("blame/cases.json");
    assert!(!cases.is_empty());
    for case in cases {
        let (mut attribution, mut work) = (Attribution::default(), Work::default());
        let mut before = String::new();
        for (version, stored) in Version::sequence().zip(case.versions) {
            let (text, changes) = match stored {
                Stored::Text(text) => {
                    let changes = Changes::between(&before, &text, &mut work);
                    (text, changes)
                }
                Stored::Diff(diff) => Changes::of_patch(&before, &diff).unwrap(),
            };
            attribution.follow(&changes, version);
            before = text;
        }
        let versions = |span: &Span| vec![span.version; span.end - span.start];
        let found: Vec<Version> = attribution.spans().iter().flat_map(versions).collect();
        assert_eq!((before, found), (case.text, case.lines), "{}", case.name);
    }
}
