//! Snippets: the part of a verified text that shows why it was found (`spec/search.md`, section 6).

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use serde::Serialize;

use super::phrase::{NONE, Phrase};
use super::query::{Clause, Query};
use super::words::Words;

/// Approximate number of characters of a snippet.
const WIDTH: usize = 160;
/// Maximum number of these characters before the first match.
const BEFORE: usize = 40;
/// Maximum number of matches of a text that are considered.
const MAX_MATCHES: usize = 1000;

/// A part of a text on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub(crate) struct Snippet {
    /// Text of the piece; each run of blanks and line ends is one blank.
    pub(crate) text: String,
    /// Ranges of bytes of `text` that are words of the query.
    pub(crate) matches: Vec<Range<usize>>,
    /// True if the text begins before the piece.
    pub(crate) cut_before: bool,
    /// True if the text continues after the piece.
    pub(crate) cut_after: bool,
}

/// Cuts the part of a text that contains the most clauses of a query.
pub(super) fn snippet(text: &str, query: &Query) -> Snippet {
    let found = matches(text, query.clauses());
    let start = best(text, &found, query.clauses().len());
    let start = text[..start].chars().rev().take(BEFORE).fold(start, |at, c| at - c.len_utf8());
    // Avoids a cut within a word if a blank is near.
    let start = match text[..start].chars().next_back() {
        Some(c) if !c.is_whitespace() => {
            let near = text[start..].char_indices().take(BEFORE / 2);
            let blank = near.clone().find(|(_, c)| c.is_whitespace()).map(|(at, _)| start + at);
            let matched = found.iter().find(|m| m.range.end > start).map(|m| m.range.start);
            blank.filter(|at| matched.is_none_or(|m| *at <= m)).unwrap_or(start)
        }
        _ => start,
    };
    lined_up(text, start, &found)
}

/// Returns the first words of a text on one line. A word is only cut if it takes most of the line.
pub(super) fn opening(text: &str) -> Snippet {
    let (mut out, mut count) = (Snippet::default(), 0);
    for word in text.split_whitespace() {
        let blank = usize::from(count > 0);
        // A word may be as long as the text.
        let length = word.chars().take(WIDTH + 1).count();
        let left = WIDTH.saturating_sub(count + blank);
        out.cut_after = length > left;
        if out.cut_after && left < WIDTH / 2 {
            break;
        }
        out.text.extend(std::iter::repeat_n(' ', blank));
        out.text.extend(word.chars().take(left));
        count += blank + length;
        if out.cut_after {
            break;
        }
    }
    out
}

/// A word of the text that is part of a clause.
struct Match {
    clause: usize,
    range: Range<usize>,
}

/// Returns the places of the clauses in a text, in order.
fn matches(text: &str, clauses: &[Clause]) -> Vec<Match> {
    let mut numbers: HashMap<&str, u16> = HashMap::new();
    // Clauses of one word are looked up, because there may be many.
    let (mut single, mut phrases) = (HashMap::new(), Vec::new());
    for (n, clause) in clauses.iter().enumerate() {
        // A query has far fewer words than there are numbers.
        let words = clause.words.iter().map(|word| {
            let next = u16::try_from(numbers.len() + 1).unwrap_or(u16::MAX);
            *numbers.entry(word.as_str()).or_insert(next)
        });
        let words: Vec<u16> = words.collect();
        match words.as_slice() {
            [word] => {
                single.entry(*word).or_insert(n);
            }
            _ => phrases.push((n, Phrase::new(words), 0)),
        }
    }
    let longest = clauses.iter().map(|c| c.words.len()).max().unwrap_or(0);
    // Ranges of the last consecutive words that are words of the query.
    let mut last: VecDeque<Range<usize>> = VecDeque::with_capacity(longest + 1);
    let (mut found, mut words, mut next) = (Vec::new(), Words::of(text), 0);
    while found.len() < MAX_MATCHES && words.advance() {
        let word = numbers.get(words.word.as_str()).copied().unwrap_or(NONE);
        if word == NONE || words.position != next {
            last.clear();
            phrases.iter_mut().for_each(|(.., state)| *state = 0);
        }
        next = words.position + 1;
        if word == NONE {
            continue;
        }
        if last.len() == longest {
            last.pop_front();
        }
        last.push_back(words.range.clone());
        if let Some(clause) = single.get(&word).copied() {
            found.push(Match { clause, range: words.range.clone() });
        }
        for (clause, phrase, state) in &mut phrases {
            if phrase.ends_with(state, word) {
                let clause = *clause;
                let from = last.len().saturating_sub(phrase.len());
                let ranges = last.iter().skip(from).cloned();
                found.extend(ranges.map(|range| Match { clause, range }));
            }
        }
    }
    found.sort_by_key(|m| (m.range.start, m.clause));
    found
}

