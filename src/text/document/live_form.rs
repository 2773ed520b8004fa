//! What the unchanged live file of a published document has. Mostly that is the published text.
//! Where publishing leaves the file alone, the published text keeps the frontmatter of the file in
//! `metadata.original_frontmatter` (`spec/document.md`, section 6).

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

/// The field of `metadata` that keeps the frontmatter of a file which publishing does not edit: its
/// first lines, up to the body, in normal form.
pub(crate) const ORIGINAL_FRONTMATTER: &str = "original_frontmatter";

/// What publishing inserts where it is missing (DOC-15).
const INSERTED: [&str; 4] = ["title", "type", "author", "created_at"];

/// Whether publishing writes into the frontmatter of a live file. It can edit YAML only.
pub(crate) fn is_edited(live: &Document, mode: FrontmatterMode) -> bool {
    mode == FrontmatterMode::Managed && live.format == Format::Yaml
}

/// The text that the live file of a published text has.
#[derive(Debug)]
pub struct LiveForm<'s> {
    text: Cow<'s, str>,
    /// The fields in it, if they are not those of the published text.
    original: Option<Frontmatter>,
}

impl<'s> LiveForm<'s> {
    /// That of a published text.
    pub fn of(sealed: &'s str) -> Self {
        match original(sealed) {
            Some((text, fields)) => Self { text: Cow::Owned(text), original: Some(fields) },
            None => Self { text: Cow::Borrowed(sealed), original: None },
        }
    }

    /// The text, in normal form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text, in normal form.
    pub(crate) fn into_text(self) -> String {
        self.text.into_owned()
    }

    /// Whether a live file has this text.
    pub(crate) fn is_of(&self, live: &str) -> bool {
        *normalise(live) == *self.text
    }

    /// A text that is handed in without a frontmatter, as the body of this one: the fields stay. None
    /// where it has a frontmatter, or this one has none.
    pub(crate) fn with_body_of(&self, live: &str, document: &Document) -> Option<String> {
        if !document.lacks_frontmatter() {
            return None;
        }
        let own = Document::of_live(&self.text).ok()?.parts.body;
        let body = normalise(&live[document.parts.body..]);
        (own > 0).then(|| format!("{}{body}", &self.text[..own]))
    }

    /// Whether publishing left the file as it was.
    pub(crate) fn is_untouched(&self) -> bool {
        self.original.is_some()
    }

    /// Whether `status`, `version`, `updated_at` and `checksum` of a live file say what it was
    /// edited from: not those that are left over, or that another program wrote.
    pub(crate) fn has_our_fields(&self, live: &Document, mode: FrontmatterMode) -> bool {
        !self.is_untouched() && (is_edited(live, mode) || has_our_four(&live.frontmatter))
    }

    /// Whether an edited live file says that it is a draft of the next version. Where publishing
    /// does not write the word, that is one which the published file did not have. A file that lost
    /// its frontmatter says nothing.
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

/// The text and the fields of the file that a published text was made from, if that keeps them. A
/// text whose other fields are not those of the file was made by something else.
fn original(sealed: &str) -> Option<(String, Frontmatter)> {
    // Nearly no text has the word.
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

/// Whether fields are those of a live file, and what publishing sets or inserts.
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
