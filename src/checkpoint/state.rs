//! The two maps of a checkpoint, and the bytes they are hashed as.

use std::collections::BTreeMap;

use crate::chain::digest::Digest;
use crate::chain::preimage::checkpoint_hash;
use crate::document::id::Id;
use crate::vault::clock::Timestamp;

/// What a checkpoint records of one artifact. Our logs always have both; a log of whole maps may
/// have an id in one map only, which is a finding, not a parse error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// From `document_versions`.
    pub version: Option<u64>,
    /// From `document_chain_hashes`.
    pub chain_hash: Option<Digest>,
}

impl Mark {
    /// A version with its chain hash.
    pub fn new(version: u64, chain_hash: Digest) -> Self {
        Self { version: Some(version), chain_hash: Some(chain_hash) }
    }

    /// Both, if both are there.
    pub fn sealed(&self) -> Option<(u64, Digest)> {
        Some((self.version?, self.chain_hash?))
    }
}

/// What is published at one checkpoint: every artifact with its version and chain hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    marks: BTreeMap<Id, Mark>,
}

impl State {
    /// The artifacts in byte order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&Id, &Mark)> {
        self.marks.iter()
    }

    /// What is recorded of one artifact.
    pub fn get(&self, id: &str) -> Option<&Mark> {
        self.marks.get(id)
    }

    /// How many artifacts there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether nothing is published.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    pub(crate) fn set(&mut self, id: Id, mark: Mark) -> Option<Mark> {
        self.marks.insert(id, mark)
    }

    pub(crate) fn remove(&mut self, id: &Id) -> Option<Mark> {
        self.marks.remove(id)
    }

    /// The hash of a checkpoint that has these maps.
    pub fn hash(
        &self,
        previous: Option<&Digest>,
        checkpoint: u64,
        at: Timestamp,
        triggered_by: &str,
    ) -> Digest {
        let ordered = self.in_utf16_order();
        let mut versions = Vec::with_capacity(ordered.len() * 40);
        let mut hashes = Vec::with_capacity(ordered.len() * 112);
        write_map(&mut versions, &ordered, |mark, out| {
            let Some(version) = mark.version else {
                return false;
            };
            out.extend_from_slice(version.to_string().as_bytes());
            true
        });
        write_map(&mut hashes, &ordered, |mark, out| {
            let Some(hash) = &mark.chain_hash else {
                return false;
            };
            out.push(b'"');
            hash.write_to(out);
            out.push(b'"');
            true
        });
        checkpoint_hash(previous, checkpoint, at, triggered_by, &versions, &hashes)
    }

    /// RFC 8785 sorts keys by UTF-16 code units, which differs from byte order only where
    /// characters beyond the basic plane meet those from U+E000 on.
    fn in_utf16_order(&self) -> Vec<(&Id, &Mark)> {
        let mut ordered: Vec<(&Id, &Mark)> = self.marks.iter().collect();
        if ordered.iter().any(|(id, _)| id.as_str().bytes().any(|b| b >= 0xee)) {
            ordered
                .sort_by(|(a, _), (b, _)| a.as_str().encode_utf16().cmp(b.as_str().encode_utf16()));
        }
        ordered
    }
}

impl FromIterator<(Id, Mark)> for State {
    fn from_iter<T: IntoIterator<Item = (Id, Mark)>>(marks: T) -> Self {
        Self { marks: marks.into_iter().collect() }
    }
}

/// Writes the RFC 8785 form of a map; `value` tells whether the id is in this map.
fn write_map(
    out: &mut Vec<u8>,
    ordered: &[(&Id, &Mark)],
    value: impl Fn(&Mark, &mut Vec<u8>) -> bool,
) {
    out.push(b'{');
    for (id, mark) in ordered {
        let before = out.len();
        if before > 1 {
            out.push(b',');
        }
        write_string(out, id.as_str());
        out.push(b':');
        if !value(mark, out) {
            out.truncate(before);
        }
    }
    out.push(b'}');
}

/// Writes the RFC 8785 form of a string.
pub(super) fn write_string(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\') {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Writing into memory does not fail, and a text has always a JSON form.
        let _ = serde_json::to_writer(out, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn our_maps_are_those_of_the_jcs_library(
            ids in prop::collection::btree_set("[a-z\"é\u{e000}\u{fffd}😀日 ]{1,6}(/[a-z\"😀\u{fb01}]{1,4})?", 0..12)
        ) {
            let mut state = State::default();
            let (mut versions, mut hashes) = (BTreeMap::new(), BTreeMap::new());
            for (n, id) in ids.iter().filter_map(|i| i.parse::<Id>().ok()).enumerate() {
                let mark = Mark::new(n as u64 + 1, Digest::of(id.as_str().as_bytes()));
                versions.insert(id.to_string(), n as u64 + 1);
                hashes.insert(id.to_string(), mark.chain_hash.unwrap());
                state.set(id, mark);
            }
            let at: Timestamp = "2026-11-21T20:06:06.689Z".parse().unwrap();
            let expected = checkpoint_hash(
                None, 1, at, "x",
                &serde_jcs::to_vec(&versions).unwrap(),
                &serde_jcs::to_vec(&hashes).unwrap(),
            );
            prop_assert_eq!(state.hash(None, 1, at, "x"), expected);
        }
    }
}
