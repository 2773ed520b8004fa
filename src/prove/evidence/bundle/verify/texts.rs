//! Checks the texts that were handed out: each from the bytes of a proved version, with
//! its steward (EVID-21).

use std::collections::BTreeMap;

use super::super::manifest::{Manifest, TextRef, text_path};
use super::approvals::Approvals;
use super::lines::{Lines, wanted};
use super::log::Log;
use super::staged::StagedProofs;
use super::stewards::Stewards;
use super::versions::Versions;
use super::{Files, Item, Judged, Kind, Verdict, contradicted, not_proved, unprovable};
use crate::policy::rules::Reviewed;
use crate::read::snapshot::provenance::written;
use crate::read::snapshot::ranges::Ranges;
use crate::record::audit::{Part, Text};
use crate::record::chain::history::Entry;
use crate::text::document::Document;
use crate::text::document::obsidian::Markup;
use crate::text::pack;
use crate::text::uri::is_staged;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;

/// Maximum number of bytes that a verifier hashes; equal texts of a version are hashed once. The
/// limit protects the verifier from a small bundle whose lines name a long text very often.
const MAX_HASHED: u64 = 4 << 30;

/// Maximum size of the texts whose parts are cached, in bytes.
const MAX_KNOWN: usize = 64 << 20;

/// Number of a version of the bundle, and the pieces of its text.
type Pieces<'m> = (usize, &'m [[u64; 2]]);

/// Cache of the sizes and hashes of hashed texts, and of the parts of read ones.
#[derive(Default)]
struct Hashed<'m> {
    found: BTreeMap<Pieces<'m>, (u64, String)>,
    bytes: u64,
    /// Parts by version; the flag is true for the markup of Obsidian.
    parts: BTreeMap<(usize, bool), Ranges>,
    known: usize,
}

