//! The links and images in the markup of a body, and their positions.

use std::collections::VecDeque;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, OffsetIter, Options, Parser, RefDefs, Tag, TagEnd};

use super::MAX_BODY;
use crate::text::document::sections::MARKDOWN;
use crate::values::text_util::beginning;

/// The position and the spelling of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkPlace {
    /// Range of bytes in the text.
    pub(super) span: Range<usize>,
    /// Destination, as the Markdown parser returns it.
    pub(super) dest: String,
    /// Spelling of the link.
    pub(super) spelling: Spelling,
}

/// The spelling of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `[label](target)`, `<target>`, or the value of a field.
    #[default]
    Inline,
    /// A wikilink: `[[target]]`.
    Wiki,
    /// `[label]: target`, which several links may share.
    Definition,
    /// A URI in plain text; the same range may contain several.
    Plain,
}

impl LinkPlace {
    /// Returns the place of the target of a link or an image. `start` is the offset of the body.
    pub(super) fn of(link: &MarkedLink<'_>, definitions: &RefDefs<'_>, start: usize) -> Self {
        let definition = match link.link_type {
            LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut => {
                definitions.get(link.label).map(|definition| definition.span.clone())
            }
            _ => None,
        };
        let spelling = match (&definition, link.link_type) {
            (Some(_), _) => Spelling::Definition,
            (None, LinkType::WikiLink { .. }) => Spelling::Wiki,
            (None, _) => Spelling::Inline,
        };
        let span = definition.unwrap_or_else(|| link.range.clone());
        let dest = link.dest.to_owned();
        Self { span: start + span.start..start + span.end, dest, spelling }
    }
}

/// A link or an image, as the Markdown parser returns it.
pub(super) struct MarkedLink<'e> {
    pub(super) link_type: LinkType,
    pub(super) dest: &'e str,
    /// Label of its definition, if it has one.
    pub(super) label: &'e str,
    /// Range in the body.
    pub(super) range: Range<usize>,
}

/// Returns the part of a body that is searched for links, and true if it is the whole body.
pub(super) fn bounded(body: &str) -> (&str, bool) {
    if body.len() <= MAX_BODY {
        return (body, true);
    }
    let begun = beginning(body, MAX_BODY);
    // A URI is never cut in two, because its beginning would name another document.
    (&begun[..begun.rfind(char::is_whitespace).unwrap_or(begun.len())], false)
}

/// Returns the events of the markup of a body.
pub(super) fn markdown(body: &str) -> Events<'_> {
    let inner = Parser::new_ext(body, MARKDOWN | Options::ENABLE_WIKILINKS).into_offset_iter();
    Events { body, inner, next: VecDeque::new(), mistaken: Vec::new() }
}

/// The events of a parser, each with its range, with a fix for embedded wikilinks.
///
/// After `![[a]]` the parser (pulldown-cmark 0.13) may still read its `![` as the start of an image
/// that a later `](b)` ends, to which no bracket belongs. Such an image has lost the content of its
/// first brackets, and is turned into the wikilink here.
pub(super) struct Events<'t> {
    body: &'t str,
    inner: OffsetIter<'t>,
    /// Events that come before those of the parser.
    next: VecDeque<(Event<'t>, Range<usize>)>,
    /// Ranges of mistaken images that have not ended.
    mistaken: Vec<Range<usize>>,
}

impl<'t> Events<'t> {
    pub(super) fn reference_definitions(&self) -> &RefDefs<'_> {
        self.inner.reference_definitions()
    }

    fn pull(&mut self) -> Option<(Event<'t>, Range<usize>)> {
        self.next.pop_front().or_else(|| self.inner.next())
    }

    /// Returns the target and the end of the wikilink at the beginning of a mistaken image;
    /// `inside` is the range of the event after the start of the image.
    fn wikilink(&self, image: &Range<usize>, inside: &Range<usize>) -> Option<(&'t str, usize)> {
        let start = image.start + "![[".len();
        let is_whole = inside.start + "[".len() == start;
        let raw = self.body.get(start..image.end).filter(|_| !is_whole)?;
        let mut ends = raw.match_indices("]]").map(|(at, _)| at);
        let end = ends.find(|at| !raw[..*at].ends_with('\\'))?;
        let target = raw[..end].split('|').next()?;
        Some((target, start + end + "]]".len()))
    }
}

impl<'t> Iterator for Events<'t> {
    type Item = (Event<'t>, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (event, range) = self.pull()?;
            if matches!(event, Event::End(TagEnd::Image)) && self.mistaken.last() == Some(&range) {
                self.mistaken.pop();
                continue;
            }
            if !is_image_of_a_wikilink(&event, &self.body[range.clone()]) {
                return Some((event, range));
            }
            let Some(inside) = self.pull() else { return Some((event, range)) };
            let found = self.wikilink(&range, &inside.1);
            self.next.push_front(inside);
            let Some((target, end)) = found else { return Some((event, range)) };
            let wikilink = range.start..end;
            self.next.push_front((Event::End(TagEnd::Image), wikilink.clone()));
            self.mistaken.push(range);
            let tag = Tag::Image {
                link_type: LinkType::WikiLink { has_pothole: false },
                dest_url: target.into(),
                title: "".into(),
                id: "".into(),
            };
            return Some((Event::Start(tag), wikilink));
        }
    }
}

/// Returns true if an event begins an image with a destination that may be an embedded wikilink.
fn is_image_of_a_wikilink(event: &Event<'_>, raw: &str) -> bool {
    match event {
        Event::Start(Tag::Image { link_type: LinkType::WikiLink { .. }, .. }) => false,
        Event::Start(Tag::Image { .. }) => raw.starts_with("![["),
        _ => false,
    }
}

/// Returns the link or image that begins with an event.
pub(super) fn marked<'e>(
    event: &'e Event<'_>,
    range: Range<usize>,
) -> Option<(MarkedLink<'e>, Embed)> {
    let (link_type, dest, label, embed) = match event {
        Event::Start(Tag::Link { link_type, dest_url, id, .. }) => {
            (*link_type, dest_url, id, Embed::No)
        }
        Event::Start(Tag::Image { link_type, dest_url, id, .. }) => {
            (*link_type, dest_url, id, Embed::Yes)
        }
        _ => return None,
    };
    Some((MarkedLink { link_type, dest, label, range }, embed))
}

/// The display of a target: embedded in the page or not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Embed {
    Yes,
    No,
}

/// A counter of lines, which end in LF, CRLF or CR, for offsets in ascending order.
pub(super) struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    pub(super) fn line_of(&mut self, offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        while self.at < offset.min(bytes.len()) {
            let is_end = match bytes[self.at] {
                b'\n' => true,
                b'\r' => bytes.get(self.at + 1) != Some(&b'\n'),
                _ => false,
            };
            self.line += usize::from(is_end);
            self.at += 1;
        }
        self.line
    }
}
