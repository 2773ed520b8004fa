//! `contextnest://` URIs: one parser, one canonical form (paper, section 6; `spec/uri.md`).
//!
//! A [`Uri`] names one document or section ([`Class::Direct`]), a set of documents ([`Class::Set`])
//! or a query for a search back-end ([`Class::Delegated`]); only its text decides which. Parsing
//! computes the canonical form first (dot segments, percent-encoding), so two spellings of one URI
//! are equal values. The [`Authorities`] of the vault that reads a URI decide if its first segment
//! is the name of a vault: a URI of a vault must be read with [`Uri::parse_in`]. Resolving a URI is
//! not part of this module.

mod error;
mod path;

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode, utf8_percent_encode};

pub use error::UriError;

use crate::files::vault::federation::{Authorities, Owner};
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::tag::Tag;
use crate::values::yaml::canonical_number;

use path::{Path, decode};

/// Maximum length of a URI in bytes, as written and in canonical form.
pub const MAX_URI_BYTES: usize = 8192;

pub(crate) const SCHEME: &str = "contextnest://";
const TAG: &str = "tag";
const SEARCH: &str = "search";
/// First segment of the path of a staged entry.
pub(crate) const STAGED: &str = "staged";

/// Returns true if a URI that a program wrote names a staged entry (STAGE-6).
pub(crate) fn is_staged(uri: &str) -> bool {
    let path = uri.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix(STAGED));
    path.is_some_and(|rest| rest.starts_with('/'))
}

/// A reference in the `contextnest://` scheme.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Uri {
    /// Named vault, if any. A vault's own name is kept only if the path alone would name
    /// another vault.
    pub authority: Option<Authority>,
    /// Target in that vault.
    pub target: Target,
}

/// The vault that a URI names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Authority {
    /// Name, in lower case.
    pub name: String,
    /// Vault with that name.
    pub owner: Owner,
}

/// A URI that names another vault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignVault {
    /// The other vault is never read.
    #[error("`{name}` is another vault, which cannot be resolved yet; it is at `{}`", .location.escape_debug())]
    Unreachable {
        /// Name of the vault.
        name: String,
        /// Location in the registry.
        location: String,
    },
    /// `allow` of a scoped vault does not list the other vault.
    #[error("`{name}` is another vault, and `allow` in the configuration does not list it")]
    NotAllowed {
        /// Name of the vault.
        name: String,
    },
}

/// The target of a URI.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A document, or one of its sections.
    Document {
        /// Id of the document.
        id: DocumentId,
        /// Checkpoint of the version, at least 1; `None` for the newest.
        checkpoint: Option<CheckpointNumber>,
        /// Section, which is not empty and does not contain `/`; `None` for the whole document.
        anchor: Option<String>,
    },
    /// All documents with this tag, which has no `#`.
    Tag(Tag),
    /// All documents beneath this folder, a path that ends in `/`.
    Folder(String),
    /// The documents that a search back-end finds for this text.
    Search(String),
}

words! {
    /// The class of a URI, which decides its guarantees (paper, section 6.3).
    #[derive(Hash)]
    pub enum Class {
        /// One document or section, determined by path, checkpoint and anchor.
        Direct = "direct",
        /// The documents that a structural rule selects.
        Set = "set",
        /// The answer of a search back-end.
        Delegated = "delegated",
    }
}

impl Uri {
    /// Makes the URI of the newest version of a document, for an id that [`Uri::can_name`].
    pub fn document(id: DocumentId) -> Self {
        Self::new(id, None)
    }

    /// Makes the URI of the version of a document at a checkpoint, for an id
    /// that [`Uri::can_name`].
    pub fn pinned(id: DocumentId, checkpoint: CheckpointNumber) -> Self {
        Self::new(id, Some(checkpoint))
    }

    /// Returns the URI without a checkpoint.
    #[cfg(feature = "mcp")]
    pub(crate) fn unpinned(mut self) -> Self {
        if let Target::Document { checkpoint, .. } = &mut self.target {
            *checkpoint = None;
        }
        self
    }

