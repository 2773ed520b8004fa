//! What a document says only in a vault with the layout of Obsidian: names beside its file name, and
//! tags in its body; and what of its body is not served: comments (`spec/document.md`, section 7).
//!
//! [`Markup`] is the one place that decides it. A snapshot takes it from the configuration that its
//! checkpoint seals, what reads live files from the live one. [`Additions`] follow from the text
//! alone, so that an index holds them whatever the layout is.

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

/// How the texts of a vault are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Markup {
    /// As CommonMark, and the frontmatter says the rest.
    #[default]
    Plain,
    /// As Obsidian reads them.
    Obsidian,
    /// It is not known which of the two: nothing is added, and comments are left out all the same.
    Unknown,
}

impl Markup {
    /// What a configuration says. A layout that was only found decides nothing: what a checkpoint
    /// answers must not depend on the folders that there are now.
    pub fn of(config: &Config) -> Self {
        match config.layout {
            Some(Layout::Obsidian) => Self::Obsidian,
            Some(Layout::Structured) | None => Self::Plain,
        }
    }

    /// What a document with this body says beyond what every layout reads.
    pub fn additions(self, fields: &Frontmatter, body: &str) -> Additions {
        match self {
            Self::Plain | Self::Unknown => Additions::default(),
            Self::Obsidian => Additions::of(fields, body),
        }
    }

    /// The other names of a document.
    pub fn aliases(self, fields: &Frontmatter) -> Vec<String> {
        match self {
            Self::Plain | Self::Unknown => Vec::new(),
            Self::Obsidian => aliases(fields),
        }
    }

    /// The comments of a body, which are not served.
    pub fn comments(self, body: &str) -> Comments {
        match self {
            Self::Plain => Comments::default(),
            Self::Obsidian | Self::Unknown => Comments::of(body),
        }
    }

    /// Whether a document with a tag is found by another one: in the layout of Obsidian by each that
    /// covers it, else by the same one.
    pub fn selects(self, wanted: &Tag, tag: &Tag) -> bool {
        match self {
            Self::Plain | Self::Unknown => wanted == tag,
            Self::Obsidian => wanted.covers(tag),
        }
    }

    /// The spelling under which tags are compared.
    fn key(self, tag: &str) -> String {
        match self {
            Self::Plain | Self::Unknown => tag.to_owned(),
            Self::Obsidian => fold(tag),
        }
    }

    /// Reads a tag that a document can have.
    ///
    /// # Errors
    /// No document has such a tag.
    pub(crate) fn tag(self, text: &str) -> Result<Tag, TagError> {
        match self {
            Self::Plain | Self::Unknown => Tag::plain(text),
            Self::Obsidian => text.parse(),
        }
    }

    /// The hashtags of a body that select nothing, because their names are not tags, each once with its place.
    pub(crate) fn odd_hashtags(self, body: &str) -> Vec<(usize, String)> {
        if self != Self::Obsidian {
            return Vec::new();
        }
        let text = Comments::of(body).blanked(body);
        hashtags::odd(&text).into_iter().map(|(at, name)| (at, name.to_owned())).collect()
    }

    /// The sections of a body.
    pub fn sections(self, body: &str) -> Vec<Section> {
        sections(&self.comments(body).blanked(body))
    }
}

/// What Obsidian reads in a document beyond what every layout reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Additions {
    /// The tags of the frontmatter that are not plain, then those of the body, each once and without
    /// the plain ones of the frontmatter.
    pub tags: Vec<Tag>,
    /// Names by which wikilinks may mean it, in the order of the text, each once.
    pub aliases: Vec<String>,
}

impl Additions {
    /// The additions of a document.
    pub fn of(fields: &Frontmatter, body: &str) -> Self {
        let comments = Comments::of(body);
        let mut tags: Vec<Tag> = fields.odd_tags.iter().filter_map(|t| t.parse().ok()).collect();
        let known = fields.tags.iter().chain(&tags).cloned().collect();
        tags.extend(hashtags::hashtags(&comments.blanked(body), known));
        Self { tags, aliases: aliases(fields) }
    }
}

/// The tags of many documents, which a selector may ask for.
#[derive(Debug)]
pub(crate) struct TagSet {
    markup: Markup,
    /// By the spelling under which they are compared.
    tags: BTreeMap<String, String>,
}

impl TagSet {
    /// These tags; of those that mean the same, one is kept.
    pub(crate) fn new(markup: Markup, tags: impl IntoIterator<Item = String>) -> Self {
        let keyed = tags.into_iter().map(|tag| (markup.key(&tag), tag));
        Self { markup, tags: keyed.collect() }
    }

    /// Whether one of them is found by a tag.
    pub(crate) fn selects(&self, wanted: &Tag) -> bool {
        let key = self.markup.key(wanted.as_str());
        let below = format!("{key}/");
        let is_below = || {
            let next = self.tags.range(below.clone()..).next();
            next.is_some_and(|(tag, _)| tag.starts_with(&below))
        };
        self.tags.contains_key(&key) || (self.markup == Markup::Obsidian && is_below())
    }

    /// Their spellings.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.tags.values().map(String::as_str)
    }
}

/// The texts of `aliases` and of `alias`. One text holds several, parted by commas or line ends.
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
    fn only_the_layout_that_is_written_down_counts() {
        let markup = |text: &str| Markup::of(&Config::parse(text).unwrap());
        assert_eq!(markup("layout: obsidian\n"), Markup::Obsidian);
        assert_eq!(markup("layout: structured\n"), Markup::Plain);
        assert_eq!(markup("name: X\n"), Markup::Plain);
    }
}
