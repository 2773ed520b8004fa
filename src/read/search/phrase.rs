//! Finds consecutive words in one pass over a text (Knuth, Morris, Pratt).
//!
//! The work is one step for each word of the text, for any length of the phrase and any number of
//! near matches. Words are numbers here; [`NONE`] is a word outside of every clause.

/// A word that is in no phrase.
pub(super) const NONE: u16 = 0;

/// A phrase to search for.
#[derive(Clone, Debug)]
pub(super) struct Phrase {
    words: Vec<u16>,
    /// Length of the longest prefix that also ends at each word.
    back: Vec<usize>,
}

impl Phrase {
    /// Makes a phrase of at least one word, without [`NONE`].
    pub(super) fn new(words: Vec<u16>) -> Self {
        let mut phrase = Self { back: vec![0; words.len()], words };
        let mut found = 0;
        for n in 1..phrase.words.len() {
            found = phrase.after(found, phrase.words[n]);
            phrase.back[n] = found;
        }
        phrase
    }

    /// Returns the number of words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Reads one word of the text, and returns true if the phrase ends with it. `found` is the
    /// number of its words that were read last, 0 at the start and after a gap.
    pub(super) fn ends_with(&self, found: &mut usize, word: u16) -> bool {
        *found = self.after(*found, word);
        let is_whole = *found == self.len();
        if is_whole {
            *found = self.back.last().copied().unwrap_or(0);
        }
        is_whole
    }

    fn after(&self, mut found: usize, word: u16) -> usize {
        while found > 0 && self.words[found] != word {
            found = self.back[found - 1];
        }
        found + usize::from(self.words.get(found) == Some(&word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn phrase_ends_at_its_consecutive_words(
            words in prop::collection::vec(1_u16..3, 1..6), text in prop::collection::vec(0_u16..3, 0..40)
        ) {
            let (phrase, mut found) = (Phrase::new(words.clone()), 0);
            let ends = text.iter().map(|word| phrase.ends_with(&mut found, *word));
            let ends: Vec<bool> = ends.collect();
            let expected = (1..=text.len()).map(|end| text[..end].ends_with(&words));
            prop_assert_eq!(ends, expected.collect::<Vec<bool>>());
        }
    }
}
