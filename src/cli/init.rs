//! `ctx init`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::failure::Code;
use super::session::Session;
use super::ui::shown;
use super::{Answer, Failure};
use crate::head::{self, Head};
use crate::model::layout;
use crate::model::layout::limit;
use crate::model::visible::{Invisible, without_invisible};
use crate::starter::{self, NewFile, Starter};
use crate::vault::config::Layout;
use crate::vault::files::Files;
use crate::vault::write::Written;
use crate::vault::{Vault, lock};
use crate::words::{argument, count};

/// Make a folder a vault, new or with the Markdown that is in it
///
/// Existing files are never changed: a folder of Markdown is adopted as it is, and its documents
/// are published when you say so. What is missing of CONTEXT.md, .context/config.yaml and
/// .gitattributes is written. If it was interrupted, run it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx init my-vault --starter policy\n  \
ctx init . --name \"Team handbook\"\n  cd docs && ctx init && ctx publish --all --dry-run")]
pub(super) struct Init {
    /// The folder; made if it is not there
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Name of the vault; else that of the folder
    #[arg(long)]
    name: Option<String>,
    /// Where documents lie: `structured` (nodes/, sources/, root files with frontmatter) or
    /// `obsidian` (every Markdown file); else what the folder looks like
    #[arg(long, value_parser = ["structured", "obsidian"])]
    layout: Option<String>,
    /// Begin with documents: `policy` (a procurement team's policies, glossary, pack and source)
    #[arg(long, value_parser = ["policy"])]
    starter: Option<String>,
}

#[derive(Serialize)]
struct InitJson {
    root: String,
    name: String,
    layout: &'static str,
    created: Vec<String>,
    documents: usize,
}

pub(super) fn run(args: &Init, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let dir = session.world.cwd.join(session.global.vault.as_ref().unwrap_or(&args.dir));
    let there = Vault::open(&dir).ok();
    if there.as_ref().is_some_and(|vault| !is_begun(vault)) {
        return Err(is_vault(args));
    }
    let real = dir.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
    let above = match there {
        Some(_) => real.parent().unwrap_or(&real),
        None => &real,
    };
    if let Ok(outer) = Vault::find(above) {
        // Both would take the same files for documents, and the same folders for histories.
        let outer = outer.root().display();
        return Err(Failure::new(Code::Exists, format!("this folder lies in the vault `{outer}`"))
            .hint("use that vault, or make one beside it"));
    }
    std::fs::create_dir_all(&dir).map_err(|why| {
        let code = match why.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => Code::Exists,
            _ => Code::Io,
        };
        Failure::new(code, format!("cannot make the folder `{}`: {why}", dir.display()))
            .hint("name a folder, or a place where one can be made")
    })?;
    let files = Files::open(&dir)?.on(session.world.disk.clone());
    let starter = args.starter.as_ref().map(|_| Starter::Policy);
    let form = match args.layout.as_deref() {
        Some("obsidian") => Layout::Obsidian,
        Some(_) => Layout::Structured,
        None if files.exists(layout::NODES) || starter.is_some() => Layout::Structured,
        None if has_markdown(&files) => Layout::Obsidian,
        None => Layout::Structured,
    };
    let folder = files.root().file_name().map(|n| n.to_string_lossy().into_owned());
    let name = args.name.clone().or(folder).unwrap_or_else(|| "vault".to_owned());
    check_name(&name)?;
    refuse_forgetting(session, &files, &args.dir)?;
    let wanted = wanted(session, &files, &name, starter)?;
    // Of two at once the second finds a vault.
    let _lock = lock::acquire(&files, session.patience(), &session.holder("init")?)?;
    let begun = session.outfit(Vault::open(files.root())?);
    if !is_begun(&begun) {
        return Err(is_vault(args));
    }
    let config = (layout::CONFIG, starter::config(&name, form, starter));
    let created = write(session, &begun, &wanted, &config, form)?;
    let vault = Vault::open(files.root())?;
    let documents = crate::live::all(&vault).len();
    if session.ui.json {
        let (root, layout) = (vault.root().display().to_string(), form.as_str());
        session.ui.result("init", &InitJson { root, name, layout, created, documents });
        return Ok(Answer::Yes);
    }
    session.ui.line(&format!("vault `{}` in {}", shown(&name), vault.root().display()));
    for path in &created {
        session.ui.line(&format!("  created {path}"));
    }
    if documents == 0 {
        session.ui.note("next: `ctx add nodes/first --body \"...\"`");
    } else {
        let what = count(documents, "document");
        session.ui.note(&format!("{what} to publish; next: `ctx publish --all --dry-run`"));
    }
    Ok(Answer::Yes)
}

/// Refuses a name that prints as another one.
fn check_name(name: &str) -> Result<(), Failure> {
    let Some(found) = Invisible::first_in(name) else { return Ok(()) };
    let message = format!("the name of the vault, `{name}`, has the invisible {found}");
    let plain = match without_invisible(name) {
        plain if plain.is_empty() => "vault".to_owned(),
        plain => plain,
    };
    Err(Failure::new(Code::Usage, message)
        .hint(format!("choose one without it, such as `--name {}`", argument(&plain))))
}

