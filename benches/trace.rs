//! `cargo bench --bench trace`: the cost of reading access logs, compared with `sha256sum` and
//! `grep` over the same files.
//!
//! One writer has all lines, in files of 64 MiB as `ctx` writes them; a session has 100 lines.
//! Commands and their peers take turns, so that other work on the machine affects both. The result
//! is Markdown on stdout; progress goes to stderr.
//!
//! ```text
//! cargo bench --bench trace -- [--sizes 10000,1000000] [--dir DIR] [--quick]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench writes its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "process.rs"]
mod process;

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use process::{Options, Result, ctx, head, median, ms, peak_memory, row, settle, timed};

const WRITER: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
/// A file of this length gets no further line.
const FULL: usize = 64 << 20;
/// Number of lines of a session.
const SESSION: usize = 100;

fn main() -> Result<()> {
    let mut options = Options::read(std::env::args().skip(1), &[10_000, 1_000_000])?;
    options.repetitions = options.repetitions.min(9);
    options.in_folder(|options| -> Result<()> {
        let mut out = String::new();
        head(
            &mut out,
            "lines | all bytes | command | time | peer | its time | ratio | peak memory",
        );
        for size in &options.sizes {
            measure(options, *size, &mut out)?;
        }
        print!("{out}");
        Ok(())
    })?
}

fn measure(options: &Options, size: usize, out: &mut String) -> Result<()> {
    let root = options.dir.join(format!("vault-{size}"));
    fs::create_dir_all(&root)?;
    ctx(&root, &["init", ".", "--name", "Services"])?;
    eprintln!("{size} lines: write");
    let folder = options.dir.join(format!("logs-{size}"));
    let files = write(&folder, size)?;
    settle(&folder)?;
    let bytes: u64 = files.iter().map(|file| Ok(file.metadata()?.len())).sum::<Result<u64>>()?;
    let logs = folder.to_str().ok_or("the name of the folder is not UTF-8")?;
    let session = format!("s-{}", size / SESSION / 2);
    let trace = format!("{}-{}", &WRITER[..8], size / 2);
    let needle = format!("\"session\":\"{session}\"");
    let commands: [(&str, Vec<&str>, Vec<&str>); 3] = [
        ("trace verify", vec!["trace", "verify"], vec!["sha256sum"]),
        (
            "trace list --session",
            vec!["trace", "list", "--session", &session],
            vec!["grep", "-c", "-e", &needle],
        ),
        ("trace show", vec!["trace", "show", &trace], vec!["grep", "-c", "-e", &needle]),
    ];
    for (name, mut args, peer) in commands {
        eprintln!("{size} lines: {name}");
        args.extend(["--logs", logs]);
        let (mut times, mut peers) = (Vec::new(), Vec::new());
        for _ in 0..options.repetitions {
            times.push(timed(|| ctx(&root, &args))?);
            peers.push(timed(|| run(&peer, &files))?);
        }
        let (time, its) = (median(times), median(peers));
        let memory = peak_memory(&root, &args);
        row(
            out,
            &[
                size.to_string(),
                format!("{:.1} MB", bytes as f64 / 1e6),
                format!("`{name}`"),
                ms(time),
                format!("`{}`", peer[0]),
                ms(its),
                format!("{:.2}", time.as_secs_f64() / its.as_secs_f64()),
                memory.map_or_else(|| "–".to_owned(), |kib| format!("{} MiB", kib.div_ceil(1024))),
            ],
        );
    }
    Ok(())
}

fn run(peer: &[&str], files: &[PathBuf]) -> Result<()> {
    let mut command = Command::new(peer[0]);
    let status = command.args(&peer[1..]).args(files).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", peer[0]).into()) }
}

/// Writes a sound log; returns its files.
fn write(folder: &Path, lines: usize) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let mut files = vec![folder.join(format!("{WRITER}.jsonl"))];
    let mut file = BufWriter::new(File::create(&files[0])?);
    let mut length = 0;
    let mut prev = format!("contextnest:audit:v1:{WRITER}");
    for seq in 1..=lines {
        if length >= FULL {
            files.push(folder.join(format!("{WRITER}.{seq}.jsonl")));
            file = BufWriter::new(File::create(&files[files.len() - 1])?);
            length = 0;
        }
        let (line, hash) = line(seq, &prev)?;
        file.write_all(&line)?;
        file.write_all(b"\n")?;
        (length, prev) = (length + line.len() + 1, hash);
    }
    file.flush()?;
    Ok(files)
}

/// Returns a line of the log, and its hash.
fn line(seq: usize, prev: &str) -> Result<(Vec<u8>, String)> {
    let digest = |text: &[u8]| {
        let hex: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256:{hex}")
    };
    let hash = digest(prev.as_bytes());
    let id = format!("nodes/services/service-{:04}/runbook", seq % 1000);
    let mut line = json!({
        "v": 1, "seq": seq, "prev": prev, "at": format!("2026-11-24T10:{:02}:{:02}.000Z", seq / 60 % 60, seq % 60),
        "writer": WRITER, "tool": "0.1.0", "event": "access", "verb": "read",
        "args": {"argv": ["read", id]}, "principal": "ana@example.com", "principal_source": "env",
        "head": {"checkpoint": 42, "hash": hash},
        "labels": {"agent": "scout", "session": format!("s-{}", seq / SESSION)},
        "class": "direct", "query": id, "bytes": 2048, "sha256": hash, "elapsed_us": 2100,
        "documents": [{
            "uri": format!("contextnest://{id}@42"), "version": 3, "checkpoint": 42,
            "chain_hash": hash, "author": "ana@example.com", "edited_by": "ana@example.com",
            "edited_at": "2026-11-20T09:00:00.000Z", "bytes": 2048, "sha256": hash,
        }],
    });
    let hash = digest(&serde_jcs::to_vec(&line)?);
    line["hash"] = hash.clone().into();
    Ok((serde_jcs::to_vec(&line)?, hash))
}
