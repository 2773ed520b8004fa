//! The output of an agent (AUDIT-12).

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use crate::values::model::digest::{Digest, Sink as _};

/// Number of bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// The hash of an agent's output. The bytes themselves are not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Produced {
    /// Number of bytes of the output.
    pub bytes: u64,
    /// The SHA-256 of the bytes.
    pub sha256: String,
    /// The model that made the output, as the user named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Produced {
    /// Reads an output to its end and hashes it, in bounded memory.
    ///
    /// # Errors
    /// Fails if the output cannot be read.
    pub(crate) fn read(from: &mut dyn Read, model: Option<String>) -> io::Result<Self> {
        let (mut bytes, mut chunk, mut failed) = (0_u64, vec![0; CHUNK], None);
        let digest = Digest::of_written(|hasher| {
            loop {
                match from.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(read) => {
                        hasher.put(&chunk[..read]);
                        bytes += read as u64;
                    }
                    Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                    Err(why) => {
                        failed = Some(why);
                        break;
                    }
                }
            }
        });
        match failed {
            Some(why) => Err(why),
            None => Ok(Self { bytes, sha256: digest.to_string(), model }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn produced_hashes_an_output_in_pieces() {
        let text = "é".repeat(CHUNK);
        let produced = Produced::read(&mut text.as_bytes(), None).unwrap();
        assert_eq!(produced.bytes, text.len() as u64);
        assert_eq!(produced.sha256, Digest::of(text.as_bytes()).to_string());
        let empty = Produced::read(&mut io::empty(), None).unwrap();
        assert_eq!((empty.bytes, empty.sha256), (0, Digest::of(b"").to_string()));
    }
}
