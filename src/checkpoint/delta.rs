//! One line of `.versions/checkpoints.jsonl`: what changed since the line before, as an RFC 8785
//! object (`spec/checkpoint.md`, section 3). A line that is not byte for byte the canonical form
//! of what it says is refused, which leaves no room for tricks of spelling.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::log::{Checkpoint, EntryFault};
use super::state::{Mark, write_string};
use crate::chain::digest::Digest;
use crate::chain::preimage::MAX_NUMBER;
use crate::document::id::Id;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    at: String,
    checkpoint: u64,
    checkpoint_hash: String,
    removed: Vec<String>,
    set: BTreeMap<String, (u64, String)>,
    triggered_by: String,
}

/// Reads a line without its newline.
pub(super) fn parse(line: &[u8]) -> Result<Checkpoint, EntryFault> {
    let text = std::str::from_utf8(line)
        .map_err(|e| EntryFault::Unreadable(format!("not UTF-8 at byte {}", e.valid_up_to())))?;
    let raw: Line = serde_json::from_str(text)
        .map_err(|e| EntryFault::Unreadable(format!("not a checkpoint: {e}")))?;
    let id = |text: &str| {
        text.parse::<Id>().map_err(|e| EntryFault::Field("id", format!("`{text}`: {e}")))
    };
    let hash = |text: &str, field| {
        text.parse::<Digest>().map_err(|e| EntryFault::of_digest(field, text, &e))
    };
    let number = |found: u64, field| match found {
        1..=MAX_NUMBER => Ok(found),
        _ => Err(EntryFault::Field(field, found.to_string())),
    };
    let mark =
        |version: u64, chain: &str| Ok(Mark::new(number(version, "set")?, hash(chain, "set")?));
    let set: Result<Vec<(Id, Mark)>, EntryFault> = raw
        .set
        .iter()
        .map(|(name, (version, chain))| Ok((id(name)?, mark(*version, chain)?)))
        .collect();
    let checkpoint = Checkpoint {
        number: number(raw.checkpoint, "checkpoint")?,
        at: raw.at.parse().map_err(|_| EntryFault::Timestamp(raw.at.clone()))?,
        triggered_by: id(&raw.triggered_by)?,
        hash: hash(&raw.checkpoint_hash, "checkpoint_hash")?,
        set: set?,
        removed: raw.removed.iter().map(|name| id(name)).collect::<Result<_, _>>()?,
    };
    let unreadable = |why: &str| Err(EntryFault::Unreadable(why.to_owned()));
    if spell(&checkpoint) != line {
        return unreadable("not in canonical form (RFC 8785)");
    }
    // RFC 8785 does not order arrays, so one event would have several spellings.
    if !checkpoint.removed.is_sorted_by(|a, b| a < b) {
        return unreadable("removed ids are not in order");
    }
    if checkpoint.removed.iter().any(|id| raw.set.contains_key(id.as_str())) {
        return unreadable("an id is both set and removed");
    }
    Ok(checkpoint)
}

/// Spells a checkpoint as a line without its newline. Keys are in order by construction.
pub(super) fn spell(checkpoint: &Checkpoint) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + checkpoint.set.len() * 128);
    out.extend_from_slice(b"{\"at\":");
    write_string(&mut out, &checkpoint.at.to_string());
    out.extend_from_slice(b",\"checkpoint\":");
    out.extend_from_slice(checkpoint.number.to_string().as_bytes());
    out.extend_from_slice(b",\"checkpoint_hash\":\"");
    checkpoint.hash.write_to(&mut out);
    out.extend_from_slice(b"\",\"removed\":[");
    for (n, id) in checkpoint.removed.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write_string(&mut out, id.as_str());
    }
    out.extend_from_slice(b"],\"set\":{");
    let mut set: Vec<&(Id, Mark)> = checkpoint.set.iter().collect();
    set.sort_by(|(a, _), (b, _)| a.as_str().encode_utf16().cmp(b.as_str().encode_utf16()));
    for (n, (id, mark)) in set.into_iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write_string(&mut out, id.as_str());
        out.extend_from_slice(b":[");
        out.extend_from_slice(mark.version.unwrap_or(0).to_string().as_bytes());
        out.extend_from_slice(b",\"");
        if let Some(hash) = &mark.chain_hash {
            hash.write_to(&mut out);
        }
        out.extend_from_slice(b"\"]");
    }
    out.extend_from_slice(b"},\"triggered_by\":");
    write_string(&mut out, checkpoint.triggered_by.as_str());
    out.push(b'}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> String {
        let checkpoint = Checkpoint {
            number: 3,
            at: "2026-11-21T20:06:06.689Z".parse().unwrap(),
            triggered_by: "nodes/b".parse().unwrap(),
            hash: Digest::of(b"x"),
            set: vec![
                ("nodes/b".parse().unwrap(), Mark::new(1, Digest::of(b"b"))),
                ("nodes/\"q\"".parse().unwrap(), Mark::new(12, Digest::of(b"q"))),
            ],
            removed: vec!["nodes/a".parse().unwrap()],
        };
        String::from_utf8(spell(&checkpoint)).unwrap()
    }

    #[test]
    fn a_line_is_the_canonical_form_of_its_object() {
        let value: serde_json::Value = serde_json::from_str(&line()).unwrap();
        assert_eq!(serde_jcs::to_string(&value).unwrap(), line());
        assert_eq!(spell(&parse(line().as_bytes()).unwrap()), line().as_bytes());
    }

    #[test]
    fn every_other_spelling_is_refused() {
        let good = line();
        for (from, to) in [
            ("{\"at\"", "{ \"at\""),
            (":3,", ":3.0,"),
            (":3,", ":03,"),
            ("nodes/b\":[1", "nodes/b\":[1.0"),
            ("nodes/a", "nodes\\/a"),
            ("nodes/a", "nodes/\\u0061"),
            ("\"set\":{", "\"set\":{\"nodes/b\":[1,\"sha256:00\"],"),
            ("\"triggered_by\"", "\"extra\":1,\"triggered_by\""),
            ("\"removed\":[\"nodes/a\"]", "\"removed\":[\"../a\"]"),
            ("689Z", "6890Z"),
            ("sha256:", "sha512:"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good, "{from}");
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
