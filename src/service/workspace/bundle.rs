//! The file of a bundle: outside of any vault, read within a limit and written in one step.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;

use super::Workspace;
use crate::files::vault::Vault;
use crate::prove::evidence::bundle::MAX_BUNDLE;
use crate::prove::evidence::staged::VisibleStaged;
use crate::record::audit::Labels;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::id::DocumentId;

impl Workspace<'_> {
    /// Returns the staged entries of a source that the reader may see, as evidence.
    ///
    /// # Errors
    /// The reason why they cannot be read.
    pub(crate) fn visible_staged(
        &self,
        vault: &Vault,
        labels: &Labels,
        source: &DocumentId,
    ) -> Result<VisibleStaged, String> {
        let (view, chains) =
            self.staged_whole(vault, labels, source).map_err(|why| why.to_string())?;
        let entries = view.visible().into_iter().cloned().collect();
        Ok(VisibleStaged { chains, entries })
    }
}

/// Reads the bytes of a bundle, at most one byte more than a bundle may have.
///
/// # Errors
/// The bytes cannot be read.
pub(crate) fn read(mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.by_ref().take(MAX_BUNDLE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file as a bundle (see [`read`]).
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |why| Failure::new(Code::Io, format!("cannot read `{}`: {why}", path.display()));
    File::open(path).and_then(read).map_err(failed)
}

/// Writes a bundle to a temporary file, syncs it, and renames it. `force` replaces an
/// existing file.
///
/// # Errors
/// The file exists, or cannot be written; nothing is left over in either case.
pub(crate) fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let failed = |why: io::Error| match why.kind() {
        io::ErrorKind::AlreadyExists if !force => exists(path),
        _ => Failure::new(Code::Io, format!("cannot write `{}`: {why}", path.display())),
    };
    check(path, force)?;
    let mut file = tempfile::Builder::new().prefix(".ctx-").tempfile_in(folder).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    let persisted = if force { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map_err(|why| failed(why.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// Checks that a bundle can be written to this path.
///
/// # Errors
/// The file exists and `force` is not set, or the path is a device, a pipe or a folder, which is
/// never replaced.
pub(crate) fn check(path: &Path, force: bool) -> Result<(), Failure> {
    let Ok(there) = path.symlink_metadata() else { return Ok(()) };
    if !force {
        return Err(exists(path));
    }
    if there.is_file() || there.is_symlink() {
        return Ok(());
    }
    let message = format!("`{}` is not a file, and is not replaced", path.display());
    Err(Failure::new(Code::Io, message).hint("`-o -` writes to stdout"))
}

fn exists(path: &Path) -> Failure {
    Failure::new(Code::Exists, format!("`{}` exists already", path.display()))
        .hint("`--force` replaces it")
}
