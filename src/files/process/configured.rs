//! Programs that search a vault, are notified of its reviews, or fetch the data of its sources.
//! Only the environment or the user's own configuration can name one, never the vault
//! (`spec/search.md`, section 7; `spec/source.md`, section 4).

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{DEFAULT_TIMEOUT, Fetcher, Program};
use crate::files::vault::files::Files;
use crate::files::vault::outside;
use crate::values::text_util::nearest;
use crate::values::yaml::{self, Dialect, Node};

/// Environment variable that names a search program.
pub(crate) const COMMAND_VARIABLE: &str = "CTX_SEARCH_COMMAND";
/// Environment variable with the number of seconds that the search program may take.
pub(crate) const TIMEOUT_VARIABLE: &str = "CTX_SEARCH_TIMEOUT";
/// Purpose of a program, as a key of the user's configuration.
const SEARCH: &str = "search";
const NOTIFY: &str = "notify";
const SOURCES: &str = "sources";
/// Time that a fetcher may take, and number of bytes that it may print, unless the user
/// sets others.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
const FETCH_BYTES: u64 = 10_000_000;
/// Maximum number of bytes that a fetcher may print, which is that of a result (SRC-9).
const MAX_FETCH_BYTES: u64 = 64_000_000;
/// Maximum time in seconds.
const MAX_SECONDS: u64 = 600;
/// Maximum size of the user's configuration.
const MAX_CONFIG_BYTES: u64 = 64 << 10;

/// A fault of the user's configuration. A program that it names is never replaced by another one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ConfiguredError {
    /// The user's configuration cannot be read.
    #[error("`{}` cannot be read: {problem}", path.display())]
    Unreadable {
        /// Path of the configuration.
        path: PathBuf,
        /// Description of the fault, with its place.
        problem: String,
    },
    /// The variable is not a list of words.
    #[error("{COMMAND_VARIABLE} is neither words nor a JSON list of texts")]
    Variable,
    /// The variable is not a number of seconds in the range.
    #[error("{TIMEOUT_VARIABLE} is not a number from 1 to {MAX_SECONDS}")]
    Timeout,
    /// The program breaks a rule and is not run.
    #[error("`{}` is not run: {problem}", program.escape_debug())]
    Program {
        /// Program, or an argument of it.
        program: String,
        /// Rule that it breaks.
        problem: &'static str,
    },
}

/// Returns the path of the user's configuration: `XDG_CONFIG_HOME/contextnest/config.yaml`,
/// else `HOME/.config/contextnest/config.yaml`.
pub(crate) fn config_file<'e>(var: impl Fn(&str) -> Option<&'e str>) -> Option<PathBuf> {
    Some(outside::config_folder(var)?.join("config.yaml"))
}

/// Returns the program that the user configured for searches in this vault, if any.
///
/// # Errors
/// The configured program cannot be used.
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

/// Returns the program that the user configured for notifications of submissions and decisions in
/// this vault, if any.
///
/// # Errors
/// The configured program cannot be used.
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

/// Returns the program that the user configured to fetch sources of a server in this vault, if any.
///
/// # Errors
/// The configured program cannot be used.
pub(crate) fn fetcher<'e>(
    vault: &Path,
    server: &str,
    var: impl Fn(&str) -> Option<&'e str>,
) -> Result<Option<Fetcher>, ConfiguredError> {
    let Some(path) = config_file(&var) else { return Ok(None) };
    let Some(entry) = entry_of(vault, &path)? else { return Ok(None) };
    let servers = entry.get(SOURCES).and_then(Node::entries).unwrap_or_default();
    let named = servers.iter().find(|(name, _)| name.text() == Some(server));
    let Some((_, settings)) = named.filter(|(_, settings)| !settings.is_null()) else {
        return Ok(None);
    };
    let found = fetcher_of(settings).map_err(|why| unreadable(&path, why.to_string()))?;
    check(vault, &found.program.argv)?;
    Ok(Some(found))
}