    /// Returns the URI of a section of the document; that of the whole document if the anchor is
    /// empty, or if the URI would exceed the limit.
    #[must_use]
    pub(crate) fn of_section(self, section: &str) -> Self {
        let mut uri = self.clone();
        if let Target::Document { anchor, .. } = &mut uri.target {
            *anchor = Some(section.to_owned()).filter(|anchor| !anchor.is_empty());
        }
        if within_limit(uri.to_string().len()).is_ok() { uri } else { self }
    }

    fn new(id: DocumentId, checkpoint: Option<CheckpointNumber>) -> Self {
        Target::Document { id, checkpoint, anchor: None }.into()
    }

    /// Parses a URI with the names of vaults in a configuration.
    ///
    /// # Errors
    /// The first rule of URIs that the text breaks.
    pub fn parse_in(text: &str, authorities: &Authorities) -> Result<Self, UriError> {
        let rest = match text.split_at_checked(SCHEME.len()) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case(SCHEME) => rest,
            _ => return Err(UriError::Scheme),
        };
        within_limit(text.len())?;
        if let Some(found) = rest.chars().find(|c| is_refused(*c)) {
            return Err(UriError::Character { found });
        }
        let (path, anchor) = match rest.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (rest, None),
        };
        let (path, pin) = match path.split_once('@') {
            Some((path, pin)) => (path, Some(pin)),
            None => (path, None),
        };
        let mut path = Path::read(path, authorities)?;
        let authority = path.take_authority(authorities)?;
        let target = match (path.target()?, pin, anchor) {
            (Target::Document { id, .. }, pin, anchor) => Target::Document {
                id,
                checkpoint: pin.map(read_pin).transpose()?,
                anchor: anchor.map(read_anchor).transpose()?,
            },
            (set, None, None) => set,
            (_, pin, _) => {
                let mark = if pin.is_some() { '@' } else { '#' };
                return Err(UriError::NotADocument { mark });
            }
        };
        let uri = Self { authority, target };
        // Encoding may triple the length; the printed text must be readable again.
        within_limit(uri.to_string().len())?;
        Ok(uri)
    }

    /// Returns this URI in the spelling of its own vault; `None` if the path has another meaning
    /// that the vault's own name cannot change.
    pub fn within(self, authorities: &Authorities) -> Option<Self> {
        let path = match &self.target {
            Target::Document { id, .. } if !Self::can_name(id) => return None,
            Target::Document { id, .. } => id.as_str(),
            Target::Folder(path) => path,
            Target::Tag(_) | Target::Search(_) => return Some(self),
        };
        let taken = |(first, _): (&str, &str)| authorities.owner(first).is_some();
        if !path.split_once('/').is_some_and(taken) {
            return Some(self);
        }
        let name = authorities.own()?.to_owned();
        Some(Self { authority: Some(Authority { name, owner: Owner::This }), ..self })
    }

    /// Returns the target in this vault.
    ///
    /// # Errors
    /// The URI names another vault.
    pub fn local(&self) -> Result<&Target, ForeignVault> {
        match &self.authority {
            Some(Authority { name, owner: Owner::Other { location, allowed } }) => {
                let (name, location) = (name.clone(), location.clone());
                Err(match allowed {
                    true => ForeignVault::Unreachable { name, location },
                    false => ForeignVault::NotAllowed { name },
                })
            }
            _ => Ok(&self.target),
        }
    }

    /// Returns true if a URI can name this id: paths that begin with `tag/`, `search/` or `staged/`
    /// have another meaning.
    pub fn can_name(id: &DocumentId) -> bool {
        !matches!(id.as_str().split_once('/'), Some((TAG | SEARCH | STAGED, _)))
    }

    /// Returns the class of the URI.
    pub fn class(&self) -> Class {
        match self.target {
            Target::Document { .. } => Class::Direct,
            Target::Tag(_) | Target::Folder(_) => Class::Set,
            Target::Search(_) => Class::Delegated,
        }
    }
}

impl From<Target> for Uri {
    fn from(target: Target) -> Self {
        Self { authority: None, target }
    }
}

/// Parses a URI of a vault that names no other vaults.
impl FromStr for Uri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse_in(text, &Authorities::default())
    }
}

fn within_limit(found: usize) -> Result<(), UriError> {
    if found > MAX_URI_BYTES {
        return Err(UriError::TooLong { found });
    }
    Ok(())
}

