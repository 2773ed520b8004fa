//! Frontmatter in another format than YAML, as other programs write it: TOML between lines `+++`,
//! or a JSON object before the text. It is converted to YAML with the same values
//! (`spec/document.md`, section 6).

use std::collections::HashSet;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::text::{BOM, Lines, Parts, line_end, normalise};
use super::{Format, Unreadable};
use crate::values::model::layout::limit;
use crate::values::yaml::emit;

/// A frontmatter that is not YAML.
#[derive(Debug)]
pub struct Read {
    /// Format of the frontmatter.
    pub format: Format,
    /// Positions of the parts in the text. The rest begins after the line `+++` or the closing
    /// brace, at the end of the line.
    pub parts: Parts,
    /// Fields as lines of YAML.
    pub yaml: String,
}

/// Reads the frontmatter of a text, if it is in another format than YAML (DOC-28, DOC-29).
///
/// # Errors
/// The frontmatter cannot be read, or has more than 64 KiB.
pub fn read(text: &str) -> Option<Result<Read, Unreadable>> {
    let (format, parts) = match extent(text)? {
        Ok(found) => found,
        Err(why) => return Some(Err(why)),
    };
    let block = parts.frontmatter.clone().unwrap_or_default();
    if block.len() > limit::FRONTMATTER {
        return Some(Err(Unreadable::FrontmatterTooLarge { found: block.len() }));
    }
    let block = normalise(&text[block]);
    let fields = match format {
        Format::Toml => toml_fields(&block),
        _ => serde_json::from_str::<Fields>(&block).map_err(|why| why.to_string()),
    };
    let yaml = fields.map(|fields| {
        fields.0.iter().map(|(key, value)| format!("{}: {value}\n", emit::in_flow(key))).collect()
    });
    Some(match yaml {
        Ok(yaml) => Ok(Read { format, parts, yaml }),
        Err(why) => Err(Unreadable::Other { format, why }),
    })
}

/// Returns a text with a YAML frontmatter of the same fields before the same rest.
pub(crate) fn as_yaml(text: &str, found: &Read) -> String {
    format!("---\n{}---{}", found.yaml, &text[found.parts.rest.clone()])
}

/// Returns the line and the column of a key of the first level, from 1, in a text whose frontmatter
/// was read; the beginning of the text if it is not found.
pub(super) fn place_of(format: Format, text: &str, parts: &Parts, key: &str) -> (usize, usize) {
    let range = parts.frontmatter.clone().unwrap_or_default();
    let (before, block) = (normalise(&text[..range.start]), normalise(&text[range]));
    let at = match format {
        Format::Toml => toml_key(&block, key),
        _ => json_key(&block, key),
    };
    let lead = at.map_or("", |at| &block[..at]);
    let line = 1 + before.matches('\n').count() + lead.matches('\n').count();
    let start = lead.rfind('\n').map_or(0, |n| n + 1);
    (line, 1 + lead[start..].chars().count())
}

/// Returns the position of a key in a TOML table.
fn toml_key(block: &str, key: &str) -> Option<usize> {
    let table = toml::de::DeTable::parse(block).ok()?;
    let found = table.get_ref().keys().find(|found| found.get_ref() == key)?;
    Some(found.span().start)
}

