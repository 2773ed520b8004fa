//! The `ctx` binary: runs the library with the arguments, environment and streams of the process.

use std::io::IsTerminal as _;
use std::num::NonZero;
use std::process::ExitCode;

use contextnest::front::cli::{Streams, World, run};
use contextnest::workspace::Environment;

#[allow(clippy::disallowed_methods, reason = "the one place where the clock is read")]
fn clock() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Limits the threads of a command to the number of cores, whatever `RAYON_NUM_THREADS` is.
///
/// More threads would not make a command faster, and the system may refuse to create them.
fn limit_threads(world: &World) {
    let asked =
        world.environment.vars.get("RAYON_NUM_THREADS").and_then(|n| n.parse::<usize>().ok());
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    if asked.is_some_and(|asked| asked > cores) {
        let limited = rayon::ThreadPoolBuilder::new().num_threads(cores).build_global();
        limited.expect("the global thread pool is built only here");
    }
}

fn main() -> ExitCode {
    let cwd = std::env::current_dir().unwrap_or_default();
    let mut environment = Environment::new(cwd, clock);
    for (name, value) in std::env::vars_os() {
        let Ok(name) = name.into_string() else { continue };
        match value.into_string() {
            Ok(value) => drop(environment.vars.insert(name, value)),
            Err(_) => drop(environment.unreadable_vars.insert(name)),
        }
    }
    let world = World {
        environment,
        input_terminal: std::io::stdin().is_terminal(),
        terminal: std::io::stdout().is_terminal(),
        error_terminal: std::io::stderr().is_terminal(),
    };
    limit_threads(&world);
    let streams = Streams {
        stdin: &mut std::io::stdin(),
        stdout: &mut std::io::stdout(),
        stderr: &mut std::io::stderr(),
    };
    ExitCode::from(run(std::env::args_os().collect(), &world, streams))
}
