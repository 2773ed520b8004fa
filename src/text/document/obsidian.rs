//! The obsidian layout's additions to a document: further names, and tags in the body. Also its
//! comments, which are not served (`spec/document.md`, section 7).
//!
//! Only [`Markup`] decides about them. A snapshot takes it from the configuration that its
//! checkpoint seals, and code that reads live files takes it from the live one. [`Additions`]
//! depend on the text alone, so that an index contains them for every layout.

mod comments;
mod hashtags;

use std::collections::{BTreeMap, HashSet};

pub use comments::Comments;
pub(crate) use comments::sections;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

use super::frontmatter::Frontmatter;
use super::sections::Section;
use crate::files::vault::config::{Config, Layout};
use crate::values::model::id::fold;
use crate::values::model::tag::{Tag, TagError};
use crate::values::yaml::{Node, Value};

/// The markup in which the texts of a vault are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Markup {
    /// CommonMark, without additions from the body.
    #[default]
    Plain,
    /// The markup of Obsidian.
    Obsidian,
    /// Unknown which of the two: nothing is added, but comments are left out.
    Unknown,
}

impl Markup {
    /// Returns the markup of a configuration. A layout that is only detected is not used: the
    /// answer at a checkpoint must not depend on the folders that exist now.
    pub fn of(config: &Config) -> Self {
        match config.layout {
            Some(Layout::Obsidian) => Self::Obsidian,
            Some(Layout::Structured) | None => Self::Plain,
        }
    }

    /// Returns the additions of a document with this body.
    pub fn additions(self, fields: &Frontmatter, body: &str) -> Additions {
        match self {
            Self::Plain | Self::Unknown => Additions::default(),
            Self::Obsidian => Additions::of(fields, body),
        }
    }

    /// Returns the aliases of a document.
    pub fn aliases(self, fields: &Frontmatter) -> Vec<String> {
        match self {
            Self::Plain | Self::Unknown => Vec::new(),
            Self::Obsidian => aliases(fields),
        }
    }

    /// Returns the comments of a body, which are not served.
    pub fn comments(self, body: &str) -> Comments {
        match self {
            Self::Plain => Comments::default(),
            Self::Obsidian | Self::Unknown => Comments::of(body),
        }
    }

    /// Returns true if the tag `wanted` in a selector matches a document with `tag`: in the
    /// obsidian layout if it covers the tag, else if they are equal.
    pub fn selects(self, wanted: &Tag, tag: &Tag) -> bool {
        match self {
            Self::Plain | Self::Unknown => wanted == tag,
            Self::Obsidian => wanted.covers(tag),
        }
    }

    /// Returns the spelling in which tags are compared.
    fn key(self, tag: &str) -> String {
        match self {
            Self::Plain | Self::Unknown => tag.to_owned(),
            Self::Obsidian => fold(tag),
        }
    }

    /// Parses a tag that a document can have.
    ///
    /// # Errors
    /// No document can have such a tag.
    pub(crate) fn tag(self, text: &str) -> Result<Tag, TagError> {
        match self {
            Self::Plain | Self::Unknown => Tag::plain(text),
            Self::Obsidian => text.parse(),
        }
    }

    /// Returns the hashtags of a body that select nothing, because their names are not tags, each
    /// once with its position.
    pub(crate) fn odd_hashtags(self, body: &str) -> Vec<(usize, String)> {
        if self != Self::Obsidian {
            return Vec::new();
        }
        let text = Comments::of(body).blanked(body);
        hashtags::odd(&text).into_iter().map(|(at, name)| (at, name.to_owned())).collect()
    }

    /// Returns the sections of a body.
    pub fn sections(self, body: &str) -> Vec<Section> {
        sections(&self.comments(body).blanked(body))
    }
}

/// The additions that Obsidian reads in a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Additions {
    /// Tags of the frontmatter that are not plain, then those of the body, each once and without
    /// the plain ones of the frontmatter.
    pub tags: Vec<Tag>,
    /// Names that wikilinks may use for the document, in the order of the text, each once.
    pub aliases: Vec<String>,
}

