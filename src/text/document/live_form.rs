//! The live form of a published text: the text that its live file has while it is unchanged. Mostly
//! that is the published text. If publishing does not edit the file, the published text keeps the
//! frontmatter of the file in `metadata.original_frontmatter` (`spec/document.md`, section 6).

use std::borrow::Cow;

use memchr::memmem;

use super::frontmatter::{Frontmatter, Status, one_or_many};
use super::review;
use super::text::normalise;
use super::validate::{OURS, has_our_four};
use super::{Document, Format};
use crate::files::vault::config::FrontmatterMode;
use crate::values::model::layout::limit;
use crate::values::yaml::Node;

/// Field of `metadata` with the frontmatter of a file that publishing does not edit: its first
/// lines, up to the body, in normal form.
pub(crate) const ORIGINAL_FRONTMATTER: &str = "original_frontmatter";

/// Fields that publishing inserts if they are missing (DOC-15).
const INSERTED: [&str; 4] = ["title", "type", "author", "created_at"];

/// Returns true if publishing writes into the frontmatter of a live file. It can edit YAML only.
pub(crate) fn is_edited(live: &Document, mode: FrontmatterMode) -> bool {
    mode == FrontmatterMode::Managed && live.format == Format::Yaml
}

/// The live form of a published text.
#[derive(Debug)]
pub struct LiveForm<'s> {
    text: Cow<'s, str>,
    /// Fields of the live file, if they are not those of the published text.
    original: Option<Frontmatter>,
}

impl<'s> LiveForm<'s> {
    /// Returns the live form of a published text.
    pub fn of(sealed: &'s str) -> Self {
        match original(sealed) {
            Some((text, fields)) => Self { text: Cow::Owned(text), original: Some(fields) },
            None => Self { text: Cow::Borrowed(sealed), original: None },
        }
    }

    /// Returns the text, in normal form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text, in normal form.
    pub(crate) fn into_text(self) -> String {
        self.text.into_owned()
    }

    /// Returns true if a live file has this text.
    pub(crate) fn is_of(&self, live: &str) -> bool {
        *normalise(live) == *self.text
    }

    /// Returns this text with another body, which is submitted without a frontmatter: the fields
    /// stay. `None` if the new text has a frontmatter, or this one does not.
    pub(crate) fn with_body_of(&self, live: &str, document: &Document) -> Option<String> {
        if !document.lacks_frontmatter() {
            return None;
        }
        let own = Document::of_live(&self.text).ok()?.parts.body;
        let body = normalise(&live[document.parts.body..]);
        (own > 0).then(|| format!("{}{body}", &self.text[..own]))
    }

    /// Returns true if publishing did not edit the file.
    pub(crate) fn is_untouched(&self) -> bool {
        self.original.is_some()
    }

    /// Returns true if `status`, `version`, `updated_at` and `checksum` of a live file record the
    /// version it was edited from, instead of old values or those of another program.
    pub(crate) fn has_our_fields(&self, live: &Document, mode: FrontmatterMode) -> bool {
        !self.is_untouched() && (is_edited(live, mode) || has_our_four(&live.frontmatter))
    }

    /// Returns true if an edited live file is marked as a draft of the next version. If publishing
    /// does not write `status`, the published file must not have had the mark. A file that lost its
    /// frontmatter is not a draft.
    pub(crate) fn is_draft(&self, live: &Document, mode: FrontmatterMode) -> bool {
        match self.has_our_fields(live, mode) {
            true if live.lacks_frontmatter() => false,
            true => live.frontmatter.status == Status::Draft,
            false => {
                live.frontmatter.says_draft() && !self.original.iter().any(Frontmatter::says_draft)
            }
        }
    }
}

/// Returns the text and the fields of the file that a published text was made from, if the text
/// records them. `None` if other fields differ, because another program made such a text.
fn original(sealed: &str) -> Option<(String, Frontmatter)> {
    // Nearly every text lacks the word.
    let head = sealed.as_bytes();
    let head = &head[..head.len().min(limit::FRONTMATTER + 16)];
    memmem::find(head, ORIGINAL_FRONTMATTER.as_bytes())?;
    let document = Document::parse(sealed).ok()?;
    let made = &document.frontmatter;
    let block =
        made.get("metadata")?.get(ORIGINAL_FRONTMATTER).filter(|block| !block.is_null())?.text()?;
    let text = format!("{block}{}", &sealed[document.parts.body..]);
    let live = Document::of_live(&text).ok()?;
    let is_whole = live.parts.body == block.len() && *normalise(&text) == text;
    (is_whole && is_made_from(made, &live.frontmatter)).then_some((text, live.frontmatter))
}

/// Returns true if the fields are those of a live file, apart from those that publishing sets
/// or inserts.
fn is_made_from(made: &Frontmatter, live: &Frontmatter) -> bool {
    let entries = [made, live].map(|fields| entries(fields.root.as_ref()));
    let keys = entries.into_iter().flatten().map(|(key, _)| key.text());
    let mut keys = keys.map(Option::unwrap_or_default);
    keys.all(|key| {
        let [made, live] =
            [made, live].map(|fields| fields.get(key).filter(|node| !node.is_null()));
        match key {
            "metadata" => metadata_stays(made, live),
            "derived_from" => one_or_many(live).iter().all(|was| {
                let mut made = one_or_many(made).iter();
                made.any(|is| is.same_value(was))
            }),
            key if OURS.contains(&key) || review::FIELDS.contains(&key) => true,
            key if INSERTED.contains(&key) && live.is_none() => true,
            _ => {
                made.zip(live).is_some_and(|(is, was)| is.same_value(was))
                    || made.or(live).is_none()
            }
        }
    })
}

fn metadata_stays(made: Option<&Node>, live: Option<&Node>) -> bool {
    let made = entries(made).iter().filter(|(key, _)| key.text() != Some(ORIGINAL_FRONTMATTER));
    let (made, live): (Vec<_>, _) = (made.collect(), entries(live));
    made.len() == live.len()
        && made.iter().zip(live).all(|(a, b)| a.0.same_value(&b.0) && a.1.same_value(&b.1))
}

fn entries(node: Option<&Node>) -> &[(Node, Node)] {
    node.and_then(Node::entries).unwrap_or_default()
}
