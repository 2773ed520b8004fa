//! The user's own directories: files that `ctx` keeps outside of a vault, where an attacker of the
//! vault cannot write (`spec/vault.md`, section 7).
//!
//! A vault's folder there is named after its canonical path and the branch that git has checked
//! out, so that a copy and another branch have folders of their own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use super::lock;
use crate::values::model::digest::Digest;

/// Name of our folder in the user's directories.
pub const OURS: &str = "contextnest";
/// File in a vault's folder of state that records which lines of the change log are ours.
pub const CHANGES: &str = "changes";
/// File in a vault's folder of state that records what git had checked out.
const MARK: &str = "checked-out";
/// Maximum size of a small file.
const SMALL_BYTES: u64 = 64 << 10;
/// Maximum number of bytes that are read of `HEAD` and other files with a ref name or a path.
const HEAD_BYTES: u64 = 16 << 10;

/// Returns the directory of caches from the environment: `XDG_CACHE_HOME`, else `HOME/.cache`.
pub fn cache_home<'e>(var: impl Fn(&str) -> Option<&'e str>) -> Option<PathBuf> {
    home(var, "XDG_CACHE_HOME", ".cache")
}

/// Returns the directory of state from the environment: `XDG_STATE_HOME`, else `HOME/.local/state`.
pub fn state_home<'e>(var: impl Fn(&str) -> Option<&'e str>) -> Option<PathBuf> {
    home(var, "XDG_STATE_HOME", ".local/state")
}

/// Returns our folder in the user's configuration: in `XDG_CONFIG_HOME`, else in `HOME/.config`.
pub fn config_folder<'e>(var: impl Fn(&str) -> Option<&'e str>) -> Option<PathBuf> {
    Some(home(var, "XDG_CONFIG_HOME", ".config")?.join(OURS))
}

/// Returns a base directory of the user. A path that is not absolute is ignored, as the XDG base
/// directory specification demands.
fn home<'e>(
    var: impl Fn(&str) -> Option<&'e str>,
    name: &str,
    beneath_home: &str,
) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let named = var(name).map(PathBuf::from).and_then(absolute);
    named.or_else(|| Some(absolute(var("HOME")?.into())?.join(beneath_home)))
}

/// Returns the folder of one vault and its checked-out branch in a directory of the user. No folder
/// is created.
pub fn folder_of(home: &Path, root: &Path, branch: Option<&str>) -> PathBuf {
    let mut key = root.as_os_str().as_encoded_bytes().to_vec();
    key.push(0);
    key.extend_from_slice(branch.unwrap_or_default().as_bytes());
    home.join(OURS).join(key_of(root) + &digits_of(&key))
}

/// Returns the common prefix of the names of all folders of one vault.
pub fn key_of(root: &Path) -> String {
    log_key_of(root) + "-"
}

/// Returns the name of the folder of a vault's access logs.
pub fn log_key_of(root: &Path) -> String {
    digits_of(root.as_os_str().as_encoded_bytes())
}

fn digits_of(key: &[u8]) -> String {
    Digest::of(key).to_string().chars().skip("sha256:".len()).take(24).collect()
}

/// The place where the head of a vault is trusted, in the user's directory of state.
#[derive(Clone, Debug)]
pub struct StateFolder {
    /// Path of the user's directory of state.
    pub home: PathBuf,
    /// Folder of this vault and of its checked-out branch.
    pub dir: PathBuf,
    /// Ref or commit that git has checked out; `None` without git.
    pub checked_out: Option<String>,
    /// Folder of the repository; `None` without git.
    pub repository: Option<PathBuf>,
}

/// The record in a folder of state of the time when it was written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Ref or commit that git had checked out.
    pub checked_out: Option<String>,
    /// Folder of the repository, with replacement characters for bytes that are not UTF-8.
    pub repository: Option<String>,
}

impl Mark {
    /// Reads the mark of a folder; `None` if it is missing or invalid.
    pub fn read(dir: &Path) -> Option<Self> {
        let text = read_start(&dir.join(MARK))?;
        let lines: Vec<&str> = text.strip_suffix('\n')?.split('\n').collect();
        let [checked_out, repository] = lines.as_slice() else { return None };
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Some(Self { checked_out: some(checked_out), repository: some(repository) })
    }
}

