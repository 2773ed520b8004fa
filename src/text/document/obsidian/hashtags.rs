//! Tags in the body: `#tag` (`spec/document.md`, DOC-37).

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag as Element, TagEnd};

use crate::text::document::sections::MARKDOWN;
use crate::values::model::tag::{MAX_TAG_BYTES, Tag, is_of_name};

/// Maximum number of tags that are read from one body.
const MAX_HASHTAGS: usize = 10_000;

/// Returns the tags of a body in the order of the text, each once, without those in `seen`.
pub(super) fn hashtags(body: &str, mut seen: HashSet<Tag>) -> Vec<Tag> {
    let mut found = Vec::new();
    each(body, |_, name| {
        if let Ok(tag) = name.parse::<Tag>()
            && seen.insert(tag.clone())
        {
            found.push(tag);
        }
        found.len() < MAX_HASHTAGS
    });
    found
}

/// Returns the names in a body that look like tags but are not, in the order of the text, each
/// once, with the position of its `#`. Numbers are left out.
pub(super) fn odd(body: &str) -> Vec<(usize, &str)> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    each(body, |at, name| {
        let is_meant = name.contains(char::is_alphabetic)
            && !name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_meant && name.parse::<Tag>().is_err() && seen.insert(name) {
            found.push((at, name));
        }
        found.len() < MAX_HASHTAGS
    });
    found
}

/// Calls `take` with each name after a `#` in the plain text of a body and the position of the `#`,
/// until it returns false.
fn each<'b>(body: &'b str, mut take: impl FnMut(usize, &'b str) -> bool) {
    if candidates(body, 0..body.len()).next().is_none() {
        return;
    }
    // Number of open elements whose text is a label or code.
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
            Event::Text(_)
                if closed == 0 && !candidates(body, range).all(|(at, name)| take(at, name)) =>
            {
                return;
            }
            _ => {}
        }
    }
}

/// Returns each `#` of a range of the body at the beginning of a line or after white space, with
/// the name after it, which may end beyond the range.
fn candidates(body: &str, range: Range<usize>) -> impl Iterator<Item = (usize, &str)> {
    let bytes = body.as_bytes();
    let places = memchr::memchr_iter(b'#', &bytes[range.clone()]).map(move |at| range.start + at);
    let begins = move |at: &usize| body[..*at].chars().next_back().is_none_or(char::is_whitespace);
    places.filter(begins).filter_map(move |at| {
        let rest = &body[at + 1..];
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        (1..=MAX_TAG_BYTES).contains(&end).then(|| (at, &rest[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> String {
        let found = hashtags(body, HashSet::from(["known".parse().unwrap()]));
        found.iter().map(Tag::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn hashtags_follow_white_space_and_are_plain_text() {
        for (body, expected) in [
            ("#one and #Two-2, (#no) #t_3.\n\t#four #one #known", "one Two-2 t_3 four"),
            ("# Heading #in\n#no-space\n## a ##\n", "in no-space"),
            ("a#b #a#b ##c #1a #12 #- #_a #é #aé #a🎉 #", "a 1a _a é aé a🎉"),
            ("- #item\n> #quoted\n\n| #cell |\n|---|\n| #other |\n", "item quoted cell other"),
            ("`#a` ``#b ` #c``\n\n```\n#d\n```\n\n    #e\n\n~~~ #f\n", ""),
            ("[see #a](b.md) [[N #b]] [[N|the #c]] ![x #d](e.png) <#f>\n", ""),
            ("https://x.org/ #a https://x.org/#b <https://x.org/ #c>\n", "a c"),
            ("<!-- #a -->\n<b id='x #c'>#d</b> #e\n\n<div>\n#f\n</div>\n", "e"),
            ("#nested/tag #a/ #b\\_c \\#d &#35;e *#f* #my_tag_x #g*h*", "nested/tag b my_tag_x g"),
            ("#tag\u{2019}s #\u{2003}a #end", "tag end"),
        ] {
            assert_eq!(of(body), expected, "{body}");
        }
    }

    #[test]
    fn odd_hashtags_are_found() {
        let body = "#a//b #ok #a//b `#/c` #\u{e9}t\u{e9} #a/ #12 #1a2b3c #fff\n# H #a\u{fe0f}\n";
        let names: Vec<&str> = odd(body).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["a//b", "a/", "a\u{fe0f}"]);
        assert!(odd(body).iter().all(|(at, name)| body[at + 1..].starts_with(name)));
        assert_eq!(odd("(#a//b) #- #_ #/ #\u{1f389}\n"), []);
    }

    #[test]
    fn hostile_bodies_are_read_in_bounds() {
        let many: String = (0..MAX_HASHTAGS + 10).map(|n| format!("#t{n} ")).collect();
        assert_eq!(hashtags(&many, HashSet::new()).len(), MAX_HASHTAGS);
        assert_eq!(of(&format!("#{}", "a".repeat(MAX_TAG_BYTES + 1))), "");
        for pattern in ["#", "# ", "#a", "#a\n", "#a_", " #a[", "#a`", "> #a\n"] {
            let found = hashtags(&pattern.repeat((1 << 20) / pattern.len()), HashSet::new());
            assert!(found.len() <= 1, "{pattern:?}");
        }
    }
}
