//! Segments of an index: occurrences of words, lengths of fields, and documents. Deleted entries
//! are never visible here.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tantivy::columnar::{ColumnValues, StrColumn};
use tantivy::postings::{Postings as _, SegmentPostings, TermInfo};
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet as _, Index, SegmentReader, TERMINATED, Term};

use super::article::{Fields, ID, MARK, Mark, SEARCHED, UNIT, UNITS};
use super::near::Like;
use crate::read::search::phrase::{NONE, Phrase};
use crate::read::search::query::Clause;

/// Numbers of units and documents, and of the words of their fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Totals {
    pub(super) documents: u64,
    pub(super) units: u64,
    /// Number of words of each searched field.
    pub(super) words: [u64; SEARCHED.len()],
}

type Column = Arc<dyn ColumnValues<u64>>;

/// One segment of an index.
pub(super) struct Segment {
    reader: SegmentReader,
    unit: OnceLock<Column>,
    lengths: [OnceLock<Column>; SEARCHED.len()],
}

/// Opens the segments of an index.
pub(super) fn segments(index: &Index) -> tantivy::Result<Vec<Segment>> {
    let all = index.searchable_segments()?;
    let open = |one| {
        let (unit, lengths) = (OnceLock::new(), [const { OnceLock::new() }; SEARCHED.len()]);
        Ok(Segment { reader: SegmentReader::open(one)?, unit, lengths })
    };
    all.iter().map(open).collect()
}

impl Segment {
    fn column(&self, name: &str) -> tantivy::Result<Column> {
        self.reader.fast_fields().column_first_or_default(name)
    }

    /// Returns the position of each entry in its document.
    pub(super) fn unit(&self) -> tantivy::Result<&Column> {
        kept(&self.unit, || self.column(UNIT))
    }

    /// Returns the number of words of each entry in a field.
    pub(super) fn length(&self, field: usize) -> tantivy::Result<&Column> {
        kept(&self.lengths[field], || self.column(SEARCHED[field].length))
    }

    /// Returns the number of units of the document of each entry.
    pub(super) fn units(&self) -> tantivy::Result<Column> {
        self.column(UNITS)
    }

    /// Returns the id of the document of each entry.
    pub(super) fn ids(&self) -> tantivy::Result<Option<StrColumn>> {
        self.reader.fast_fields().str(ID)
    }

    /// Adds the numbers of this segment to the totals.
    pub(super) fn count(&self, totals: &mut Totals) -> tantivy::Result<()> {
        let unit = self.unit()?;
        for doc in self.reader.doc_ids_alive() {
            totals.units += 1;
            totals.documents += u64::from(unit.get_val(doc) == 0);
        }
        for (n, words) in totals.words.iter_mut().enumerate() {
            let length = self.length(n)?;
            *words += self.reader.doc_ids_alive().map(|doc| length.get_val(doc)).sum::<u64>();
        }
        Ok(())
    }

    /// Returns every document with the mark of its version.
    pub(super) fn documents(&self) -> tantivy::Result<Vec<(String, Mark)>> {
        let Some(ids) = self.ids()? else { return Ok(Vec::new()) };
        let (unit, [high, low]) = (self.unit()?, MARK.map(|name| self.column(name)));
        let (high, low) = (high?, low?);
        let first = self.reader.doc_ids_alive().filter(|doc| unit.get_val(*doc) == 0);
        let mut all: Vec<(u64, Mark)> = first
            .filter_map(|doc| Some((ids.ords().first(doc)?, [high.get_val(doc), low.get_val(doc)])))
            .collect();
        all.sort_unstable();
        let mut named = Vec::with_capacity(all.len());
        let (ords, marks): (Vec<u64>, Vec<Mark>) = all.into_iter().unzip();
        let mut marks = marks.into_iter();
        ids.dictionary().sorted_ords_to_term_cb(&ords, |name| {
            if let (Ok(name), Some(mark)) = (std::str::from_utf8(name), marks.next()) {
                named.push((name.to_owned(), mark));
            }
        })?;
        Ok(named)
    }

    /// Returns true if an entry contains a word in a field.
    pub(super) fn has(&self, fields: &Fields, n: usize, word: &str) -> tantivy::Result<bool> {
        let inverted = self.reader.inverted_index(fields.searched[n])?;
        let term = Term::from_field_text(fields.searched[n], word);
        let list = inverted.read_postings(&term, IndexRecordOption::Basic)?;
        Ok(list.is_some_and(|list| self.holds(list)))
    }

    /// Returns true if a list contains an entry that is not deleted.
    fn holds(&self, mut list: SegmentPostings) -> bool {
        let Some(alive) = self.reader.alive_bitset() else { return list.doc() != TERMINATED };
        while list.doc() != TERMINATED {
            if alive.is_alive(list.doc()) {
                return true;
            }
            list.advance();
        }
        false
    }

