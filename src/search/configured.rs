//! Whether a program searches a vault, or is told of its reviews: only if the user says so, in the environment or in the
//! user's own configuration; never because the vault does (`spec/search.md`, section 7).

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::{DEFAULT_TIMEOUT, Program};
use crate::vault::files::Files;
use crate::vault::outside;
use crate::yaml::{self, Dialect, Node};

/// The environment variable that names a program, and the one that says how long it may take.
pub(crate) const COMMAND_VARIABLE: &str = "CTX_SEARCH_COMMAND";
/// Seconds that the program may take.
pub(crate) const TIMEOUT_VARIABLE: &str = "CTX_SEARCH_TIMEOUT";
/// What a program of the user's configuration is for.
const SEARCH: &str = "search";
const NOTIFY: &str = "notify";
/// The longest time in seconds.
const MAX_SECONDS: u64 = 600;
/// The largest user configuration.
const MAX_CONFIG_BYTES: u64 = 64 << 10;

/// Why the user's configuration is not followed. What it names is never replaced by something else.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ConfiguredError {
    /// The user's configuration cannot be read.
    #[error("`{}` cannot be read: {problem}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// The variable is no list of words.
    #[error("{COMMAND_VARIABLE} is neither words nor a JSON list of texts")]
    Variable,
    /// Not a number of seconds.
    #[error("{TIMEOUT_VARIABLE} is not a number from 1 to {MAX_SECONDS}")]
    Timeout,
    /// A program that is not run.
    #[error("`{}` is not run: {problem}", program.escape_debug())]
    Program {
        /// The program, or an argument of it.
        program: String,
        /// Which rule it breaks.
        problem: &'static str,
    },
}

/// The user's configuration: `XDG_CONFIG_HOME/contextnest/config.yaml`, else
/// `HOME/.config/contextnest/config.yaml`.
pub(crate) fn config_file<'e>(var: impl Fn(&str) -> Option<&'e str>) -> Option<PathBuf> {
    Some(outside::config_folder(var)?.join("config.yaml"))
}

/// The program that the user lets search the vault in this folder, if any.
///
/// # Errors
/// The user names something that cannot be followed.
pub(crate) fn program<'e>(
    vault: &Path,
    var: impl Fn(&str) -> Option<&'e str>,
) -> Result<Option<Program>, ConfiguredError> {
    let found = match var(COMMAND_VARIABLE) {
        Some(command) => Some(of_variable(command, var(TIMEOUT_VARIABLE))?),
        None => match config_file(&var) {
            Some(path) => of_file(vault, &path, SEARCH)?,
            None => None,
        },
    };
    if let Some(program) = &found {
        check(vault, &program.argv)?;
    }
    Ok(found)
}

/// The program that the user lets know of submissions and decisions in this vault, if any.
///
/// # Errors
/// The user names something that cannot be followed.
pub(crate) fn notified<'e>(
    vault: &Path,
    var: impl Fn(&str) -> Option<&'e str>,
) -> Result<Option<Program>, ConfiguredError> {
    let Some(path) = config_file(&var) else { return Ok(None) };
    let found = of_file(vault, &path, NOTIFY)?;
    if let Some(program) = &found {
        check(vault, &program.argv)?;
    }
    Ok(found)
}

fn of_variable(command: &str, timeout: Option<&str>) -> Result<Program, ConfiguredError> {
    let argv: Vec<String> = match command.trim_start().starts_with('[') {
        true => serde_json::from_str(command).map_err(|_| ConfiguredError::Variable)?,
        false => command.split_whitespace().map(str::to_owned).collect(),
    };
    if argv.is_empty() {
        return Err(ConfiguredError::Variable);
    }
    let timeout = match timeout {
        None => DEFAULT_TIMEOUT,
        Some(text) => yaml::canonical_number(text)
            .filter(|seconds| (1..=MAX_SECONDS).contains(seconds))
            .map(Duration::from_secs)
            .ok_or(ConfiguredError::Timeout)?,
    };
    Ok(Program { argv, timeout })
}