impl Additions {
    /// Reads the additions of a document.
    pub fn of(fields: &Frontmatter, body: &str) -> Self {
        let comments = Comments::of(body);
        let mut tags: Vec<Tag> = fields.odd_tags.iter().filter_map(|t| t.parse().ok()).collect();
        let known = fields.tags.iter().chain(&tags).cloned().collect();
        tags.extend(hashtags::hashtags(&comments.blanked(body), known));
        Self { tags, aliases: aliases(fields) }
    }
}

/// The tags of many documents, for tags in selectors.
#[derive(Debug)]
pub(crate) struct TagSet {
    markup: Markup,
    /// Tags by the spelling in which they are compared.
    tags: BTreeMap<String, String>,
}

impl TagSet {
    /// Makes a set of tags; one spelling of equal tags is kept.
    pub(crate) fn new(markup: Markup, tags: impl IntoIterator<Item = String>) -> Self {
        let keyed = tags.into_iter().map(|tag| (markup.key(&tag), tag));
        Self { markup, tags: keyed.collect() }
    }

    /// Returns true if a tag in a selector matches one of them.
    pub(crate) fn selects(&self, wanted: &Tag) -> bool {
        let key = self.markup.key(wanted.as_str());
        let below = format!("{key}/");
        let is_below = || {
            let next = self.tags.range(below.clone()..).next();
            next.is_some_and(|(tag, _)| tag.starts_with(&below))
        };
        self.tags.contains_key(&key) || (self.markup == Markup::Obsidian && is_below())
    }

    /// Returns their spellings.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.tags.values().map(String::as_str)
    }
}

/// Returns the texts of `aliases` and `alias`. One text may contain several, separated by commas or
/// line ends.
fn aliases(fields: &Frontmatter) -> Vec<String> {
    let nodes = ["aliases", "alias"].into_iter().filter_map(|key| fields.get(key));
    let texts = nodes.flat_map(|node| -> Vec<&str> {
        match &node.value {
            _ if node.is_null() => Vec::new(),
            Value::Scalar { text, .. } => text.split([',', '\n']).collect(),
            Value::Sequence { items, .. } => {
                items.iter().filter(|item| !item.is_null()).filter_map(Node::text).collect()
            }
            Value::Mapping { .. } => Vec::new(),
        }
    });
    let mut seen = HashSet::new();
    let names = texts.map(|text| text.trim().nfc().collect::<String>());
    names.filter(|name| !name.is_empty() && seen.insert(name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::document::Document;

    fn of(text: &str) -> Additions {
        let document = Document::parse(text).unwrap();
        Markup::Obsidian.additions(&document.frontmatter, &text[document.parts.body..])
    }

    #[test]
    fn aliases_are_a_list_or_one_text() {
        let cases = [
            ("aliases: [Refunds, 'A, B', ' Refunds ', '']", &["Refunds", "A, B"][..]),
            ("aliases: Refunds, Money back", &["Refunds", "Money back"]),
            ("aliases: |\n  One\n  Two", &["One", "Two"]),
            ("alias: One\naliases:\n  - Two\n  - One", &["Two", "One"]),
            ("aliases: [e\u{301}]", &["\u{e9}"]),
            ("aliases: 2024", &["2024"]),
            ("aliases: {a: b}\nalias:", &[]),
            ("aliases: [[a], null]", &[]),
        ];
        for (fields, expected) in cases {
            assert_eq!(of(&format!("---\n{fields}\n---\n")).aliases, expected, "{fields}");
        }
    }

    #[test]
    fn tags_of_the_body_come_after_those_of_the_frontmatter_and_comments_have_none() {
        let found = of("---\ntags: [a]\n---\n# T #b\n#a %%#c%%#d %% #e\n%% #b #f\n");
        let tags: Vec<&str> = found.tags.iter().map(Tag::as_str).collect();
        assert_eq!(tags, ["b", "d", "f"]);
    }

    #[test]
    fn markup_follows_only_a_configured_layout() {
        let markup = |text: &str| Markup::of(&Config::parse(text).unwrap());
        assert_eq!(markup("layout: obsidian\n"), Markup::Obsidian);
        assert_eq!(markup("layout: structured\n"), Markup::Plain);
        assert_eq!(markup("name: X\n"), Markup::Plain);
    }
}
