//! The principal who acts, and the time.

use std::path::Path;
use std::sync::PoisonError;

use super::Workspace;
use super::git::{Git, GitError};
use crate::files::vault::Vault;
use crate::files::vault::outside;
use crate::service::report::advice::NAME_PRINCIPAL;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::principal::{Principal, PrincipalError};
use crate::values::model::timestamp::Timestamp;
use crate::values::text_util::argument;
use crate::write::publish::Author;

/// The name of a principal, and the source of the name.
type Named = (String, &'static str);

impl Workspace<'_> {
    /// Returns the time: `--now`, `CTX_NOW`, or the clock.
    pub(crate) fn now(&self) -> Result<Timestamp, Failure> {
        let given = self.options.now.as_deref().or_else(|| self.environment.var("CTX_NOW"));
        match given {
            Some(text) => text
                .parse()
                .map_err(|why| Failure::new(Code::Usage, format!("invalid time: {why}"))),
            None => Ok(Timestamp::from_millis((self.environment.clock)())),
        }
    }

    /// Returns the principal who acts, and the source of the name: `--as`, `CTX_PRINCIPAL`, git's
    /// `user.email` in the vault, or else `fallback`.
    pub(crate) fn principal(
        &self,
        root: &Path,
        fallback: Option<&str>,
    ) -> Result<(Principal, &'static str), Failure> {
        let author = || Some((fallback?.to_owned(), "author"));
        match self.who(root)().or_else(author) {
            Some(named) => parsed(named),
            None => {
                Err(Failure::new(Code::NoPrincipal, "no principal configured").hint(NAME_PRINCIPAL))
            }
        }
    }

    /// Returns the same principal without a fallback; `None` if no principal is configured.
    #[cfg(feature = "mcp")]
    pub(crate) fn configured_principal(&self, root: &Path) -> Result<Option<Principal>, Failure> {
        let found = self.who(root)().map(parsed).transpose()?;
        Ok(found.map(|(principal, _)| principal))
    }

    /// Returns the principal of `--as` or `CTX_PRINCIPAL`. A blank variable is not set.
    fn named_principal(&self) -> Option<Named> {
        let option = self.options.named().map(|(name, source)| (name.to_owned(), source));
        let var = || self.environment.var("CTX_PRINCIPAL").filter(|name| !name.trim().is_empty());
        option.or_else(|| Some((var()?.to_owned(), "env")))
    }

    /// Refuses a name of `--as` or `CTX_PRINCIPAL` that cannot be a principal, because accesses
    /// would be recorded without one.
    ///
    /// # Errors
    /// The name is blank or invalid.
    pub(super) fn check_named_principal(&self) -> Result<(), Failure> {
        self.named_principal().map(parsed).transpose().map(drop)
    }

    /// Returns a function that finds the principal who acts on, or reads, the vault in a folder.
    /// Nothing else decides that. Git is asked last, and only when the function is called.
    pub(super) fn who(&self, root: &Path) -> impl Fn() -> Option<Named> + Send + Sync + 'static {
        let said = self.named_principal();
        let (git, root) = (self.environment.git, root.to_owned());
        let emails = self.environment.emails.clone();
        let email = move || {
            let mut emails = emails.lock().unwrap_or_else(PoisonError::into_inner);
            emails.entry(root.clone()).or_insert_with(|| git_email(git, &root)).clone()
        };
        move || said.clone().or_else(|| Some((email()?, "git")))
    }

    /// Returns git's answer if it is one line.
    fn git_line(&self, root: &Path, args: &[&str]) -> Option<String> {
        line_of((self.environment.git)(root, args, b"").ok()?)
    }

    /// Returns the ref, or else the commit, that is checked out in the repository that contains
    /// a folder.
    pub(super) fn checked_out(&self, root: &Path) -> Option<String> {
        let told = outside::checked_out(root)?;
        if !told.ends_with("/.invalid") {
            return Some(told);
        }
        // If a repository keeps its refs in tables (reftable), only git can read them.
        match (self.environment.git)(root, &["symbolic-ref", "--quiet", "HEAD"], b"") {
            // The next question would wait for the same reason.
            Err(GitError::NotRun(_)) => None,
            Err(GitError::Refused(_)) => self.git_line(root, &["rev-parse", "--verify", "HEAD"]),
            Ok(name) => line_of(name),
        }
    }

    /// Returns the author of an event: the principal, the time, and a note.
    pub(crate) fn author(
        &self,
        vault: &Vault,
        note: Option<&str>,
        author: Option<&str>,
    ) -> Result<Author, Failure> {
        let (principal, source) = self.principal(vault.root(), author)?;
        Ok(Author {
            author: author.map(str::to_owned),
            now: self.now()?,
            // A blank note is left out.
            note: note.filter(|note| !note.trim().is_empty()).map(str::to_owned),
            recorder: self.recorder(vault, Some((principal.clone(), source)))?,
            principal,
        })
    }

    /// Returns the text about this command for other commands that wait for the lock.
    pub(crate) fn holder(&self) -> Result<String, Failure> {
        Ok(format!("ctx {}, since {}", self.options.command.verb, self.now()?))
    }
}

fn parsed((name, source): Named) -> Result<(Principal, &'static str), Failure> {
    let parsed = name.parse().map_err(|why: PrincipalError| {
        let failure = Failure::new(Code::NoPrincipal, why.to_string());
        match why.near() {
            Some(near) => failure.hint(format!("pass `--as {}`", argument(near.as_str()))),
            None => failure,
        }
    })?;
    Ok((parsed, source))
}

/// Returns the email address that git is configured with in a folder.
fn git_email(git: Git, root: &Path) -> Option<String> {
    line_of(git(root, &["config", "--get", "user.email"], b"").ok()?)
}

/// Returns the output of a program if it is one line; `None` if it is empty.
fn line_of(bytes: Vec<u8>) -> Option<String> {
    let line = String::from_utf8(bytes).ok()?.trim().to_owned();
    (!line.is_empty()).then_some(line)
}

#[cfg(all(test, feature = "mcp"))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::service::workspace::{Environment, Options};

    static ASKED: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn principal_asks_git_once_per_folder() {
        let environment = Environment {
            git: |folder, _, _| {
                ASKED.fetch_add(1, Ordering::Relaxed);
                Ok(format!("{}@example.com\n", folder.display()).into())
            },
            ..Environment::new("here".into(), || 0)
        };
        let principal = |folder: &str| {
            let environment = environment.duplicate();
            let workspace = Workspace { environment: &environment, options: Options::default() };
            let found = workspace.configured_principal(Path::new(folder));
            found.unwrap().unwrap().to_string()
        };
        let found = ["a", "a", "b", "a"].map(principal);
        assert_eq!(found, ["a", "a", "b", "a"].map(|folder| format!("{folder}@example.com")));
        assert_eq!(ASKED.load(Ordering::Relaxed), 2);
    }
}
