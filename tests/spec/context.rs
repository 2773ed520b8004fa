//! The block of texts that an agent gets (`spec/resolve.md`, section 3).

use std::collections::BTreeMap;

use contextnest::model::number::CheckpointNumber;
use contextnest::read::snapshot::context::{Context, Question, Shape};
use contextnest::read::snapshot::instructions::Instructions;
use contextnest::read::snapshot::{CheckpointSource, Need, QueryPlan, Snapshot};
use contextnest::text::selector;
use serde::Deserialize;

use crate::vectors::load;
use crate::verify::vault_in;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// A base of `verify/cases.json`.
    vault: String,
    selector: String,
    at: Option<CheckpointNumber>,
    budget: Option<u64>,
    /// Name of the tokenizer; `bytes/4` by default.
    tokenizer: Option<String>,
    /// True if the instructions precede the texts.
    #[serde(default)]
    instructions: bool,
    block: String,
}

#[test]
fn a_block_names_the_source_of_each_text() {
    let cases: Vec<Case> = load("context/cases.json");
    for case in cases {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault_in(folder.path(), &case.vault, &BTreeMap::new());
        let source = CheckpointSource::open(&vault, Need::Fields, &mut |_, _| ()).unwrap();
        let snapshot = Snapshot::of(&vault, &source, case.at).unwrap();
        let selector = selector::parse(&case.selector).unwrap();
        let plan = QueryPlan::new(&selector, &snapshot, &mut |q| Err(q.to_owned())).unwrap();
        let resolution = snapshot.resolve(&plan).unwrap();
        let question = Question::new(&snapshot, selector.to_string(), plan.class(), None);
        let instructions = match case.instructions {
            true => Instructions::of(&snapshot, &plan).0,
            false => Vec::new(),
        };
        let tokenizer = case.tokenizer.map(|name| name.parse().unwrap()).unwrap_or_default();
        let shape = Shape {
            budget: case.budget,
            tokenizer,
            instructions: &instructions,
            ..Shape::default()
        };
        let block = Context::new(question.unwrap(), &resolution, shape).to_markdown();
        assert_eq!(block, case.block, "{}", case.name);
    }
}
