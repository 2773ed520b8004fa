//! Passages that repeat another one (`spec/resolve.md`, section 3).
//!
//! A copy of a passage takes the room of another text. A passage repeats another one only if it
//! adds no word to it, because one more word may reverse the meaning of a sentence.

use super::context::Reason;
use super::portion::Portion;

/// Included passages, as their names and words.
#[derive(Debug, Default)]
pub(super) struct Passages(Vec<(String, String)>);

/// Maximum number of passages for comparison.
const MAX_PASSAGES: usize = 128;

impl Passages {
    /// Adds a passage.
    pub(super) fn add(&mut self, portion: &Portion<'_>) {
        if self.0.len() < MAX_PASSAGES {
            self.0.push((portion.name(), words(&portion.text())));
        }
    }

    /// Returns the passage that this one repeats, as a reason to leave it out.
    pub(super) fn repeats(&self, portion: &Portion<'_>) -> Option<Reason> {
        if self.0.is_empty() {
            return None;
        }
        let words = words(&portion.text());
        if words == BREAK {
            return None;
        }
        let (name, _) = self.0.iter().find(|(_, taken)| taken.contains(&words))?;
        Some(Reason::Duplicate(name.clone()))
    }
}

/// Text before, after and between words.
const BREAK: &str = " ";

/// Returns the words of a text in lower case, without those of a heading in its first line.
fn words(text: &str) -> String {
    let text = match text.split_once('\n') {
        Some((first, rest)) if first.starts_with('#') => rest,
        _ => text,
    };
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(BREAK.to_owned(), |all, word| all + &word.to_lowercase() + BREAK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passage_repeats_one_with_all_its_words_in_order() {
        let repeats = |passage: &str, taken: &str| words(taken).contains(&words(passage));
        let taken = "## Fees\n\nLate fees are *waived* within 30 days.\n";
        assert!(repeats("# Copied\nlate fees are waived,\nwithin 30 days", taken));
        assert!(repeats("fees are waived", taken));
        for other in [
            "Late fees are never waived within 30 days.",
            "Late fees are waived within 90 days.",
            "Repealed. Late fees are waived within 30 days.",
            "ate fees are waived within 30 days",
            "waived fees",
        ] {
            assert!(!repeats(other, taken), "{other}");
        }
        assert_eq!(words("--- ***\n"), BREAK);
    }
}
