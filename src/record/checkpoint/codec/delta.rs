//! Codec for one line of `.versions/checkpoints.jsonl`: the changes since the line before, as an
//! RFC 8785 object (`spec/checkpoint.md`, section 3). A line that is not byte for byte in canonical
//! form is refused, so that no checkpoint has two spellings.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::plain;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::event::{Merged, Side};
use crate::record::checkpoint::fault::EntryFault;
use crate::record::checkpoint::state::{
    Bound, Mark, json_order, write_map, write_number, write_string,
};
use crate::record::torn_tail;
use crate::values::model::digest::{Digest, Sink};
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// A line as JSON. The first line of a large vault is most of its log. Therefore its entries become
/// ids and digests during parsing.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'l> {
    #[serde(borrow)]
    at: Text<'l>,
    checkpoint: CheckpointNumber,
    #[serde(borrow)]
    checkpoint_hash: Text<'l>,
    #[serde(borrow, default)]
    merged: Option<Vec<SideLine<'l>>>,
    #[serde(borrow)]
    removed: Vec<Text<'l>>,
    set: Set,
    #[serde(borrow)]
    triggered_by: Text<'l>,
}

/// A checkpoint of a side line (`spec/merge.md`, MERGE-3).
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SideLine<'l> {
    #[serde(borrow)]
    at: Text<'l>,
    checkpoint: CheckpointNumber,
    #[serde(borrow)]
    checkpoint_hash: Text<'l>,
    #[serde(borrow)]
    follows: Text<'l>,
    #[serde(borrow)]
    removed: Vec<Text<'l>>,
    set: Set,
    #[serde(borrow)]
    triggered_by: Text<'l>,
}

/// A string, borrowed from the line unless it has an escape.
struct Text<'l>(Cow<'l, str>);

/// The entries of an object in the order of the line, even if a key is repeated; or the fault of
/// the first invalid entry.
struct Set(Result<Vec<(DocumentId, Mark)>, EntryFault>);

impl<'de: 'l, 'l> Deserialize<'de> for Text<'l> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'l> Visitor<'l> for Texts {
            type Value = Text<'l>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'l str) -> Result<Text<'l>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'l>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Texts)
    }
}

impl<'de> Deserialize<'de> for Set {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Objects;
        impl<'de> Visitor<'de> for Objects {
            type Value = Set;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Set, A::Error> {
                let mut set = Ok(Vec::new());
                while let Some((id, mark)) = map.next_entry::<Text<'de>, RawMark<'de>>()? {
                    // The rest of the line must still be parsed as an object.
                    if let Ok(marks) = &mut set {
                        match read_mark(&id, &mark) {
                            Ok(mark) => marks.push(mark),
                            Err(fault) => set = Err(fault),
                        }
                    }
                }
                if let Ok(marks) = &mut set {
                    marks.shrink_to_fit();
                }
                Ok(Set(set))
            }
        }
        deserializer.deserialize_map(Objects)
    }
}

/// A version and a chain hash; one of them is null if an id is in only one map.
type RawMark<'l> = (Option<u64>, Option<Text<'l>>);

fn read_mark(
    Text(id): &Text<'_>,
    (version, chain): &RawMark<'_>,
) -> Result<(DocumentId, Mark), EntryFault> {
    let version = version.map(|n| Version::recordable(n).ok_or_else(|| not_a_number(n, "set")));
    let chain_hash = chain.as_ref().map(|Text(chain)| digest(chain, "set"));
    let mark = Mark { version: version.transpose()?, chain_hash: chain_hash.transpose()? };
    match mark {
        Mark { version: None, chain_hash: None } => {
            Err(EntryFault::Field("set", "neither a version nor a hash".to_owned()))
        }
        mark => Ok((read_id(id)?, mark)),
    }
}

fn read_id(text: &str) -> Result<DocumentId, EntryFault> {
    text.parse().map_err(|e| EntryFault::Field("id", format!("`{text}`: {e}")))
}

fn not_a_number(found: u64, field: &'static str) -> EntryFault {
    EntryFault::Field(field, found.to_string())
}

fn digest(text: &str, field: &'static str) -> Result<Digest, EntryFault> {
    text.parse().map_err(|e| EntryFault::of_digest(field, text, &e))
}

/// Parses a line without its newline.
pub(super) fn parse(line: &[u8]) -> Result<Checkpoint, EntryFault> {
    match std::str::from_utf8(line).ok().and_then(plain::parse) {
        Some(found) => {
            debug_assert_eq!(parse_general(line).as_ref(), Ok(&found), "two readers, one answer");
            Ok(found)
        }
        None => parse_general(line),
    }
}

