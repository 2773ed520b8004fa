//! Reading the links of a text.

use std::ops::Range;

use percent_encoding::percent_decode_str;
use pulldown_cmark::{Event, LinkType, Tag, TagEnd};
use unicode_normalization::UnicodeNormalization as _;

use super::bare::{schemes, starts_with_scheme, uris};
use super::markup::{Embed, Lines, LinkPlace, Spelling, bounded, markdown, marked};
use super::{
    Broken, Image, Link, LinkKind, LinkTarget, Links, MAX_LINKS, OwnSection, Unusable, folder,
    is_other_file, last_segment,
};
use crate::text::document::Document;
use crate::text::document::frontmatter::{Frontmatter, NodeType, one_or_many};
use crate::text::uri::{Target, Uri};
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::yaml::Node;

/// Maximum length of a destination after a wikilink, in bytes.
const MAX_BEHIND: usize = 1_000;

/// Reads the links of a document, and the texts that only look like links. `fields` and the offset
/// of the body are those of the text.
pub fn read(id: &DocumentId, text: &str, fields: &Frontmatter, body: usize) -> Links {
    let mut reader = Reader::new(id);
    reader.origins(fields);
    reader.dependencies(fields);
    reader.body(text, body);
    reader.found
}

/// Returns the documents that a source depends on, from its frontmatter.
pub fn dependencies(id: &DocumentId, fields: &Frontmatter) -> Vec<Link> {
    let mut reader = Reader::new(id);
    reader.dependencies(fields);
    reader.found.links
}

/// Returns the links of a document, each with its place in the text.
pub(super) fn placed(
    id: &DocumentId,
    text: &str,
    document: &Document,
) -> (Vec<Link>, Vec<LinkPlace>) {
    let mut reader = Reader::new(id);
    let start = document.parts.frontmatter.as_ref().map_or(0, |block| block.start);
    reader.places = Some((start, LinkPlace::default(), Vec::new()));
    reader.origins(&document.frontmatter);
    reader.dependencies(&document.frontmatter);
    reader.body(text, document.parts.body);
    let places = reader.places.take().map(|(.., places)| places).unwrap_or_default();
    (reader.found.links, places)
}

struct Reader<'d> {
    id: &'d DocumentId,
    found: Links,
    /// Places, if they are wanted: the start of the frontmatter, the place of the next link, and
    /// the places of the links that were found.
    places: Option<(usize, LinkPlace, Vec<LinkPlace>)>,
}

impl<'d> Reader<'d> {
    fn new(id: &'d DocumentId) -> Self {
        Self { id, found: Links::default(), places: None }
    }

    fn at(&mut self, place: impl FnOnce(usize) -> LinkPlace) {
        if let Some((start, next, _)) = &mut self.places {
            *next = place(*start);
        }
    }

    fn at_node(&mut self, node: &Node) {
        self.at(|start| LinkPlace {
            span: start + node.span.start..start + node.span.end,
            dest: node.text().unwrap_or_default().to_owned(),
            ..LinkPlace::default()
        });
    }

    fn origins(&mut self, fields: &Frontmatter) {
        for item in one_or_many(fields.get("derived_from")) {
            self.origin(item);
        }
    }

    fn dependencies(&mut self, fields: &Frontmatter) {
        let source = fields.get("source").filter(|_| fields.node_type == NodeType::Source);
        for item in one_or_many(source.and_then(|node| node.get("depends_on"))) {
            // A text that is not a URI is reported by the rules of a source node.
            if let Some(Ok(uri)) = item.text().map(str::parse::<Uri>) {
                self.at_node(item);
                self.uri(LinkKind::DependsOn, uri, line_of(item));
            }
        }
    }

    /// Reads an entry of `derived_from`: a URI or an id.
    fn origin(&mut self, item: &Node) {
        let Some(text) = item.text() else { return };
        self.at_node(item);
        let (kind, line) = (LinkKind::DerivedFrom, line_of(item));
        if starts_with_scheme(text) {
            return self.uri_text(kind, text, line);
        }
        let path: String = text.nfc().collect();
        match path.strip_suffix(".md").unwrap_or(&path).parse::<DocumentId>() {
            Ok(id) if is_document(&id) => self.add(kind, LinkTarget::Document(text_of(&id)), line),
            // Another system may keep a title or a web address here.
            _ => {}
        }
    }