/// Returns true for a character that RFC 3986 forbids in URIs, and for `?`: the scheme has no
/// query component.
pub(crate) fn is_refused(c: char) -> bool {
    c.is_control() || " \"<>?\\^`{|}".contains(c)
}

fn read_pin(raw: &str) -> Result<CheckpointNumber, UriError> {
    let number = canonical_number(&decode(raw)?).filter(|n| *n > 0);
    number.map(CheckpointNumber).ok_or_else(|| UriError::Pin { found: raw.to_owned() })
}

fn read_anchor(raw: &str) -> Result<String, UriError> {
    let anchor = decode(raw)?;
    let found = || raw.to_owned();
    if anchor.is_empty() || raw.contains(['#', '@', '/']) {
        return Err(UriError::Anchor { found: found() });
    }
    if anchor.contains('/') {
        return Err(UriError::EncodedSlash { segment: found() });
    }
    Ok(anchor)
}

/// All bytes except the unreserved ones of RFC 3986, section 2.3.
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// All bytes except unreserved ones and the `/` between the names of a path.
const RESERVED_IN_PATH: AsciiSet = RESERVED.remove(b'/');

/// Returns a text with every byte percent-encoded that is not unreserved.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, &RESERVED).to_string()
}

/// Returns bytes, each percent-encoded unless it is unreserved.
pub(crate) fn encode_bytes(bytes: &[u8]) -> String {
    percent_encode(bytes, &RESERVED).to_string()
}

