//! Principals, whose names `edited_by` of a version records.

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization as _;

use crate::values::model::id::fold_case;
use crate::values::model::visible::{Invisible, without_invisible};

/// A principal, usually an e-mail address. A name has 1 to 256 bytes and no control or invisible
/// character. It cannot contain `:`, because the chain hash joins fields with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal(String);

/// A rule of principals that a text breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrincipalError {
    /// The text has nothing but blanks.
    #[error("a principal cannot be empty")]
    Empty,
    /// The text has more than 256 bytes.
    #[error("a principal has at most 256 bytes, but this one has {0}")]
    TooLong(usize),
    /// The text contains a character that would make a record ambiguous.
    #[error("a principal cannot contain `:` or control characters, but found `{}`", .0.escape_default())]
    Character(char),
    /// The text contains a character that is invisible or changes the direction of the line.
    #[error("a principal cannot contain invisible characters, but `{name}` has {found}")]
    Invisible {
        /// Text of the name.
        name: String,
        /// First such character.
        found: Invisible,
    },
}

impl PrincipalError {
    /// Returns a similar name that is allowed, if there is one.
    pub fn near(&self) -> Option<Principal> {
        match self {
            Self::Invisible { name, .. } => without_invisible(name).parse().ok(),
            _ => None,
        }
    }
}

impl Principal {
    /// Returns the name as it is recorded.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the form that is compared with other principals.
    pub fn key(&self) -> PrincipalKey {
        PrincipalKey::of(&self.0)
    }
}

/// The form in which principals are compared: the name after trimming, normal form C, and case
/// folding, so that the spellings of one name are one principal (`spec/stewards.md`, STEW-4).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrincipalKey(String);

impl PrincipalKey {
    /// Returns the key of a name, even if [`Principal`] would refuse the name.
    pub fn of(name: &str) -> Self {
        let name = name.trim();
        match name.is_ascii() {
            true => Self(name.to_ascii_lowercase()),
            false => Self(fold_case(&name.nfc().collect::<String>())),
        }
    }

    /// Returns the folded name.
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
    fn principals_that_make_records_ambiguous_are_refused() {
        assert_eq!(" ana@example.com ".parse::<Principal>().unwrap().as_str(), "ana@example.com");
        assert_eq!("".parse::<Principal>(), Err(PrincipalError::Empty));
        assert_eq!("system:seed".parse::<Principal>(), Err(PrincipalError::Character(':')));
        assert_eq!("a\u{7}b".parse::<Principal>(), Err(PrincipalError::Character('\u{7}')));
        let hidden = "ana\u{2800}".parse::<Principal>().unwrap_err().to_string();
        assert!(hidden.ends_with("has U+2800 (blank braille pattern) at character 4"), "{hidden}");
        assert_eq!("x".repeat(257).parse::<Principal>(), Err(PrincipalError::TooLong(257)));
    }
}
