//! Makes a folder a vault.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Workspace, formatters, knowledge};
use crate::files::vault::config::{FrontmatterMode, Layout};
use crate::files::vault::files::Files;
use crate::files::vault::left_out::LeftOut;
use crate::files::vault::write::Written;
use crate::files::vault::{Vault, is_vault as has_marks, lock};
use crate::read::working::{self, LiveFile};
use crate::record::audit::changes;
use crate::record::staging;
use crate::record::trusted_head::{self, Head};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::vault::InitReport;
use crate::service::starter::{self, NewFile, Starter};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::layout;
use crate::values::model::layout::limit;
use crate::values::model::visible::{Invisible, shown, without_invisible};
use crate::values::text_util::{argument, count};

/// The vault to make.
#[derive(Debug)]
pub(crate) struct InitRequest {
    /// The folder, relative to the current one.
    pub(crate) dir: PathBuf,
    /// The name; `None` for the name of the folder.
    pub(crate) name: Option<String>,
    /// The layout; `None` to derive it from the folder.
    pub(crate) layout: Option<Layout>,
    /// The mode of frontmatters; `None` to derive it from the folder.
    pub(crate) frontmatter: Option<FrontmatterMode>,
    /// Documents to begin with.
    pub(crate) starter: Option<Starter>,
}

