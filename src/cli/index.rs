//! `ctx index`.

use serde::Serialize;

use super::expect::ExpectHead;
use super::session::Session;
use super::ui::{shown, table};
use super::{Answer, Failure};
use crate::derived::{self, Derived, Outcome, Which};

/// Write context.yaml and INDEX.md: what is published, for other readers
///
/// Both are made from the last checkpoint and can be deleted. context.yaml has the documents, who
/// refers to whom, hubs and servers; INDEX.md is a list with links, with `index.folders: true` in
/// the configuration one for each folder too. A file that was not made by this command is never
/// written over. Publications write context.yaml again while the vault is small (`index.auto`).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx index\n  ctx index --check")]
pub(super) struct Index {
    /// Write nothing; exit 1 if a file is not what it should be
    #[arg(long)]
    check: bool,
    /// Show what would be written, write nothing
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectHead,
}

#[derive(Serialize)]
struct IndexJson<'i> {
    files: Vec<FileJson<'i>>,
}

#[derive(Serialize)]
struct FileJson<'i> {
    path: &'i str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(super) fn run(args: &Index, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    vault.usable_config()?;
    let looks = args.check || args.dry_run;
    let _lock = if looks { None } else { Some(vault.lock(&session.holder("index")?)?) };
    session.check_expected(&vault, &[], args.expect.read()?)?;
    let files = derived::files(&vault, Which::Asked)?;
    let outcomes = derived::write(&vault, &files, looks);
    if session.ui.json {
        let file = |(file, outcome)| file_json(file, outcome);
        let files = files.iter().zip(&outcomes).map(file).collect();
        session.ui.result("index", &IndexJson { files });
    } else {
        let row = |(file, outcome): (&Derived, &Outcome)| {
            let would = if looks && is_stale(outcome) { "would be " } else { "" };
            vec![shown(&file.path).into_owned(), format!("{would}{}", word(outcome))]
        };
        let rows: Vec<Vec<String>> = files.iter().zip(&outcomes).map(row).collect();
        table(&rows).iter().for_each(|row| session.ui.line(row));
    }
    if files.is_empty() {
        session.ui.note("nothing is published, so there is nothing to list");
    }
    let mut answer = Answer::Yes;
    for (file, outcome) in files.iter().zip(&outcomes) {
        if let Some(reason) = reason(outcome) {
            let (path, reason) = (shown(&file.path), shown(&reason));
            session.ui.note(&format!("warning: `{path}` was left as it is: {reason}"));
        }
        answer = match outcome {
            Outcome::Failed(_) => Answer::Incomplete,
            Outcome::Foreign(_) if answer == Answer::Yes => Answer::No,
            stale if args.check && is_stale(stale) && answer == Answer::Yes => Answer::No,
            _ => answer,
        };
    }
    Ok(answer)
}

fn file_json<'i>(file: &'i Derived, outcome: &Outcome) -> FileJson<'i> {
    FileJson { path: &file.path, outcome: word(outcome), reason: reason(outcome) }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Unchanged => "unchanged",
        Outcome::Created => "created",
        Outcome::Replaced => "replaced",
        Outcome::Foreign(_) => "not ours",
        Outcome::NoFolder => "no folder",
        Outcome::Failed(_) => "failed",
    }
}

fn is_stale(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Created | Outcome::Replaced)
}

fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Foreign(path) => {
            Some(format!("`{path}` was not made by `ctx index`; move it away, and it is made"))
        }
        Outcome::Failed(why) => Some(why.to_string()),
        _ => None,
    }
}
