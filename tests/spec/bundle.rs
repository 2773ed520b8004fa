//! Bundles of evidence and the verdict on each item (`spec/evidence.md`, sections 3 and 4).

use std::collections::BTreeMap;

use contextnest::prove::evidence::bundle::verify::{Item, Verdict, verify};
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    files: BTreeMap<String, String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    changes: BTreeMap<String, Option<String>>,
    /// The bytes of the container, in place of the files.
    container: Option<Vec<Part>>,
    expect_head: Option<String>,
    #[serde(default)]
    refused: bool,
    proved: Option<usize>,
    /// Kind, name, verdict, and true if a proof is missing.
    others: Option<Vec<(String, String, String, bool)>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Zeros(usize),
    Hex(String),
}

impl Part {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Zeros(count) => vec![0; *count],
            Self::Hex(digits) => {
                let pairs = digits.as_bytes().chunks(2);
                let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
                pairs.map(|pair| byte(pair).unwrap()).collect()
            }
        }
    }
}

/// Returns a container of these files, made independently of the library.
fn packed(files: &BTreeMap<&str, &str>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, text) in files {
        let mut block = [0; 512];
        let mut put = |at: usize, text: &str| {
            block[at..at + text.len()].copy_from_slice(text.as_bytes());
        };
        put(0, name);
        put(100, "0000644\x000000000\x000000000\x00");
        put(124, &format!("{:011o}\x0000000000000\x00        0", text.len()));
        put(257, "ustar\x0000");
        put(329, "0000000\x000000000\x00");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend(block);
        out.extend(text.as_bytes());
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

#[test]
fn every_bundle_has_the_verdicts_of_its_vector() {
    verdicts("bundle/cases.json");
}

#[test]
fn every_bundle_of_a_governed_vault_has_the_verdicts_of_its_vector() {
    verdicts("bundle/governed.json");
}

#[test]
fn every_bundle_with_approvals_has_the_verdicts_of_its_vector() {
    verdicts("bundle/approvals.json");
}

#[test]
fn every_bundle_with_parts_of_texts_has_the_verdicts_of_its_vector() {
    verdicts("bundle/parts.json");
}

#[test]
fn every_bundle_of_a_document_has_the_verdicts_of_its_vector() {
    verdicts("bundle/document.json");
}

#[test]
fn every_bundle_with_cut_texts_has_the_verdicts_of_its_vector() {
    verdicts("bundle/cuts.json");
}

#[test]
fn every_bundle_without_first_versions_has_the_verdicts_of_its_vector() {
    verdicts("bundle/history.json");
}

#[test]
fn every_bundle_with_staged_results_has_the_verdicts_of_its_vector() {
    verdicts("bundle/staged.json");
}

fn verdicts(vectors: &str) {
    let Cases { files, cases } = load(vectors);
    for case in cases {
        let bytes = match &case.container {
            Some(parts) => parts.iter().flat_map(Part::bytes).collect(),
            None => {
                let mut files: BTreeMap<&str, &str> =
                    files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
                for (name, text) in &case.changes {
                    match text {
                        Some(text) => files.insert(name, text),
                        None => files.remove(name.as_str()),
                    };
                }
                packed(&files)
            }
        };
        let expected = case.expect_head.as_ref().map(|hash| hash.parse().unwrap());
        let Ok(verified) = verify(&bytes, expected.as_ref()) else {
            assert!(case.refused, "{}: refused", case.name);
            continue;
        };
        assert!(!case.refused, "{}: not refused", case.name);
        let (proved, others): (Vec<_>, Vec<_>) =
            verified.items.into_iter().partition(|item| item.verdict == Verdict::Proved);
        let other = |item: Item| {
            let is_missing = item.verdict == Verdict::NotProved;
            (item.kind.as_str().to_owned(), item.name, item.verdict.as_str().to_owned(), is_missing)
        };
        let others: Vec<_> = others.into_iter().map(other).collect();
        assert_eq!(Some(others), case.others, "{}", case.name);
        assert_eq!(Some(proved.len()), case.proved, "{}", case.name);
    }
}
