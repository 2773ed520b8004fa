//! A vault as every front end opens it: found or named, with the clock, the principal and the
//! user's own folders, and with the grammar by which arguments name documents, versions and
//! selectors.
//!
//! `open` finds the vault and `identity` says who acts and when. `argument` reads what an argument
//! may name; `name` reads ids and URIs, `places` folders, `ask` selectors, `lines` lines, `moment` checkpoints, `version` the texts of
//! versions, `head` what the user trusted, `revision` the log at a git revision, and `git_index` the
//! vault that git would commit. `elsewhere` finds access logs of
//! other paths. `recording` gathers what a command hands out, `answer` hands texts to
//! a program that uses the library, `changes` what it changed, and `retention` and `holds` say how long that is
//! kept. `staging` is what sources returned, and who sees it. `stewards` reads and assigns stewards, `submission` reads
//! one for its reviewer. `notify` tells a
//! program of the user what was submitted or decided. `place` says where a vault is in its repository, `cloned` warns of what
//! a clone lacks of it, `respaced` names the command that restores texts from git, and `discarded` says what git did to a log. `formatters` keeps other programs out of histories. `init` makes a vault, `create` a document, `demo` the example vault.

mod answer;
pub(crate) mod argument;
pub(crate) mod ask;
pub(crate) mod bundle;
pub(crate) mod call;
pub(crate) mod changes;
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
pub(crate) mod governance_mode;
pub(crate) mod head;
mod holds;
mod identity;
pub(crate) mod init;
mod knowledge;
pub(crate) mod lines;
pub(crate) mod moment;
pub(crate) mod name;
pub(crate) mod notify;
mod open;
mod place;
pub(crate) mod places;
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

/// Everything outside the process that an operation may depend on.
pub struct Environment {
    /// The current folder.
    pub cwd: PathBuf,
    /// The environment variables.
    pub vars: BTreeMap<String, String>,
    /// The names of those variables that are not UTF-8.
    pub unreadable_vars: BTreeSet<String>,
    /// Milliseconds since 1970, from the clock.
    pub clock: fn() -> i64,
    /// Waits.
    pub sleep: fn(Duration),
    /// 16 random bytes, for ids that no two processes have in common.
    pub random: fn() -> [u8; 16],
    /// Whether accesses are recorded, as they are but in the tour of the demo.
    pub is_recorded: bool,
    /// What git prints when it is run in a folder with these arguments and this input.
    pub git: git::Git,
    /// The addresses that git is configured with, by folder: a server asks git once for each.
    pub emails: git::Emails,
    /// The disk that is written to.
    pub disk: Disk,
}

impl Environment {
    /// An environment without variables, with the `git` and the random numbers of the machine and
    /// an ordinary disk. `clock` gives milliseconds since 1970.
    pub fn new(cwd: PathBuf, clock: fn() -> i64) -> Self {
        let (vars, disk) = (BTreeMap::new(), Disk::default());
        let unreadable_vars = BTreeSet::new();
        let random = outside::random;
        let sleep = std::thread::sleep;
        let git = git::ask;
        let (emails, is_recorded) = (git::Emails::default(), true);
        Self { cwd, vars, unreadable_vars, clock, sleep, random, is_recorded, git, emails, disk }
    }

    /// The same environment, for a command of its own.
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

    /// Refuses a variable of ours that cannot be read: it would count as not set.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn check_vars(&self) -> Result<(), Failure> {
        match self.unreadable_vars.iter().find(|name| name.starts_with("CTX_")) {
            Some(name) => Err(Failure::new(Code::Usage, format!("`{name}` is not UTF-8"))
                .hint("set it to a text in UTF-8, or do not set it")),
            None => Ok(()),
        }
    }

    /// A variable that is set and not empty.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// What a user may set for every operation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The vault's folder, instead of the nearest vault above the current folder.
    pub vault: Option<PathBuf>,
    /// Who acts.
    pub principal: Option<String>,
    /// Whether a bearer token said so.
    pub is_authenticated: bool,
    /// Whether it is served to others, to whom what was never published is not there.
    pub is_served: bool,
    /// Whether who asks may be on another machine, and is told no path of this one.
    pub is_remote: bool,
    /// Seconds to wait for the write lock.
    pub lock_timeout: Option<u64>,
    /// The time, instead of the clock.
    pub now: Option<String>,
    /// Who asks, as the user said it.
    pub labels: recording::GivenLabels,
    /// The command, as the logs say it.
    pub command: recording::Command,
}

impl Options {
    /// Who acts, and what said so.
    pub(crate) fn named(&self) -> Option<(&str, &'static str)> {
        let source = if self.is_authenticated { "token" } else { "option" };
        Some((self.principal.as_deref()?, source))
    }
}

/// Where an operation works, and on whose behalf.
pub struct Workspace<'e> {
    /// The outside world.
    pub environment: &'e Environment,
    /// What the user set.
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
    /// There is no vault, the selector is malformed, or the log cannot be read. A document that the
    /// chain does not vouch for is no error: it is listed in [`Resolution::withheld`].
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
