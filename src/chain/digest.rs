//! A SHA-256 digest and its only spelling.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest; written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// Why a text is no digest of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// Another algorithm is named, or none.
    #[error("expected `sha256:`, but found `{}`", .0.escape_debug())]
    UnknownAlgorithm(String),
    /// Not 64 lower-case hexadecimal digits.
    #[error("expected 64 lower-case hexadecimal digits after `sha256:`")]
    Malformed,
}

const PREFIX: &str = "sha256:";
const HEX: &[u8; 16] = b"0123456789abcdef";

impl Digest {
    /// The length of the spelling in bytes.
    pub const TEXT_LENGTH: usize = PREFIX.len() + 64;

    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of a sequence of byte strings, as if they were one.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Appends the spelling to a buffer.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(PREFIX.as_bytes());
        for byte in self.0 {
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        }
    }

    /// The first twelve digits, for people; never parsed back.
    pub fn short(&self) -> String {
        self.to_string()[PREFIX.len()..PREFIX.len() + 12].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(Self::TEXT_LENGTH);
        self.write_to(&mut text);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(hex) = text.strip_prefix(PREFIX) else {
            let algorithm = text.split(':').next().unwrap_or_default().chars().take(20).collect();
            return Err(DigestError::UnknownAlgorithm(algorithm));
        };
        let hex = hex.as_bytes();
        if hex.len() != 64 {
            return Err(DigestError::Malformed);
        }
        let mut digest = [0; 32];
        for (byte, pair) in digest.iter_mut().zip(hex.chunks_exact(2)) {
            let value = |c: u8| HEX.iter().position(|h| *h == c);
            let (Some(high), Some(low)) = (value(pair[0]), value(pair[1])) else {
                return Err(DigestError::Malformed);
            };
            *byte = u8::try_from(high << 4 | low).map_err(|_| DigestError::Malformed)?;
        }
        Ok(Self(digest))
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_one_spelling() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(empty.parse::<Digest>().unwrap(), Digest::of(b""));
        assert_eq!(Digest::of_parts([&b"a"[..], b"", b"b"]), Digest::of(b"ab"));
        assert_eq!(
            empty.to_uppercase().parse::<Digest>().unwrap_err().to_string(),
            "expected `sha256:`, but found `SHA256`"
        );
        for text in [&empty[..70], &format!("{empty}0"), &empty.replace('e', "E")] {
            assert_eq!(text.parse::<Digest>(), Err(DigestError::Malformed));
        }
        assert!("sha512:00".parse::<Digest>().is_err());
    }
}
