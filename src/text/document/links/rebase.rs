//! Relative links of a document that is moved to another folder: each is rewritten so that its
//! target stays the same.
//!
//! Unlike the links of the graph, these are all relative paths of links and images, including those
//! to other files, to folders, and to places outside of the vault. The changed text is read again,
//! and is used only if every path has the same target as before.

use percent_encoding::utf8_percent_encode;
use pulldown_cmark::LinkType;

use super::MAX_LINKS;
use super::bare::starts_with_scheme;
use super::markup::{Lines, LinkPlace, Spelling, bounded, markdown, marked};
use super::read::{decode, has_scheme, start_of};
use super::retarget::{IN_PATH, path_of, written};
use super::splice::{Edit, applied};
use super::{folder, last_segment};
use crate::text::document::Document;
use crate::values::model::id::DocumentId;

/// A text whose relative links were rewritten for another folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebased {
    /// Whole text.
    pub text: String,
    /// Links that were changed.
    pub changed: Vec<Written>,
    /// Links that cannot be changed in place.
    pub left: Vec<Written>,
}

/// A link or an image by a path from the folder of its document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Written {
    /// Line, from 1.
    pub line: usize,
    /// Destination as written, or its beginning if it is long.
    pub text: String,
}

/// Rewrites those relative links of the document `old` that would have another target in the folder
/// of `new`. Links to `new` are rewritten too, but are not listed as changed, because `retarget`
/// has changed them before. Links to `old` stay, because `retarget` has changed all that it could.
pub fn rebase(text: &str, old: &DocumentId, new: &DocumentId) -> Rebased {
    let (from, to) = (folder(old.as_str()), folder(new.as_str()));
    let (mut edits, mut left) = (Vec::new(), Vec::new());
    let places = if from == to { Vec::new() } else { destinations(text) };
    let is_to = |n: usize, id: &DocumentId| match named(from, &places[n].place) {
        Named::Path { names, above: 0, .. } => {
            let path = names.join("/");
            path.strip_suffix(".md").unwrap_or(&path) == id.as_str()
        }
        _ => false,
    };
    for (n, Destination { place, .. }) in places.iter().enumerate() {
        if named(from, place) == named(to, place) || is_to(n, old) {
            continue;
        }
        match written(text, place, 0) {
            Some(range) => {
                let by = respelled(&text[range.clone()], (from, to), place.spelling);
                edits.push(Edit { range, by, of: vec![n] });
            }
            None => left.push(n),
        }
    }
    let applied = applied(text, edits, |edited, changed| {
        let mut expected: Vec<Named<'_>> = places.iter().map(|d| named(to, &d.place)).collect();
        for n in changed {
            expected[*n] = named(from, &places[*n].place);
        }
        let found = destinations(edited);
        found.len() == expected.len()
            && found.iter().zip(&expected).all(|(d, expected)| named(to, &d.place) == *expected)
    });
    left.extend(&applied.dropped);
    left.sort_unstable();
    let link = |n: &usize| {
        let Destination { place, line } = &places[*n];
        Written { line: *line, text: start_of(&place.dest) }
    };
    let changed = applied.kept.iter().filter(|n| !is_to(**n, new)).map(link).collect();
    Rebased { text: applied.text, changed, left: left.iter().map(link).collect() }
}

/// A link or an image of a body.
struct Destination {
    place: LinkPlace,
    line: usize,
}

/// Returns the links and images of a text, up to the limit for one document.
fn destinations(text: &str) -> Vec<Destination> {
    let Ok(document) = Document::of_live(text) else { return Vec::new() };
    let start = document.parts.body;
    let mut events = markdown(bounded(&text[start..]).0);
    let (mut found, mut lines) = (Vec::new(), Lines::new(text));
    while let Some((event, range)) = events.next().filter(|_| found.len() < MAX_LINKS) {
        let line = lines.line_of(start + range.start);
        if let Some((link, _)) = marked(&event, range)
            && link.link_type != LinkType::Email
        {
            let place = LinkPlace::of(&link, events.reference_definitions(), start);
            found.push(Destination { place, line });
        }
    }
    found
}

/// The target of a destination, relative to a folder.
#[derive(PartialEq, Eq)]
enum Named<'d> {
    /// A file or a folder.
    Path {
        names: Vec<String>,
        /// Number of levels above the root at which the path begins.
        above: usize,
        is_folder: bool,
        /// Query and section after the path.
        rest: &'d str,
    },
    /// A destination that does not depend on the folder.
    Fixed(&'d str),
}

fn named<'d>(from: &str, place: &'d LinkPlace) -> Named<'d> {
    let dest = place.dest.as_str();
    let path = path_of(dest);
    let is_relative = match place.spelling {
        // A wikilink cannot lead to a folder.
        Spelling::Wiki => {
            (path.starts_with("./") || path.starts_with("../")) && !ends_as_folder(path)
        }
        _ => !(path.is_empty() || path.starts_with('/') || has_scheme(dest)),
    };
    if !is_relative || starts_with_scheme(dest) {
        return Named::Fixed(dest);
    }
    let (names, above) = segments(from, path, place.spelling);
    let names = names.into_iter().map(|segment| segment.name).collect();
    Named::Path { names, above, is_folder: ends_as_folder(path), rest: &dest[path.len()..] }
}

