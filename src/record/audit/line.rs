//! A line of the log, its hash, and its spelling (AUDIT-2, AUDIT-3).

use std::fmt;
use std::str::FromStr;

use serde::ser::Error as _;
use serde::{Deserialize, Serialize};

use super::canonical::{MemberFault, Members};
use super::change::{Change, HeadRef};
use super::event::Event;
use super::hydration::Hydration;
use super::labels::Labels;
use crate::record::journal::WriterId;
use crate::values::model::digest::{Digest, Sink as _};

/// Version of the format of a line.
const FORM: u64 = 1;

/// A line of an audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Version of this format.
    pub v: u64,
    /// The number of the line among the lines of its writer, from 1.
    pub seq: u64,
    /// The hash of the line before it, or the genesis of the writer's chain.
    pub prev: String,
    /// The time.
    pub at: String,
    /// The writer of the chain.
    pub writer: String,
    /// The version of `ctx`.
    pub tool: String,
    /// The request.
    #[serde(flatten)]
    pub request: Request,
    /// The trace of the first line of the same answer, if this is a further one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The answer or change.
    #[serde(flatten)]
    pub event: Event,
    /// The hash that was computed when the line was read; not part of the hashed bytes.
    #[serde(skip)]
    pub hash: Option<Digest>,
}

/// Returns the previous hash of the first line of a writer's chain (AUDIT-2).
pub(super) fn genesis(writer: &WriterId) -> String {
    format!("contextnest:audit:v1:{writer}")
}

/// A command, with its principal, labels and head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The command, such as `read` or `pack show`.
    pub verb: String,
    /// The arguments, which with the verb determine the answer.
    pub args: Arguments,
    /// The principal, if one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The source of the principal's name (AUDIT-2), or `none`.
    pub principal_source: String,
    /// The head of the checkpoint log; `None` before the first checkpoint, or if the log was
    /// not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<HeadRef>,
    /// The labels.
    pub labels: Labels,
    /// The name that the calling program gave itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The span of a distributed trace that the command was run in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

/// The arguments of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    /// The arguments without the name of the program; `None` if they are too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// The SHA-256 of the arguments, joined by NUL, if they are too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The folder in the vault that relative arguments start from, if it is not the vault's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// True if the answer went to a terminal, for which texts are escaped.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub terminal: bool,
}

impl Arguments {
    /// Maximum length in bytes. Longer arguments are recorded by their hash.
    const MAX_BYTES: usize = 16 << 10;

    /// Returns the arguments as they are recorded.
    pub fn new(argv: Vec<String>, cwd: Option<String>, terminal: bool) -> Self {
        let length = argv.iter().map(|word| word.len() + 1).sum::<usize>();
        let whole = Self { argv: Some(argv), sha256: None, cwd, terminal };
        if length > Self::MAX_BYTES { whole.hashed() } else { whole }
    }

    /// Replaces the arguments by their hash.
    #[must_use]
    pub fn hashed(self) -> Self {
        let hash = |argv: Vec<String>| Digest::of(argv.join("\0").as_bytes()).to_string();
        Self { sha256: self.argv.map(hash).or(self.sha256), argv: None, ..self }
    }
}

/// The id of a line: the first 8 digits of its writer, and its number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId {
    /// The first 8 digits of the writer.
    pub writer: String,
    /// The number of the line.
    pub seq: u64,
}

impl TraceId {
    /// Number of digits of the writer.
    pub(super) const DIGITS: usize = 8;

    /// Returns the trace of a writer's line.
    pub(crate) fn of(writer: &str, seq: u64) -> Self {
        Self { writer: writer.get(..Self::DIGITS).unwrap_or(writer).to_owned(), seq }
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.writer, self.seq)
    }
}

