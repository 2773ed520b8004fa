//! Writing the whole state of a checkpoint into an empty folder, every text verified first.

use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::{Snapshot, Withheld};
use crate::audit::{Text, Traced};
use crate::checkpoint::fault::LogError;
use crate::model::id::DocumentId;
use crate::model::layout;
use crate::vault::files::{FileError, Files};
use crate::vault::write::Written;

/// Why a checkpoint was not written out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckoutError {
    /// Something is in the folder.
    #[error("the folder is not empty")]
    NotEmpty,
    /// The folder is in the vault itself.
    #[error("the folder is in the vault")]
    Inside,
    /// The folder cannot be made or listed.
    #[error("cannot make or list the folder: {0}")]
    Folder(#[source] io::Error),
    /// The chain does not vouch for some artifacts. Nothing was written.
    #[error("{} cannot be read", crate::words::count(.0.len(), "artifact"))]
    Withheld(Vec<Withheld>),
    /// What the checkpoint records cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Writing failed; the folder is incomplete.
    #[error("the folder is incomplete: {0}")]
    File(#[from] FileError),
}

/// Writes every document and governance file of a checkpoint into a folder that is empty or not
/// there. All of them are verified before the first is written; gives back how many there are, and what the
/// access log says of them.
///
/// # Errors
/// See [`CheckoutError`].
pub fn checkout(snapshot: &Snapshot<'_>, dir: &Path) -> Result<Traced<usize>, CheckoutError> {
    let real = dir.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
    if real.starts_with(snapshot.vault.root()) {
        return Err(CheckoutError::Inside);
    }
    std::fs::create_dir_all(dir).map_err(CheckoutError::Folder)?;
    if std::fs::read_dir(dir).map_err(CheckoutError::Folder)?.next().is_some() {
        return Err(CheckoutError::NotEmpty);
    }
    let ids: Vec<&DocumentId> = snapshot.state()?.iter().map(|(id, _)| id).collect();
    // Texts are not kept between the two passes: a vault may be larger than memory.
    let withheld: Vec<Withheld> = ids.par_iter().filter_map(|id| snapshot.get(id)?.err()).collect();
    if !withheld.is_empty() {
        return Err(CheckoutError::Withheld(withheld));
    }
    let files = Files::open(dir)?;
    let write = |id: &&DocumentId| match snapshot.get(id)? {
        Ok(served) => {
            let created = files.create_new(&id.live_path(), served.text.as_bytes());
            Some(created.map(|()| served.origin().text(&served.text)).map_err(CheckoutError::File))
        }
        // It could be read a moment ago.
        Err(withheld) => Some(Err(CheckoutError::Withheld(vec![withheld]))),
    };
    let written: Result<Vec<Text>, CheckoutError> = ids.par_iter().filter_map(write).collect();
    files.remove_empty_folder(layout::LOCAL_DIR);
    files.remove_empty_folder(layout::CONTEXT_DIR);
    let texts = written?;
    let paths: Vec<String> = ids.iter().map(|id| id.live_path()).collect();
    let written: Vec<Written<'_>> = paths.iter().map(|path| Written::New(path)).collect();
    files.sync(&written)?;
    Ok(Traced::new(ids.len(), texts))
}
