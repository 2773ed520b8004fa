//! The texts that were handed out: each from the bytes of a proved version (EVID-21).

use std::collections::BTreeMap;

use super::super::manifest::{Manifest, TextRef, text_path};
use super::lines::{Lines, wanted};
use super::versions::Versions;
use super::{Files, Item, Judged, Kind, Verdict, contradicted, not_proved};
use crate::audit::{Part, Text};
use crate::model::digest::Digest;

/// No more bytes are hashed; equal texts of a version are hashed once. So a small bundle, whose lines
/// name a long text very often, does not hold a verifier.
const MAX_HASHED: u64 = 4 << 30;

/// A version of the bundle, and the pieces of its text.
type Pieces<'m> = (usize, &'m [[u64; 2]]);

/// The sizes and hashes of the texts that were hashed.
#[derive(Default)]
struct Hashed<'m> {
    found: BTreeMap<Pieces<'m>, (u64, String)>,
    bytes: u64,
}

impl<'m> Hashed<'m> {
    /// The size and the hash of the pieces of a version's text; none of too many bytes.
    fn of(
        &mut self,
        pieces: Pieces<'m>,
        joined: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Result<Option<(u64, String)>, (Verdict, String)> {
        if let Some(found) = self.found.get(&pieces) {
            return Ok(Some(found.clone()));
        }
        if self.bytes > MAX_HASHED {
            return not_proved("the texts before it have more bytes than a verifier hashes");
        }
        let Some(bytes) = joined() else { return Ok(None) };
        let found = (bytes.len() as u64, Digest::of(&bytes).to_string());
        self.bytes += found.0;
        self.found.insert(pieces, found.clone());
        Ok(Some(found))
    }
}

/// What the bundle proves of each text of its lines.
pub(super) fn items(
    manifest: &Manifest,
    files: &Files<'_>,
    lines: &Lines,
    versions: &Versions,
) -> Vec<Item> {
    let proofs: BTreeMap<(usize, usize), &TextRef> =
        manifest.texts.iter().map(|text| ((text.line, text.document), text)).collect();
    let (mut items, mut hashed) = (Vec::new(), Hashed::default());
    for (n, line, verdict) in lines.read_lines() {
        for (document, text) in wanted(&manifest.scope, line).unwrap_or_default() {
            let proof = proofs.get(&(n, document)).copied();
            let judged =
                judge((manifest, files, versions), text, proof, &mut hashed).and_then(|()| {
                    match verdict {
                        Verdict::Proved => Ok(()),
                        _ => not_proved("the line is not proved"),
                    }
                });
            let name = format!("{}#{document}", line.trace());
            items.push(Item::new(Kind::Text, name, judged));
        }
    }
    items
}

fn judge<'m>(
    (manifest, files, versions): (&'m Manifest, &Files<'_>, &Versions),
    text: &Text,
    proof: Option<&'m TextRef>,
    hashed: &mut Hashed<'m>,
) -> Judged {
    let unprovable = |why: &str| Err((Verdict::Unprovable, why.to_owned()));
    let Some(checkpoint) = text.checkpoint else {
        return unprovable("the line names no checkpoint for it");
    };
    let version = proof.and_then(|proof| {
        let version = manifest.versions.get(proof.version.checked_sub(1)?)?;
        Some((proof, version))
    });
    let Some((proof, version)) = version else {
        return not_proved("the bundle does not have the version");
    };
    if !text.is_of(&version.id) {
        return contradicted(format!("it is of another document than {}", version.id));
    }
    if text.version != version.version {
        return contradicted(format!("it is of version {}", text.version));
    }
    let Some(entry) = versions.entry(proof.version) else {
        return not_proved("the version is not proved");
    };
    if entry.chain_hash.to_string() != text.chain_hash {
        return contradicted("the version has another chain hash");
    }
    if !is_recorded(text, &entry.edited_by, &entry.edited_at.to_string()) {
        return contradicted("another person recorded the version, or at another time");
    }
    if versions.sealed(proof.version, checkpoint) != Some(Verdict::Proved) {
        return not_proved(format!("that checkpoint {checkpoint} holds the version is not proved"));
    }
    match (text.part, &proof.pieces) {
        (Some(part @ (Part::Snippet | Part::Diff)), _) => {
            unprovable(&format!("a {} is not made again", part.as_str()))
        }
        (Some(Part::Instructions), None) => unprovable("a value is not made again"),
        (None | Some(Part::Submission), None) => {
            not_proved("the bundle does not say which bytes it is")
        }
        (_, Some(pieces)) => {
            let whole = files.get(&text_path(proof.version))?;
            if !are_in(pieces, text.range.unwrap_or([0, whole.len() as u64])) {
                return contradicted("the version has no such bytes");
            }
            match hashed.of((proof.version, pieces), || joined(whole, pieces))? {
                None => contradicted("the version has no such bytes"),
                Some((bytes, sha256)) if bytes == text.bytes && sha256 == text.sha256 => Ok(()),
                Some(_) => contradicted("the bytes of the version have another hash"),
            }
        }
    }
}

/// Whether a line says when and by whom a version was recorded. Of a reviewed one that is the
/// approval; its submission may be in no chain of the bundle.
fn is_recorded(text: &Text, edited_by: &str, edited_at: &str) -> bool {
    match &text.approved_at {
        Some(approved_at) => approved_at == edited_at,
        None => text.edited_by == edited_by && text.edited_at == edited_at,
    }
}

/// Whether pieces are in order and in the range that the line names.
fn are_in(pieces: &[[u64; 2]], [mut at, end]: [u64; 2]) -> bool {
    pieces.iter().all(|[start, stop]| {
        let is_next = at <= *start && start <= stop && *stop <= end;
        at = *stop;
        is_next
    })
}

/// The pieces of a text; none where it is too short.
fn joined(whole: &[u8], pieces: &[[u64; 2]]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for [start, stop] in pieces {
        let place = |n: u64| usize::try_from(n).ok();
        out.extend_from_slice(whole.get(place(*start)?..place(*stop)?)?);
    }
    Some(out)
}