/// Parses `{command: [..], timeout: 30s, max_bytes: 10MB, env: [NAME, ..]}`.
fn fetcher_of(settings: &Node) -> Result<Fetcher, yaml::Error> {
    let argv = command_of(settings)?;
    let timeout = match settings.get("timeout") {
        None => FETCH_TIMEOUT,
        Some(value) => seconds(value)?,
    };
    let max_bytes = match settings.get("max_bytes") {
        None => FETCH_BYTES,
        Some(value) => bytes(value)?,
    };
    let names = settings.get("env").filter(|names| !names.is_null());
    let env = match names.map(|names| (names, names.items())) {
        None => Vec::new(),
        Some((names, None)) => return Err(names.error("expected a list of names of variables")),
        Some((_, Some(items))) => {
            let name = |item: &Node| {
                let name =
                    item.text().filter(|name| !name.is_empty() && !name.contains(['=', '\0']));
                name.map(str::to_owned).ok_or_else(|| item.error("expected the name of a variable"))
            };
            items.iter().map(name).collect::<Result<_, _>>()?
        }
    };
    Ok(Fetcher { program: Program { argv, timeout }, max_bytes, env })
}

/// Parses a number of seconds, such as `30` or `30s`.
fn seconds(value: &Node) -> Result<Duration, yaml::Error> {
    let text = value.text().unwrap_or_default();
    yaml::canonical_number(text.strip_suffix('s').unwrap_or(text))
        .filter(|seconds| (1..=MAX_SECONDS).contains(seconds))
        .map(Duration::from_secs)
        .ok_or_else(|| value.error(format!("expected seconds from 1s to {MAX_SECONDS}s")))
}

/// Parses a number of bytes, such as `10MB`.
fn bytes(value: &Node) -> Result<u64, yaml::Error> {
    let text = value.text().unwrap_or_default();
    let units = [("KB", 1000), ("MB", 1_000_000), ("B", 1)];
    let read = units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let number = read.and_then(|(number, size)| {
        yaml::canonical_number(number)?.checked_mul(size).filter(|n| *n <= MAX_FETCH_BYTES)
    });
    number.filter(|n| *n > 0).ok_or_else(|| value.error("expected bytes from `1B` to `64MB`"))
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

fn unreadable(path: &Path, problem: String) -> ConfiguredError {
    ConfiguredError::Unreadable { path: path.to_owned(), problem }
}

fn of_file(vault: &Path, path: &Path, purpose: &str) -> Result<Option<Program>, ConfiguredError> {
    let Some(entry) = entry_of(vault, path)? else { return Ok(None) };
    let Some(settings) = entry.get(purpose).filter(|settings| !settings.is_null()) else {
        return Ok(None);
    };
    program_of(settings).map(Some).map_err(|why| unreadable(path, why.to_string()))
}

/// Returns a sentence for each unknown key of the user's configuration, with the nearest known one.
/// Empty if the file cannot be read, which is reported when a program is looked up.
pub(crate) fn unknown_keys<'e>(vault: &Path, var: impl Fn(&str) -> Option<&'e str>) -> Vec<String> {
    let Some(path) = config_file(&var) else { return Vec::new() };
    let Ok(Some(root)) = root_of(vault, &path) else { return Vec::new() };
    let mut found = Vec::new();
    let mut look = |node: Option<&Node>, known: &[&str]| {
        let entries = node.and_then(Node::entries).unwrap_or_default().iter();
        let names = entries.filter_map(|(key, _)| key.text());
        for name in names.filter(|name| !known.contains(name)) {
            let near = nearest(name, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let name = name.escape_debug();
            found.push(format!("`{}` has the unknown key `{name}`{near}", path.display()));
        }
    };
    look(Some(&root), &["vaults"]);
    let Some(entry) = entry_in(&root, vault) else { return found };
    look(Some(entry), &[SEARCH, NOTIFY, SOURCES]);
    look(entry.get(SEARCH), &["command", "timeout"]);
    look(entry.get(NOTIFY), &["command", "timeout"]);
    for (_, settings) in entry.get(SOURCES).and_then(Node::entries).unwrap_or_default() {
        look(Some(settings), &["command", "timeout", "max_bytes", "env"]);
    }
    found
}

fn entry_of(vault: &Path, path: &Path) -> Result<Option<Node>, ConfiguredError> {
    Ok(root_of(vault, path)?.as_ref().and_then(|root| entry_in(root, vault)).cloned())
}

/// Returns the entry of the vault in a folder: `vaults: {PATH: ...}`.
fn entry_in<'r>(root: &'r Node, vault: &Path) -> Option<&'r Node> {
    let vaults = root.get("vaults").and_then(Node::entries).unwrap_or_default();
    let here = |key: &Node| key.text().is_some_and(|text| Path::new(text) == vault);
    vaults.iter().find(|(key, _)| here(key)).map(|(_, entry)| entry)
}

