//! A SHA-256 digest and its only spelling.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest; written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// An error in the spelling of a digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The prefix is not `sha256:`.
    #[error("expected `sha256:`, but found `{}`", .0.escape_debug())]
    UnknownAlgorithm(String),
    /// The rest is not 64 lower-case hexadecimal digits.
    #[error("expected 64 lower-case hexadecimal digits after `sha256:`")]
    Malformed,
}

const PREFIX: &str = "sha256:";
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Value of each byte as a hexadecimal digit, or [`NO_DIGIT`]. A checkpoint log consists mostly of
/// digests, so its reading time depends on this table.
const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        values[HEX[value as usize] as usize] = value;
        value += 1;
    }
    values
};
const NO_DIGIT: u8 = 0xff;

/// Number of digests that this process computed, and number of their bytes.
static COMPUTED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Returns how many digests this process has computed, and over how many bytes. Tests use it to
/// compare the cost of two calls. A release build does not count.
#[doc(hidden)]
pub fn computed() -> [u64; 2] {
    COMPUTED.each_ref().map(|count| count.load(Ordering::Relaxed))
}

fn count(digests: u64, bytes: usize) {
    if cfg!(debug_assertions) {
        COMPUTED[0].fetch_add(digests, Ordering::Relaxed);
        COMPUTED[1].fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Digest {
    /// Length of the spelling in bytes.
    pub const TEXT_LENGTH: usize = PREFIX.len() + 64;

    /// Returns the digest of the bytes.
    pub fn of(bytes: &[u8]) -> Self {
        count(1, bytes.len());
        Self(Sha256::digest(bytes).into())
    }

    /// Makes a digest from its 32 bytes.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the digest of all bytes that `write` puts into the hasher, in any number of pieces.
    pub(crate) fn of_written(write: impl FnOnce(&mut Hasher)) -> Self {
        let mut hasher = Hasher { sha: Sha256::new(), pending: Vec::with_capacity(PENDING) };
        write(&mut hasher);
        count(1, 0);
        hasher.sha.update(&hasher.pending);
        Self(hasher.sha.finalize().into())
    }

    /// Writes the spelling to `out`.
    pub(crate) fn write_to(&self, out: &mut impl Sink) {
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        out.put(PREFIX.as_bytes());
        out.put(&digits);
    }

    /// Returns the 64 digits without the prefix.
    pub(crate) fn hex(&self) -> String {
        self.to_string()[PREFIX.len()..].to_owned()
    }

    /// Returns the first twelve digits, for display. They are never parsed again.
    pub fn short(&self) -> String {
        self.hex()[..12].to_owned()
    }
}

/// A destination of canonical bytes: a buffer, a hash, or a comparison with existing bytes. The
/// maps of a checkpoint are megabytes in small pieces, which no caller needs in one place.
pub trait Sink {
    /// Appends the next bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// A digest that is being computed.
pub struct Hasher {
    sha: Sha256,
    /// Small pieces that are not hashed yet, because each call of the hash function has a cost.
    pending: Vec<u8>,
}

const PENDING: usize = 16 << 10;

impl Sink for Hasher {
    fn put(&mut self, bytes: &[u8]) {
        count(0, bytes.len());
        if self.pending.len() + bytes.len() > PENDING {
            self.sha.update(&self.pending);
            self.pending.clear();
        }
        if bytes.len() > PENDING {
            self.sha.update(bytes);
        } else {
            self.pending.extend_from_slice(bytes);
        }
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
        let mut all = 0;
        for (byte, pair) in digest.iter_mut().zip(hex.chunks_exact(2)) {
            let (high, low) = (VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]);
            all |= high | low;
            *byte = high << 4 | low;
        }
        // Digits have values below 16; a byte that is not a digit sets higher bits.
        if all < 16 { Ok(Self(digest)) } else { Err(DigestError::Malformed) }
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
        for size in [1, 5, PENDING - 1, PENDING, PENDING + 1, 3 * PENDING] {
            let text = vec![b'x'; 5 * PENDING];
            let pieces = Digest::of_written(|out| text.chunks(size).for_each(|c| out.put(c)));
            assert_eq!(pieces, Digest::of(&text), "{size}");
        }
        assert_eq!(
            empty.to_uppercase().parse::<Digest>().unwrap_err().to_string(),
            "expected `sha256:`, but found `SHA256`"
        );
        for text in [&empty[..70], &format!("{empty}0"), &empty.replace('e', "E")] {
            assert_eq!(text.parse::<Digest>(), Err(DigestError::Malformed));
        }
        assert!("sha512:00".parse::<Digest>().is_err());
        // One digit of a pair is invalid, then both.
        for pair in ["g3", "eg", "gg", "\u{e9}"] {
            let text = empty.replacen("e3", pair, 1);
            assert_eq!(text.parse::<Digest>(), Err(DigestError::Malformed), "{pair}");
        }
    }

    #[test]
    fn pieces_of_all_lengths_are_hashed_in_their_order() {
        let text: Vec<u8> = (0..5 * PENDING).map(|n| u8::try_from(n % 251).unwrap()).collect();
        for sizes in [[1, PENDING + 1, 5], [5, PENDING - 5, 1], [PENDING, PENDING, PENDING - 1]] {
            let (mut rest, mut sizes) = (&text[..], sizes.iter().cycle());
            let digest = Digest::of_written(|out| {
                while !rest.is_empty() {
                    let size = sizes.next().copied().unwrap().min(rest.len());
                    out.put(&rest[..size]);
                    rest = &rest[size..];
                }
            });
            assert_eq!(digest, Digest::of(&text));
        }
    }

    #[test]
    fn a_digest_is_its_bytes_and_is_shown_short() {
        let digest = Digest::of(b"");
        assert_eq!(Digest::from_bytes(*digest.bytes()), digest);
        assert_eq!((digest.bytes()[0], digest.bytes()[31]), (0xe3, 0x55));
        assert_eq!(digest.short(), "e3b0c44298fc");
        assert_eq!(format!("{digest:?}"), digest.to_string());
    }
}
