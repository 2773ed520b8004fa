//! The file of tokens on disk: JSON that no other user may read or write.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{MOST, MOST_BYTES, PREFIX, Stored, StoredToken, Token, hex, invalid, vault_around};
use crate::files::vault::lock::PATIENCE;
use crate::files::vault::outside;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::principal::Principal;
use crate::values::model::timestamp::Timestamp;

/// One day, in milliseconds.
const DAY: i64 = 86_400_000;
/// A new token with its text, which is stored nowhere.
pub(crate) type Made = (Token, String);

/// Makes a token that is valid for `days` days, and adds it to a file, which is made if it does
/// not exist.
///
/// # Errors
/// The file cannot be read or written, others may read it, or it is in a vault.
pub(crate) fn add(
    path: &Path,
    random: fn() -> [u8; 16],
    (principal, label): (Principal, Option<String>),
    (now, days): (Timestamp, i64),
) -> Result<Made, Failure> {
    if let Some(vault) = vault_around(path) {
        let why = format!("would be in the vault `{}`", vault.display());
        return Err(invalid(path, why).hint("keep it outside of every vault"));
    }
    let secret = format!("{PREFIX}{}{}", hex(&random()), hex(&random()));
    let expires_at = Timestamp::from_millis(now.millis().saturating_add(days.saturating_mul(DAY)));
    let mut token = Token::of(&secret, principal, [now, expires_at]);
    token.label = label;
    let _locked = locked(path)?;
    let mut tokens = match read(path) {
        Err(Unread::NotThere) => Vec::new(),
        read => read.map_err(|why| why.failure(path))?,
    };
    if tokens.len() >= MOST {
        let why = format!("has {MOST} tokens already, the maximum");
        return Err(invalid(path, why).hint("revoke unused tokens"));
    }
    tokens.push(token.clone());
    write(path, &tokens)?;
    Ok((token, secret))
}

/// Returns the tokens of a file, in the order in which they were added.
///
/// # Errors
/// The file cannot be read, or others may read it.
pub(crate) fn list(path: &Path) -> Result<Vec<Token>, Failure> {
    read(path).map_err(|why| why.failure(path))
}

/// Removes a token from a file, and returns it.
///
/// # Errors
/// The file does not contain this id, or cannot be read or written.
pub(crate) fn revoke(path: &Path, id: &str) -> Result<Token, Failure> {
    let _locked = locked(path)?;
    let mut tokens = list(path)?;
    let Some(place) = tokens.iter().position(|token| token.id == id) else {
        let message = format!("`{}` contains no token with the id `{id}`", path.display());
        return Err(Failure::new(Code::UnknownToken, message)
            .hint("`ctx mcp token list --tokens FILE` lists the ids of tokens"));
    };
    let token = tokens.remove(place);
    write(path, &tokens)?;
    Ok(token)
}

/// The reason not to read a file of tokens.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Unread {
    /// The file does not exist.
    #[error("does not exist")]
    NotThere,
    /// Other users may read or change the file.
    #[error("{0}")]
    Open(String),
    /// This program did not write the file.
    #[error("is invalid: {0}")]
    Invalid(String),
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(String),
}

impl Unread {
    pub(super) fn failure(&self, path: &Path) -> Failure {
        let failure = invalid(path, self);
        match self {
            Self::NotThere => {
                failure.hint("`ctx mcp token add PRINCIPAL --tokens FILE` makes it, with a token")
            }
            Self::Open(_) => failure.hint("give it to the user of the server, with mode 600"),
            Self::Invalid(_) | Self::Io(_) => failure,
        }
    }
}

/// Reads the tokens of a file.
pub(super) fn read(path: &Path) -> Result<Vec<Token>, Unread> {
    // A pipe in place of the file must not block the reader.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|why| match why {
        Errno::NOENT => Unread::NotThere,
        why => Unread::Io(why.to_string()),
    })?;
    let file = File::from(file);
    let about = file.metadata().map_err(|why| Unread::Io(why.to_string()))?;
    check(&about).map_err(Unread::Open)?;
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|why| Unread::Io(why.to_string()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Unread::Invalid(format!("it has more than {MOST_BYTES} bytes")));
    }
    let Stored { version, tokens } =
        serde_json::from_str(&text).map_err(|why| Unread::Invalid(why.to_string()))?;
    if version != 1 {
        return Err(Unread::Invalid(format!("its version is {version}, but this program reads 1")));
    }
    if tokens.len() > MOST {
        return Err(Unread::Invalid(format!("it has more than {MOST} tokens")));
    }
    let tokens: Vec<Token> =
        tokens.into_iter().map(Token::read).collect::<Result<_, _>>().map_err(Unread::Invalid)?;
    // With two equal hashes, the principal would depend on their order.
    let mut hashes: Vec<[u8; 32]> = tokens.iter().map(|token| token.hash).collect();
    hashes.sort_unstable();
    match hashes.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(Unread::Invalid("two tokens have the same hash".to_owned())),
        false => Ok(tokens),
    }
}

