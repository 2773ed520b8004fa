//! Words that are accepted for a word of a query: those that begin with it, and those that differ
//! by one edit (`spec/search.md`, section 8).
//!
//! These words follow from the words of the published documents alone: for each question the first
//! [`MOST`] in byte order. Segments and deleted entries of the index do not matter.

use std::collections::BTreeSet;

use super::article::{Fields, SEARCHED};
use super::segment::Segment;
use crate::read::search::query::Query;

/// Maximum number of words that are accepted for one of a query.
pub(super) const MOST: usize = 64;
/// Maximum number of clauses of a query that accept such words. Later clauses match exactly.
const MOST_CLAUSES: usize = 8;
/// Weight of such a word.
pub(super) const WEIGHT: f64 = 0.5;
/// Maximum number of words that a note names.
const NOTED: usize = 5;

/// Relation of words to another one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Like<'w> {
    /// Words that begin with it.
    Begins(&'w str),
    /// Words with one character added, missing or replaced, or two neighbours swapped.
    Edited(&'w str),
}

impl<'w> Like<'w> {
    fn word(self) -> &'w str {
        match self {
            Self::Begins(word) | Self::Edited(word) => word,
        }
    }
}

/// Words that are accepted for the word of one clause.
#[derive(Debug, Default)]
pub(super) struct Near<'q> {
    /// Words in byte order, without the word itself.
    pub(super) words: Vec<String>,
    /// Word of the query, if no document contains it.
    unknown: Option<&'q str>,
}

impl Near<'_> {
    /// Returns the note for the reader of an answer.
    pub(super) fn note(&self) -> Option<String> {
        let word = self.unknown?;
        let first: Vec<String> =
            self.words.iter().take(NOTED).map(|word| format!("`{word}`")).collect();
        let more = match self.words.len().saturating_sub(NOTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("no document contains `{word}`; found instead: {}{more}", first.join(", ")))
    }
}

/// Returns the words that are accepted for the word of each clause.
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
            // The first of all are among the first of each segment; one is the word itself.
            found.extend(segment.words_like(fields, field, like, MOST + 1)?);
        }
    }
    found.remove(like.word());
    Ok(found.into_iter().take(MOST).collect())
}
