//! What the text of a submission is in content: whether two texts are the same but for what the steps
//! of a review, and publishing, write into them (`spec/review.md`, REV-12).

use crate::document::edit::Edit;
use crate::document::live_form::LiveForm;
use crate::document::review::FIELDS;
use crate::model::digest::Digest;
use crate::model::id::DocumentId;

/// The fields that every step sets, beside those of the review.
const OF_STEPS: [&str; 3] = ["status", "version", "updated_at"];
/// The fields that publishing inserts, and which differ with the submitter.
const INSERTED: [&str; 2] = ["author", "created_at"];

/// The hash of what the submitter of a text wrote: of all bytes but for the fields that a step sets, and
/// those that publishing inserts: who submits an unchanged file after another principal has another
/// text by these alone.
pub(super) fn written_hash(id: &DocumentId, text: &str) -> Digest {
    hash_without(id, text, &[&OF_STEPS, &FIELDS, &INSERTED])
}

/// A text whose frontmatter cannot be edited is hashed whole. Of a file that publishing does not edit
/// its own bytes count.
fn hash_without(id: &DocumentId, text: &str, fields: &[&[&'static str]]) -> Digest {
    if !id.is_document() {
        return Digest::of(text.as_bytes());
    }
    let form = LiveForm::of(text);
    let edit = Edit::default().without_others(&fields.concat());
    let made = edit.apply(form.text());
    Digest::of(made.as_deref().unwrap_or(form.text()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_but_for_what_steps_and_publishing_write() {
        let id = "nodes/a".parse().unwrap();
        let text = |fields: &str| format!("---\ntitle: A\n{fields}---\nbody\n");
        let published = text("status: published\nversion: 1\nauthor: ana\n");
        let submitted = text(
            "status: draft\nversion: 2\nauthor: ana\nreview: submitted\nreview_base: 1\nchange: x\n",
        );
        assert_eq!(written_hash(&id, &published), written_hash(&id, &submitted));
        let by_another = text("status: draft\nversion: 3\nauthor: sam\n");
        assert_eq!(written_hash(&id, &published), written_hash(&id, &by_another));
        let tagged = text("tags: [x]\nauthor: ana\n");
        assert_ne!(written_hash(&id, &published), written_hash(&id, &tagged));
    }

    #[test]
    fn a_text_that_cannot_be_read_or_edited_is_compared_whole() {
        let id = "nodes/a".parse().unwrap();
        for text in ["---\ntitle: [a\n---\nb\n", "---\n{title: a, version: 1}\n---\nb\n", ""] {
            assert_eq!(written_hash(&id, text), written_hash(&id, text), "{text:?}");
            assert_ne!(written_hash(&id, text), written_hash(&id, "---\ntitle: a\n---\nb\n"));
        }
    }
}
