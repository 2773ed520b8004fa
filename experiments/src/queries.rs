//! The queries of the determinism experiment, drawn from the corpus by class.

use crate::corpus::{Document, Draw};

/// One query, as arguments of the binary.
pub(crate) struct Query {
    pub(crate) class: &'static str,
    pub(crate) args: Vec<String>,
}

/// Parts of selectors.
struct Facts<'d> {
    id: &'d str,
    kind: &'d str,
    folder: &'d str,
    service: &'d str,
    topics: Vec<&'d str>,
}

impl<'d> Facts<'d> {
    fn of(document: &'d Document) -> Self {
        let field = |name: &str| document.text.lines().find_map(|line| line.strip_prefix(name));
        let tags = document.text.lines().filter_map(|line| line.strip_prefix("  - '"));
        let mut tags = tags.map(|line| line.trim_end_matches('\''));
        Self {
            id: &document.id,
            kind: field("type: ").unwrap_or_default(),
            folder: document.id.rsplit_once('/').map_or("", |(folder, _)| folder),
            service: tags.next().unwrap_or_default(),
            topics: tags.collect(),
        }
    }
}

/// Returns selectors with every kind of term and operator.
pub(crate) fn selectors(corpus: &[Document], count: usize, seed: u64) -> Vec<Query> {
    let facts: Vec<Facts<'_>> = corpus.iter().map(Facts::of).collect();
    let mut draw = Draw::new(seed, 1, 0);
    let mut made = Vec::with_capacity(count);
    for n in 0..count {
        let (a, b) = (&facts[draw.below(facts.len())], &facts[draw.below(facts.len())]);
        let form = draw.below(3);
        let (id, folder, kind, s, t) = (a.id, a.folder, a.kind, a.service, a.topics[0]);
        let (t1, t2, other, u) = (a.topics[1], a.topics[2], b.service, b.topics[0]);
        let (class, selector) = match (n % 10, form) {
            (0 | 1, _) => ("tags: topic and service", format!("{t} {t1} {s}")),
            (2, 0) => ("difference", format!("{s} - {t}")),
            (2, 1) => ("difference", format!("({t} - {t2}) + {s}")),
            (2, _) => ("difference", format!("{t} + ({s} | {other}) - type:reference")),
            (3 | 4, 0) => ("union, parentheses", format!("({t} | {u}) + ({s} | {other})")),
            (3 | 4, 1) => ("union, parentheses", format!("{t1} {s} | {u} {other} - {t2}")),
            (3 | 4, _) => ("union, parentheses", format!("({s} - ({t} | {u})) | ({other} {u})")),
            (5, 0) => ("type, status", format!("type:{kind} + {s} | type:source")),
            (5, 1) => ("type, status", format!("status:published - type:{kind} + {s}")),
            (5, _) => ("type, status", format!("status:published + {s} + {t1}")),
            (6, 0) => ("folder", format!("contextnest://{folder}/ + ({s} | {other})")),
            (6, 1) => ("folder", format!("{s} - contextnest://{folder}/")),
            (6, _) => ("folder", format!("contextnest://nodes/ {t1} {s}")),
            (7, 0) => ("URI", format!("contextnest://{id}")),
            (7, 1) => ("URI", format!("contextnest://tag/{} + {t}", &s[1..])),
            (7, _) => ("URI", format!("contextnest://{id} | contextnest://{}", b.id)),
            (8, 0) => ("URI with section or checkpoint", format!("contextnest://{id}#ownership")),
            (8, 1) => ("URI with section or checkpoint", format!("contextnest://{id}@2")),
            (8, _) => ("URI with section or checkpoint", format!("contextnest://{id}@1 + {t}")),
            (_, 0) => ("whole topics", format!("{t1} - {s}")),
            (_, 1) => ("whole topics", format!("{t1} + {t2} - {u}")),
            (_, _) => ("whole topics", format!("contextnest://{folder}/ - {s} - {other}")),
        };
        let args = ["resolve", &selector, "--json", "--bodies"].map(str::to_owned).to_vec();
        made.push(Query { class, args });
    }
    made
}

/// Returns searches of one to five words, and of phrases, from the texts.
pub(crate) fn searches(corpus: &[Document], count: usize, seed: u64) -> Vec<Query> {
    const CLASSES: [&str; 5] = ["one word", "two words", "three words", "five words", "phrase"];
    let mut draw = Draw::new(seed, 2, 0);
    let mut made = Vec::with_capacity(count);
    for n in 0..count {
        let query = match n % 5 {
            4 => phrase(corpus, &mut draw),
            class => {
                let many = [1, 2, 3, 5][class];
                (0..many).map(|_| word(corpus, &mut draw)).collect::<Vec<_>>().join(" ")
            }
        };
        let args = ["search", &query, "--json"].map(str::to_owned).to_vec();
        made.push(Query { class: CLASSES[n % 5], args });
    }
    made
}

fn word<'d>(corpus: &'d [Document], draw: &mut Draw) -> &'d str {
    let document = &corpus[draw.below(corpus.len())];
    let words = document.text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| word.len() > 3).collect();
    words[draw.below(words.len())]
}

/// Returns three consecutive words, half of the time with a word from elsewhere.
fn phrase(corpus: &[Document], draw: &mut Draw) -> String {
    let document = &corpus[draw.below(corpus.len())];
    let (_, body) = document.text.split_once("\n---\n").unwrap_or(("", &document.text));
    let is_plain = |word: &&str| word.chars().all(char::is_alphanumeric);
    let runs: Vec<[&str; 3]> = body
        .lines()
        .flat_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.windows(3).map(|w| [w[0], w[1], w[2]]).collect::<Vec<_>>()
        })
        .filter(|run| run.iter().all(is_plain))
        .collect();
    let quoted = format!("\"{}\"", runs[draw.below(runs.len())].join(" "));
    if draw.below(2) == 0 { quoted } else { format!("{quoted} {}", word(corpus, draw)) }
}
