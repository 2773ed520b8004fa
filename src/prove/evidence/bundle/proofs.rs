//! Selection of the texts that a bundle must prove, and their derivation from versions (EVID-15).

use std::collections::BTreeMap;

use super::manifest::{Scope, TextRef, VersionRef};
use super::pieces::pieces;
use crate::files::vault::Vault;
use crate::prove::evidence::replay::id_of;
use crate::read::snapshot::{Served, Snapshot};
use crate::record::audit::{Event, RawLine, Text};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// A text of a line that the bundle must prove.
pub(super) struct WantedText<'l> {
    line: usize,
    document: usize,
    pub(super) text: &'l Text,
    /// `None` if the line does not name a document of this vault.
    pub(super) id: Option<DocumentId>,
}

/// Returns the texts that the bundle must prove. A bundle of one document proves
/// only its own texts.
pub(super) fn wanted_texts<'l>(
    vault: &Vault,
    scope: &Scope,
    lines: &'l [RawLine],
) -> Vec<WantedText<'l>> {
    let mut wanted = Vec::new();
    for (line, raw) in lines.iter().enumerate() {
        let Event::Access(access) = &raw.line.event else { continue };
        for (document, text) in access.documents.iter().enumerate() {
            let id = id_of(vault, text);
            let named = id.as_ref().map(DocumentId::as_str);
            if !matches!(scope, Scope::Document(of) if named != Some(of)) {
                wanted.push(WantedText { line: line + 1, document: document + 1, text, id });
            }
        }
    }
    wanted
}

/// Returns the derivation of each text from a version of the bundle, in the order of the lines.
/// Texts whose version is not in the bundle are skipped.
pub(super) fn proofs(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    texts: &[WantedText<'_>],
    versions: &[VersionRef],
) -> Vec<TextRef> {
    let places: BTreeMap<(&str, u64), usize> =
        versions.iter().zip(1..).map(|(v, n)| ((v.id.as_str(), v.version), n)).collect();
    let mut by_checkpoint: BTreeMap<u64, Vec<(&WantedText<'_>, &DocumentId, usize)>> =
        BTreeMap::new();
    for wanted in texts {
        let Some((id, checkpoint)) = wanted.id.as_ref().zip(wanted.text.checkpoint) else {
            continue;
        };
        if let Some(version) = places.get(&(id.as_str(), wanted.text.version)) {
            by_checkpoint.entry(checkpoint).or_default().push((wanted, id, *version));
        }
    }
    let mut proofs = Vec::new();
    // The state of one checkpoint is as large as the vault, so only one is kept in memory.
    for (checkpoint, wanted) in by_checkpoint {
        let snapshot = Snapshot::whole(vault, chronicle, Some(CheckpointNumber(checkpoint)));
        let snapshot = snapshot.ok().map(Snapshot::explaining);
        let mut known: BTreeMap<&DocumentId, Option<Served>> = BTreeMap::new();
        for (WantedText { line, document, text, .. }, id, version) in wanted {
            let get = || snapshot.as_ref().and_then(|snapshot| snapshot.get(id)?.ok());
            let served = known.entry(id).or_insert_with(get).as_ref();
            let served = served.filter(|served| served.entry.version == Version(text.version));
            let pieces = pieces(served, text);
            proofs.push(TextRef { line: *line, document: *document, version, pieces });
        }
    }
    proofs.sort_by_key(|proof| (proof.line, proof.document));
    proofs
}
