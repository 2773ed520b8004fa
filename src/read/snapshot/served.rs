//! A text that the chain vouches for, and its served part: all of it except comments, if the layout
//! of its checkpoint has comments (`spec/document.md`, section 7).

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
    /// Id of the document or governance file.
    pub id: DocumentId,
    /// Checkpoint at which it was resolved.
    pub checkpoint: CheckpointNumber,
    /// Entry of the version.
    pub entry: Entry,
    /// Text in normal form, including the frontmatter.
    pub text: String,
    /// Fields of the text. The tags include those of the body, if the checkpoint's layout has
    /// such tags.
    pub fields: Frontmatter,
    /// Responsibility for the text, in addition to its entry.
    pub(crate) provenance: Provenance,
    /// Aliases, if the checkpoint's layout has aliases.
    pub(crate) aliases: Vec<String>,
    /// Served part of the text.
    pub(super) visible: Visible,
    /// Version of the keyframe that it was rebuilt from, if all later versions are inside the
    /// history, which ends with this version. Then the served text does not depend on other files.
    pub(crate) keyframe: Option<Version>,
    pub(super) uri: Option<Uri>,
    pub(super) body: usize,
}

/// Served part of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Visible {
    /// Comments, as byte ranges of the text.
    pub(super) comments: Comments,
    /// Text with white space in place of comments; `None` without comments.
    blanked: Option<String>,
}

impl Visible {
    /// Returns the markup of an artifact, given that of documents. Texts for every agent have
    /// comments like documents; other governance files do not.
    pub(super) fn markup(id: &DocumentId, of_documents: Markup) -> Markup {
        match id.is_markdown() {
            true => of_documents,
            false => Markup::Plain,
        }
    }

    /// Returns the served part of a text whose body begins at `body`.
    pub(super) fn of(text: &str, body: usize, markup: Markup) -> Self {
        let comments = markup.comments(&text[body..]).shifted(body);
        let blanked = (!comments.ranges.is_empty()).then(|| comments.blanked(text).into_owned());
        Self { comments, blanked }
    }

    /// Returns the sections of a text whose body begins at `body`, as byte ranges of the text.
    /// Comments do not contain sections.
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
    /// Returns the text after the frontmatter, including comments.
    pub fn body(&self) -> &str {
        &self.text[self.body..]
    }

    /// Returns the served form of a part of the text, without comments, and the number of comments.
    pub fn shown(&self, range: Range<usize>) -> (Cow<'_, str>, usize) {
        self.visible.comments.left_out(&self.text, range)
    }

    /// Returns the pieces that [`Served::shown`] joins.
    pub(crate) fn shown_pieces(&self, range: Range<usize>) -> Vec<Range<usize>> {
        self.visible.comments.kept(range).0
    }

    /// Returns the byte range of the body in [`Served::text`].
    pub fn body_range(&self) -> Range<usize> {
        self.body..self.text.len()
    }

    /// Returns the text with white space in place of comments; it has the same length.
    pub(crate) fn visible(&self) -> &str {
        self.visible.blanked.as_deref().unwrap_or(&self.text)
    }

    /// Returns the sections of the text, as byte ranges of [`Served::text`]. Comments do not
    /// contain sections.
    pub fn sections(&self) -> Vec<Section> {
        self.visible.sections(&self.text, self.body)
    }

    /// Returns the part before the first section.
    pub(super) fn beginning(&self, all: &[Section]) -> Section {
        let end = all.first().map_or(self.text.len(), |first| first.range.start);
        Section::beginning(self.body..end)
    }

    /// Returns the section that an anchor names, as a byte range of [`Served::text`].
    ///
    /// # Errors
    /// Fails if no section has this anchor.
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

    /// Returns the links of the document.
    pub fn links(&self) -> Links {
        let again = match &self.fields.root {
            None if self.body > 0 => Document::parse(&self.text).ok(),
            _ => None,
        };
        let fields = again.as_ref().map_or(&self.fields, |document| &document.frontmatter);
        links::read(&self.id, &self.text, fields, self.body)
    }

    /// Drops the tree of the frontmatter, which takes more memory than the text. Only the links of
    /// a document in an answer need it, and parse it again; a source needs more of it.
    pub(super) fn without_tree(mut self) -> Self {
        if self.fields.node_type != NodeType::Source {
            self.fields.root = None;
        }
        self
    }

    /// Returns the title, or the id if a governance file has none.
    pub fn title(&self) -> &str {
        self.fields.title.as_deref().unwrap_or_else(|| self.id.as_str())
    }

    /// Returns the URI of exactly this text; `None` for the few ids that URIs cannot name.
    pub fn uri(&self) -> Option<&Uri> {
        self.uri.as_ref()
    }
}
