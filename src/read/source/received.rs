//! A received result: hashed in pieces, and kept only if it is to be staged (SRC-9).

use std::io::{self, Read};

use crate::values::model::digest::{Digest, Sink as _};

/// Maximum size of a result in bytes.
pub(crate) const MAX_RESULT: u64 = 64 << 20;
/// Number of bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// A received result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// Number of bytes.
    pub(crate) bytes: u64,
    /// SHA-256 of the bytes.
    pub(crate) hash: Digest,
    /// The bytes, if they are kept.
    pub(crate) content: Option<Vec<u8>>,
}

/// Reason why a result cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReceiveError {
    /// The result cannot be read.
    #[error("cannot read the result: {0}")]
    Io(#[from] io::Error),
    /// The result exceeds [`MAX_RESULT`].
    #[error("the result has more than {} MiB", MAX_RESULT >> 20)]
    TooLong,
}

impl Received {
    /// Makes a result of bytes that were already received.
    pub(crate) fn of(content: Vec<u8>) -> Self {
        let (bytes, hash) = (content.len() as u64, Digest::of(&content));
        Self { bytes, hash, content: Some(content) }
    }

    /// Reads a result to its end. Unless it is to be kept, little of it is in memory.
    ///
    /// # Errors
    /// Returns a [`ReceiveError`] if the result cannot be used.
    pub(crate) fn read(from: &mut dyn Read, is_kept: bool) -> Result<Self, ReceiveError> {
        let (mut bytes, mut chunk) = (0_u64, vec![0; CHUNK]);
        let (mut content, mut failed) = (is_kept.then(Vec::new), None);
        let hash = Digest::of_written(|hasher| {
            loop {
                match from.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(read) => {
                        hasher.put(&chunk[..read]);
                        bytes += read as u64;
                        if bytes > MAX_RESULT {
                            failed = Some(ReceiveError::TooLong);
                            break;
                        }
                        content.iter_mut().for_each(|kept| kept.extend_from_slice(&chunk[..read]));
                    }
                    Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                    Err(why) => {
                        failed = Some(why.into());
                        break;
                    }
                }
            }
        });
        failed.map_or(Ok(Self { bytes, hash, content }), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn received_result_is_hashed_and_kept_on_demand() {
        let text = b"\0\xff{\"a\":1,\"a\":2}".repeat(CHUNK / 7);
        let received = Received::read(&mut text.as_slice(), false).unwrap();
        assert_eq!((received.bytes, received.hash), (text.len() as u64, Digest::of(&text)));
        assert_eq!(received.content, None);
        let kept = Received::read(&mut text.as_slice(), true).unwrap();
        assert_eq!(kept, Received::of(text));
        let empty = Received::read(&mut io::empty(), true).unwrap();
        assert_eq!(empty, Received::of(Vec::new()));
    }

    #[test]
    fn received_result_has_a_maximum_size() {
        let most = Received::read(&mut io::repeat(7).take(MAX_RESULT), false).unwrap();
        assert_eq!(most.bytes, MAX_RESULT);
        let more = Received::read(&mut io::repeat(7), false);
        assert!(matches!(more, Err(ReceiveError::TooLong)));
    }
}
