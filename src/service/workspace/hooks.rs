//! Hooks of git that ask `ctx`: their scripts, and where they are installed. Hooks of other programs
//! are never changed; the user receives the line to add to them.

use std::fs::{self, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::Workspace;
use super::git::Git;
use super::git_settings::TEXTCONV;
use super::proposal::no_answer;
use crate::files::vault::outside::open_regular;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::hook::{HookName, HookReport, HookState, Hooks};
use crate::values::text_util::argument;

/// Line of a script that `ctx` wrote. No other hook is replaced or removed.
const MARK: &str = "# Written by `ctx hook install`; `ctx hook uninstall` removes it.";
/// Maximum number of bytes that are read of a hook or of a configuration of hooks.
const READ: u64 = 1 << 20;

/// Settings of a repository that make `ctx` its merge driver. The first one names the program. The
/// driver of diffs is registered with it.
const DRIVER: [(&str, &str); 2] = [
    ("merge.ctx.driver", "ctx merge-driver %O %A %B %P"),
    ("merge.ctx.name", "logs, histories and documents of ctx"),
];
/// Section with these settings.
const DRIVER_SECTION: &str = "merge.ctx";

/// A program that manages the hooks of a repository.
#[derive(Clone, Debug)]
enum Manager {
    /// Hooks in the folder that `core.hooksPath` names.
    HooksPath(PathBuf),
    Husky,
    /// The configuration of lefthook.
    Lefthook(PathBuf),
    /// The configuration of pre-commit.
    PreCommit(PathBuf),
}

/// Files with the configuration of lefthook.
const LEFTHOOK: [&str; 8] = [
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".lefthook.toml",
    ".lefthook.json",
];

/// Change that a command makes to hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Hooks are installed.
    Install,
    /// Hooks are removed.
    Uninstall,
    /// The state of hooks is shown.
    Show,
}

/// The hooks of a repository.
pub(crate) struct Installer {
    git: Git,
    /// Top of the work tree.
    top: PathBuf,
    /// Folder with the hooks of the repository, for all of its work trees.
    folder: PathBuf,
    manager: Option<Manager>,
    /// Vault that the user named, relative to the top.
    vault: Option<String>,
}

impl Installer {
    /// Finds the hooks of the repository that contains the current folder.
    ///
    /// # Errors
    /// The current folder is not in a repository, or it does not contain the named vault.
    pub(crate) fn new(workspace: &Workspace<'_>) -> Result<Self, Failure> {
        let top = workspace.top_of_work_tree()?;
        let vault = workspace.named_below(&top)?;
        let ask = |args: &[&str]| (workspace.environment.git)(&top, args, b"");
        let said = ask(&["rev-parse", "--git-common-dir"]).map_err(|why| no_answer(&why))?;
        let common = top.join(String::from_utf8_lossy(&said).trim_end_matches('\n'));
        let folder = common.canonicalize().unwrap_or(common).join("hooks");
        let args = ["config", "--show-scope", "--type=path", "--get-all", "core.hooksPath"];
        // Our own calls set it, too.
        let said = ask(&args).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        let mut set = said.lines().filter_map(|line| line.split_once('\t'));
        let set = set.rfind(|(scope, _)| *scope != "command");
        let path = set.map(|(_, path)| top.join(path)).filter(|path| *path != folder);
        let manager = Manager::of(&top, path);
        let git = workspace.environment.git;
        Ok(Self { git, top, folder, manager, vault })
    }

    /// Installs, removes or shows hooks. Nothing is written in a dry run.
    ///
    /// # Errors
    /// A hook cannot be read or written.
    pub(crate) fn act(&self, act: Act, hooks: &[HookName], dry: bool) -> Result<Hooks, Failure> {
        let one = |hook: &HookName| {
            self.one(act, *hook, dry).map_err(|why| {
                Failure::new(Code::Io, format!("the hook `{hook}` cannot be changed: {why}"))
            })
        };
        let hooks = hooks.iter().map(one).collect::<Result<Vec<_>, _>>()?;
        let written = act != Act::Show && !dry;
        Ok(Hooks { repository: self.top.to_string_lossy().into_owned(), hooks, written })
    }