fn of_file(vault: &Path, path: &Path, purpose: &str) -> Result<Option<Program>, ConfiguredError> {
    let fail = |problem: String| ConfiguredError::Unreadable { path: path.to_owned(), problem };
    // It may be a link, as those who keep their configuration in one place have it.
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(fail(why.to_string())),
    };
    // A process that may write the vault must not be able to say which program runs.
    if path.starts_with(vault) || real.starts_with(vault) {
        return Err(fail("it is in the vault".to_owned()));
    }
    if !real.metadata().is_ok_and(|found| is_ours(&found)) {
        return Err(fail("it is not yours, or other users may write to it".to_owned()));
    }
    let (folder, name) = (real.parent(), real.file_name().and_then(|name| name.to_str()));
    let (Some(folder), Some(name)) = (folder, name) else { return Ok(None) };
    let bytes = Files::open(folder)
        .and_then(|files| files.read(name, MAX_CONFIG_BYTES))
        .map_err(|why| fail(why.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|why| fail(why.to_string()))?;
    let root = yaml::parse(&text, Dialect::Format).map_err(|why| fail(why.to_string()))?;
    of_config(vault, &root, purpose).map_err(|why| fail(why.to_string()))
}

/// Reads `vaults: {PATH: {search: {command: [..], timeout: SECONDS}}}`, or `notify` for `search`.
fn of_config(vault: &Path, root: &Node, purpose: &str) -> Result<Option<Program>, yaml::Error> {
    let vaults = root.get("vaults").and_then(Node::entries).unwrap_or_default();
    let here = |key: &Node| key.text().is_some_and(|text| Path::new(text) == vault);
    let Some((_, entry)) = vaults.iter().find(|(key, _)| here(key)) else { return Ok(None) };
    let Some(search) = entry.get(purpose).filter(|search| !search.is_null()) else {
        return Ok(None);
    };
    let Some(command) = search.get("command") else {
        return Err(search.error("expected `command: [PROGRAM, ARGUMENT, ...]`"));
    };
    let words =
        command.items().unwrap_or_default().iter().map(|word| {
            word.text().map(str::to_owned).ok_or_else(|| word.error("expected a text"))
        });
    let argv = words.collect::<Result<Vec<String>, _>>()?;
    if argv.is_empty() {
        return Err(command.error("expected a list: the program and its arguments"));
    }
    let timeout = match search.get("timeout") {
        None => DEFAULT_TIMEOUT,
        Some(value) => value
            .number()
            .filter(|seconds| (1..=MAX_SECONDS).contains(seconds))
            .map(Duration::from_secs)
            .ok_or_else(|| value.error(format!("expected seconds from 1 to {MAX_SECONDS}")))?,
    };
    Ok(Some(Program { argv, timeout }))
}

/// Whether a file belongs to the user or the system, and no other process may write to it.
fn is_ours(found: &fs::Metadata) -> bool {
    let owner = found.uid();
    found.is_file()
        && (owner == 0 || owner == rustix::process::geteuid().as_raw())
        && found.mode() & 0o002 == 0
}

