//! The changes of a submission as a human is shown them before an approval (MCP-35).

use std::collections::BTreeSet;
use std::ops::Range;

use crate::front::mcp::consent::quoted;
use crate::service::report::submission::{ChangedLine, LineChange, SubmissionReport};
use crate::values::text_util::{beginning, count};
use crate::values::yaml::{self, Dialect, Value};

/// Maximum number of changes that are shown: the first, some of the middle, and the last.
const MOST: usize = 20;
const FIRST: usize = 10;
const LAST: usize = 6;
/// Maximum number of bytes of a text.
const MOST_BYTES: usize = 200;
/// Number of bytes before a difference that are shown with it.
const BEFORE: usize = 60;
/// Mark of a shortened text.
const CUT: &str = "\u{2026}";

/// The changes, one line each.
pub(super) struct Shown {
    /// The lines, each after a line feed; empty if nothing changed.
    pub(super) lines: String,
    /// Description of the changes that are not shown; empty if all are.
    pub(super) lacks: String,
}

/// A change on one line.
struct Item {
    text: String,
    /// True if parts of the changed words are left out.
    is_cut: bool,
}

/// A removed or added text; `None` for one that stays between two of these.
type Part<'t> = Option<(bool, &'t str)>;

/// Returns the changed fields, words and white space of a submission, between quotation marks.
pub(super) fn changes(report: &SubmissionReport<'_>) -> Shown {
    let mut items = Vec::new();
    for field in &report.fields {
        let [before, after] = [field.before, field.after].map(|value| value.map(plain));
        let pair = [before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default()];
        let places = differing(pair);
        let side = |at: usize, is_there: bool| match is_there {
            true => excerpt(pair[at], places[at].clone()),
            false => ("none".to_owned(), false),
        };
        let (old, is_old_cut) = side(0, before.is_some());
        let (new, is_new_cut) = side(1, after.is_some());
        let text = format!("~ {}: {old} -> {new}", quoted(field.name));
        items.push(Item { text, is_cut: is_old_cut || is_new_cut });
    }
    let (mut run, mut blank) = (Vec::new(), [0_usize; 2]);
    for line in report.hunks.iter().flat_map(|hunk| &hunk.lines) {
        add(line, &mut run, &mut blank, &mut items);
    }
    flush(&mut run, &mut items);
    for (sign, lines) in ["-", "+"].into_iter().zip(blank).filter(|(_, lines)| *lines > 0) {
        items.push(Item { text: format!("{sign} {}", count(lines, "blank line")), is_cut: false });
    }
    listed(&items)
}

/// Adds a line of a hunk: changed words wait in `run` for the words that replace them.
fn add<'t>(
    line: &'t ChangedLine<'t>,
    run: &mut Vec<Part<'t>>,
    blank: &mut [usize; 2],
    items: &mut Vec<Item>,
) {
    let is_changed = |change| matches!(change, LineChange::Removed | LineChange::Added);
    let is_blank = |text: &str| text.trim().is_empty();
    let mut changed = line.parts.iter().filter(|part| is_changed(part.change)).peekable();
    if changed.peek().is_none() {
        return run.push(None);
    }
    if !changed.all(|part| is_blank(part.text)) {
        return run.extend(line.parts.iter().map(|part| {
            is_changed(part.change).then_some((part.change == LineChange::Added, part.text))
        }));
    }
    if line.parts.iter().all(|part| is_blank(part.text)) {
        let added = line.parts.iter().any(|part| part.change == LineChange::Added);
        blank[usize::from(added)] += 1;
        return;
    }
    // Four blanks before a paragraph make it code.
    flush(run, items);
    let mut text = String::new();
    let mut places = Vec::new();
    for part in line.parts.iter().filter(|part| part.change != LineChange::Removed) {
        if part.change == LineChange::Added {
            places.push(text.len()..text.len() + part.text.len());
        }
        text.push_str(part.text);
    }
    let place = places.first().map_or(0..0, |first| first.start..places[places.len() - 1].end);
    let (shown, is_cut) = excerpt(text.trim_end_matches(['\n', '\r']), place);
    items.push(Item { text: format!("~ {shown} (white space only)"), is_cut });
}

/// Lists the changes that wait. The replacement of a long text shows which part differs.
fn flush(run: &mut Vec<Part<'_>>, items: &mut Vec<Item>) {
    for group in run.split(Option::is_none) {
        let texts = |of: bool| {
            let texts = group.iter().flatten().filter(move |(added, _)| *added == of);
            texts.map(|(_, text)| text.trim_end_matches(['\n', '\r'])).collect::<Vec<_>>()
        };
        let (removed, added) = (texts(false), texts(true));
        let mut shown: [Vec<Item>; 2] = [Vec::new(), Vec::new()];
        for at in 0..removed.len().max(added.len()) {
            let pair = [removed.get(at).copied(), added.get(at).copied()];
            let places = differing(pair.map(Option::unwrap_or_default));
            for (side, place) in places.into_iter().enumerate() {
                let Some(text) = pair[side].filter(|text| !text.trim().is_empty()) else {
                    continue;
                };
                let (text, is_cut) = excerpt(text, place);
                let sign = if side == 0 { '-' } else { '+' };
                shown[side].push(Item { text: format!("{sign} {text}"), is_cut });
            }
        }
        items.extend(shown.into_iter().flatten());
    }
    run.clear();
}

