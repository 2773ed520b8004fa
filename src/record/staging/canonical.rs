//! Hashes the content of a payload: the canonical form (RFC 8785) of JSON, otherwise the
//! bytes (STAGE-5).

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::values::model::digest::Digest;

/// Maximum depth of nested objects and arrays. A deeper payload is hashed as bytes.
const MAX_DEPTH: usize = 64;
/// Maximum number of values. A payload with more is hashed as bytes.
const MAX_VALUES: usize = 1 << 20;
/// Maximum length of JSON in bytes. A longer payload is hashed as bytes.
const MAX_JSON: usize = 16 << 20;

/// Form of a content that is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Canonical {
    /// The canonical form of the JSON value.
    Jcs,
    /// The bytes as received.
    Raw,
}

impl Canonical {
    /// Returns the value of `canonical` in lines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jcs => "jcs",
            Self::Raw => "raw",
        }
    }

    /// Returns the form and the hash of a payload. `raw` is the hash of its bytes.
    pub(super) fn of(payload: &[u8], media_type: Option<&str>, raw: Digest) -> (Self, Digest) {
        let is_json = match media_type {
            Some(media_type) => is_json(media_type),
            None => matches!(payload.trim_ascii_start().first(), Some(b'{' | b'[')),
        };
        match is_json.then(|| jcs(payload)).flatten() {
            Some(hash) => (Self::Jcs, hash),
            None => (Self::Raw, raw),
        }
    }

    /// Returns the hash of a payload in this form; `None` if it should be JSON but is not.
    pub(crate) fn hash(self, payload: &[u8], raw: Digest) -> Option<Digest> {
        match self {
            Self::Jcs => jcs(payload),
            Self::Raw => Some(raw),
        }
    }
}

/// Returns true if a media type is one of JSON.
fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/json" | "text/json") || essence.ends_with("+json")
}

/// Returns the hash of the canonical form of JSON; `None` if [`json`] returns `None`.
fn jcs(payload: &[u8]) -> Option<Digest> {
    Some(Digest::of(&serde_jcs::to_vec(&json(payload)?).ok()?))
}

/// Parses JSON; returns `None` if keys repeat or limits are exceeded.
pub(crate) fn json(payload: &[u8]) -> Option<Value> {
    if payload.len() > MAX_JSON {
        return None;
    }
    let mut values = MAX_VALUES;
    let mut json = serde_json::Deserializer::from_slice(payload);
    let value = Strict { depth: MAX_DEPTH, values: &mut values }.deserialize(&mut json).ok()?;
    json.end().ok()?;
    Some(value)
}

/// Parser for a JSON value with limited depth. It refuses an object with a repeated key, which
/// programs interpret differently.
struct Strict<'s> {
    depth: usize,
    values: &'s mut usize,
}

impl Strict<'_> {
    fn inner<E: Error>(&mut self) -> Result<Strict<'_>, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom("nested too deep"))?;
        Ok(Strict { depth, values: self.values })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        *self.values = self.values.checked_sub(1).ok_or_else(|| D::Error::custom("too many"))?;
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("no number"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner()?)? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(self.inner()?)?;
            if all.insert(key, value).is_some() {
                return Err(A::Error::custom("a key twice"));
            }
        }
        Ok(all.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(payload: &str) -> (Canonical, Digest) {
        Canonical::of(payload.as_bytes(), None, Digest::of(payload.as_bytes()))
    }

    #[test]
    fn canonical_hashes_equal_json_values_alike() {
        let one = of("{\"b\": [1.0, null], \"a\": \"\\u00e9\"}");
        assert_eq!(one, (Canonical::Jcs, Digest::of("{\"a\":\"é\",\"b\":[1,null]}".as_bytes())));
        assert_eq!(one, of(" {\"a\":\"é\",\"b\":[1e0,null]}\n"));
    }

    #[test]
    fn canonical_hashes_ambiguous_json_as_bytes() {
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        let deepest = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
        assert_eq!(of(&deepest).0, Canonical::Jcs);
        let deeper = format!("[{deepest}]");
        let many = format!("[0{}]", ",0".repeat(MAX_VALUES - 1));
        for payload in [
            "{\"a\":1,\"a\":1}",
            "[{\"a\":{\"b\":1,\"\\u0062\":2}}]",
            "{\"a\":1} x",
            "{\"a\":\"\\ud800\"}",
            "[1e999]",
            "{",
            "ordinary text",
            "",
            &deep,
            &deeper,
            &many,
        ] {
            let raw = (Canonical::Raw, Digest::of(payload.as_bytes()));
            assert_eq!(of(payload), raw, "{}", &payload[..payload.len().min(40)]);
        }
    }

    #[test]
    fn canonical_follows_the_media_type() {
        let of = |payload: &str, media_type| {
            Canonical::of(payload.as_bytes(), Some(media_type), Digest::of(b"")).0
        };
        assert_eq!(of("{}", "text/plain"), Canonical::Raw);
        assert_eq!(of("{}", "application/problem+json; charset=utf-8"), Canonical::Jcs);
        assert_eq!(of("17", "application/json"), Canonical::Jcs);
        assert_eq!(of("<a/>", "application/json"), Canonical::Raw);
    }
}
