//! `cargo bench --bench durability`: the cost of a durable publication compared with its bare cost
//! on the same disk, and the cost of a single writer at a time.
//!
//! The floor of a publication is its own changes of the disk, recorded in an equal vault and
//! repeated by nothing but their system calls (`floor`). Publications run in this process, on the
//! library, and take turns with their floor; those of several writers are processes of `ctx`. The
//! result is Markdown on stdout, as in `docs/benchmarks.md`.
//!
//! ```text
//! cargo bench --bench durability -- [--sizes 1000] [--dir DIR] [--quick]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "../changes.rs"]
mod changes;
#[path = "../corpus.rs"]
mod corpus;
mod floor;
mod place;
#[path = "../process.rs"]
mod process;
mod publications;
mod turns;

use std::time::Duration;

use process::{Options, Result};

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1), &[1_000])?;
    let tables = options.in_folder(|options| -> Result<String> {
        let mut out = String::new();
        publications::measure(options, &mut out)?;
        out.push('\n');
        turns::writers(options, &mut out)?;
        out.push('\n');
        turns::hand_over(options, &mut out)?;
        Ok(out)
    })?;
    print!("{}", tables?);
    Ok(())
}

/// Returns the number of documents of a large event; in a smoke test, more than are synced one
/// by one.
pub(crate) fn documents(options: &Options) -> usize {
    if options.events == 1 { 17 } else { options.sizes[0] }
}

/// Formats a duration in milliseconds, with two decimals.
pub(crate) fn fine(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
