//! `ctx init`.

use std::path::PathBuf;

use super::choice::choice;
use super::session::Session;
use super::ui::shown;
use super::{Answer, Locking};
use crate::files::vault::config::{FrontmatterMode, Layout};
use crate::service::report::failure::Failure;
use crate::service::report::vault::FormatterReport;
use crate::service::starter::Starter;
use crate::service::workspace::formatters;
use crate::service::workspace::init::InitRequest;
use crate::values::text_util::count;

/// Make a folder a vault, with the Markdown that is in it
///
/// Existing files are never changed, except with --formatters write. The documents of an
/// existing folder become drafts, published when you choose. Missing files of CONTEXT.md,
/// .context/config.yaml and .gitattributes are written. If the command is interrupted, run
/// it again.
///
/// A formatter that rewrites a file below `.versions` damages the vault. If the repository uses
/// prettier, markdownlint, remark, textlint, editorconfig, pre-commit, dprint, mdformat, rumdl,
/// deno fmt, oxfmt, codespell, trunk, MegaLinter or Visual Studio Code, the command shows the lines
/// that exclude the vault from it. In an existing vault, `ctx init --formatters` does only that.
///
/// Patterns under `exclude` in .context/config.yaml exclude files from the documents: `exclude:
/// ['drafts/**', '**/*.draft.md']`. A pattern matches the whole path in the vault; `*` is any
/// number of characters. A published document stays a document.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx init my-vault --starter policy\n  \
ctx init . --name \"Team handbook\"\n  cd docs && ctx init && ctx publish --all --dry-run")]
pub(super) struct Init {
    /// The folder, created if missing
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Name of the vault; default: the name of the folder
    #[arg(long)]
    name: Option<String>,
    /// Where documents are: `structured` (nodes/, sources/, root files with frontmatter) or
    /// `obsidian` (every Markdown file); default: by the content of the folder
    #[arg(long, value_parser = choice([Layout::Structured, Layout::Obsidian].map(|one| (one.as_str(), one))))]
    layout: Option<Layout>,
    /// Choose whether publishing writes into the frontmatter of live files: `untouched` leaves them
    /// as they are, for the pages of a site that another program builds; default: `untouched` for a
    /// bundle of the Open Knowledge Format, otherwise `managed`
    #[arg(long, value_parser = choice(FRONTMATTER))]
    frontmatter: Option<FrontmatterMode>,
    /// Add documents: `policy` (a procurement team's policies, glossary, pack and source)
    #[arg(long, value_parser = choice([("policy", Starter::Policy)]))]
    starter: Option<Starter>,
    /// Choose whether to add lines to the ignore files of formatters: `write` adds them, `print`
    /// shows them; default: ask on a terminal, otherwise `print`
    #[arg(long)]
    formatters: Option<Formatters>,
    #[command(flatten)]
    locking: Locking,
}

const FRONTMATTER: [(&str, FrontmatterMode); 2] =
    [("managed", FrontmatterMode::Managed), ("untouched", FrontmatterMode::Untouched)];

/// The treatment of configurations of formatters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Formatters {
    Write,
    Print,
}

pub(super) fn run(args: Init, session: &mut Session<'_>) -> Result<Answer, Failure> {
    session.workspace.options.lock_timeout = args.locking.lock_timeout;
    let Init { dir, name, layout, frontmatter, starter, .. } = args;
    let request = InitRequest { dir, name, layout, frontmatter, starter };
    let is_plain = request.name.is_none()
        && request.layout.is_none()
        && request.frontmatter.is_none()
        && request.starter.is_none();
    let existing = match args.formatters.is_some() && is_plain {
        true => session.workspace.formatters(&request)?,
        false => None,
    };
    let is_existing = existing.is_some();
    let (mut report, notes) = match existing {
        Some(report) => (report, Vec::new()),
        None => session.workspace.init(&request)?,
    };
    notes.iter().for_each(|note| session.ui.note(note));
    if args.formatters == Some(Formatters::Write) {
        write(session, &mut report.formatters);
    }
    if session.ui.json {
        session.ui.report(&report);
        return Ok(Answer::Yes);
    }
    let (name, folder) = (shown(&report.name), shown(&report.folder));
    session.ui.line(&format!("vault `{name}` in {folder}"));
    if is_existing {
        session.ui.note("note: the vault exists already; only its formatters are checked");
        if report.formatters.is_empty() {
            session.ui.line("  no formatter was found that could rewrite histories");
        }
    }
    for path in &report.created {
        session.ui.line(&format!("  created {path}"));
    }
    if args.formatters.is_none() && session.ui.is_interactive() {
        ask(session, &mut report.formatters);
    }
    for formatter in &report.formatters {
        let (name, file) = (formatter.name, shown(&formatter.file));
        match formatter.written {
            true => {
                session.ui.line(&format!("  changed {file}, which keeps {name} out of histories"));
            }
            false => {
                let lines = formatter.lines.join("\n  ");
                let what = format!("keep {name} out of histories, which it would damage");
                let how = match &formatter.extends {
                    Some(key) => format!("`{key}` is in {file} already; extend it"),
                    None => format!("add to {file}"),
                };
                session.ui.note(&format!("hint: {what}: {how}\n  {lines}"));
            }
        }
    }
    if is_existing {
        return Ok(Answer::Yes);
    }
    if report.documents == 0 {
        session.ui.note("next: `ctx add nodes/first --body \"...\"`");
    } else {
        let what = count(report.documents, "document");
        session.ui.note(&format!("next: `ctx publish --all --dry-run` shows {what} to publish"));
    }
    Ok(Answer::Yes)
}

/// Adds the lines to the ignore files; shows those of a file that cannot be written.
fn write(session: &mut Session<'_>, formatters: &mut [FormatterReport]) {
    for formatter in formatters.iter_mut().filter(|formatter| formatter.can_write) {
        if let Err(why) = formatters::write(formatter) {
            session.ui.note(&format!("warning: {}", shown(&why.to_string())));
        }
    }
}

/// Asks a person whether to add the lines.
fn ask(session: &mut Session<'_>, formatters: &mut [FormatterReport]) {
    let files: Vec<&str> =
        formatters.iter().filter(|one| one.can_write).map(|one| one.file.as_str()).collect();
    if files.is_empty() {
        return;
    }
    let question =
        format!("add lines that keep formatters out of histories to {}?", files.join(", "));
    if session.ui.ask(session.stdin, &question) {
        write(session, formatters);
    }
}