impl Workspace<'_> {
    /// Makes a folder a vault, and returns notes for the user. Existing files are never changed.
    ///
    /// # Errors
    /// The folder is a vault already, is in one, or cannot be written. An interrupted `init` can be
    /// run again.
    pub(crate) fn init(&self, request: &InitRequest) -> Result<(InitReport, Vec<String>), Failure> {
        let mut notes = Vec::new();
        let dir = self.options.vault.as_ref().unwrap_or(&request.dir);
        let dir = self.environment.cwd.join(dir);
        refuse_vault(&dir, &request.dir)?;
        if let Some(failure) = self.left_out_vault(&dir) {
            return Err(failure);
        }
        refuse_wrapping(&dir)?;
        make_folder(&dir)?;
        let files = Files::open(&dir)?.on(self.environment.disk.clone());
        let folder = files.root().file_name().map(|n| n.to_string_lossy().into_owned());
        let name = request.name.clone().or(folder).unwrap_or_else(|| "vault".to_owned());
        check_name(&name)?;
        self.refuse_forgetting(&files, &request.dir)?;
        let wanted = wanted(&files, &name, request.starter)?;
        // If two processes run at once, the second one finds a vault.
        let _lock = lock::acquire(&files, self.patience(), &self.holder()?)?;
        let begun = self.outfit(Vault::open(files.root())?);
        if !is_begun(&begun) {
            return Err(is_vault(&request.dir));
        }
        let is_bundle = request.starter.is_none() && knowledge::is_in(&begun);
        let likely = || match is_bundle {
            true => Layout::Obsidian,
            false => likely_layout(&files, request.starter),
        };
        let form = request.layout.unwrap_or_else(likely);
        let frontmatter = request.frontmatter.unwrap_or(match is_bundle {
            true => FrontmatterMode::Untouched,
            false => FrontmatterMode::Managed,
        });
        if is_bundle && request.frontmatter.is_none() {
            notes.push(format!(
                "note: this is a bundle of the Open Knowledge Format: with `frontmatter: untouched` in {}, publishing does not change its files",
                layout::CONFIG
            ));
        }
        let setting =
            starter::Setting { layout: form, readme: files.is_file(layout::README), frontmatter };
        let config = (layout::CONFIG, starter::config(&name, &setting, request.starter));
        if let Some((site, exclusion)) = site(files.root()) {
            if frontmatter == FrontmatterMode::Managed {
                notes.push(format!(
                    "hint: `{site}` belongs to a site: with `frontmatter: untouched` in {}, publishing does not change its pages",
                    layout::CONFIG
                ));
            }
            notes.push(format!(
                "hint: keep `{}` and `{}` out of the site: {exclusion}",
                layout::STEWARDS,
                layout::CONTEXT_YAML
            ));
            if exclusion == HUGO && files.root().join("content").is_dir() {
                notes.push(format!(
                    "hint: with `links: {{/: content/}}` in {}, paths from the root of the site lead to its pages",
                    layout::CONFIG
                ));
            }
        }
        let created = self.write_vault(&begun, &wanted, &config, form, &mut notes)?;
        let vault = Vault::open(files.root())?;
        let warnings = self.clone_warnings(&vault, []);
        notes.extend(warnings.iter().map(|warning| format!("warning: {}", shown(warning))));
        notes.extend(left_out(&vault));
        let documents =
            working::all(&vault).iter().filter(|file| is_published(&vault, file)).count();
        let folder = vault.root().display().to_string();
        let formatters = formatters::used(vault.root());
        let layout = form;
        let report = InitReport { folder, name, layout, created, documents, formatters };
        Ok((report, notes))
    }

    /// Returns the formatters of the repository of an existing vault; `None` if the folder is not
    /// a vault.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub(crate) fn formatters(&self, request: &InitRequest) -> Result<Option<InitReport>, Failure> {
        let dir = self.options.vault.as_ref().unwrap_or(&request.dir);
        let dir = self.environment.cwd.join(dir);
        let Some(vault) = Vault::open(&dir).ok().filter(|vault| !is_begun(vault)) else {
            return Ok(None);
        };
        let documents = vault.documents().documents.len();
        let formatters = formatters::used(vault.root());
        let folder = vault.root().display().to_string();
        let (name, layout) = (vault.config().name.clone().unwrap_or_default(), vault.layout());
        let created = Vec::new();
        Ok(Some(InitReport { folder, name, layout, created, documents, formatters }))
    }

    /// Refuses a folder whose former vault has a trusted head, because a new vault would
    /// replace it.
    fn refuse_forgetting(&self, files: &Files, dir: &Path) -> Result<(), Failure> {
        let Some(state) = self.state_of(files.root()) else { return Ok(()) };
        let trusted = trusted_head::trusted_heads_in(&state, files.root())?;
        let known =
            trusted.binding().find_map(|head| Some((head.head.checkpoint, head.head.hashes?)));
        let Some((checkpoint, hashes)) = known else { return Ok(()) };
        let hash = hashes.last.short();
        let message =
            format!("the vault that was here has the trusted head {hash}, checkpoint {checkpoint}");
        let forget = Call::new(Verb::HeadForget).value(dir.to_string_lossy());
        Err(Failure::new(Code::HeadRollback, message)
            .hint("nothing was written; restore the vault from git or a backup")
            .hint(Hint::call("if it was deleted on purpose, run {} first", forget)))
    }

    /// Writes the files, the configuration last. Without it the vault is incomplete, and another
    /// `init` completes it.
    fn write_vault(
        &self,
        begun: &Vault,
        wanted: &[NewFile],
        (config, text): &NewFile,
        form: Layout,
        notes: &mut Vec<String>,
    ) -> Result<Vec<String>, Failure> {
        let files = begun.files();
        // The lock makes the folder of local state, with the file that keeps it out of git.
        for (path, text) in wanted.iter().filter(|(path, _)| !files.exists(path)) {
            match files.create_new(path, text.as_bytes()) {
                // A process that waits for the lock writes this file too, before it has the lock.
                Err(_) if *path == layout::CONTEXT_GITIGNORE && files.exists(path) => {}
                written => written?,
            }
        }
        if form == Layout::Structured {
            files.create_dir(layout::NODES)?;
        }
        let mut paths: Vec<&str> = wanted.iter().map(|(path, _)| *path).collect();
        files.sync(&paths.iter().map(|path| Written::New(path)).collect::<Vec<_>>())?;
        // The log is trusted from its first checkpoint.
        if let Err(why) = trusted_head::trust(begun, &Head::NONE, self.now()?) {
            notes.push(format!("warning: the trusted head could not be written: {why}"));
        }
        if let Err(why) = changes::forget(begun) {
            notes.push(format!(
                "warning: records of the former vault's change log could not be removed: {why}"
            ));
        }
        if let Err(why) = staging::forget(begun) {
            notes.push(format!(
                "warning: records of the former vault's staging chains could not be removed: {why}"
            ));
        }
        files.create_new(config, text.as_bytes())?;
        files.sync(&[Written::New(config)])?;
        paths.push(config);
        Ok(paths.into_iter().map(str::to_owned).collect())
    }
}

/// Returns notes on the first files and linked folders that look like documents but are not.
fn left_out(vault: &Vault) -> Vec<String> {
    const NAMED: usize = 10;
    let found = working::not_documents(&vault.documents());
    let note = |file: &LeftOut| {
        let why = file.why.to_string();
        format!("note: left out: {} ({})", shown(file.name()), shown(&why))
    };
    let mut notes: Vec<String> = found.iter().take(NAMED).map(note).collect();
    if found.len() > NAMED {
        let more = count(found.len() - NAMED, "more file");
        notes.push(format!("note: {more} left out; `ctx status --ignored` lists them"));
    }
    notes
}

