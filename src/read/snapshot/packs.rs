//! Packs and vault names in the governance files that a checkpoint seals. Their texts are verified
//! like any other; live files are not read.

use std::collections::HashMap;

use crate::files::vault::federation::{Authorities, TAKEN};
use crate::record::chain::error::ChainError;
use crate::text::pack::{self, Pack, PackProblem};
use crate::text::uri::Uri;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::text_util::nearest_name;

use super::{Snapshot, Withheld};

/// A pack that a checkpoint seals.
#[derive(Clone, Debug)]
pub struct SealedPack {
    /// Pack file.
    pub file: DocumentId,
    /// Version of the file.
    pub version: Version,
    /// Parsed pack.
    pub pack: Pack,
}

/// A sealed file that cannot be used as a pack.
#[derive(Clone, Debug)]
pub struct Unusable {
    /// Pack file.
    pub file: DocumentId,
    /// Id that the file claims.
    pub id: Option<String>,
    /// First fatal problem.
    pub why: PackProblem,
}

/// All packs that a checkpoint seals.
#[derive(Debug, Default)]
pub struct Packs {
    /// Usable packs, in byte order of their files.
    pub usable: Vec<SealedPack>,
    /// Files with content that is not valid for a pack.
    pub unusable: Vec<Unusable>,
    /// Files that the chain does not vouch for.
    pub withheld: Vec<Withheld>,
    /// Indexes of an id in `usable`, because a selector may name very many of very many packs.
    places: HashMap<String, Vec<usize>>,
}

/// Reason why no pack has a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// No sealed file has this id.
    #[error("checkpoint {checkpoint} does not seal a pack `{}`", .id.escape_debug())]
    Unknown {
        /// Requested id.
        id: String,
        /// Checkpoint that was asked.
        checkpoint: CheckpointNumber,
        /// Most similar id of a pack.
        near: Option<String>,
    },
    /// Several files have this id.
    #[error("`{first}` and `{second}` both have the id `{}`", .id.escape_debug())]
    Twice {
        /// The id.
        id: String,
        /// First file.
        first: DocumentId,
        /// Second file.
        second: DocumentId,
    },
    /// The file cannot be used.
    #[error("`{file}`, line {}, column {}: {}", .why.line, .why.column, .why.kind)]
    Unusable {
        /// Pack file.
        file: DocumentId,
        /// Fatal problem.
        why: PackProblem,
    },
    /// A file is withheld, and may be the requested one.
    #[error("`{file}` is withheld, which may be the pack `{}`: {why}", .id.escape_debug())]
    Withheld {
        /// Requested id.
        id: String,
        /// Withheld file.
        file: DocumentId,
        /// Reason why it is withheld.
        why: String,
    },
}

impl Snapshot<'_> {
    /// Returns the packs that the checkpoint seals.
    ///
    /// # Errors
    /// Fails if the configuration is withheld, because it decides how their URIs are read.
    pub fn packs(&self) -> Result<Packs, Withheld> {
        let files = self.pack_files()?;
        let mut packs = Packs { withheld: self.lost_rules(), ..Packs::default() };
        if files.is_empty() {
            return Ok(packs);
        }
        let authorities = self.authorities()?;
        for file in files {
            let served = match self.get(&file) {
                Some(Ok(served)) => served,
                Some(Err(withheld)) => {
                    packs.withheld.push(withheld);
                    continue;
                }
                None => continue,
            };
            let version = served.entry.version;
            let reading = pack::read(&served.text, &authorities);
            let fatal = reading.problems.into_iter().find(PackProblem::is_fatal);
            match (reading.pack, fatal) {
                (Some(pack), _) => {
                    let places = packs.places.entry(pack.id.clone()).or_default();
                    places.push(packs.usable.len());
                    packs.usable.push(SealedPack { file, version, pack });
                }
                (None, Some(why)) => packs.unusable.push(Unusable { file, id: reading.id, why }),
                (None, None) => {}
            }
        }
        Ok(packs)
    }

    fn pack_files(&self) -> Result<Vec<DocumentId>, Withheld> {
        let prefix = format!("{}/", layout::PACKS);
        let indexed = self.indexed(|at| {
            let rows = at.holding(at.of_folder(&prefix)?)?;
            rows.iter().map(|row| Ok(at.held(row)?.id)).collect::<Result<Vec<DocumentId>, _>>()
        });
        let mut files = match indexed {
            Some(files) => files,
            None => match self.state() {
                Ok(state) => state.iter().map(|(id, _)| id.clone()).collect(),
                Err(why) => {
                    let (id, why) = (DocumentId::config(), ChainError::Log(Box::new(why)));
                    return Err(Withheld::new(self.vault, &id, why));
                }
            },
        };
        files.retain(DocumentId::is_pack);
        files.sort_unstable();
        Ok(files)
    }

    /// Returns the URI of a document at the checkpoint; `None` for the few ids that URIs
    /// cannot name.
    pub(super) fn uri(&self, id: &DocumentId) -> Option<Uri> {
        let uri = Uri::pinned(id.clone(), self.checkpoint());
        // No vault has the name of a folder of the structured layout, so most ids need no lookup.
        let first = id.as_str().split_once('/').map(|(first, _)| first);
        if !id.is_document() || first.is_none_or(|first| TAKEN.contains(&first)) {
            return uri.within(&Authorities::default());
        }
        let names = self.names.get_or_init(|| self.authorities().ok());
        uri.within(names.as_ref()?)
    }

    /// Returns the names of vaults in URIs: those of the configuration that the checkpoint seals,
    /// or of the live one if none was ever sealed.
    ///
    /// # Errors
    /// Fails if the configuration is withheld.
    pub fn authorities(&self) -> Result<Authorities, Withheld> {
        let sealed = self.sealed_config()?.map(|config| config.authorities.clone());
        Ok(sealed.unwrap_or_else(|| self.vault.config().authorities.clone()))
    }
}

impl Packs {
    /// Returns the pack with this id.
    ///
    /// # Errors
    /// Fails if there is none, more than one, or it is unusable.
    pub fn find(&self, id: &str, checkpoint: CheckpointNumber) -> Result<&SealedPack, PackError> {
        let places = self.places.get(id).into_iter().flatten();
        let mut found = places.filter_map(|n| self.usable.get(*n));
        let unusable = || self.unusable.iter().find(|sealed| sealed.id.as_deref() == Some(id));
        let (first, second) = (found.next(), found.next());
        let id = || id.to_owned();
        match (first, second) {
            (Some(one), Some(other)) => {
                let (first, second) = (one.file.clone(), other.file.clone());
                Err(PackError::Twice { id: id(), first, second })
            }
            (Some(one), None) => Ok(one),
            (None, _) => Err(match (unusable(), self.withheld.first()) {
                (Some(Unusable { file, why, .. }), _) => {
                    PackError::Unusable { file: file.clone(), why: why.clone() }
                }
                (None, Some(Withheld { id: file, why })) => {
                    PackError::Withheld { id: id(), file: file.clone(), why: why.to_string() }
                }
                (None, None) => {
                    let known = self.usable.iter().map(|sealed| sealed.pack.id.as_str());
                    let near = nearest_name(&id(), known, '.').map(str::to_owned);
                    PackError::Unknown { id: id(), checkpoint, near }
                }
            }),
        }
    }
}
