//! The entries of a document in the index: its words by field, and a mark that distinguishes
//! its versions.

use tantivy::schema::{
    FAST, Field, IndexRecordOption, STRING, Schema, TantivyDocument, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{Index, Term};

use crate::read::search::units;
use crate::read::search::words::Words;
use crate::read::snapshot::Served;
use crate::text::document::obsidian::Markup;
use crate::values::model::digest::Digest;
use crate::values::model::tag::Tag;

/// Name of the tokenizer in the schema.
const WORDS: &str = "ctx";

/// A searched field with its weight. Fields of the whole document belong to its first unit.
pub(super) struct Searched {
    pub(super) name: &'static str,
    pub(super) boost: f64,
    pub(super) of_document: bool,
    /// Column that contains the number of words.
    pub(super) length: &'static str,
}

/// Searched fields, in the order of summation.
pub(super) const SEARCHED: [Searched; 5] = [
    Searched { name: "title", boost: 3.0, of_document: true, length: "title_length" },
    Searched { name: "tags", boost: 2.0, of_document: true, length: "tags_length" },
    Searched { name: "description", boost: 1.0, of_document: true, length: "description_length" },
    Searched { name: "heading", boost: 2.0, of_document: false, length: "heading_length" },
    Searched { name: "body", boost: 1.0, of_document: false, length: "body_length" },
];

/// Names of the columns other than lengths.
pub(super) const ID: &str = "id";
pub(super) const UNIT: &str = "unit";
pub(super) const UNITS: &str = "units";
pub(super) const MARK: [&str; 2] = ["mark_high", "mark_low"];

/// Half of a chain hash, combined with the markup. It only distinguishes an indexed version or
/// reading from another one.
pub(super) type Mark = [u64; 2];

/// A document by field.
#[derive(Clone, Debug)]
pub(super) struct Article {
    pub(super) id: String,
    pub(super) mark: Mark,
    pub(super) title: String,
    pub(super) tags: Vec<String>,
    pub(super) description: String,
    /// Heading and text of each unit.
    pub(super) units: Vec<(String, String)>,
}

impl Article {
    pub(super) fn new(served: &Served, markup: Markup) -> Self {
        let units = units::units(served, &served.sections());
        Self {
            id: served.id.to_string(),
            mark: mark(&served.entry.chain_hash, markup),
            title: served.title().to_owned(),
            tags: served.fields.tags.iter().map(Tag::to_string).collect(),
            description: served.fields.description.clone().unwrap_or_default(),
            units: units
                .into_iter()
                .map(|unit| (unit.heading, served.visible()[unit.range].to_owned()))
                .collect(),
        }
    }
}

/// Returns the mark of a version in a markup.
pub(super) fn mark(chain_hash: &Digest, markup: Markup) -> Mark {
    let text = chain_hash.to_string();
    let digits = text.trim_start_matches("sha256:");
    let part = |from: usize| {
        digits.get(from..from + 16).and_then(|d| u64::from_str_radix(d, 16).ok()).unwrap_or(0)
    };
    let read = match markup {
        Markup::Plain => 0,
        Markup::Obsidian => 1,
        Markup::Unknown => 2,
    };
    [part(0), part(16) ^ read]
}

/// Fields of an index.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    pub(super) id: Field,
    unit: Field,
    units: Field,
    mark: [Field; 2],
    pub(super) searched: [Field; SEARCHED.len()],
    lengths: [Field; SEARCHED.len()],
}

/// Returns the schema of every index, and its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let text = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(WORDS)
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions),
    );
    let fields = Fields {
        id: schema.add_text_field(ID, STRING | FAST),
        unit: schema.add_u64_field(UNIT, FAST),
        units: schema.add_u64_field(UNITS, FAST),
        mark: MARK.map(|name| schema.add_u64_field(name, FAST)),
        searched: SEARCHED.map(|field| schema.add_text_field(field.name, text.clone())),
        lengths: SEARCHED.map(|field| schema.add_u64_field(field.length, FAST)),
    };
    (schema.build(), fields)
}

/// Registers the tokenizer of an index.
pub(super) fn teach(index: &Index) {
    index.tokenizers().register(WORDS, Folding);
}

impl Fields {
    /// Returns the term that names a document.
    pub(super) fn name_of(&self, id: &str) -> Term {
        Term::from_field_text(self.id, id)
    }

    /// Returns the entries of a document, one for each unit, in order.
    pub(super) fn entries(&self, article: &Article) -> Vec<TantivyDocument> {
        let count = article.units.len() as u64;
        let mut entries = Vec::with_capacity(article.units.len());
        for (n, (heading, text)) in article.units.iter().enumerate() {
            let mut entry = TantivyDocument::new();
            entry.add_text(self.id, &article.id);
            entry.add_u64(self.unit, n as u64);
            entry.add_u64(self.units, count);
            for (field, half) in self.mark.iter().zip(article.mark) {
                entry.add_u64(*field, half);
            }
            let tags: Vec<&str> = article.tags.iter().map(String::as_str).collect();
            let (title, description) = ([&*article.title], [&*article.description]);
            let values: [&[&str]; SEARCHED.len()] =
                [&title, &tags, &description, &[heading], &[text]];
            for (n_field, values) in values.iter().enumerate() {
                let values = if SEARCHED[n_field].of_document && n > 0 { &[][..] } else { values };
                let length: usize = values.iter().map(|value| Words::count(value)).sum();
                values.iter().for_each(|value| entry.add_text(self.searched[n_field], value));
                entry.add_u64(self.lengths[n_field], length as u64);
            }
            entries.push(entry);
        }
        entries
    }
}

/// Tokenizer that adapts [`Words`] to the index library.
#[derive(Clone)]
struct Folding;

struct Stream<'t> {
    words: Words<'t>,
    token: Token,
}

impl Tokenizer for Folding {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        Stream { words: Words::of(text), token: Token::default() }
    }
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let more = self.words.advance();
        if more {
            self.token.text.clone_from(&self.words.word);
            self.token.position = self.words.position;
            self.token.offset_from = self.words.range.start;
            self.token.offset_to = self.words.range.end;
        }
        more
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
