//! A text as it is put out: a document's or a section's, between two lines that say what it is and
//! where it ends (`spec/resolve.md`, section 3).
//!
//! A text may hold such lines itself, and may want to end early or to look like another document.
//! The line that ends it repeats the chain hash of its version. That hash covers the text, so no
//! text holds its own.

use super::{Resolution, Served};
use crate::document::sections::Section;
use crate::model::visible::shown;
use crate::uri::{Target, Uri};

/// The text of a document, or of one of its sections.
#[derive(Clone, Copy, Debug)]
pub struct Portion<'r> {
    /// The document.
    pub served: &'r Served,
    /// The section, unless it is the whole.
    pub section: Option<&'r Section>,
}

/// How many tokens so many bytes are taken for.
pub fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

impl Resolution {
    /// What is put out, in order: documents, and the sections of those that are narrowed.
    pub fn portions(&self) -> Vec<Portion<'_>> {
        let mut portions = Vec::with_capacity(self.documents.len());
        for served in &self.documents {
            match self.sections.get(&served.id) {
                None => portions.push(Portion { served, section: None }),
                Some(sections) => {
                    let of = |section| Portion { served, section: Some(section) };
                    portions.extend(sections.iter().map(of));
                }
            }
        }
        portions
    }
}

impl<'r> Portion<'r> {
    /// The text, byte for byte; of a document without its frontmatter.
    pub fn text(&self) -> &'r str {
        match self.section {
            None => self.served.body(),
            Some(section) => &self.served.text[section.range.clone()],
        }
    }

    /// Whether both are of one document.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.served.id == other.served.id
    }

    /// The URI of exactly this text; none for the few ids that a URI cannot name.
    pub fn uri(&self) -> Option<Uri> {
        let mut uri = self.served.uri()?.clone();
        if let (Target::Document { anchor, .. }, Some(section)) = (&mut uri.target, self.section) {
            *anchor = Some(section.anchor.clone()).filter(|anchor| !anchor.is_empty());
        }
        Some(uri)
    }

    /// How many tokens it takes between its two lines.
    pub fn tokens(&self) -> u64 {
        let Block { begin, text, line_end, end } = self.block();
        tokens(begin.len() + text.len() + line_end.len() + end.len())
    }

    /// The text between its two lines.
    pub fn to_markdown(&self) -> String {
        let Block { begin, text, line_end, end } = self.block();
        [&begin, text, line_end, &end].concat()
    }

    fn block(&self) -> Block<'r> {
        let (fields, entry, text) = (&self.served.fields, &self.served.entry, self.text());
        let mut begin = Line::new("begin").name(self);
        // A governance file has no fields.
        if self.served.id.is_document() {
            begin = begin.text("title", self.served.title());
            begin = begin.word("type", fields.node_type.as_str());
        }
        begin = begin.word("version", entry.version).word("chain_hash", entry.chain_hash);
        if let Some(at) = entry.published_at() {
            begin = begin.word("published_at", at);
        }
        let begin = begin.text("edited_by", &entry.edited_by).word("bytes", text.len()).end();
        // What ends a text stands in a line of its own.
        let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let end = Line::new("end").word("chain_hash", entry.chain_hash).end();
        Block { begin, text, line_end, end }
    }
}

/// What a portion is printed as.
struct Block<'r> {
    begin: String,
    text: &'r str,
    line_end: &'static str,
    end: String,
}

/// A line that is no document's: a comment in Markdown, with values that cannot leave it.
pub(super) struct Line(String);

impl Line {
    pub(super) fn new(kind: &str) -> Self {
        Self(format!("<!-- ctx:{kind}"))
    }

    /// A value that is made of harmless characters.
    pub(super) fn word(mut self, key: &str, value: impl std::fmt::Display) -> Self {
        self.0.push_str(&format!(" {key}={value}"));
        self
    }

    /// A value that may be anything.
    pub(super) fn text(self, key: &str, value: &str) -> Self {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        let value = value.replace('<', "\\u{3c}").replace('>', "\\u{3e}");
        self.word(key, format_args!("\"{}\"", shown(&value)))
    }

    /// What a text is called: its URI, or its id.
    pub(super) fn name(self, portion: &Portion<'_>) -> Self {
        match (portion.uri(), portion.section) {
            (Some(uri), _) => self.text("uri", &uri.to_string()),
            (None, None) => self.text("id", portion.served.id.as_str()),
            (None, Some(section)) => {
                self.text("id", portion.served.id.as_str()).text("section", &section.anchor)
            }
        }
    }

    pub(super) fn end(mut self) -> String {
        self.0.push_str(" -->\n");
        self.0
    }
}
