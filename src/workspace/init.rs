//! Making a folder a vault.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::Workspace;
use crate::audit::changes;
use crate::model::hint::{Call, Hint, Verb};
use crate::model::layout;
use crate::model::layout::limit;
use crate::model::visible::{Invisible, shown, without_invisible};
use crate::report::failure::{Code, Failure};
use crate::report::vault::InitReport;
use crate::staging;
use crate::starter::{self, NewFile, Starter};
use crate::trust::{self, Head};
use crate::vault::config::{FrontmatterMode, Layout};
use crate::vault::files::Files;
use crate::vault::write::Written;
use crate::vault::{Vault, lock};
use crate::words::argument;

/// What vault to make.
#[derive(Debug)]
pub(crate) struct InitRequest {
    /// The folder, from the current one.
    pub(crate) dir: PathBuf,
    /// Its name; else that of the folder.
    pub(crate) name: Option<String>,
    /// Where documents are; else what the folder looks like.
    pub(crate) layout: Option<Layout>,
    /// Whether publishing writes into live files.
    pub(crate) frontmatter: FrontmatterMode,
    /// Documents to begin with.
    pub(crate) starter: Option<Starter>,
}

impl Workspace<'_> {
    /// Makes a folder a vault. Existing files are never changed. Returns also what the user should
    /// know.
    ///
    /// # Errors
    /// The folder is a vault already, is in one, or cannot be written. An interrupted one can be
    /// run again.
    pub(crate) fn init(&self, request: &InitRequest) -> Result<(InitReport, Vec<String>), Failure> {
        let mut notes = Vec::new();
        let dir = self.options.vault.as_ref().unwrap_or(&request.dir);
        let dir = self.environment.cwd.join(dir);
        refuse_vault(&dir, &request.dir)?;
        make_folder(&dir)?;
        let files = Files::open(&dir)?.on(self.environment.disk.clone());
        let form = request.layout.unwrap_or_else(|| likely_layout(&files, request.starter));
        let folder = files.root().file_name().map(|n| n.to_string_lossy().into_owned());
        let name = request.name.clone().or(folder).unwrap_or_else(|| "vault".to_owned());
        check_name(&name)?;
        self.refuse_forgetting(&files, &request.dir)?;
        let wanted = wanted(&files, &name, request.starter, &mut notes)?;
        // Of two at once the second finds a vault.
        let _lock = lock::acquire(&files, self.patience(), &self.holder("init")?)?;
        let begun = self.outfit(Vault::open(files.root())?);
        if !is_begun(&begun) {
            return Err(is_vault(&request.dir));
        }
        let setting = starter::Setting {
            layout: form,
            readme: files.is_file(layout::README),
            frontmatter: request.frontmatter,
        };
        let config = (layout::CONFIG, starter::config(&name, &setting, request.starter));
        if request.frontmatter == FrontmatterMode::Managed
            && let Some(site) = site(files.root())
        {
            notes.push(format!(
                "hint: `{site}` is of a site: with `frontmatter: untouched` in {}, publishing writes to no page",
                layout::CONFIG
            ));
        }
        let created = self.write_vault(&begun, &wanted, &config, form, &mut notes)?;
        let vault = Vault::open(files.root())?;
        notes.extend([layout::CONFIG, layout::DELTA_LOG].iter().filter_map(|path| {
            let rule = vault.ignore_rule(path)?;
            let rule = shown(&rule.to_string()).into_owned();
            Some(format!("warning: git ignores {path}, by {rule}: change the rule"))
        }));
        let documents = crate::live::all(&vault).len();
        let folder = vault.root().display().to_string();
        let report = InitReport { folder, name, layout: form.as_str(), created, documents };
        Ok((report, notes))
    }

    /// Refuses a place whose vault has a trusted head: a new vault would replace it.
    fn refuse_forgetting(&self, files: &Files, dir: &Path) -> Result<(), Failure> {
        let Some(state) = self.state_of(files.root()) else { return Ok(()) };
        let trusted = trust::trusted_heads_in(&state, files.root())?;
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

    /// Writes the files, the configuration last: without it the vault is only begun, and another
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
        // Taking the lock makes the folder of local state, with the file that keeps it out of git.
        for (path, text) in wanted.iter().filter(|(path, _)| !files.exists(path)) {
            match files.create_new(path, text.as_bytes()) {
                // Who waits for the lock writes this file too, before it has the lock.
                Err(_) if *path == layout::CONTEXT_GITIGNORE && files.exists(path) => {}
                written => written?,
            }
        }
        if form == Layout::Structured {
            files.create_dir(layout::NODES)?;
        }
        let mut paths: Vec<&str> = wanted.iter().map(|(path, _)| *path).collect();
        files.sync(&paths.iter().map(|path| Written::New(path)).collect::<Vec<_>>())?;
        // The log is trusted from its beginning.
        if let Err(why) = trust::trust(begun, &Head::NONE, self.now()?) {
            notes.push(format!("warning: the trusted head could not be written: {why}"));
        }
        if let Err(why) = changes::forget(begun) {
            notes.push(format!(
                "warning: what is kept of the former vault's change log could not be removed: {why}"
            ));
        }
        if let Err(why) = staging::forget(begun) {
            notes.push(format!(
                "warning: what is kept of the former vault's staging chains could not be removed: {why}"
            ));
        }
        files.create_new(config, text.as_bytes())?;
        files.sync(&[Written::New(config)])?;
        paths.push(config);
        Ok(paths.into_iter().map(str::to_owned).collect())
    }
}

