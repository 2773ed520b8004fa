//! URIs of ours in plain text, where no markup marks their end.

use std::ops::Range;

use crate::text::uri;

pub(super) fn starts_with_scheme(text: &str) -> bool {
    text.get(..uri::SCHEME.len()).is_some_and(|start| start.eq_ignore_ascii_case(uri::SCHEME))
}

/// Returns the positions of `contextnest://` in a text without a letter before it.
pub(super) fn schemes(text: &str) -> impl Iterator<Item = usize> {
    let begins = |(end, _): (usize, &str)| {
        let at = (end + "://".len()).checked_sub(uri::SCHEME.len())?;
        let is_word = |c: char| c.is_alphanumeric() || "+.-".contains(c);
        (text.get(at..).is_some_and(starts_with_scheme) && !text[..at].ends_with(is_word))
            .then_some(at)
    };
    text.match_indices("://").filter_map(begins)
}

/// Returns the URIs of ours in plain text. Each ends at a blank or a character that URIs cannot
/// contain, without the punctuation and the closing brackets of the sentence.
pub(super) fn uris(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut end) = (Vec::new(), 0);
    for at in schemes(text) {
        if at < end {
            continue;
        }
        let rest = &text[at..];
        let length =
            rest.find(|c: char| c.is_whitespace() || uri::is_refused(c)).unwrap_or(rest.len());
        end = at + length;
        let uri = without_punctuation(&rest[..length]);
        if uri.len() > uri::SCHEME.len() {
            found.push(at..at + uri.len());
        }
    }
    found
}

fn without_punctuation(mut uri: &str) -> &str {
    let count = |c: char| uri.matches(c).count();
    let mut round = (count('('), count(')'));
    let mut square = (count('['), count(']'));
    while let Some(last) = uri.chars().next_back() {
        let belongs = match last {
            ')' if round.1 > round.0 => {
                round.1 -= 1;
                false
            }
            ']' if square.1 > square.0 => {
                square.1 -= 1;
                false
            }
            c => !".,;:!'*_~\u{2019}\u{201d}".contains(c),
        };
        if belongs {
            break;
        }
        uri = &uri[..uri.len() - last.len_utf8()];
    }
    uri
}