/// Checks that only its user and the members of its group may read a file, and only its user may
/// write it.
fn check(about: &Metadata) -> Result<(), String> {
    let user = rustix::process::geteuid().as_raw();
    let mode = about.permissions().mode() & 0o777;
    if !about.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if mode & 0o027 != 0 {
        return Err(format!("may be read or changed by others (mode {mode:o})"));
    }
    if about.uid() != user && about.uid() != 0 {
        return Err("belongs to another user".to_owned());
    }
    Ok(())
}

/// Replaces a file; a reader sees either the old or the new one.
fn write(path: &Path, tokens: &[Token]) -> Result<(), Failure> {
    let stored = Stored {
        version: 1,
        tokens: tokens.iter().map(Token::stored).collect::<Vec<StoredToken>>(),
    };
    let mut text = serde_json::to_string_pretty(&stored).unwrap_or_default();
    text.push('\n');
    let failed = |why: std::io::Error| {
        Failure::new(Code::Io, format!("cannot write `{}`: {why}", path.display()))
    };
    // A link stays a link.
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let old = place.metadata().ok();
    // A new file is readable for its user only.
    let mask = if old.is_some() { 0o740 } else { 0o600 };
    let whole = outside::whole(&place, text.as_bytes(), (old.as_ref(), mask));
    whole.and_then(outside::Whole::put).map_err(failed)
}

/// Locks the folder of a file against other writers, until the result is dropped.
fn locked(path: &Path) -> Result<File, Failure> {
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = outside::folder_above(&place);
    outside::take_turn_at(folder, PATIENCE).map_err(|why| {
        Failure::new(Code::Io, format!("cannot lock the folder `{}`: {why}", folder.display()))
    })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests write a file of tokens, and no vault")]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    fn principal(name: &str) -> (Principal, Option<String>) {
        (name.parse().unwrap(), None)
    }

    fn random() -> [u8; 16] {
        let mut bytes = [0; 16];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).unwrap();
        bytes
    }

    const NOW: i64 = 1_795_000_000_000;

    #[test]
    fn a_hash_that_stands_for_two_principals_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.json");
        let now = Timestamp::from_millis(NOW);
        let (ana, _) = add(&path, random, principal("ana"), (now, 90)).unwrap();
        let bo = Token { principal: "bo".parse().unwrap(), ..ana.clone() };
        write(&path, &[ana, bo]).unwrap();
        let refused = list(&path).unwrap_err();
        assert_eq!(refused.code, Code::TokensInvalid);
        assert!(refused.message.ends_with("two tokens have the same hash"), "{}", refused.message);
    }

    #[test]
    fn a_token_is_added_listed_and_revoked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.json");
        let now = Timestamp::from_millis(NOW);
        let (ana, secret) = add(&path, random, principal("ana"), (now, 90)).unwrap();
        let (bo, _) = add(&path, random, principal("bo"), (now, 1)).unwrap();
        assert_eq!(secret.len(), PREFIX.len() + 64);
        assert_eq!(list(&path).unwrap(), [ana.clone(), bo.clone()]);
        assert!(!fs::read_to_string(&path).unwrap().contains(&secret));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(bo.is_expired(Timestamp::from_millis(NOW + DAY)) && !bo.is_expired(now));
        assert_eq!(revoke(&path, &ana.id).unwrap(), ana);
        assert_eq!(revoke(&path, &ana.id).unwrap_err().code, Code::UnknownToken);
        assert_eq!(list(&path).unwrap(), [bo]);
    }

    #[test]
    fn a_file_that_others_may_read_or_that_is_none_of_ours_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.json");
        let refused = |why: &str| {
            let failure = list(&path).unwrap_err();
            assert_eq!(failure.code, Code::TokensInvalid);
            assert!(failure.message.contains(why), "{}", failure.message);
        };
        refused("does not exist");
        add(&path, random, principal("ana"), (Timestamp::from_millis(NOW), 1)).unwrap();
        for mode in [0o644, 0o604, 0o602, 0o620] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            refused("may be read or changed by others");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(list(&path).unwrap().len(), 1);
        let good = fs::read_to_string(&path).unwrap();
        for bad in [
            String::new(),
            "{}".to_owned(),
            good.replace("\"version\": 1", "\"version\": 2"),
            good.replace("\"ana\"", "\"a:b\""),
            good.replace("\"sha256\": \"", "\"sha256\": \"0"),
            good.replace("\"principal\"", "\"admin\": true, \"principal\""),
        ] {
            fs::write(&path, bad).unwrap();
            refused("is invalid");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        refused("is not a regular file");
    }

    #[test]
    fn a_file_in_a_vault_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".context")).unwrap();
        fs::create_dir(dir.path().join("nodes")).unwrap();
        fs::write(dir.path().join(".context/config.yaml"), "name: x\n").unwrap();
        let path = dir.path().join("nodes/tokens.json");
        let now = Timestamp::from_millis(NOW);
        let failure = add(&path, random, principal("ana"), (now, 1)).unwrap_err();
        assert_eq!(failure.code, Code::TokensInvalid);
    }
}
