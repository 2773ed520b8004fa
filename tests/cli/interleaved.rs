//! Readers and writers in any order: every returned text has one access with its hash, and can be
//! reproduced while the histories are whole.

use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::harness::{Output, Place, files_in};

/// The next action.
#[derive(Clone, Debug)]
enum Step {
    /// Publishes a document with another body, or a new one.
    Publish(usize),
    /// Retires a document, if it is published.
    Retire(usize),
    /// Reads a document, or a section of it.
    Read(usize, bool),
    /// Shows one of its versions.
    Show(usize),
    /// Resolves all documents with a tag, as a set or by a search, at the head or the
    /// first checkpoint.
    Resolve { is_search: bool, is_past: bool },
    /// Lists names only.
    List,
}

fn step() -> impl Strategy<Value = Step> {
    let document = 0..3_usize;
    prop_oneof![
        3 => document.clone().prop_map(Step::Publish),
        1 => document.clone().prop_map(Step::Retire),
        3 => (document.clone(), any::<bool>()).prop_map(|(n, part)| Step::Read(n, part)),
        1 => document.prop_map(Step::Show),
        3 => any::<[bool; 2]>()
            .prop_map(|[is_search, is_past]| Step::Resolve { is_search, is_past }),
        1 => Just(Step::List),
    ]
}

fn sha256(text: &str) -> String {
    let digest: String = Sha256::digest(text).iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{digest}")
}

/// Returns the lines of all access logs, outside of the vault and in it.
fn lines(place: &Place) -> Vec<Value> {
    let outside = place.home().join(".local/state/contextnest/audit");
    let inside = place.path(".context/audit/access");
    let files = [outside, inside].into_iter().filter(|dir| dir.is_dir());
    let logs = files.flat_map(|dir| files_in(&dir)).filter(|(name, _)| name.ends_with(".jsonl"));
    let texts = logs.map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect::<String>();
    texts.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A vault, the texts that were returned with the hashes that their accesses must have, and the
/// number of commands that listed names only.
struct Run {
    place: Place,
    handed_out: Vec<String>,
    listings: usize,
}

impl Run {
    fn read(&mut self, line: &str) -> Option<Output> {
        let output = self.place.typed(&format!("{line} --session s")).here();
        assert!(output.exit <= 1, "{}", output.whole());
        (output.exit == 0).then_some(output)
    }

    fn step(&mut self, step: &Step, round: usize) {
        match step {
            Step::Publish(n) => {
                let file = format!("nodes/d{n}.md");
                let body = format!("# D{n}\n\nWord {round}.\n\n## Part\n\nMore {}.\n", round * 7);
                let text = match self.place.has(&file) {
                    false => format!("---\ntags: [all]\n---\n{body}"),
                    true => {
                        let live =
                            self.place.read(&file).replace("status: draft", "status: published");
                        format!("{}{body}", &live[..live.find("# D").unwrap()])
                    }
                };
                self.place.write(&file, text);
                let output = self.place.typed(&format!("publish nodes/d{n}")).here();
                assert_eq!(output.exit, 0, "{}", output.whole());
            }
            Step::Retire(n) => {
                let _ = self.place.typed(&format!("retire nodes/d{n}")).here();
            }
            Step::Read(n, part) => {
                let part = if *part { "#part" } else { "" };
                if let Some(output) = self.read(&format!("read nodes/d{n}{part}")) {
                    self.handed_out.push(sha256(&output.stdout));
                }
            }
            Step::Show(n) => {
                if let Some(output) = self.read(&format!("show nodes/d{n} 1")) {
                    self.handed_out.push(sha256(&output.stdout));
                }
            }
            Step::Resolve { is_search, is_past } => {
                let query = if *is_search { "contextnest://search/word" } else { "'#all'" };
                // A search answers for the last checkpoint only.
                let at = if *is_past && !is_search { " --at 1" } else { "" };
                let Some(output) = self.read(&format!("resolve {query} --bodies --json{at}"))
                else {
                    return;
                };
                let answer = output.json("ctx.resolve");
                let documents = answer["documents"].as_array().unwrap();
                // A search returns the sections that it found.
                let parts = documents.iter().flat_map(|document| {
                    let sections = document["sections"].as_array().into_iter().flatten();
                    sections.chain([document]).filter_map(|part| part["body"].as_str())
                });
                self.handed_out.extend(parts.map(sha256));
                self.listings += usize::from(documents.is_empty());
            }
            Step::List => self.listings += usize::from(self.read("list").is_some()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_text_that_is_handed_out_has_one_access_and_is_made_again(
        steps in prop::collection::vec(step(), 4..20),
        in_vault in any::<bool>(),
    ) {
        let place = Place::vault();
        if in_vault {
            place.edit(".context/config.yaml", "audit:\n", "audit:\n  accesses: vault\n");
        }
        let mut run = Run { place, handed_out: Vec::new(), listings: 0 };
        run.step(&Step::Publish(0), 0);
        for (round, step) in (1..).zip(&steps) {
            run.step(step, round);
        }
        let lines = lines(&run.place);
        let of_session = lines.iter().filter(|line| line["labels"]["session"] == "s");
        let texts = of_session.clone().flat_map(|line| line["documents"].as_array().into_iter().flatten());
        let mut recorded: Vec<&str> = texts.map(|text| text["sha256"].as_str().unwrap()).collect();
        let listings = of_session.filter(|line| line["event"] == "listing").count();
        recorded.sort_unstable();
        run.handed_out.sort_unstable();
        prop_assert_eq!(recorded, run.handed_out.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(listings, run.listings);
        if !run.handed_out.is_empty() {
            let replayed = run.place.typed("replay --session s --json").here();
            let report = replayed.json("ctx.replay");
            prop_assert_eq!(&report["same"], run.handed_out.len(), "{}", replayed.whole());
        }
        let verified = run.place.typed("trace verify").here();
        prop_assert_eq!(verified.exit, 0, "{}", verified.whole());
        let verified = run.place.typed("verify").here();
        prop_assert_eq!(verified.exit, 0, "{}", verified.whole());
    }
}
