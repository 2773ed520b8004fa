//! Changing the targets of links to another id: only the target in the text changes, and no
//! other byte.
//!
//! The place of a link in the text follows from its markup. The changed text is read again, and is
//! used only if all other links are the same as before. Links with one definition change together.

use std::ops::Range;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::bare::starts_with_scheme;
use super::markup::{LinkPlace, Spelling};
use super::read::{placed, start_of};
use super::rebase::Written;
use super::site::moved_paths;
use super::splice::{Edit, applied};
use super::{Link, LinkTarget, folder};
use crate::files::vault::site::SiteLinks;
use crate::text::document::Document;
use crate::text::uri::{Target, Uri};
use crate::values::model::id::DocumentId;
use crate::values::model::layout;

/// Characters that a path in a Markdown link must encode.
pub(super) const IN_PATH: &AsciiSet = &CONTROLS
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
    .add(b'|')
    .add(b'_');

/// Number of bytes at the end of a link in which its target is searched.
const MAX_TAIL: usize = 16 << 10;

/// A text whose links were changed to another id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retargeted {
    /// Whole text.
    pub text: String,
    /// Lines of the links that were changed.
    pub changed: Vec<usize>,
    /// Links that cannot be changed in place.
    pub left: Vec<Written>,
}

/// The rules of the vault for the new targets.
pub struct Goal<'g> {
    /// Folders of the vault for links from the root of a site.
    pub sites: &'g SiteLinks,
    /// Returns true if a link to this target resolves to the document with this id: another one may
    /// have precedence.
    pub names: &'g dyn Fn(&LinkTarget, &DocumentId) -> bool,
}

/// The decision about a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moves {
    /// The link changes to this document.
    To(DocumentId),
    /// The link stays.
    No,
    /// The target depends on what is published next, so a person must decide.
    Unclear,
}

/// Changes those links of a document that `moves` selects.
pub fn retarget(
    id: &DocumentId,
    text: &str,
    goal: &Goal<'_>,
    moves: impl Fn(&Link) -> Moves,
) -> Retargeted {
    let Ok(document) = Document::of_live(text) else {
        return Retargeted { text: text.to_owned(), changed: Vec::new(), left: Vec::new() };
    };
    let (links, places) = placed(id, text, &document);
    let (mut edits, mut left) = (Vec::<Edit<Change>>::new(), Vec::new());
    let mut from = 0;
    for (n, (link, place)) in links.iter().zip(&places).enumerate() {
        // Each of several URIs in a line is found after the one before it.
        let found = written(text, place, from);
        if let Some(range) = found.as_ref().filter(|_| place.spelling == Spelling::Plain) {
            from = range.end;
        }
        let to = match moves(link) {
            Moves::No => continue,
            Moves::Unclear => None,
            Moves::To(to) => Some(to),
        };
        let edit = found.zip(to).and_then(|(range, to)| {
            let (by, target) = led(id, (goal, &to), link, (&text[range.clone()], place))?;
            Some(Edit { range, by, of: vec![Change { link: n, target }] })
        });
        match edit {
            Some(edit) => edits.push(edit),
            None => left.push(n),
        }
    }
    let applied = applied(text, edits, |edited, changes| {
        let mut expected = links.clone();
        for Change { link, target } in changes {
            if let Some(link) = expected.get_mut(*link) {
                link.target = target.clone();
            }
        }
        let document = Document::of_live(edited);
        document.is_ok_and(|document| placed(id, edited, &document).0 == expected)
    });
    left.extend(applied.dropped.iter().map(|change| change.link));
    left.sort_unstable();
    let written = |n: &usize| Written { line: links[*n].line, text: start_of(&places[*n].dest) };
    let left = left.iter().map(written).collect();
    let mut changed: Vec<usize> = applied.kept.iter().map(|c| links[c.link].line).collect();
    changed.sort_unstable();
    Retargeted { text: applied.text, changed, left }
}

