//! Words in messages: the nearest known word, and counts.

use std::borrow::Cow;

/// The most steps that the searches of one command for nearest names take together: one for each
/// candidate, and one for each character that is compared (SEL-32).
pub(crate) const MAX_NEAR_STEPS: usize = 1 << 25;

/// The candidate at the smallest edit distance from `found`, if it is near enough to be meant.
pub(crate) fn nearest<'a>(
    found: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    Nearest::unbounded().find(found, candidates)
}

/// Looks for nearest names, many times in one command. The work of all searches is counted, and
/// once it reaches the limit there are no more suggestions: an attacker decides how many unknown
/// and how many known names there are.
#[derive(Debug)]
pub(crate) struct Nearest {
    left: usize,
    row: Vec<usize>,
    wanted: Vec<char>,
    candidate: Vec<char>,
}

impl Default for Nearest {
    fn default() -> Self {
        Self { left: MAX_NEAR_STEPS, ..Self::unbounded() }
    }
}

impl Nearest {
    fn unbounded() -> Self {
        let (row, wanted, candidate) = (Vec::new(), Vec::new(), Vec::new());
        Self { left: usize::MAX, row, wanted, candidate }
    }

    /// As [`nearest`]; nothing where the limit leaves a candidate unseen.
    pub(crate) fn find<'a>(
        &mut self,
        found: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        if found.len() > 100 || self.left == 0 {
            return None;
        }
        let mut limit = (found.chars().count() / 3).clamp(1, 3);
        lower(found, &mut self.wanted);
        let mut best: Option<(usize, &str)> = None;
        for candidate in candidates {
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                return None;
            }
            if candidate.len() > 512 || !fits(self.wanted.len(), candidate, limit) {
                continue;
            }
            lower(candidate, &mut self.candidate);
            if let Some(distance) = self.distance(limit)
                && best.is_none_or(|best| (distance, candidate) < best)
            {
                best = Some((distance, candidate));
                limit = distance;
            }
        }
        best.map(|(_, candidate)| candidate)
    }

    /// The Levenshtein distance of the two words, if it is at most `limit`. Only those cells of the
    /// table are filled that are that near to its diagonal.
    fn distance(&mut self, limit: usize) -> Option<usize> {
        let Self { left, row, wanted: a, candidate: b } = self;
        if a.len().abs_diff(b.len()) > limit {
            return None;
        }
        let far = limit + 1;
        row.clear();
        row.extend((0..=b.len()).map(|n| n.min(far)));
        for (i, x) in a.iter().enumerate() {
            *left = left.saturating_sub(1);
            let (from, to) = (i.saturating_sub(limit), (i + far).min(b.len()));
            let mut diagonal = row[from];
            row[from] = if from == 0 { (i + 1).min(far) } else { far };
            let mut least = row[from];
            for j in from..to {
                let change = diagonal + usize::from(*x != b[j]);
                diagonal = row[j + 1];
                // The line above has no cell here.
                let above = if j == i + limit { far } else { diagonal };
                row[j + 1] = change.min(above + 1).min(row[j] + 1).min(far);
                least = least.min(row[j + 1]);
            }
            if least > limit {
                return None;
            }
        }
        Some(row[b.len()]).filter(|distance| *distance <= limit)
    }
}

/// A text as one argument of a shell, whatever it holds: ids get into commands that people paste.
pub(crate) fn argument(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./@%+=:,-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', "'\\''")))
}

/// `1 document`, `2 documents`, `2 histories`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        n if noun.ends_with('y') => format!("{n} {}ies", &noun[..noun.len() - 1]),
        n => format!("{n} {noun}s"),
    }
}

/// Whether a text can be at most `limit` changes away from one of so many characters in lower case.
fn fits(characters: usize, text: &str, limit: usize) -> bool {
    match text.is_ascii() {
        true => text.len().abs_diff(characters) <= limit,
        // In lower case it has at most as many characters as bytes, and at least a quarter of that.
        false => characters <= text.len() + limit && text.len() <= 4 * (characters + limit),
    }
}

/// The characters of a text in lower case.
fn lower(text: &str, out: &mut Vec<char>) {
    out.clear();
    if text.is_ascii() {
        out.extend(text.bytes().map(|byte| char::from(byte.to_ascii_lowercase())));
    } else {
        // As a whole: what a sigma becomes depends on its neighbours.
        out.extend(text.to_lowercase().chars());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The textbook table, every cell of it.
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
        fn the_nearest_word_is_that_of_the_whole_table(
            found in "[a-cİΣé]{0,9}", words in prop::collection::vec("[a-cA-CİΣé]{0,12}", 0..8)
        ) {
            let limit = (found.chars().count() / 3).clamp(1, 3);
            let all = words.iter().map(|word| (distance(&found, word), word.as_str()));
            let expected = all.filter(|(far, _)| *far <= limit).min().map(|(_, word)| word);
            prop_assert_eq!(nearest(&found, words.iter().map(String::as_str)), expected);
        }
    }

    #[test]
    fn searches_for_names_end_at_the_limit_together() {
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
            [("", "''"), ("a b", "'a b'"), ("$(x)", "'$(x)'"), ("it's", "'it'\\''s'"), ("é", "'é'")]
        {
            assert_eq!(argument(text), quoted);
        }
    }

    #[test]
    fn only_near_words_are_suggested() {
        assert_eq!(nearest("documnet", ["document", "snippet"]), Some("document"));
        assert_eq!(nearest("Policy", ["policy", "police"]), Some("policy"));
        assert_eq!(nearest("xyz", ["document", "snippet"]), None);
    }
}
