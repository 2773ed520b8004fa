//! The two maps of a checkpoint, and the bytes that are hashed.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::record::chain::preimage::checkpoint_hash;
use crate::values::model::digest::{Digest, Hasher, Sink};
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// The record of one artifact at a checkpoint. Logs that ctx wrote always have both fields. In a
/// log in full form, an id may be in only one map, which is a finding, not a parse error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The version in `document_versions`.
    pub version: Option<Version>,
    /// The chain hash in `document_chain_hashes`.
    pub chain_hash: Option<Digest>,
}

impl Mark {
    /// Returns the mark of a version and its chain hash.
    pub fn new(version: Version, chain_hash: Digest) -> Self {
        Self { version: Some(version), chain_hash: Some(chain_hash) }
    }

    /// Returns version and chain hash, if both are present.
    pub fn sealed(&self) -> Option<(Version, Digest)> {
        Some((self.version?, self.chain_hash?))
    }
}

/// A change log or staging chain that a checkpoint binds by one of its lines. The mark is `None` if
/// the chain left the maps, as in an event of the reference implementation.
pub type Bound = (DocumentId, Option<Mark>);

/// The state at one checkpoint: every published artifact with its version and chain hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedSet {
    marks: BTreeMap<DocumentId, Mark>,
    /// The bound chains (AUDIT-25, STAGE-21). They are in the maps, but they are not published.
    bound: BTreeMap<DocumentId, Mark>,
}

impl PublishedSet {
    /// Returns a set of these artifacts and bound chains.
    pub(crate) fn of(
        marks: impl IntoIterator<Item = (DocumentId, Mark)>,
        bound: BTreeMap<DocumentId, Mark>,
    ) -> Self {
        Self { marks: marks.into_iter().collect(), bound }
    }

    /// Iterates over the artifacts, in byte order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&DocumentId, &Mark)> {
        self.marks.iter()
    }

    /// Returns the mark of an artifact.
    pub fn get(&self, id: &str) -> Option<&Mark> {
        self.marks.get(id)
    }

    /// Returns the number of artifacts.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Returns true if no artifact is published.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns the bound chains, each with its last bound line.
    pub fn bound(&self) -> &BTreeMap<DocumentId, Mark> {
        &self.bound
    }

    /// Returns all entries of the maps, in byte order of the ids.
    pub(super) fn whole(&self) -> Vec<(&DocumentId, &Mark)> {
        let mut whole: Vec<(&DocumentId, &Mark)> = self.marks.iter().chain(&self.bound).collect();
        if !self.bound.is_empty() {
            whole.sort_unstable_by_key(|(id, _)| *id);
        }
        whole
    }

    /// Applies the bindings of a checkpoint.
    pub(super) fn bind(&mut self, bound: &[Bound]) {
        for (id, mark) in bound {
            match mark {
                Some(mark) => self.bound.insert(id.clone(), *mark),
                None => self.bound.remove(id),
            };
        }
    }

    pub(crate) fn set(&mut self, id: DocumentId, mark: Mark) -> Option<Mark> {
        self.marks.insert(id, mark)
    }

    pub(crate) fn remove(&mut self, id: &DocumentId) -> Option<Mark> {
        self.marks.remove(id)
    }

    /// Returns the hash of a checkpoint with these maps.
    pub fn hash(
        &self,
        previous: Option<&Digest>,
        checkpoint: CheckpointNumber,
        at: Timestamp,
        triggered_by: &str,
    ) -> Digest {
        let ordered = self.in_json_order();
        let versions = |out: &mut Hasher| {
            let entries = ordered.iter().filter_map(|(id, mark)| Some((*id, mark.version?.0)));
            write_map(out, entries, write_number);
        };
        let chain_hashes = |out: &mut Hasher| {
            let entries = ordered.iter().filter_map(|(id, mark)| Some((*id, mark.chain_hash?)));
            write_map(out, entries, |out, hash| {
                out.put(b"\"");
                hash.write_to(out);
                out.put(b"\"");
            });
        };
        checkpoint_hash(previous, checkpoint, at, triggered_by, versions, chain_hashes)
    }

    fn in_json_order(&self) -> Vec<(&DocumentId, &Mark)> {
        let mut ordered: Vec<(&DocumentId, &Mark)> = self.marks.iter().chain(&self.bound).collect();
        ordered.sort_by(|(a, _), (b, _)| json_order(a.as_str(), b.as_str()));
        ordered
    }
}

