//! The texts that were handed out: each from the bytes of a proved version (EVID-21).

use std::collections::BTreeMap;

use super::super::manifest::{Manifest, TextRef, text_path};
use super::lines::{Lines, wanted};
use super::versions::Versions;
use super::{Files, Item, Judged, Kind, Verdict, contradicted, not_proved};
use crate::audit::{Part, Text};
use crate::model::digest::Digest;

/// What the bundle proves of each text of its lines.
pub(super) fn items(
    manifest: &Manifest,
    files: &Files<'_>,
    lines: &Lines,
    versions: &Versions,
) -> Vec<Item> {
    let proofs: BTreeMap<(usize, usize), &TextRef> =
        manifest.texts.iter().map(|text| ((text.line, text.document), text)).collect();
    let mut items = Vec::new();
    for (n, line, verdict) in lines.read_lines() {
        for (document, text) in wanted(&manifest.scope, line).unwrap_or_default() {
            let proof = proofs.get(&(n, document)).copied();
            let judged =
                judge(manifest, files, versions, text, proof).and_then(|()| match verdict {
                    Verdict::Proved => Ok(()),
                    _ => not_proved("the line is not proved"),
                });
            let name = format!("{}#{document}", line.trace());
            items.push(Item::new(Kind::Text, name, judged));
        }
    }
    items
}

fn judge(
    manifest: &Manifest,
    files: &Files<'_>,
    versions: &Versions,
    text: &Text,
    proof: Option<&TextRef>,
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
    if entry.edited_by != text.edited_by || entry.edited_at.to_string() != text.edited_at {
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
        (None, None) => not_proved("the bundle does not say which bytes it is"),
        (_, Some(pieces)) => {
            let whole = files.get(&text_path(proof.version))?;
            match joined(whole, text.range, pieces) {
                None => contradicted("the version has no such bytes"),
                Some(bytes) if is_it(&bytes, text) => Ok(()),
                Some(_) => contradicted("the bytes of the version have another hash"),
            }
        }
    }
}

fn is_it(bytes: &[u8], text: &Text) -> bool {
    bytes.len() as u64 == text.bytes && Digest::of(bytes).to_string() == text.sha256
}

/// The pieces of a text, which are in order and in the range that the line names.
fn joined(whole: &[u8], range: Option<[u64; 2]>, pieces: &[[u64; 2]]) -> Option<Vec<u8>> {
    let [mut at, end] = range.unwrap_or([0, whole.len() as u64]);
    let mut out = Vec::new();
    for [start, stop] in pieces {
        if *start < at || *stop < *start || *stop > end {
            return None;
        }
        let place = |n: u64| usize::try_from(n).ok();
        out.extend_from_slice(whole.get(place(*start)?..place(*stop)?)?);
        at = *stop;
    }
    Some(out)
}
