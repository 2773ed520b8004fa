//! The pre-images (HIST-10, HIST-11, CKPT-9, CKPT-10), written by hand.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

const GENESIS: &str = "contextnest:genesis:v1";

/// Returns a hash in its spelling.
pub(in crate::e3) fn sha(bytes: &[u8]) -> String {
    let digits = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("sha256:{digits}")
}

/// Returns the normal form of a text (DOC-6).
pub(in crate::e3) fn normalised(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Returns the hash of a stored text or diff.
pub(in crate::e3) fn content(text: &str) -> String {
    sha(normalised(text).as_bytes())
}

/// Returns the hash that binds an entry to the one before.
pub(in crate::e3) fn chain(
    before: Option<&str>,
    content: &str,
    version: u64,
    by: &str,
    at: &str,
) -> String {
    let before = before.unwrap_or(GENESIS);
    sha(format!("{before}:{content}:{version}:{by}:{at}").as_bytes())
}

/// Returns the hash of a checkpoint.
pub(in crate::e3) fn checkpoint(
    before: Option<&str>,
    number: u64,
    at: &str,
    trigger: &str,
    versions: &BTreeMap<String, u64>,
    hashes: &BTreeMap<String, String>,
) -> String {
    let before = before.unwrap_or(GENESIS);
    let (versions, hashes) = (jcs(versions), jcs(hashes));
    sha(format!("{before}:{number}:{at}:{trigger}:{versions}:{hashes}").as_bytes())
}

/// Returns the canonical form of RFC 8785.
pub(in crate::e3) fn jcs(value: &impl serde::Serialize) -> String {
    serde_jcs::to_string(value).expect("maps of texts and numbers have a JCS form")
}

/// Returns the `checksum` of a document's text: of everything after the frontmatter's closing line.
pub(in crate::e3) fn checksum(text: &str) -> Option<String> {
    let (_, behind) = text.strip_prefix("---\n")?.split_once("\n---")?;
    Some(sha(behind.as_bytes()))
}
