//! Passages that repeat another one (`spec/resolve.md`, section 3).
//!
//! A copy of a passage takes room that another text could have. Two passages count as one only if
//! nearly all of their words are the same and all of their figures: a changed limit is news.

use std::collections::{HashSet, VecDeque};

use twox_hash::XxHash3_64;

use super::context::Reason;
use super::portion::Portion;

/// How many words are compared together.
const RUN: usize = 3;
/// A longer passage repeats none.
const MAX_WORDS: usize = 16_384;
/// So many passages are compared with.
const MAX_PASSAGES: usize = 128;

/// The passages that were taken.
#[derive(Debug, Default)]
pub(super) struct Passages(Vec<(String, Passage)>);

/// The words of a passage.
#[derive(Debug)]
struct Passage {
    /// Its runs of words.
    runs: HashSet<u64>,
    /// Its words with a digit, in their order.
    figures: Vec<String>,
}

impl Passages {
    /// Remembers a passage.
    pub(super) fn add(&mut self, portion: &Portion<'_>) {
        if self.0.len() < MAX_PASSAGES
            && let Some(passage) = Passage::of(portion.text())
        {
            self.0.push((portion.name(), passage));
        }
    }

    /// The passage that this one repeats, as a reason to leave it out.
    pub(super) fn repeats(&self, portion: &Portion<'_>) -> Option<Reason> {
        if self.0.is_empty() {
            return None;
        }
        let passage = Passage::of(portion.text())?;
        let (name, _) = self.0.iter().find(|(_, taken)| taken.is_near(&passage))?;
        Some(Reason::Duplicate(name.clone()))
    }
}

impl Passage {
    fn of(text: &str) -> Option<Self> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let (mut runs, mut figures) = (HashSet::new(), Vec::new());
        let (mut run, mut count) = (VecDeque::new(), 0);
        for word in words {
            count += 1;
            if count > MAX_WORDS {
                return None;
            }
            let word = word.to_lowercase();
            if word.contains(char::is_numeric) {
                figures.push(word.clone());
            }
            run.push_back(word);
            if run.len() > RUN {
                run.pop_front();
            }
            if run.len() == RUN {
                runs.insert(hash(&run));
            }
        }
        if count < RUN {
            runs.insert(hash(&run));
        }
        (count > 0).then_some(Self { runs, figures })
    }

    /// Whether at least nine of ten runs are in both, and the figures are the same.
    fn is_near(&self, other: &Self) -> bool {
        let (few, many) = match self.runs.len() <= other.runs.len() {
            true => (&self.runs, &other.runs),
            false => (&other.runs, &self.runs),
        };
        if self.figures != other.figures || few.len() * 10 < many.len() * 9 {
            return false;
        }
        let common = few.intersection(many).count();
        common * 10 >= (few.len() + many.len() - common) * 9
    }
}

fn hash(run: &VecDeque<String>) -> u64 {
    let mut bytes = Vec::new();
    for word in run {
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(b' ');
    }
    XxHash3_64::oneshot(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_near(one: &str, other: &str) -> bool {
        Passage::of(one).unwrap().is_near(&Passage::of(other).unwrap())
    }

    #[test]
    fn passages_are_near_if_their_words_are_but_for_a_few() {
        let words: Vec<String> = (0..80).map(|n| format!("w{}", "x".repeat(n))).collect();
        let text = words.join(" ");
        assert!(are_near(&text, &text.to_uppercase().replace(' ', ",\n")));
        assert!(are_near(&text, &text.replacen("wxx ", "other ", 1)));
        assert!(!are_near(&text, &words[..60].join(" ")));
        assert!(!are_near("a b", "a c") && are_near("a b", "A, b."));
    }

    #[test]
    fn a_changed_figure_is_another_passage() {
        let of =
            |days: &str| format!("Vendors {} are paid within {days} days.", "reviewed ".repeat(60));
        assert!(are_near(&of("30"), &of("30")) && !are_near(&of("30"), &of("90")));
    }

    #[test]
    fn a_text_without_words_or_of_too_many_repeats_nothing() {
        assert!(Passage::of("--- ***").is_none());
        assert!(Passage::of(&"a ".repeat(MAX_WORDS + 1)).is_none());
    }
}
