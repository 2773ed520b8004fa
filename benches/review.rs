//! `cargo bench --bench review`: the cost of listing pending submissions, and the cost of
//! governance for readers.
//!
//! Up to 500 of the documents have a submission; the same number of submissions was approved
//! before, and a hundred documents were retired. `review --all` is compared with `resolve` of the
//! documents that await a decision: the goal is three times its time. The two take turns, so that
//! other work on the machine affects both. A read is compared with the same one before the vault
//! was governed, by instructions (of `valgrind`, if it is installed): the goal is that a read
//! does not pay for governance that it does not use. The result is Markdown on stdout; progress
//! goes to stderr.
//!
//! ```text
//! cargo bench --bench review -- [--sizes 1000,10000,100000] [--dir DIR] [--quick]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "process.rs"]
mod process;

use std::fs;
use std::path::Path;
use std::process::Command;

use process::{CTX, Options, Result, command, head, median, ms, output, row, timed};

/// Maximum number of documents with a submission.
const PENDING: usize = 500;
/// Maximum number of retired documents.
const RETIRED: usize = 100;
const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bench@example.com, role: editor}\n  \
    - {principal: bo@example.com, role: reviewer}\n  - {principal: kim@example.com, role: reviewer}\n";

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1), &[1_000, 10_000, 100_000])?;
    let (mut queue, mut reads) = (String::new(), String::new());
    head(&mut queue, "documents | pending | `review --all` | `resolve` of these | ratio");
    head(&mut reads, "documents | command | ungoverned | governed | ratio");
    options.in_folder(|options| -> Result<()> {
        for size in &options.sizes {
            measure(options, *size, &mut queue, &mut reads)?;
        }
        Ok(())
    })??;
    println!("{queue}\nInstructions of reads:\n\n{reads}");
    Ok(())
}

fn measure(options: &Options, size: usize, queue: &mut String, reads: &mut String) -> Result<()> {
    let root = options.dir.join(format!("vault-{size}"));
    let pending = PENDING.min(size / 4);
    let retired = RETIRED.min(size / 20);
    eprintln!("{size} documents: publish");
    fs::create_dir_all(&root)?;
    by("bench", &root, &["init", ".", "--name", "Services"])?;
    for n in 0..size {
        let name = path(n);
        if n % 1000 == 0 {
            fs::create_dir_all(root.join(&name).parent().unwrap_or(&root))?;
        }
        fs::write(root.join(format!("{name}.md")), text(n, size / pending))?;
    }
    by("bench", &root, &["publish", "--all"])?;
    by("bench", &root, &["index"])?;
    let chosen = ["resolve", "#chosen", "--json"];
    // These documents are neither submitted nor retired, so their histories stay as they are.
    let plain = ["resolve", "#plain", "--json"];
    let read = ["read", "nodes/d0/doc-2"];
    let before = [instructions(&root, &plain), instructions(&root, &read)];

    eprintln!("{size} documents: submit");
    fs::write(root.join("stewards.yaml"), STEWARDS)?;
    by("bench", &root, &["govern", "on"])?;
    let ids: Vec<String> = (0..pending).map(|n| path(n * (size / pending))).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for word in ["second", "third"] {
        for id in &ids {
            let file = root.join(format!("{id}.md"));
            let edited = fs::read_to_string(&file)? + &format!("\nThe {word} paragraph.\n");
            fs::write(file, edited)?;
        }
        by("bench", &root, &[&["submit"], &ids[..]].concat())?;
        if word == "second" {
            by("bo", &root, &[&["approve"], &ids[..]].concat())?;
        }
    }
    let gone: Vec<String> = (0..retired).map(|n| path(n * (size / pending) + 1)).collect();
    let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
    by("bench", &root, &[&["retire"], &gone[..]].concat())?;
    by("bo", &root, &[&["approve"], &gone[..]].concat())?;

    eprintln!("{size} documents: measure");
    let review = ["review", "--all", "--json"];
    let listed = by("kim", &root, &review)?.matches("\"version\":").count();
    if listed != pending {
        return Err(format!("{listed} submissions are listed, not {pending}").into());
    }
    let (mut lists, mut resolves) = (Vec::new(), Vec::new());
    for _ in 0..options.repetitions {
        lists.push(timed(|| by("kim", &root, &review).map(drop))?);
        resolves.push(timed(|| by("kim", &root, &chosen).map(drop))?);
    }
    let (list, resolve) = (median(lists), median(resolves));
    let ratio = format!("{:.2}", list.as_secs_f64() / resolve.as_secs_f64());
    row(queue, &[size.to_string(), pending.to_string(), ms(list), ms(resolve), ratio]);
    let after = [instructions(&root, &plain), instructions(&root, &read)];
    for (n, name) in ["resolve", "read"].iter().enumerate() {
        let (Some(before), Some(after)) = (before[n], after[n]) else { continue };
        let ratio = format!("{:.3}", after as f64 / before as f64);
        let cells = [size.to_string(), format!("`{name}`"), millions(before), millions(after)];
        row(reads, &[&cells[..], &[ratio]].concat());
    }
    Ok(())
}

/// Runs a command as a principal, and returns its output.
fn by(who: &str, root: &Path, args: &[&str]) -> Result<String> {
    output(command(root, args).env("CTX_PRINCIPAL", format!("{who}@example.com")))
}

fn path(n: usize) -> String {
    format!("nodes/d{}/doc-{n}", n / 1000)
}

/// Returns the n-th document. In each row of `row` documents, one has a tag for submissions, and
/// another one a tag for documents that are only read.
fn text(n: usize, row: usize) -> String {
    let tags = match n % row {
        0 => "chosen, service",
        2 => "plain, service",
        _ => "service",
    };
    let line = format!("What the operators of service {n} do when it does not answer.\n");
    format!("---\ntitle: Service {n}\ntags: [{tags}]\n---\n\n# Service {n}\n\n{}", line.repeat(12))
}

/// Returns the number of instructions of a command; `None` if valgrind is not installed.
fn instructions(root: &Path, args: &[&str]) -> Option<u64> {
    let plain = command(root, args);
    let mut counted = Command::new("valgrind");
    counted.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", CTX]);
    counted.args(args).current_dir(root);
    for (name, value) in plain.get_envs() {
        counted.env(name, value?);
    }
    let said = String::from_utf8(counted.output().ok()?.stderr).ok()?;
    let line = said.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn millions(count: u64) -> String {
    format!("{:.1} million", count as f64 / 1e6)
}
