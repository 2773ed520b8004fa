//! A vault as every front end opens it: found or named, with the clock, the principal and the
//! user's own folders, and with the grammar of arguments.
//!
//! - `open` finds the vault, and `identity` the principal and the time.
//! - `argument` reads texts, types and tags; `name` ids and URIs, `places` folders, `ask`
//!   selectors, `lines` lines, `moment` checkpoints, `version` the texts of versions.
//! - `head` reads trusted heads, `revision` the log at a git revision, and `git_index` the vault
//!   that git would commit. `proposal` judges what a commit or a push changes, `push` finds
//!   what a push is compared with, and `hooks` installs the hooks that ask for it.
//! - `call` answers the questions of front ends. `recording` collects what a command hands out,
//!   `elsewhere` finds access logs of other paths, and `answer` hands texts to a program that uses
//!   the library.
//! - `changes` records changes without a checkpoint. `retention` and `holds` decide how long lines
//!   are kept.
//! - `staging` has the results of sources, and decides who sees them.
//! - `stewards` reads and assigns stewards, `submission` reads a submission for its reviewer, and
//!   `notify` reports submissions and decisions to a program of the user.
//! - `place` finds a vault in its repository, `cloned` warns of files that a clone lacks,
//!   `respaced` names the command that restores texts from git, and `discarded` detects that git
//!   replaced a log.
//! - `formatters` keeps other programs out of histories. `init` makes a vault, `create` a pack, and
//!   `demo` the changes of the example vault.

mod answer;
pub(crate) mod argument;
pub(crate) mod ask;
pub(crate) mod bundle;
pub(crate) mod call;
pub(crate) mod changes;
pub(crate) mod ci;
mod cloned;
mod copies;
pub(crate) mod create;
pub(crate) mod demo;
mod discarded;
pub(crate) mod elsewhere;
pub(crate) mod formatters;
pub(crate) mod former;
pub mod git;
pub(crate) mod git_index;
pub mod git_settings;
pub(crate) mod governance_mode;
pub(crate) mod head;
mod holds;
pub(crate) mod hooks;
mod identity;
pub(crate) mod init;
mod knowledge;
pub(crate) mod lines;
pub(crate) mod merging;
pub(crate) mod moment;
pub(crate) mod name;
pub(crate) mod notify;
mod open;
mod place;
pub(crate) mod places;
pub(crate) mod proposal;
pub(crate) mod push;
pub(crate) mod recording;
mod respaced;
pub(crate) mod retention;
pub(crate) mod revision;
pub(crate) mod search;
mod sight;
pub(crate) mod skill;
pub(crate) mod source;
pub(crate) mod staging;
pub(crate) mod stewards;
pub(crate) mod submission;
pub(crate) mod traces;
mod unknown;
pub(crate) mod validate;
pub(crate) mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

pub use answer::Answer;
use recording::Recording;

use crate::files::vault::disk::Disk;
use crate::files::vault::outside;
use crate::read::snapshot::CheckpointSource;
#[doc(inline)]
pub use crate::read::snapshot::{Resolution, Served, Withheld};
use crate::service::report::failure::{Code, Failure};
use crate::values::model::number::CheckpointNumber;

/// Everything outside of the process that an operation may depend on.
pub struct Environment {
    /// The current folder.
    pub cwd: PathBuf,
    /// The environment variables.
    pub vars: BTreeMap<String, String>,
    /// The names of the environment variables that are not UTF-8.
    pub unreadable_vars: BTreeSet<String>,
    /// The clock, in milliseconds since 1970.
    pub clock: fn() -> i64,
    /// The function that waits.
    pub sleep: fn(Duration),
    /// Returns 16 random bytes, for ids that are unique among processes.
    pub random: fn() -> [u8; 16],
    /// True if accesses are recorded, which only the tour of the demo turns off.
    pub is_recorded: bool,
    /// Runs git in a folder with arguments and input.
    pub git: git::Git,
    /// The email addresses that git is configured with, by folder, so that a server asks git once
    /// for each.
    pub emails: git::Emails,
    /// The disk that is written to.
    pub disk: Disk,
}

