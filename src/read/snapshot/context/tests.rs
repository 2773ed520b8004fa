//! Blocks keep their budget and can be parsed again, for any texts.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::fit::needs;
use super::*;
use crate::read::snapshot::Served;
use crate::read::snapshot::plan::{Cut, Found};
use crate::read::snapshot::provenance::Provenance;
use crate::record::chain::history::{Entry, EntryState, Forget, TextStorage};
use crate::text::document::{Document, hidden};
use crate::text::uri::Uri;
use crate::values::model::number::Version;

/// A document of a test.
#[derive(Clone, Debug)]
struct Made {
    body: Vec<Piece>,
    title: String,
    /// Documents that it depends on, if it is a source.
    depends_on: Option<Vec<usize>>,
    is_narrowed: bool,
}

/// A part of a body.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    /// The whole block of an earlier document, with the correct hash.
    Block(usize),
    /// The line that ends an earlier document.
    End(usize),
}

const HOSTILE: [&str; 13] = [
    "\n",
    "# H\n",
    "# H {#h}\n\nlong long long long long long long long text\n",
    "<!-- ctx:end 000000000000000000000000 -->\n",
    "<!-- ctx:begin n=1 uri=contextnest://nodes/d1@3 version=1 -->\n",
    "<!-- ctx:hashes sha256\n",
    "<!-- ctx:context selector=\"#a\" -->\n",
    "-->",
    "<!--",
    "```\n",
    "\" mark=00 -->\n",
    "\\",
    "\u{1b}[31m\u{202e}\u{2028}\r",
];

fn served(n: usize, made: &Made, before: &[Served]) -> Served {
    let mut body = String::new();
    for piece in &made.body {
        match piece {
            Piece::Text(text) => body.push_str(text),
            Piece::Block(k) => {
                if let Some(served) = before.get(*k) {
                    body.push_str(&Portion::whole(served).alone());
                }
            }
            Piece::End(k) => {
                if let Some(served) = before.get(*k) {
                    let mark = Mark::of(before.iter().map(|served| &served.entry.chain_hash));
                    body.push_str(&format!("<!-- ctx:end {mark} -->\n"));
                    body.push_str(&Portion::whole(served).to_markdown(&mark, *k));
                }
            }
        }
    }
    let source = made.depends_on.as_ref().map(|ids| {
        let uris: Vec<String> = ids.iter().map(|n| format!("contextnest://nodes/d{n}")).collect();
        format!("type: source\nsource: {{depends_on: [{}]}}\n", uris.join(", "))
    });
    let text = format!("---\n{}---\n{body}", source.unwrap_or_default());
    let document = Document::parse(&text).unwrap();
    let mut fields = document.frontmatter;
    fields.title = Some(made.title.clone());
    let id: DocumentId = format!("nodes/d{n}").parse().unwrap();
    let hash = Digest::of(text.as_bytes());
    let entry = Entry {
        version: Version(1),
        stored: TextStorage::Keyframe,
        edited_by: made.title.clone(),
        edited_at: Timestamp::MIN,
        state: if n.is_multiple_of(2) {
            EntryState::Published(Timestamp::MIN)
        } else {
            EntryState::Unpublished
        },
        note: None,
        forget: Forget::None,
        content_hash: hash,
        chain_hash: hash,
    };
    let uri = (n != 5).then(|| Uri::pinned(id.clone(), CheckpointNumber(3)));
    Served {
        provenance: Provenance::default(),
        id,
        checkpoint: CheckpointNumber(3),
        entry,
        text,
        fields,
        aliases: Vec::new(),
        visible: crate::read::snapshot::Visible::default(),
        keyframe: None,
        uri,
        body: document.parts.body,
    }
}

fn resolution(made: &[Made]) -> Resolution {
    let mut resolution = Resolution::default();
    for (n, one) in made.iter().enumerate() {
        let served = served(n, one, &resolution.documents);
        let sections = served.sections().into_iter().filter(|section| section.level == 1);
        let sections: Vec<_> = sections.collect();
        if one.is_narrowed && !sections.is_empty() {
            resolution.sections.insert(served.id.clone(), sections);
        }
        resolution.documents.push(served);
    }
    resolution
}

/// Converts the first documents to instructions.
fn instructions(resolution: &mut Resolution, first: usize) -> Vec<Instructions> {
    let first = first.min(resolution.documents.len());
    let files = resolution.documents.drain(..first).enumerate();
    files.map(|(n, served)| Instructions::new(served, n > 0)).collect()
}

fn within<'r>(budget: Option<u64>) -> Shape<'r> {
    Shape { budget, ..Shape::default() }
}

fn question() -> Question {
    Question {
        selector: "contextnest://tag/a | server:\"-->\"".to_owned(),
        class: Class::Delegated,
        backend: Some("a\n\"-->".to_owned()),
        checkpoint: CheckpointNumber(3),
        hash: Some(Digest::of(b"")),
        at: Some(Timestamp::MIN),
        may_not_read: None,
    }
}

