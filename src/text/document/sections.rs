//! Sections of a document, and the anchors that name them (paper, section 9.3; `spec/sections.md`).
//!
//! The anchor of a section is the one that GitHub derives from the heading, or the name in the
//! heading's own `{#name}`. A section ends at the next heading of the same or a higher level.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use unicode_normalization::char::is_combining_mark;

use super::second_block::attributes;

/// Options for Markdown wherever the structure of a body matters.
pub(super) const MARKDOWN: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_HEADING_ATTRIBUTES);

/// The part of a section that is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The whole section, with its subsections.
    #[default]
    Whole,
    /// The text before the first subsection.
    Own,
    /// The text before the first heading of the body, which is not a section.
    Beginning,
}

impl Scope {
    /// Returns the word in answers; `None` for a whole section.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::Own => Some("own"),
            Self::Beginning => Some("beginning"),
        }
    }
}

/// A section of a body, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Name after `#` in a URI, unique in the document; empty for the beginning.
    pub anchor: String,
    /// Further name in the heading's attributes, if it differs (SEC-9).
    pub name: Option<String>,
    /// Text of the heading.
    pub title: String,
    /// Level of the heading, from 1 to 6; 0 for the beginning.
    pub level: u8,
    /// Range of bytes in the body, with the heading and the subsections.
    pub range: Range<usize>,
    /// Part of the section.
    pub scope: Scope,
}

impl Section {
    /// Makes the part before the first heading, which begins at `range.end`.
    pub(crate) fn beginning(range: Range<usize>) -> Self {
        let (anchor, title) = (String::new(), String::new());
        Self { anchor, name: None, title, level: 0, range, scope: Scope::Beginning }
    }

    /// Returns the section without its subsections; `next` is the section after it in the text.
    pub(crate) fn own(&self, next: Option<&Self>) -> Self {
        match next.map(|next| next.range.start) {
            Some(end) if end < self.range.end => {
                let range = self.range.start..end;
                Self { range, scope: Scope::Own, ..self.clone() }
            }
            _ => self.clone(),
        }
    }
}

/// Returns the index of the section with this anchor or, if there is none, with this further name.
pub(crate) fn place_of(all: &[Section], named: &str) -> Option<usize> {
    let has_name = |section: &Section| section.name.as_deref() == Some(named);
    all.iter().position(|section| section.anchor == named).or_else(|| all.iter().position(has_name))
}

/// Returns the anchors of sections, and their further names.
pub(crate) fn anchors(all: Vec<Section>) -> BTreeSet<String> {
    all.into_iter().flat_map(|section| [Some(section.anchor), section.name]).flatten().collect()
}

/// An anchor that no section has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no section has the anchor `#{anchor}`")]
pub struct UnknownAnchor {
    /// Requested anchor.
    pub anchor: String,
    /// Anchors that exist, in order.
    pub known: Vec<String>,
}

/// Maximum number of sections of a document; further headings are text of the last one.
pub const MAX_SECTIONS: usize = 10_000;

/// Returns the sections of a body, in order.
pub fn sections(body: &str) -> Vec<Section> {
    let mut anchors = Anchors::default();
    let mut found: Vec<Section> = Vec::new();
    for heading in headings(body) {
        let anchor = match heading.name {
            Some(name) => anchors.unique(&name),
            None => anchors.unique(&slug(&heading.title)),
        };
        let (title, level) = (heading.title, heading.level);
        let (range, scope) = (heading.start..body.len(), Scope::Whole);
        let name = heading.further.filter(|name| is_name(name) && *name != anchor);
        found.push(Section { anchor, name, title, level, range, scope });
    }
    for n in 0..found.len() {
        let (level, rest) = (found[n].level, &found[n + 1..]);
        let end =
            rest.iter().find(|next| next.level <= level).map_or(body.len(), |s| s.range.start);
        found[n].range.end = end;
    }
    found
}

/// Returns the end of the heading of the first level at the beginning of a body; 0 if there
/// is none.
pub(crate) fn title_end(body: &str) -> usize {
    match Parser::new_ext(body, MARKDOWN).into_offset_iter().next() {
        Some((Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }), range)) => range.end,
        _ => 0,
    }
}

/// Returns true if the text after a `#` matches one of these anchors: the anchor itself or, as in
/// wikilinks, the text of the heading.
pub(crate) fn has_section(anchors: &BTreeSet<String>, named: &str) -> bool {
    anchors.contains(named) || anchors.contains(&slug(named))
}

struct Heading {
    title: String,
    name: Option<String>,
    /// Id in attributes that CommonMark does not read, or in a line after the heading.
    further: Option<String>,
    level: u8,
    /// First byte of the first line.
    start: usize,
}

fn headings(body: &str) -> Vec<Heading> {
    let (mut all, mut open) = (Vec::new(), None);
    for (event, range) in Parser::new_ext(body, MARKDOWN).into_offset_iter() {
        match (event, &mut open) {
            (Event::Start(Tag::Heading { level, id, .. }), _) => {
                let start = body[..range.start].rfind('\n').map_or(0, |n| n + 1);
                let name = id.map(|id| id.to_string()).filter(|name| is_name(name));
                let level = number(level);
                let further = own_id(body, &range);
                open = Some(Heading { title: String::new(), name, further, level, start });
            }
            (Event::Text(text) | Event::Code(text), Some(heading)) => heading.title.push_str(&text),
            (Event::SoftBreak | Event::HardBreak, Some(heading)) => heading.title.push(' '),
            (Event::End(TagEnd::Heading(_)), Some(_)) => all.extend(open.take()),
            _ => {}
        }
        if all.len() == MAX_SECTIONS {
            break;
        }
    }
    all
}

