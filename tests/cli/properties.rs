//! Properties of every history: the same question has the same answer, and the past equals a vault
//! that was written at that time.
//!
//! Histories are small and drawn by a seed: documents are published, edited, retired and moved, and
//! drafts and unpublished edits are added.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::harness::Place;

const HISTORIES: u64 = 3;
const EVENTS: usize = 7;
const TAGS: [&str; 3] = ["red", "green", "blue"];
const TYPES: [&str; 3] = ["document", "glossary", "reference"];
pub(crate) const SELECTORS: [&str; 9] = [
    "status:published",
    "#red",
    "#red + #green - #blue",
    "#red - (#green | type:glossary)",
    "type:reference | #blue type:document",
    "contextnest://nodes/x/ + #green",
    "contextnest://nodes/x/d1 | contextnest://nodes/y/d2",
    "contextnest://nodes/x/d3#part",
    "pack:warm - type:glossary",
];

/// A random generator (splitmix64).
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    fn document(&mut self) -> String {
        let tags: Vec<&str> = TAGS.into_iter().filter(|_| self.below(2) == 0).collect();
        let (kind, n) = (TYPES[self.below(3)], self.below(1000));
        format!(
            "---\ntitle: Number {n}\ntype: {kind}\ntags: [{}]\n---\n# Number {n}\n\nWords {n}.\n\n## Part\n\nMore {n}.\n",
            tags.join(", ")
        )
    }

    fn of<'s>(&mut self, from: &'s [String]) -> Option<&'s String> {
        (!from.is_empty()).then(|| &from[self.below(from.len())])
    }
}

/// Returns a vault after a drawn history, and the number of its head.
fn history(seed: u64) -> (Place, u64) {
    history_in(Place::vault(), seed)
}

/// Draws a history in an existing vault.
pub(crate) fn history_in(place: Place, seed: u64) -> (Place, u64) {
    let mut draw = Draw(seed);
    place.write("packs/warm.yml", "id: warm\nlabel: Warm\nquery: '#red | #green'\n");
    let mut published: Vec<String> = Vec::new();
    for folder in ["x", "y"] {
        for n in 0..4 {
            let id = format!("nodes/{folder}/d{n}");
            place.write(&format!("{id}.md"), draw.document());
            published.push(id);
        }
    }
    place.ctx("publish --all").ok();
    for event in 0..EVENTS {
        match draw.below(5) {
            0 | 1 => {
                for _ in 0..2 {
                    let id = draw.of(&published).unwrap();
                    let (path, n) = (format!("{id}.md"), draw.below(1000));
                    place.write(&path, place.read(&path) + &format!("\nEdited {event} {n}.\n"));
                }
                place.ctx("publish --changed").ok();
            }
            2 => {
                let id = format!("nodes/x/new{event}");
                place.write(&format!("{id}.md"), draw.document());
                place.ctx(&format!("publish {id}")).ok();
                published.push(id);
            }
            3 if published.len() > 3 => {
                let id = published.remove(draw.below(published.len()));
                place.ctx(&format!("retire {id}")).ok();
            }
            _ => {
                let at = draw.below(published.len());
                let to = format!("nodes/y/moved{event}");
                place.ctx(&format!("mv {} {to}", published[at])).ok();
                published[at] = to;
            }
        }
    }
    place.write("nodes/x/draft.md", draw.document());
    let id = draw.of(&published).unwrap();
    place.write(&format!("{id}.md"), place.read(&format!("{id}.md")) + "\nNot published.\n");
    let list = place.ctx("checkpoint list --json").ok().json("ctx.checkpoint.list");
    let numbers = list["checkpoints"].as_array().unwrap().iter();
    (place, numbers.map(|c| c["checkpoint"].as_u64().unwrap()).max().unwrap())
}

/// Returns each id that a selector selects, with its text or the texts of its sections. A lone URI
/// of an unpublished document selects nothing.
fn answer(place: &Place, args: &[&str]) -> BTreeMap<String, String> {
    let args = [&["resolve", "--json", "--bodies"], args].concat();
    let run = place.args(&args).run();
    if run.exit == 1 && run.stderr.contains("unknown-id") {
        return BTreeMap::new();
    }
    let json = run.ok().json("ctx.resolve");
    let text = |document: &Value| match document["sections"].as_array() {
        Some(sections) => sections.iter().map(|s| s["body"].as_str().unwrap()).collect(),
        None => document["body"].as_str().unwrap().to_owned(),
    };
    let documents = json["documents"].as_array().unwrap().iter();
    documents.map(|d| (d["id"].as_str().unwrap().to_owned(), text(d))).collect()
}

#[test]
fn the_same_command_gives_the_same_bytes_again() {
    let mut commands: Vec<Vec<&str>> =
        SELECTORS.iter().map(|selector| vec!["resolve", selector, "--json", "--bodies"]).collect();
    commands.extend([
        vec!["search", "number words", "--json", "--explain"],
        vec!["search", "\"more\" part", "--json"],
        vec!["list", "--json"],
        vec!["checkpoint", "list", "--json"],
        vec!["verify", "--json"],
        vec!["graph", "--format", "json"],
        vec!["resolve", "--explain", SELECTORS[2], "--json"],
    ]);
    for seed in 0..HISTORIES {
        let (place, _) = history(seed);
        for command in &commands {
            // Without a home no index exists; the second answer may make one, for the third. The
            // answer of `verify` contains the trusted head.
            let bare = if command[0] == "verify" { "PATH" } else { "HOME" };
            let audit = place.home().join("audit");
            let first = place.args(command).without(bare);
            let first = first.var("CTX_AUDIT_DIR", audit.to_str().unwrap()).run().whole();
            for _ in 0..2 {
                assert_eq!(place.args(command).run().whole(), first, "seed {seed}: {command:?}");
            }
        }
    }
}

#[test]
fn a_selector_at_a_checkpoint_gives_what_a_vault_of_that_checkpoint_gives() {
    let mut selected = 0;
    for seed in 0..HISTORIES {
        let (place, head) = history(seed);
        for at in (1..=head).step_by(3) {
            let then = Place::new();
            let folder = then.root().display().to_string();
            place.args(&["checkout", &at.to_string(), &folder]).run().ok();
            then.ctx("publish --all").ok();
            for selector in SELECTORS {
                let past = answer(&place, &[selector, "--at", &at.to_string()]);
                selected += past.len();
                assert_eq!(past, answer(&then, &[selector]), "seed {seed} at {at}: {selector}");
            }
        }
    }
    assert!(selected > 100, "the histories are too poor: {selected}");
}
