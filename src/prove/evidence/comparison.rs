//! Comparison of two texts for a reviewer: hunks with the sections that they are in, and the words
//! that differ within lines.
//!
//! The work is bounded for any two texts, because both searches, for lines and for words, limit
//! their steps (see [`Work`]).

use std::ops::Range;

use crate::record::chain::diff::change::{Changes, Work};
use crate::text::document::sections::{Section, sections};

/// Number of unchanged lines before and after each change.
const CONTEXT: usize = 3;

/// Length above which a line is compared as a whole, in bytes.
const LONGEST: usize = 16 << 10;

/// Marks of words in plain text. A line that contains one of these itself is compared as a whole,
/// so that a text cannot forge a mark.
pub(crate) const MARKS: [&str; 4] = ["[-", "-]", "{+", "+}"];

/// A group of changes with the lines around it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hunk<'t> {
    /// Lines in the old text, from 0.
    pub(crate) old: Range<usize>,
    /// Lines in the new text, from 0.
    pub(crate) new: Range<usize>,
    /// Anchors of the changed sections; that of text before the first section is empty.
    pub(crate) sections: Vec<String>,
    /// Lines of both texts, in order.
    pub(crate) lines: Vec<Compared<'t>>,
}

/// A line of a hunk, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Compared<'t> {
    /// Unchanged line.
    Kept(&'t str),
    /// Removed line, with its number in the old text.
    Removed(usize, &'t str),
    /// Added line.
    Added(&'t str),
    /// Line with replaced words, with its number in the old text.
    Changed(usize, Vec<Piece<'t>>),
}

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// Unchanged part.
    Kept(&'t str),
    /// Removed part.
    Removed(&'t str),
    /// Added part.
    Added(&'t str),
}

/// Compares two texts. Only Markdown texts have sections.
pub(crate) fn compare<'t>(old: &'t str, new: &'t str, is_markdown: bool) -> Vec<Hunk<'t>> {
    let mut work = Work::default();
    let sides = Sides { old: Side::new(old, is_markdown), new: Side::new(new, is_markdown) };
    let changes = Changes::of_pieces(&sides.old.lines, &sides.new.lines, &mut work);
    let mut groups: Vec<Vec<ReplacedLines>> = Vec::new();
    let (mut from, mut to) = (0, 0);
    for change in &changes.0 {
        let (start, begin) = (from + change.kept, to + change.kept);
        (from, to) = (start + change.removed, begin + change.added);
        let place = ReplacedLines { old: start..from, new: begin..to };
        if place.old.is_empty() && place.new.is_empty() {
            continue;
        }
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| last.is_near(&place)) => {
                group.push(place);
            }
            _ => groups.push(vec![place]),
        }
    }
    groups.iter().filter_map(|group| sides.hunk(group, &mut work)).collect()
}

/// Range of lines that replaces another.
struct ReplacedLines {
    old: Range<usize>,
    new: Range<usize>,
}

impl ReplacedLines {
    fn is_near(&self, next: &Self) -> bool {
        next.old.start - self.old.end <= 2 * CONTEXT
    }
}

struct Side<'t> {
    lines: Vec<&'t str>,
    /// Line at which each section begins, with its anchor.
    sections: Vec<(usize, String)>,
}

impl<'t> Side<'t> {
    fn new(text: &'t str, is_markdown: bool) -> Self {
        let found: Vec<Section> = if is_markdown { sections(text) } else { Vec::new() };
        let (mut at, mut line) = (0, 0);
        let places = found.into_iter().map(|section| {
            line += text[at..section.range.start].split_inclusive('\n').count();
            at = section.range.start;
            (line, section.anchor)
        });
        let sections = places.collect();
        Self { lines: text.split_inclusive('\n').collect(), sections }
    }

    /// Returns the anchors of the sections that contain these lines.
    fn within(&self, lines: &Range<usize>) -> impl Iterator<Item = &str> {
        let first = self.sections.partition_point(|(begin, _)| *begin <= lines.start);
        let last = self.sections.partition_point(|(begin, _)| *begin < lines.end).max(first);
        let before = (first == 0 && !lines.is_empty()).then_some("");
        let inside = if lines.is_empty() { first..first } else { first.saturating_sub(1)..last };
        before.into_iter().chain(self.sections[inside].iter().map(|(_, anchor)| anchor.as_str()))
    }
}

struct Sides<'t> {
    old: Side<'t>,
    new: Side<'t>,
}

impl<'t> Sides<'t> {
    fn hunk(&self, places: &[ReplacedLines], work: &mut Work) -> Option<Hunk<'t>> {
        let (first, last) = (places.first()?, places.last()?);
        let before = first.old.start.min(CONTEXT);
        let after = (self.old.lines.len() - last.old.end).min(CONTEXT);
        let mut lines = Vec::new();
        let mut sections: Vec<String> = Vec::new();
        let mut at = first.old.start - before;
        for place in places {
            self.keep(at..place.old.start, &mut lines);
            self.replace(place, work, &mut lines);
            at = place.old.end;
            let within = self.new.within(&place.new).chain(self.old.within(&place.old));
            for anchor in within {
                if !sections.iter().any(|known| known == anchor) {
                    sections.push(anchor.to_owned());
                }
            }
        }
        self.keep(at..at + after, &mut lines);
        let old = first.old.start - before..last.old.end + after;
        let new = first.new.start - before..last.new.end + after;
        Some(Hunk { old, new, sections, lines })
    }

    fn keep(&self, range: Range<usize>, lines: &mut Vec<Compared<'t>>) {
        lines.extend(self.old.lines[range].iter().map(|line| Compared::Kept(line_of(line))));
    }

    fn replace(&self, place: &ReplacedLines, work: &mut Work, lines: &mut Vec<Compared<'t>>) {
        let (old, new) = (&self.old.lines[place.old.clone()], &self.new.lines[place.new.clone()]);
        // Lines without enough in common: removed ones come before added ones.
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for n in 0..old.len().max(new.len()) {
            let number = place.old.start + n;
            if let (Some(old), Some(new)) = (old.get(n), new.get(n))
                && let Some(pieces) = words(old, new, work)
            {
                lines.append(&mut removed);
                lines.append(&mut added);
                lines.push(Compared::Changed(number, pieces));
                continue;
            }
            removed.extend(old.get(n).map(|line| Compared::Removed(number, line_of(line))));
            added.extend(new.get(n).map(|line| Compared::Added(line_of(line))));
        }
        lines.append(&mut removed);
        lines.append(&mut added);
    }
}