/// Compares keys of an object as RFC 8785 does: by UTF-16 code units.
pub(super) fn json_order(a: &str, b: &str) -> Ordering {
    // This differs from byte order only between characters beyond the basic plane and those from
    // U+E000 on. In UTF-8 both begin with a byte from 0xee on.
    if a.is_ascii() {
        return a.cmp(b);
    }
    match a.bytes().zip(b.bytes()).find(|(a, b)| a != b) {
        Some((0xee.., 0xee..)) => a.encode_utf16().cmp(b.encode_utf16()),
        Some((x, y)) => x.cmp(&y),
        None => a.len().cmp(&b.len()),
    }
}

/// Sorts the entries of a map by the order of keys in RFC 8785.
pub(super) fn in_json_order(set: &mut [(DocumentId, Mark)]) {
    set.sort_by(|(a, _), (b, _)| json_order(a.as_str(), b.as_str()));
}

impl FromIterator<(DocumentId, Mark)> for PublishedSet {
    fn from_iter<T: IntoIterator<Item = (DocumentId, Mark)>>(marks: T) -> Self {
        Self { marks: marks.into_iter().collect(), bound: BTreeMap::new() }
    }
}

/// Writes the RFC 8785 form of a map whose entries are in the order of its keys.
pub(super) fn write_map<'m, S: Sink, V>(
    out: &mut S,
    entries: impl Iterator<Item = (&'m DocumentId, V)>,
    write_value: impl Fn(&mut S, V),
) {
    out.put(b"{");
    for (n, (id, value)) in entries.enumerate() {
        if n > 0 {
            out.put(b",");
        }
        write_string(out, id.as_str());
        out.put(b":");
        write_value(out, value);
    }
    out.put(b"}");
}

/// Writes a whole number, whose RFC 8785 form is its decimal one.
pub(super) fn write_number(out: &mut impl Sink, number: u64) {
    match u8::try_from(number) {
        Ok(digit @ 0..10) => out.put(&[b'0' + digit]),
        _ => out.put(number.to_string().as_bytes()),
    }
}

/// Writes the RFC 8785 form of a string.
pub(super) fn write_string(out: &mut impl Sink, text: &str) {
    // The fold never exits early, so that the compiler can vectorise it.
    let escape = |found, b: u8| found | (b < 0x20) | (b == b'"') | (b == b'\\');
    if text.bytes().fold(false, escape) {
        out.put(serde_json::Value::from(text).to_string().as_bytes());
    } else {
        out.put(b"\"");
        out.put(text.as_bytes());
        out.put(b"\"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn write_string_escapes_a_string_of_escapes() {
        for text in ["\\", "\\\\", "\"", "\"\"", "\n\n", "\u{1f}", " ", ""] {
            let mut ours = Vec::new();
            write_string(&mut ours, text);
            assert_eq!(ours, serde_jcs::to_vec(text).unwrap(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn write_string_agrees_with_serde_jcs(text in "[\\PC\u{0}-\u{20}\"\\\\\u{7f}]{0,8}") {
            let mut ours = Vec::new();
            write_string(&mut ours, &text);
            prop_assert_eq!(ours, serde_jcs::to_vec(&text).unwrap());
        }

        #[test]
        fn published_set_hash_agrees_with_serde_jcs(
            ids in prop::collection::btree_set("[a-z\"é\u{e000}\u{fffd}😀日 ]{1,6}(/[a-z\"😀\u{fb01}]{1,4})?", 0..12)
        ) {
            let mut state = PublishedSet::default();
            let (mut versions, mut hashes) = (BTreeMap::new(), BTreeMap::new());
            for (n, id) in ids.iter().filter_map(|i| i.parse::<DocumentId>().ok()).enumerate() {
                let mark = Mark::new(Version(n as u64 + 1), Digest::of(id.as_str().as_bytes()));
                versions.insert(id.to_string(), n as u64 + 1);
                hashes.insert(id.to_string(), mark.chain_hash.unwrap());
                state.set(id, mark);
            }
            let at: Timestamp = "2026-11-21T20:06:06.689Z".parse().unwrap();
            let (versions, hashes) =
                (serde_jcs::to_vec(&versions).unwrap(), serde_jcs::to_vec(&hashes).unwrap());
            let expected =
                checkpoint_hash(None, CheckpointNumber(1), at, "x", |out| out.put(&versions), |out| out.put(&hashes));
            prop_assert_eq!(state.hash(None, CheckpointNumber(1), at, "x"), expected);
        }
    }
}
