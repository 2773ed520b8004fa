//! A synthetic edit history of ten years: the times and the texts of all documents.
//!
//! Every distribution was published for such a quantity; the parameters are ours.
//!
//! - Lines of a new document: log-normal, as of file sizes (Downey 2001); median 50, sigma 0.9.
//! - Edits of a document: log-normal, as of Wikipedia's articles (Wilkinson and Huberman 2007);
//!   median 10, sigma 1.2, at instants that are uniform between its making and the end.
//! - Lines of an edit: generalized Pareto, as of commits (Kolassa, Riehle and Salim 2013); shape 0.7,
//!   scale 2, hence a median of two lines. One edit in fifty rewrites half of the document.
//! - Place of an edit: seven in ten begin near the one before, at a geometric distance of five
//!   lines in the mean; the others anywhere. Every fourth edit also changes another line.
//! - Words: those of the benches' corpus by their rank there, with Zipf's law (exponent 1), each drawn by
//!   itself. So texts compress as words do; sentences do not recur as they do in prose.

use std::collections::HashMap;

use crate::corpus::{self, Draw};

/// 2016-01-01, and ten years.
const BEGIN: i64 = 1_451_606_400_000;
const YEARS: i64 = 10;
const YEAR: f64 = 365.25 * 24.0 * 3600.0 * 1000.0;
/// Documents are made in the first years only, so that the last of them have a history too.
const YEARS_OF_MAKING: f64 = 8.0;
/// Documents of a folder.
const FOLDER: usize = 20;

/// The amount of text in the ten years.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) documents: usize,
    /// The median of the number of edits of a document.
    pub(super) edits: f64,
}

/// A document as an author left it.
pub(super) struct Version {
    pub(super) document: usize,
    /// From 1 on.
    pub(super) number: u64,
    /// In milliseconds since 1970; no two versions have the same time.
    pub(super) at: i64,
    pub(super) body: String,
}

impl Version {
    /// Returns the id of its document.
    pub(super) fn id(&self) -> String {
        format!("nodes/topic-{:02}/document-{:03}", self.document / FOLDER, self.document)
    }

    /// Returns the file as its author writes it.
    pub(super) fn text(&self) -> String {
        let topic = self.document / FOLDER;
        format!(
            "---\ntitle: Document {}\ntags: [topic-{topic:02}]\n---\n{}",
            self.document, self.body
        )
    }
}

/// Returns every version of every document, in the order of time.
pub(super) fn history(size: Size, seed: u64) -> Vec<Version> {
    let words = Words::new();
    let mut all: Vec<Version> =
        (0..size.documents).flat_map(|n| of_document(n, size, seed, &words)).collect();
    all.sort_by_key(|version| (version.at, version.document, version.number));
    let mut last = i64::MIN;
    for version in &mut all {
        version.at = version.at.max(last + 1);
        last = version.at;
    }
    all
}

fn of_document(document: usize, size: Size, seed: u64, words: &Words) -> Vec<Version> {
    let mut draw = Draw::new(seed, document, 0);
    let made = unit(&mut draw) * YEARS_OF_MAKING * YEAR;
    let rest = YEARS as f64 * YEAR - made;
    let lines = whole(log_normal(&mut draw, 50.0, 0.9)).clamp(5, 1_000);
    let edits = whole(log_normal(&mut draw, size.edits, 1.2)).min(400);
    let mut times: Vec<f64> = (0..edits).map(|_| made + unit(&mut draw) * rest).collect();
    times.push(made);
    times.sort_by(f64::total_cmp);
    let mut text = Text::new(lines, words, &mut draw);
    let mut versions: Vec<Version> = Vec::new();
    for (time, number) in times.into_iter().zip(1..) {
        let mut body = text.body();
        // Two changes of a word may cancel each other, and an unchanged text is not published.
        while versions.last().is_some_and(|last| last.body == body) {
            text.edit(words, &mut draw);
            body = text.body();
        }
        #[allow(clippy::cast_possible_truncation, reason = "some milliseconds of ten years")]
        let at = BEGIN + time as i64;
        versions.push(Version { document, number, at, body });
    }
    versions
}

/// A text under an editor.
struct Text {
    lines: Vec<String>,
    /// The position of the last edit.
    place: usize,
}

impl Text {
    fn new(lines: usize, words: &Words, draw: &mut Draw) -> Self {
        Self { lines: (0..lines).map(|_| words.line(draw)).collect(), place: 0 }
    }

