//! Copies of documents that sync programs, merge tools and people leave beside them
//! (`spec/document.md`, section 9). The names are in [`crate::vault::copies`].

use std::collections::HashMap;

use super::linked::warning;
use crate::document::validate::Problem;
use crate::document::{Document, utf8};
use crate::vault::Vault;
use crate::vault::copies::{copied, likely_original};

/// The code of the warning.
pub(crate) const CODE: &str = "copy";

/// Maximum number of bytes of a text that is compared with another one.
const COMPARED: u64 = 1 << 20;

/// Returns the warning about a live document that is a copy of another, or nearly so.
pub(crate) fn problem(vault: &Vault, path: &str, body: &str) -> Option<Problem> {
    if let Some(copied) = copied(vault, path) {
        let hint = "merge the two files, and delete the copy";
        return Some(warning(CODE, None, format!("it is {copied}"), hint.to_owned()));
    }
    let (original, least) = likely_original(vault, path)?;
    let bytes =
        vault.files().read(&original, COMPARED).ok().filter(|_| body.len() as u64 <= COMPARED)?;
    let text = utf8(&bytes).ok()?;
    let document = Document::of_live(text).ok()?;
    if !is_near(&text[document.parts.body..], body, least) {
        return None;
    }
    let message =
        format!("its text is nearly that of `{original}`, and its name is that of a copy");
    let hint = "if it is a copy, merge the two files, and delete one";
    Some(warning(CODE, None, message, hint.to_owned()))
}

/// Returns true if two texts share at least this percentage of their words.
fn is_near(a: &str, b: &str, least: usize) -> bool {
    let mut words: HashMap<&str, usize> = HashMap::new();
    let (mut all, mut same) = (0, 0);
    for word in a.split_whitespace() {
        *words.entry(word).or_default() += 1;
        all += 1;
    }
    for word in b.split_whitespace() {
        all += 1;
        if let Some(left) = words.get_mut(word).filter(|left| **left > 0) {
            *left -= 1;
            same += 1;
        }
    }
    same > 0 && 200 * same >= least * all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_near_if_most_of_their_words_are_the_same() {
        let (a, b) = ("# Returns\n\nWithin 30 days.\n", "# Returns\n\nWithin 45 days.\n");
        assert!(is_near(a, a, 100) && is_near(a, b, 75));
        assert!(!is_near(a, b, 90) && !is_near("", "", 75) && !is_near(a, "", 1));
        assert!(!is_near("a a a b", "a c d e", 75));
    }
}
