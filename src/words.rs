//! Words in messages: the nearest known word, and counts.

use std::borrow::Cow;

/// The candidate at the smallest edit distance from `found`, if it is near enough to be meant.
pub(crate) fn nearest<'a>(
    found: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if found.len() > 100 {
        return None;
    }
    let limit = (found.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .filter(|c| c.len() <= 512)
        .map(|candidate| (distance(found, candidate), candidate))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, candidate)| candidate)
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

/// Levenshtein distance without regard to case.
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

#[cfg(test)]
mod tests {
    use super::*;

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