fn refuse_vault(dir: &Path, named: &Path) -> Result<(), Failure> {
    let there = Vault::open(dir).ok();
    if there.as_ref().is_some_and(|vault| !is_begun(vault)) {
        return Err(is_vault(named));
    }
    let real = dir.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
    let above = match there {
        Some(_) => real.parent().unwrap_or(&real),
        None => &real,
    };
    // Both would take the same files for documents, and the same folders for histories.
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

/// Refuses a name that prints as another one.
fn check_name(name: &str) -> Result<(), Failure> {
    let Some(found) = Invisible::first_in(name) else { return Ok(()) };
    let message = format!("the vault name `{name}` contains the invisible {found}");
    let plain = match without_invisible(name) {
        plain if plain.is_empty() => "vault".to_owned(),
        plain => plain,
    };
    Err(Failure::new(Code::Usage, message)
        .hint(format!("choose a name without it, such as `--name {}`", argument(&plain))))
}

fn is_vault(dir: &Path) -> Failure {
    Failure::new(Code::Exists, format!("`{}` is a vault already", dir.display()))
        .hint(Hint::call("{} shows its state", Verb::Status))
}

/// Whether a folder is a vault only by what an `init` began that did not come to its end.
fn is_begun(vault: &Vault) -> bool {
    let marks = [layout::CONFIG, layout::DELTA_LOG, layout::FULL_LOG];
    !marks.iter().any(|mark| vault.files().exists(mark)) && vault.history_folders().is_empty()
}

/// The file of a site of which a folder may hold the pages, in the folder or in the one above.
fn site(root: &Path) -> Option<&'static str> {
    const SITES: [&str; 12] = [
        "book.toml",
        "hugo.toml",
        "hugo.yaml",
        "hugo.json",
        "mkdocs.yml",
        "mkdocs.yaml",
        "docusaurus.config.js",
        "docusaurus.config.ts",
        "zola.toml",
        "_config.yml",
        "astro.config.mjs",
        "antora.yml",
    ];
    let folders = [Some(root), root.parent()];
    SITES.into_iter().find(|name| folders.iter().flatten().any(|dir| dir.join(name).is_file()))
}

fn has_markdown(files: &Files) -> bool {
    let walk = walkdir::WalkDir::new(files.root()).follow_links(false).into_iter();
    let mut entries = walk.filter_entry(|e| {
        let name = e.file_name().to_string_lossy();
        e.depth() == 0 || !(name.starts_with('.') || name == "node_modules")
    });
    entries.any(|e| e.is_ok_and(|e| e.file_name().to_str().is_some_and(layout::is_markdown)))
}

/// The files beside the configuration that are missing. A starter is refused where one of its files
/// exists with another text; what an interrupted `init` wrote is as it would be written now.
fn wanted(
    files: &Files,
    name: &str,
    starter: Option<Starter>,
    notes: &mut Vec<String>,
) -> Result<Vec<NewFile>, Failure> {
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
        (layout::GITATTRIBUTES, layout::GITATTRIBUTES_LINE.to_owned()),
    ] {
        if !files.exists(path) {
            wanted.push((path, text));
        } else if path == layout::GITATTRIBUTES && !has(path, &text) {
            let line = layout::GITATTRIBUTES_LINE.trim_end();
            notes.push(format!("hint: add this line to .gitattributes: {line}"));
        }
    }
    wanted.sort_by_key(|(path, _)| *path);
    Ok(wanted)
}
