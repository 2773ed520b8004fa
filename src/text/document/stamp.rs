//! The changes that publishing makes to the text of a document: the fields that it sets, and those
//! that it adds if they are missing.

use std::borrow::Cow;
use std::sync::Arc;

use crate::files::vault::config::FrontmatterMode;
use crate::text::document::edit::{Edit, EditError, checksum_of};
use crate::text::document::frontmatter::{Frontmatter, NodeType};
use crate::text::document::live_form::{LiveForm, is_edited};
use crate::text::document::obsidian::Markup;
use crate::text::document::review::{self, Action, ReviewEdit, ReviewFields, ReviewState};
use crate::text::document::text::normalise;
use crate::text::document::validate::{Foreign, derived_title, foreign_values};
use crate::text::document::{Document, other};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;
use crate::values::yaml::Node;
use crate::values::yaml::edit::{entry, has_more, has_more_within};

/// The values of fields that do not follow from the text itself.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    pub(crate) version: Version,
    /// Value of `author` if the field is missing.
    pub(crate) author: String,
    /// Value of `created_at` if the field is missing.
    pub(crate) created: String,
    pub(crate) updated: String,
    /// Markup of the body, from which a missing title is taken.
    pub(crate) markup: Markup,
    /// Role of the new text.
    pub(crate) stamped_as: StampedAs,
}

/// The role of a stamped text in a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StampedAs {
    /// The text is published without a review.
    Published,
    /// The text is submitted.
    Submitted {
        /// Published version, or 0.
        base: Version,
        /// Name of the set of submissions.
        change: Option<String>,
    },
    /// The text is published by the approval of another text, by these reviewers at this instant.
    Approved(Vec<String>, Timestamp),
}

/// The result of publishing a live text.
pub(crate) struct NextText {
    /// Published text, in normal form.
    pub(crate) sealed: Arc<str>,
    /// New live text; `None` if the file does not change.
    pub(crate) live: Option<Arc<str>>,
}

impl Stamp {
    /// Reads the values from a published text.
    fn of(made: Frontmatter) -> Option<Self> {
        Some(Self {
            version: made.version?,
            author: made.author.unwrap_or_default(),
            created: made.created_at.unwrap_or_default(),
            updated: made.updated_at?,
            markup: Markup::Plain,
            stamped_as: StampedAs::Published,
        })
    }

    /// Returns the published text of a live one, with its own line ends. `origin` is the URI that
    /// the document was moved from.
    ///
    /// # Errors
    /// See [`Edit::apply`]. An edit that would delete a comment, an anchor or a tag is refused.
    fn edited(
        &self,
        id: &DocumentId,
        live: &str,
        document: &Document,
        origin: Option<&str>,
    ) -> Result<String, EditError> {
        let (fields, body) = (&document.frontmatter, &live[document.parts.body..]);
        let mut foreign = foreign_values(document, self.version == Version::FIRST);
        let yaml = document.parts.frontmatter.clone().map_or("", |block| &live[block]);
        if let Some(has) = foreign.iter().find(|foreign| has_more_within(yaml, foreign.value)) {
            return Err(EditError::Words(has.field));
        }
        if self.stamped_as != StampedAs::Published || review::is_ours(fields) {
            foreign.extend(review::foreign_values(fields));
            let root = fields.root.as_ref();
            let entry = |field: &&&str| root.and_then(|root| entry(root, field));
            let has_words = |field: &&&str| entry(field).is_some_and(|(k, v)| has_more(yaml, k, v));
            if let Some(field) = review::FIELDS.iter().find(has_words) {
                return Err(EditError::Words(field));
            }
        }
        let edit = self.set(id, fields, body, checksum_of(live).ok().as_ref());
        let kept = |edit: Edit, value: &Foreign<'_>| edit.keep_original(value.field, value.value);
        let edit = foreign.iter().fold(edit, kept);
        origin.into_iter().fold(edit, Edit::derived_from).apply(live)
    }

