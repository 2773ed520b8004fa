//! Tags in the body: `#tag` (`spec/document.md`, DOC-37).

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag as Element, TagEnd};

use crate::document::sections::MARKDOWN;
use crate::model::tag::Tag;

/// The most tags that are taken from one body.
const MAX_HASHTAGS: usize = 10_000;
/// The most bytes of one.
const MAX_BYTES: usize = 256;

/// The tags of a body in the order of the text, each once, without those that are `known`.
pub(super) fn hashtags(body: &str, known: &[Tag]) -> Vec<Tag> {
    let mut found = Vec::new();
    if candidates(body, 0..body.len()).next().is_none() {
        return found;
    }
    let mut seen: HashSet<&str> = known.iter().map(Tag::as_str).collect();
    // How many elements are open whose text is a label or code.
    let mut closed = 0_usize;
    let options = MARKDOWN | Options::ENABLE_WIKILINKS;
    for (event, range) in Parser::new_ext(body, options).into_offset_iter() {
        match event {
            Event::Start(Element::Link { .. } | Element::Image { .. } | Element::CodeBlock(_)) => {
                closed += 1;
            }
            Event::End(TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => {
                closed = closed.saturating_sub(1);
            }
            Event::Text(_) if closed == 0 => {
                for name in candidates(body, range) {
                    if let Ok(tag) = name.parse()
                        && seen.insert(name)
                    {
                        found.push(tag);
                    }
                    if found.len() == MAX_HASHTAGS {
                        return found;
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// What follows each `#` of a range of the body that begins a line or has white space before it, and
/// that an ASCII letter follows: up to the end of the name, which may be beyond the range.
fn candidates(body: &str, range: Range<usize>) -> impl Iterator<Item = &str> {
    let bytes = body.as_bytes();
    let places = memchr::memchr_iter(b'#', &bytes[range.clone()]).map(move |at| range.start + at);
    let begins = move |at: &usize| {
        let is_apart = body[..*at].chars().next_back().is_none_or(char::is_whitespace);
        is_apart && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic)
    };
    places.filter(begins).filter_map(move |at| {
        let rest = &body[at + 1..];
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        (end <= MAX_BYTES).then(|| &rest[..end])
    })
}

/// Whether a character belongs to the name of a tag as Obsidian reads it. Most such names are outside
/// of our grammar, and then no tag: a shorter one would be another.
fn is_of_name(c: char) -> bool {
    match c {
        '_' | '-' | '/' => true,
        '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}' => false,
        c => !(c.is_whitespace() || c.is_control() || c.is_ascii_punctuation()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> String {
        let found = hashtags(body, &["known".parse().unwrap()]);
        found.iter().map(Tag::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_tag_stands_apart_and_is_text() {
        for (body, expected) in [
            ("#one and #Two-2, (#no) #t_3.\n\t#four #one #known", "one Two-2 t_3 four"),
            ("# Heading #in\n#no-space\n## a ##\n", "in no-space"),
            ("a#b #a#b ##c #1a #12 #- #_a #é #aé #a🎉 #", "a"),
            ("- #item\n> #quoted\n\n| #cell |\n|---|\n| #other |\n", "item quoted cell other"),
            ("`#a` ``#b ` #c``\n\n```\n#d\n```\n\n    #e\n\n~~~ #f\n", ""),
            ("[see #a](b.md) [[N #b]] [[N|the #c]] ![x #d](e.png) <#f>\n", ""),
            ("https://x.org/ #a https://x.org/#b <https://x.org/ #c>\n", "a c"),
            ("<!-- #a -->\n<b id='x #c'>#d</b> #e\n\n<div>\n#f\n</div>\n", "e"),
            ("#nested/tag #a/ #b\\_c \\#d &#35;e *#f* #my_tag_x #g*h*", "b my_tag_x g"),
            ("#tag\u{2019}s #\u{2003}a #end", "tag end"),
        ] {
            assert_eq!(of(body), expected, "{body}");
        }
    }

    #[test]
    fn hostile_bodies_are_read_in_bounds() {
        let many: String = (0..MAX_HASHTAGS + 10).map(|n| format!("#t{n} ")).collect();
        assert_eq!(hashtags(&many, &[]).len(), MAX_HASHTAGS);
        assert_eq!(of(&format!("#{}", "a".repeat(MAX_BYTES + 1))), "");
        for pattern in ["#", "# ", "#a", "#a\n", "#a_", " #a[", "#a`", "> #a\n"] {
            let found = hashtags(&pattern.repeat((1 << 20) / pattern.len()), &[]);
            assert!(found.len() <= 1, "{pattern:?}");
        }
    }
}
