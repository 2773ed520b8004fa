//! The links and images that the markup of a body has, and where each is written.

use std::collections::VecDeque;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, OffsetIter, Options, Parser, RefDefs, Tag, TagEnd};

use super::MAX_BODY;
use crate::text::document::sections::MARKDOWN;
use crate::values::text_util::beginning;

/// Where a link is written.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkPlace {
    /// The bytes of the text that hold it.
    pub(super) span: Range<usize>,
    /// What it names, as the reader of the markup gives it.
    pub(super) dest: String,
    /// How it is written there.
    pub(super) spelling: Spelling,
}

/// How a link is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `[label](target)`, `<target>`, or the value of a field.
    #[default]
    Inline,
    /// `[[target]]`.
    Wiki,
    /// `[label]: target`, to which several links may refer.
    Definition,
    /// A URI in plain text, of which the same bytes may hold several.
    Plain,
}

impl LinkPlace {
    /// The place of the target of a link or an image, of which `range` is the place. `start` is
    /// that of the body.
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

/// A link or an image as the reader of the markup gives it.
pub(super) struct MarkedLink<'e> {
    pub(super) link_type: LinkType,
    pub(super) dest: &'e str,
    /// The label of its definition, if it has one.
    pub(super) label: &'e str,
    /// Its place in the body.
    pub(super) range: Range<usize>,
}

/// The part of a body that is searched for links, and whether it is all of it.
pub(super) fn bounded(body: &str) -> (&str, bool) {
    if body.len() <= MAX_BODY {
        return (body, true);
    }
    let begun = beginning(body, MAX_BODY);
    // No URI is cut in two: it would name something else.
    (&begun[..begun.rfind(char::is_whitespace).unwrap_or(begun.len())], false)
}

/// The events of the markup of a body.
pub(super) fn markdown(body: &str) -> Events<'_> {
    let inner = Parser::new_ext(body, MARKDOWN | Options::ENABLE_WIKILINKS).into_offset_iter();
    Events { body, inner, next: VecDeque::new(), mistaken: Vec::new() }
}

/// The events of a parser, each with its place, in which an embedded wikilink is what it is.
///
/// After `![[a]]` the parser (pulldown-cmark 0.13) may still take its `![` for the start of an
/// image that a later `](b)` ends, to which no bracket belongs. Such an image has lost what is in
/// its first brackets, and is read as the wikilink here.
pub(super) struct Events<'t> {
    body: &'t str,
    inner: OffsetIter<'t>,
    /// Events that come before those of the parser.
    next: VecDeque<(Event<'t>, Range<usize>)>,
    /// The places of mistaken images that have not ended.
    mistaken: Vec<Range<usize>>,
}

impl<'t> Events<'t> {
    pub(super) fn reference_definitions(&self) -> &RefDefs<'_> {
        self.inner.reference_definitions()
    }

    fn pull(&mut self) -> Option<(Event<'t>, Range<usize>)> {
        self.next.pop_front().or_else(|| self.inner.next())
    }

    /// The target and the end of the wikilink with which a mistaken image begins; `inside` is the
    /// place of the event after that of the image.
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

/// Whether an event begins an image by a destination where an embedded wikilink may be meant.
fn is_image_of_a_wikilink(event: &Event<'_>, raw: &str) -> bool {
    match event {
        Event::Start(Tag::Image { link_type: LinkType::WikiLink { .. }, .. }) => false,
        Event::Start(Tag::Image { .. }) => raw.starts_with("![["),
        _ => false,
    }
}

/// The link or image that begins with an event.
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

/// Whether a link shows its target in place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Embed {
    Yes,
    No,
}

/// Counts lines, which end in LF, CRLF or CR, for offsets that do not fall.
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
