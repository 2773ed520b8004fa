//! The file of bearer tokens: the principal of each token, and its expiry (MCP-11).
//!
//! A token is 256 random bits; the file contains only its SHA-256. `file` reads and replaces the
//! file, `watch` is the state of a server, which reads the file again when it changes.

mod file;
mod watch;

pub(crate) use file::{add, list, revoke};
pub(crate) use watch::{Denied, Tokens};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::service::report::failure::{Code, Failure};
use crate::values::model::principal::Principal;
use crate::values::model::timestamp::Timestamp;

/// First characters of every token, so that scanners for secrets find it.
const PREFIX: &str = "ctx_";
/// Number of hexadecimal digits of the hash in the id of a token.
const ID_DIGITS: usize = 12;
/// Maximum number of tokens in a file.
const MOST: usize = 10_000;
/// Maximum size of a file, in bytes.
const MOST_BYTES: u64 = 8 << 20;
/// Maximum validity, in days.
const MOST_DAYS: i64 = 3_650;

/// The SHA-256 of a token.
type Hash = [u8; 32];

/// The record of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The id: the first digits of the hash.
    pub(crate) id: String,
    /// The principal that the token identifies.
    pub(crate) principal: Principal,
    /// The purpose, as described by its maker.
    pub(crate) label: Option<String>,
    /// Time at which the token was made.
    pub(crate) created_at: Timestamp,
    /// Time from which the token is no longer valid.
    pub(crate) expires_at: Timestamp,
    hash: Hash,
}

/// The file in its stored form.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    tokens: Vec<StoredToken>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct StoredToken {
    sha256: String,
    principal: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    created_at: String,
    expires_at: String,
}

impl Token {
    /// Returns the record of a token of 32 random bytes.
    fn of(secret: &str, principal: Principal, [created_at, expires_at]: [Timestamp; 2]) -> Self {
        let hash = hash_of(secret);
        let id = id_of(&hash);
        Self { id, principal, label: None, created_at, expires_at, hash }
    }

    fn stored(&self) -> StoredToken {
        StoredToken {
            sha256: hex(&self.hash),
            principal: self.principal.as_str().to_owned(),
            label: self.label.clone(),
            created_at: self.created_at.to_string(),
            expires_at: self.expires_at.to_string(),
        }
    }

    fn read(stored: StoredToken) -> Result<Self, String> {
        let StoredToken { sha256, principal, label, created_at, expires_at } = stored;
        let hash = unhex(&sha256).ok_or("`sha256` is not 64 hexadecimal digits")?;
        let time = |name: &str, text: &str| {
            let time = text.parse::<Timestamp>();
            time.map_err(|why| format!("`{name}` of token {} is not a time: {why}", id_of(&hash)))
        };
        let [created_at, expires_at] =
            [time("created_at", &created_at)?, time("expires_at", &expires_at)?];
        let principal = principal.parse::<Principal>();
        let principal =
            principal.map_err(|why| format!("the principal of token {}: {why}", id_of(&hash)))?;
        Ok(Self { id: id_of(&hash), principal, label, created_at, expires_at, hash })
    }

    /// Returns true if the token is no longer valid.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }
}

/// Parses the validity of a token, such as `90d`.
///
/// # Errors
/// The text is not a number of days, or there are too many.
pub(crate) fn days(text: &str) -> Result<i64, Failure> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok());
    days.filter(|days| (1..=MOST_DAYS).contains(days)).ok_or_else(|| {
        let message = format!("`--expires` expects a number of days, but found `{text}`");
        let example = format!("pass days from `1d` to `{MOST_DAYS}d`");
        Failure::new(Code::Usage, message).hint(example)
    })
}

/// Returns the folder of the vault that contains a file, if there is one.
pub(crate) fn vault_around(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
    let of_vault = |folder: &&Path| folder.join(crate::values::model::layout::CONFIG).exists();
    folder.ancestors().find(of_vault).map(Path::to_owned)
}

fn invalid(path: &Path, why: impl std::fmt::Display) -> Failure {
    let path = path.display();
    Failure::new(Code::TokensInvalid, format!("the file of tokens `{path}` {why}"))
}

fn hash_of(secret: &str) -> Hash {
    Sha256::digest(secret.as_bytes()).into()
}

fn id_of(hash: &Hash) -> String {
    let mut id = hex(hash);
    id.truncate(ID_DIGITS);
    id
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Hash> {
    let digits = text.as_bytes();
    let mut hash = [0; 32];
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok().filter(|_| !pair.contains(['+', '-']))?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_and_read() {
        let hash = hash_of("ctx_a");
        assert_eq!(unhex(&hex(&hash)), Some(hash));
        for wrong in ["", "ab", &"g".repeat(64), &"+1".repeat(32), &"é".repeat(32)] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
        assert_eq!(id_of(&hash).len(), ID_DIGITS);
    }

    #[test]
    fn a_validity_is_a_number_of_days() {
        assert_eq!(days("90d").unwrap(), 90);
        for wrong in ["90", "0d", "-1d", "d", "9999999d", "1.5d", "never"] {
            assert_eq!(days(wrong).unwrap_err().code, Code::Usage, "{wrong}");
        }
    }
}
