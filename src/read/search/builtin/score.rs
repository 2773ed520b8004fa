//! BM25 over the postings of an index (`spec/search.md`, section 4).
//!
//! Every number follows from the published units alone: the occurrences of a clause, the length of
//! a field, the number of units. Nothing depends on how the index was built, on deleted entries or
//! on the segments, so an updated index ranks like one that was built again.

use std::cmp::Ordering;

use tantivy::DocId;
use tantivy::columnar::StrColumn;

use super::article::{Fields, SEARCHED};
use super::near::{Near, WEIGHT};
use super::segment::{Segment, Totals};
use crate::read::search::query::{Clause, Query};
use crate::read::search::{HitPart, RawHit, Reason};

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Scores are rounded to multiples of 1/`PARTS`, so that the last bit decides nothing.
const PARTS: f64 = 1e6;

/// A clause in a field: its occurrences in each segment, and its rarity.
struct Evidence<'q> {
    /// Position of the clause in the query.
    clause: usize,
    words: &'q Clause,
    /// Words that were accepted for its word; empty if this is about the word itself.
    near: &'q [String],
    field: usize,
    occurrences: Vec<Vec<(DocId, u32)>>,
    df: u64,
    n: u64,
    average: f64,
    idf: f64,
}

impl Evidence<'_> {
    fn score(&self, tf: u32, length: u64) -> f64 {
        let (tf, length) = (f64::from(tf), float(length));
        let tf = tf * (K1 + 1.0) / (tf + K1 * (1.0 - B + B * length / self.average));
        self.boost() * self.idf * tf
    }

    /// Returns the weight of the field, reduced for words that are only similar.
    fn boost(&self) -> f64 {
        let weight = if self.near.is_empty() { 1.0 } else { WEIGHT };
        SEARCHED[self.field].boost * weight
    }
}

/// Numbers in a vault are far below the point where a float has gaps between integers.
fn float(count: u64) -> f64 {
    count as f64
}

fn gather<'q>(
    segments: &[Segment],
    fields: &Fields,
    totals: &Totals,
    (query, near): (&'q Query, &'q [Near<'q>]),
) -> tantivy::Result<Vec<Evidence<'q>>> {
    let mut all = Vec::new();
    // Each clause itself, then the words accepted for it.
    let clauses = query.clauses().iter().zip(near).enumerate();
    let asked = clauses.flat_map(|(n, (clause, near))| {
        let near = (!near.words.is_empty()).then_some((n, clause, near.words.as_slice()));
        std::iter::once((n, clause, &[][..])).chain(near)
    });
    for (clause, words, near) in asked {
        for (field, searched) in SEARCHED.iter().enumerate() {
            let occurrences = |segment: &Segment| match near {
                [] => segment.occurrences(fields, field, words),
                near => segment.occurrences_of_any(fields, field, near),
            };
            let occurrences: Vec<Vec<(DocId, u32)>> =
                segments.iter().map(occurrences).collect::<tantivy::Result<_>>()?;
            let df = occurrences.iter().map(Vec::len).sum::<usize>() as u64;
            if df == 0 {
                continue;
            }
            let n = if searched.of_document { totals.documents } else { totals.units };
            let average = float(totals.words[field]) / float(n);
            let idf = (1.0 + (float(n) - float(df) + 0.5) / (float(df) + 0.5)).ln();
            all.push(Evidence { clause, words, near, field, occurrences, df, n, average, idf });
        }
    }
    Ok(all)
}

/// An entry that matches the query.
struct Candidate {
    score: f64,
    /// Position of its id among those of the segment.
    ord: u64,
    doc: DocId,
    share: f64,
}

impl Candidate {
    /// Orders by score, best first; equal scores by place in the vault.
    fn order(&self, other: &Self) -> Ordering {
        let place = || (self.ord, self.doc).cmp(&(other.ord, other.doc));
        other.score.total_cmp(&self.score).then_with(place)
    }
}

/// Best candidates so far. A common word occurs in most of a vault, so candidates that cannot be
/// among the best are dropped at once.
struct Best {
    kept: Vec<Candidate>,
    limit: usize,
    /// Score below which a candidate is not among the best.
    least: f64,
}

impl Best {
    /// Number of extra candidates that are kept before dropping.
    const SLACK: usize = 1024;

    fn of(limit: usize) -> Self {
        Self { kept: Vec::new(), limit, least: f64::NEG_INFINITY }
    }

