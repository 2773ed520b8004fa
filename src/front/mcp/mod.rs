//! The Model Context Protocol: calls of agents, answered with reports as text and as structured
//! content (`spec/mcp.md`). A tool makes the same call as the command with its verb; this module
//! is without rules of the domain and without JSON shapes.
//!
//! `lines` carries messages over standard input and output, `message` parses them, `server` answers
//! them with `rmcp`, and `calls` makes the calls within their `limits`. `tools` has the tools, and
//! `offer` those of a profile; `identity` reads the caller of each request, `consent` asks a human,
//! `answer` is sent and recorded. `resources` are documents by their URIs, and `prompts` what a
//! person picks, whose arguments `completion` completes; `requests` answers requests that are not
//! calls of tools. `watch` notices changes of the logs, `notices` notifies clients of them by
//! their `channel`, and `progress` reports the progress of a call. `http` serves many clients
//! instead of one, `metrics` counts, `vaults` are those that are served, `again` repeats a recorded
//! call, `paths` hides paths of this machine, `doctor` examines servers as clients do, and
//! `spelling` names tools instead of commands.

mod again;
mod answer;
mod calls;
mod channel;
pub(crate) mod clients;
mod completion;
mod consent;
pub(crate) mod doctor;
pub(crate) mod http;
mod identity;
mod limits;
mod lines;
pub(crate) mod message;
mod metrics;
mod notices;
mod offer;
mod paths;
mod progress;
mod prompts;
mod requests;
mod resources;
mod server;
mod shares;
mod spelling;
mod tools;
mod vaults;
mod watch;

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

pub(crate) use again::again;
pub(crate) use clients::{Client, Started};
use offer::Offer;
pub(crate) use offer::{Choice, Profile, schemas};
use server::{Server, World};
pub(crate) use vaults::{Given, Vaults};

use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::{Environment, Options};

/// Answers the messages of one client until its input ends. Labels come neither from `options` nor
/// from the environment (MCP-7). The tools are those of `choice`.
///
/// # Errors
/// The choice names no tool, the output cannot be written, or no thread can be started.
pub(crate) fn serve(
    (environment, options): (Environment, Options),
    (vaults, choice): (Vaults, &Choice),
    input: &mut (dyn Read + Send),
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let world = World { environment, options, vaults, offer: Offer::of(choice)? };
    serve_lines(world, input, output)
        .map_err(|why| Failure::new(Code::Io, format!("cannot write to the client: {why}")))
}

fn serve_lines(
    world: World,
    input: &mut (dyn Read + Send),
    output: &mut dyn Write,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        // Calls are answered one after the other, in the order of their requests.
        .max_blocking_threads(1)
        .build()?;
    let (sender, incoming) = tokio::sync::mpsc::channel(lines::WAITING);
    let (outgoing, printed) = mpsc::sync_channel(lines::WAITING);
    std::thread::scope(|scope| {
        scope.spawn(move || lines::read(input, &sender));
        let gone = Arc::new(AtomicBool::new(false));
        let lines = lines::Lines::new(incoming, outgoing, Arc::clone(&gone));
        let server = Server::new(world, Arc::clone(&gone));
        let server = scope.spawn(move || runtime.block_on(server.run(lines)));
        let written = printed.iter().try_for_each(|line: Vec<u8>| {
            output.write_all(&line)?;
            output.flush()
        });
        // A client that is gone reads nothing more, so no further call is made for it.
        gone.store(true, Ordering::Relaxed);
        drop(printed);
        server.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written
    })
}
