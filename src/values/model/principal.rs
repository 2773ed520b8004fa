//! Who acts: the name that a version's `edited_by` records.

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization as _;

use crate::values::model::id::fold_case;
use crate::values::model::visible::{Invisible, without_invisible};

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
    #[error("a principal holds no `:` and no control character, but found `{}`", .0.escape_default())]
    Character(char),
    /// A character that is invisible, or that turns the direction of the line.
    #[error("a principal holds no invisible character, but `{name}` has {found}")]
    Invisible {
        /// The text.
        name: String,
        /// The first such character.
        found: Invisible,
    },
}

impl PrincipalError {
    /// A name that is allowed, where there is one.
    pub fn near(&self) -> Option<Principal> {
        match self {
            Self::Invisible { name, .. } => without_invisible(name).parse().ok(),
            _ => None,
        }
    }
}

impl Principal {
    /// The name as it is recorded.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it is compared by.
    pub fn key(&self) -> PrincipalKey {
        PrincipalKey::of(&self.0)
    }
}

/// What principals are compared by: the name after trimming, normal form C, and case folding, so that
/// one person is not two (`spec/stewards.md`, STEW-4).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrincipalKey(String);

impl PrincipalKey {
    /// The key of a name, of one that a writer of ours would refuse too.
    pub fn of(name: &str) -> Self {
        let name = name.trim();
        match name.is_ascii() {
            true => Self(name.to_ascii_lowercase()),
            false => Self(fold_case(&name.nfc().collect::<String>())),
        }
    }

    /// The folded name.
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
        if let Some(c) = name.chars().find(|c| *c == ':' || c.is_control()) {
            return Err(PrincipalError::Character(c));
        }
        match Invisible::first_in(name) {
            Some(found) => Err(PrincipalError::Invisible { name: name.to_owned(), found }),
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
    fn principals_are_compared_without_case_form_and_blanks() {
        let key = PrincipalKey::of;
        assert_eq!(key(" Ana@Example.com\t"), key("ana@example.COM"));
        assert_eq!(key("Jose\u{301}"), key("JOS\u{c9}"));
        assert_eq!(key("STRASSE"), key("stra\u{df}e"));
        assert_ne!(key("ana@example.com"), key("ana@example.org"));
        assert_eq!(key("\u{c9}").as_str(), "\u{e9}");
    }

    #[test]
    fn names_that_would_blur_a_record_are_refused() {
        assert_eq!(" ana@example.com ".parse::<Principal>().unwrap().as_str(), "ana@example.com");
        assert_eq!("".parse::<Principal>(), Err(PrincipalError::Empty));
        assert_eq!("system:seed".parse::<Principal>(), Err(PrincipalError::Character(':')));
        assert_eq!("a\u{7}b".parse::<Principal>(), Err(PrincipalError::Character('\u{7}')));
        let hidden = "ana\u{2800}".parse::<Principal>().unwrap_err().to_string();
        assert!(hidden.ends_with("has U+2800 (blank braille pattern) at character 4"), "{hidden}");
        assert_eq!("x".repeat(257).parse::<Principal>(), Err(PrincipalError::TooLong(257)));
    }
}