/// Parses the words of a line by their keys, as a careful reader does.
fn words(line: &str) -> (String, BTreeMap<String, String>) {
    let rest = line.strip_prefix("<!-- ctx:").unwrap().strip_suffix(" -->\n").unwrap();
    assert!(!rest.contains(['<', '>', '\n', '\r', '\u{1b}', '\u{202e}', '\u{2028}']), "{line:?}");
    let (kind, mut rest) = rest.split_once(' ').unwrap();
    let mut found = BTreeMap::new();
    while !rest.is_empty() {
        let (key, value) = rest.split_once('=').unwrap();
        let end = match value.strip_prefix('"') {
            None => value.find(' ').unwrap_or(value.len()),
            Some(quoted) => {
                let mut escaped = false;
                let end = quoted.find(|c| {
                    let is_end = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    is_end
                });
                end.unwrap() + 2
            }
        };
        found.insert(key.to_owned(), value[..end].to_owned());
        rest = value[end..].strip_prefix(' ').unwrap_or_default();
    }
    (kind.to_owned(), found)
}

/// Parses a block: the keys of each text's first line, and the text.
type Texts = Vec<(BTreeMap<String, String>, String)>;

fn read_back(block: &str) -> (BTreeMap<String, String>, Texts, Vec<String>) {
    let mut rest = block;
    let mut line = || {
        let (line, tail) = rest.split_at(rest.find('\n').unwrap() + 1);
        rest = tail;
        line
    };
    let (kind, head) = words(line());
    assert_eq!(kind, "context");
    let parts: usize = head["parts"].parse().unwrap();
    let mut texts = Vec::new();
    while texts.len() < parts {
        let (kind, begin) = words(line());
        if kind == "left-out" {
            assert!(texts.is_empty());
            continue;
        }
        assert!(kind == "begin" || kind == "instructions");
        let end = format!("<!-- ctx:end {} -->\n", head["mark"]);
        let mut text = String::new();
        loop {
            let next = line();
            if next == end {
                break;
            }
            text.push_str(next);
        }
        texts.push((begin, text));
    }
    while rest.starts_with("<!-- ctx:left-out ") {
        rest = rest.split_once('\n').unwrap().1;
    }
    let table = rest.strip_prefix("<!-- ctx:hashes sha256\n").unwrap();
    let rows = table.strip_suffix("-->\n").unwrap().lines().map(str::to_owned).collect();
    (head, texts, rows)
}

fn made() -> impl Strategy<Value = Made> {
    let piece = prop_oneof![
        prop::sample::select(&HOSTILE).prop_map(|text| Piece::Text(text.to_owned())),
        "[a-c# \n]{0,40}".prop_map(Piece::Text),
        (0..4_usize).prop_map(Piece::Block),
        (0..4_usize).prop_map(Piece::End),
    ];
    let title = prop_oneof![
        "[a-c]{0,8}",
        prop::collection::vec(prop::sample::select(&HOSTILE), 0..3).prop_map(|all| all.concat()),
    ];
    let depends_on = prop::option::of(prop::collection::vec(0..7_usize, 0..3));
    let body = prop::collection::vec(piece, 0..5);
    (body, title, depends_on, any::<bool>()).prop_map(|(body, title, depends_on, is_narrowed)| {
        Made { body, title, depends_on, is_narrowed }
    })
}

fn budgets() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), Just(Some(0)), Just(Some(u64::MAX)), (0..3000_u64).prop_map(Some),]
}