impl<'m> Hashed<'m> {
    /// Returns the size and hash of the pieces of a version's text; `None` if a
    /// piece exceeds the text.
    fn of(
        &mut self,
        pieces: Pieces<'m>,
        joined: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Result<Option<(u64, String)>, (Verdict, String)> {
        if let Some(found) = self.found.get(&pieces) {
            return Ok(Some(found.clone()));
        }
        self.check()?;
        let Some(bytes) = joined() else { return Ok(None) };
        let found = (bytes.len() as u64, Digest::of(&bytes).to_string());
        self.bytes += found.0;
        self.found.insert(pieces, found.clone());
        Ok(Some(found))
    }

    fn check(&self) -> Judged {
        match self.bytes > MAX_HASHED {
            true => not_proved("the texts before it have more bytes than a verifier hashes"),
            false => Ok(()),
        }
    }

    /// Returns the parts of a version's text.
    fn parts(
        &mut self,
        (version, id): (usize, &DocumentId),
        whole: &str,
        markup: Markup,
    ) -> Result<&Ranges, (Verdict, String)> {
        let key = (version, markup == Markup::Obsidian);
        if !self.parts.contains_key(&key) {
            self.check()?;
            self.bytes += whole.len() as u64;
            if self.known > MAX_KNOWN {
                (self.parts, self.known) = (BTreeMap::new(), 0);
            }
            self.known += whole.len();
            self.parts.insert(key, Ranges::of(id, whole, markup));
        }
        Ok(&self.parts[&key])
    }
}

/// Returns the items for each text of the lines.
pub(super) fn items(
    (manifest, files): (&Manifest, &Files<'_>),
    lines: &Lines,
    proved: (&Log, &Versions, &Approvals<'_>),
    staged: &StagedProofs,
) -> Vec<Item> {
    let (_, versions, _) = proved;
    let mut stewards = Stewards::new(manifest, files, proved);
    let proofs: BTreeMap<(usize, usize), &TextRef> =
        manifest.texts.iter().map(|text| ((text.line, text.document), text)).collect();
    let (mut items, mut hashed) = (Vec::new(), Hashed::default());
    for (n, line, verdict) in lines.read_lines() {
        for (document, text) in wanted(&manifest.scope, line).unwrap_or_default() {
            let proof = proofs.get(&(n, document)).copied();
            let is_proved = |()| match verdict {
                Verdict::Proved => Ok(()),
                _ => not_proved("the line is not proved"),
            };
            let found = version_of(manifest, text, proof);
            let judged = match text.uri.as_deref().is_some_and(is_staged) {
                true => staged.judge_text(text),
                false => found.clone().and_then(|(proof, checkpoint)| {
                    let places = (manifest, files, versions);
                    let (verb, at) = (line.request.verb.as_str(), (proof, checkpoint));
                    judge(places, (text, verb), at, (&mut stewards, &mut hashed))
                }),
            };
            let name = format!("{}#{document}", line.trace());
            items.push(Item::new(Kind::Text, name.clone(), judged.and_then(is_proved)));
            if text.steward.is_some() || text.review_due.is_some() {
                let judged = found.and_then(|(proof, checkpoint)| {
                    stewards.judge(text, proof.version, checkpoint)
                });
                items.push(Item::new(Kind::Steward, name, judged.and_then(is_proved)));
            }
        }
    }
    items
}

/// Returns the claimed version of a text, and the checkpoint that the text was served from.
fn version_of<'m>(
    manifest: &Manifest,
    text: &Text,
    proof: Option<&'m TextRef>,
) -> Result<(&'m TextRef, u64), (Verdict, String)> {
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
        return contradicted(format!("it is not a text of {}", version.id));
    }
    if text.version != version.version {
        return contradicted(format!("it is a text of version {}", text.version));
    }
    Ok((proof, checkpoint))
}

fn judge<'m>(
    (manifest, files, versions): (&'m Manifest, &Files<'_>, &Versions),
    (text, verb): (&Text, &str),
    (proof, checkpoint): (&'m TextRef, u64),
    (stewards, hashed): (&mut Stewards<'_>, &mut Hashed<'m>),
) -> Judged {
    let Some(entry) = versions.entry(proof.version) else {
        return not_proved("the version is not proved");
    };
    if entry.chain_hash.to_string() != text.chain_hash {
        return contradicted("the version has another chain hash");
    }
    people(text, entry, versions.review(proof.version)?)?;
    let version = &manifest.versions[proof.version - 1];
    author(text, &version.id, files.get(&text_path(proof.version))?)?;
    if versions.sealed(proof.version, checkpoint) != Some(Verdict::Proved) {
        return not_proved(format!("checkpoint {checkpoint} is not proved to contain the version"));
    }
    match (text.part, &proof.pieces) {
        (Some(part @ (Part::Snippet | Part::Diff)), _) => {
            unprovable(&format!("a bundle cannot prove a {}", part.as_str()))
        }
        (Some(Part::Instructions), None) => unprovable("a bundle cannot prove a value"),
        (None | Some(Part::Submission), None) => {
            not_proved("the bundle does not record its byte ranges")
        }
        (part, Some(pieces)) => {
            let whole = files.get(&text_path(proof.version))?;
            let (Ok(id), Ok(read)) = (version.id.parse(), std::str::from_utf8(whole)) else {
                return not_proved("the version is not a document");
            };
            if part == Some(Part::Instructions) {
                instructions(read, text, pieces)?;
            } else {
                let markup = stewards.markup(&id, checkpoint)?;
                let parts = hashed.parts((proof.version, &id), read, markup)?;
                let said = parts.said(read, text, verb);
                let range = said.or_else(|why| contradicted(why.to_string()))?;
                if !parts.are(pieces, &range) {
                    return contradicted("the pieces leave out more than comments");
                }
            }
            match hashed.of((proof.version, pieces), || joined(whole, pieces))? {
                None => contradicted("a byte range exceeds the text of the version"),
                Some((bytes, sha256)) if bytes == text.bytes && sha256 == text.sha256 => Ok(()),
                Some(_) => contradicted("the bytes of the version have another hash"),
            }
        }
    }
}

/// Compares the recorded maker and approvers of a version, and the times, with its history.
fn people(text: &Text, entry: &Entry, reviewed: Option<&Reviewed>) -> Judged {
    let (by, at) = written(entry, reviewed);
    if text.edited_by != by || text.edited_at != at.to_string() {
        return contradicted("its history records another maker or another time");
    }
    let approved_by = reviewed.map_or(&[][..], |reviewed| &reviewed.approved_by);
    let approved_at = reviewed.map(|reviewed| reviewed.approved_at.to_string());
    if text.approved_by != approved_by || text.approved_at != approved_at {
        return contradicted("its history records other approvers or another time");
    }
    Ok(())
}

/// Compares the author of a document with the field of its version.
fn author(text: &Text, id: &str, sealed: &[u8]) -> Judged {
    let id = id.parse::<DocumentId>().ok().filter(DocumentId::is_document);
    let Some(author) = text.author.as_ref().filter(|_| id.is_some()) else { return Ok(()) };
    let document = Document::parse(&String::from_utf8_lossy(sealed)).ok();
    match document.and_then(|document| document.frontmatter.author).as_ref() == Some(author) {
        true => Ok(()),
        false => contradicted("the version names another author"),
    }
}

/// Compares the pieces of a pack's instructions with the text of the pack.
fn instructions(whole: &str, text: &Text, pieces: &[[u64; 2]]) -> Judged {
    let Some((value, _)) = pack::instructions(whole) else {
        return contradicted("the pack does not have instructions");
    };
    let is_named_so = text.range.is_none() && text.anchor().is_none();
    let is_value = pieces.iter().flatten().is_sorted()
        && joined(whole.as_bytes(), pieces) == Some(value.into_bytes());
    match is_named_so && is_value {
        true => Ok(()),
        false => contradicted("the pieces do not match the instructions of the pack"),
    }
}

/// Joins the pieces of a text; `None` if a piece exceeds it.
fn joined(whole: &[u8], pieces: &[[u64; 2]]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for [start, stop] in pieces {
        let place = |n: u64| usize::try_from(n).ok();
        out.extend_from_slice(whole.get(place(*start)?..place(*stop)?)?);
    }
    Some(out)
}
