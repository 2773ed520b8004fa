//! The links of a document: what its text refers to, as far as the text alone says
//! (`spec/graph.md`).
//!
//! `read` takes the frontmatter's `derived_from` and `source.depends_on`, then the body's
//! Markdown links, wikilinks and `contextnest://` URIs, in the order of the text. Code gives no
//! links, and what names no single document (a tag, a folder, a search, a web page, an image) is no
//! link. Whether a target exists is not asked here: a [`LinkTarget::Name`] is resolved among the
//! ids of a vault by [`Names`]. Work and answer are bounded whatever the text is: at most
//! [`MAX_BODY`] bytes are looked at, and at most [`MAX_LINKS`] links given.

mod bare;
mod markup;
mod names;
mod read;
mod rebase;
mod retarget;
mod site;
mod splice;

use serde::{Deserialize, Serialize};

use names::folder;
pub use names::{Names, Resolved};
pub use read::{dependencies, read};
pub use rebase::{Rebased, Written, rebase};
pub use retarget::{Goal, Moves, Retargeted, retarget};
pub use site::{is_site_folder, site_sources, site_targets};

use super::Document;
use crate::text::uri::UriError;
use crate::values::model::id::{DocumentId, IdError};
use crate::values::model::number::CheckpointNumber;

/// The most links that a document has; what follows is not seen.
pub const MAX_LINKS: usize = 10_000;
/// The most bytes of a body that are searched for links.
pub const MAX_BODY: usize = 4 << 20;

/// How one document refers to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// The body mentions it.
    Reference,
    /// A source that is hydrated after it.
    DependsOn,
    /// It was made from it.
    DerivedFrom,
}

impl LinkKind {
    /// Every kind with its word.
    pub const ALL: [(&'static str, Self); 3] = [
        ("reference", Self::Reference),
        ("depends_on", Self::DependsOn),
        ("derived_from", Self::DerivedFrom),
    ];

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(w, _)| *w == word).map(|(_, kind)| *kind)
    }

    /// The word in reports and in `context.yaml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::DependsOn => "depends_on",
            Self::DerivedFrom => "derived_from",
        }
    }
}

/// What a link names, as far as the text alone says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkTarget {
    /// The document with this id (the text of a valid [`DocumentId`]); checkpoint and anchor stand
    /// beside.
    Document(String),
    /// The path of a link that begins with `/`, without it; that of a folder ends in `/`, or is empty
    /// for the root. Which document it is depends on the configuration, and for a folder on which
    /// there are: see [`site_targets`].
    Site(String),
    /// A wikilink by name or by the end of a path, as in `[[name]]` and `[[folder/name]]`. It needs
    /// the ids of a vault to be resolved: see [`Names`].
    Name(String),
}

impl LinkTarget {
    /// The document that it names by its id.
    pub fn document(&self) -> Option<DocumentId> {
        match self {
            Self::Document(id) => id.parse().ok(),
            Self::Site(_) | Self::Name(_) => None,
        }
    }
}

/// One link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// How the document refers.
    pub kind: LinkKind,
    /// To what.
    pub target: LinkTarget,
    /// The section that is meant: an anchor or, in a wikilink, also the text of a heading.
    pub anchor: Option<String>,
    /// The checkpoint whose version is meant; the newest where absent.
    pub checkpoint: Option<CheckpointNumber>,
    /// Line of the whole text, from 1.
    pub line: usize,
}

/// A place that reads as a link to a document but cannot name any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// As written.
    pub text: String,
    /// Why it names nothing.
    pub why: Unusable,
    /// Line of the whole text, from 1.
    pub line: usize,
}

/// A place that names a section of the document itself; no link, as it leads nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSection {
    /// An anchor or, in a wikilink, also the text of a heading.
    pub anchor: String,
    /// Line of the whole text, from 1.
    pub line: usize,
}

/// An image that is shown from a file; no link, as it names no document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// As written.
    pub text: String,
    /// The path of the file, without `.` and `..`, seen from the root or, if `above` is not 0, from
    /// the folder that is so many above the root.
    pub path: String,
    /// How many folders above the root it begins.
    pub above: usize,
    /// Whether it was written with a `/` before it.
    pub from_root: bool,
    /// Whether it is an embedded wikilink, which names a file anywhere.
    pub by_name: bool,
    /// Line of the whole text, from 1.
    pub line: usize,
}

/// Why a link can name no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// More `..` than folders.
    #[error("the path leaves the vault")]
    Escape,
    /// Percent-encoded bytes that are no name.
    #[error("its percent-encoded bytes are not a name")]
    Encoding,
    /// A path that breaks a rule of ids.
    #[error(transparent)]
    DocumentId(IdError),
    /// A URI that breaks a rule of URIs.
    #[error(transparent)]
    Uri(UriError),
}

/// What the text of a document refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The links, in the order of the text.
    pub links: Vec<Link>,
    /// What reads as a link and can name nothing, in the order of the text.
    pub broken: Vec<Broken>,
    /// What names a section of the document itself, in the order of the text.
    pub own_sections: Vec<OwnSection>,
    /// Images that are shown from files, in the order of the text.
    pub images: Vec<Image>,
    /// What CommonMark without wikilinks reads as links: `[[1]](a.md)` is a wikilink here, and what
    /// follows it is text.
    pub behind_wikilinks: Vec<Link>,
    /// Whether the text goes on beyond what was looked at.
    pub truncated: bool,
}