fn ends_as_folder(path: &str) -> bool {
    matches!(last_segment(path), "" | "." | "..")
}

/// A name in a path.
struct Segment {
    name: String,
    /// Name as it is written in a link.
    spelled: String,
}

/// Returns the names of a path, relative to a folder, and the number of levels above the root at
/// which they begin.
fn segments(from: &str, path: &str, spelling: Spelling) -> (Vec<Segment>, usize) {
    let mut found: Vec<Segment> = from
        .split('/')
        .filter(|name| !name.is_empty())
        .map(|name| segment(name, spelling))
        .collect();
    let mut above = 0;
    for spelled in path.split('/') {
        let decoded = (spelling != Spelling::Wiki).then(|| decode(spelled).ok()).flatten();
        // An encoded `/` does not separate names.
        let name = decoded.filter(|name| !name.contains('/')).unwrap_or_else(|| spelled.to_owned());
        match name.as_str() {
            "" | "." => {}
            ".." if found.pop().is_none() => above += 1,
            ".." => {}
            _ => found.push(Segment { name, spelled: spelled.to_owned() }),
        }
    }
    (found, above)
}

/// Returns the name of a folder as a part of a link.
fn segment(name: &str, spelling: Spelling) -> Segment {
    let spelled = match spelling {
        Spelling::Wiki => name.to_owned(),
        _ => utf8_percent_encode(name, IN_PATH).to_string(),
    };
    Segment { name: name.to_owned(), spelled }
}

/// Returns a relative path of one folder, rewritten for another.
fn respelled(path: &str, (from, to): (&str, &str), spelling: Spelling) -> String {
    let (names, above) = segments(from, path, spelling);
    let here: Vec<&str> = to.split('/').filter(|name| !name.is_empty()).collect();
    let is_folder = ends_as_folder(path);
    let folders = if is_folder { names.len() } else { names.len().saturating_sub(1) };
    let common = names[..folders].iter().zip(&here).take_while(|(a, b)| a.name == **b).count();
    let common = if above > 0 { 0 } else { common };
    let mut pieces = vec![".."; above + here.len() - common];
    pieces.extend(names[common..].iter().map(|segment| segment.spelled.as_str()));
    let mut spelled = pieces.join("/");
    if spelled.is_empty() {
        spelled.push('.');
    }
    if is_folder && (path.ends_with('/') || !ends_as_folder(&spelled)) {
        spelled.push('/');
    }
    let has_dot = matches!(spelled.split('/').next(), Some("." | ".."));
    let wants_dot = path.starts_with("./") || spelling == Spelling::Wiki || has_scheme(&spelled);
    if wants_dot && !has_dot { format!("./{spelled}") } else { spelled }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rebased(text: &str, old: &str, new: &str) -> Rebased {
        rebase(text, &old.parse().unwrap(), &new.parse().unwrap())
    }

    #[test]
    fn rebase_changes_all_links_that_can_be_spelled() {
        // A wikilink cannot name a folder with a bar.
        let found = rebased("[[./b]] [b](b.md)\n\n[c](c&#46;md)\n", "x|y/a", "z/a");
        assert_eq!(found.text, "[[./b]] [b](../x%7Cy/b.md)\n\n[c](c&#46;md)\n");
        let lines = |links: &[Written]| links.iter().map(|l| l.line).collect::<Vec<_>>();
        assert_eq!((lines(&found.changed), lines(&found.left)), (vec![1], vec![1, 3]));
    }

    #[test]
    fn rebase_adds_a_dot_before_a_name_like_a_scheme() {
        assert_eq!(rebased("[b](../a:b/c.md)", "x/y", "z").text, "[b](./a:b/c.md)");
    }

    #[test]
    fn hostile_texts_are_changed_in_bounds() {
        let nested = |n: usize| "![".repeat(n) + &"](b.md)".repeat(n);
        let escaped = |n: usize| "![".repeat(n) + &r"](b\_c.md)".repeat(n);
        let used =
            |n: usize| "[a] ".repeat(n) + &format!("\n\n[a]: b&#46;md '{}'\n", "x".repeat(n));
        for text in [nested(50_000), escaped(50_000), used(100_000), "[](../b)".repeat(50_000)] {
            let found = rebased(&text, "x/y/z/a", "z/a");
            assert!(found.changed.len() + found.left.len() <= MAX_LINKS);
        }
    }

    proptest! {
        #[test]
        fn rebase_keeps_the_target_of_every_path(
            path in r"(\.{1,2}/|a/|b/|%61/|/){0,4}(a|b|c\.md|c\.png|%20|\.|\.\.)?(#a)?",
            old in "([ab]/){0,3}x", new in "([ab]/){0,3}y",
        ) {
            let text = format!("[l]({path}) ![i]({path}) [[{path}]] [d][]\n\n[d]: <{path}>\n");
            let found = rebased(&text, &old, &new);
            let (before, after) = (destinations(&text), destinations(&found.text));
            prop_assert_eq!(before.len(), after.len());
            prop_assert!(found.left.is_empty(), "{}", found.text);
            for (before, after) in before.iter().zip(&after) {
                let (old, new) = (folder(&old), folder(&new));
                prop_assert!(named(old, &before.place) == named(new, &after.place), "{}", found.text);
            }
        }
    }
}
