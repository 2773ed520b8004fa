//! A row of the index: one version of one artifact, and the terms that find it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::read::graph::{Mention, name_key};
use crate::text::document::Document;
use crate::text::document::frontmatter::{Frontmatter, NodeType, SourceBlock};
use crate::text::document::links::{Link, LinkKind, LinkTarget, links};
use crate::text::document::obsidian::Additions;
use crate::values::model::id::{DocumentId, fold};
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::tag::Tag;

/// One version of one artifact, as the log seals it. The id comes first, because rows are searched
/// by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) version: Version,
    pub(super) chain_hash: [u8; 32],
    /// First checkpoint that sealed this version.
    pub(super) sealed: CheckpointNumber,
    pub(super) contents: Contents,
}

/// Indexed contents of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Contents {
    /// A governance file, which no selector returns.
    Governance,
    /// A governance file without a valid approval when it was indexed.
    Unapproved,
    /// Text that the chain did not vouch for when it was indexed, or that no valid approval
    /// published. Its fields are unknown.
    Unreadable,
    /// Verified fields of a document as every layout reads them, and the additions of Obsidian.
    /// Rows do not depend on the layout, because each checkpoint may seal another one.
    Document(Box<(Metadata, Additions)>),
}

/// Fields of a verified text that a question can ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) node_type: NodeType,
    /// Tags, without `#`.
    pub(crate) tags: Vec<Tag>,
    /// Aliases, if the layout has aliases.
    pub(crate) aliases: Vec<String>,
    /// Source block, if the document is a source.
    pub(crate) source: Option<SourceBlock>,
    /// Mentions of other documents.
    pub(crate) mentions: BTreeSet<Mention>,
}

impl Metadata {
    /// Returns the fields of a verified text.
    pub(crate) fn of(id: &DocumentId, text: &str, document: &Document) -> Self {
        Self::new(&document.frontmatter, links(id, text, document))
    }

    /// Returns the fields of a verified text with these links.
    pub(crate) fn new(fields: &Frontmatter, links: Vec<Link>) -> Self {
        Self {
            title: fields.title.clone(),
            description: fields.description.clone(),
            node_type: fields.node_type.clone(),
            tags: fields.tags.clone(),
            aliases: Vec::new(),
            source: fields.source.clone(),
            mentions: links.into_iter().map(Mention::from).collect(),
        }
    }

    /// Adds the fields that the layout adds.
    pub(super) fn with(mut self, additions: Additions) -> Self {
        self.tags.extend(additions.tags);
        self.aliases = additions.aliases;
        self
    }
}

/// Name of a posting list: its kind and subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Term<'t> {
    /// Every document whose fields are known.
    Known,
    /// Every document whose fields are unknown.
    Unreadable,
    Tag(&'t Tag),
    /// Documents with a tag that only the layout of Obsidian adds.
    Added(&'t Tag),
    Type(&'t str),
    Transport(&'t str),
    Server(&'t str),
    /// Documents that link to this id.
    Link(LinkKind, &'t str),
    /// Documents with a link to this path from the root of a site.
    Site(&'t str),
    /// Documents with a wikilink whose name has this key.
    Named(&'t str),
    /// Documents whose id has this key.
    Name(&'t str),
    /// Documents with an alias that folds to this text.
    Alias(&'t str),
}

impl Term<'_> {
    /// Returns the key of the term in a dictionary.
    pub(super) fn key(&self) -> String {
        let (kind, name) = match self {
            Self::Tag(tag) => return tag_key(TAGS, &tag.folded(), tag.as_str()),
            Self::Added(tag) => return tag_key(ADDED_TAGS, &tag.folded(), tag.as_str()),
            Self::Known => ("d", ""),
            Self::Unreadable => ("u", ""),
            Self::Type(name) => (TYPES, *name),
            Self::Transport(name) => ("p:", *name),
            Self::Server(name) => (SERVERS, *name),
            Self::Link(LinkKind::Reference, id) => ("lr:", *id),
            Self::Link(LinkKind::DependsOn, id) => ("ld:", *id),
            Self::Link(LinkKind::DerivedFrom, id) => ("lv:", *id),
            Self::Site(path) => ("ls:", *path),
            Self::Named(name) => ("lw:", *name),
            Self::Name(name) => ("n:", *name),
            Self::Alias(name) => ("a:", *name),
        };
        format!("{kind}{name}")
    }
}

/// Prefix of the keys of tags.
pub(super) const TAGS: &str = "t:";
/// Prefix of the keys of tags that a layout adds.
pub(super) const ADDED_TAGS: &str = "h:";
/// Character between the folded spelling of a tag in its key and the tag itself. So tags that
/// differ in case, and those below a tag, are next to each other.
pub(super) const FOLDED_END: char = '\0';
/// Prefix of the keys of types.
pub(super) const TYPES: &str = "y:";
/// Prefix of the keys of servers.
pub(super) const SERVERS: &str = "s:";

fn tag_key(kind: &str, folded: &str, tag: &str) -> String {
    format!("{kind}{folded}{FOLDED_END}{tag}")
}

impl Row {
    /// Passes each term that finds the row to `take`.
    pub(super) fn terms(&self, mut take: impl FnMut(&Term<'_>)) {
        let (metadata, additions) = match &self.contents {
            Contents::Governance | Contents::Unapproved => return,
            Contents::Unreadable => return take(&Term::Unreadable),
            Contents::Document(contents) => &**contents,
        };
        take(&Term::Known);
        take(&Term::Type(metadata.node_type.as_str()));
        metadata.tags.iter().for_each(|tag| take(&Term::Tag(tag)));
        if let Some(source) = &metadata.source {
            source.transport.iter().for_each(|word| take(&Term::Transport(word.as_str())));
            source.server.iter().for_each(|name| take(&Term::Server(name)));
        }
        take(&Term::Name(&name_key(&self.id)));
        additions.tags.iter().for_each(|tag| take(&Term::Added(tag)));
        additions.aliases.iter().for_each(|name| take(&Term::Alias(&fold(name))));
        for mention in &metadata.mentions {
            match &mention.target {
                LinkTarget::Document(id) => take(&Term::Link(mention.kind, &fold(id))),
                LinkTarget::Site(path) => take(&Term::Site(path)),
                LinkTarget::Name(name) => take(&Term::Named(&name_key(name))),
            }
        }
    }
}
