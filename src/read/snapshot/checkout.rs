//! Writing the whole state of a checkpoint into an empty folder, every text verified first.

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
    #[error("{} cannot be read", crate::values::text_util::count(.0.len(), "artifact"))]
    Withheld(Vec<Withheld>),
    /// What the checkpoint records cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Writing failed; the folder is incomplete.
    #[error("the folder is incomplete: {0}")]
    File(#[from] FileError),
}

/// A checkpoint whose every text was verified, and the empty folder that it is written into.
#[derive(Debug)]
pub struct Checkout<'s> {
    snapshot: &'s Snapshot<'s>,
    ids: Vec<&'s DocumentId>,
    dir: PathBuf,
}

/// Verifies every document and governance file of a checkpoint, which are to be written into a folder
/// that is empty or not there; gives them with what the access log says of them. Nothing is written.
///
/// # Errors
/// See [`CheckoutError`].
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
    // Texts are not kept until they are written: a vault may be larger than memory.
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
    /// How many files are written.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the checkpoint holds nothing.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Writes the files, each verified once more.
    ///
    /// # Errors
    /// See [`CheckoutError`].
    pub fn write(self) -> Result<(), CheckoutError> {
        let Self { snapshot, ids, dir } = self;
        std::fs::create_dir_all(&dir).map_err(CheckoutError::Folder)?;
        let files = Files::open(&dir)?;
        let write = |id: &&DocumentId| match snapshot.get(id)? {
            Ok(served) => {
                let created = files.create_new(&id.live_path(), served.text.as_bytes());
                created.err().map(CheckoutError::File)
            }
            // It could be read a moment ago.
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
