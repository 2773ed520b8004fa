//! Links led to another id: only the target in the text changes, byte for byte.
//!
//! Where a link is written follows from its place in the text; what was changed is read again, and
//! counts only if every link says what it said before, but for those that were to change.

use std::ops::Range;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::bare::starts_with_scheme;
use super::read::{Place, placed};
use super::{Link, LinkTarget, folder};
use crate::document::Document;
use crate::model::id::DocumentId;
use crate::uri::{Target, Uri};
use crate::vault::site::SiteLinks;

/// What a path in a Markdown link must not have as it is.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'#')
    .add(b'?')
    .add(b'%')
    .add(b'(')
    .add(b')')
    .add(b'[')
    .add(b']')
    .add(b'\\')
    .add(b'*')
    .add(b'_');

/// A text whose links were led to another id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retargeted {
    /// The whole text.
    pub text: String,
    /// The lines of the links that were changed.
    pub changed: Vec<usize>,
    /// The lines of those that cannot be changed in place.
    pub left: Vec<usize>,
}

/// Leads those links of a document to `new` that `is_old` takes. `sites` says where links from the
/// root of a site lead.
pub fn retarget(
    id: &DocumentId,
    text: &str,
    (new, sites): (&DocumentId, &SiteLinks),
    is_old: impl Fn(&Link) -> bool,
) -> Retargeted {
    let Ok(document) = Document::of_live(text) else {
        return Retargeted { text: text.to_owned(), changed: Vec::new(), left: Vec::new() };
    };
    let (links, places) = placed(id, text, &document);
    let from_root = sites.sources(new.as_str()).into_iter().next();
    let (mut edits, mut left) = (Vec::new(), Vec::new());
    let mut from = 0;
    for (n, (link, place)) in links.iter().zip(&places).enumerate() {
        // Of several URIs in a line each is found after the one before it.
        let found = written(text, place, from);
        if let Some(range) = found.as_ref().filter(|_| place.is_plain) {
            from = range.end;
        }
        if !is_old(link) {
            continue;
        }
        let edit = found.and_then(|range| {
            let by = rewritten(id, &text[range.clone()], place, (new, from_root.as_deref()))?;
            let target = match &link.target {
                LinkTarget::Site(_) => LinkTarget::Site(from_root.clone()?),
                LinkTarget::Name(_) => LinkTarget::Name(new.as_str().to_owned()),
                LinkTarget::Document(_) => LinkTarget::Document(new.as_str().to_owned()),
            };
            Some(Change { link: n, range, by, target })
        });
        match edit {
            Some(edit) => edits.push(edit),
            None => left.push(link.line),
        }
    }
    let line = |change: &Change| links[change.link].line;
    if let Some(edited) = edited(id, text, &links, &edits) {
        return Retargeted { text: edited, changed: edits.iter().map(line).collect(), left };
    }
    // One that reads otherwise afterwards must not keep the others from being changed.
    let mut good: Vec<Change> = Vec::new();
    for (n, edit) in edits.into_iter().enumerate() {
        good.push(edit);
        if n >= MOST_ALONE || edited(id, text, &links, &good).is_none() {
            left.extend(good.pop().as_ref().map(line));
        }
    }
    left.sort_unstable();
    match edited(id, text, &links, &good) {
        Some(edited) => Retargeted { text: edited, changed: good.iter().map(line).collect(), left },
        None => Retargeted { text: text.to_owned(), changed: Vec::new(), left },
    }
}

/// How many links of a text are tried one by one.
const MOST_ALONE: usize = 50;

/// One link that is to change.
struct Change {
    /// Its place among the links of the text.
    link: usize,
    range: Range<usize>,
    by: String,
    target: LinkTarget,
}

/// The text with these changes, if its links, read again, are the old ones but for them.
fn edited(id: &DocumentId, text: &str, links: &[Link], changes: &[Change]) -> Option<String> {
    let edits = changes.iter().map(|change| (change.range.clone(), change.by.clone()));
    let edited = spliced(text, edits.collect())?;
    let mut expected = links.to_vec();
    for change in changes {
        expected.get_mut(change.link)?.target = change.target.clone();
    }
    let document = Document::of_live(&edited).ok()?;
    (placed(id, &edited, &document).0 == expected).then_some(edited)
}

fn spliced(text: &str, mut edits: Vec<(Range<usize>, String)>) -> Option<String> {
    edits.sort_by_key(|(range, _)| range.start);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (range, new) in edits {
        out.push_str(text.get(at..range.start)?);
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Where the target of a link is written: the URI, or the path or name without its anchor.
fn written(text: &str, place: &Place, from: usize) -> Option<Range<usize>> {
    let span = if place.is_plain {
        place.span.start.max(from)..place.span.end
    } else {
        place.span.clone()
    };
    let raw = text.get(span.clone())?;
    let target = match starts_with_scheme(&place.dest) {
        true => place.dest.as_str(),
        false => path_of(&place.dest),
    };
    let target = target.trim_end_matches('\\').trim();
    if target.is_empty() {
        return None;
    }
    let at = match place.is_plain || place.is_wiki {
        true => raw.find(target)?,
        // A label and a title may hold the same text.
        false => {
            let begins = |at: &usize| {
                let before = raw[..*at].trim_end_matches('<').trim_end();
                // A URI in angle brackets, or in a field, has nothing or a quote before it.
                before.ends_with("](") || (*at <= 1 && !raw.starts_with(['[', '!']))
            };
            raw.match_indices(target).map(|(at, _)| at).find(begins)?
        }
    };
    Some(span.start + at..span.start + at + target.len())
}

fn path_of(dest: &str) -> &str {
    let end = dest.find(['#', '?']).unwrap_or(dest.len());
    &dest[..end]
}

/// The new target in the spelling of the old one.
fn rewritten(
    from: &DocumentId,
    old: &str,
    place: &Place,
    (new, from_root): (&DocumentId, Option<&str>),
) -> Option<String> {
    if starts_with_scheme(old) {
        let mut uri: Uri = old.parse().ok()?;
        let Target::Document { id, .. } = &mut uri.target else { return None };
        *id = new.clone();
        return Uri::can_name(new).then(|| uri.to_string());
    }
    let ending = if old.ends_with(".md") { ".md" } else { "" };
    let is_relative = !old.starts_with('/');
    if place.is_wiki {
        let is_path = ["/", "./", "../"].iter().any(|start| old.starts_with(start));
        let is_writable = !new.as_str().contains(['|', '#', '[', ']', '^']);
        return match is_path {
            _ if !is_writable => None,
            true => Some(format!("/{}{ending}", from_root?)),
            false => Some(format!("{new}{ending}")),
        };
    }
    let path = match is_relative {
        true => relative(folder(from.as_str()), new.as_str()),
        false => format!("/{}", from_root?),
    };
    let names = path.split('/').map(|name| utf8_percent_encode(name, IN_PATH).to_string());
    let here = if old.starts_with("./") && !path.starts_with("../") { "./" } else { "" };
    Some(format!("{here}{}{ending}", names.collect::<Vec<_>>().join("/")))
}

/// The path from a folder, which ends in `/` or is empty, to an id.
fn relative(folder: &str, id: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    let to: Vec<&str> = id.split('/').collect();
    let above = to.len() - 1;
    let common = from.iter().zip(&to[..above]).take_while(|(a, b)| a == b).count();
    let mut path: Vec<&str> = vec![".."; from.len() - common];
    path.extend(&to[common..]);
    path.join("/")
}
