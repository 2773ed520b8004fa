//! Reads the fields of the texts of one history, one after the other.
//!
//! Parsing the YAML of a frontmatter costs much more than rebuilding a text, and a history of 100
//! KB can contain a frontmatter of 64 KiB many times. A writer changes the values of four fields
//! from version to version. If only these differ from the text before, and the spelling of each is
//! unambiguous, the fields are updated without parsing the YAML again.

use std::ops::Range;

use super::error::ChainError;
use crate::text::document::frontmatter::{Frontmatter, Status};
use crate::text::document::review::ReviewFields;
use crate::text::document::text::split;
use crate::text::document::{Document, Unreadable};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::values::yaml::{Node, Value};

/// The fields of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) fields: Fields,
    /// The bytes that `checksum` covers.
    pub(crate) rest: Range<usize>,
}

/// The fields that a publication sets, the author, and the fields of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) version: Option<Version>,
    pub(crate) status: Status,
    pub(crate) updated_at: Option<String>,
    pub(crate) checksum: Option<String>,
    pub(crate) author: Option<String>,
    pub(crate) review: Option<Box<ReviewFields>>,
}

const FIELDS: [&str; 4] = ["status", "version", "updated_at", "checksum"];

/// Reads the texts of one history in order.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    before: Option<Before>,
    /// Number of frontmatters that were parsed as YAML.
    parsed: usize,
}

impl Reader {
    /// Reads the fields of a version's text; `None` for governance files, which have none.
    ///
    /// # Errors
    /// Fails with [`ChainError::Text`].
    pub(crate) fn read(
        &mut self,
        id: &DocumentId,
        text: &str,
    ) -> Result<Option<Described>, ChainError> {
        if !id.is_document() {
            return Ok(None);
        }
        self.document(text).map(Some).map_err(ChainError::Text)
    }

    fn document(&mut self, text: &str) -> Result<Described, Unreadable> {
        let parts = split(text).map_err(|_| Unreadable::Unclosed)?;
        let block = parts.frontmatter.and_then(|block| text.get(block));
        if let (Some(before), Some(block)) = (&mut self.before, block)
            && before.becomes(block).is_some()
        {
            return Ok(Described { fields: before.fields.clone(), rest: parts.rest });
        }
        self.before = None;
        self.parsed += 1;
        let document = Document::parse(text)?;
        let fields = Fields::of(&document.frontmatter);
        self.before =
            block.and_then(|block| Before::new(block, &document.frontmatter, fields.clone()));
        Ok(Described { fields, rest: document.parts.rest })
    }
}

impl Fields {
    fn of(frontmatter: &Frontmatter) -> Self {
        Self {
            version: frontmatter.version,
            status: frontmatter.status.clone(),
            updated_at: frontmatter.updated_at.clone(),
            checksum: frontmatter.checksum.clone(),
            author: frontmatter.author.clone(),
            review: ReviewFields::of(frontmatter).map(Box::new),
        }
    }

    /// Sets one of these fields to another value.
    fn set(&mut self, name: &'static str, value: Node) {
        let line = 1;
        let key = Value::Scalar { text: name.to_owned(), plain: true };
        let key = Node { value: key, span: 0..0, line, column: 1, decorated: false };
        let value = Value::Mapping { entries: vec![(key, value)], flow: false };
        let root = Node { value, span: 0..0, line, column: 1, decorated: false };
        let read = Self::of(&Frontmatter::read(Some(root)));
        match name {
            "status" => self.status = read.status,
            "version" => self.version = read.version,
            "updated_at" => self.updated_at = read.updated_at,
            _ => self.checksum = read.checksum,
        }
    }
}

/// A frontmatter that was parsed, with the places of the values that may be exchanged.
#[derive(Debug)]
struct Before {
    block: String,
    /// In the order of the text.
    values: Vec<(&'static str, Range<usize>)>,
    fields: Fields,
}

impl Before {
    fn new(block: &str, frontmatter: &Frontmatter, fields: Fields) -> Option<Self> {
        let root = frontmatter.root.as_ref()?;
        // An anchor would limit the size of its node.
        if root.decorated || !matches!(root.value, Value::Mapping { flow: false, .. }) {
            return None;
        }
        let is_exchangeable = |node: &&Node| {
            let spelled = block.get(node.span.clone());
            !node.decorated && spelled.is_some_and(|text| length(text) == Some(text.len()))
        };
        let place = |name: &&'static str| {
            let node = root.get(name).filter(is_exchangeable)?;
            Some((*name, node.span.clone()))
        };
        let mut values: Vec<_> = FIELDS.iter().filter_map(place).collect();
        values.sort_by_key(|(_, span)| span.start);
        Some(Self { block: block.to_owned(), values, fields })
    }

