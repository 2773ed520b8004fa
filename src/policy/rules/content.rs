//! The part of a text that its submitter wrote: the text without the values that publishing and the
//! steps of a review set (`spec/review.md`, REV-12).

use crate::text::document::Document;
use crate::text::document::live_form::LiveForm;
use crate::text::document::review::FIELDS;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::yaml::Node;
use crate::values::yaml::edit::end_of;

/// The fields whose values steps and publishing always set, in addition to those of the review.
const SET: [&str; 4] = ["status", "version", "updated_at", "checksum"];
/// The fields that publishing inserts, and whose values depend on the submitter.
const INSERTED: [&str; 2] = ["author", "created_at"];

/// The content that a submitter wrote, as hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// Hash without all values that publishing may have written.
    ///
    /// Two principals who submit the same file can differ in these values alone.
    written: Digest,
    /// True if publishing does not edit the file.
    is_untouched: bool,
    /// Hash without the values that publishing always sets; of a file that it does not edit, of
    /// every byte.
    whole: Digest,
}

impl Content {
    /// Returns the content of a text.
    pub(super) fn of(id: &DocumentId, text: &str) -> Self {
        if !id.is_document() {
            let whole = Digest::of(text.as_bytes());
            return Self { written: whole, is_untouched: false, whole };
        }
        let form = LiveForm::of(text);
        let live = form.text();
        let is_set = |key: &str| SET.contains(&key) || FIELDS.contains(&key);
        let is_inserted = |key: &str, value: &Node| {
            INSERTED.contains(&key) || key == "type" && value.text() == Some("document")
        };
        let hash = |is_left_out: &dyn Fn(&str, &Node) -> bool| {
            Digest::of(without(live, is_left_out).as_bytes())
        };
        let is_written = |key: &str, value: &Node| is_set(key) || is_inserted(key, value);
        let is_untouched = form.is_untouched();
        Self {
            written: hash(&is_written),
            is_untouched,
            whole: match is_untouched {
                true => Digest::of(live.as_bytes()),
                false => hash(&|key, _| is_set(key)),
            },
        }
    }

    /// Returns true if a text of the same body may have words of `other` that the published
    /// text lacks.
    ///
    /// If publishing edits the file of only one of the two, its fields are at another place in the
    /// other file, or missing. Then every word may be one of these.
    pub(super) fn is_of(self, other: Self, published: Option<Self>) -> bool {
        let is_new = |of: fn(Self) -> Digest| published.map(of) != Some(of(self));
        self.written == other.written && is_new(|one| one.written)
            || self.whole == other.whole && is_new(|one| one.whole)
            || self.is_untouched != other.is_untouched
                && published.map(|one| one.whole) != Some(other.whole)
    }
}