/// Returns the new text and target of a link of the document `id`, in the spelling that it had;
/// `None` if that is not possible.
fn led(
    id: &DocumentId,
    (goal, new): (&Goal<'_>, &DocumentId),
    link: &Link,
    (old, place): (&str, &LinkPlace),
) -> Option<(String, LinkTarget)> {
    let sites = goal.sites;
    let names_it = |target: &LinkTarget| (goal.names)(target, new);
    let (from_root, target) = match &link.target {
        LinkTarget::Site(path) => {
            let paths = moved_paths(path, new, sites).into_iter().map(LinkTarget::Site);
            let target = paths.into_iter().find(names_it)?;
            let LinkTarget::Site(path) = &target else { return None };
            (Some(path.clone()), target)
        }
        target => {
            let name = new.as_str().to_owned();
            let target = match target {
                LinkTarget::Name(_) => LinkTarget::Name(name),
                _ => LinkTarget::Document(name),
            };
            (sites.sources(new.as_str()).into_iter().next(), target)
        }
    };
    let by = rewritten(id, old, place, (new, from_root.as_deref()))?;
    Some((by, target)).filter(|(_, target)| names_it(target))
}

/// A link that changes.
struct Change {
    /// Index among the links of the text.
    link: usize,
    target: LinkTarget,
}

/// Returns the range of a link's target: the URI, or the path or name without its anchor.
pub(super) fn written(text: &str, place: &LinkPlace, from: usize) -> Option<Range<usize>> {
    let span = match place.spelling {
        Spelling::Plain => place.span.start.max(from)..place.span.end,
        _ => place.span.clone(),
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
    // A label, a title and an image in a label may contain the same text.
    let before = |at: usize| raw[..at].trim_end_matches('<').trim_end();
    let mut all = raw.match_indices(target).map(|(at, _)| at);
    // The target is at the end. Only the tail is searched, because nested images would be searched
    // again for each of them.
    let tail = raw.len().saturating_sub(MAX_TAIL);
    let tail = (tail..raw.len()).find(|at| raw.is_char_boundary(*at))?;
    let mut from_the_end = raw[tail..].rmatch_indices(target).map(|(at, _)| tail + at);
    let at = match place.spelling {
        Spelling::Plain | Spelling::Wiki => all.next()?,
        Spelling::Definition => all.find(|at| before(*at).ends_with("]:"))?,
        // Before a URI in angle brackets or in a field there is nothing, or a quote.
        Spelling::Inline if !raw.starts_with(['[', '!']) => all.next().filter(|at| *at <= 1)?,
        Spelling::Inline => from_the_end.find(|at| before(*at).ends_with("]("))?,
    };
    Some(span.start + at..span.start + at + target.len())
}

/// Returns a destination without its anchor and its query.
pub(super) fn path_of(dest: &str) -> &str {
    let end = dest.find(['#', '?']).unwrap_or(dest.len());
    &dest[..end]
}

/// Returns the new target in the spelling of the old one.
fn rewritten(
    from: &DocumentId,
    old: &str,
    place: &LinkPlace,
    (new, from_root): (&DocumentId, Option<&str>),
) -> Option<String> {
    if starts_with_scheme(old) {
        let mut uri: Uri = old.parse().ok()?;
        let Target::Document { id, .. } = &mut uri.target else { return None };
        *id = new.clone();
        return Uri::can_name(new).then(|| uri.to_string());
    }
    let is_folder = old.ends_with('/');
    // An id with another ending of Markdown includes that of its file; an id that ends in `.md`
    // would lose it in a link.
    let wants_ending = layout::is_markdown(old) || new.as_str().ends_with(layout::ENDING);
    let ending = match wants_ending && !is_folder && !layout::keeps_ending(new.as_str()) {
        true => layout::ENDING,
        false => "",
    };
    let is_wiki = place.spelling == Spelling::Wiki;
    if is_wiki && new.as_str().contains(['|', '#', '[', ']', '^']) {
        return None;
    }
    let path = match old.starts_with('/') {
        true => format!("/{}", from_root?),
        false if is_wiki && !old.starts_with("./") && !old.starts_with("../") => {
            return Some(format!("{new}{ending}"));
        }
        false => relative(folder(from.as_str()), new.as_str()),
    };
    // The first characters of a wikilink mark it as a path.
    let is_marked = is_wiki && !path.starts_with('/') || old.starts_with("./");
    let here = if is_marked && !path.starts_with("../") { "./" } else { "" };
    if is_wiki {
        return Some(format!("{here}{path}{ending}"));
    }
    let names = path.split('/').map(|name| utf8_percent_encode(name, IN_PATH).to_string());
    Some(format!("{here}{}{ending}", names.collect::<Vec<_>>().join("/")))
}

/// Returns the path from a folder, which ends in `/` or is empty, to an id.
fn relative(folder: &str, id: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    let to: Vec<&str> = id.split('/').collect();
    let above = to.len() - 1;
    let common = from.iter().zip(&to[..above]).take_while(|(a, b)| a == b).count();
    let mut path: Vec<&str> = vec![".."; from.len() - common];
    path.extend(&to[common..]);
    path.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Changes the links of a text from `nodes/p/r` to `nodes/z/b`.
    fn led(text: &str) -> String {
        let (id, new) = ("nodes/o/f".parse().unwrap(), "nodes/z/b".parse::<DocumentId>().unwrap());
        let goal = Goal { sites: &SiteLinks::default(), names: &|_, _| true };
        let is_old = |target: &LinkTarget| match target {
            LinkTarget::Document(id) => id == "nodes/p/r",
            LinkTarget::Name(name) => name.eq_ignore_ascii_case("r"),
            LinkTarget::Site(_) => false,
        };
        let moves = |link: &Link| match is_old(&link.target) {
            true => Moves::To(new.clone()),
            false => Moves::No,
        };
        let found = retarget(&id, text, &goal, moves);
        assert_eq!(found.left, [], "{text}");
        found.text
    }

    /// Pieces of text that are a link or not, independent of their neighbours.
    const PIECES: [&str; 15] = [
        "![[r]]",
        "[[R]]",
        "[[r|label]]",
        "![[r#A]]",
        "\\[[r]]",
        "\\[z](../p/r.md)",
        "a](../p/r.md)",
        "[a](../p/r.md)",
        "![i](../p/r.md)",
        "[![i](../p/r.md)](../p/r.md)",
        "![[s]]",
        "`[[r]]`",
        "]",
        "contextnest://nodes/p/r",
        "[x](x.md)",
    ];

    proptest! {
        #[test]
        fn retarget_changes_each_link_and_nothing_else(
            pieces in prop::collection::vec((prop::sample::select(&PIECES[..]), "[ \n]"), 1..8),
        ) {
            let text: String = pieces.iter().map(|(piece, end)| format!("{piece}{end}")).collect();
            let expected: String =
                pieces.iter().map(|(piece, end)| format!("{}{end}", led(piece))).collect();
            prop_assert_eq!(led(&text), expected);
        }
    }
}
