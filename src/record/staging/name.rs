//! Names of staged entries: a URI, `contextnest://staged/<source id>/<writer8>-<seq>`, or its last
//! part as a short form (STAGE-6). A name may have all digits of the writer.

use std::fmt;

use crate::record::audit::TraceId;
use crate::record::journal::WriterId;
use crate::text::uri::{SCHEME, STAGED, encode_path};
use crate::values::model::id::DocumentId;

/// The name of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StagedName {
    /// The source; `None` in the short form.
    pub source: Option<DocumentId>,
    /// The first digits of the writer, and the number of the line.
    pub line: TraceId,
    /// All digits of the writer, if the name has them.
    pub writer: Option<WriterId>,
}

impl StagedName {
    /// Returns the name of a line in the chain of a writer.
    pub fn of(source: &DocumentId, writer: &WriterId, seq: u64) -> Self {
        let line = TraceId::of(&writer.to_string(), seq);
        Self { source: Some(source.clone()), line, writer: None }
    }

    /// Returns true if the name is that of this line.
    pub fn names(&self, source: &DocumentId, writer: &WriterId, seq: u64) -> bool {
        let is_source = self.source.as_ref().is_none_or(|named| named == source);
        is_source
            && self.line == TraceId::of(&writer.to_string(), seq)
            && self.writer.as_ref().is_none_or(|named| named == writer)
    }
}

impl fmt::Display for StagedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = &self.source {
            write!(f, "{SCHEME}{STAGED}/{}/", encode_path(source.as_str()))?;
        }
        match &self.writer {
            Some(writer) => write!(f, "{writer}-{}", self.line.seq),
            None => self.line.fmt(f),
        }
    }
}

/// Parses a URI of a staged entry, or its short form.
///
/// # Errors
/// Returns a description of the expected form.
pub fn parse_name(text: &str) -> Result<StagedName, &'static str> {
    let form = "expected a URI such as `contextnest://staged/sources/prices/0a1b2c3d-17`, or \
                `0a1b2c3d-17`";
    if let Some((line, writer)) = line_of(text) {
        return Ok(StagedName { source: None, line, writer });
    }
    let scheme = text.get(..SCHEME.len()).filter(|found| found.eq_ignore_ascii_case(SCHEME));
    let rest = scheme.map(|scheme| &text[scheme.len()..]).ok_or(form)?;
    let path = rest.strip_prefix(STAGED).and_then(|rest| rest.strip_prefix('/')).ok_or(form)?;
    let (source, line) = path.rsplit_once('/').ok_or(form)?;
    let source = percent_encoding::percent_decode_str(source).decode_utf8().map_err(|_| form)?;
    let source: DocumentId = source.parse().map_err(|_| form)?;
    let (line, writer) = line_of(line).ok_or(form)?;
    Ok(StagedName { source: Some(source), line, writer })
}

/// Parses a line by the first digits of its writer, or by all.
fn line_of(text: &str) -> Option<(TraceId, Option<WriterId>)> {
    if let Ok(line) = text.parse() {
        return Some((line, None));
    }
    let (writer, seq) = text.split_once('-')?;
    let writer: WriterId = writer.parse().ok()?;
    let seq = crate::values::yaml::canonical_number(seq).filter(|seq| *seq > 0)?;
    Some((TraceId::of(&writer.to_string(), seq), Some(writer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_name_reads_displayed_names_back() {
        let whole = "contextnest://staged/sources/p/0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d-17";
        for text in ["contextnest://staged/sources/p%C3%A9/x/0a1b2c3d-17", "0a1b2c3d-17", whole] {
            assert_eq!(parse_name(text).unwrap().to_string(), text);
        }
        for text in [
            "contextnest://sources/a/0a1b2c3d-17",
            "contextnest://staged/0a1b2c3d-17",
            "contextnest://staged/sources/../a/0a1b2c3d-17",
            "contextnest://staged/sources/a/0a1b2c3d-0",
            "contextnest://staged/sources/a/0a1b2c3d-1#x",
            "0a1b2c3d",
            "é",
        ] {
            assert!(parse_name(text).is_err(), "{text}");
        }
    }
}