fn line_of(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

/// Compares the words of two lines; `None` if less than half of them is equal.
fn words<'t>(old: &'t str, new: &'t str, work: &mut Work) -> Option<Vec<Piece<'t>>> {
    let ends = old.ends_with('\n') == new.ends_with('\n');
    let (old, new) = (line_of(old), line_of(new));
    let has_mark = |line: &str| MARKS.iter().any(|mark| line.contains(mark));
    if !ends || old.len().max(new.len()) > LONGEST || has_mark(old) || has_mark(new) {
        return None;
    }
    let (before, after) = (split(old), split(new));
    let changes = Changes::of_pieces(&before, &after, work);
    let (mut at, mut to, mut pieces, mut same) = (0, 0, Vec::new(), 0);
    let mut push =
        |words: &[&str], text: &'t str, start: usize, piece: fn(&'t str) -> Piece<'t>| {
            let length: usize = words.iter().map(|word| word.len()).sum();
            if length > 0 {
                pieces.push(piece(&text[start..start + length]));
            }
            length
        };
    // Bytes up to this place, in the old line and in the new one.
    let (mut x, mut y) = (0, 0);
    for change in &changes.0 {
        let kept = push(&before[at..at + change.kept], old, x, Piece::Kept);
        (at, to, x, y, same) =
            (at + change.kept, to + change.kept, x + kept, y + kept, same + kept);
        x += push(&before[at..at + change.removed], old, x, Piece::Removed);
        y += push(&after[to..to + change.added], new, y, Piece::Added);
        (at, to) = (at + change.removed, to + change.added);
    }
    same += push(&before[at..], old, x, Piece::Kept);
    (2 * same >= old.len().max(new.len())).then_some(pieces)
}

