//! The `ctx` binary: hands the outside world to the library and gives back an exit code.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use contextnest::cli::{Streams, World, git, run};
use contextnest::vault::disk::Disk;

#[allow(clippy::disallowed_methods, reason = "the one place where the clock is read")]
fn clock() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn main() -> ExitCode {
    let world = World {
        cwd: std::env::current_dir().unwrap_or_default(),
        vars: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        clock,
        git: git::ask,
        disk: Disk::default(),
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