impl StateFolder {
    /// Returns the mark to write.
    pub fn mark(&self) -> Mark {
        let text = |path: &PathBuf| path.to_string_lossy().replace('\n', " ");
        Mark {
            checked_out: self.checked_out.clone(),
            repository: self.repository.as_ref().map(text),
        }
    }

    /// Writes the mark into the folder, which must exist, for a comparison after another checkout.
    ///
    /// # Errors
    /// The mark cannot be written.
    pub fn write_mark(&self) -> io::Result<()> {
        let mark = self.mark();
        if Mark::read(&self.dir).as_ref() == Some(&mark) {
            return Ok(());
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let text = format!("{}\n{}\n", text(&mark.checked_out), text(&mark.repository));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(self.dir.join(MARK))?.write_all(text.as_bytes())
    }
}

/// Returns 16 random bytes of the system.
pub fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        // Without flags the call blocks until the system has enough entropy.
        let got =
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty());
        filled += got.unwrap_or(0);
    }
    bytes
}

/// Returns true if a folder is in a vault, or will be when it is created.
pub fn lies_in(dir: &Path, root: &Path) -> bool {
    let real = dir.ancestors().find_map(|above| above.canonicalize().ok());
    real.is_none_or(|real| real.starts_with(root))
}

/// Creates a folder that only its owner may enter.
///
/// # Errors
/// The folder cannot be created.
pub fn make_private(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Creates a folder in a folder and removes it again.
///
/// # Errors
/// No folder can be created there.
#[cfg(feature = "mcp")]
pub(crate) fn try_folder_in(folder: &Path) -> io::Result<()> {
    let tried = folder.join(format!(".ctx-{}", std::process::id()));
    match fs::create_dir(&tried) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => Err(why),
        _ => fs::remove_dir(&tried),
    }
}

/// Opens an existing file for reading. A link or a special file is refused: a pipe would block
/// its reader.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().read(true), path)
}

/// Opens a file for reading and appending, and creates it with access for the owner only if it is
/// missing. Pipes and devices are refused, because bytes written to them are not a record.
///
/// # Errors
/// The file cannot be opened or created, or is not a regular file.
pub(crate) fn open_to_append(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().read(true).append(true).create(true).mode(0o600), path)
}

/// Opens a file for overwriting, and creates it with access for the owner only if it is missing.
///
/// # Errors
/// The file cannot be opened or created, or is not a regular file.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().write(true).create(true).truncate(false).mode(0o600), path)
}

/// A complete file that is not in its place yet.
#[cfg(feature = "mcp")]
#[must_use = "`put` puts the file into its place; without it the file is removed"]
pub(crate) struct Whole<'p> {
    file: tempfile::NamedTempFile,
    path: &'p Path,
    is_new: bool,
}

/// Writes a file next to the one that it replaces, or for a new path. It has the owner of the `old`
/// file and its mode under a mask. A new file is created with usual permissions, with the folders
/// above it.
///
/// # Errors
/// The file cannot be written.
#[cfg(feature = "mcp")]
pub(crate) fn whole<'p>(
    path: &'p Path,
    bytes: &[u8],
    (old, mask): (Option<&fs::Metadata>, u32),
) -> io::Result<Whole<'p>> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let folder = folder_above(path);
    let mut options = tempfile::Builder::new();
    options.prefix(".ctx-");
    let new = fs::Permissions::from_mode(0o666 & mask);
    if old.is_none() {
        fs::create_dir_all(folder)?;
        // The system subtracts the user's mask.
        options.permissions(new);
    }
    let mut file = options.tempfile_in(folder)?;
    if let Some(old) = old {
        // Only the superuser may give files away; otherwise the writer becomes owner.
        let _ = std::os::unix::fs::fchown(file.as_file(), Some(old.uid()), Some(old.gid()));
        let mode = old.permissions().mode() & mask;
        file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    }
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(Whole { file, path, is_new: old.is_none() })
}

