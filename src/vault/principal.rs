//! Who acts: the name that a version's `edited_by` records.

use std::fmt;
use std::str::FromStr;

use crate::visible::hides;

/// A principal, usually an e-mail address: not empty, at most 256 bytes, no control or invisible
/// character and no `:`, because the chain hash joins fields with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal(String);

/// Why a text cannot name a principal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrincipalError {
    /// Nothing but blanks.
    #[error("a principal is not empty")]
    Empty,
    /// More than 256 bytes.
    #[error("a principal has at most 256 bytes, but this one has {0}")]
    TooLong(usize),
    /// A character that would make a record ambiguous.
    #[error("a principal holds no `:` and no control or invisible character, but found `{}`", .0.escape_default())]
    Character(char),
}

impl Principal {
    /// The name as it is recorded.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Principal {
    type Err = PrincipalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.trim();
        if name.is_empty() {
            return Err(PrincipalError::Empty);
        }
        if name.len() > 256 {
            return Err(PrincipalError::TooLong(name.len()));
        }
        match name.chars().find(|c| *c == ':' || c.is_control() || hides(*c)) {
            Some(c) => Err(PrincipalError::Character(c)),
            None => Ok(Self(name.to_owned())),
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_blur_a_record_are_refused() {
        assert_eq!(" ana@example.com ".parse::<Principal>().unwrap().as_str(), "ana@example.com");
        assert_eq!("".parse::<Principal>(), Err(PrincipalError::Empty));
        assert_eq!("system:seed".parse::<Principal>(), Err(PrincipalError::Character(':')));
        assert_eq!("a\u{7}b".parse::<Principal>(), Err(PrincipalError::Character('\u{7}')));
        assert_eq!("x".repeat(257).parse::<Principal>(), Err(PrincipalError::TooLong(257)));
    }
}