/// Every link of a document, in the order of the text (frontmatter fields first), bounded. A link
/// that is repeated is given each time.
pub fn links(id: &DocumentId, text: &str, document: &Document) -> Vec<Link> {
    read(id, text, &document.frontmatter, document.parts.body).links
}

/// The end of a name or path that decides where a wikilink may lead: ids whose last segments fold
/// to the same text are the candidates that [`Names`] takes in.
pub fn last_segment(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether a name has the ending of a file that is no Markdown: one to ten letters and digits, not
/// digits alone, so that `v1.2` is a name.
pub fn is_other_file(name: &str) -> bool {
    let name = last_segment(name);
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    !stem.is_empty()
        && (1..=10).contains(&ending.len())
        && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        && ending.bytes().any(|b| b.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(text: &str) -> DocumentId {
        text.parse().unwrap()
    }

    fn of(text: &str) -> Links {
        let document = Document::parse(text).unwrap();
        read(&id("nodes/legal/a"), text, &document.frontmatter, document.parts.body)
    }

    fn report(text: &str) -> String {
        let found = of(text);
        let links = found.links.iter().map(|link| {
            let (LinkTarget::Document(name) | LinkTarget::Site(name) | LinkTarget::Name(name)) =
                &link.target;
            let sign = if matches!(link.target, LinkTarget::Name(_)) { "?" } else { "" };
            let pin = link.checkpoint.map_or_else(String::new, |n| format!("@{n}"));
            let anchor = link.anchor.as_ref().map_or_else(String::new, |a| format!("#{a}"));
            (link.line, format!("{}: {} {sign}{name}{pin}{anchor}", link.line, link.kind.as_str()))
        });
        let broken =
            found.broken.iter().map(|b| (b.line, format!("{}: {} ({})", b.line, b.text, b.why)));
        let mut all: Vec<(usize, String)> = links.chain(broken).collect();
        all.sort_by_key(|(line, _)| *line);
        all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n")
    }

    // Which text is a link is in spec/vectors/links; here are order, lines and messages.
    #[test]
    fn links_come_in_the_order_of_the_text_with_their_lines() {
        let text = "---\ntitle: t\ntype: source\nderived_from: [nodes/old, 'contextnest://nodes/b@3']\n\
                    source:\n  depends_on:\n    - contextnest://sources/x\n---\n\
                    See [b](../b.md#part), [[Name|label]] and\ncontextnest://nodes/my_doc@7#x.\r\n\
                    ![[Folder/Note#A heading]] <contextnest://nodes/c>\r\n\r\n\
                    [up](../../../b.md), [uri](contextnest://a?b)\n";
        insta::assert_snapshot!(report(text), @"
        4: derived_from nodes/old
        4: derived_from nodes/b@3
        7: depends_on sources/x
        9: reference nodes/b#part
        9: reference ?Name
        10: reference nodes/my_doc@7#x
        11: reference ?Folder/Note#A heading
        11: reference nodes/c
        13: ../../../b.md (the path leaves the vault)
        13: contextnest://a?b (a URI holds no `?`)
        ");
    }

    #[test]
    fn code_and_labels_give_no_links() {
        let code =
            "`[[a]]` `contextnest://a`\n\n```\n[[a]] contextnest://a [x](b.md)\n```\n\n    [[a]]\n";
        assert_eq!(of(code).links, []);
        let label = of("[contextnest://nodes/b](contextnest://nodes/a)\n").links;
        assert_eq!(label.len(), 1);
        assert_eq!(label[0].target, LinkTarget::Document("nodes/a".into()));
    }

    #[test]
    fn hostile_texts_are_read_in_bounds() {
        for pattern in
            ["[[", "[[a", "[[a]]", "[](", "<contextnest://a", "contextnest://a ", "[a]: b\n[a]"]
        {
            let found = of(&pattern.repeat((MAX_BODY + (1 << 20)) / pattern.len()));
            assert!(found.links.len() <= MAX_LINKS && found.broken.len() <= MAX_LINKS, "{pattern}");
            assert!(found.truncated, "{pattern}");
        }
        let long_line = of(&"[[a]] ".repeat(MAX_BODY / 4));
        assert_eq!((long_line.links.len(), long_line.truncated), (MAX_LINKS, true));
        let parens = format!("contextnest://{}{}", "(".repeat(50_000), ")".repeat(100_000));
        assert_eq!(of(&parens).broken.len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([\\[\\]()#|!/.%a:<>`\\n é]|\\[\\[|\\]\\]|contextnest://|\\.\\./|%2F){0,40}") {
            let document = Document::parse(&text);
            if let Ok(document) = document {
                let mut last = 0;
                for link in links(&id("nodes/a"), &text, &document) {
                    prop_assert!(link.line >= last && link.line <= text.lines().count().max(1) + 1);
                    last = link.line;
                    let (LinkTarget::Document(name) | LinkTarget::Site(name) | LinkTarget::Name(name)) =
                &link.target;
                    let is_folder = matches!(link.target, LinkTarget::Site(_)) && is_site_folder(name);
                    prop_assert!(is_folder || id(name).as_str() == name);
                }
            }
        }
    }
}