/// Holds a program to the rules: an absolute path, outside of the vault as written and as it is, a
/// file of the user or the system; and no argument that is a file of the vault.
fn check(vault: &Path, argv: &[String]) -> Result<(), ConfiguredError> {
    let refuse = |program: &str, problem| {
        Err(ConfiguredError::Program { program: program.to_owned(), problem })
    };
    let inside = |path: &Path| {
        path.starts_with(vault) || path.canonicalize().is_ok_and(|real| real.starts_with(vault))
    };
    for (n, word) in argv.iter().enumerate() {
        let path = Path::new(word);
        if path.is_absolute() && inside(path) && (n == 0 || path.is_file()) {
            return refuse(word, "it is in the vault");
        }
    }
    let Some(program) = argv.first() else { return refuse("", "it has no name") };
    if !Path::new(program).is_absolute() {
        return refuse(program, "its path is not absolute");
    }
    match fs::metadata(program) {
        Err(_) => refuse(program, "the file does not exist"),
        Ok(found) if !found.is_file() => refuse(program, "it is not a file"),
        Ok(found) if !is_ours(&found) => {
            refuse(program, "it is neither yours nor the system's, or other users may write to it")
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test writes a configuration, not a vault")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    struct Home {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    impl Home {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            for folder in ["vault", "bin", ".config/contextnest"] {
                fs::create_dir_all(root.join(folder)).unwrap();
            }
            for program in ["vault/search", "bin/search", "bin/open"] {
                fs::write(root.join(program), "").unwrap();
            }
            fs::set_permissions(root.join("bin/open"), fs::Permissions::from_mode(0o777)).unwrap();
            std::os::unix::fs::symlink(root.join("bin/search"), root.join("vault/link")).unwrap();
            std::os::unix::fs::symlink(root.join("vault/search"), root.join("bin/link")).unwrap();
            Self { _dir: dir, root }
        }

        fn as_text(&self, variables: &[(&str, &str)]) -> String {
            let home = self.root.to_str().unwrap();
            let variables: Vec<(&str, String)> =
                variables.iter().map(|(n, v)| (*n, v.replace('~', home))).collect();
            let var = |name: &str| match name {
                "HOME" => Some(home),
                _ => variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str()),
            };
            match program(&self.root.join("vault"), var) {
                Ok(None) => "builtin".to_owned(),
                Ok(Some(found)) => format!("{} {:?}", found.argv.join("|"), found.timeout),
                Err(why) => why.to_string(),
            }
            .replace(home, "~")
        }

        fn config(&self, text: &str) -> String {
            let text = text.replace('~', self.root.to_str().unwrap());
            fs::write(self.root.join(".config/contextnest/config.yaml"), text).unwrap();
            self.as_text(&[])
        }
    }

    #[test]
    fn the_environment_names_a_program() {
        let home = Home::new();
        let as_text = |command: &str| home.as_text(&[(COMMAND_VARIABLE, command)]);
        assert_eq!(home.as_text(&[]), "builtin");
        assert_eq!(as_text("~/bin/search --fast  x"), "~/bin/search|--fast|x 10s");
        assert_eq!(as_text("[\"~/bin/search\", \"a b\"]"), "~/bin/search|a b 10s");
        let late = [(COMMAND_VARIABLE, "~/bin/search"), (TIMEOUT_VARIABLE, "2")];
        assert_eq!(home.as_text(&late), "~/bin/search 2s");
        for (command, expected) in [
            ("  ", "CTX_SEARCH_COMMAND is neither words nor a JSON list of texts"),
            ("[1]", "CTX_SEARCH_COMMAND is neither words nor a JSON list of texts"),
            ("search", "`search` is not run: its path is not absolute"),
            ("~/bin/none", "`~/bin/none` is not run: the file does not exist"),
            ("~/bin", "`~/bin` is not run: it is not a file"),
            ("~/vault/search", "`~/vault/search` is not run: it is in the vault"),
            ("~/vault/link", "`~/vault/link` is not run: it is in the vault"),
            ("~/bin/link", "`~/bin/link` is not run: it is in the vault"),
            ("/bin/sh ~/vault/search", "`~/vault/search` is not run: it is in the vault"),
        ] {
            assert_eq!(as_text(command), expected, "{command}");
        }
        assert!(as_text("~/bin/open").contains("other users may write"));
        let late = [(COMMAND_VARIABLE, "~/bin/search"), (TIMEOUT_VARIABLE, "0")];
        assert_eq!(home.as_text(&late), "CTX_SEARCH_TIMEOUT is not a number from 1 to 600");
    }

    #[test]
    fn the_users_configuration_names_a_program_for_one_vault() {
        let home = Home::new();
        let of = |vault: &str, search: &str| format!("vaults:\n  {vault}:\n    search: {search}\n");
        let good = "{command: [~/bin/search, -x], timeout: 3}";
        assert_eq!(home.config(&of("~/vault", good)), "~/bin/search|-x 3s");
        assert_eq!(home.config(&of("~/other", good)), "builtin");
        assert_eq!(home.config(""), "builtin");
        for (search, expected) in [
            (
                "{command: ~/bin/search}",
                "line 3, column 23: expected a list: the program and its arguments",
            ),
            ("~/bin/search", "expected `command: [PROGRAM, ARGUMENT, ...]`"),
            ("{command: [~/bin/search], timeout: 0}", "expected seconds from 1 to 600"),
            ("{command: [~/vault/search]}", "`~/vault/search` is not run: it is in the vault"),
        ] {
            let as_text = home.config(&of("~/vault", search));
            assert!(as_text.ends_with(expected), "{as_text}");
        }
        let file = home.root.join(".config/contextnest/config.yaml");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(home.as_text(&[]).ends_with("it is not yours, or other users may write to it"));
        let in_vault = home.root.join("vault/contextnest");
        fs::create_dir(&in_vault).unwrap();
        fs::write(in_vault.join("config.yaml"), "").unwrap();
        let as_text = home.as_text(&[("XDG_CONFIG_HOME", "~/vault")]);
        assert!(as_text.ends_with("it is in the vault"), "{as_text}");
    }
}