/// Returns a path with every byte percent-encoded that is neither unreserved nor `/`.
pub(crate) fn encode_path(path: &str) -> String {
    utf8_percent_encode(path, &RESERVED_IN_PATH).to_string()
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        if let Some(authority) = &self.authority {
            write!(f, "{}/", authority.name)?;
        }
        match &self.target {
            Target::Document { id, checkpoint, anchor } => {
                f.write_str(&encode_path(id.as_str()))?;
                if let Some(checkpoint) = checkpoint {
                    write!(f, "@{checkpoint}")?;
                }
                if let Some(anchor) = anchor {
                    write!(f, "#{}", encode(anchor))?;
                }
                Ok(())
            }
            Target::Tag(name) => write!(f, "{TAG}/{}", encode_path(name.as_str())),
            Target::Folder(path) => f.write_str(&encode_path(path)),
            Target::Search(query) => {
                let words: Vec<String> = query.split(' ').map(encode).collect();
                write!(f, "{SEARCH}/{}", words.join("+"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> String {
        match text.parse::<Uri>() {
            Ok(uri) => format!("{:?} {uri}", uri.target),
            Err(why) => format!("[{}] {why}", why.code()),
        }
    }

    // spec/vectors/uri tests which text is a URI; the tests here are for values and messages.
    #[test]
    fn text_alone_decides_the_target_of_a_uri() {
        let cases = " nodes/a@7#b tag/x search/auth+flow%2B a/b/.. R&D:%20%25\u{e9} http://a /a .. a%2Fb \
                     a?b a% a%FF a@07 tag/x@3 a# tag/%23x search/a/b a%5Cb";
        let report: Vec<String> = cases
            .split(' ')
            .map(|c| read(&format!("ContextNest://{c}").replace("ContextNest://http", "http")))
            .collect();
        insta::assert_snapshot!(report.join("\n"), @r#"
        [uri-empty] expected a path after `contextnest://`
        Document { id: "nodes/a", checkpoint: Some(7), anchor: Some("b") } contextnest://nodes/a@7#b
        Tag("x") contextnest://tag/x
        Search("auth flow+") contextnest://search/auth+flow%2B
        Folder("a/") contextnest://a/
        Document { id: "R&D: %é", checkpoint: None, anchor: None } contextnest://R%26D%3A%20%25%C3%A9
        [uri-scheme] expected `contextnest://`
        [uri-empty-segment] expected a name between two `/`
        [uri-escape] the path leaves the vault
        [uri-encoded-slash] `a%2Fb` encodes a `/`, which names cannot contain
        [uri-character] a URI cannot contain `?`
        [uri-percent] expected two hexadecimal digits after `%` in `a%`
        [uri-not-utf8] the encoded bytes of `a%FF` are not UTF-8
        [uri-pin] expected a checkpoint number from 1 after `@`, but found `07`
        [uri-not-a-document] only a document can have `@`; in a name write it as `%40`
        [uri-anchor] expected the name of a section after `#`, but found the end
        [uri-tag] expected a tag after `tag/`, but found `%23x`
        [uri-query] expected one query after `search/`, but found `a/b`
        [uri-id] ids cannot contain `\`
        "#);
    }

    #[test]
    fn neither_text_nor_canonical_form_exceeds_the_limit() {
        let query = |c: &str, n: usize| read(&format!("contextnest://search/{}", c.repeat(n)));
        assert!(query("a", 8171).starts_with("Search"));
        assert!(query("a", 8172).starts_with("[uri-too-long]"));
        assert!(query("\u{e9}", 2000).starts_with("[uri-too-long]"));
        assert!(read(&format!("contextnest://{}", "a".repeat(513))).starts_with("[uri-id]"));
    }

    #[test]
    fn an_id_below_tag_or_search_has_no_uri() {
        for (id, expected) in
            [("tag/x", false), ("search/a/b", false), ("tag", true), ("tags/x", true)]
        {
            let id: DocumentId = id.parse().unwrap();
            assert_eq!(Uri::can_name(&id), expected);
            let read_back = Uri::document(id.clone()).to_string().parse().ok();
            assert_eq!(read_back == Some(Uri::document(id)), expected);
        }
    }

    fn uris() -> impl Strategy<Value = Uri> {
        let names = "[a-z\u{e9}\u{65e5} .@#%:+&_-]{1,6}(/[a-z0-9 ~-]{1,6}){0,3}";
        let id = names.prop_filter_map("an id that a URI can name", |text| {
            text.parse::<DocumentId>().ok().filter(Uri::can_name)
        });
        let anchor = "[a-z\u{e9} %#@+-]{1,8}";
        let document = (id.clone(), prop::option::of(1u64..), prop::option::of(anchor)).prop_map(
            |(id, pin, anchor)| {
                let checkpoint = pin.map(CheckpointNumber);
                Target::Document { id, checkpoint, anchor }
            },
        );
        let folder = id.prop_filter_map("a folder", |id| {
            (!matches!(id.as_str(), TAG | SEARCH)).then(|| Target::Folder(format!("{id}/")))
        });
        let tag = "[a-zA-Z][a-zA-Z0-9_-]{0,8}".prop_map(|tag| Target::Tag(tag.parse().unwrap()));
        let search = "[a-z\u{e9} %#@+/-]{1,8}".prop_map(Target::Search);
        prop_oneof![document, folder, tag, search].prop_map(Uri::from)
    }

    proptest! {
        #[test]
        fn parsing_undoes_display(uri in uris()) {
            prop_assert_eq!(uri.to_string().parse(), Ok(uri));
        }

        #[test]
        fn uri_with_an_own_name_reaches_every_target(
            id in "(acme|home|x|tag|Acme)(/(acme|home|x|search)){0,3}",
            has_name: bool,
        ) {
            let namespace = if has_name { "namespace: home\n" } else { "" };
            let config = format!("{namespace}federation: federated\nregistry: {{acme: /a}}\n");
            let names = crate::files::vault::config::Config::parse(&config).unwrap().authorities;
            let id: DocumentId = id.parse().unwrap();
            match Uri::document(id.clone()).within(&names) {
                Some(uri) => {
                    prop_assert_eq!(Uri::parse_in(&uri.to_string(), &names), Ok(uri.clone()));
                    prop_assert_eq!(uri.local(), Ok(&Uri::document(id).target));
                }
                None => prop_assert!(!Uri::can_name(&id) || !has_name),
            }
        }

        #[test]
        fn canonical_form_is_stable(text in "[a-d\u{e9}/.@#%2F0+ ~:-]{0,12}") {
            if let Ok(uri) = format!("contextnest://{text}").parse::<Uri>() {
                let again: Uri = uri.to_string().parse().unwrap();
                prop_assert_eq!(again.to_string(), uri.to_string());
                prop_assert_eq!(again, uri);
            }
        }
    }
}
