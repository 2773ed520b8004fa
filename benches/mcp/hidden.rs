//! The time of calls about hidden documents and about missing ids, in turns. The time reveals
//! nothing if the medians are equal (`spec/mcp.md`, MCP-36).

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Stdio, call};
use crate::process::{Options, Result, command, ctx, head, median, row};

/// Number of hidden documents.
const HIDDEN: usize = 50;

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bench@example.com, role: reviewer}\n  - \
    {principal: bo@example.com, role: reviewer}\nfolders:\n  nodes/hid/:\n    - {principal: \
    bench@example.com, role: reviewer}\n  nodes/open/:\n    - {principal: eve@example.com, role: editor}\n";

/// The arguments of a call about an id.
type Arguments = fn(&str) -> Value;

/// One kind of call.
pub(crate) struct Figure {
    tool: &'static str,
    pairs: usize,
    hidden: Duration,
    absent: Duration,
}

/// Measures pairs of calls as a principal who edits another folder.
pub(crate) fn measure(options: &Options) -> Result<Vec<Figure>> {
    let root = options.dir.join("hidden");
    vault(&root)?;
    let pairs = if options.samples < 200 { 20 } else { 1_000 };
    let server = command(&root, &["mcp", "--profile", "reviewer", "--as", "eve@example.com"]);
    let mut server = Stdio::start(server)?;
    let calls: [(&'static str, Arguments); 5] = [
        ("context_read", |id| json!({"id": id})),
        ("context_history", |id| json!({"id": id})),
        ("context_review", |id| json!({"id": id})),
        ("context_update", |id| json!({"id": id, "body": "x", "submit": true})),
        ("context_submit", |id| json!({"ids": [id]})),
    ];
    let mut figures = Vec::new();
    for (tool, arguments) in calls {
        let mut times = [Vec::new(), Vec::new()];
        for n in 0..pairs {
            // The first one changes, so that the caches that a call leaves affect both.
            for turn in 0..2 {
                let is_absent = (n + turn) % 2;
                let folder = ["hid", "hud"][is_absent];
                let message = call(tool, &arguments(&format!("nodes/{folder}/d{:03}", n % HIDDEN)));
                let began = Instant::now();
                let answer = server.ask(&message)?;
                times[is_absent].push(began.elapsed());
                if answer["result"]["structuredContent"]["code"] != "unknown-id" {
                    return Err(format!("{tool} told something: {answer}").into());
                }
            }
        }
        let [hidden, absent] = times.map(median);
        figures.push(Figure { tool, pairs, hidden, absent });
    }
    Ok(figures)
}

fn vault(root: &Path) -> Result<()> {
    for folder in ["nodes/hid", "nodes/open"] {
        fs::create_dir_all(root.join(folder))?;
        for n in 0..HIDDEN {
            fs::write(root.join(format!("{folder}/d{n:03}.md")), format!("# D{n}\n\nwords {n}\n"))?;
        }
    }
    ctx(root, &["init", ".", "--name", "Hidden"])?;
    let config = root.join(".context/config.yaml");
    let text = fs::read_to_string(&config)? + "reads: stewards\n";
    fs::write(&config, text)?;
    ctx(root, &["publish", "--all", "--no-sync"])?;
    fs::write(root.join("stewards.yaml"), STEWARDS)?;
    ctx(root, &["govern", "on"])
}

/// Returns the figures as a table.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut out = String::new();
    head(&mut out, "call | pairs | hidden | absent | difference");
    let us = |time: Duration| format!("{:.0} µs", time.as_secs_f64() * 1e6);
    for Figure { tool, pairs, hidden, absent } in figures {
        let mut difference = String::new();
        let ratio = hidden.as_secs_f64() / absent.as_secs_f64() - 1.0;
        let _ = write!(difference, "{:+.1} %", ratio * 1e2);
        let cells = [format!("`{tool}`"), pairs.to_string(), us(*hidden), us(*absent), difference];
        row(&mut out, &cells);
    }
    out
}