    fn put(&mut self, candidate: Candidate) {
        self.kept.push(candidate);
        if self.kept.len() >= self.limit + Self::SLACK {
            self.prune();
        }
    }

    fn prune(&mut self) {
        if self.limit > 0 && self.kept.len() > self.limit {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.limit - 1, Candidate::order);
            self.least = last.score;
        }
        self.kept.truncate(self.limit);
    }
}

/// Returns the best units for a query.
pub(super) fn best(
    segments: &[Segment],
    fields: &Fields,
    totals: &Totals,
    (query, near): (&Query, &[Near<'_>]),
    limit: usize,
) -> tantivy::Result<Vec<RawHit>> {
    let evidence = gather(segments, fields, totals, (query, near))?;
    let mut hits = Vec::new();
    for (n, segment) in segments.iter().enumerate() {
        let Some(ids) = segment.ids()? else { continue };
        for candidate in candidates(segment, n, &ids, &evidence, query, limit)? {
            let mut id = String::new();
            ids.ord_to_str(candidate.ord, &mut id)?;
            let unit = segment.unit()?.get_val(candidate.doc);
            hits.push(RawHit {
                id,
                part: HitPart::Unit(usize::try_from(unit).unwrap_or(usize::MAX)),
                score: candidate.score,
                reasons: reasons(segment, n, &candidate, &evidence)?,
            });
        }
    }
    hits.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| (&a.id, &a.part).cmp(&(&b.id, &b.part)))
    });
    hits.truncate(limit);
    Ok(hits)
}