/// Returns true if an event of all documents would publish a new file, judged by the file alone.
fn is_published(vault: &Vault, file: &LiveFile) -> bool {
    let place = (vault, file.path.as_str());
    let is_left_out = file.content.as_ref().is_ok_and(|live| {
        working::why_left_out(place, (&live.text, &live.document), None).is_some()
    });
    file.id.is_some() && !is_left_out
}

/// Refuses a folder that is a vault, or is in one.
pub(crate) fn refuse_vault(dir: &Path, named: &Path) -> Result<(), Failure> {
    let there = Vault::open(dir).ok();
    if there.as_ref().is_some_and(|vault| !is_begun(vault)) {
        return Err(is_vault(named));
    }
    let real = dir.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
    let above = match there {
        Some(_) => real.parent().unwrap_or(&real),
        None => &real,
    };
    // Both vaults would have the same files as documents, and the same folders for histories.
    Vault::find(above).map_or(Ok(()), |outer| {
        let outer = outer.root().display();
        Err(Failure::new(Code::Exists, format!("the folder is in the vault `{outer}`"))
            .hint("use that vault, or make the new one outside of it"))
    })
}

fn make_folder(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|why| {
        let code = match why.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => Code::Exists,
            _ => Code::Io,
        };
        Failure::new(code, format!("cannot create the folder `{}`: {why}", dir.display()))
            .hint("name a folder, or a place where one can be created")
    })
}

fn likely_layout(files: &Files, starter: Option<Starter>) -> Layout {
    let is_structured = files.exists(layout::NODES) || starter.is_some() || !has_markdown(files);
    if is_structured { Layout::Structured } else { Layout::Obsidian }
}

/// Refuses a name that looks like another one.
fn check_name(name: &str) -> Result<(), Failure> {
    let Some(found) = Invisible::first_in_name(name) else { return Ok(()) };
    let message = format!("the vault name `{name}` contains the invisible {found}");
    let plain = match without_invisible(name) {
        plain if plain.is_empty() => "vault".to_owned(),
        plain => plain,
    };
    Err(Failure::new(Code::Usage, message).hint(format!(
        "choose a name without this character, such as `--name {}`",
        argument(&plain)
    )))
}

fn is_vault(dir: &Path) -> Failure {
    Failure::new(Code::Exists, format!("`{}` is a vault already", dir.display()))
        .hint(Hint::call("{} shows its state", status_of(dir)))
}

/// Returns the command that shows the state of a vault in a folder.
fn status_of(dir: &Path) -> Call {
    match dir.as_os_str().is_empty() || dir == Path::new(".") {
        true => Verb::Status.into(),
        false => Call::new(Verb::Status).word("--vault").value(dir.display().to_string()),
    }
}

/// Returns the first vault in a folder or in one a few levels below it, as a path relative to it.
pub(crate) fn vault_below(dir: &Path) -> Option<PathBuf> {
    const LEVELS: usize = 3;
    let walk = walkdir::WalkDir::new(dir).follow_links(false).max_depth(LEVELS);
    let inner = visible(walk).find(is_inner_vault)?;
    inner.path().strip_prefix(dir).ok().map(Path::to_owned)
}

/// Returns true if a folder below the first one of a walk is a vault.
fn is_inner_vault(entry: &walkdir::DirEntry) -> bool {
    entry.depth() > 0 && entry.file_type().is_dir() && has_marks(entry.path())
}

/// Returns true if an interrupted `init` is all that makes a folder a vault.
fn is_begun(vault: &Vault) -> bool {
    let marks = [layout::CONFIG, layout::DELTA_LOG, layout::FULL_LOG];
    !marks.iter().any(|mark| vault.files().exists(mark)) && vault.history_folders().is_empty()
}