/// Returns the start of the first window with the most clauses, and among these with the
/// most matches.
fn best(text: &str, found: &[Match], clauses: usize) -> usize {
    let (mut best, mut end) = ((0, 0, 0), 0);
    let (mut inside, mut kinds) = (vec![0_usize; clauses], 0);
    for (n, first) in found.iter().enumerate() {
        let room = WIDTH - BEFORE;
        let until = text[first.range.start..]
            .char_indices()
            .nth(room)
            .map_or(text.len(), |(at, _)| first.range.start + at);
        while end < found.len() && found[end].range.end <= until {
            let count = &mut inside[found[end].clause];
            *count += 1;
            kinds += usize::from(*count == 1);
            end += 1;
        }
        let size = end.saturating_sub(n);
        if (kinds, size) > (best.0, best.1) {
            best = (kinds, size, first.range.start);
        }
        if end > n {
            let count = &mut inside[first.clause];
            *count -= 1;
            kinds -= usize::from(*count == 0);
        } else {
            end = n + 1;
        }
    }
    best.2
}

/// Returns the text from `start` on, on one line.
fn lined_up(text: &str, start: usize, found: &[Match]) -> Snippet {
    let mut out = Snippet { cut_before: !text[..start].trim().is_empty(), ..Snippet::default() };
    let mut ahead = found.iter().skip_while(|m| m.range.start < start).peekable();
    let (mut blank, mut count, mut open) = (false, 0, None);
    let mut end = text.len();
    for (at, c) in text[start..].char_indices().map(|(at, c)| (start + at, c)) {
        if let Some((from, until)) = open.filter(|(_, until)| at >= *until) {
            let _: usize = until;
            out.matches.push(from..out.text.len());
            open = None;
        }
        if count >= WIDTH && (open.is_none() || count >= 2 * WIDTH) {
            end = at;
            break;
        }
        if c.is_whitespace() {
            blank = !out.text.is_empty();
            continue;
        }
        if std::mem::take(&mut blank) {
            out.text.push(' ');
            count += 1;
        }
        while let Some(m) = ahead.next_if(|m| m.range.start <= at) {
            if open.is_none() && m.range.start == at {
                open = Some((out.text.len(), m.range.end));
            }
        }
        out.text.push(c);
        count += 1;
    }
    if let Some((from, _)) = open {
        out.matches.push(from..out.text.len());
    }
    out.cut_after = !text[end..].trim().is_empty();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marked(text: &str, query: &str) -> String {
        let found = snippet(text, &Query::parse(query).unwrap());
        let mut out = found.text.clone();
        for range in found.matches.iter().rev() {
            out.insert(range.end, ']');
            out.insert(range.start, '[');
        }
        let mark = |cut| if cut { "…" } else { "" };
        format!("{}{out}{}", mark(found.cut_before), mark(found.cut_after))
    }

    #[test]
    fn snippet_shows_the_place_with_most_clauses() {
        let filler = "lorem ipsum dolor sit amet ".repeat(12);
        let text = format!("# A\n\nA fee. {filler}\n\tLate   fees\nand\nlate payments. {filler}");
        insta::assert_snapshot!(
            [marked(&text, "late fee"), marked(&text, "\"late payment\""), marked(&text, "nothing")]
                .join("
"), @r"
        …sit amet lorem ipsum dolor sit amet [Late] [fees] and [late] payments. lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum do…
        …ipsum dolor sit amet Late fees and [late] [payments]. lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum dolor sit amet lo…
        # A A fee. lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum do…
        ");
    }

    #[test]
    fn snippet_matches_words_like_the_index() {
        assert_eq!(marked("Un Café, cafe\u{301}s", "cafe"), "Un [Café], [cafe\u{301}s]");
        assert_eq!(marked("Été: the POLICIES", "policy été"), "[Été]: the [POLICIES]");
        assert_eq!(marked("返品規則は", "規則"), "返品[規][則]は");
        assert_eq!(marked("a payments-service b", "payments-service"), "a [payments]-[service] b");
        assert_eq!(marked("", "x"), "");
    }

    #[test]
    fn opening_shows_the_first_words_on_one_line() {
        let opened = |text: &str| {
            let found = opening(text);
            assert!(found.matches.is_empty() && !found.cut_before);
            found.text + if found.cut_after { "…" } else { "" }
        };
        assert_eq!(opened(" \n\tTwo\u{a0}words\r\n and  more \n"), "Two words and more");
        assert_eq!((opened(""), opened("\n\n")), (String::new(), String::new()));
        let words = "twenty-two characters. ".repeat(9);
        assert_eq!(opened(&words), "twenty-two characters. ".repeat(7).trim_end().to_owned() + "…");
        // A text that fits exactly is not cut, even if blanks follow.
        let whole = "x".repeat(WIDTH);
        assert_eq!(opened(&format!("{whole} \n")), whole);
        assert_eq!(opened(&format!("a {whole}")), format!("a {}…", "x".repeat(WIDTH - 2)));
        let late = format!("{} {whole}", "y".repeat(WIDTH / 2));
        assert_eq!(opened(&late), format!("{}…", "y".repeat(WIDTH / 2)));
        assert_eq!(opened(&"返品".repeat(1 << 16)), "返品".repeat(WIDTH / 2) + "…");
    }

    #[test]
    fn opening_cuts_a_long_word() {
        let long = format!("late {}", "x".repeat(1 << 20));
        let found = marked(&long, "late");
        assert!(found.starts_with("[late] xxx") && found.len() < 200, "{}", found.len());
    }

    proptest! {
        #[test]
        fn opening_is_a_prefix_of_the_words(text in "([a-z\u{e9}日 \n\t]|word |\\PC){0,400}") {
            let (found, mut words) = (opening(&text), String::new());
            for word in text.split_whitespace() {
                words.push_str(if words.is_empty() { "" } else { " " });
                words.push_str(word);
            }
            prop_assert!(words.starts_with(&found.text));
            prop_assert_eq!(found.cut_after, found.text != words);
            prop_assert!(found.text.chars().count() <= WIDTH);
            prop_assert!(!found.cut_after || found.text.chars().count() * 2 >= WIDTH - 1);
        }

        #[test]
        fn snippet_matches_are_bytes_of_its_text(
            text in "([a-c\u{e9}日本 .\n\u{200b}]|late|fees){0,120}", query in "[a-c\u{e9}日本]{1,3}( late)?( \"a b\")?"
        ) {
            let Ok(query) = Query::parse(&query) else { return Ok(()) };
            let found = snippet(&text, &query);
            let mut end = 0;
            for range in &found.matches {
                prop_assert!(range.start >= end && range.end > range.start);
                let word = super::super::words::folded(&found.text[range.clone()]);
                prop_assert!(query.clauses().iter().any(|c| c.words.contains(&word[0])), "{word:?}");
                end = range.end;
            }
            prop_assert!(found.text.chars().count() <= 2 * WIDTH);
        }
    }
}