fn is_vault(args: &Init) -> Failure {
    let message = format!("`{}` is a vault already", args.dir.display());
    Failure::new(Code::Exists, message).hint("`ctx status` shows its state")
}

/// Whether a folder is a vault only by what an `init` began that did not come to its end.
fn is_begun(vault: &Vault) -> bool {
    let marks = [layout::CONFIG, layout::DELTA_LOG, layout::FULL_LOG];
    !marks.iter().any(|mark| vault.files().exists(mark)) && vault.history_folders().is_empty()
}

/// Refuses a place in which a vault was, as far as anybody here knows: what is remembered of it would be
/// forgotten with the new one.
fn refuse_forgetting(session: &Session<'_>, files: &Files, dir: &Path) -> Result<(), Failure> {
    let Some(state) = session.state_of(files.root()) else { return Ok(()) };
    let memories = head::recall_in(&state, files.root())?;
    let known =
        memories.binding().find_map(|memory| Some((memory.head.checkpoint, memory.head.hashes?)));
    let Some((checkpoint, hashes)) = known else { return Ok(()) };
    let hash = hashes.last.short();
    let message = format!("a vault was here: checkpoint {checkpoint} ({hash}) is remembered of it");
    let dir = dir.to_string_lossy();
    let dir = argument(&dir);
    Err(Failure::new(Code::HeadRollback, message)
        .hint("nothing was written; bring it back from git or a backup")
        .hint(format!("if it is gone on purpose: `ctx head forget {dir}`")))
}

fn has_markdown(files: &Files) -> bool {
    let walk = walkdir::WalkDir::new(files.root()).follow_links(false).into_iter();
    let mut entries = walk.filter_entry(|e| {
        let name = e.file_name().to_string_lossy();
        e.depth() == 0 || !(name.starts_with('.') || name == "node_modules")
    });
    entries.any(|e| e.is_ok_and(|e| e.path().extension().is_some_and(|x| x == "md")))
}

/// What is missing beside the configuration. A starter shall meet no file with another text; what an
/// `init` that died has written is as it would be written now.
fn wanted(
    session: &mut Session<'_>,
    files: &Files,
    name: &str,
    starter: Option<Starter>,
) -> Result<Vec<NewFile>, Failure> {
    let mut wanted: Vec<NewFile> = starter.map(starter::documents).unwrap_or_default();
    let has = |path: &str, text: &str| {
        files.read(path, limit::DOCUMENT).is_ok_and(|bytes| bytes == text.as_bytes())
    };
    let is_other = |(path, text): &&NewFile| files.exists(path) && !has(path, text);
    if let Some((path, _)) = wanted.iter().find(is_other) {
        return Err(Failure::new(Code::Exists, format!("`{path}` exists already"))
            .hint("a starter is for a new folder; leave `--starter` out to adopt this one"));
    }
    wanted.retain(|(path, _)| !files.exists(path));
    for (path, text) in [
        (layout::CONTEXT, starter::context(name, starter)),
        starter::gitignore(),
        (layout::GITATTRIBUTES, layout::GITATTRIBUTES_LINE.to_owned()),
    ] {
        if !files.exists(path) {
            wanted.push((path, text));
        } else if path == layout::GITATTRIBUTES && !has(path, &text) {
            let line = layout::GITATTRIBUTES_LINE.trim_end();
            session.ui.note(&format!("add this line to .gitattributes: {line}"));
        }
    }
    wanted.sort_by_key(|(path, _)| *path);
    Ok(wanted)
}

/// Writes the files, the configuration last: before it has one the vault is only begun, and another
/// `init` brings it to its end.
fn write(
    session: &mut Session<'_>,
    begun: &Vault,
    wanted: &[NewFile],
    (config, text): &NewFile,
    form: Layout,
) -> Result<Vec<String>, Failure> {
    let files = begun.files();
    // Whoever takes the lock makes the folder of local state, with the file that keeps it out of git.
    for (path, text) in wanted.iter().filter(|(path, _)| !files.exists(path)) {
        files.create_new(path, text.as_bytes())?;
    }
    if form == Layout::Structured {
        files.create_dir(layout::NODES)?;
    }
    let mut paths: Vec<&str> = wanted.iter().map(|(path, _)| *path).collect();
    files.sync(&paths.iter().map(|path| Written::New(path)).collect::<Vec<_>>())?;
    // Whatever the log holds later was then seen from its beginning.
    if let Err(why) = head::trust(begun, &Head::NONE, session.now()?) {
        session.ui.note(&format!("warning: the head of the vault is not remembered: {why}"));
    }
    files.create_new(config, text.as_bytes())?;
    files.sync(&[Written::New(config)])?;
    paths.push(config);
    Ok(paths.into_iter().map(str::to_owned).collect())
}
