//! The tokens that a server accepts. The file is read again when it changes, so that a token is
//! revoked without a restart; while it cannot be read, no token is valid.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::file::{Unread, read};
use super::{Hash, PREFIX, Token, hash_of};
use crate::files::vault::files::Stamp;
use crate::service::report::failure::Failure;
use crate::values::model::timestamp::Timestamp;

/// A file that changed within this time before it was read may have changed after it, too: the
/// clock of a file system has steps.
const STEP: Duration = Duration::from_secs(2);

/// The tokens of a file in its current state.
#[derive(Debug)]
pub(crate) struct Tokens {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    /// Identity of the file that was read; `None` if it may have changed since.
    stamp: Option<Stamp>,
    /// The tokens by their hashes: the time of a lookup reveals nothing about the text of a token.
    tokens: Result<HashMap<Hash, Arc<Token>>, Unread>,
}

/// The reason to reject a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The token is not in the file, or has expired.
    Unknown,
    /// The file cannot be read.
    Unreadable(String),
}

impl Tokens {
    /// Reads the tokens of a file.
    ///
    /// # Errors
    /// The file cannot be read, or others may read it.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        let known = Known::read(path);
        match &known.tokens {
            Err(why) => Err(why.failure(path)),
            Ok(_) => Ok(Self { path: path.to_owned(), known: Mutex::new(known) }),
        }
    }

    /// Returns the token with this text, if it is valid now.
    ///
    /// # Errors
    /// The token is unknown or has expired, or the file cannot be read.
    pub(crate) fn find(&self, secret: &str, now: Timestamp) -> Result<Arc<Token>, Denied> {
        if !secret.starts_with(PREFIX) || secret.len() != PREFIX.len() + 64 {
            return Err(Denied::Unknown);
        }
        self.with_hash(&hash_of(secret), now)
    }

    /// Returns true if a token that was found is still valid.
    pub(crate) fn is_valid(&self, token: &Token, now: Timestamp) -> bool {
        self.with_hash(&token.hash, now).is_ok()
    }

    fn with_hash(&self, hash: &Hash, now: Timestamp) -> Result<Arc<Token>, Denied> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.stamp.is_none() || known.stamp != Stamp::of(&self.path) {
            *known = Known::read(&self.path);
        }
        match &known.tokens {
            Err(why) => Err(Denied::Unreadable(why.to_string())),
            Ok(tokens) => match tokens.get(hash) {
                Some(token) if !token.is_expired(now) => Ok(Arc::clone(token)),
                _ => Err(Denied::Unknown),
            },
        }
    }
}

impl Known {
    fn read(path: &Path) -> Self {
        // If the file changes while it is read, it is read again.
        let stamp = Stamp::of(path).filter(is_settled);
        let tokens = read(path)
            .map(|tokens| tokens.into_iter().map(|token| (token.hash, Arc::new(token))).collect());
        Self { stamp, tokens }
    }
}

/// Returns true if a file has not changed just now.
#[allow(clippy::disallowed_methods, reason = "it is compared with times of the file system")]
fn is_settled(stamp: &Stamp) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let before = now.saturating_sub(STEP);
    let (seconds, nanos) = stamp.touched();
    let parts = (u64::try_from(seconds), u32::try_from(nanos));
    matches!(parts, (Ok(seconds), Ok(nanos)) if Duration::new(seconds, nanos) < before)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::front::http::tokens::{add, revoke};

    #[test]
    fn a_server_sees_each_change_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.json");
        let now = Timestamp::from_millis(1_795_000_000_000);
        let who = |name: &str| (name.parse().unwrap(), None);
        let (ana, secret) = add(&path, || [7; 16], who("ana"), (now, 1)).unwrap();
        let tokens = Tokens::of(&path).unwrap();
        assert_eq!(*tokens.find(&secret, now).unwrap(), ana);
        let late = Timestamp::from_millis(now.millis() + 86_400_000);
        assert_eq!(tokens.find(&secret, late), Err(Denied::Unknown));
        for wrong in ["", "ctx_", &secret[1..], &secret.to_uppercase(), &format!("{secret} ")] {
            assert_eq!(tokens.find(wrong, now), Err(Denied::Unknown));
        }
        let (_, of_bo) = add(&path, || [8; 16], who("bo"), (now, 1)).unwrap();
        assert_eq!(tokens.find(&of_bo, now).unwrap().principal.as_str(), "bo");
        revoke(&path, &ana.id).unwrap();
        assert_eq!(tokens.find(&secret, now), Err(Denied::Unknown));
        assert!(!tokens.is_valid(&ana, now));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(tokens.find(&of_bo, now), Err(Denied::Unreadable(_))));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(tokens.find(&of_bo, now).is_ok());
        fs::remove_file(&path).unwrap();
        assert!(matches!(tokens.find(&of_bo, now), Err(Denied::Unreadable(_))));
    }
}
