//! The fields of a document's frontmatter that `ctx` reads (`spec/document.md`).
//!
//! Reading never fails because of a field: a value that is not understood is kept, read as absent,
//! and reported by [`crate::text::document::validate`]. A document is unreadable only if the block
//! is not a YAML mapping.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::not_for_use;
use super::obsidian::Markup;
use super::validity::{Validity, is_one_of};
use crate::files::vault::audit;
use crate::values::codes::serialize_as_words;
use crate::values::model::name::is_name;
use crate::values::model::number::Version;
use crate::values::model::stage::StagePolicy;
use crate::values::model::tag::Tag;
use crate::values::model::transport::Transport;
use crate::values::yaml::{Node, Value};

/// The purpose of a document. Nine words have a meaning here (paper, Table 1; `skill` is ours).
/// Every other word is a type that a selector can name, and is treated as [`NodeType::Document`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum NodeType {
    /// Documentation, guides, overviews.
    #[default]
    Document,
    /// A short, reusable fragment.
    Snippet,
    /// Terms and their definitions.
    Glossary,
    /// The behavior that an agent should have.
    Persona,
    /// Templates and instructions for models.
    Prompt,
    /// Instructions for fetching live data.
    Source,
    /// The use of a tool.
    Tool,
    /// Links and citations.
    Reference,
    /// A procedure that an agent can follow.
    Skill,
    /// A word with a meaning in another program.
    Other(String),
}

impl NodeType {
    /// The types that have a meaning here, with their words.
    pub const ALL: [(&'static str, Self); 9] = [
        ("document", Self::Document),
        ("snippet", Self::Snippet),
        ("glossary", Self::Glossary),
        ("persona", Self::Persona),
        ("prompt", Self::Prompt),
        ("source", Self::Source),
        ("tool", Self::Tool),
        ("reference", Self::Reference),
        ("skill", Self::Skill),
    ];

    /// Returns the word in a frontmatter.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            known => {
                Self::ALL.iter().find(|(_, t)| t == known).map_or("document", |(word, _)| word)
            }
        }
    }

    /// Returns the type with this word; `None` if the text cannot be a type.
    pub fn from_word(word: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|(known, _)| *known == word);
        let other = || is_name(word).then(|| Self::Other(word.to_owned()));
        known.map(|(_, known)| known).or_else(other)
    }
}

/// The field `status`, which decides if a document can be eligible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Work in progress; also the status if the field is absent.
    Draft,
    /// Eligible, after a publication has sealed it.
    Published,
    /// A word of another system; the document is not eligible.
    Foreign(String),
}

serialize_as_words!(Status);

impl Status {
    /// Parses a status word. The reference implementation's words for published are read in
    /// any case.
    pub fn from_word(word: &str) -> Self {
        const PUBLISHED: [&str; 6] =
            ["published", "active", "live", "released", "final", "shipped"];
        if PUBLISHED.iter().any(|w| w.eq_ignore_ascii_case(word)) {
            Self::Published
        } else if word.eq_ignore_ascii_case("draft") {
            Self::Draft
        } else {
            Self::Foreign(word.to_owned())
        }
    }

    /// Returns the word to show.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Draft => "draft",
            Self::Published => "published",
            Self::Foreign(word) => word,
        }
    }
}

/// The `source` block of a source node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceBlock {
    /// Protocol of the server.
    pub transport: Option<Transport>,
    /// Name of the server, as the configuration declares it.
    pub server: Option<String>,
    /// Tools to call.
    pub tools: Vec<String>,
    /// URIs of the sources to hydrate first.
    pub depends_on: Vec<String>,
    /// Seconds for which a result may be reused.
    pub cache_ttl: Option<u64>,
    /// Policy for keeping results.
    pub stage: Option<StagePolicy>,
    /// Number of days for which a result is kept.
    pub retention: Option<u64>,
}

/// The fields that `ctx` understands; the rest stays in [`Frontmatter::root`].
#[derive(Clone, Debug)]
pub struct Frontmatter {
    /// Whole mapping; `None` if the document lacks a frontmatter, or has an empty one.
    pub root: Option<Node>,
    /// `title`, if it is a text.
    pub title: Option<String>,
    /// `description`, if it is a text.
    pub description: Option<String>,
    /// `type`, or `document` if that is absent or not a word.
    pub node_type: NodeType,
    /// Tags without `#`, in order, each once: the plain ones, then those that the layout adds.
    pub tags: Vec<Tag>,
    /// Tags of the field that are not plain. Some of them are tags in the obsidian layout.
    pub odd_tags: Vec<String>,
    /// Markup that decides how tags are compared.
    pub(crate) markup: Markup,
    /// Status of the document; [`Status::Draft`] if absent.
    pub status: Status,
    /// `version`, if it is a number.
    pub version: Option<Version>,
    /// `author`; a list is joined by commas.
    pub author: Option<String>,
    /// `created_at` as written.
    pub created_at: Option<String>,
    /// `updated_at` as written.
    pub updated_at: Option<String>,
    /// `checksum` as written.
    pub checksum: Option<String>,
    /// Declared end of validity, and successor.
    pub validity: Validity,
    /// The `source` block, of source nodes only.
    pub source: Option<SourceBlock>,
}

impl Frontmatter {
    /// Returns `promoted_from`, the URI of a staged entry (STAGE-16), if it is a text.
    pub fn promoted_from(&self) -> Option<&str> {
        self.root.as_ref()?.get("promoted_from")?.text()
    }