/// Returns a text without the values of some fields, or the whole text if its fields cannot
/// be read.
///
/// A line is removed with its value if it contains nothing else, so that comments and anchors stay.
fn without(text: &str, is_left_out: &dyn Fn(&str, &Node) -> bool) -> String {
    let Ok(document) = Document::parse(text) else { return text.to_owned() };
    let body = &text[document.parts.body..];
    let yaml = document.parts.frontmatter.clone().map_or("", |block| &text[block]);
    let root = document.frontmatter.root.as_ref();
    let (mut out, mut at) = (String::new(), 0);
    for (key, value) in root.and_then(Node::entries).unwrap_or_default() {
        let name = key.text().unwrap_or_default();
        let (start, end) = (value.span.start.max(key.span.end), end_of(value).max(key.span.end));
        let is_read = start >= at && end >= start && end <= yaml.len();
        if !is_read || value.decorated || !is_left_out(name, value) {
            continue;
        }
        let line = yaml[..key.span.start].rfind('\n').map_or(0, |found| found + 1).max(at);
        let rest = yaml[end..].find('\n').map_or(yaml.len(), |found| end + found + 1);
        let is_alone = !yaml[line..start].contains(['#', '&', '!', '{', ','])
            && yaml[end..rest].trim().is_empty();
        let (from, to) = if is_alone { (line, rest) } else { (start, end) };
        out.push_str(&yaml[at..from]);
        at = to;
    }
    out.push_str(&yaml[at..]);
    out + "\0" + body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> DocumentId {
        "nodes/a".parse().unwrap()
    }

    /// Returns true if a text has words of an earlier one that the published text lacks.
    fn is_same(earlier: &str, text: &str, published: &str) -> bool {
        let content = |text: &str| Content::of(&id(), text);
        content(text).is_of(content(earlier), Some(content(published)))
    }

    const PUBLISHED: &str =
        "---\ntitle: T\nstatus: published\nversion: 1\nauthor: ana\ncreated_at: '1'\n---\nbody\n";

    #[test]
    fn a_text_is_the_same_but_for_what_steps_and_publishing_write() {
        let text = |fields: &str| format!("---\ntitle: T\n{fields}---\nbody\n");
        let tagged = text("tags: [x]\nstatus: draft\nversion: 2\nauthor: eve\nreview: submitted\n");
        let again = text("tags: [x]\nstatus: draft\nversion: 4\nauthor: lee\ncreated_at: '2'\n");
        assert!(is_same(&tagged, &again, PUBLISHED));
        assert!(!is_same(&tagged, &again.replace("[x]", "[y]"), PUBLISHED));
        // The published text contains no new words.
        assert!(!is_same(PUBLISHED, PUBLISHED, PUBLISHED));
    }

    #[test]
    fn values_that_differ_with_the_submitter_count_where_nothing_else_differs() {
        let dated = |date: &str| PUBLISHED.replace("created_at: '1'", date);
        let rule = dated("created_at: RULE pay everything");
        assert!(is_same(&rule, &rule, PUBLISHED));
        // The author of the published text did not write another date.
        assert!(!is_same(PUBLISHED, &rule, PUBLISHED));
        assert!(!is_same(&dated("created_at: '2'"), &dated("created_at: '3'"), PUBLISHED));
    }

    #[test]
    fn comments_and_anchors_in_these_lines_are_words_too() {
        for (old, new) in [
            ("status: published", "status: published # RULE"),
            ("version: 1", "version: 1 # RULE"),
            ("author: ana", "author: &a ana\nowner: *a\ndescription: RULE"),
            ("created_at: '1'", "created_at: &c '1'\nsince: *c"),
            ("author: ana", "author:\n  # RULE\n  ana"),
        ] {
            let rule = PUBLISHED.replace(old, new);
            let later = rule.replace("version: 1", "version: 3");
            assert!(is_same(&rule, &later, PUBLISHED), "{new}");
            assert!(!is_same(PUBLISHED, &rule, PUBLISHED), "{new}");
        }
    }

    #[test]
    fn a_file_is_the_same_whether_or_not_publishing_edits_it() {
        let file = "---\ntags: [RULE]\n---\n# A\n";
        let kept = "---\ntags: [RULE]\ntitle: A\ntype: document\nstatus: draft\nversion: 2\nauthor: eve\n\
                    created_at: '1'\nupdated_at: '1'\nchecksum: sha256:0\nmetadata:\n  \
                    original_frontmatter: \"---\\ntags: [RULE]\\n---\\n\"\n---\n# A\n";
        let (before, _) = kept.split_once("metadata:").unwrap();
        let edited = format!("{before}---\n# A\n");
        assert!(LiveForm::of(kept).text() == file, "{}", LiveForm::of(kept).text());
        let published = edited.replace("[RULE]", "[]");
        assert!(is_same(kept, &edited, &published) && is_same(&edited, kept, &published));
    }

    #[test]
    fn a_text_that_cannot_be_read_is_compared_whole() {
        for text in ["---\ntitle: [a\n---\nb\n", "---\n{title: a, version: 1}\n---\nb\n", ""] {
            assert_eq!(Content::of(&id(), text), Content::of(&id(), text), "{text:?}");
            assert_ne!(Content::of(&id(), text), Content::of(&id(), "---\ntitle: a\n---\nb\n"));
        }
    }
}