    fn one(&self, act: Act, hook: HookName, dry: bool) -> io::Result<HookReport> {
        if hook == HookName::Merge {
            return self.driver(act, dry);
        }
        let place = self.folder.join(hook.as_str());
        let found = read(&place)?;
        let text = self.script(hook);
        let is_own = found.as_deref().is_some_and(|found| found.contains(MARK));
        let called = self.command(hook);
        let is_listed = |text: &str| {
            matches!(self.manager, Some(Manager::PreCommit(_)))
                && text.contains(&format!("ctx-{hook}"))
        };
        let calls = |text: &str| text.contains(&format!("ctx hook run {hook}")) || is_listed(text);
        let others = match &self.manager {
            Some(manager) => Some(manager.place(&self.top, hook)),
            None => (found.is_some() && !is_own).then(|| place.clone()),
        };
        let there = others.as_deref().map(read).transpose()?.flatten();
        let state = match (&others, &there) {
            (Some(_), Some(text)) if calls(text) => HookState::Called,
            (Some(_), Some(_)) => HookState::Other,
            (None, _) if is_own => HookState::Installed,
            _ => HookState::Absent,
        };
        let mut report = HookReport { hook, path: shown(&place), state, outcome: None, add: None };
        if let Some(other) = &others {
            report.path = shown(other);
        }
        match act {
            Act::Uninstall if is_own => {
                if !dry {
                    fs::remove_file(&place)?;
                }
                (report.path, report.state) = (shown(&place), HookState::Absent);
                report.outcome = Some("removed");
            }
            Act::Install if others.is_none() => {
                let is_same = found.as_deref() == Some(text.as_str());
                if !is_same && !dry {
                    write(&place, &text)?;
                }
                report.state = HookState::Installed;
                report.outcome = Some(match found {
                    _ if is_same => "unchanged",
                    Some(_) => "changed",
                    None => "created",
                });
            }
            Act::Install | Act::Show if report.state != HookState::Called => {
                let adds = others.is_some() && report.state != HookState::Installed;
                report.add = adds.then(|| self.lines(hook, &called));
                report.outcome = (act == Act::Install).then_some("left");
            }
            Act::Show => {}
            Act::Install | Act::Uninstall => report.outcome = Some("unchanged"),
        }
        Ok(report)
    }

    /// Installs, removes or shows the merge driver. A driver of another program stays.
    fn driver(&self, act: Act, dry: bool) -> io::Result<HookReport> {
        let ask = |args: &[&str]| {
            let args = [&["config", "--local"], args].concat();
            (self.git)(&self.top, &args, b"")
        };
        let value = |key: &str| {
            let said = ask(&["--get", key]).ok()?;
            Some(String::from_utf8_lossy(&said).trim_end_matches('\n').to_owned())
        };
        let [(key, program), _] = DRIVER;
        let found = value(key);
        // An earlier version of `ctx` may have registered other arguments.
        let is_own = |value: &str| value.split(' ').take(2).eq(program.split(' ').take(2));
        let is_other = found.as_deref().is_some_and(|value| !is_own(value));
        let mut all = DRIVER.into_iter().chain(TEXTCONV);
        let is_same = all.all(|(key, wanted)| value(key).as_deref() == Some(wanted));
        let state = match &found {
            _ if is_other => HookState::Other,
            Some(_) => HookState::Installed,
            None => HookState::Absent,
        };
        let hook = HookName::Merge;
        let mut report = HookReport { hook, path: key.to_owned(), state, outcome: None, add: None };
        let set = |args: &[&str]| {
            let done = if dry { Ok(Vec::new()) } else { ask(args) };
            done.map_err(io::Error::other)
        };
        report.outcome = match act {
            Act::Show => None,
            Act::Install if is_other => Some("left"),
            Act::Install if is_same => Some("unchanged"),
            Act::Install => {
                for (key, value) in DRIVER.into_iter().chain(TEXTCONV) {
                    set(&[key, value])?;
                }
                report.state = HookState::Installed;
                Some(if found.is_some() { "changed" } else { "created" })
            }
            Act::Uninstall if is_other || found.is_none() => Some("unchanged"),
            Act::Uninstall => {
                set(&["--remove-section", DRIVER_SECTION])?;
                for (key, program) in TEXTCONV {
                    if value(key).as_deref() == Some(program) {
                        set(&["--unset", key])?;
                    }
                }
                report.state = HookState::Absent;
                Some("removed")
            }
        };
        Ok(report)
    }