/// Returns the id in the attributes at the end of a heading, or in a block of attributes on the
/// next line.
fn own_id(body: &str, range: &Range<usize>) -> Option<String> {
    let heading = body[range.clone()].trim_end();
    let after = body[range.start + heading.len()..].trim_start_matches([' ', '\t']);
    let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix(['\n', '\r']));
    let next = after.and_then(|rest| rest.lines().next()).map(str::trim).unwrap_or_default();
    // The underline of a Setext heading is its last line.
    let first = heading.lines().next().unwrap_or_default();
    let block = next.starts_with("{:").then(|| attributes(next)).flatten();
    let (_, words) = attributes(first).or(block.filter(|(title, _)| title.is_empty()))?;
    let id = words.iter().find_map(|word| match word.split_once('=') {
        Some(("id", id)) => Some(id.trim_matches(['"', '\''])),
        _ => word.strip_prefix('#'),
    });
    id.map(str::to_owned)
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Returns true if a name in a heading's attributes can be used in a URI unencoded.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 256 && name.chars().all(fits)
}

/// Returns the anchor that GitHub derives from the text of a heading: lower case, `-` for blanks,
/// and only letters, digits, `-` and `_`.
fn slug(title: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() || is_combining_mark(c) => Some(c),
        _ => None,
    };
    title.trim().to_lowercase().chars().filter_map(kept).collect()
}

/// The anchors of one document, without duplicates.
#[derive(Default)]
struct Anchors {
    taken: HashSet<String>,
    last: HashMap<String, usize>,
}

impl Anchors {
    /// Returns the name, with `-1`, `-2` and so on appended if it is taken.
    fn unique(&mut self, name: &str) -> String {
        let mut anchor = name.to_owned();
        while !self.taken.insert(anchor.clone()) {
            let n = self.last.entry(name.to_owned()).or_insert(0);
            *n += 1;
            anchor = format!("{name}-{n}");
        }
        anchor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(body: &str) -> String {
        let line =
            |s: Section| format!("{} {} {:?} {:?}", s.level, s.anchor, s.title, &body[s.range]);
        sections(body).into_iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn section_ends_at_the_next_heading_of_its_level_or_above() {
        insta::assert_snapshot!(outline("intro\n# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\n"), @r####"
        1 a "A" "# A\na\n## B\nb\n### C\nc\n## D\nd\n"
        2 b "B" "## B\nb\n### C\nc\n"
        3 c "C" "### C\nc\n"
        2 d "D" "## D\nd\n"
        1 e "E" "# E\n"
        "####);
    }

    #[test]
    fn anchors_are_those_of_github() {
        let cases = [
            ("# Hello, World!", "hello-world"),
            ("# `code` and *stress*", "code-and-stress"),
            ("# Été — ☀ 日本", "été---日本"),
            ("# a_b-c  d", "a_b-c--d"),
            ("# [Link](x) text", "link-text"),
            ("Setext\n===", "setext"),
            ("# Named {#my-name}", "my-name"),
            ("# Attributes {#a b .c d=e}", "a"),
            ("# Not a name {#a/b}", "not-a-name"),
            ("# ", ""),
            ("## Closed ##", "closed"),
        ];
        for (body, anchor) in cases {
            let found: Vec<String> = sections(body).into_iter().map(|s| s.anchor).collect();
            assert_eq!(found, [anchor], "{body:?}");
        }
    }

    #[test]
    fn equal_headings_get_numbers_and_no_two_anchors_are_equal() {
        let body = "# A\n# A\n# A-1\n# A\n# X {#a}\n";
        let found: Vec<String> = sections(body).into_iter().map(|s| s.anchor).collect();
        assert_eq!(found, ["a", "a-1", "a-1-1", "a-2", "a-3"]);
    }

    #[test]
    fn a_heading_is_found_by_further_forms_of_its_id_and_keeps_its_anchor() {
        for (body, anchor, name) in [
            ("## H\n{: #kram}\n", "h", "kram"),
            ("## H\n{:#kram .c}\n\nText.\n", "h", "kram"),
            ("## H\r\n{: id=\"kram\"}\r\n", "h", "kram"),
            ("H\n---\n{: #kram}\n", "h", "kram"),
            ("## Trail {#tr} ##\n", "trail-tr", "tr"),
        ] {
            let all = sections(body);
            let found = all.first().unwrap();
            assert_eq!((&*found.anchor, found.name.as_deref()), (anchor, Some(name)), "{body}");
            assert_eq!((place_of(&all, anchor), place_of(&all, name)), (Some(0), Some(0)));
        }
        // The section is found by the id, for every anchor it had before.
        for body in
            ["# A {:#kram}\n", "# A {: id='kram' }\n", "# A ## {#kram}\n", "# A {: #kram }\n"]
        {
            assert_eq!(place_of(&sections(body), "kram"), Some(0), "{body}");
        }
        for body in ["# A {b}\n", "# A\n\n{: #kram}\n", "# A\n{: #kram} text\n", "# A {#a}\n"] {
            assert_eq!(sections(body)[0].name, None, "{body}");
        }
        let all = sections("# A\n{: #b}\n# B\n");
        assert_eq!((place_of(&all, "b"), place_of(&all, "c")), (Some(1), None));
    }

    #[test]
    fn code_and_html_have_no_headings() {
        assert_eq!(sections("```\n# no\n```\n    # no\n<!--\n# no\n-->\ntext # no\n\\# no\n"), []);
    }
}