    /// Returns the result of publishing a live text; see [`Stamp::edited`].
    ///
    /// # Errors
    /// See [`Edit::apply`].
    pub(crate) fn next(
        &self,
        id: &DocumentId,
        live: &str,
        document: &Document,
        origin: Option<&str>,
        mode: FrontmatterMode,
    ) -> Result<NextText, EditError> {
        if !is_edited(document, mode) {
            let sealed = self.untouched(id, live, origin)?.into();
            return Ok(NextText { sealed, live: None });
        }
        let live: Arc<str> = self.edited(id, live, document, origin)?.into();
        let sealed = match normalise(&live) {
            Cow::Borrowed(text) if text.len() == live.len() => Arc::clone(&live),
            text => text.into(),
        };
        Ok(NextText { sealed, live: Some(live) })
    }

    /// Returns the published text of a live one, if it equals the sealed text.
    fn caught_up(
        &self,
        id: &DocumentId,
        (live, document): (&str, &Document),
        origin: Option<&str>,
        sealed: &str,
    ) -> Option<String> {
        let made = self.edited(id, live, document, origin).ok();
        made.filter(|made| *normalise(made) == *sealed)
    }

    /// Returns the published text of a file that is not edited: it keeps the frontmatter of
    /// the file.
    fn untouched(
        &self,
        id: &DocumentId,
        live: &str,
        origin: Option<&str>,
    ) -> Result<String, EditError> {
        let live = normalise(live);
        let document = Document::of_live(&live)?;
        let (block, body) = live.split_at(document.parts.body);
        let yaml = match other::read(&live) {
            Some(found) => Cow::Owned(other::as_yaml(&live, &found?)),
            None => Cow::Borrowed(&*live),
        };
        let edit = self.set(id, &document.frontmatter, body, checksum_of(&yaml).ok().as_ref());
        let edit = edit.keep_frontmatter(block);
        origin.into_iter().fold(edit, Edit::derived_from).apply(&yaml)
    }

    /// Makes the edit with the fields that publishing sets, and those that it inserts.
    fn set(
        &self,
        id: &DocumentId,
        fields: &Frontmatter,
        body: &str,
        checksum: Option<&String>,
    ) -> Edit {
        let absent = |key: &str| fields.get(key).is_none_or(Node::is_null);
        let mut edit = Edit::default();
        if absent("title") {
            let name = id.as_str().rsplit('/').next().unwrap_or(id.as_str());
            let visible = self.markup.comments(body);
            edit = edit.text("title", &derived_title(&visible.blanked(body), name));
        }
        if absent("type") {
            edit = edit.text("type", NodeType::Document.as_str());
        }
        let status = match self.stamped_as {
            StampedAs::Submitted { .. } => "draft",
            StampedAs::Published | StampedAs::Approved(..) => "published",
        };
        edit = edit.text("status", status).number("version", self.version.0);
        if absent("author") {
            edit = edit.text("author", &self.author);
        }
        if absent("created_at") {
            edit = edit.text("created_at", &self.created);
        }
        edit = edit.text("updated_at", &self.updated);
        let edit = checksum.into_iter().fold(edit, |edit, sum| edit.text("checksum", sum));
        match &self.stamped_as {
            StampedAs::Published if review::is_ours(fields) => edit.without_others(&review::FIELDS),
            StampedAs::Published => edit,
            StampedAs::Submitted { base, change } => {
                let (base, change) = (*base, change.as_deref());
                edit.review(&ReviewEdit::Submit { base, action: &Action::Publish, change })
            }
            StampedAs::Approved(by, at) => edit.review(&ReviewEdit::Approve { by, at: *at }),
        }
    }
}

/// Returns true if a submission was made from this live text.
pub(crate) fn is_submitted(id: &DocumentId, live: &str, document: &Document, text: &str) -> bool {
    let form = LiveForm::of(text);
    form.is_untouched() && form.is_of(live) || submitted_live(id, live, document, text).is_some()
}

/// Returns the edited live text of a submission, with its own line ends, if it equals the
/// submitted text.
pub(crate) fn submitted_live(
    id: &DocumentId,
    live: &str,
    document: &Document,
    submitted: &str,
) -> Option<String> {
    let made = Document::parse(submitted).ok()?.frontmatter;
    let fields = ReviewFields::of(&made)?;
    let stamped_as = StampedAs::Submitted { base: fields.base?, change: fields.change };
    let stamp = Stamp { stamped_as, ..Stamp::of(made)? };
    readings(live).find_map(|markup| {
        let stamp = Stamp { markup, ..stamp.clone() };
        stamp.caught_up(id, (live, document), None, submitted)
    })
}

