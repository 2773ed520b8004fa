//! The path of a URI: its decoded segments, the name of a vault, and the target.

use percent_encoding::percent_decode_str;

use super::{Authority, SEARCH, STAGED, TAG, Target, Uri, UriError};
use crate::files::vault::federation::{Authorities, Owner};
use crate::values::model::id::DocumentId;

/// A path with its dot segments resolved.
pub(super) struct Path<'u> {
    /// Segments, as written and decoded.
    segments: Vec<(&'u str, String)>,
    folder: bool,
}

impl<'u> Path<'u> {
    pub(super) fn read(path: &'u str, authorities: &Authorities) -> Result<Self, UriError> {
        let mut segments: Vec<(&str, String)> = Vec::new();
        let mut folder = false;
        let mut written = path.split('/').peekable();
        while let Some(raw) = written.next() {
            let last = written.peek().is_none();
            if raw.is_empty() && (path.is_empty() || !last) {
                return Err(match path {
                    "" => UriError::Empty,
                    _ => UriError::EmptySegment,
                });
            }
            let decoded = decode(raw)?;
            folder = matches!(decoded.as_str(), "" | "." | "..");
            match decoded.as_str() {
                "" | "." => {}
                ".." => {
                    let (_, left) = segments.pop().ok_or(UriError::Escape)?;
                    // Dots cannot leave the named vault.
                    if segments.is_empty() && authorities.owner(&left).is_some() {
                        return Err(UriError::Escape);
                    }
                }
                _ => segments.push((raw, decoded)),
            }
        }
        Ok(Self { segments, folder })
    }

    /// Removes the vault's name, if the path begins with one and continues.
    pub(super) fn take_authority(
        &mut self,
        authorities: &Authorities,
    ) -> Result<Option<Authority>, UriError> {
        let owner = self.owner(authorities);
        let Some(owner) = owner else { return Ok(None) };
        let (_, name) = self.segments.remove(0);
        if self.segments.is_empty() {
            return Err(UriError::Empty);
        }
        // The vault's own name is needed only if the rest would name another vault.
        let is_needed = owner != Owner::This || self.owner(authorities).is_some();
        let name = name.to_ascii_lowercase();
        Ok(is_needed.then_some(Authority { name, owner }))
    }

    /// Returns the vault that the first segment names; `None` for a single segment, which is
    /// a document.
    fn owner(&self, authorities: &Authorities) -> Option<Owner> {
        let (_, first) = self.segments.first()?;
        authorities.owner(first).filter(|_| self.goes_on())
    }

    fn goes_on(&self) -> bool {
        self.segments.len() > 1 || self.folder
    }

    /// Returns the target of the path, without checkpoint and anchor.
    pub(super) fn target(self) -> Result<Target, UriError> {
        let first = self.segments.first().map(|(_, name)| name.as_str());
        let named_set = self.goes_on();
        let no_tag = || UriError::Tag { found: self.rest() };
        match first {
            None => Err(UriError::Empty),
            Some(TAG) if named_set => {
                let levels: Vec<&str> =
                    self.segments[1..].iter().map(|(_, name)| &**name).collect();
                // Each level is one segment, so that a tag has one spelling.
                let is_tag = !self.folder && !levels.iter().any(|level| level.contains('/'));
                let tag = is_tag.then(|| levels.join("/").parse().ok()).flatten();
                tag.map(Target::Tag).ok_or_else(no_tag)
            }
            Some(SEARCH) if named_set => match &self.segments[1..] {
                [(raw, _)] if !self.folder => Ok(Target::Search(decode(&raw.replace('+', " "))?)),
                _ => Err(UriError::Query { found: self.rest() }),
            },
            Some(STAGED) if named_set => Err(UriError::Staged),
            Some(_) => {
                if let Some((raw, _)) = self.segments.iter().find(|(_, name)| name.contains('/')) {
                    let segment = (*raw).to_owned();
                    return Err(UriError::EncodedSlash { segment });
                }
                let names: Vec<&str> = self.segments.iter().map(|(_, name)| &**name).collect();
                let id: DocumentId = names.join("/").parse().map_err(UriError::DocumentId)?;
                Ok(if self.folder {
                    Target::Folder(format!("{id}/"))
                } else {
                    Uri::document(id).target
                })
            }
        }
    }

    /// Returns the text after the first segment, for an error.
    fn rest(&self) -> String {
        let names: Vec<&str> = self.segments[1..].iter().map(|(raw, _)| *raw).collect();
        let end = if self.folder && !names.is_empty() { "/" } else { "" };
        names.join("/") + end
    }
}

/// Decodes a segment. Unlike lenient RFC 3986 parsers, it refuses a `%` without two digits.
pub(super) fn decode(raw: &str) -> Result<String, UriError> {
    let segment = || raw.to_owned();
    let is_encoded = |after: &str| {
        after.as_bytes().get(..2).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
    };
    if !raw.split('%').skip(1).all(is_encoded) {
        return Err(UriError::Percent { segment: segment() });
    }
    let decoded = percent_decode_str(raw).decode_utf8();
    let text = decoded.map_err(|_| UriError::NotUtf8 { segment: segment() })?.into_owned();
    match text.chars().find(|c| c.is_control()) {
        Some(found) => Err(UriError::Character { found }),
        None => Ok(text),
    }
}