    /// Reads the fields of a mapping.
    pub fn read(root: Option<Node>) -> Self {
        let get = |key: &str| root.as_ref().and_then(|r| r.get(key)).filter(|n| !n.is_null());
        let text = |key: &str| get(key).and_then(Node::text).map(str::to_owned);
        let node_type = text("type").and_then(|t| NodeType::from_word(&t)).unwrap_or_default();
        let (tags, odd_tags) = read_tags(get("tags"));
        let source = (node_type == NodeType::Source)
            .then(|| get("source").filter(|n| n.entries().is_some()).map(read_source))
            .flatten();
        Self {
            title: text("title"),
            description: text("description"),
            node_type,
            tags,
            odd_tags,
            markup: Markup::Plain,
            status: text("status").map_or(Status::Draft, |word| Status::from_word(&word)),
            version: get("version").and_then(Node::number).map(Version),
            author: get("author").and_then(joined),
            created_at: text("created_at"),
            updated_at: text("updated_at"),
            checksum: text("checksum"),
            validity: Validity::read(root.as_ref()),
            source,
            root,
        }
    }

    /// Returns the value of any field.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.root.as_ref()?.get(key)
    }

    /// Returns the field `draft` if it is true: a mark of other programs, such as Hugo (DOC-40).
    pub fn draft_mark(&self) -> Option<(&str, &Node)> {
        let entries = self.root.as_ref().and_then(Node::entries).unwrap_or_default();
        let fields = entries.iter().filter_map(|(key, value)| Some((key.text()?, value)));
        let is_mark = |(name, value): &(&str, &Node)| {
            is_one_of(name, &["draft", "isdraft"]) && not_for_use::is_true(value)
        };
        fields.into_iter().find(is_mark)
    }

    /// Returns that field with its value, as `draft: true`.
    pub(crate) fn draft_said(&self) -> Option<String> {
        let (name, value) = self.draft_mark()?;
        Some(format!("{name}: {}", value.text().unwrap_or_default()))
    }

    /// Returns true if the file is marked as a draft: by `status`, or if that is absent by `draft:
    /// true` (DOC-40).
    pub fn says_draft(&self) -> bool {
        let has_status = self.get("status").is_some_and(|word| !word.is_null());
        self.is_marked_draft() || (has_status && self.status == Status::Draft)
    }

    /// Returns true if `draft: true` alone marks the file as a draft.
    pub fn is_marked_draft(&self) -> bool {
        self.get("status").is_none_or(Node::is_null) && self.draft_mark().is_some()
    }

    /// Adds the tags that a document has under a certain markup.
    pub fn add_tags(&mut self, tags: Vec<Tag>, markup: Markup) {
        self.tags.extend(tags);
        self.markup = markup;
    }

    /// Returns true if a tag in a selector matches the document.
    pub fn has_tag(&self, wanted: &Tag) -> bool {
        self.tags.iter().any(|tag| self.markup.selects(wanted, tag))
    }
}

/// Returns the items of a list, or a single value as a list of one.
pub(crate) fn one_or_many(node: Option<&Node>) -> &[Node] {
    match node.filter(|node| !node.is_null()) {
        Some(node) => node.items().unwrap_or(std::slice::from_ref(node)),
        None => &[],
    }
}

/// Reads tags from a list, or from one text with several tags between commas and blanks.
fn read_tags(node: Option<&Node>) -> (Vec<Tag>, Vec<String>) {
    let (mut tags, mut odd) = (Vec::new(), Vec::new());
    let Some(node) = node else { return (tags, odd) };
    let words: Vec<&str> = match &node.value {
        Value::Scalar { text, .. } => {
            text.split([',', ' ', '\t', '\n']).filter(|w| !w.is_empty()).collect()
        }
        Value::Sequence { items, .. } => items.iter().filter_map(Node::text).collect(),
        Value::Mapping { .. } => Vec::new(),
    };
    // A set, because a text of 64 KiB can contain 20,000 tags.
    let mut seen = HashSet::new();
    for word in words {
        let tag = word.strip_prefix('#').unwrap_or(word);
        if seen.insert(tag) {
            match Tag::plain(tag) {
                Ok(tag) => tags.push(tag),
                Err(_) => odd.push(tag.to_owned()),
            }
        }
    }
    (tags, odd)
}

fn read_source(node: &Node) -> SourceBlock {
    let texts = |key: &str| -> Vec<String> {
        let items = node.get(key).and_then(Node::items).unwrap_or_default();
        items.iter().filter_map(Node::text).map(str::to_owned).collect()
    };
    let text = |key: &str| node.get(key).filter(|n| !n.is_null()).and_then(Node::text);
    SourceBlock {
        transport: text("transport").and_then(Transport::from_word),
        server: text("server").map(str::to_owned),
        tools: texts("tools"),
        depends_on: texts("depends_on"),
        cache_ttl: node.get("cache_ttl").and_then(Node::number),
        stage: text("stage").and_then(StagePolicy::from_word),
        retention: node.get("retention").and_then(|days| audit::days(days).ok()),
    }
}

fn joined(node: &Node) -> Option<String> {
    match node.items() {
        Some(items) => {
            let names: Vec<&str> = items.iter().filter_map(Node::text).collect();
            (!names.is_empty()).then(|| names.join(", "))
        }
        None => node.text().map(str::to_owned),
    }
}
