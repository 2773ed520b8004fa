//! Programs that the user names, never a vault: how the user's own configuration names them, and the
//! one place of the library that runs one. None goes through a shell.
//!
//! [`configured`] holds a program to the rules, and [`run`] runs it within a time and a size.

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) mod configured;
pub(crate) mod run;

pub(crate) use run::Failed;

/// How long a program may take unless the user says otherwise.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of an answer to a question of ours.
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// A program that the user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The file and its arguments; no shell reads them.
    pub(crate) argv: Vec<String>,
    /// How long it may take.
    pub(crate) timeout: Duration,
}

impl Program {
    /// Runs the program with a question on its input; gives its answer.
    ///
    /// # Errors
    /// It could not be started, failed, took too long, or said too much.
    pub(crate) fn ask(&self, question: &[u8]) -> Result<Vec<u8>, Failed> {
        let limits = run::Limits { time: self.timeout, bytes: MAX_ANSWER_BYTES };
        run::run(&self.argv, question, limits, None)
    }

    /// The same with a message; the answer is dropped.
    ///
    /// # Errors
    /// As [`Program::ask`].
    pub(crate) fn tell(&self, message: &[u8]) -> Result<(), String> {
        let told = self.ask(message);
        told.map(|_| ()).map_err(|failed| failed.sentence())
    }
}

/// Runs a program within a time and a size of its output; `env` are all of its variables.
///
/// # Errors
/// As [`Program::ask`]; what it printed up to then is in the failure.
#[cfg(feature = "mcp")]
pub(crate) fn answer(
    argv: &[String],
    input: &[u8],
    (time, bytes): (Duration, u64),
    env: &BTreeMap<String, String>,
) -> Result<Vec<u8>, Failed> {
    run::run(argv, input, run::Limits { time, bytes }, Some(env))
}

/// A program that fetches what a source of a server describes (`spec/source.md`, section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetcher {
    /// The program.
    pub(crate) program: Program,
    /// The most bytes of its output.
    pub(crate) max_bytes: u64,
    /// The variables that it gets beside those that every one gets.
    pub(crate) env: Vec<String>,
}

/// Variables that a fetcher gets without being asked for.
const PASSED: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];

impl Fetcher {
    /// Runs the program with what is to be called on its input, and the variables that it may see of
    /// `vars`; gives its output.
    ///
    /// # Errors
    /// As [`Program::ask`]; what it printed up to then is in the failure.
    pub(crate) fn fetch(
        &self,
        call: &[u8],
        vars: &BTreeMap<String, String>,
    ) -> Result<Vec<u8>, Failed> {
        let named = PASSED.into_iter().chain(self.env.iter().map(String::as_str));
        let env = named.filter_map(|name| vars.get_key_value(name));
        let env = env.map(|(name, value)| (name.clone(), value.clone())).collect();
        let limits = run::Limits { time: self.program.timeout, bytes: self.max_bytes };
        run::run(&self.program.argv, call, limits, Some(&env))
    }
}