    /// Returns the command that a hook runs.
    fn command(&self, hook: HookName) -> String {
        let vault = self.vault.as_deref().map(|vault| {
            let vault = if vault.is_empty() { "." } else { vault };
            format!(" --vault {}", argument(vault))
        });
        format!("ctx hook run {hook}{}", vault.unwrap_or_default())
    }

    fn script(&self, hook: HookName) -> String {
        format!("#!/bin/sh\n{MARK}\nexec {} -- \"$@\"\n", self.command(hook))
    }

    /// Returns the lines to add to the hook, or to the configuration, of another program.
    fn lines(&self, hook: HookName, command: &str) -> String {
        let is_push = hook == HookName::PrePush;
        match &self.manager {
            Some(Manager::Lefthook(_)) => {
                let stdin = if is_push { "\n      use_stdin: true" } else { "" };
                format!("{hook}:\n  commands:\n    ctx:\n      run: {command}{stdin}")
            }
            Some(Manager::PreCommit(_)) => format!(
                "- repo: local\n  hooks:\n  - id: ctx-{hook}\n    name: ctx {hook}\n    entry: {command}\n    \
                 language: system\n    pass_filenames: false\n    always_run: true\n    stages: [{hook}]"
            ),
            _ => format!("{command} || exit 1"),
        }
    }
}

impl Manager {
    /// Returns the program that manages the hooks of a work tree. `path` is `core.hooksPath`.
    fn of(top: &Path, path: Option<PathBuf>) -> Option<Self> {
        let has = |name: &str| Some(top.join(name)).filter(|path| path.is_file());
        let is_husky = |path: &PathBuf| path.components().any(|part| part.as_os_str() == ".husky");
        if path.as_ref().is_some_and(is_husky) || path.is_none() && top.join(".husky").is_dir() {
            return Some(Self::Husky);
        }
        path.map(Self::HooksPath)
            .or_else(|| LEFTHOOK.iter().copied().find_map(has).map(Self::Lefthook))
            .or_else(|| has(".pre-commit-config.yaml").map(Self::PreCommit))
    }

    /// Returns the file to which the user adds a hook.
    fn place(&self, top: &Path, hook: HookName) -> PathBuf {
        match self {
            Self::HooksPath(folder) => folder.join(hook.as_str()),
            Self::Husky => top.join(".husky").join(hook.as_str()),
            Self::Lefthook(file) | Self::PreCommit(file) => file.clone(),
        }
    }
}

impl Workspace<'_> {
    /// Returns the vault of `--vault`, relative to the top of the repository; empty for the top.
    ///
    /// # Errors
    /// The folder is not in the repository.
    pub(crate) fn named_below(&self, top: &Path) -> Result<Option<String>, Failure> {
        let Some(named) = &self.options.vault else { return Ok(None) };
        let cwd = &self.environment.cwd;
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
        let path = cwd.join(named);
        // A commit may remove the folder.
        let path = path.canonicalize().unwrap_or_else(|_| path.components().collect());
        let below = path.strip_prefix(top).ok().and_then(Path::to_str).map(str::to_owned);
        let outside = || {
            let message = format!("`{}` is not in the repository", named.display());
            Failure::new(Code::Usage, message).hint(format!("name a folder in {}", top.display()))
        };
        below.map(Some).ok_or_else(outside)
    }
}

/// Returns the text of a hook; `None` if it does not exist. The text of a link, or of another file
/// that is not read, is empty.
fn read(path: &Path) -> io::Result<Option<String>> {
    match path.symlink_metadata() {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) if why.kind() == io::ErrorKind::NotADirectory => return Ok(None),
        Err(why) => return Err(why),
        Ok(meta) if !meta.is_file() => return Ok(Some(String::new())),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    open_regular(path)?.take(READ).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Writes a script that can be run, as a whole.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    let runs = Permissions::from_mode(0o755);
    let mut file = builder.prefix(".ctx-").permissions(runs).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|why| why.error)?;
    Ok(())
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
