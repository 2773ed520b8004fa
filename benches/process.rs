//! What the benches share: processes of `ctx`, and Markdown tables.

// Each target that includes this file uses a part of it.
#![allow(dead_code, unreachable_pub)]

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The binary that is measured.
pub const CTX: &str = env!("CARGO_BIN_EXE_ctx");

/// A command in a vault, as the principal of the benches.
pub fn command(root: &Path, args: &[impl AsRef<str>]) -> Command {
    let mut command = Command::new(CTX);
    command.current_dir(root).args(args.iter().map(AsRef::as_ref)).stdin(Stdio::null());
    command.env("CTX_PRINCIPAL", "bench@example.com");
    command
}

/// Runs a command and gives its standard output; anything but success is an error with what it said.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    Err(format!("ctx {}: {}\n{said}", args.join(" "), output.status).into())
}

/// Runs `ctx` in a vault; anything but success ends the bench with what it said.
pub fn ctx(root: &Path, args: &[&str]) -> Result<()> {
    output(&mut command(root, args)).map(drop)
}

pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Writes a duration in milliseconds.
pub fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Adds the head of a table, whose titles `|` parts, with figures flush right.
pub fn head(table: &mut String, titles: &str) {
    let titles: Vec<String> = titles.split('|').map(|title| title.trim().to_owned()).collect();
    row(table, &titles);
    row(table, &titles.iter().map(|_| "--:".to_owned()).collect::<Vec<_>>());
}

/// Adds a row to a table.
pub fn row(table: &mut String, cells: &[String]) {
    *table += &format!("| {} |\n", cells.join(" | "));
}
