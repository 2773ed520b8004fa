//! What the index holds of one version of one artifact, and the terms it is found by.

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

/// One version of one artifact, as the log seals it. The id comes first: rows are searched by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) version: Version,
    pub(super) chain_hash: [u8; 32],
    /// The checkpoint that sealed this version first.
    pub(super) sealed: CheckpointNumber,
    pub(super) contents: Contents,
}

/// What is known of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Contents {
    /// A governance file, which no selector returns.
    Governance,
    /// A governance file without a valid approval when it was indexed.
    Unapproved,
    /// The chain did not vouch for it when it was indexed, or no valid approval did, so that nothing
    /// is known of it.
    Unreadable,
    /// A document's verified fields as every layout reads them, and what Obsidian adds. Rows do not
    /// depend on the layout, because each checkpoint may seal another one.
    Document(Box<(Metadata, Additions)>),
}

/// The fields of a verified text that can be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Metadata {
    /// The title, if it has one.
    pub(crate) title: Option<String>,
    /// The description, if it has one.
    pub(crate) description: Option<String>,
    /// Its type.
    pub(crate) node_type: NodeType,
    /// Its tags, without `#`.
    pub(crate) tags: Vec<Tag>,
    /// Its other names, where the layout has such.
    pub(crate) aliases: Vec<String>,
    /// What a source says of itself.
    pub(crate) source: Option<SourceBlock>,
    /// What it mentions.
    pub(crate) mentions: BTreeSet<Mention>,
}

impl Metadata {
    /// The fields of a verified text.
    pub(crate) fn of(id: &DocumentId, text: &str, document: &Document) -> Self {
        Self::new(&document.frontmatter, links(id, text, document))
    }

    /// The fields of a verified text that has these links.
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

    /// The same with what the layout adds.
    pub(super) fn with(mut self, additions: Additions) -> Self {
        self.tags.extend(additions.tags);
        self.aliases = additions.aliases;
        self
    }
}

/// The name of a posting list: its kind and what it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Term<'t> {
    /// Every document whose fields are known.
    Known,
    /// Every document whose fields are not.
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
    /// Documents that have another name which folds to this.
    Alias(&'t str),
}

impl Term<'_> {
    /// Its spelling in a dictionary.
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

/// How the keys of tags begin.
pub(super) const TAGS: &str = "t:";
/// How the keys of tags begin that a layout adds.
pub(super) const ADDED_TAGS: &str = "h:";
/// What ends the folded spelling of a tag in its key; the tag itself follows. So the tags that differ
/// in case, and those below a tag, are next to each other.
pub(super) const FOLDED_END: char = '\0';
/// How the keys of types begin.
pub(super) const TYPES: &str = "y:";
/// How the keys of servers begin.
pub(super) const SERVERS: &str = "s:";

fn tag_key(kind: &str, folded: &str, tag: &str) -> String {
    format!("{kind}{folded}{FOLDED_END}{tag}")
}

impl Row {
    /// Hands each term that the row is found by to `take`.
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
