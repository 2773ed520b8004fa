//! Helpers for messages: the nearest known word, counts, and escaped texts.

use std::borrow::Cow;

use crate::values::model::visible::{shown, steers};

/// Maximum number of steps of all searches for nearest names in one command: one step for each
/// candidate, and one for each pair of characters that is compared (SEL-32).
const MAX_NEAR_STEPS: usize = 1 << 28;

/// Returns the beginning of a text: at most `most` bytes, without a partial character.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let most = most.min(text.len());
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    &text[..end]
}

/// Returns the candidate at the smallest edit distance from `found`; `None` if none is near enough.
pub(crate) fn nearest<'a>(
    found: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    Nearest { left: usize::MAX }.find(found, candidates)
}

/// Returns the word that differs from `found` by one slip: one character more, fewer or different,
/// or two that changed places. A difference only in case is not a slip.
pub(crate) fn misspelled<'a>(
    found: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let is_slip = |word: &&str| {
        !word.eq_ignore_ascii_case(found) && strsim::damerau_levenshtein(found, word) == 1
    };
    words.into_iter().find(is_slip)
}

/// Returns the name that `found` probably means, where names have several parts with a separator
/// between them. The first match decides: a name with the same last part, the nearest name, or, if
/// `found` has one part, a name whose last part is the nearest.
pub(crate) fn nearest_name<'a>(
    found: &str,
    names: impl IntoIterator<Item = &'a str>,
    separator: char,
) -> Option<&'a str> {
    let last = |name: &'a str| name.rsplit(separator).next().unwrap_or(name);
    let wanted = found.rsplit(separator).next().unwrap_or(found).to_lowercase();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    let same = names.iter().find(|name| last(name).to_lowercase() == wanted);
    same.copied().or_else(|| nearest(found, names.iter().copied())).or_else(|| {
        let is_part = !found.contains(separator);
        let near =
            is_part.then(|| nearest(found, names.iter().map(|name| last(name)))).flatten()?;
        names.iter().find(|name| last(name) == near).copied()
    })
}

/// Searches for nearest names with a common limit for one command. Beyond the limit there are no
/// more suggestions, because an attacker controls how many unknown and known names there are.
#[derive(Debug)]
pub(crate) struct Nearest {
    left: usize,
}

impl Default for Nearest {
    fn default() -> Self {
        Self { left: MAX_NEAR_STEPS }
    }
}

impl Nearest {
    /// Works like [`nearest`]; returns `None` if the limit ends the search early.
    pub(crate) fn find<'a>(
        &mut self,
        found: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let wanted = found.to_lowercase();
        let length = wanted.chars().count();
        if found.len() > 100 || self.left == 0 {
            return None;
        }
        let limit = (found.chars().count() / 3).clamp(1, 3);
        let mut best: Option<(usize, &str)> = None;
        for candidate in candidates {
            // Lower case increases the number of bytes at most threefold.
            let is_near = candidate.len() <= 12 * (length + limit);
            let lower = if is_near { candidate.to_lowercase() } else { String::new() };
            let compared = lower.chars().count();
            let is_near = is_near && compared.abs_diff(length) <= limit;
            let steps = if is_near { 1 + compared * length } else { 1 };
            self.left = self.left.saturating_sub(steps);
            if self.left == 0 {
                return None;
            }
            let distance = if is_near { strsim::levenshtein(&wanted, &lower) } else { usize::MAX };
            if distance <= limit && best.is_none_or(|best| (distance, candidate) < best) {
                best = Some((distance, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }
}

/// Returns a text as one quoted argument of a shell, because users paste commands with ids.
pub(crate) fn argument(text: &str) -> Cow<'_, str> {
    // Arguments of a process cannot contain NUL, and no shell can write it.
    shlex::try_quote(text).unwrap_or(Cow::Borrowed("''"))
}

/// Returns a count with its noun: `1 document`, `2 documents`, `2 histories`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        n if noun.ends_with("ss") => format!("{n} {noun}es"),
        n if noun.ends_with('y') => format!("{n} {}ies", &noun[..noun.len() - 1]),
        n => format!("{n} {noun}s"),
    }
}

/// Returns a text escaped for HTML, without invisible characters and without characters that steer
/// a terminal.
pub(crate) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in shown(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Escapes a text of the vault to one line of plain Markdown, without markup, HTML or line ends.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if steers(c) || c.is_whitespace() => out.push(' '),
            c if c.is_ascii_punctuation()
                && !matches!(c, ',' | '.' | ':' | ';' | '/' | '-' | '\'') =>
            {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computes the distance with the whole textbook table.
    fn distance(a: &str, b: &str) -> usize {
        let b: Vec<char> = b.to_lowercase().chars().collect();
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.to_lowercase().chars().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, y) in b.iter().enumerate() {
                let change = diagonal + usize::from(x != *y);
                diagonal = row[j + 1];
                row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn nearest_word_equals_that_of_the_textbook_algorithm(
            found in "[a-cİΣé]{0,9}", words in prop::collection::vec("[a-cA-CİΣé]{0,12}", 0..8)
        ) {
            let limit = (found.chars().count() / 3).clamp(1, 3);
            let all = words.iter().map(|word| (distance(&found, word), word.as_str()));
            let expected = all.filter(|(far, _)| *far <= limit).min().map(|(_, word)| word);
            prop_assert_eq!(nearest(&found, words.iter().map(String::as_str)), expected);
        }
    }

    #[test]
    fn nearest_name_searches_share_one_limit() {
        let known: Vec<String> = (0..100_000).map(|n| format!("tag-{n:06}")).collect();
        let mut search = Nearest::default();
        let mut find = || search.find("tag-09999x", known.iter().map(String::as_str));
        assert_eq!(find(), Some("tag-099990"));
        let answered = (0..100).take_while(|_| find().is_some()).count();
        assert!((10..100).contains(&answered), "{answered}");
        assert_eq!(search.find("tag-00001x", ["tag-000010"]), None);
    }

    #[test]
    fn an_argument_is_one_word_of_a_shell() {
        assert_eq!(argument("nodes/a-b.md"), "nodes/a-b.md");
        for (text, quoted) in
            [("", "''"), ("a b", "'a b'"), ("$(x)", "'$(x)'"), ("it's", "\"it's\""), ("é", "'é'")]
        {
            assert_eq!(argument(text), quoted);
        }
    }

    #[test]
    fn a_name_is_found_by_its_last_part() {
        let names =
            ["nodes/policies/vendor-risk", "nodes/glossary", "nodes/b/risk", "nodes/a/Risk"];
        let find = |found| nearest_name(found, names, '/');
        assert_eq!(find("vendor-risk"), Some("nodes/policies/vendor-risk"));
        assert_eq!(find("nodes/Vendor-Risk"), Some("nodes/policies/vendor-risk"));
        assert_eq!(find("risk"), Some("nodes/a/Risk"));
        assert_eq!(find("nodes/glosary"), Some("nodes/glossary"));
        assert_eq!(find("glosary"), Some("nodes/glossary"));
        assert_eq!(find("other/glosary"), None);
    }

    #[test]
    fn only_near_words_are_suggested() {
        assert_eq!(nearest("documnet", ["document", "snippet"]), Some("document"));
        assert_eq!(nearest("Policy", ["policy", "police"]), Some("policy"));
        assert_eq!(nearest("xyz", ["document", "snippet"]), None);
    }
}