    fn body(&self) -> String {
        self.lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    fn edit(&mut self, words: &Words, draw: &mut Draw) {
        let length = self.lines.len();
        if draw.below(50) == 0 {
            let half = length.div_ceil(2);
            let from = draw.below(length - half + 1);
            return self.replace(from, half, half, words, draw);
        }
        let near = draw.below(10) < 7;
        let distance = whole(-5.0 * (1.0 - unit(draw)).ln());
        let before = draw.below(2) == 0;
        self.place = match (near, before) {
            (true, true) => self.place.saturating_sub(distance),
            (true, false) => self.place + distance,
            (false, _) => draw.below(length),
        };
        self.place = self.place.min(length - 1);
        let touched = whole(generalized_pareto(draw, 0.7, 2.0).ceil()).clamp(1, length);
        let there = touched.min(length - self.place);
        match draw.below(100) {
            0..55 => (self.place..self.place + there).for_each(|n| self.revise(n, words, draw)),
            55..70 => self.replace(self.place, there, there, words, draw),
            70..90 => self.replace(self.place, 0, touched, words, draw),
            // A text does not shrink to nothing.
            _ if length > 2 * there + 5 => self.replace(self.place, there, 0, words, draw),
            _ => self.revise(self.place, words, draw),
        }
        if draw.below(4) == 0 {
            let elsewhere = draw.below(self.lines.len());
            self.revise(elsewhere, words, draw);
        }
    }

    /// Replaces lines by new ones.
    fn replace(&mut self, at: usize, old: usize, new: usize, words: &Words, draw: &mut Draw) {
        let new: Vec<String> = (0..new).map(|_| words.line(draw)).collect();
        self.lines.splice(at..at + old, new);
    }

    /// Changes one to three words of a line.
    fn revise(&mut self, at: usize, words: &Words, draw: &mut Draw) {
        let mut line: Vec<&str> = self.lines[at].split(' ').collect();
        for _ in 0..=draw.below(3) {
            let word = draw.below(line.len());
            line[word] = words.other(line[word], draw);
        }
        let line = line.join(" ");
        self.lines[at] = line;
    }
}

/// The words of the corpus, the frequent ones first.
struct Words {
    words: Vec<String>,
    /// The cumulative weights of the words.
    sums: Vec<f64>,
}

impl Words {
    fn new() -> Self {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for document in corpus::documents(106, 42) {
            let is_letter = |c: char| c.is_ascii_alphabetic();
            for word in document.text.split(|c| !is_letter(c)).filter(|word| word.len() > 1) {
                *counts.entry(word.to_ascii_lowercase()).or_default() += 1;
            }
        }
        let mut words: Vec<(usize, String)> = counts.into_iter().map(|(w, n)| (n, w)).collect();
        words.sort_by(|(n, a), (m, b)| m.cmp(n).then_with(|| a.cmp(b)));
        let weigh = |sum: &mut f64, rank: usize| {
            *sum += 1.0 / (rank + 1) as f64;
            Some(*sum)
        };
        let sums = (0..words.len()).scan(0.0, weigh).collect();
        Self { words: words.into_iter().map(|(_, word)| word).collect(), sums }
    }

    fn word(&self, draw: &mut Draw) -> &str {
        let at = unit(draw) * self.sums.last().copied().unwrap_or_default();
        let rank = self.sums.partition_point(|sum| *sum <= at);
        &self.words[rank.min(self.words.len() - 1)]
    }

    /// Returns another word.
    fn other(&self, than: &str, draw: &mut Draw) -> &str {
        loop {
            let word = self.word(draw);
            if word != than {
                return word;
            }
        }
    }

    /// Returns a sentence of 4 to 24 words; one line in ten is a heading.
    fn line(&self, draw: &mut Draw) -> String {
        let is_heading = draw.below(10) == 0;
        let count = if is_heading { 1 + draw.below(4) } else { 4 + draw.below(21) };
        let words: Vec<&str> = (0..count).map(|_| self.word(draw)).collect();
        if is_heading { format!("## {}", words.join(" ")) } else { words.join(" ") + "." }
    }
}

/// Draws from 0 to 1, 1 excluded.
fn unit(draw: &mut Draw) -> f64 {
    draw.below(1 << 53) as f64 / (1u64 << 53) as f64
}

/// Draws from a log-normal distribution, by the transform of Box and Muller.
fn log_normal(draw: &mut Draw, median: f64, sigma: f64) -> f64 {
    let radius = (-2.0 * (1.0 - unit(draw)).ln()).sqrt();
    let normal = radius * (std::f64::consts::TAU * unit(draw)).cos();
    median * (sigma * normal).exp()
}

/// Draws from a generalized Pareto distribution that begins at 0.
fn generalized_pareto(draw: &mut Draw, shape: f64, scale: f64) -> f64 {
    scale / shape * ((1.0 - unit(draw)).powf(-shape) - 1.0)
}

/// Returns the whole part of a number that is not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(number: f64) -> usize {
    number as usize
}
