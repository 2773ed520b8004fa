//! Documents: any text is read; an edit in place changes its fields and no other line.
//!
//! The first byte chooses the edits, the rest is the text.

use contextnest::model::id::DocumentId;
use contextnest::model::number::Version;
use contextnest::model::tag::Tag;
use contextnest::text::document::edit::{Edit, checksum_of};
use contextnest::text::document::obsidian::Markup;
use contextnest::text::document::text::{normalise, split};
use contextnest::text::document::validate::{Criteria, problems};
use contextnest::text::document::{Document, links, sections, utf8};

use super::input::Input;

const AT: &str = "2026-11-21T20:06:06.689Z";

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let choice = input.byte();
    let Ok(text) = utf8(input.0) else { return };
    let normal = normalise(text);
    assert_eq!(normalise(&normal), normal.strip_prefix('\u{feff}').unwrap_or(&normal));
    // A second U+FEFF would be mistaken for a first one: no writer makes a text of such a form
    // (DOC-7).
    if !normal.starts_with('\u{feff}') {
        assert_eq!(split(text).is_ok(), split(&normal).is_ok());
    }
    // A live file may have TOML or JSON before it.
    if let Ok(live) = Document::of_live(text) {
        read_all(text, &live);
    }
    let Ok(before) = Document::parse(text) else { return };
    read_all(text, &before);
    edit(choice, text, &before);
}

/// Reads everything that a document provides.
fn read_all(text: &str, document: &Document) {
    let body = &text[document.parts.body..];
    for section in sections::sections(body) {
        assert!(body.get(section.range).is_some());
    }
    for markup in [Markup::Plain, Markup::Obsidian, Markup::Unknown] {
        let comments = markup.comments(body);
        let (shown, _) = comments.left_out(body, 0..body.len());
        let hidden: usize = comments.ranges.iter().map(|range| body[range.clone()].len()).sum();
        assert_eq!(shown.len() + hidden, body.len());
        for section in markup.sections(body) {
            assert!(body.get(section.range).is_some());
        }
        let _ = markup.additions(&document.frontmatter, body);
    }
    let (is_new, hidden_text, markup) = (true, true, Markup::Obsidian);
    let criteria = Criteria { is_new, hidden_text, markup, ..Criteria::default() };
    for problem in problems(text, document, criteria) {
        assert!(!problem.code.is_empty());
    }
    let id: DocumentId = "nodes/a/b".parse().expect("it is an id");
    let lines = text.split(['\n', '\r']).count();
    for link in links::links(&id, text, document) {
        assert!(link.line <= lines);
    }
    let _ = checksum_of(text);
}

/// Makes one edit, and compares its outcome with the text before, line by line.
fn edit(choice: u8, text: &str, before: &Document) {
    let mut changed = vec!["status", "version"];
    let mut edit = Edit::default().text("status", "published").number("version", 7);
    if choice & 1 != 0 {
        edit = edit.text("updated_at", AT);
        changed.push("updated_at");
    }
    if choice & 2 != 0 {
        edit = edit.list("tags", &["a".to_owned(), "b, ]c".to_owned()]);
        changed.push("tags");
    }
    if choice & 4 != 0 {
        edit = edit.derived_from("contextnest://nodes/a@3");
        changed.push("derived_from");
    }
    if choice & 8 != 0 {
        for key in ["version", "status", "tags"] {
            if let Some(value) = before.frontmatter.get(key).filter(|_| changed.contains(&key)) {
                edit = edit.keep_original(key, value);
            }
        }
        changed.push("metadata");
    }
    let Ok(edited) = edit.apply(text) else { return };
    let after = Document::parse(&edited).expect("an edited document is read");
    let fields = &after.frontmatter;
    assert_eq!(
        (fields.status.as_str(), fields.version),
        ("published", Some(Version(7))),
        "{edited}"
    );
    if choice & 1 != 0 {
        assert_eq!(fields.updated_at.as_deref(), Some(AT), "{edited}");
    }
    if choice & 2 != 0 {
        assert_eq!(fields.tags.iter().map(Tag::as_str).collect::<Vec<_>>(), ["a"], "{edited}");
    }
    assert_eq!(edited[after.parts.body..], text[before.parts.body..], "the body stays");
    assert_eq!(edited.starts_with('\u{feff}'), text.starts_with('\u{feff}'));

    let (Some(was), Some(is)) = (&before.parts.frontmatter, &after.parts.frontmatter) else {
        return;
    };
    assert_eq!(edited[..is.start], text[..was.start]);
    let (was, is) = (&text[was.clone()], &edited[is.clone()]);
    let mut lines = is.split_inclusive(['\n', '\r']);
    for line in untouched(was, before, &changed) {
        assert!(lines.any(|l| l == line), "{line:?} of {was:?} is not in its place in {is:?}");
    }
    // With nothing to keep, the same request again changes nothing.
    if choice & 12 == 0 {
        assert_eq!(edit.apply(&edited).as_deref(), Ok(&*edited), "from {text:?}");
    }
}

/// Returns the lines of a frontmatter without those of the changed fields.
fn untouched<'t>(block: &'t str, document: &Document, changed: &[&str]) -> Vec<&'t str> {
    let entries = document.frontmatter.root.as_ref().and_then(|root| root.entries());
    let entries = entries.unwrap_or_default();
    let starts = entries.iter().map(|(key, _)| key.span.start).skip(1).chain([block.len()]);
    let touched: Vec<_> = entries
        .iter()
        .zip(starts)
        .filter(|((key, _), _)| key.text().is_some_and(|key| changed.contains(&key)))
        .map(|((key, _), end)| key.span.start..end)
        .collect();
    let mut at = 0;
    let lines = block.split_inclusive(['\n', '\r']).map(|line| {
        at += line.len();
        (line, at - line.len()..at)
    });
    lines
        .filter(|(_, range)| !touched.iter().any(|t| t.start < range.end && range.start < t.end))
        .map(|(line, _)| line)
        .collect()
}
