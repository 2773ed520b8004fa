//! `cargo bench --bench mcp`: the cost of tools, compared with commands and with a server that
//! does nothing.
//!
//! - *start*: from the start of a process to its first answer, `ctx mcp` with `context_resolve` and
//!   `ctx resolve` in turns.
//! - *read*: `context_read` of one document after the other, by a running server over stdio.
//! - *throughput*: 64 clients, each with a connection, call over HTTP; the peer is a server with
//!   `rmcp` that answers each call with a text of the same length, in this process, on the same
//!   number of threads.
//! - *memory*: of the server over stdio, at some points of many reads.
//! - *hidden*: calls about hidden documents, and calls about missing ids.
//!
//! The corpus is that of the ContextNest paper, §11.3. The result is Markdown on stdout.
//!
//! ```text
//! cargo bench --bench mcp -- [--sizes 10000,100000] [--samples READS/100] [--dir DIR] [--quick]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

mod client;
#[path = "../corpus.rs"]
mod corpus;
mod echo;
mod hidden;
#[path = "../process.rs"]
mod process;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use client::{Http, Stdio, call};
use process::{Options, Result, command, ctx, head, median, ms, percentile, row, settle, timed};

const SEED: u64 = 42;
/// Three terms that select one document of any size of the corpus.
const SELECTOR: &str = "#runbook #deploy #payments-service";
const DOCUMENT: &str = "nodes/deploy/payments-service";
/// Number of clients at the same time.
const CLIENTS: usize = 64;

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1), &[10_000, 100_000])?;
    let (figures, hidden) = options.in_folder(|options| {
        let of = |size: &usize| measure(options, *size);
        let figures: Result<Vec<Figures>> = options.sizes.iter().map(of).collect();
        Ok::<_, Box<dyn std::error::Error>>((figures?, hidden::measure(options)?))
    })??;
    print!("{}\n{}", tables(&figures), hidden::table(&hidden));
    Ok(())
}

/// Number of calls before, and the memory in kibibytes after them.
type Memory = Vec<(usize, u64)>;

/// The figures of one size.
struct Figures {
    documents: usize,
    command: Duration,
    tool: Duration,
    reads: Vec<Duration>,
    /// Calls per second, of the server and of its peer.
    throughput: [f64; 2],
    memory: Memory,
}

fn measure(options: &Options, size: usize) -> Result<Figures> {
    let root = options.dir.join(size.to_string());
    let documents = corpus::write(&root, size.div_ceil(corpus::TEMPLATES), SEED)?;
    ctx(&root, &["init", ".", "--name", "Services"])?;
    eprintln!("{documents} documents: import");
    ctx(&root, &["publish", "--all", "--no-sync"])?;
    settle(&root)?;
    // Both find the index.
    ctx(&root, &["resolve", SELECTOR])?;
    eprintln!("{documents} documents: start");
    let (mut commands, mut tools) = (Vec::new(), Vec::new());
    for _ in 0..options.repetitions {
        commands.push(timed(|| ctx(&root, &["resolve", SELECTOR, "--json"]))?);
        tools.push(started(&root)?);
    }
    let ids = ids(&root)?;
    eprintln!("{documents} documents: reads");
    let many = options.samples * 100;
    let (reads, memory) = reads(&root, &ids, many)?;
    eprintln!("{documents} documents: {CLIENTS} clients");
    let each = options.samples.clamp(2, 200);
    let throughput = throughput(&root, &ids, each)?;
    let (command, tool) = (median(commands), median(tools));
    Ok(Figures { documents, command, tool, reads, throughput, memory })
}

/// Returns the time from the start of a server to its first answer.
fn started(root: &Path) -> Result<Duration> {
    let began = Instant::now();
    let mut server = Stdio::start(command(root, &["mcp"]))?;
    let arguments = json!({"selector": SELECTOR, "bodies": false});
    let answer = server.ask(&call("context_resolve", &arguments))?;
    let time = began.elapsed();
    succeeded(&answer)?;
    Ok(time)
}

fn succeeded(answer: &Value) -> Result<()> {
    match answer["result"]["isError"] == false {
        true => Ok(()),
        false => Err(format!("a call failed: {answer}").into()),
    }
}