/// Parses a line with the general JSON reader, which reports the faults of lines that are
/// not checkpoints.
pub(super) fn parse_general(line: &[u8]) -> Result<Checkpoint, EntryFault> {
    let text = std::str::from_utf8(line)
        .map_err(|e| EntryFault::Unreadable(format!("not UTF-8 at byte {}", e.valid_up_to())))?;
    let mut raw: Line =
        serde_json::from_str(text).map_err(|e| match torn_tail::conflict(line) {
            Some(_) => EntryFault::Conflict,
            None => EntryFault::Unreadable(format!("not a checkpoint: {e}")),
        })?;
    let sides = raw.merged.take().unwrap_or_default().into_iter().map(|side| {
        let follows = digest(&side.follows.0, "follows")?;
        let line = Line {
            at: side.at,
            checkpoint: side.checkpoint,
            checkpoint_hash: side.checkpoint_hash,
            merged: None,
            removed: side.removed,
            set: side.set,
            triggered_by: side.triggered_by,
        };
        Ok(Side { follows, checkpoint: checkpoint_of(line, Vec::new())? })
    });
    let sides = sides.collect::<Result<_, _>>()?;
    let checkpoint = checkpoint_of(raw, sides)?;
    let unreadable = |why: &str| Err(EntryFault::Unreadable(why.to_owned()));
    if !is_spelling(line, &checkpoint) {
        return unreadable(match line.ends_with(b"\r") {
            true => {
                "its line end was converted to CRLF; the line `**/.versions/** -text -whitespace -ident -filter -working-tree-encoding` in \
                 `.gitattributes` keeps git from that"
            }
            false => "not in canonical form (RFC 8785)",
        });
    }
    Ok(checkpoint)
}

/// Returns the checkpoint with the values of a line.
fn checkpoint_of(raw: Line<'_>, sides: Vec<Side>) -> Result<Checkpoint, EntryFault> {
    let set = raw.set.0?;
    let unreadable = |why: &str| Err(EntryFault::Unreadable(why.to_owned()));
    if !set.is_sorted_by(|(a, _), (b, _)| json_order(a.as_str(), b.as_str()).is_lt()) {
        return unreadable("not in canonical form (RFC 8785)");
    }
    let removed: Vec<DocumentId> =
        raw.removed.iter().map(|Text(name)| read_id(name)).collect::<Result<_, _>>()?;
    // RFC 8785 does not order arrays. One event would have several spellings.
    if !removed.is_sorted_by(|a, b| a < b) {
        return unreadable("removed ids are not in order");
    }
    let (set, removed, bound) = partition(set, removed);
    let Text(at) = raw.at;
    let checkpoint = Checkpoint {
        number: CheckpointNumber::recordable(raw.checkpoint.0)
            .ok_or_else(|| not_a_number(raw.checkpoint.0, "checkpoint"))?,
        at: at.parse().map_err(|_| EntryFault::Timestamp(at.into_owned()))?,
        triggered_by: read_id(&raw.triggered_by.0)?,
        hash: digest(&raw.checkpoint_hash.0, "checkpoint_hash")?,
        set,
        removed,
        bound,
        merged: Merged::of(sides),
    };
    match checkpoint.sets_what_it_removes() {
        true => unreadable("an id is both set and removed"),
        false => Ok(checkpoint),
    }
}

/// Splits the entries into those of artifacts and those of chains.
pub(super) fn partition(
    mut set: Vec<(DocumentId, Mark)>,
    mut removed: Vec<DocumentId>,
) -> (Vec<(DocumentId, Mark)>, Vec<DocumentId>, Vec<Bound>) {
    let of_set = set.extract_if(.., |(id, _)| id.is_chain()).map(|(id, mark)| (id, Some(mark)));
    let mut bound: Vec<Bound> = of_set.collect();
    bound.extend(removed.extract_if(.., |id| id.is_chain()).map(|id| (id, None)));
    bound.sort_by(|(a, _), (b, _)| a.cmp(b));
    (set, removed, bound)
}

/// Spells a checkpoint as a line without its newline.
pub(super) fn spell(checkpoint: &Checkpoint) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + checkpoint.set.len() * 128);
    write(&mut out, checkpoint);
    out
}

/// Returns true if a line is the spelling of a checkpoint.
fn is_spelling(line: &[u8], checkpoint: &Checkpoint) -> bool {
    let mut same = Same(Some(line));
    write(&mut same, checkpoint);
    same.0.is_some_and(<[u8]>::is_empty)
}