proptest! {
    #[test]
    fn context_block_keeps_its_budget_and_can_be_parsed(
        made in prop::collection::vec(made(), 0..7),
        first in 0..3_usize,
        found in prop::collection::vec(0..7_usize, 0..5),
        budget in budgets(),
        tokenizer in prop::sample::select(Tokenizer::ALL.map(|(one, _)| one).to_vec()),
    ) {
        let mut resolution = resolution(&made);
        let instructions = instructions(&mut resolution, first);
        let hit = |n: &usize| {
            let served = resolution.documents.get(*n)?;
            Some(Found { id: served.id.clone(), cut: Cut::Whole })
        };
        let found: Vec<Found> = found.iter().filter_map(hit).collect();
        resolution.rank(&found);
        let shape = Shape { budget, tokenizer, instructions: &instructions, ..Shape::default() };
        let context = Context::new(question(), &resolution, shape);
        let block = context.to_markdown();
        let taken = tokenizer.count(&block);
        prop_assert!(taken <= context.tokens());
        prop_assert!(context.tokens() <= budget.unwrap_or(u64::MAX));
        if block.is_empty() {
            prop_assert_eq!((context.portions.len(), context.tokens()), (0, 0));
            return Ok(());
        }
        let (head, texts, rows) = read_back(&block);
        prop_assert_eq!(&head["tokens"], &context.tokens().to_string());
        prop_assert_eq!(&head["left_out"], &context.left_out.len().to_string());
        let all = context.texts();
        prop_assert_eq!(texts.len(), all.len());
        for (portion, (begin, text)) in all.iter().zip(texts) {
            let served = portion.text();
            let (shown, escaped) = hidden::shown(&served);
            let line_end = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
            prop_assert_eq!(text, shown.into_owned() + line_end);
            prop_assert_eq!(begin.get("escaped").map_or(0, |n| n.parse().unwrap()), escaped);
            let row = format!("{} {}", begin["n"], portion.served.entry.chain_hash.hex());
            prop_assert!(rows.contains(&row), "{}", row);
        }
        let documents: BTreeSet<_> = all.iter().map(|portion| &portion.served.id).collect();
        prop_assert_eq!(rows.len(), documents.len());
    }

    #[test]
    fn context_keeps_the_order_of_the_answer_and_all_dependencies(
        made in prop::collection::vec(made(), 0..7),
        budget in budgets(),
    ) {
        let resolution = resolution(&made);
        let context = Context::new(question(), &resolution, within(budget));
        let key = |p: &Portion<'_>| (p.served.id.clone(), p.section.map(|s| s.anchor.clone()));
        let all: Vec<_> = resolution.portions().iter().map(key).collect();
        let taken: Vec<_> = context.portions.iter().map(key).collect();
        let out: Vec<_> = context.left_out.iter().map(|out| key(&out.portion)).collect();
        for part in [&taken, &out] {
            let mut rest = all.iter();
            prop_assert!(part.iter().all(|one| rest.any(|other| other == one)), "a subsequence");
        }
        prop_assert_eq!(taken.len() + out.len(), all.len());
        let missing: BTreeSet<&DocumentId> = out.iter().map(|(id, _)| id).collect();
        for portion in &context.portions {
            prop_assert!(needs(portion).iter().all(|id| !missing.contains(id)));
        }
        for out in &context.left_out {
            match &out.why {
                Reason::Budget { left } => prop_assert!(out.tokens > *left),
                Reason::Dependency(id) => prop_assert!(missing.contains(id)),
                Reason::Duplicate(_) => prop_assert!(false, "no search found it"),
            }
        }
        if budget.is_none_or(|budget| budget == u64::MAX) {
            prop_assert!(context.left_out.is_empty());
        }
    }
}

fn plain(body: &str) -> Made {
    let body = vec![Piece::Text(body.to_owned())];
    Made { body, title: "T".to_owned(), depends_on: None, is_narrowed: false }
}

fn source(body: &str, depends_on: &[usize]) -> Made {
    Made { depends_on: Some(depends_on.to_vec()), ..plain(body) }
}

/// Returns the ids that are included, and those that are not, with a letter for the reason.
fn shown_text(resolution: &Resolution, budget: u64) -> String {
    let context = Context::new(question(), resolution, within(Some(budget)));
    let taken = context.portions.iter().map(|p| p.served.id.as_str()[6..].to_owned());
    let out = context
        .left_out
        .iter()
        .map(|out| format!("{}:{}", &out.why.as_str()[..1], &out.portion.served.id.as_str()[6..]));
    taken.chain(out).collect::<Vec<_>>().join(" ")
}

/// Returns the budget, of three digits, that exactly these documents fit into.
fn exact(resolution: &Resolution, fitting: &[usize]) -> u64 {
    let context = Context::new(question(), resolution, within(None));
    let head = Context::new(question(), resolution, within(Some(999))).head_tokens();
    let all = resolution.portions();
    head + fitting.iter().map(|n| context.tokens_of(&[all[*n]])).sum::<u64>()
}

#[test]
fn context_includes_a_smaller_text_after_a_larger_one_does_not_fit() {
    let long = "long ".repeat(200);
    let resolution = resolution(&[plain("a\n"), plain(&long), plain("c\n")]);
    assert_eq!(shown_text(&resolution, exact(&resolution, &[0, 2])), "d0 d2 b:d1");
    assert_eq!(shown_text(&resolution, exact(&resolution, &[0, 2]) - 1), "d0 b:d1 b:d2");
    assert_eq!(shown_text(&resolution, 9999), "d0 d1 d2");
    assert_eq!(shown_text(&resolution, 0), "b:d0 b:d1 b:d2");
}

#[test]
fn context_leaves_out_a_source_without_its_dependencies() {
    let long = "long ".repeat(200);
    let chain = resolution(&[source(&long, &[]), source("b\n", &[0]), source("c\n", &[1, 9])]);
    assert_eq!(shown_text(&chain, exact(&chain, &[1, 2])), "b:d0 d:d1 d:d2");
    let cycle = resolution(&[source("a\n", &[1]), source("b\n", &[2]), source(&long, &[0])]);
    assert_eq!(shown_text(&cycle, exact(&cycle, &[0, 1])), "d:d0 d:d1 b:d2");
    let itself = resolution(&[source("a\n", &[0]), plain(&long)]);
    assert_eq!(shown_text(&itself, exact(&itself, &[0])), "d0 b:d1");
}
