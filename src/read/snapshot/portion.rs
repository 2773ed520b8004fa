//! A text in output: a document, a section or a pack, between two lines that name it and mark its
//! end (`spec/resolve.md`, section 3).
//!
//! A text may contain such lines itself, to end early or to look like another document. The line
//! that ends it repeats the mark of its block, which follows from the chain hashes of all requested
//! texts. These hashes cover the texts, so no text can contain the mark.

use std::borrow::Cow;
use std::fmt;

use super::instructions::Instructions;
use super::tokens::Tokenizer;
use super::{Resolution, Served};
use crate::text::document::hidden;
use crate::text::document::sections::Section;
use crate::text::document::validity::Validity;
use crate::text::uri::{Target, Uri};
use crate::values::model::digest::{Digest, Sink};
use crate::values::model::visible::shown;

/// Text of a document, of one of its sections, or of a pack's instructions.
#[derive(Clone, Copy, Debug)]
pub struct Portion<'r> {
    /// Document or governance file.
    pub served: &'r Served,
    /// Section; `None` for the whole.
    pub section: Option<&'r Section>,
    /// Instructions for agents, if the text is one.
    pub instructions: Option<&'r Instructions>,
}

/// Mark that ends the texts of a block: 24 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// Domain of the hash.
    const DOMAIN: &'static [u8] = b"contextnest:context:v1\n";

    /// Returns the mark of a block with texts of these versions, even if some do not fit.
    pub(super) fn of<'d>(chain_hashes: impl IntoIterator<Item = &'d Digest>) -> Self {
        let hash = Digest::of_written(|out| {
            out.put(Self::DOMAIN);
            for hash in chain_hashes {
                hash.write_to(out);
                out.put(b"\n");
            }
        });
        Self(hash.hex()[..24].to_owned())
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Common data of the texts of one block.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) mark: Mark,
    pub(super) tokenizer: Tokenizer,
    /// Largest number that a text of the block can have.
    pub(super) last: usize,
}

impl Resolution {
    /// Returns the output texts in order: documents, and the sections of narrowed ones.
    pub fn portions(&self) -> Vec<Portion<'_>> {
        let mut portions = Vec::with_capacity(self.documents.len());
        for served in &self.documents {
            let whole = Portion::whole(served);
            match self.sections.get(&served.id) {
                None => portions.push(whole),
                Some(sections) => {
                    let of = |section| Portion { section: Some(section), ..whole };
                    portions.extend(sections.iter().map(of));
                }
            }
        }
        portions
    }
}

impl<'r> Portion<'r> {
    /// Makes a portion of a whole document or governance file.
    pub fn whole(served: &'r Served) -> Self {
        Self { served, section: None, instructions: None }
    }

    /// Returns the literal text without comments; for a document, also without its frontmatter.
    pub fn text(&self) -> Cow<'r, str> {
        self.shown().0
    }

    /// Returns the text, and the number of comments that are left out.
    pub fn shown(&self) -> (Cow<'r, str>, usize) {
        let range = match (self.section, self.instructions) {
            (_, Some(instructions)) => return instructions.shown(),
            (None, None) => self.served.body_range(),
            (Some(section), None) => section.range.clone(),
        };
        self.served.shown(range)
    }

    /// Returns true if both belong to one document.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.served.id == other.served.id
    }

    /// Returns the URI of exactly this text, or of its document if the anchor is too long. Returns
    /// `None` for the few ids that URIs cannot name.
    pub fn uri(&self) -> Option<Uri> {
        let uri = self.served.uri()?.clone();
        Some(match self.section {
            Some(section) => uri.of_section(&section.anchor),
            None => uri,
        })
    }

    /// Returns the name of the text: its URI, or its id and section.
    pub(super) fn name(&self) -> String {
        match (self.uri(), self.section) {
            (Some(uri), _) => uri.to_string(),
            (None, None) => self.served.id.to_string(),
            (None, Some(section)) => format!("{}#{}", self.served.id, section.anchor),
        }
    }

    /// Returns the text between two lines, with its own mark, outside of a block.
    pub(in crate::library) fn alone(&self) -> String {
        let hash = &self.served.entry.chain_hash;
        let mark = Mark::of([hash]);
        let begin = |line: Line| line.word("chain_hash", hash).word("mark", &mark);
        self.between(&begin, &mark)
    }

    /// Returns the text between its two lines, as document `n` of a block.
    pub(super) fn to_markdown(self, mark: &Mark, n: usize) -> String {
        self.between(&|line| line.word("n", n), mark)
    }

    /// Returns the line of the document in the table of hashes.
    pub(super) fn row(&self, n: usize) -> String {
        format!("{n} {}\n", self.served.entry.chain_hash.hex())
    }

    /// Counts the tokens of the text between its two lines.
    pub(super) fn tokens(&self, frame: &Frame) -> u64 {
        frame.tokenizer.count(&self.to_markdown(&frame.mark, frame.last))
    }

    /// Counts the tokens of its line in the table of hashes.
    pub(super) fn row_tokens(&self, frame: &Frame) -> u64 {
        frame.tokenizer.count(&self.row(frame.last))
    }

    fn between(&self, keys: &dyn Fn(Line) -> Line, mark: &Mark) -> String {
        let kind = if self.instructions.is_some() { "instructions" } else { "begin" };
        let mut begin = keys(Line::new(kind)).name(self);
        if let Some(pack) = self.instructions.and_then(Instructions::pack) {
            begin = begin.text("pack", pack);
        }
        // A governance file does not have a title.
        if self.served.id.is_document() {
            begin = begin.text("title", self.served.title());
        }
        begin = begin.word("version", self.served.entry.version);
        let Validity { until, superseded_by, .. } = &self.served.fields.validity;
        for (key, text) in [("valid_until", until), ("superseded_by", superseded_by)] {
            if let Some(text) = text {
                begin = begin.text(key, text);
            }
        }
        if let Some(part) = self.section.and_then(|section| section.scope.as_str()) {
            begin = begin.word("part", part);
        }
        let (text, comments) = self.shown();
        if comments > 0 {
            begin = begin.word("comments", comments);
        }
        let (text, escaped) = hidden::shown(&text);
        if escaped > 0 {
            begin = begin.word("escaped", escaped);
        }
        // The end of a text is on a line of its own.
        let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let end = format!("<!-- ctx:end {mark} -->\n");
        [&begin.end(), text.as_ref(), line_end, &end].concat()
    }
}

