//! The layout of Obsidian: its additions to a text, and the parts that are not served
//! (`spec/document.md`, section 7).

use contextnest::model::tag::Tag;
use contextnest::text::document::Document;
use contextnest::text::document::obsidian::Markup;
use serde::Deserialize;

use crate::vectors::load;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    text: String,
    aliases: Vec<String>,
    tags: Vec<String>,
    body: String,
    comments: usize,
    unclosed: bool,
    sections: Vec<String>,
}

#[test]
fn every_text_has_these_additions_and_these_comments() {
    let cases: Vec<Case> = load("obsidian/cases.json");
    for case in cases {
        let document = Document::parse(&case.text).unwrap();
        let (fields, body) = (&document.frontmatter, &case.text[document.parts.body..]);
        let added = Markup::Obsidian.additions(fields, body);
        let comments = Markup::Obsidian.comments(body);
        let (shown, left_out) = comments.left_out(body, 0..body.len());
        let sections = Markup::Obsidian.sections(body).into_iter();
        let found = Case {
            name: case.name.clone(),
            text: case.text.clone(),
            aliases: added.aliases,
            tags: fields.tags.iter().chain(&added.tags).map(Tag::to_string).collect(),
            body: shown.into_owned(),
            comments: left_out,
            unclosed: comments.unclosed.is_some(),
            sections: sections.map(|section| section.anchor).collect(),
        };
        assert_eq!(found, case);
        let plain = Markup::Plain.additions(fields, body);
        assert!(plain.aliases.is_empty() && plain.tags.is_empty(), "{}", case.name);
        assert!(Markup::Plain.comments(body).ranges.is_empty(), "{}", case.name);
    }
}