fn root_of(vault: &Path, path: &Path) -> Result<Option<Node>, ConfiguredError> {
    let fail = |problem: String| unreadable(path, problem);
    // The file may be a link, because some users keep all configuration in one place.
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(fail(why.to_string())),
    };
    // A process that can write to the vault must not be able to choose the program.
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
    yaml::parse(&text, Dialect::Format).map(Some).map_err(|why| fail(why.to_string()))
}

/// Parses `{command: [..], timeout: SECONDS}`.
fn program_of(settings: &Node) -> Result<Program, yaml::Error> {
    let argv = command_of(settings)?;
    let timeout = match settings.get("timeout") {
        None => DEFAULT_TIMEOUT,
        Some(value) => value
            .number()
            .filter(|seconds| (1..=MAX_SECONDS).contains(seconds))
            .map(Duration::from_secs)
            .ok_or_else(|| value.error(format!("expected seconds from 1 to {MAX_SECONDS}")))?,
    };
    Ok(Program { argv, timeout })
}

fn command_of(settings: &Node) -> Result<Vec<String>, yaml::Error> {
    let Some(command) = settings.get("command") else {
        return Err(settings.error("expected `command: [PROGRAM, ARGUMENT, ...]`"));
    };
    let words =
        command.items().unwrap_or_default().iter().map(|word| {
            word.text().map(str::to_owned).ok_or_else(|| word.error("expected a text"))
        });
    let argv = words.collect::<Result<Vec<String>, _>>()?;
    if argv.is_empty() {
        return Err(command.error("expected a list: the program and its arguments"));
    }
    Ok(argv)
}

/// Returns true if a file belongs to the user or the system, and other users cannot write to it.
fn is_ours(found: &fs::Metadata) -> bool {
    let owner = found.uid();
    found.is_file()
        && (owner == 0 || owner == rustix::process::geteuid().as_raw())
        && found.mode() & 0o002 == 0
}

/// Checks the rules for a program: an absolute path outside of the vault, even after links are
/// followed, to a file of the user or the system. No argument may be a file of the vault.
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
    fn environment_configures_a_search_program() {
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
    fn user_configuration_names_a_program_for_each_server() {
        let home = Home::new();
        let root = home.root.to_str().unwrap().to_owned();
        let of = |settings: &str| {
            let text = format!("vaults:\n  ~/vault:\n    sources:\n      jira: {settings}\n");
            home.config(&text);
            let var = |name: &str| (name == "HOME").then_some(root.as_str());
            let found = |server: &str| fetcher(&home.root.join("vault"), server, var);
            assert_eq!(found("hr").unwrap_or(None), None);
            match found("jira") {
                Ok(None) => "none".to_owned(),
                Ok(Some(Fetcher { program, max_bytes, env })) => {
                    format!(
                        "{} {:?} {max_bytes} {}",
                        program.argv.join("|"),
                        program.timeout,
                        env.join(",")
                    )
                }
                Err(why) => why.to_string(),
            }
            .replace(&root, "~")
        };
        assert_eq!(of("{command: [~/bin/search]}"), "~/bin/search 30s 10000000 ");
        let all = "{command: [~/bin/search, -x], timeout: 5s, max_bytes: 20KB, env: [TOKEN, A]}";
        assert_eq!(of(all), "~/bin/search|-x 5s 20000 TOKEN,A");
        assert_eq!(of("{command: [~/bin/search], timeout: 7}"), "~/bin/search 7s 10000000 ");
        assert_eq!(of(""), "none");
        for (settings, expected) in [
            ("{}", "expected `command: [PROGRAM, ARGUMENT, ...]`"),
            ("{command: [~/bin/search], timeout: 0s}", "expected seconds from 1s to 600s"),
            ("{command: [~/bin/search], timeout: 2m}", "expected seconds from 1s to 600s"),
            ("{command: [~/bin/search], max_bytes: 65MB}", "expected bytes from `1B` to `64MB`"),
            ("{command: [~/bin/search], max_bytes: 10}", "expected bytes from `1B` to `64MB`"),
            ("{command: [~/bin/search], env: TOKEN}", "expected a list of names of variables"),
            ("{command: [~/bin/search], env: ['A=b']}", "expected the name of a variable"),
            ("{command: [~/vault/search]}", "`~/vault/search` is not run: it is in the vault"),
        ] {
            let said = of(settings);
            assert!(said.ends_with(expected), "{settings}: {said}");
        }
    }

    #[test]
    fn user_configuration_names_a_program_for_one_vault() {
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