    /// Updates to the frontmatter of the next version; `None` if more than these values differs.
    fn becomes(&mut self, block: &str) -> Option<()> {
        if block.len() > limit::FRONTMATTER {
            return None;
        }
        let (mut rest, mut at) = (block, 0);
        let mut places = Vec::with_capacity(self.values.len());
        for (name, was) in &self.values {
            rest = rest.strip_prefix(self.block.get(at..was.start)?)?;
            let is_quoted = self.block[was.start..].starts_with('\'');
            let length = length(rest).filter(|_| rest.starts_with('\'') == is_quoted)?;
            let start = block.len() - rest.len();
            places.push((*name, start..start + length));
            (rest, at) = (&rest[length..], was.end);
        }
        if rest != self.block.get(at..)? {
            return None;
        }
        for ((name, place), (_, was)) in places.iter().zip(&self.values) {
            if block[place.clone()] != self.block[was.clone()] {
                self.fields.set(name, scalar(&block[place.clone()], place.clone()));
            }
        }
        self.block.clear();
        self.block.push_str(block);
        self.values = places;
        Some(())
    }
}

/// Returns the length of the scalar that a text begins with; `None` if it has characters with a
/// meaning in YAML. Allowed are plain letters, digits and inner colons, or these, `.` and `-`
/// between single quotes.
fn length(text: &str) -> Option<usize> {
    let harmless = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b':' | b'.' | b'-');
    if let Some(quoted) = text.strip_prefix('\'') {
        let inner = quoted.bytes().take_while(harmless).count();
        return quoted[inner..].starts_with('\'').then_some(inner + 2);
    }
    let plain = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b':').count();
    let word = &text[..plain];
    (!word.is_empty() && !word.starts_with(':') && !word.ends_with(':')).then_some(plain)
}

/// Returns the scalar with this spelling.
fn scalar(spelled: &str, span: Range<usize>) -> Node {
    let quoted = spelled.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let value =
        Value::Scalar { text: quoted.unwrap_or(spelled).to_owned(), plain: quoted.is_none() };
    Node { value, span, line: 1, column: 1, decorated: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\ntitle: \"A: b\"\nauthor: ana\nversion: 2 # two\nstatus: published\n\
                        updated_at: '2026-11-21T20:06:06.689Z'\nx: {status: draft}\n\
                        checksum: sha256:00ff\nlast: |\n  version: 3\n---\nbody\n";

    fn by_itself(text: &str) -> Result<Described, Unreadable> {
        let document = Document::parse(text)?;
        let fields = Fields::of(&document.frontmatter);
        Ok(Described { fields, rest: document.parts.rest })
    }

    #[test]
    fn described_reads_a_text_the_same_after_any_other() {
        let mut taken = 0;
        for at in 0..TEXT.len() {
            for byte in b" \t\n\r'\"|:-#0aZ~{[&*!%@,?.".iter().map(|b| vec![*b]).chain([vec![]]) {
                for after in [at, at + 1] {
                    let mutant = [&TEXT.as_bytes()[..at], &byte, &TEXT.as_bytes()[after..]];
                    let mutant = String::from_utf8(mutant.concat()).unwrap();
                    // The mutant after the text, and the text after the mutant.
                    let mut reader = Reader::default();
                    for text in [TEXT, &mutant, TEXT] {
                        assert_eq!(reader.document(text), by_itself(text), "{mutant:?}");
                    }
                    taken += 3 - reader.parsed;
                }
            }
        }
        assert!(taken > TEXT.len(), "{taken}");
    }

    #[test]
    fn described_parses_similar_versions_once() {
        let mut reader = Reader::default();
        let tags: Vec<String> = (0..9_000).map(|n| format!("t{n}")).collect();
        for version in 1..300 {
            let status = if version % 7 == 0 { "draft" } else { "published" };
            let text = format!(
                "---\ntags: [{}]\nversion: {version}\nstatus: {status}\nchecksum: sha256:{version:064x}\n\
                 updated_at: '2026-11-21T20:06:06.{version:03}Z'\n---\nbody {version}\n",
                tags.join(",")
            );
            let described = reader.document(&text).unwrap();
            assert_eq!(described.fields.version, Some(Version(version)));
            assert_eq!(described.fields.status.as_str(), status);
            assert_eq!(&text[described.rest], format!("\nbody {version}\n"));
        }
        assert_eq!(reader.parsed, 1);
    }
}