/// Files of site generators, each with a setting that keeps YAML files of the vault out of
/// the site.
const SITES: [(&str, &str); 23] = [
    (
        "mkdocs.yml",
        "`exclude_docs: |` in mkdocs.yml, with the lines `stewards.yaml` and `context.yaml`",
    ),
    (
        "mkdocs.yaml",
        "`exclude_docs: |` in mkdocs.yaml, with the lines `stewards.yaml` and `context.yaml`",
    ),
    ("hugo.toml", HUGO),
    ("hugo.yaml", HUGO),
    ("hugo.yml", HUGO),
    ("hugo.json", HUGO),
    ("_config.yml", "`exclude: [stewards.yaml, context.yaml]` in _config.yml"),
    ("zola.toml", "`ignored_content = [\"**/stewards.yaml\", \"**/context.yaml\"]` in zola.toml"),
    (
        "quartz.config.ts",
        "`ignorePatterns: [\"stewards.yaml\", \"context.yaml\"]` in quartz.config.ts",
    ),
    (
        "book.toml",
        "mdbook copies every file, so delete them after each build: `rm -rf book/stewards.yaml book/context.yaml book/.context book/.versions`",
    ),
    ("docusaurus.config.js", PAGES),
    ("docusaurus.config.ts", PAGES),
    ("docusaurus.config.mjs", PAGES),
    ("astro.config.mjs", PAGES),
    ("astro.config.ts", PAGES),
    (".vitepress", PAGES),
    ("_quarto.yml", PAGES),
    ("eleventy.config.js", PAGES),
    (".eleventy.js", PAGES),
    ("conf.py", PAGES),
    ("mint.json", PAGES),
    ("book.json", "a file .bookignore with the lines `stewards.yaml` and `context.yaml`"),
    ("antora.yml", PAGES),
];
const HUGO: &str =
    "`ignoreFiles = ['stewards\\.yaml$', 'context\\.yaml$']` in the configuration of hugo";
const PAGES: &str = "it publishes only pages from a folder of pages, so do not configure this folder as one of static files";

/// Returns the file of a site whose pages a folder may contain, from the folder or the one above,
/// and the setting that keeps files out of the site.
fn site(root: &Path) -> Option<(&'static str, &'static str)> {
    let folders = [Some(root), root.parent()];
    let is_here =
        |(name, _): &(&str, _)| folders.iter().flatten().any(|dir| dir.join(name).exists());
    SITES.into_iter().find(is_here)
}

/// Refuses a folder that contains a vault, because both would have the same files as documents.
fn refuse_wrapping(dir: &Path) -> Result<(), Failure> {
    let Some(inner) = folders_of(dir).find(is_inner_vault) else { return Ok(()) };
    let path = inner.path().strip_prefix(dir).unwrap_or(inner.path()).display().to_string();
    let message = format!("the folder contains the vault `{path}`");
    Err(Failure::new(Code::Exists, message)
        .hint(Hint::call("{} shows its state", status_of(inner.path())))
        .hint("name a folder next to it, or move that vault away first"))
}

/// Returns the content of a folder, without hidden folders and links.
fn folders_of(dir: &Path) -> impl Iterator<Item = walkdir::DirEntry> {
    visible(walkdir::WalkDir::new(dir).follow_links(false))
}

/// Returns the entries of a walk, without hidden folders.
fn visible(walk: walkdir::WalkDir) -> impl Iterator<Item = walkdir::DirEntry> {
    let entries = walk.into_iter().filter_entry(|e| {
        let name = e.file_name().to_string_lossy();
        e.depth() == 0 || !(name.starts_with('.') || name == "node_modules")
    });
    entries.filter_map(Result::ok)
}

fn has_markdown(files: &Files) -> bool {
    folders_of(files.root()).any(|e| e.file_name().to_str().is_some_and(layout::is_markdown))
}

/// Returns the missing files apart from the configuration. A starter is refused if one of its files
/// exists with another text. Files of an interrupted `init` have the text that would be
/// written now.
fn wanted(files: &Files, name: &str, starter: Option<Starter>) -> Result<Vec<NewFile>, Failure> {
    let mut wanted: Vec<NewFile> = starter.map(starter::documents).unwrap_or_default();
    let has = |path: &str, text: &str| {
        files.read(path, limit::DOCUMENT).is_ok_and(|bytes| bytes == text.as_bytes())
    };
    let is_other = |(path, text): &&NewFile| files.exists(path) && !has(path, text);
    if let Some((path, _)) = wanted.iter().find(is_other) {
        return Err(Failure::new(Code::Exists, format!("the file `{path}` exists already"))
            .hint("a starter needs a new folder; omit `--starter` to keep the files of this one"));
    }
    wanted.retain(|(path, _)| !files.exists(path));
    for (path, text) in [
        (layout::CONTEXT, starter::context(name, starter)),
        starter::gitignore(),
        (layout::GITATTRIBUTES, layout::GITATTRIBUTES_TEXT.to_owned()),
    ] {
        if !files.exists(path) {
            wanted.push((path, text));
        }
    }
    wanted.sort_by_key(|(path, _)| *path);
    Ok(wanted)
}
