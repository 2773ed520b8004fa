//! The `ctx` binary: hands the outside world to the library and gives back an exit code.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use contextnest::cli::{Streams, World, run};

#[allow(clippy::disallowed_methods, reason = "the one place where the clock is read")]
fn clock() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Runs git for what it can say by itself: no questions, no locks, nothing fetched.
fn git(folder: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let mut git = Command::new("git");
    git.args(args).current_dir(folder).stdin(Stdio::null());
    git.envs([
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
    ]);
    let output = git.output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn main() -> ExitCode {
    let world = World {
        cwd: std::env::current_dir().unwrap_or_default(),
        vars: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        clock,
        git,
        terminal: std::io::stdout().is_terminal(),
        error_terminal: std::io::stderr().is_terminal(),
    };
    let streams = Streams {
        stdin: &mut std::io::stdin(),
        stdout: &mut std::io::stdout(),
        stderr: &mut std::io::stderr(),
    };
    ExitCode::from(run(std::env::args_os().collect(), &world, streams))
}