/// Returns the lines of some changes; of many, the first, some of the middle and the last.
fn listed(items: &[Item]) -> Shown {
    let middle = items.len() / 2;
    let half = (MOST - FIRST - LAST) / 2;
    let places: BTreeSet<usize> = match items.len() <= MOST {
        true => (0..items.len()).collect(),
        false => (0..FIRST)
            .chain(middle - half..middle + half)
            .chain(items.len() - LAST..items.len())
            .collect(),
    };
    let (mut lines, mut next, mut cut) = (String::new(), 0, 0);
    for place in &places {
        if *place > next {
            lines += &format!("\n{CUT} {} not shown here", count(place - next, "change"));
        }
        lines += &format!("\n{}", items[*place].text);
        cut += usize::from(items[*place].is_cut);
        next = place + 1;
    }
    let hidden = items.len() - places.len();
    let left_out = (hidden > 0).then(|| format!("leaves out {hidden} of {} changes", items.len()));
    let shortened = (cut > 0).then(|| format!("cuts words of {}", count(cut, "change")));
    let lacks: Vec<String> = left_out.into_iter().chain(shortened).collect();
    Shown { lines, lacks: lacks.join(" and ") }
}

/// Returns the text of a field without the quotation marks of YAML.
fn plain(value: &str) -> String {
    match yaml::parse(value, Dialect::Frontmatter).map(|node| node.value) {
        Ok(Value::Scalar { text, .. }) => text,
        _ => value.to_owned(),
    }
}

/// Returns where each of two texts differs from the other.
fn differing(pair: [&str; 2]) -> [Range<usize>; 2] {
    let [old, new] = pair;
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b);
    let begin: usize = same.map(|(c, _)| c.len_utf8()).sum();
    let same = old[begin..].chars().rev().zip(new[begin..].chars().rev());
    let end: usize = same.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    pair.map(|text| begin..text.len() - end)
}

/// Returns a text on one line between quotation marks, shortened around a place if it is long; true
/// if the place is shortened itself.
fn excerpt(text: &str, place: Range<usize>) -> (String, bool) {
    if text.len() <= MOST_BYTES {
        return (quoted(text), false);
    }
    let place = if place.is_empty() { 0..text.len() } else { place };
    let begin = match place.start <= BEFORE {
        true => 0,
        false => text.len() - ending(text, text.len() - (place.start - BEFORE)).len(),
    };
    let is_cut = place.end - begin > MOST_BYTES;
    let shown = match is_cut {
        // The end of the place may matter.
        true => {
            let first = beginning(&text[begin..], MOST_BYTES / 2);
            let last = ending(&text[..place.end], MOST_BYTES / 2);
            format!("{}{CUT}{}", quoted(first), quoted(last))
        }
        false => quoted(beginning(&text[begin..], MOST_BYTES)),
    };
    let end = if is_cut { place.end } else { begin + beginning(&text[begin..], MOST_BYTES).len() };
    let [before, after] =
        [begin > 0, end < text.len()].map(|is_more| if is_more { CUT } else { "" });
    (format!("{before}{shown}{after}"), is_cut)
}

/// Returns the end of a text: at most this number of bytes, and no part of a character.
fn ending(text: &str, most: usize) -> &str {
    let begin = text.len().saturating_sub(most);
    let begin = (begin..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[begin..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_around_its_difference() {
        let long = |word: &str| format!("{}{word}{}", "very ".repeat(200), " good".repeat(200));
        let pair = [long("30"), long("31")];
        let places = differing([&pair[0], &pair[1]]);
        let (text, is_cut) = excerpt(&pair[1], places[1].clone());
        assert!(text.contains("31") && text.starts_with(CUT) && text.ends_with(CUT), "{text}");
        assert!(text.len() < 2 * MOST_BYTES && !is_cut, "{text}");
        let (text, is_cut) = excerpt(&format!("{}EVIL", "ä".repeat(500)), 0..1004);
        assert!(is_cut && text.ends_with("EVIL\""), "{text}");
        assert_eq!(excerpt("short", 0..5), ("\"short\"".to_owned(), false));
        assert_eq!(differing(["aXb", "aYYb"]), [1..2, 1..3]);
        assert_eq!(differing(["aa", "aaa"]), [2..2, 2..3]);
    }

    #[test]
    fn many_changes_are_shown_from_begin_middle_and_end() {
        let item = |n: usize| Item { text: format!("+ \"{n}\""), is_cut: false };
        let shown = listed(&(0..20).map(item).collect::<Vec<_>>());
        assert_eq!((shown.lines.lines().count(), shown.lacks.as_str()), (21, ""));
        let shown = listed(&(0..500).map(item).collect::<Vec<_>>());
        assert_eq!(shown.lacks, "leaves out 480 of 500 changes");
        for line in ["+ \"9\"", "+ \"250\"", "+ \"499\"", "\u{2026} 238 changes not shown here"] {
            assert!(shown.lines.lines().any(|shown| shown == line), "{line}: {}", shown.lines);
        }
    }
}
