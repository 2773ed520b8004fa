//! The links of a document, as far as its text alone determines them (`spec/graph.md`).
//!
//! `read` returns the frontmatter's `derived_from` and `source.depends_on`, then the body's
//! Markdown links, wikilinks and `contextnest://` URIs, in the order of the text. Code contains no
//! links, and a text that does not name a single document (a tag, a folder, a search, a web page,
//! an image) is not a link. The existence of targets is not checked here: [`Names`] resolves a
//! [`LinkTarget::Name`] among the ids of a vault. Work and answer are bounded for every text: at
//! most [`MAX_BODY`] bytes are read, and at most [`MAX_LINKS`] links returned.

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

/// Maximum number of links of a document; further ones are not read.
pub const MAX_LINKS: usize = 10_000;
/// Maximum number of bytes of a body that are searched for links.
pub const MAX_BODY: usize = 4 << 20;

/// The kind of a link from one document to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// The body mentions the target.
    Reference,
    /// The source needs the result of the target, which is hydrated first.
    DependsOn,
    /// The document was derived from the target.
    DerivedFrom,
}

impl LinkKind {
    /// All kinds with their words.
    pub const ALL: [(&'static str, Self); 3] = [
        ("reference", Self::Reference),
        ("depends_on", Self::DependsOn),
        ("derived_from", Self::DerivedFrom),
    ];

    /// Returns the kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(w, _)| *w == word).map(|(_, kind)| *kind)
    }

    /// Returns the word in reports and in `context.yaml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::DependsOn => "depends_on",
            Self::DerivedFrom => "derived_from",
        }
    }
}

/// The target of a link, as far as the text alone determines it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkTarget {
    /// The document with this id, which is a valid [`DocumentId`]. [`Link`] has the checkpoint and
    /// the anchor.
    Document(String),
    /// The path of a link that begins with `/`, without it; that of a folder ends in `/`, or is
    /// empty for the root. The configuration decides which document it is, and for a folder also
    /// which documents exist: see [`site_targets`].
    Site(String),
    /// A wikilink by name or by the end of a path, as in `[[name]]` and `[[folder/name]]`.
    /// [`Names`] resolves it among the ids of a vault.
    Name(String),
}

impl LinkTarget {
    /// Returns the document that the target names by its id.
    pub fn document(&self) -> Option<DocumentId> {
        match self {
            Self::Document(id) => id.parse().ok(),
            Self::Site(_) | Self::Name(_) => None,
        }
    }
}

/// A link of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Kind of the link.
    pub kind: LinkKind,
    /// Target of the link.
    pub target: LinkTarget,
    /// Section of the target: an anchor or, in a wikilink, the text of a heading.
    pub anchor: Option<String>,
    /// Checkpoint of the version; `None` for the newest.
    pub checkpoint: Option<CheckpointNumber>,
    /// Line of the whole text, from 1.
    pub line: usize,
}

/// A text that reads as a link to a document but cannot name one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Text as written.
    pub text: String,
    /// Reason why it cannot name a document.
    pub why: Unusable,
    /// Line of the whole text, from 1.
    pub line: usize,
}

/// A link to a section of the document itself, which is not a link to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSection {
    /// Anchor or, in a wikilink, the text of a heading.
    pub anchor: String,
    /// Line of the whole text, from 1.
    pub line: usize,
}

/// An image that is shown from a file, which is not a link to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Text as written.
    pub text: String,
    /// Path of the file, without `.` and `..`, relative to the root or to the folder that is
    /// `above` levels higher.
    pub path: String,
    /// Number of levels above the root at which the path begins.
    pub above: usize,
    /// True if the path was written with a `/` before it.
    pub from_root: bool,
    /// True for an embedded wikilink, which names a file in any folder.
    pub by_name: bool,
    /// Line of the whole text, from 1.
    pub line: usize,
}

/// The reason why a link cannot name a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// The path has more `..` than folders.
    #[error("the path leaves the vault")]
    Escape,
    /// Percent-encoded bytes are not a name.
    #[error("its percent-encoded bytes are not a name")]
    Encoding,
    /// The path breaks a rule of ids.
    #[error(transparent)]
    DocumentId(IdError),
    /// The URI breaks a rule of URIs.
    #[error(transparent)]
    Uri(UriError),
}

/// All links and images in the text of a document, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Links to documents.
    pub links: Vec<Link>,
    /// Texts that read as links but cannot name a document.
    pub broken: Vec<Broken>,
    /// Links to sections of the document itself.
    pub own_sections: Vec<OwnSection>,
    /// Images that are shown from files.
    pub images: Vec<Image>,
    /// Links that exist only for a reader without wikilinks, as CommonMark: `[[1]](a.md)` is a
    /// wikilink here, with text after it.
    pub behind_wikilinks: Vec<Link>,
    /// True if the text continues beyond the limits.
    pub truncated: bool,
}

/// Returns the links of a document in the order of the text (frontmatter fields first), within the
/// limits. Repeated links are not merged.
pub fn links(id: &DocumentId, text: &str, document: &Document) -> Vec<Link> {
    read(id, text, &document.frontmatter, document.parts.body).links
}

/// Returns the last segment of a name or path. Ids with the same folded last segment are the
/// candidates that [`Names`] needs.
pub fn last_segment(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Returns true if a name has the ending of a file that is not Markdown: one to ten letters and
/// digits with at least one letter, so that `v1.2` is a name.
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

    // spec/vectors/links tests which text is a link; the tests here are for order, lines
    // and messages.
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
        13: contextnest://a?b (a URI cannot contain `?`)
        ");
    }

    #[test]
    fn code_and_labels_contain_no_links() {
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
