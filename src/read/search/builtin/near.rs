//! Words that are taken for a word of a query: those that begin with it, and those that differ by one
//! edit (`spec/search.md`, section 8).
//!
//! Which they are follows from the words of the published documents alone: of each question the
//! first [`MOST`] in byte order, whatever segments the index has and whatever is deleted in it.

use std::collections::BTreeSet;

use super::article::{Fields, SEARCHED};
use super::segment::Segment;
use crate::read::search::query::Query;

/// So many words are taken for one of a query.
pub(super) const MOST: usize = 64;
/// So many clauses of a query have such words, in the order of the clauses.
const MOST_CLAUSES: usize = 8;
/// How much such a word counts.
pub(super) const WEIGHT: f64 = 0.5;
/// How many words a note names.
const NOTED: usize = 5;

/// How words are like another one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Like<'w> {
    /// They begin with it.
    Begins(&'w str),
    /// One character is added, missing or another one, or two neighbours changed places.
    Edited(&'w str),
}

impl<'w> Like<'w> {
    fn word(self) -> &'w str {
        match self {
            Self::Begins(word) | Self::Edited(word) => word,
        }
    }
}

/// The words that are taken for the word of one clause.
#[derive(Debug, Default)]
pub(super) struct Near<'q> {
    /// In byte order, without the word itself.
    pub(super) words: Vec<String>,
    /// The word of the query, if no document has it.
    unknown: Option<&'q str>,
}

impl Near<'_> {
    /// What the reader of an answer has to know.
    pub(super) fn note(&self) -> Option<String> {
        let word = self.unknown?;
        let first: Vec<String> =
            self.words.iter().take(NOTED).map(|word| format!("`{word}`")).collect();
        let more = match self.words.len().saturating_sub(NOTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("no document has `{word}`; found for it: {}{more}", first.join(", ")))
    }
}

/// For each clause of a query the words that are taken for its word.
pub(super) fn words<'q>(
    segments: &[Segment],
    fields: &Fields,
    query: &'q Query,
) -> tantivy::Result<Vec<Near<'q>>> {
    let mut all: Vec<Near<'_>> = Vec::new();
    let mut taken = 0;
    for (n, clause) in query.clauses().iter().enumerate() {
        let mut near = Near::default();
        if taken == MOST_CLAUSES {
            all.push(near);
            continue;
        }
        if let Some(prefix) = query.prefix_of(n) {
            near.words = like(segments, fields, Like::Begins(prefix))?;
        }
        if let Some(word) = clause.mistyped().filter(|_| near.words.is_empty())
            && !is_known(segments, fields, word)?
        {
            near.words = like(segments, fields, Like::Edited(word))?;
            near.unknown = Some(word).filter(|_| !near.words.is_empty());
        }
        taken += usize::from(!near.words.is_empty());
        all.push(near);
    }
    Ok(all)
}

fn is_known(segments: &[Segment], fields: &Fields, word: &str) -> tantivy::Result<bool> {
    for segment in segments {
        for field in 0..SEARCHED.len() {
            if segment.has(fields, field, word)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn like(segments: &[Segment], fields: &Fields, like: Like<'_>) -> tantivy::Result<Vec<String>> {
    let mut found = BTreeSet::new();
    for segment in segments {
        for field in 0..SEARCHED.len() {
            // The first of all are among the first of each; one is the word itself.
            found.extend(segment.words_like(fields, field, like, MOST + 1)?);
        }
    }
    found.remove(like.word());
    Ok(found.into_iter().take(MOST).collect())
}