    /// Returns up to `most` words of a field that are similar to another one, the first ones in
    /// byte order.
    pub(super) fn words_like(
        &self,
        fields: &Fields,
        n: usize,
        like: Like<'_>,
        most: usize,
    ) -> tantivy::Result<Vec<String>> {
        let inverted = self.reader.inverted_index(fields.searched[n])?;
        let mut found = Vec::new();
        let mut take = |key: &[u8], info: &TermInfo| -> tantivy::Result<bool> {
            let list = inverted.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
            if self.holds(list) {
                found.extend(String::from_utf8(key.to_vec()).ok());
            }
            Ok(found.len() < most)
        };
        match like {
            Like::Begins(prefix) => {
                let mut words = inverted.terms().range().ge(prefix).into_stream()?;
                while let Some((key, info)) = words.next()
                    && key.starts_with(prefix.as_bytes())
                    && take(key, info)?
                {}
            }
            Like::Edited(word) => {
                let term = Term::from_field_text(fields.searched[n], word);
                let automaton = FuzzyTermQuery::new(term, 1, true).automaton()?;
                let mut words = inverted.terms().search(automaton).into_stream()?;
                while let Some((key, info)) = words.next()
                    && take(key, info)?
                {}
            }
        }
        Ok(found)
    }

    /// Returns the entries that contain any of these words in a field, with the number
    /// of occurrences.
    pub(super) fn occurrences_of_any(
        &self,
        fields: &Fields,
        n: usize,
        words: &[String],
    ) -> tantivy::Result<Vec<(DocId, u32)>> {
        let mut all = Vec::new();
        for word in words {
            let clause = Clause { words: vec![word.clone()], required: false };
            all.extend(self.occurrences(fields, n, &clause)?);
        }
        all.sort_unstable_by_key(|(doc, _)| *doc);
        all.dedup_by(|(doc, tf), (first, sum)| {
            let is_same = doc == first;
            if is_same {
                *sum = sum.saturating_add(*tf);
            }
            is_same
        });
        Ok(all)
    }

    /// Returns the entries that contain a clause in a field, with the number of occurrences.
    pub(super) fn occurrences(
        &self,
        fields: &Fields,
        n: usize,
        clause: &Clause,
    ) -> tantivy::Result<Vec<(DocId, u32)>> {
        let inverted = self.reader.inverted_index(fields.searched[n])?;
        let option = match clause.words.len() {
            1 => IndexRecordOption::WithFreqs,
            _ => IndexRecordOption::WithFreqsAndPositions,
        };
        // A repeated word of the clause is read once.
        let (mut lists, mut numbers, mut phrase) = (Vec::new(), BTreeMap::new(), Vec::new());
        for (word, number) in clause.words.iter().zip(NONE + 1..) {
            let term = Term::from_field_text(fields.searched[n], word);
            let first = *numbers.entry(word).or_insert(number);
            phrase.push(first);
            if first == number {
                match inverted.read_postings(&term, option)? {
                    Some(list) => lists.push((number, list)),
                    None => return Ok(Vec::new()),
                }
            }
        }
        let alive = self.reader.alive_bitset();
        let mut found = match (phrase.len(), lists.as_mut_slice()) {
            (1, [(_, only)]) => all(only),
            _ => together(lists, &Phrase::new(phrase)),
        };
        found.retain(|(doc, _)| alive.is_none_or(|alive| alive.is_alive(*doc)));
        Ok(found)
    }
}

/// Returns a column, which is opened on first use.
fn kept(
    cell: &OnceLock<Column>,
    open: impl FnOnce() -> tantivy::Result<Column>,
) -> tantivy::Result<&Column> {
    match cell.get() {
        Some(column) => Ok(column),
        None => {
            let column = open()?;
            Ok(cell.get_or_init(|| column))
        }
    }
}

/// Returns the entries that contain a word, with the number of occurrences.
fn all(list: &mut SegmentPostings) -> Vec<(DocId, u32)> {
    let mut found = Vec::with_capacity(list.size_hint() as usize);
    while list.doc() != TERMINATED {
        found.push((list.doc(), list.term_freq()));
        list.advance();
    }
    found
}

/// Returns the entries that contain the words of a phrase in sequence, with the number of
/// occurrences. Each list is that of one word.
fn together(mut lists: Vec<(u16, SegmentPostings)>, phrase: &Phrase) -> Vec<(DocId, u32)> {
    let mut found = Vec::new();
    let (mut positions, mut text) = (Vec::new(), Vec::new());
    while let Some(doc) = lists.first().map(|(_, first)| first.doc())
        && doc != TERMINATED
    {
        let holds = lists
            .iter_mut()
            .all(|(_, list)| list.doc() == doc || (list.doc() < doc && list.seek(doc) == doc));
        if holds {
            text.clear();
            for (number, list) in &mut lists {
                list.positions(&mut positions);
                put(*number, &positions, &mut text);
            }
            let mut state = 0;
            let ends = text.iter().filter(|word| phrase.ends_with(&mut state, **word)).count();
            if ends > 0 {
                found.push((doc, u32::try_from(ends).unwrap_or(u32::MAX)));
            }
        }
        if let Some((_, first)) = lists.first_mut() {
            first.advance();
        }
    }
    found
}

/// Writes a word to its positions in a text. Other positions are not words of the phrase.
fn put(number: u16, positions: &[u32], text: &mut Vec<u16>) {
    let end = positions.last().map_or(0, |last| *last as usize + 1);
    if end > text.len() {
        text.resize(end, NONE);
    }
    for position in positions {
        text[*position as usize] = number;
    }
}
