//! The files of a vault as git has them: the names in memory, and contents that are read from git
//! when they are needed. Nothing is written, and the files in the folder are not read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};

use rustix::io::Errno;

/// Returns the content of a blob; `None` if it is longer than a limit.
type Read = dyn Fn(&str, u64) -> io::Result<Option<Vec<u8>>> + Send + Sync;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    Link,
    File,
    /// A fifo, a socket or a device.
    Special,
}

/// Returns the path of a name in a folder; the root has an empty path.
pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The files of a vault in an index or a commit of git. Errors are those of the file system: a link
/// is `ELOOP`, and a folder in place of a file `EISDIR`.
pub(crate) struct Tree {
    /// Entries whose paths are UTF-8, with the names of their objects.
    nodes: HashMap<String, (Kind, String)>,
    folders: HashMap<String, Vec<Name>>,
    read: Box<Read>,
}

/// A name in a folder.
#[derive(Clone)]
pub(super) struct Name {
    /// The name; if it is not UTF-8, with replacement characters.
    pub(super) name: String,
    pub(super) is_text: bool,
    pub(super) kind: Kind,
}

impl Tree {
    const LINK: &str = "120000";
    const SUBMODULE: &str = "160000";

    /// Makes a tree of entries, each with its mode, object and path. `read` returns the content of
    /// an object.
    pub(crate) fn new<'e>(
        entries: impl IntoIterator<Item = (&'e str, &'e str, &'e [u8])>,
        read: impl Fn(&str, u64) -> io::Result<Option<Vec<u8>>> + Send + Sync + 'static,
    ) -> Self {
        let folders = HashMap::from([(String::new(), Vec::new())]);
        let mut tree = Self { nodes: HashMap::new(), folders, read: Box::new(read) };
        entries.into_iter().for_each(|(mode, object, path)| tree.add(mode, object, path));
        tree
    }

    fn add(&mut self, mode: &str, object: &str, path: &[u8]) {
        let mut folder = String::new();
        let mut names = path.split(|byte| *byte == b'/').peekable();
        while let Some(name) = names.next() {
            let kind = match (names.peek(), mode) {
                (Some(_), _) | (None, Self::SUBMODULE) => Kind::Folder,
                (None, Self::LINK) => Kind::Link,
                (None, _) => Kind::File,
            };
            let shown = String::from_utf8_lossy(name);
            let is_text = matches!(shown, Cow::Borrowed(_));
            let at = joined(&folder, &shown);
            if !self.nodes.contains_key(&at) {
                let listed = self.folders.entry(folder).or_default();
                listed.push(Name { name: shown.into_owned(), is_text, kind });
            }
            // Nothing in a folder without a valid name is read.
            if !is_text {
                return;
            }
            self.nodes.entry(at.clone()).or_insert_with(|| (kind, object.to_owned()));
            if kind == Kind::Folder {
                self.folders.entry(at.clone()).or_default();
            }
            folder = at;
        }
    }

    /// Returns the kind of the entry at a path.
    pub(super) fn kind(&self, path: &str) -> Option<Kind> {
        match path {
            "" | "." => Some(Kind::Folder),
            path => self.nodes.get(path).map(|(kind, _)| *kind),
        }
    }

    /// Returns the names in a folder.
    pub(super) fn names(&self, folder: &str) -> Result<&[Name], Errno> {
        let at = if folder == "." { "" } else { folder };
        self.folders.get(at).map(Vec::as_slice).ok_or_else(|| self.absent(folder))
    }

    /// Reads a whole file; `None` if it has more than `limit` bytes.
    pub(super) fn read(&self, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        match self.nodes.get(path) {
            Some((Kind::File, object)) => (self.read)(object, limit),
            Some((Kind::Link, _)) => Err(Errno::LOOP.into()),
            Some(_) => Err(Errno::ISDIR.into()),
            None => Err(self.absent(path).into()),
        }
    }

    /// Returns the error of a path without an entry.
    fn absent(&self, path: &str) -> Errno {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let first = ends.map(|end| &path[..end]).find_map(|above| match self.kind(above)? {
            Kind::Folder => None,
            kind => Some(kind),
        });
        match first {
            Some(Kind::Link) => Errno::LOOP,
            Some(_) => Errno::NOTDIR,
            None => Errno::NOENT,
        }
    }
}

/// Returns a file without a name that has some content.
pub(super) fn nameless(bytes: &[u8]) -> io::Result<File> {
    let mut file = empty()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Creates a file in memory, or a temporary one where the system has none in memory.
fn empty() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = rustix::fs::memfd_create("ctx", rustix::fs::MemfdFlags::CLOEXEC) {
        return Ok(file.into());
    }
    tempfile::tempfile()
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tree").field(&self.nodes.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::{FileError, Files};
    use super::*;

    #[test]
    fn a_tree_answers_as_a_folder_does() {
        let entries: [(&str, &str, &[u8]); 6] = [
            ("100644", "12345", b"a/b/c"),
            ("100755", "x", b"a/d"),
            ("120000", "y", b"a/link"),
            ("160000", "z", b"sub"),
            ("100644", "w", b"a/\xff/e"),
            ("100644", "w", b"\xff"),
        ];
        let read = |object: &str, limit: u64| {
            Ok(Some(object.as_bytes().to_vec()).filter(|bytes| bytes.len() as u64 <= limit))
        };
        let dir = tempfile::tempdir().unwrap();
        let files = Files::of_tree(dir.path(), Tree::new(entries, read)).unwrap();
        assert_eq!(files.read("a/b/c", 5).unwrap(), b"12345");
        assert_eq!(files.read_at("a/b/c", 1, 3).unwrap(), b"234");
        assert_eq!(files.stamp("a/b/c").unwrap().length, 5);
        assert!(matches!(files.read("a/b/c", 4), Err(FileError::TooLarge { limit: 4, .. })));
        assert!(matches!(files.read("a/b", 5), Err(FileError::NotRegular { .. })));
        assert!(matches!(files.read("a/link", 5), Err(FileError::Link { .. })));
        assert!(matches!(files.read("a/link/x", 5), Err(FileError::Link { .. })));
        assert!(files.read("../a", 5).unwrap_err().is_not_found());
        assert!(files.read_optional("a/d/e", 5).unwrap().is_none());
        assert!(files.exists("a/link") && !files.is_file("a/link") && files.is_folder("sub"));
        assert!(files.is_folder("") && files.is_folder(".") && files.folder("a").is_none());
        let mut names = files.names("a").unwrap();
        names.sort_unstable();
        assert_eq!(names, ["b", "d", "link"]);
        assert_eq!(files.names("").unwrap(), ["a", "sub"]);
        assert!(files.names("b").unwrap_err().is_not_found());
        assert!(files.names("a/d").unwrap_err().is_absent());
    }
}