/// Returns the entries of a segment that contain a clause, in order.
fn own_entries(n: usize, evidence: &[Evidence<'_>]) -> Vec<DocId> {
    let mut all: Vec<DocId> =
        evidence.iter().flat_map(|one| one.occurrences[n].iter().map(|(doc, _)| *doc)).collect();
    // This sort merges sorted runs.
    all.sort();
    all.dedup();
    all
}

/// Returns the score of each entry that contains a clause, and the bits of the clauses
/// that contribute.
///
/// Fields of a document contribute to each of its units, which are consecutive. A unit without any
/// clause is not an answer, so its score is not computed.
fn sums(
    segment: &Segment,
    n: usize,
    evidence: &[Evidence<'_>],
    own: &[DocId],
) -> tantivy::Result<Vec<(f64, u64)>> {
    let units = segment.units()?;
    let mut sums = vec![(0.0_f64, 0_u64); own.len()];
    for one in evidence {
        let lengths = segment.length(one.field)?;
        let bit = 1 << one.clause;
        let mut at = 0;
        for (doc, tf) in &one.occurrences[n] {
            let score = one.score(*tf, lengths.get_val(*doc));
            at = place_of(*doc, own, at);
            let end = match SEARCHED[one.field].of_document {
                true => doc.saturating_add(u32::try_from(units.get_val(*doc)).unwrap_or(u32::MAX)),
                false => doc.saturating_add(1),
            };
            let reached = own[at..].iter().take_while(|other| **other < end).count();
            for (sum, clauses) in &mut sums[at..at + reached] {
                *sum += score;
                *clauses |= bit;
            }
            at += reached;
        }
    }
    Ok(sums)
}

/// Returns the position of an entry at or after another position, which is near in most cases.
fn place_of(doc: DocId, own: &[DocId], from: usize) -> usize {
    let rest = &own[from..];
    let mut reach = 1;
    while rest.get(reach).is_some_and(|other| *other < doc) {
        reach *= 2;
    }
    from + rest[..rest.len().min(reach + 1)].partition_point(|other| *other < doc)
}

/// Returns the best units of a segment.
fn candidates(
    segment: &Segment,
    n: usize,
    ids: &StrColumn,
    evidence: &[Evidence<'_>],
    query: &Query,
    limit: usize,
) -> tantivy::Result<Vec<Candidate>> {
    let own = own_entries(n, evidence);
    let clauses = query.clauses().iter().enumerate();
    let wanted: u64 = clauses.filter(|(_, c)| c.required).map(|(n, _)| 1 << n).sum();
    let count = float(query.clauses().len() as u64);
    let mut best = Best::of(limit);
    for (doc, (sum, found)) in own.iter().zip(sums(segment, n, evidence, &own)?) {
        if found & wanted != wanted {
            continue;
        }
        let share = f64::from(found.count_ones()) / count;
        let score = (sum * share * PARTS).round() / PARTS;
        if score < best.least {
            continue;
        }
        if let Some(ord) = ids.ords().first(*doc) {
            best.put(Candidate { score, ord, doc: *doc, share });
        }
    }
    best.prune();
    Ok(best.kept)
}

/// Explains the score of an entry.
fn reasons(
    segment: &Segment,
    n: usize,
    candidate: &Candidate,
    evidence: &[Evidence<'_>],
) -> tantivy::Result<Vec<Reason>> {
    let unit = u32::try_from(segment.unit()?.get_val(candidate.doc)).unwrap_or(u32::MAX);
    let mut reasons = Vec::new();
    for one in evidence {
        let searched = &SEARCHED[one.field];
        let doc = match searched.of_document {
            true => candidate.doc.saturating_sub(unit),
            false => candidate.doc,
        };
        let Ok(at) = one.occurrences[n].binary_search_by_key(&doc, |(doc, _)| *doc) else {
            continue;
        };
        let (tf, length) = (one.occurrences[n][at].1, segment.length(one.field)?.get_val(doc));
        reasons.push(Reason {
            term: one.words.shown(),
            near: one.near.to_vec(),
            field: searched.name,
            score: one.score(tf, length),
            tf,
            df: one.df,
            n: one.n,
            boost: one.boost(),
            idf: one.idf,
            length,
            average: one.average,
            share: candidate.share,
        });
    }
    Ok(reasons)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use tantivy::Index;

    use super::super::article::{self, Article};
    use super::super::segment::segments;
    use super::super::{Ready, fill, near};
    use super::*;
    use crate::read::search::words::folded;
    use crate::values::model::id::DocumentId;

    type Vault = BTreeMap<DocumentId, Article>;

    /// An index that follows a vault, and the current state of the vault.
    struct Following {
        index: Index,
        fields: Fields,
        vault: Vault,
    }

    impl Following {
        fn new() -> Self {
            let (schema, fields) = article::schema();
            let index = Index::create_in_ram(schema);
            article::teach(&index);
            Self { index, fields, vault: Vault::new() }
        }

        /// Publishes and retires documents.
        fn follow(&mut self, set: Vault, retired: &BTreeSet<DocumentId>) {
            let old = |id: &&DocumentId| self.vault.contains_key(*id);
            let gone: BTreeSet<String> =
                set.keys().chain(retired).filter(old).map(DocumentId::to_string).collect();
            let gone: Vec<String> = gone.into_iter().collect();
            let wanted: Vec<&DocumentId> = set.keys().collect();
            let read = |id: &DocumentId| set.get(id).cloned();
            fill(&self.index, &self.fields, &gone, &wanted, &read, &|_| {}).unwrap();
            self.vault.retain(|id, _| !retired.contains(id));
            self.vault.extend(set);
        }

        fn rebuilt(&self) -> Self {
            let mut other = Self::new();
            other.follow(self.vault.clone(), &BTreeSet::new());
            other
        }

        fn ask(&self, query: &Query, limit: usize) -> (Totals, Vec<RawHit>) {
            let ready = Ready::open(&self.index, self.fields.clone(), Vec::new()).unwrap();
            let (segments, fields) = (&ready.segments, &ready.fields);
            let near = near::words(segments, fields, query).unwrap();
            let hits = best(segments, fields, &ready.totals, (query, &near), limit).unwrap();
            (ready.totals, hits)
        }
    }

    /// Counts the occurrences of a clause in the values of a field, and their words.
    fn naive_count(values: &[String], clause: &Clause) -> (u32, usize) {
        let values: Vec<Vec<String>> = values.iter().map(|value| folded(value)).collect();
        let here = |words: &Vec<String>| {
            words.windows(clause.words.len()).filter(|w| *w == clause.words).count()
        };
        let tf: usize = values.iter().map(here).sum();
        (u32::try_from(tf).unwrap(), values.iter().map(Vec::len).sum())
    }

    fn naive_values(article: &Article, field: usize, unit: usize) -> Vec<String> {
        match field {
            0 => vec![article.title.clone()],
            1 => article.tags.clone(),
            2 => vec![article.description.clone()],
            3 => vec![article.units[unit].0.clone()],
            _ => vec![article.units[unit].1.clone()],
        }
    }

    /// Ranks by the texts alone, document by document.
    fn naive(vault: &Vault, query: &Query, limit: usize) -> Vec<(String, HitPart, f64)> {
        let mut sums: BTreeMap<(String, usize), (f64, BTreeSet<usize>, bool)> = BTreeMap::new();
        for (n, clause) in query.clauses().iter().enumerate() {
            let near = naive_near(vault, query, n);
            for taken in [None, Some(near)] {
                for (field, searched) in SEARCHED.iter().enumerate() {
                    let mut counts = Vec::new();
                    for article in vault.values() {
                        let units = if searched.of_document { 1 } else { article.units.len() };
                        for unit in 0..units {
                            let values = naive_values(article, field, unit);
                            let count = match &taken {
                                None => naive_count(&values, clause),
                                Some(words) => naive_any(&values, words),
                            };
                            counts.push((article, unit, count));
                        }
                    }
                    let df = counts.iter().filter(|(.., (tf, _))| *tf > 0).count() as f64;
                    let total = counts.len() as f64;
                    let average =
                        counts.iter().map(|(.., (_, len))| *len).sum::<usize>() as f64 / total;
                    let idf = (1.0 + (total - df + 0.5) / (df + 0.5)).ln();
                    for (article, unit, (tf, length)) in
                        counts.into_iter().filter(|(.., (tf, _))| *tf > 0)
                    {
                        let tf = f64::from(tf);
                        let norm = tf + 1.2 * (1.0 - 0.75 + 0.75 * length as f64 / average);
                        let boost = searched.boost * if taken.is_some() { 0.5 } else { 1.0 };
                        let score = boost * idf * (tf * 2.2 / norm);
                        let all = if searched.of_document {
                            0..article.units.len()
                        } else {
                            unit..unit + 1
                        };
                        for reached in all {
                            let sum = sums.entry((article.id.clone(), reached)).or_default();
                            sum.0 += score;
                            sum.1.insert(n);
                            sum.2 |= reached == unit;
                        }
                    }
                }
            }
        }
        let required: BTreeSet<usize> =
            (0..query.clauses().len()).filter(|n| query.clauses()[*n].required).collect();
        let mut hits: Vec<(String, HitPart, f64)> = sums
            .into_iter()
            .filter(|(_, (_, found, own))| *own && found.is_superset(&required))
            .map(|((id, unit), (score, found, _))| {
                let share = found.len() as f64 / query.clauses().len() as f64;
                (id, HitPart::Unit(unit), (score * share * 1e6).round() / 1e6)
            })
            .collect();
        hits.sort_by(|a, b| b.2.total_cmp(&a.2).then((&a.0, &a.1).cmp(&(&b.0, &b.1))));
        hits.truncate(limit);
        hits
    }

    /// Returns the words accepted for the word of a clause, by comparing it with every word of
    /// the vault.
    fn naive_near(vault: &Vault, query: &Query, clause: usize) -> BTreeSet<String> {
        let values = vault.values().flat_map(|article| {
            let units = article.units.iter().flat_map(|(heading, text)| [heading, text]);
            let own = [&article.title, &article.description];
            own.into_iter().chain(&article.tags).chain(units)
        });
        let words: BTreeSet<String> = values.flat_map(|value| folded(value)).collect();
        if let Some(prefix) = query.prefix_of(clause) {
            let found: BTreeSet<String> =
                words.iter().filter(|w| *w != prefix && w.starts_with(prefix)).cloned().collect();
            if !found.is_empty() {
                return found;
            }
        }
        match query.clauses()[clause].mistyped().filter(|word| !words.contains(*word)) {
            Some(word) => {
                words.into_iter().filter(|other| strsim::osa_distance(word, other) == 1).collect()
            }
            None => BTreeSet::new(),
        }
    }

    fn naive_any(values: &[String], words: &BTreeSet<String>) -> (u32, usize) {
        let all: Vec<String> = values.iter().flat_map(|value| folded(value)).collect();
        let found = all.iter().filter(|word| words.contains(*word)).count();
        (u32::try_from(found).unwrap(), all.len())
    }

    const WORD: &str =
        "(fee|fees|late|pay|payment|paymnet|paymeni|p\u{e4}yment|\u{65e5}\u{672c}|x)";

    fn texts(max: usize) -> impl Strategy<Value = String> {
        prop::collection::vec(WORD, 0..=max).prop_map(|words| words.join(" "))
    }

    fn articles() -> impl Strategy<Value = Article> {
        let units = prop::collection::vec((texts(2), texts(6)), 1..4);
        let tags = prop::collection::vec(WORD, 0..3);
        (texts(3), tags, texts(2), units).prop_map(|(title, tags, description, units)| Article {
            id: String::new(),
            mark: [0, 0],
            title,
            tags,
            description,
            units,
        })
    }

    fn vaults() -> impl Strategy<Value = Vault> {
        prop::collection::btree_map("[a-f](/[a-c])?", articles(), 0..8).prop_map(|found| {
            let named =
                |(id, article): (String, Article)| (id.parse().unwrap(), Article { id, ..article });
            found.into_iter().map(named).collect()
        })
    }

    fn retired() -> impl Strategy<Value = BTreeSet<DocumentId>> {
        let ids = prop::collection::btree_set("[a-f](/[a-c])?", 0..4);
        ids.prop_map(|ids| ids.iter().map(|id| id.parse().unwrap()).collect())
    }

    fn queries() -> impl Strategy<Value = Query> {
        let clause = prop_oneof![
            3 => WORD.prop_map(|word| word),
            1 => (WORD, WORD).prop_map(|(a, b)| format!("\"{a} {b}\"")),
            1 => (WORD, WORD).prop_map(|(a, b)| format!("{a}-{b}")),
        ];
        prop::collection::vec(clause, 1..4)
            .prop_flat_map(|clauses| (Just(clauses), any::<bool>()))
            .prop_map(|(clauses, prefix)| {
                Query::parse(&clauses.join(" ")).unwrap().with_prefix(prefix)
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn search_ranks_alike_by_updated_and_rebuilt_index_and_by_texts(
            steps in prop::collection::vec((vaults(), retired()), 1..5),
            asked in prop::collection::vec((queries(), 1_usize..20), 1..6),
        ) {
            let mut extended = Following::new();
            for (set, retired) in steps {
                let retired = retired.into_iter().filter(|id| !set.contains_key(id)).collect();
                extended.follow(set, &retired);
            }
            let rebuilt = extended.rebuilt();
            for (query, limit) in asked {
                let answer = extended.ask(&query, limit);
                prop_assert_eq!(&answer, &rebuilt.ask(&query, limit));
                let found: Vec<(String, HitPart, f64)> =
                    answer.1.into_iter().map(|hit| (hit.id, hit.part, hit.score)).collect();
                prop_assert_eq!(found, naive(&extended.vault, &query, limit));
            }
        }
    }

    #[test]
    fn search_keeps_the_best_for_any_time_of_pruning() {
        // Few distinct scores, so that places decide most of the order; 7919 is coprime.
        let all = (0..5_000_u32).map(|n| Candidate {
            score: f64::from(n * 7919 % 13),
            ord: u64::from(n * 7919 % 5_000),
            doc: n,
            share: 1.0,
        });
        let mut sorted: Vec<Candidate> = all.clone().collect();
        sorted.sort_by(Candidate::order);
        for limit in [0, 1, 10, 999, 6_000] {
            let mut best = Best::of(limit);
            all.clone().for_each(|candidate| {
                if candidate.score >= best.least {
                    best.put(candidate);
                }
            });
            best.prune();
            best.kept.sort_by(Candidate::order);
            let docs = |of: &[Candidate]| of.iter().map(|c| c.doc).collect::<Vec<_>>();
            assert_eq!(docs(&best.kept), docs(&sorted[..limit.min(5_000)]), "{limit}");
        }
    }

    #[test]
    fn search_counts_the_title_once_for_all_sections() {
        let mut index = Following::new();
        let id: DocumentId = "a".parse().unwrap();
        let unit = |text: &str| (String::new(), text.to_owned());
        let article = Article {
            id: id.to_string(),
            mark: [1, 2],
            title: "Fees".to_owned(),
            tags: Vec::new(),
            description: String::new(),
            units: vec![unit("one"), unit("two late"), unit("three")],
        };
        index.follow([(id, article)].into(), &BTreeSet::new());
        let places = |text: &str| {
            let hits = index.ask(&Query::parse(text).unwrap(), 9).1;
            hits.into_iter().map(|hit| (hit.part, hit.reasons.len())).collect::<Vec<_>>()
        };
        assert_eq!(places("fee"), [(HitPart::Unit(0), 1)], "not each of its sections");
        assert_eq!(places("late fee"), [(HitPart::Unit(1), 2), (HitPart::Unit(0), 1)]);
        let segments = segments(&index.index).unwrap();
        assert_eq!(segments[0].documents().unwrap(), [("a".to_owned(), [1, 2])]);
    }
}
