//! The numbers of versions and of checkpoints, as distinct types.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum number: RFC 8785 cannot write greater numbers exactly (CKPT-8).
pub const MAX_NUMBER: u64 = (1 << 53) - 1;

/// Declares types of numbers that begin with 1.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The number 0, for a missing version or checkpoint.
            pub const NONE: Self = Self(0);
            /// The first number: 1.
            pub const FIRST: Self = Self(1);

            /// Returns the number if a file may record it: from 1 to [`MAX_NUMBER`].
            pub fn recordable(number: u64) -> Option<Self> {
                (1..=MAX_NUMBER).contains(&number).then_some(Self(number))
            }

            /// Returns the last number of a sequence of this length that begins with 1.
            pub fn of_count(count: usize) -> Self {
                Self(count as u64)
            }

            /// Returns the length of a sequence that begins with 1 and ends with this number.
            pub fn count(self) -> usize {
                usize::try_from(self.0).unwrap_or(usize::MAX)
            }

            /// Returns the numbers 1, 2, 3 and so on.
            pub fn sequence() -> impl Iterator<Item = Self> {
                (1..).map(Self)
            }

            /// Returns the number before this one; [`NONE`](Self::NONE) before the first.
            #[must_use]
            pub fn previous(self) -> Self {
                Self(self.0.saturating_sub(1))
            }

            /// Returns the number after this one.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIntError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )*};
}

numbers! {
    /// The number of a version of one artifact, from 1.
    Version;
    /// The number of a checkpoint of the vault, from 1.
    CheckpointNumber;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_recorded_from_1_to_what_json_keeps_exact() {
        assert_eq!(Version::recordable(0), None);
        assert_eq!(Version::recordable(1), Some(Version::FIRST));
        assert_eq!(Version::recordable(MAX_NUMBER), Some(Version(MAX_NUMBER)));
        assert_eq!(Version::recordable(MAX_NUMBER + 1), None);
        assert_eq!(CheckpointNumber::NONE.next(), CheckpointNumber::FIRST);
        assert_eq!(Version(u64::MAX).next(), Version(u64::MAX));
        assert_eq!(Version::FIRST.previous(), Version::NONE);
        assert_eq!(Version::NONE.previous(), Version::NONE);
    }
}