/// Returns a staged content, or a text made of two, between two lines that name it and mark its
/// end. The hashes are those of the lines, which cover the contents, so no content can contain
/// the mark.
pub(crate) fn staged_block(
    (name, facts): (&str, &[(&str, &str)]),
    hashes: &[&Digest],
    text: &str,
) -> String {
    let mark = Mark::of(hashes.iter().copied());
    block(Line::new("staged").word("uri", name), facts, &mark, text)
}

/// Returns a draft or submission for its author, between two such lines.
#[cfg(feature = "mcp")]
pub(crate) fn own_block((id, facts): (&str, &[(&str, &str)]), hash: &Digest, text: &str) -> String {
    block(Line::new("draft").text("id", id), facts, &Mark::of([hash]), text)
}

fn block(line: Line, facts: &[(&str, &str)], mark: &Mark, text: &str) -> String {
    let begin = facts.iter().fold(line, |line, (key, value)| line.text(key, value));
    let (text, escaped) = hidden::shown(text);
    let begin = if escaped > 0 { begin.word("escaped", escaped) } else { begin };
    let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let end = format!("<!-- ctx:end {mark} -->\n");
    [&begin.word("mark", mark).end(), text.as_ref(), line_end, &end].concat()
}

/// A line outside of all documents: a comment in Markdown, with values that cannot leave it.
pub(super) struct Line(String);

impl Line {
    pub(super) fn new(kind: &str) -> Self {
        Self(format!("<!-- ctx:{kind}"))
    }

    /// Appends a value of harmless characters.
    pub(super) fn word(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.0.push_str(&format!(" {key}={value}"));
        self
    }

    /// Appends an escaped value.
    pub(super) fn text(self, key: &str, value: &str) -> Self {
        let value: Cow<'_, str> = value.replace('\\', "\\\\").replace('"', "\\\"").into();
        let value = value.replace('<', "\\u{3c}").replace('>', "\\u{3e}");
        self.word(key, format_args!("\"{}\"", shown(&value)))
    }

    /// Appends the name of a text: its URI, which never contains a blank or `>`, or its id. If the
    /// URI does not name the section, appends that, too.
    pub(super) fn name(self, portion: &Portion<'_>) -> Self {
        let (line, is_named) = match portion.uri() {
            Some(uri) => {
                let has_anchor = matches!(uri.target, Target::Document { anchor: Some(_), .. });
                (self.word("uri", uri), has_anchor)
            }
            None => (self.text("id", portion.served.id.as_str()), false),
        };
        let is_unnamed = |section: &&Section| {
            portion.served.uri().is_none() || !is_named && !section.anchor.is_empty()
        };
        match portion.section.filter(is_unnamed) {
            Some(section) => line.text("section", &section.anchor),
            None => line,
        }
    }

    pub(super) fn end(mut self) -> String {
        self.0.push_str(" -->\n");
        self.0
    }
}
