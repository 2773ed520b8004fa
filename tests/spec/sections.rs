//! Sections of a body and their anchors (`spec/sections.md`).

use contextnest::text::document::sections::sections;
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    body: String,
    sections: Vec<Section>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Section {
    anchor: String,
    title: String,
    level: u8,
    /// Bytes of the body.
    start: usize,
    end: usize,
}

#[test]
fn each_heading_begins_a_section_with_its_own_anchor() {
    let cases: Vec<Case> = load("sections/cases.json");
    for case in cases {
        let found = sections(&case.body).into_iter().map(|section| Section {
            anchor: section.anchor,
            title: section.title,
            level: section.level,
            start: section.range.start,
            end: section.range.end,
        });
        assert_eq!(found.collect::<Vec<_>>(), case.sections, "{}", case.name);
    }
}