impl FromStr for TraceId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = "expected 8 hexadecimal digits, `-` and a number, as in `0a1b2c3d-17`";
        let (writer, seq) = text.split_once('-').ok_or(form)?;
        let is_writer = writer.len() == Self::DIGITS
            && writer.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let seq = crate::values::yaml::canonical_number(seq).filter(|n| *n > 0).ok_or(form)?;
        if is_writer { Ok(Self { writer: writer.to_owned(), seq }) } else { Err(form) }
    }
}

/// A fault in the bytes of a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// The line cannot be parsed, or is not in canonical form.
    #[error("{0}")]
    Malformed(String),
    /// The line does not match its hash.
    #[error("its hash is {expected}, but its text has the hash {found}")]
    Hash {
        /// The hash in the line.
        expected: String,
        /// The hash that was computed.
        found: Digest,
    },
}

/// Returns a line in canonical form, without a line end, and its hash (AUDIT-2).
///
/// # Errors
/// Fails if the line cannot be spelled in canonical form, such as one with a number that JSON
/// cannot represent.
pub(crate) fn spell(line: &impl Serialize) -> Result<(Vec<u8>, Digest), serde_json::Error> {
    // The line is spelled only once, because spelling is the most expensive part of an access. The
    // hash is then inserted.
    let mut bytes = serde_jcs::to_vec(line)?;
    let hash = Digest::of(&bytes);
    let place = Members::read(&bytes).map_err(serde_json::Error::custom)?.place_of("hash");
    bytes.splice(place..place, format!("\"hash\":\"{hash}\",").into_bytes());
    Ok((bytes, hash))
}

/// Parses the members of a line, and compares its hash with that of the bytes around it.
pub(crate) fn sound_members(bytes: &[u8]) -> Result<(Members<'_>, Digest), LineFault> {
    let malformed = |why: String| LineFault::Malformed(why);
    let members = Members::read(bytes).map_err(|why| malformed(why.to_string()))?;
    let expected: String = members.need("hash").map_err(|why| malformed(why.to_string()))?;
    let around = members.without("hash");
    let found = Digest::of_written(|out| around.iter().for_each(|piece| out.put(piece)));
    match expected.parse() == Ok(found) {
        true => Ok((members, found)),
        false => Err(LineFault::Hash { expected, found }),
    }
}

impl Line {
    /// Returns a line of a writer. Its hash is computed when the line is spelled.
    pub(super) fn new(
        (writer, seq, prev): (&WriterId, u64, String),
        at: String,
        request: Request,
        cause: Option<String>,
        event: Event,
    ) -> Self {
        let (writer, tool) = (writer.to_string(), env!("CARGO_PKG_VERSION").to_owned());
        Self { v: FORM, seq, prev, at, writer, tool, request, cause, event, hash: None }
    }

    /// Returns the hydration, if the line is one.
    pub fn hydration(&self) -> Option<&Hydration> {
        match &self.event {
            Event::Hydration(hydration) => Some(hydration),
            _ => None,
        }
    }

    /// Returns the trace of the line.
    pub fn trace(&self) -> TraceId {
        TraceId::of(&self.writer, self.seq)
    }

    /// Returns true if the line places or lifts a hold.
    pub(crate) fn is_of_hold(&self) -> bool {
        matches!(self.event, Event::Change(Change::Hold { .. })) || self.lifts_a_hold()
    }

    /// Returns true if the line lifts a hold.
    pub(crate) fn lifts_a_hold(&self) -> bool {
        matches!(self.event, Event::Change(Change::Lift { .. }))
    }

    /// Returns the bytes in canonical form, without a line end, and the hash.
    ///
    /// # Errors
    /// Fails if the line cannot be spelled in canonical form, such as one with a number that JSON
    /// cannot represent.
    pub(super) fn spell(&self) -> Result<(Vec<u8>, Digest), serde_json::Error> {
        spell(self)
    }