/// Returns the position of a key in a JSON object.
fn json_key(block: &str, key: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = block.as_bytes().get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let mut values = serde_json::Deserializer::from_str(&block[at..]).into_iter();
                let text: String = values.next()?.ok()?;
                let end = at + values.byte_offset();
                if depth == 1 && text == key && block[end..].trim_start().starts_with(':') {
                    return Some(at);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the format and the parts of a frontmatter that is not YAML.
fn extent(text: &str) -> Option<Result<(Format, Parts), Unreadable>> {
    let start = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
    let is_fence = |line: &str| line.trim_end_matches([' ', '\t']) == "+++";
    let parts = |block: std::ops::Range<usize>, rest: usize, body: usize| Parts {
        frontmatter: Some(block),
        rest: rest..text.len(),
        body,
        line_end: line_end(text),
    };
    let mut lines = Lines::of(text);
    let opening = lines.next().map_or("", |line| text[line].trim_end_matches([' ', '\t']));
    // A text that some programs read as a frontmatter must not be published as body.
    let named = opening
        .strip_prefix("---")
        .unwrap_or(opening)
        .trim_start_matches([' ', '\t'])
        .to_ascii_lowercase();
    let refused = match named.as_str() {
        _ if !opening.starts_with(['-', ';']) => None,
        "yaml" | "yml" => Some((Format::Yaml, "write YAML between two lines `---`")),
        "toml" => Some((Format::Toml, "write TOML between two lines `+++`")),
        "json" | "json5" | "hjson" | "js" | "javascript" | "cson" | "coffee" | ";;;" => {
            Some((Format::Json, "write JSON as one object before the text"))
        }
        _ => None,
    };
    if let Some((format, why)) = refused {
        let why = format!("`{opening}` is not read; {why}");
        return Some(Err(Unreadable::Other { format, why }));
    }
    if is_fence(opening) {
        let first = lines.at;
        while let Some(line) = lines.next() {
            if is_fence(&text[line.clone()]) {
                return Some(Ok((Format::Toml, parts(first..line.start, line.end, lines.at))));
            }
        }
        let why = "no line `+++` closes it".to_owned();
        return Some(Err(Unreadable::Other { format: Format::Toml, why }));
    }
    if !text[start..].starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let end = start + values.byte_offset();
    let blank = text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
    let rest = end + blank;
    let body = match &text[rest..] {
        "" => rest,
        after if after.starts_with("\r\n") => rest + 2,
        after if after.starts_with(['\n', '\r']) => rest + 1,
        _ => return None,
    };
    Some(Ok((Format::Json, parts(start..end, rest, body))))
}

/// The fields of a frontmatter with their values, in the spelling of a YAML flow collection.
struct Fields(Vec<(String, String)>);

fn toml_fields(block: &str) -> Result<Fields, String> {
    let table: toml::Table = block.parse().map_err(|why: toml::de::Error| {
        // Lines are counted from the beginning of the document, which is a line `+++`.
        let before = why.span().and_then(|span| block.get(..span.start));
        let line = before.map_or(1, |before| 2 + before.matches('\n').count());
        format!("line {line}: {}", why.message())
    })?;
    Ok(Fields(table.into_iter().map(|(key, value)| (key, toml_value(&value))).collect()))
}

fn toml_value(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => emit::in_flow(text),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => float(*number),
        toml::Value::Boolean(is) => is.to_string(),
        toml::Value::Datetime(at) => emit::in_flow(&at.to_string()),
        toml::Value::Array(items) => list(items.iter().map(toml_value)),
        toml::Value::Table(entries) => {
            map(entries.iter().map(|(key, value)| (key.as_str(), toml_value(value))))
        }
    }
}

fn float(number: f64) -> String {
    // In YAML, `inf` and `nan` are words.
    if number.is_finite() { format!("{number:?}") } else { emit::in_flow(&number.to_string()) }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn map<'k>(entries: impl Iterator<Item = (&'k str, String)>) -> String {
    let entries = entries.map(|(key, value)| format!("{}: {value}", emit::in_flow(key)));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

/// A JSON value, in the spelling of YAML.
struct Spelled(String);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<Fields, A::Error> {
                entries(from).map(Fields)
            }
        }
        from.deserialize_map(Entries)
    }
}

impl<'de> Deserialize<'de> for Spelled {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AnyValue;
        impl<'de> Visitor<'de> for AnyValue {
            type Value = String;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<String, E> {
                Ok("null".to_owned())
            }

            fn visit_bool<E>(self, value: bool) -> Result<String, E> {
                Ok(value.to_string())
            }

            fn visit_i64<E>(self, value: i64) -> Result<String, E> {
                Ok(value.to_string())
            }

            fn visit_u64<E>(self, value: u64) -> Result<String, E> {
                Ok(value.to_string())
            }

            fn visit_f64<E>(self, value: f64) -> Result<String, E> {
                Ok(float(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<String, E> {
                Ok(emit::in_flow(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<String, A::Error> {
                let mut items = Vec::new();
                while let Some(Spelled(item)) = from.next_element()? {
                    items.push(item);
                }
                Ok(list(items.into_iter()))
            }

            fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<String, A::Error> {
                let entries = entries(from)?;
                Ok(map(entries.iter().map(|(key, value)| (key.as_str(), value.clone()))))
            }
        }
        from.deserialize_any(AnyValue).map(Spelled)
    }
}

/// Returns the entries of an object in order. Duplicate keys are refused, because readers disagree
/// about them.
fn entries<'de, A: MapAccess<'de>>(mut from: A) -> Result<Vec<(String, String)>, A::Error> {
    let (mut entries, mut seen) = (Vec::new(), HashSet::new());
    while let Some((key, Spelled(value))) = from.next_entry::<String, _>()? {
        if !seen.insert(key.clone()) {
            return Err(de::Error::custom(format_args!("duplicate key `{}`", key.escape_debug())));
        }
        entries.push((key, value));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::document::Document;

    #[test]
    fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
        assert!(read(&"{\"a\":".repeat(1_000_000)).is_none());
        let nested = |n: usize| format!("+++\na = {}{}\n+++\n", "[".repeat(n), "]".repeat(n));
        assert_eq!(read(&nested(20_000)).unwrap().unwrap_err().code(), "frontmatter-format");
        // A text that the YAML reader refuses is not a frontmatter either.
        assert!(read(&nested(40)).unwrap().is_ok());
        assert_eq!(Document::of_live(&nested(40)).unwrap_err().code(), "frontmatter-format");
    }

    #[test]
    fn a_frontmatter_has_at_most_64_kib() {
        for text in [
            format!("+++\na = '{}'\n+++\n", "x".repeat(65_536)),
            format!("{{\"a\": \"{}\"}}\n", "x".repeat(65_536)),
            // Escapes make the YAML longer than the original.
            format!("+++\na = '{}'\n+++\n", "\u{85}".repeat(30_000)),
        ] {
            assert_eq!(Document::of_live(&text).unwrap_err().code(), "frontmatter-too-large");
        }
    }
}