/// Returns the ids of documents, in an order that differs from that of their files.
fn ids(root: &Path) -> Result<Vec<String>> {
    let listed = process::output(&mut command(root, &["list", "--json"]))?;
    let listed: Value = serde_json::from_str(&listed)?;
    let ids = listed["documents"].as_array().ok_or("a list of documents")?.iter();
    let ids: Vec<String> = ids.filter_map(|one| Some(one["id"].as_str()?.to_owned())).collect();
    // The step and most lengths are coprime.
    let step = 7_919;
    Ok((0..ids.len()).map(|n| ids[n * step % ids.len()].clone()).collect())
}

/// Returns the times of consecutive reads, and the memory of the server meanwhile.
fn reads(root: &Path, ids: &[String], many: usize) -> Result<(Vec<Duration>, Memory)> {
    let mut server = Stdio::start(command(root, &["mcp"]))?;
    succeeded(&server.ask(&call("context_read", &json!({"id": DOCUMENT})))?)?;
    let mut times = Vec::new();
    let mut memory = Vec::new();
    for (n, id) in ids.iter().cycle().take(many).enumerate() {
        if n % (many / 5).max(1) == 0 {
            memory.push((n, resident(server.id())?));
        }
        let message = call("context_read", &json!({"id": id}));
        let began = Instant::now();
        let answer = server.ask(&message)?;
        times.push(began.elapsed());
        succeeded(&answer)?;
    }
    memory.push((many, resident(server.id())?));
    Ok((times, memory))
}

/// Returns the resident memory of a process in kibibytes.
fn resident(id: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// Returns the calls per second of many clients at the same time: of the server, and of one that
/// does nothing.
fn throughput(root: &Path, ids: &[String], each: usize) -> Result<[f64; 2]> {
    let server = Http::start(command(root, &["mcp", "--http", "127.0.0.1:0"]))?;
    let answer = client::post(server.address(), &call("context_read", &json!({"id": DOCUMENT})))?;
    let length = answer.to_string().len() / 2;
    let echo = echo::Echo::start(length)?;
    let mut found = [Vec::new(), Vec::new()];
    // Both take turns, so that other work on the machine affects both.
    for _ in 0..3 {
        for (address, found) in [server.address(), echo.address].into_iter().zip(&mut found) {
            let began = Instant::now();
            client::together(address, CLIENTS, each, |n| {
                call("context_read", &json!({"id": ids[n % ids.len()]}))
            })?;
            found.push(began.elapsed());
        }
    }
    let calls = (CLIENTS * each) as f64;
    Ok(found.map(|times| calls / median(times).as_secs_f64()))
}

fn tables(figures: &[Figures]) -> String {
    let mut out = String::new();
    head(&mut out, "documents | `ctx resolve` | first answer of `ctx mcp` | difference");
    for one in figures {
        let difference = one.tool.as_secs_f64() - one.command.as_secs_f64();
        row(
            &mut out,
            &[
                one.documents.to_string(),
                ms(one.command),
                ms(one.tool),
                format!("{:+.1} ms", difference * 1e3),
            ],
        );
    }
    out += "\n";
    head(&mut out, "documents | reads | median | p99 | slowest");
    for one in figures {
        let of = |percent| ms(percentile(one.reads.clone(), percent));
        row(
            &mut out,
            &[
                one.documents.to_string(),
                one.reads.len().to_string(),
                of(50),
                of(99),
                ms(one.reads.iter().max().copied().unwrap_or_default()),
            ],
        );
    }
    out += "\n";
    head(&mut out, "documents | clients | calls/s | of a server that does nothing | fraction");
    for one in figures {
        let [own, echo] = one.throughput;
        row(
            &mut out,
            &[
                one.documents.to_string(),
                CLIENTS.to_string(),
                format!("{own:.0}"),
                format!("{echo:.0}"),
                format!("{:.2}", own / echo),
            ],
        );
    }
    out += "\n";
    head(&mut out, "documents | calls | memory");
    for one in figures {
        for (calls, kib) in &one.memory {
            let memory = format!("{:.1} MiB", *kib as f64 / 1024.0);
            row(&mut out, &[one.documents.to_string(), calls.to_string(), memory]);
        }
    }
    out
}