    /// Parses the bytes of a line, and compares its hash with that of the bytes around it.
    ///
    /// # Errors
    /// See [`LineFault`].
    pub fn read(bytes: &[u8]) -> Result<(Self, Digest), LineFault> {
        let malformed = |why: String| LineFault::Malformed(why);
        let (members, found) = sound_members(bytes)?;
        let mut line =
            Self::of(&members).map_err(|why| malformed(format!("not a line of a log: {why}")))?;
        line.hash = Some(found);
        match line.v {
            FORM => Ok((line, found)),
            other => Err(malformed(format!("unknown format {other}"))),
        }
    }

    /// Parses a line from its members. Unknown members are ignored: later versions of the program
    /// may write more.
    fn of(members: &Members<'_>) -> Result<Self, MemberFault> {
        Ok(Self {
            v: members.need("v")?,
            seq: members.need("seq")?,
            prev: members.need("prev")?,
            at: members.need("at")?,
            writer: members.need("writer")?,
            tool: members.need("tool")?,
            request: Request {
                verb: members.need("verb")?,
                args: members.need("args")?,
                principal: members.get("principal")?,
                principal_source: members.need("principal_source")?,
                head: members.get("head")?,
                labels: members.need("labels")?,
                client: members.get("client")?,
                traceparent: members.get("traceparent")?,
            },
            cause: members.get("cause")?,
            event: Event::of(members)?,
            hash: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::record::audit::Text;

    /// Reads a line in another way: as a generic value, which is spelled again. `serde` would
    /// accept a number for `event`.
    fn read_slowly(bytes: &[u8]) -> Result<(Line, Digest), &'static str> {
        let mut value: Value = serde_json::from_slice(bytes).map_err(|_| "malformed")?;
        if serde_jcs::to_vec(&value).unwrap() != bytes {
            return Err("malformed");
        }
        let Some(Value::String(hash)) = value.as_object_mut().unwrap().remove("hash") else {
            return Err("malformed");
        };
        let found = Digest::of(&serde_jcs::to_vec(&value).unwrap());
        if found.to_string() != hash {
            return Err("hash");
        }
        if value["event"].is_u64() {
            return Err("malformed");
        }
        let mut line: Line = serde_json::from_value(value).map_err(|_| "malformed")?;
        line.hash = Some(found);
        let is_pinned = match &line.event {
            Event::Access(access) => access.documents.iter().all(Text::is_pinned),
            _ => true,
        };
        if line.v == FORM && is_pinned { Ok((line, found)) } else { Err("malformed") }
    }

    fn read(bytes: &[u8]) -> Result<(Line, Digest), &'static str> {
        Line::read(bytes).map_err(|fault| match fault {
            LineFault::Malformed(_) => "malformed",
            LineFault::Hash { .. } => "hash",
        })
    }

    /// Returns a line with every known key, and unknown ones.
    fn full(event: &str) -> Value {
        let mut full = json!({
            "v": 1, "seq": 3, "prev": "p", "at": "t", "writer": "w", "tool": "0.1.0",
            "verb": "read", "args": {"argv": ["read", "a"], "cwd": "b", "terminal": true},
            "principal": "ana", "principal_source": "env", "head": {"checkpoint": 2, "hash": "h"},
            "labels": {"agent": "a", "session": "s", "session_implicit": true, "task": "t"},
            "traceparent": "00-1-2-01", "model": "m", "cause": "0a1b2c3d-1", "event": event, "class": "set", "query": "#a",
            "documents": [{
                "uri": "contextnest://i@1#u", "id": "i", "version": 1, "checkpoint": 1, "chain_hash": "c",
                "range": [1, 2], "part": "snippet", "author": "a", "edited_by": "e",
                "edited_at": "t", "bytes": 1, "sha256": "s", "approved_by": ["k"],
                "approved_at": "t", "review_due": "t",
                "steward": {"scope": "vault", "reviewers": ["k"], "more": 1},
            }],
            "withheld": [{"reason": "withheld", "count": 1}],
            "bytes": 5, "sha256": "s", "elapsed_us": 7, "count": 1, "code": "c",
            "query_sha256": "q", "further": {"x": [true]}, "action": "event", "ids": ["a"],
            "sealed": {"checkpoint": 2, "hash": "h"}, "recovered": true,
        });
        let of_hydration = json!({
            "source": "s", "uri": "u", "source_version": 1, "checkpoint": 1, "chain_hash": "c",
            "server": "j", "tools": ["t"], "cache": "hit", "duration_ms": 5, "media_type": "m/t",
            "result_hash": "r", "error": "e", "depends_on": ["0a1b2c3d-1"],
        });
        for (key, value) in of_hydration.as_object().unwrap() {
            full[key] = value.clone();
        }
        full
    }

    fn spelled(mut line: Value) -> Vec<u8> {
        let hash = Digest::of(&serde_jcs::to_vec(&line).unwrap());
        line["hash"] = hash.to_string().into();
        serde_jcs::to_vec(&line).unwrap()
    }

    /// Returns all variants of a value with one part missing or of another type.
    fn altered(value: &Value) -> Vec<Value> {
        let others = [json!("x"), json!(1), json!(true), json!([]), json!({}), json!(["x"])];
        let mut all = others.to_vec();
        match value {
            Value::Object(fields) => {
                for (key, part) in fields {
                    let with = |part: Value| {
                        let mut fields = fields.clone();
                        fields.insert(key.clone(), part);
                        Value::Object(fields)
                    };
                    all.extend(altered(part).into_iter().map(with));
                    let mut fields = fields.clone();
                    fields.remove(key);
                    all.push(fields.into());
                }
            }
            Value::Array(items) => {
                for (n, part) in items.iter().enumerate() {
                    let with = |part: Value| {
                        let mut items = items.clone();
                        items[n] = part;
                        Value::Array(items)
                    };
                    all.extend(altered(part).into_iter().map(with));
                }
            }
            _ => {}
        }
        all
    }

    #[test]
    fn line_reads_the_same_by_members_and_by_serde() {
        for event in ["access", "listing", "refused", "output", "hydration", "change", "other"] {
            let full = full(event);
            let is_event = event != "other";
            assert_eq!(read(&spelled(full.clone())).is_ok(), is_event, "{event}");
            for line in altered(&full).into_iter().filter(Value::is_object) {
                let bytes = spelled(line);
                let text = String::from_utf8_lossy(&bytes);
                assert_eq!(read(&bytes), read_slowly(&bytes), "{text}");
            }
        }
    }

    #[test]
    fn line_is_spelled_as_if_its_hash_were_a_member() {
        for event in ["access", "listing", "refused", "output", "change"] {
            let slow = spelled(full(event));
            let (mut line, hash) = read(&slow).unwrap();
            line.hash = None;
            // Unknown members of a later version are not written again.
            let known = serde_json::to_value(&line).unwrap();
            let (bytes, found) = line.spell().unwrap();
            assert_eq!(bytes, spelled(known), "{event}");
            assert_eq!(read(&bytes).map(|(_, hash)| hash), Ok(found));
            assert_ne!(found, hash, "{event}");
        }
    }

    #[test]
    fn arguments_record_a_long_command_line_by_its_hash() {
        let long = vec!["read".to_owned(), "x".repeat(Arguments::MAX_BYTES)];
        let recorded = Arguments::new(long.clone(), None, false);
        assert_eq!(recorded.sha256, Some(Digest::of(long.join("\0").as_bytes()).to_string()));
        assert_eq!(recorded.argv, None);
    }

    #[test]
    fn a_trace_has_one_spelling() {
        assert_eq!("0a1b2c3d-17".parse::<TraceId>().unwrap().to_string(), "0a1b2c3d-17");
        for other in ["0a1b2c3d", "0A1b2c3d-1", "0a1b2c3d-0", "0a1b2c3d-01", "0a1b2c3-1", "-1"] {
            assert!(other.parse::<TraceId>().is_err(), "{other}");
        }
    }
}
