//! A plain BM25 over whole files, as a pipeline without knowledge of vaults would index a folder.

use std::collections::HashMap;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// An index over texts, which are identified by their numbers.
pub(crate) struct Bm25 {
    /// Number of occurrences of each word in each text.
    counts: Vec<HashMap<String, f64>>,
    lengths: Vec<f64>,
    /// Number of texts that contain each word.
    holders: HashMap<String, f64>,
}

impl Bm25 {
    pub(crate) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut index = Self { counts: Vec::new(), lengths: Vec::new(), holders: HashMap::new() };
        for text in texts {
            let (mut counts, mut length) = (HashMap::new(), 0.0);
            for word in words(text) {
                *counts.entry(word).or_insert(0.0) += 1.0;
                length += 1.0;
            }
            for word in counts.keys() {
                *index.holders.entry(word.clone()).or_insert(0.0) += 1.0;
            }
            index.counts.push(counts);
            index.lengths.push(length);
        }
        index
    }

    /// Returns the `k` best texts that contain a word of the query; equal ones in their order.
    pub(crate) fn best(&self, query: &str, k: usize) -> Vec<usize> {
        let n = self.counts.len() as f64;
        let average = self.lengths.iter().sum::<f64>() / n;
        let wanted: Vec<String> = words(query).collect();
        let score = |at: usize| -> f64 {
            let one = |word: &String| {
                let tf = self.counts[at].get(word).copied().unwrap_or(0.0);
                let df = self.holders.get(word).copied().unwrap_or(0.0);
                let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
                idf * tf * (K1 + 1.0) / (tf + K1 * (1.0 - B + B * self.lengths[at] / average))
            };
            wanted.iter().map(one).sum()
        };
        let mut scored: Vec<(f64, usize)> =
            (0..self.counts.len()).map(|at| (score(at), at)).filter(|(s, _)| *s > 0.0).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.into_iter().take(k).map(|(_, at)| at).collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(str::to_lowercase)
}