    fn body(&mut self, text: &str, start: usize) {
        let (body, is_whole) = bounded(&text[start..]);
        self.found.truncated |= !is_whole;
        if !body.contains('[') && schemes(body).next().is_none() {
            return;
        }
        let mut lines = Lines::new(text);
        // Inside code, and inside the label of a link, a URI is plain text.
        let (mut closed, mut run) = (0_usize, Run::default());
        let mut events = markdown(body);
        while let Some((event, range)) = events.next() {
            let at = start + range.start;
            if let Event::Text(part) = &event {
                if closed == 0 {
                    run.push(part, at..start + range.end);
                }
                continue;
            }
            self.run(&mut run, &mut lines);
            if let Some((link, embed)) = marked(&event, range) {
                closed += 1;
                self.at(|_| LinkPlace::of(&link, events.reference_definitions(), start));
                let line = lines.line_of(at);
                self.link(link.link_type, link.dest, embed, line);
                if matches!(link.link_type, LinkType::WikiLink { .. }) {
                    self.behind_wikilink(&body[link.range.end..], line);
                }
            }
            match event {
                Event::Start(Tag::CodeBlock(_)) => closed += 1,
                Event::End(TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => {
                    closed = closed.saturating_sub(1);
                }
                _ => {}
            }
            if self.found.truncated && self.is_full() {
                return;
            }
        }
        self.run(&mut run, &mut lines);
    }

    fn is_full(&self) -> bool {
        let found = &self.found;
        [found.links.len(), found.broken.len(), found.own_sections.len(), found.images.len()]
            .iter()
            .any(|count| *count >= MAX_LINKS)
    }

    /// Reads the URIs in a piece of plain text.
    fn run(&mut self, run: &mut Run, lines: &mut Lines<'_>) {
        for range in uris(&run.text) {
            self.at(|_| LinkPlace {
                span: run.at..run.end,
                dest: run.text[range.clone()].to_owned(),
                spelling: Spelling::Plain,
            });
            self.uri_text(LinkKind::Reference, &run.text[range], lines.line_of(run.at));
        }
        run.text.clear();
    }

    fn link(&mut self, link_type: LinkType, dest: &str, embed: Embed, line: usize) {
        match link_type {
            LinkType::Email => {}
            LinkType::WikiLink { .. } => self.wikilink(dest, embed, line),
            _ if starts_with_scheme(dest) => self.uri_text(LinkKind::Reference, dest, line),
            _ if has_scheme(dest) || dest.starts_with("//") => {}
            _ => self.path(dest, embed, line),
        }
    }

    /// Reads the link that would exist after `[[a]]` if that were not a wikilink.
    fn behind_wikilink(&mut self, text: &str, line: usize) {
        let dest = text.strip_prefix('(').and_then(|text| {
            let end = text.bytes().take(MAX_BEHIND).position(|b| b == b')' || b == b' ')?;
            Some(&text[..end])
        });
        let has_room = self.found.behind_wikilinks.len() < MAX_LINKS;
        if let Some(dest) = dest.filter(|dest| !dest.is_empty() && has_room) {
            let mut reader = Reader::new(self.id);
            reader.link(LinkType::Inline, dest, Embed::No, line);
            self.found.behind_wikilinks.extend(reader.found.links);
        }
    }

    /// Reads a link by a path, relative to the document's folder or from the root.
    fn path(&mut self, dest: &str, embed: Embed, line: usize) {
        let (path, anchor) = split_anchor(dest);
        let path = path.split('?').next().unwrap_or(path);
        if dest.starts_with('#') {
            return self.own_section(anchor.and_then(|a| decode(a).ok()), line);
        }
        if embed == Embed::Yes && is_other_file(path) && !layout::is_markdown(path) {
            return self.image(dest, path, line);
        }
        let is_folder = matches!(last_segment(path), "" | "." | "..");
        if path.starts_with('/') && path.ends_with('/') && embed == Embed::No {
            return self.site_folder(path, anchor, line);
        }
        if is_folder || (is_other_file(path) && !layout::is_markdown(path)) {
            return;
        }
        let target = match decoded_path(path).and_then(|path| resolve_path(self.id, &path)) {
            Ok(Some(target)) => target,
            Ok(None) => return,
            Err(why) => return self.broken(dest, why, line),
        };
        self.reference(target, anchor, line);
    }

    /// Reads a link to a folder of the site. A path that no document can have is ignored.
    fn site_folder(&mut self, path: &str, anchor: Option<&str>, line: usize) {
        let Ok(path) = decoded_path(path) else { return };
        let (names, above) = names_of(self.id, &path);
        let mut path: String = names.join("/").nfc().collect();
        if above > 0 || !(path.is_empty() || path.parse::<DocumentId>().is_ok()) {
            return;
        }
        if !path.is_empty() {
            path.push('/');
        }
        self.reference(LinkTarget::Site(path), anchor, line);
    }

    fn reference(&mut self, target: LinkTarget, anchor: Option<&str>, line: usize) {
        let anchor = anchor.and_then(|a| decode(a).ok()).filter(|a| !a.is_empty());
        self.push(Link { kind: LinkKind::Reference, target, anchor, checkpoint: None, line });
    }

    /// Reads a link to a section of the document itself.
    fn own_section(&mut self, anchor: Option<String>, line: usize) {
        match (anchor.filter(|anchor| !anchor.is_empty()), self.is_full()) {
            (Some(_), true) => self.found.truncated = true,
            (Some(anchor), false) => self.found.own_sections.push(OwnSection { anchor, line }),
            (None, _) => {}
        }
    }

    /// Reads an image by the path of its file, which may be above the root.
    fn image(&mut self, dest: &str, path: &str, line: usize) {
        let Ok(path) = decoded_path(path) else {
            return self.broken(dest, Unusable::Encoding, line);
        };
        let (names, above) = names_of(self.id, &path);
        let (path, from_root) = (names.join("/"), path.starts_with('/'));
        match self.is_full() {
            true => self.found.truncated = true,
            false => {
                let text = start_of(dest);
                let by_name = false;
                self.found.images.push(Image { text, path, above, from_root, by_name, line });
            }
        }
    }

    /// Reads an embedded file by its name or path, as Obsidian finds it.
    fn embedded(&mut self, name: &str, line: usize) {
        let (names, above) = match name.starts_with('.') {
            true => names_of(self.id, name),
            false => (name.split('/').filter(|name| !name.is_empty()).collect(), 0),
        };
        match self.is_full() {
            true => self.found.truncated = true,
            false => {
                let (text, path) = (start_of(name), names.join("/"));
                let (from_root, by_name) = (name.starts_with('/'), true);
                self.found.images.push(Image { text, path, above, from_root, by_name, line });
            }
        }
    }

    /// Reads `[[name]]`, `[[name#Heading]]` or `![[name]]`, without a label.
    fn wikilink(&mut self, dest: &str, embed: Embed, line: usize) {
        // In a table, the bar before a label is written `\|`.
        let dest = dest.trim_end_matches('\\').trim();
        if starts_with_scheme(dest) {
            return self.uri_text(LinkKind::Reference, dest, line);
        }
        let (name, anchor) = split_anchor(dest);
        // The innermost heading of `#A#B` is used; `^block` does not name a section.
        let anchor = anchor.map(|a| a.rsplit('#').next().unwrap_or(a).trim());
        let anchor = anchor.filter(|a| !a.is_empty() && !a.starts_with('^')).map(str::to_owned);
        let name: String = name.trim().nfc().collect();
        let is_markdown = layout::is_markdown(&name);
        // `[[1, 2], [3]]` is a list, and a text with a line end is prose.
        let is_prose = name.contains(|c: char| c.is_control() || "[]".contains(c));
        let is_other = is_prose || name.ends_with('/') || has_scheme(&name) && name.contains("://");
        if name.is_empty() && embed == Embed::No && dest.starts_with('#') {
            return self.own_section(anchor, line);
        }
        if name.is_empty() || is_other {
            return;
        }
        if embed == Embed::Yes && !is_markdown && is_other_file(&name) {
            return self.embedded(&name, line);
        }
        let target = if ["/", "./", "../"].iter().any(|start| name.starts_with(start)) {
            match resolve_path(self.id, &name) {
                Ok(Some(target)) => target,
                Ok(None) => return,
                Err(why) => return self.broken(dest, why, line),
            }
        } else {
            match name.strip_suffix(".md").unwrap_or(&name).parse::<DocumentId>() {
                Ok(id) if is_document(&id) => LinkTarget::Name(text_of(&id)),
                Ok(_) => return,
                Err(why) => return self.broken(dest, Unusable::DocumentId(why), line),
            }
        };
        self.push(Link { kind: LinkKind::Reference, target, anchor, checkpoint: None, line });
    }

    fn uri_text(&mut self, kind: LinkKind, text: &str, line: usize) {
        match text.parse::<Uri>() {
            Ok(uri) => self.uri(kind, uri, line),
            Err(why) => self.broken(text, Unusable::Uri(why), line),
        }
    }

    fn uri(&mut self, kind: LinkKind, uri: Uri, line: usize) {
        if let Target::Document { id, checkpoint, anchor } = uri.target
            && is_document(&id)
        {
            let target = LinkTarget::Document(text_of(&id));
            self.push(Link { kind, target, anchor, checkpoint, line });
        }
    }

    fn add(&mut self, kind: LinkKind, target: LinkTarget, line: usize) {
        self.push(Link { kind, target, anchor: None, checkpoint: None, line });
    }

    fn push(&mut self, link: Link) {
        match self.is_full() {
            true => self.found.truncated = true,
            false => {
                self.found.links.push(link);
                if let Some((_, next, places)) = &mut self.places {
                    places.push(next.clone());
                }
            }
        }
    }

    fn broken(&mut self, text: &str, why: Unusable, line: usize) {
        match self.is_full() {
            true => self.found.truncated = true,
            false => self.found.broken.push(Broken { text: start_of(text), why, line }),
        }
    }
}

/// Plain text between two pieces of markup, on one line, which the parser returns in parts.
#[derive(Default)]
struct Run {
    text: String,
    /// Start of the text in the document; `end` is its end.
    at: usize,
    end: usize,
}

impl Run {
    fn push(&mut self, part: &str, range: Range<usize>) {
        if self.text.is_empty() {
            self.at = range.start;
        }
        self.end = range.end;
        self.text.push_str(part);
    }
}

/// Returns the line in the document, whose frontmatter begins on the second line.
fn line_of(node: &Node) -> usize {
    node.line + 1
}

fn text_of(id: &DocumentId) -> String {
    id.as_str().to_owned()
}

/// Returns true if a document can have this id: it is not that of a governance file or an index,
/// and not in a hidden folder.
pub(super) fn is_document(id: &DocumentId) -> bool {
    id.is_document() && !layout::is_never_document(&id.live_path())
}

/// Returns the target of a path, relative to the folder of a document; `None` if it cannot be a
/// document. The configuration decides about a path from the root.
fn resolve_path(from: &DocumentId, path: &str) -> Result<Option<LinkTarget>, Unusable> {
    let is_site = path.starts_with('/');
    let (names, above) = names_of(from, path);
    if above > 0 {
        return Err(Unusable::Escape);
    }
    let path: String = names.join("/").nfc().collect();
    let id: DocumentId =
        path.strip_suffix(".md").unwrap_or(&path).parse().map_err(Unusable::DocumentId)?;
    if is_site {
        return Ok(Some(LinkTarget::Site(text_of(&id))));
    }
    Ok(is_document(&id).then(|| LinkTarget::Document(text_of(&id))))
}

/// Returns the names of a path, relative to the folder of a document, and the number of levels
/// above the root at which they begin.
fn names_of<'p>(from: &'p DocumentId, path: &'p str) -> (Vec<&'p str>, usize) {
    let (base, path) = match path.strip_prefix('/') {
        Some(path) => ("", path),
        None => (folder(from.as_str()), path),
    };
    let mut names: Vec<&str> = base.split('/').filter(|name| !name.is_empty()).collect();
    let mut above = 0;
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.pop().is_none() => above += 1,
            ".." => {}
            name => names.push(name),
        }
    }
    (names, above)
}

fn split_anchor(dest: &str) -> (&str, Option<&str>) {
    match dest.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (dest, None),
    }
}

/// Decodes the percent-encoding of a path, name by name: an encoded `/` does not separate names.
fn decoded_path(path: &str) -> Result<String, Unusable> {
    let names = path.split('/').map(|name| match decode(name) {
        Ok(name) if name.contains('/') => Err(Unusable::Encoding),
        decoded => decoded,
    });
    Ok(names.collect::<Result<Vec<_>, _>>()?.join("/"))
}

/// Decodes percent-encoding; a `%` without two digits is kept.
pub(super) fn decode(text: &str) -> Result<String, Unusable> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| Unusable::Encoding)?;
    Ok(decoded.into_owned())
}

/// Returns true if a destination begins like `mailto:` or `https:`.
pub(super) fn has_scheme(dest: &str) -> bool {
    let Some((scheme, _)) = dest.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b))
}

/// Returns the beginning of a text, for a report.
pub(super) fn start_of(text: &str) -> String {
    const SHOWN: usize = 200;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