/// Compares written bytes with expected ones; `None` after the first difference.
struct Same<'l>(Option<&'l [u8]>);

impl Sink for Same<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.0 = self.0.and_then(|rest| rest.strip_prefix(bytes));
    }
}

/// Writes a line. Keys are in order by construction.
fn write(out: &mut impl Sink, checkpoint: &Checkpoint) {
    write_object(out, checkpoint, None);
}

/// Writes the object of a checkpoint, which follows another one if it is on a side line.
fn write_object(out: &mut impl Sink, checkpoint: &Checkpoint, follows: Option<&Digest>) {
    out.put(b"{\"at\":");
    write_string(out, &checkpoint.at.to_string());
    out.put(b",\"checkpoint\":");
    write_number(out, checkpoint.number.0);
    out.put(b",\"checkpoint_hash\":\"");
    checkpoint.hash.write_to(out);
    out.put(b"\"");
    if let Some(follows) = follows {
        out.put(b",\"follows\":\"");
        follows.write_to(out);
        out.put(b"\"");
    }
    for (n, side) in checkpoint.sides().iter().enumerate() {
        out.put(if n == 0 { b",\"merged\":[" } else { b"," });
        write_object(out, &side.checkpoint, Some(&side.follows));
    }
    if !checkpoint.sides().is_empty() {
        out.put(b"]");
    }
    out.put(b",\"removed\":[");
    for (n, id) in checkpoint.whole_removed().into_iter().enumerate() {
        if n > 0 {
            out.put(b",");
        }
        write_string(out, id.as_str());
    }
    out.put(b"],\"set\":");
    write_map(out, checkpoint.whole_set().into_iter(), |out, mark| {
        out.put(b"[");
        match mark.version {
            Some(version) => write_number(out, version.0),
            None => out.put(b"null"),
        }
        out.put(b",");
        match &mark.chain_hash {
            Some(hash) => {
                out.put(b"\"");
                hash.write_to(out);
                out.put(b"\"");
            }
            None => out.put(b"null"),
        }
        out.put(b"]");
    });
    out.put(b",\"triggered_by\":");
    write_string(out, checkpoint.triggered_by.as_str());
    out.put(b"}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> String {
        let checkpoint = Checkpoint {
            number: CheckpointNumber(3),
            at: "2026-11-21T20:06:06.689Z".parse().unwrap(),
            triggered_by: "nodes/b".parse().unwrap(),
            hash: Digest::of(b"x"),
            set: vec![
                ("nodes/b".parse().unwrap(), Mark::new(Version(1), Digest::of(b"b"))),
                ("nodes/\"q\"".parse().unwrap(), Mark::new(Version(12), Digest::of(b"q"))),
                (
                    "nodes/half".parse().unwrap(),
                    Mark { version: Some(Version(1)), chain_hash: None },
                ),
            ],
            removed: vec!["nodes/a".parse().unwrap()],
            bound: vec![(
                ".context/audit/00112233445566778899aabbccddeeff.jsonl".parse().unwrap(),
                Some(Mark::new(Version(7), Digest::of(b"line"))),
            )],
            merged: None,
        };
        String::from_utf8(spell(&checkpoint)).unwrap()
    }

    #[test]
    fn delta_line_is_the_canonical_form_of_its_object() {
        let value: serde_json::Value = serde_json::from_str(&line()).unwrap();
        assert_eq!(serde_jcs::to_string(&value).unwrap(), line());
        assert_eq!(spell(&parse(line().as_bytes()).unwrap()), line().as_bytes());
    }

    #[test]
    fn delta_refuses_an_id_that_is_set_twice() {
        let good = line();
        let (_, entry) = good.split_once("\"set\":{").unwrap();
        let (entry, _) = entry.split_once(']').unwrap();
        let bad = good.replacen(entry, &format!("{entry}],{entry}"), 1);
        assert_eq!(bad.matches(entry).count(), 2);
        let why = EntryFault::Unreadable("not in canonical form (RFC 8785)".to_owned());
        assert_eq!(parse(bad.as_bytes()), Err(why));
    }

    #[test]
    fn delta_refuses_every_other_spelling() {
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
            ("\"removed\":[\"nodes/a\"]", "\"removed\":[\"nodes/b\"]"),
            ("689Z", "6890Z"),
            ("sha256:", "sha512:"),
            ("[1,null]", "[null,null]"),
            ("[1,null]", "[1]"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good, "{from}");
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
