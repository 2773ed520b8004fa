//! The inputs of the fuzz targets, each passed to the commands that read such bytes.
//!
//! Inputs of the target `verify` are left out: they describe how a vault is altered, and the target
//! itself has a time limit.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{Result, ctx};
use crate::{Figure, time_of};

/// The frontmatter of a document.
const HEAD: &str = "---\ntitle: A\n---\n\n";

pub(crate) const NAME: &str = "corpora";

/// The use of an input.
enum As {
    /// The input is this file of a vault.
    File(&'static str),
    /// The input is the argument of the command; one that is not valid text is left out.
    Argument,
    /// The input is two texts with a NUL between them: the published one, and the live one.
    Texts,
}

/// A corpus, the use of its inputs, and the commands.
const CORPORA: [(&str, As, &[&str]); 7] = [
    ("document", As::File("nodes/a.md"), &["validate", "publish --all --dry-run"]),
    ("history", As::File("nodes/.versions/a/history.yaml"), &["verify", "history nodes/a"]),
    ("log_delta", As::File(".versions/checkpoints.jsonl"), &["verify", "recover --dry-run"]),
    ("log_full", As::File(".versions/context_history.yaml"), &["verify", "recover --dry-run"]),
    ("selector", As::Argument, &["resolve", "resolve --explain"]),
    ("uri", As::Argument, &["read"]),
    ("diff", As::Texts, &["diff nodes/a", "publish --all --dry-run"]),
];

/// Returns the slowest input of each corpus for each command; every `scale`-th is tried.
pub(crate) fn measure(root: &Path, scale: usize) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (corpus, place, commands) in &CORPORA {
        eprintln!("{NAME}: {corpus}");
        let mut slowest = vec![Duration::ZERO; commands.len()];
        for (n, input) in inputs(corpus)?.iter().enumerate().step_by(scale) {
            let input = fs::read(input)?;
            // The head of a vault is trusted, so two texts need a vault of their own.
            let vault = match place {
                As::Texts => root.join(format!("{corpus}-{n}")),
                _ => root.join(corpus),
            };
            let Some(argument) = put(&vault, place, &input)? else { continue };
            for (command, slowest) in commands.iter().zip(&mut slowest) {
                let args = command.split(' ').map(str::to_owned).chain(argument.clone());
                *slowest = time_of(&vault, &args.collect::<Vec<_>>())?.max(*slowest);
            }
        }
        figures.extend(commands.iter().zip(slowest).map(|(command, time)| {
            let command = format!("{command} ({corpus})");
            Figure { shape: NAME, command, time, bound: 1 }
        }));
    }
    fs::remove_dir_all(root)?;
    Ok(figures)
}

fn inputs(corpus: &str) -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(corpus);
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<std::io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// Makes a vault with this input, and returns the arguments to append to the command; `None` if the
/// input cannot be passed.
fn put(vault: &Path, place: &As, input: &[u8]) -> Result<Option<Option<String>>> {
    let live = vault.join("nodes/a.md");
    if !vault.exists() {
        fs::create_dir_all(vault.join("nodes"))?;
        fs::write(&live, format!("{HEAD}A.\n"))?;
        ctx(vault, &["init", ".", "--name", "Hostile"])?;
        ctx(vault, &["publish", "--all", "--no-sync"])?;
        if matches!(place, As::File(path) if path.ends_with("context_history.yaml")) {
            fs::remove_file(vault.join(".versions/checkpoints.jsonl"))?;
        }
    }
    match place {
        As::File(path) => fs::write(vault.join(path), input)?,
        As::Argument => {
            let text = std::str::from_utf8(input).ok().filter(|text| !text.contains('\0'));
            // A text that begins with a dash would be an option.
            return Ok(text.map(|text| Some(format!(" {text}"))));
        }
        As::Texts => {
            let Ok(input) = std::str::from_utf8(input) else { return Ok(None) };
            let (old, new) = input.split_once('\0').unwrap_or(("", input));
            fs::write(&live, [HEAD, old].concat())?;
            let published =
                ctx(vault, &["publish", "nodes/a", "--no-sync", "--expect-version", "1"]);
            let text = fs::read_to_string(&live)?;
            let head = text.strip_suffix(old).filter(|_| published.is_ok());
            let Some(head) = head else { return Ok(None) };
            fs::write(&live, [head, new].concat())?;
        }
    }
    Ok(Some(None))
}