#[cfg(feature = "mcp")]
impl Whole<'_> {
    /// Puts the file into its place; a reader sees either the old file or this one.
    ///
    /// # Errors
    /// The file cannot be put there, or a file exists although none did before.
    pub(crate) fn put(self) -> io::Result<()> {
        let Self { file, path, is_new } = self;
        match is_new {
            false => file.persist(path).map_err(|why| why.error)?,
            true => file.persist_noclobber(path).map_err(|why| why.error)?,
        };
        File::open(folder_above(path))?.sync_all()
    }
}

/// Returns the folder of a file, which may not exist.
#[cfg(feature = "mcp")]
pub(crate) fn folder_above(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = options.custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Err(io::Error::other(format!("`{name}` is not a regular file")))
        }
    }
}

/// Creates a folder that only its owner may enter, if it is missing, and waits for the turn at it.
/// The turn ends when the returned file is dropped.
///
/// # Errors
/// The folder cannot be created, or another process has kept the turn for longer than `patience`.
pub(crate) fn take_turn(dir: &Path, patience: Duration) -> io::Result<File> {
    make_private(dir)?;
    take_turn_at(dir, patience)
}

/// Waits for the turn at an existing folder. The folder itself is locked: no file is created in it.
///
/// # Errors
/// The errors of [`take_turn`].
pub(crate) fn take_turn_at(dir: &Path, patience: Duration) -> io::Result<File> {
    lock::turn(File::open(dir)?, patience)
}

/// Returns the ref, or else the commit, that is checked out in the repository of a folder; `None`
/// without git.
pub fn checked_out(root: &Path) -> Option<String> {
    let head = git_head(root)?;
    Some(head.strip_prefix("ref:").unwrap_or(&head).trim().to_owned())
}

/// Returns the folder with the data of the repository of a folder. A `.git` that git would not
/// accept does not hide a repository above it.
pub fn repository(root: &Path) -> Option<PathBuf> {
    work_tree(root).map(|(_, data)| data)
}

/// Returns the folder whose `.git` names the repository of a folder, and the data of
/// the repository.
pub fn work_tree(root: &Path) -> Option<(&Path, PathBuf)> {
    let dirs = root.ancestors().filter_map(|dir| {
        let dot_git = dir.join(".git");
        // In a worktree or a submodule, `.git` is a file that names the folder.
        let data = match read_start(&dot_git) {
            Some(text) => dir.join(text.strip_prefix("gitdir:")?.trim()),
            None => dot_git,
        };
        Some((dir, data))
    });
    let is_repository = |(_, dir): &(&Path, PathBuf)| {
        let data = common(dir);
        dir.join("HEAD").exists() && data.join("objects").is_dir() && data.join("refs").is_dir()
    };
    dirs.into_iter().find(is_repository)
}

/// Returns the folder with the data that all work trees of a repository share.
pub fn common(data: &Path) -> PathBuf {
    match read_start(&data.join("commondir")) {
        Some(text) => data.join(text.trim()),
        None => data.to_owned(),
    }
}

/// Reads a small file of the user or of a repository; `None` if it is missing, a link or too long.
pub fn read_small(path: &Path) -> Option<Vec<u8>> {
    let (mut bytes, limit) = (Vec::new(), SMALL_BYTES);
    open_regular(path).ok()?.take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some(bytes)
}

/// Returns the ref or the commit that `HEAD` names; any other content is not quoted.
fn git_head(root: &Path) -> Option<String> {
    let text = read_start(&repository(root)?.join("HEAD"))?;
    let head = text.trim();
    let is_commit = matches!(head.len(), 40 | 64) && head.bytes().all(|b| b.is_ascii_hexdigit());
    let is_ref = head.strip_prefix("ref:").is_some_and(|name| {
        name.trim().starts_with("refs/") && !name.contains(|c: char| c.is_control())
    });
    (is_commit || is_ref).then(|| head.to_owned())
}

