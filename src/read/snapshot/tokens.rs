//! Counting of tokens of a text (`spec/resolve.md`, section 3).

use crate::values::codes::serialize_as_words;
use std::fmt;
use std::str::FromStr;

/// A way to count tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokenizer {
    /// One token for every four bytes, rounded up. No model has these tokens, but the number is
    /// near to that of most.
    #[default]
    Bytes,
    /// The vocabulary `cl100k_base` of OpenAI.
    Cl100k,
    /// The vocabulary `o200k_base` of OpenAI.
    O200k,
}

serialize_as_words!(Tokenizer);

impl Tokenizer {
    /// Every tokenizer, with its name.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Bytes, "bytes/4"), (Self::Cl100k, "cl100k_base"), (Self::O200k, "o200k_base")];

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(one, _)| *one == self).map_or("bytes/4", |(_, name)| name)
    }

    /// Counts the tokens of a text.
    pub fn count(self, text: &str) -> u64 {
        let count = match self {
            Self::Bytes => None,
            named => tiktoken::get_encoding(named.as_str()).map(|encoding| encoding.count(text)),
        };
        count.unwrap_or_else(|| text.len().div_ceil(4)) as u64
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Error for a name that no tokenizer has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a known tokenizer")]
pub struct UnknownTokenizer(String);

impl FromStr for Tokenizer {
    type Err = UnknownTokenizer;

    fn from_str(name: &str) -> Result<Self, UnknownTokenizer> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(one, _)| *one).ok_or_else(|| UnknownTokenizer(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tokenizer_counts_by_its_vocabulary() {
        let count = |text| Tokenizer::ALL.map(|(one, _)| one.count(text));
        assert_eq!(count(""), [0, 0, 0]);
        assert_eq!(count("hello world"), [3, 2, 2]);
        assert_eq!(count("Vendor risk threshold: EUR 10,000"), [9, 9, 9]);
        // Special tokens of a vocabulary are ordinary text.
        assert_eq!(count("<|endoftext|>"), [4, 7, 7]);
        for (one, name) in Tokenizer::ALL {
            assert_eq!(name.parse(), Ok(one));
        }
        assert!("gpt".parse::<Tokenizer>().is_err());
    }
}
