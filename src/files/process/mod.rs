//! Programs that the user names, never a vault: how the user's own configuration names them, and
//! the only code of the library that runs one. No program is run through a shell.
//!
//! [`configured`] checks the rules for a program, and [`run`] runs it within a limit of time
//! and size.

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) mod configured;
pub(crate) mod run;

pub(crate) use run::Failed;

/// Time that a program may take, unless the user sets another.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of bytes of an answer to [`Program::ask`].
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// A program that the user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// File and arguments, which no shell interprets.
    pub(crate) argv: Vec<String>,
    /// Maximum time that the program may take.
    pub(crate) timeout: Duration,
}

impl Program {
    /// Runs the program with a question on its standard input; returns its answer.
    ///
    /// # Errors
    /// The program could not be started, failed, took too long, or printed too much.
    pub(crate) fn ask(&self, question: &[u8]) -> Result<Vec<u8>, Failed> {
        let limits = run::Limits { time: self.timeout, bytes: MAX_ANSWER_BYTES };
        run::run(&self.argv, question, limits, None)
    }

    /// Runs the program with a message on its standard input, and drops the answer.
    ///
    /// # Errors
    /// The reason as a sentence; see [`Program::ask`].
    pub(crate) fn tell(&self, message: &[u8]) -> Result<(), String> {
        let told = self.ask(message);
        told.map(|_| ()).map_err(|failed| failed.sentence())
    }
}

/// Runs a program within a limit of time and output size; `env` has all of its variables.
///
/// # Errors
/// The errors of [`Program::ask`], with the output up to the failure.
#[cfg(feature = "mcp")]
pub(crate) fn answer(
    argv: &[String],
    input: &[u8],
    (time, bytes): (Duration, u64),
    env: &BTreeMap<String, String>,
) -> Result<Vec<u8>, Failed> {
    run::run(argv, input, run::Limits { time, bytes }, Some(env))
}

/// A program that fetches the data of a source of a server (`spec/source.md`, section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetcher {
    /// Program to run.
    pub(crate) program: Program,
    /// Maximum number of bytes of its output.
    pub(crate) max_bytes: u64,
    /// Names of variables that it receives in addition to those of every fetcher.
    pub(crate) env: Vec<String>,
}

/// Variables that every fetcher receives.
const PASSED: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];

impl Fetcher {
    /// Runs the program with a call on its standard input and the allowed variables of `vars`;
    /// returns its output.
    ///
    /// # Errors
    /// The errors of [`Program::ask`], with the output up to the failure.
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