/// Returns the bytes that a live file should have, if the sealed text was made from it: a
/// publication that could not update the file afterwards has left it in the old state.
pub(crate) fn left_behind(
    id: &DocumentId,
    live: &str,
    document: &Document,
    sealed: &str,
) -> Option<String> {
    let made = Document::parse(sealed).ok()?.frontmatter;
    // A live text with a later version was retired, or published on another branch, so it is not an
    // old state.
    let version = made.version?;
    let foreign = foreign_values(document, version == Version::FIRST);
    let is_later = document.frontmatter.version > Some(version);
    if is_later && !foreign.iter().any(|foreign| foreign.field == "version") {
        return None;
    }
    if review::changed_by_hand(&document.frontmatter, &made).is_some() {
        return None;
    }
    let review = ReviewFields::of(&made);
    let stamp = Stamp::of(made)?;
    let approval = review.as_ref().and_then(|fields| {
        let is_approved = fields.state == ReviewState::Approved;
        Some(ReviewEdit::Approve { by: &fields.approved_by, at: fields.approved_at? })
            .filter(|_| is_approved)
    });
    let Some(approval) = approval else {
        return readings(live).find_map(|markup| {
            let stamp = Stamp { markup, ..stamp.clone() };
            stamp.caught_up(id, (live, document), None, sealed)
        });
    };
    // The fields of the submission are gone from the text. Only its version may have been
    // the first.
    let approval = Edit::step(version, &stamp.updated, "published", &approval);
    let firsts = [Version::FIRST, Version::FIRST.next()].into_iter();
    firsts.flat_map(|first| readings(live).map(move |markup| (first, markup))).find_map(
        |(version, markup)| {
            let stamped_as = StampedAs::Submitted { base: Version::NONE, change: None };
            let stamp = Stamp { version, markup, stamped_as, ..stamp.clone() };
            let submitted = stamp.edited(id, live, document, None).ok()?;
            approval.apply(&submitted).ok().filter(|made| *normalise(made) == *sealed)
        },
    )
}

/// Works like [`left_behind`], for the file of a document that was moved before the event that
/// recorded the move.
pub(crate) fn moved_behind(
    id: &DocumentId,
    live: &str,
    document: &Document,
    sealed: &str,
) -> Option<String> {
    let made = Document::parse(sealed).ok()?.frontmatter;
    let origins = made.get("derived_from")?;
    let origin = origins.items().map_or(Some(origins), <[Node]>::first)?.text()?.to_owned();
    let approved =
        ReviewFields::of(&made).and_then(|fields| Some((fields.approved_by, fields.approved_at?)));
    let stamped_as = approved.map_or(StampedAs::Published, |(by, at)| StampedAs::Approved(by, at));
    let stamp = Stamp { stamped_as, ..Stamp::of(made)? };
    readings(live).find_map(|markup| {
        let stamp = Stamp { markup, ..stamp.clone() };
        stamp.caught_up(id, (live, document), Some(&origin), sealed)
    })
}

/// Returns the markups in which the title may have been taken from a body: the layout may have
/// changed since.
fn readings(live: &str) -> impl Iterator<Item = Markup> {
    let has_comments = memchr::memmem::find(live.as_bytes(), b"%%").is_some();
    std::iter::once(Markup::Plain).chain(has_comments.then_some(Markup::Obsidian))
}

/// Returns the live text after a retirement: the retired form of the sealed text. An unpublished
/// edit is kept, except for its status, which becomes draft. A file that publishing does not edit
/// stays as it is.
pub(crate) fn retired_live(
    live: &str,
    sealed: &str,
    retirement: Edit,
    mode: FrontmatterMode,
) -> Option<String> {
    let document = Document::of_live(live).ok()?;
    if !is_edited(&document, mode) || LiveForm::of(sealed).is_untouched() {
        return None;
    }
    let wanted = if *normalise(live) == *sealed {
        retirement
    } else {
        let foreign = foreign_values(&document, false);
        let status = foreign.iter().find(|foreign| foreign.field == "status");
        let edit = Edit::default().text("status", "draft");
        status.into_iter().fold(edit, |edit, word| edit.keep_original(word.field, word.value))
    };
    wanted.apply(live).ok()
}