/// Returns the beginning of a small file; `None` if it is a link or not a regular file.
fn read_start(path: &Path) -> Option<String> {
    if !path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(HEAD_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes a repository, not a vault")]
mod tests {
    use super::*;

    #[test]
    fn relative_user_directories_are_ignored() {
        let home = |vars: &[(&str, &'static str)]| {
            let vars = vars.to_vec();
            cache_home(|name| Some(vars.iter().find(|(n, _)| *n == name)?.1))
        };
        assert_eq!(home(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]), Some("/c".into()));
        assert_eq!(home(&[("XDG_CACHE_HOME", "c"), ("HOME", "/h")]), Some("/h/.cache".into()));
        assert_eq!(home(&[("HOME", "h")]), None);
        assert_eq!(home(&[]), None);
    }

    #[test]
    fn pipes_links_and_devices_are_neither_read_nor_written() {
        let place = tempfile::tempdir().unwrap();
        let (pipe, link) = (place.path().join("pipe"), place.path().join("link"));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        for path in [&pipe, &link, Path::new("/dev/null")] {
            assert!(open_to_append(path).is_err() && open_regular(path).is_err(), "{path:?}");
        }
        let why = open_to_append(&pipe).unwrap_err();
        assert_eq!(why.to_string(), "`pipe` is not a regular file");
        open_to_append(&place.path().join("file")).unwrap();
        open_regular(&place.path().join("file")).unwrap();
    }

    #[test]
    fn cache_folders_in_a_vault_are_detected() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("vault");
        fs::create_dir(&root).unwrap();
        std::os::unix::fs::symlink(&root, place.path().join("link")).unwrap();
        assert!(lies_in(&root.join("caches/x"), &root));
        assert!(lies_in(&place.path().join("link/caches"), &root));
        assert!(!lies_in(&place.path().join("caches"), &root));
    }

    #[test]
    fn another_path_or_branch_has_its_own_trusted_head() {
        let place = tempfile::tempdir().unwrap();
        let (home, vault) = (place.path().join("cache"), place.path().join("repo/docs"));
        for folder in ["objects", "refs"] {
            fs::create_dir_all(place.path().join("repo/.git").join(folder)).unwrap();
        }
        fs::create_dir_all(&vault).unwrap();
        let on = |head: &str| {
            fs::write(place.path().join("repo/.git/HEAD"), head).unwrap();
            folder_of(&home, &vault, checked_out(&vault).as_deref())
        };
        let main = on("ref: refs/heads/main\n");
        assert_ne!(main, on("ref: refs/heads/topic\n"));
        assert_eq!(main, on("ref: refs/heads/main\n"));
        assert_ne!(main, folder_of(&home, &place.path().join("repo"), Some("refs/heads/main")));
        assert!(main.starts_with(home.join(OURS)));

        let tree = place.path().join("tree");
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(place.path().join("repo/.git/worktrees/t")).unwrap();
        fs::write(tree.join(".git"), "gitdir: ../repo/.git/worktrees/t\n").unwrap();
        let worktree = place.path().join("repo/.git/worktrees/t");
        fs::write(worktree.join("commondir"), "../..\n").unwrap();
        fs::write(worktree.join("HEAD"), "ref: refs/heads/w\n").unwrap();
        assert_eq!(checked_out(&tree).as_deref(), Some("refs/heads/w"));
        let commit = "0123456789abcdef0123456789abcdef01234567";
        fs::write(worktree.join("HEAD"), format!("{commit}\n")).unwrap();
        assert_eq!(checked_out(&tree).as_deref(), Some(commit));
        fs::write(worktree.join("HEAD"), "ref: \u{1b}[31m\n").unwrap();
        assert_eq!(checked_out(&tree), None);
    }

    #[test]
    fn invalid_git_folders_do_not_hide_a_repository_above() {
        let place = tempfile::tempdir().unwrap();
        let docs = place.path().join("docs");
        for folder in [".git/objects", ".git/refs", "docs/.git"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        fs::write(place.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(docs.join(".git/HEAD"), "ref: refs/heads/planted\n").unwrap();
        assert_eq!(checked_out(&docs).as_deref(), Some("refs/heads/main"));
        // A link is not followed, so nothing outside is quoted.
        fs::remove_file(place.path().join(".git/HEAD")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", place.path().join(".git/HEAD")).unwrap();
        assert_eq!(checked_out(&docs), None);
    }
}
