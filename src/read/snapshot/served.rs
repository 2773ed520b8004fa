//! A text that the chain vouches for, and what of it is put out: all of it but comments, where the
//! layout of its checkpoint has such (`spec/document.md`, section 7).

use std::borrow::Cow;
use std::ops::Range;

use super::provenance::Provenance;
use crate::record::chain::history::Entry;
use crate::text::document::Document;
use crate::text::document::frontmatter::{Frontmatter, NodeType};
use crate::text::document::links::{self, Links};
use crate::text::document::obsidian::{self, Comments, Markup};
use crate::text::document::sections::{self, Section, UnknownAnchor};
use crate::text::uri::Uri;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// A version that the chain vouches for.
#[derive(Clone, Debug)]
pub struct Served {
    /// The document.
    pub id: DocumentId,
    /// The checkpoint it was resolved at.
    pub checkpoint: CheckpointNumber,
    /// Its record.
    pub entry: Entry,
    /// Its text in normal form, frontmatter included.
    pub text: String,
    /// The fields of that text; among the tags are those of its body, where the checkpoint's layout
    /// has such.
    pub fields: Frontmatter,
    /// Who answers for the text, besides its record.
    pub(crate) provenance: Provenance,
    /// Its other names, where the checkpoint's layout has such.
    pub(crate) aliases: Vec<String>,
    /// What of the text is served.
    pub(super) visible: Visible,
    /// The version whose full text it was rebuilt from, if all that follows is in the history, which
    /// ends with this version; what is served depends on no other files.
    pub(crate) keyframe: Option<Version>,
    pub(super) uri: Option<Uri>,
    pub(super) body: usize,
}

/// What of a text is served.
#[derive(Clone, Debug, Default)]
pub(super) struct Visible {
    /// The comments, as bytes of the text.
    pub(super) comments: Comments,
    /// The text with white space in their place, where there are any.
    blanked: Option<String>,
}

impl Visible {
    /// How the text of an artifact is read where documents are read so. The text that goes to every
    /// agent has comments as documents have; other governance files have none.
    pub(super) fn markup(id: &DocumentId, of_documents: Markup) -> Markup {
        match id.is_markdown() {
            true => of_documents,
            false => Markup::Plain,
        }
    }

    /// What is served of a text whose body begins at `body`.
    pub(super) fn of(text: &str, body: usize, markup: Markup) -> Self {
        let comments = markup.comments(&text[body..]).shifted(body);
        let blanked = (!comments.ranges.is_empty()).then(|| comments.blanked(text).into_owned());
        Self { comments, blanked }
    }

    /// The sections of the text whose body begins at `body`, as bytes of the text. A comment has none.
    pub(super) fn sections(&self, text: &str, body: usize) -> Vec<Section> {
        let whole = |mut section: Section| {
            section.range = section.range.start + body..section.range.end + body;
            section
        };
        let found = match &self.blanked {
            Some(blanked) => obsidian::sections(&blanked[body..]),
            None => sections::sections(&text[body..]),
        };
        found.into_iter().map(whole).collect()
    }
}

impl Served {
    /// The text after the frontmatter, comments included.
    pub fn body(&self) -> &str {
        &self.text[self.body..]
    }

    /// A part of the text as it is served: without comments; and how many of them there were.
    pub fn shown(&self, range: Range<usize>) -> (Cow<'_, str>, usize) {
        self.visible.comments.left_out(&self.text, range)
    }

    /// The pieces that [`Served::shown`] puts together.
    pub(crate) fn shown_pieces(&self, range: Range<usize>) -> Vec<Range<usize>> {
        self.visible.comments.kept(range).0
    }

    /// The bytes of the body in [`Served::text`].
    pub fn body_range(&self) -> Range<usize> {
        self.body..self.text.len()
    }

    /// The text with white space in the place of comments: byte for byte as long.
    pub(crate) fn visible(&self) -> &str {
        self.visible.blanked.as_deref().unwrap_or(&self.text)
    }

    /// The sections of the text, as bytes of [`Served::text`]. A comment has none.
    pub fn sections(&self) -> Vec<Section> {
        self.visible.sections(&self.text, self.body)
    }

    /// What stands before the first of all sections.
    pub(super) fn beginning(&self, all: &[Section]) -> Section {
        let end = all.first().map_or(self.text.len(), |first| first.range.start);
        Section::beginning(self.body..end)
    }

    /// The section that an anchor names, as bytes of [`Served::text`].
    ///
    /// # Errors
    /// There is none of this name.
    pub fn section(&self, anchor: &str) -> Result<Section, UnknownAnchor> {
        let all = self.sections();
        match sections::place_of(&all, anchor) {
            Some(n) => Ok(all[n].clone()),
            None => {
                let known = all.into_iter().map(|section| section.anchor).collect();
                Err(UnknownAnchor { anchor: anchor.to_owned(), known })
            }
        }
    }

    /// What it refers to.
    pub fn links(&self) -> Links {
        let again = match &self.fields.root {
            None if self.body > 0 => Document::parse(&self.text).ok(),
            _ => None,
        };
        let fields = again.as_ref().map_or(&self.fields, |document| &document.frontmatter);
        links::read(&self.id, &self.text, fields, self.body)
    }

    /// Drops the tree of the frontmatter, which takes more memory than the text. Of a document in
    /// an answer only its links are read from it, for which it is made again; of a source, more.
    pub(super) fn without_tree(mut self) -> Self {
        if self.fields.node_type != NodeType::Source {
            self.fields.root = None;
        }
        self
    }

    /// The title, or the id where a governance file has none.
    pub fn title(&self) -> &str {
        self.fields.title.as_deref().unwrap_or_else(|| self.id.as_str())
    }

    /// The URI that names exactly this text; none for the few ids that a URI cannot name.
    pub fn uri(&self) -> Option<&Uri> {
        self.uri.as_ref()
    }
}