/// Splits a line into words, runs of blanks, and single other characters.
fn split(line: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let (mut words, mut start, mut last) = (Vec::new(), 0, None);
    for (at, c) in line.char_indices() {
        let found = kind(c);
        if at > start && (last != Some(found) || found == 0) {
            words.push(&line[start..at]);
            start = at;
        }
        last = Some(found);
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(hunks: &[Hunk<'_>]) -> String {
        let mut out = String::new();
        for hunk in hunks {
            out.push_str(&format!("@@ {:?} {:?} {:?}\n", hunk.old, hunk.new, hunk.sections));
            for line in &hunk.lines {
                match line {
                    Compared::Kept(text) => out.push_str(&format!(" {text}\n")),
                    Compared::Removed(n, text) => out.push_str(&format!("-{n} {text}\n")),
                    Compared::Added(text) => out.push_str(&format!("+{text}\n")),
                    Compared::Changed(n, pieces) => {
                        let pieces = pieces.iter().map(|piece| match piece {
                            Piece::Kept(text) => (*text).to_owned(),
                            Piece::Removed(text) => format!("[-{text}-]"),
                            Piece::Added(text) => format!("{{+{text}+}}"),
                        });
                        out.push_str(&format!("~{n} {}\n", pieces.collect::<String>()));
                    }
                }
            }
        }
        out
    }

    #[test]
    fn words_within_a_line_are_marked_and_sections_are_named() {
        let old = "# A\n\nReturns take 30 days.\n\n## B\n\nx\ny\nz\n\n## C\n\nlast\n";
        let new = "# A\n\nReturns take 14 working days.\n\n## B\n\nx\ny\nz\n\n## C\n\nend of it\n";
        insta::assert_snapshot!(plain(&compare(old, new, true)), @r#"
        @@ 0..6 0..6 ["a"]
         # A
         
        ~2 Returns take [-30-]{+14 working+} days.
         
         ## B
         
        @@ 9..13 9..13 ["c"]
         
         ## C
         
        -12 last
        +end of it
        "#);
    }

    #[test]
    fn a_text_cannot_forge_a_mark() {
        let found = compare("pay 10 [-20-] euro\n", "pay 15 [-20-] euro\n", false);
        assert_eq!(
            plain(&found),
            "@@ 0..1 0..1 [\"\"]\n-0 pay 10 [-20-] euro\n+pay 15 [-20-] euro\n"
        );
    }

    proptest! {
        #[test]
        fn the_pieces_are_both_texts(
            old in "([ab]{0,3} ?[-+\\[{é.]?\n?){0,12}",
            new in "([ab]{0,3} ?[-+\\[{é.]?\n?){0,12}",
        ) {
            let (lines, others) =
                (old.split_inclusive('\n').collect::<Vec<_>>(), new.split_inclusive('\n').collect::<Vec<_>>());
            for hunk in compare(&old, &new, true) {
                let (mut before, mut after) = (Vec::new(), Vec::new());
                for line in &hunk.lines {
                    match line {
                        Compared::Kept(text) => {
                            before.push((*text).to_owned());
                            after.push((*text).to_owned());
                        }
                        Compared::Removed(n, text) => {
                            assert_eq!(line_of(lines[*n]), *text);
                            before.push((*text).to_owned());
                        }
                        Compared::Added(text) => after.push((*text).to_owned()),
                        Compared::Changed(_, pieces) => {
                            let side = |leave: fn(&Piece<'_>) -> bool| {
                                let kept = pieces.iter().filter(|piece| !leave(piece));
                                kept.map(|piece| match piece {
                                    Piece::Kept(text) | Piece::Removed(text) | Piece::Added(text) => *text,
                                }).collect::<String>()
                            };
                            before.push(side(|piece| matches!(piece, Piece::Added(_))));
                            after.push(side(|piece| matches!(piece, Piece::Removed(_))));
                        }
                    }
                }
                let plain = |lines: &[&str]| lines.iter().map(|line| line_of(line).to_owned()).collect::<Vec<_>>();
                prop_assert_eq!(before, plain(&lines[hunk.old.clone()]));
                prop_assert_eq!(after, plain(&others[hunk.new.clone()]));
            }
        }
    }
}
