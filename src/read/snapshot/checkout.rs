//! Writes the complete state of a checkpoint into an empty folder, after verifying every text.

use std::io;
use std::path::{Path, PathBuf};

use rayon::iter::Either;
use rayon::prelude::*;

use super::{Snapshot, Withheld};
use crate::files::vault::files::{FileError, Files};
use crate::files::vault::write::Written;
use crate::record::audit::{Text, Traced};
use crate::record::checkpoint::fault::LogError;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;

/// Reason why a checkpoint was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckoutError {
    /// The folder is not empty.
    #[error("the folder is not empty")]
    NotEmpty,
    /// The folder is inside the vault.
    #[error("the folder is in the vault")]
    Inside,
    /// The folder cannot be created or listed.
    #[error("cannot make or list the folder: {0}")]
    Folder(#[source] io::Error),
    /// The chain does not vouch for some artifacts. Nothing was written.
    #[error("{} cannot be read", crate::values::text_util::count(.0.len(), "artifact"))]
    Withheld(Vec<Withheld>),
    /// The record of the checkpoint cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Writing failed; the folder is incomplete.
    #[error("the folder is incomplete: {0}")]
    File(#[from] FileError),
}

/// A checkpoint whose texts are all verified, and the empty folder to write it to.
#[derive(Debug)]
pub struct Checkout<'s> {
    snapshot: &'s Snapshot<'s>,
    ids: Vec<&'s DocumentId>,
    dir: PathBuf,
}

/// Verifies every document and governance file of a checkpoint, to write them into a folder
/// that is empty or does not exist. Returns them with the texts that the access log records.
/// Writes nothing.
///
/// # Errors
/// Returns a [`CheckoutError`] if the checkpoint cannot be written.
pub fn checkout<'s>(
    snapshot: &'s Snapshot<'s>,
    dir: &Path,
) -> Result<Traced<Checkout<'s>>, CheckoutError> {
    let real = dir.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
    if real.starts_with(snapshot.vault.root()) {
        return Err(CheckoutError::Inside);
    }
    let is_empty = match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => true,
        Err(why) => return Err(CheckoutError::Folder(why)),
    };
    if !is_empty {
        return Err(CheckoutError::NotEmpty);
    }
    let ids: Vec<&DocumentId> = snapshot.state()?.iter().map(|(id, _)| id).collect();
    // Texts are not kept until they are written, because a vault may be larger than memory.
    let read = |id: &&DocumentId| match snapshot.get(id)? {
        Ok(served) => Some(Either::Left(served.origin().text(&served.text))),
        Err(withheld) => Some(Either::Right(withheld)),
    };
    let (texts, mut withheld): (Vec<Text>, Vec<Withheld>) =
        ids.par_iter().filter_map(read).partition_map(|either| either);
    withheld.append(&mut snapshot.lost_documents());
    if !withheld.is_empty() {
        return Err(CheckoutError::Withheld(withheld));
    }
    Ok(Traced::new(Checkout { snapshot, ids, dir: dir.to_owned() }, texts))
}

impl Checkout<'_> {
    /// Returns the number of files to write.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns true if the checkpoint is empty.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Writes the files, and verifies each once more.
    ///
    /// # Errors
    /// Returns a [`CheckoutError`] if not all files were written.
    pub fn write(self) -> Result<(), CheckoutError> {
        let Self { snapshot, ids, dir } = self;
        std::fs::create_dir_all(&dir).map_err(CheckoutError::Folder)?;
        let files = Files::open(&dir)?;
        let write = |id: &&DocumentId| match snapshot.get(id)? {
            Ok(served) => {
                let created = files.create_new(&id.live_path(), served.text.as_bytes());
                created.err().map(CheckoutError::File)
            }
            // The text was readable a moment ago.
            Err(withheld) => Some(CheckoutError::Withheld(vec![withheld])),
        };
        let failed = ids.par_iter().find_map_first(write);
        files.remove_empty_folder(layout::LOCAL_DIR);
        files.remove_empty_folder(layout::CONTEXT_DIR);
        if let Some(why) = failed {
            return Err(why);
        }
        let paths: Vec<String> = ids.iter().map(|id| id.live_path()).collect();
        let written: Vec<Written<'_>> = paths.iter().map(|path| Written::New(path)).collect();
        Ok(files.sync(&written)?)
    }
}