impl Environment {
    /// Returns an environment without variables, with the `git` and the random numbers of the
    /// machine and an ordinary disk. `clock` returns milliseconds since 1970.
    pub fn new(cwd: PathBuf, clock: fn() -> i64) -> Self {
        let (vars, disk) = (BTreeMap::new(), Disk::default());
        let unreadable_vars = BTreeSet::new();
        let random = outside::random;
        let sleep = std::thread::sleep;
        let git = git::ask;
        let (emails, is_recorded) = (git::Emails::default(), true);
        Self { cwd, vars, unreadable_vars, clock, sleep, random, is_recorded, git, emails, disk }
    }

    /// Copies the environment for another command.
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            cwd: self.cwd.clone(),
            vars: self.vars.clone(),
            unreadable_vars: self.unreadable_vars.clone(),
            clock: self.clock,
            sleep: self.sleep,
            random: self.random,
            is_recorded: self.is_recorded,
            git: self.git,
            emails: self.emails.clone(),
            disk: self.disk.clone(),
        }
    }

    /// Refuses a variable `CTX_…` that is not UTF-8, because it would be ignored.
    ///
    /// # Errors
    /// There is such a variable.
    pub(crate) fn check_vars(&self) -> Result<(), Failure> {
        match self.unreadable_vars.iter().find(|name| name.starts_with("CTX_")) {
            Some(name) => Err(Failure::new(Code::Usage, format!("`{name}` is not UTF-8"))
                .hint("set it to a text in UTF-8, or do not set it")),
            None => Ok(()),
        }
    }

    /// Returns the value of a variable; `None` if it is not set or empty.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Settings of the user for every operation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The vault's folder, instead of the nearest vault above the current folder.
    pub vault: Option<PathBuf>,
    /// The name of the principal who acts.
    pub principal: Option<String>,
    /// True if a bearer token named the principal.
    pub is_authenticated: bool,
    /// True if the vault is served to others, for whom unpublished documents do not exist.
    pub is_served: bool,
    /// True if the client may be on another machine, and must not see paths of this one.
    pub is_remote: bool,
    /// Seconds to wait for the write lock.
    pub lock_timeout: Option<u64>,
    /// The time, instead of the clock.
    pub now: Option<String>,
    /// The labels of the caller, as the user gave them.
    pub labels: recording::GivenLabels,
    /// The command, as the logs record it.
    pub command: recording::Command,
}

impl Options {
    /// Returns the name of the principal who acts, and its source.
    pub(crate) fn named(&self) -> Option<(&str, &'static str)> {
        let source = if self.is_authenticated { "token" } else { "option" };
        Some((self.principal.as_deref()?, source))
    }
}

/// A vault's folder and the principal who acts on it, with the environment.
pub struct Workspace<'e> {
    /// The environment of the process.
    pub environment: &'e Environment,
    /// The settings of the user.
    pub options: Options,
}

impl Workspace<'_> {
    /// Returns the documents that a selector or a `contextnest://` URI selects at checkpoint `at`,
    /// or at the last one, with verified texts, in deterministic order (paper, Definition 1.4).
    ///
    /// The texts are in an [`Answer`], which hands them out when the access is recorded.
    ///
    /// # Errors
    ///
    /// The vault does not exist, the selector is malformed, or the log cannot be read. A document
    /// that the chain does not vouch for is not an error, but listed in [`Resolution::withheld`].
    pub fn resolve(
        &self,
        selector: &str,
        at: Option<CheckpointNumber>,
    ) -> Result<Answer<'_>, Failure> {
        let vault = self.vault()?;
        let source = CheckpointSource::open(&vault, ask::Asked::need(selector), &mut |_, _| ())?;
        let mut recording = Recording::begin();
        recording.is_of(&vault);
        recording.reads(&vault, &source);
        let query = ask::Query { text: selector, at, whole: false, staged: false };
        let mut asked = ask::Asked::new(self, (&vault, &source), query, &|_| ())?;
        recording.class = Some(asked.plan.class());
        recording.query = Some(asked.selector.to_string());
        let resolution = asked.resolve(&vault)?;
        let mut warnings = asked.notes(&resolution)?;
        warnings.extend(
            source
                .check_head(&vault)
                .err()
                .map(|why| format!("the log may be truncated or replaced: {why}")),
        );
        let mut options = self.options.clone();
        if options.command.verb.is_empty() {
            "resolve".clone_into(&mut options.command.verb);
        }
        let workspace = Workspace { environment: self.environment, options };
        Answer::new(workspace, recording, resolution, warnings)
    }
}
