//! `cargo bench --bench hostile`: how long `ctx` takes to answer over vaults that an attacker made.
//!
//! Each shape is a vault of less than 16 MB that makes one algorithm as slow as possible. Each
//! command runs as its own process. The result is a Markdown table on stdout, as in
//! `docs/benchmarks.md`. The bench fails if a command of a shape of full size takes longer than ten
//! seconds; the bound of a row is the goal of the command on two idle cores.
//!
//! ```text
//! cargo bench --bench hostile -- [--only NAME] [--dir DIR] [--quick]
//! ```
//!
//! A new shape is one more entry of `SHAPES` in `hostile/shapes.rs`.

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the table is this program's result")]

#[path = "hostile/corpora.rs"]
mod corpora;
#[path = "hostile/planted.rs"]
mod planted;
#[path = "process.rs"]
mod process;
#[path = "hostile/shapes.rs"]
mod shapes;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use process::{Options, Result, command, ctx, head, row};
use shapes::{Asked, SHAPES, Shape};

/// The longest time of a command over a shape of full size. A debug build is not measured: it shows
/// that commands end.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 });
/// A command that takes longer is killed, so that one bad command does not hide the others.
const PATIENCE: Duration = Duration::from_secs(90);
/// `--quick` divides the counts of a shape by this number.
const QUICK: usize = 40;

fn main() -> Result<()> {
    let (mut only, mut rest, mut args) = (None, Vec::new(), std::env::args().skip(1));
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--only" => only = Some(args.next().ok_or("`--only` wants the name of a shape")?),
            _ => rest.push(arg),
        }
    }
    let options = Options::read(rest.into_iter(), &[])?;
    // `Options` sets a size for a quick run, and none for a full run.
    let scale = if options.sizes.is_empty() { 1 } else { QUICK };
    let is_wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let measured: Result<Vec<Figure>> = options.in_folder(|options| {
        let all = SHAPES.iter().filter(|shape| is_wanted(shape.name));
        let all = all.map(|shape| measure(shape, &options.dir.join(shape.name), scale));
        let mut figures: Vec<Figure> =
            all.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        if is_wanted(corpora::NAME) {
            figures.extend(corpora::measure(&options.dir.join(corpora::NAME), scale)?);
        }
        Ok(figures)
    })?;
    let figures = measured?;
    print!("{}", table(&figures));
    let late: Vec<&str> = figures.iter().filter(|f| f.time > LIMIT).map(|f| f.shape).collect();
    match late.is_empty() {
        true => Ok(()),
        false => Err(format!("too slow, see the table: {}", late.join(", ")).into()),
    }
}

/// The measured time of one command.
struct Figure {
    shape: &'static str,
    command: String,
    time: Duration,
    bound: u64,
}

fn measure(shape: &Shape, root: &Path, scale: usize) -> Result<Vec<Figure>> {
    eprintln!("{}: make the vault", shape.name);
    std::fs::create_dir_all(root)?;
    (shape.build)(root, scale)?;
    if !root.join(".context").exists() {
        ctx(root, &["init", ".", "--name", "Hostile"])?;
        ctx(root, &["publish", "--all", "--no-sync"])?;
    }
    let mut figures = Vec::new();
    for Asked { args, bound } in (shape.commands)(scale) {
        let time = time_of(root, &args)?;
        let command = shown(&args);
        eprintln!("{}: {command}: {:.2} s", shape.name, time.as_secs_f64());
        figures.push(Figure { shape: shape.name, command, time, bound });
    }
    std::fs::remove_dir_all(root)?;
    Ok(figures)
}

/// Returns the time of a command, whatever it answers: a refusal is an answer, a crash is not.
fn time_of(root: &Path, args: &[String]) -> Result<Duration> {
    let mut asked = command(root, args);
    let began = Instant::now();
    let mut child = asked.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return match status.code() {
                Some(0..=9) => Ok(began.elapsed()),
                _ => Err(format!("`ctx {}` ended with {status}", shown(args)).into()),
            };
        }
        if began.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(began.elapsed());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns a command as the table shows it, with long arguments shortened.
fn shown(args: &[String]) -> String {
    let cut = |arg: &String| match arg.char_indices().nth(24) {
        Some((at, _)) => format!("{}…", &arg[..at]),
        None => arg.clone(),
    };
    args.iter().map(cut).collect::<Vec<_>>().join(" ")
}

fn table(figures: &[Figure]) -> String {
    let mut out = String::new();
    head(&mut out, "shape | command | seconds | bound");
    for Figure { shape, command, time, bound } in figures {
        let command = format!("`{}`", command.replace('|', "\\|"));
        let time = format!("{:.2}", time.as_secs_f64());
        row(&mut out, &[(*shape).to_owned(), command, time, bound.to_string()]);
    }
    out
}
