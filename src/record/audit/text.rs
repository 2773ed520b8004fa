//! The record of one text in an access, and the type in which a text leaves the library.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::uri::{self, Uri};
use crate::values::model::digest::Digest;

/// The record of one text that was handed out: its origin, and its exact bytes (AUDIT-7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The URI, pinned to the checkpoint, with the anchor of a section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The id, if no URI can name the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The number of the version.
    pub version: u64,
    /// The checkpoint of the answer; `None` if no checkpoint seals the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<u64>,
    /// The chain hash of the version.
    pub chain_hash: String,
    /// The first byte in the text of the version, and the one after the last; `None` for the whole
    /// text, or if the bytes are not a piece of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[u64; 2]>,
    /// The way the bytes were derived, if they are not a piece of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The field `author` of the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The principal who wrote the text: the submitter of the version, or the one who recorded it
    /// without a review.
    pub edited_by: String,
    /// The time when the text was recorded.
    pub edited_at: String,
    /// The principals who approved the version.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub approved_by: Vec<String>,
    /// The time of the last approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_at: Option<String>,
    /// The scope that decided about the document at the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steward: Option<Deciding>,
    /// The time when the next review is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_due: Option<String>,
    /// Number of bytes that were handed out.
    pub bytes: u64,
    /// The SHA-256 of these bytes.
    pub sha256: String,
}

/// The scope that decides about a document, with its first reviewers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Deciding {
    /// The scope, as messages name it.
    pub scope: String,
    /// Its first reviewers in the order of `stewards.yaml`: principals, and groups as `group NAME`.
    pub reviewers: Vec<String>,
    /// Number of further reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
}

/// Writes one line, such as `folder nodes/legal/: kim@example.com, group counsel, and 3 more`.
impl fmt::Display for Deciding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.scope, self.reviewers.join(", "))?;
        self.more.map_or(Ok(()), |more| write!(f, ", and {more} more"))
    }
}

/// Ways in which bytes are derived from the text of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// A line of the text with blanks for line ends, as a search shows it.
    Snippet,
    /// A diff from or to the text.
    Diff,
    /// The instructions of a pack, which are a value in its file.
    Instructions,
    /// The changes from one version to another, as a reviewer reads them. `bytes` and `sha256` are
    /// those of the whole text of the version.
    Submission,
}

impl Part {
    /// Returns the value in lines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Snippet => "snippet",
            Self::Diff => "diff",
            Self::Instructions => "instructions",
            Self::Submission => "submission",
        }
    }
}

impl Text {
    /// Returns the record for other bytes of the same version.
    #[must_use]
    pub fn handed_out(self, text: &str) -> Self {
        Self { bytes: text.len() as u64, sha256: Digest::of(text.as_bytes()).to_string(), ..self }
    }

    /// Returns an upper limit of the bytes that spell the record: six for a control character, and
    /// the keys.
    pub(super) fn most_bytes(&self) -> usize {
        let fields = [&self.uri, &self.id, &self.author].into_iter().flatten();
        let fields =
            fields.chain([&self.chain_hash, &self.edited_by, &self.edited_at, &self.sha256]);
        let fields = fields.chain(&self.approved_by).chain(
            self.steward
                .iter()
                .flat_map(|steward| std::iter::once(&steward.scope).chain(&steward.reviewers)),
        );
        fields.map(|field| 6 * field.len() + 4).sum::<usize>() + 640
    }

    /// Returns an upper limit of the number of values in the record.
    pub(super) fn most_values(&self) -> usize {
        let reviewers = self.steward.as_ref().map_or(0, |steward| steward.reviewers.len());
        32 + self.approved_by.len() + reviewers
    }

    /// Sets the URI, if there is one.
    #[must_use]
    pub(crate) fn named(self, uri: Option<Uri>) -> Self {
        Self { uri: uri.map(|uri| uri.to_string()).or(self.uri), ..self }
    }

    /// Returns the URI without pin and anchor; the id if `uri` is `None`.
    pub fn document(&self) -> &str {
        match &self.uri {
            Some(uri) => uri.split(['@', '#']).next().unwrap_or_default(),
            None => self.id.as_deref().unwrap_or_default(),
        }
    }

    /// Returns true if the text is of a document: the path of its URI is that of the document,
    /// preceded by the name of the vault in URIs that need it.
    pub fn is_of(&self, document: &str) -> bool {
        let Some(uri) = &self.uri else { return self.id.as_deref() == Some(document) };
        let Some(rest) = uri.strip_prefix(uri::SCHEME) else { return false };
        let path = rest.split(['@', '#']).next().unwrap_or_default();
        let Some(before) = path.strip_suffix(&uri::encode_path(document)) else { return false };
        let vault = before.strip_suffix('/');
        before.is_empty() || vault.is_some_and(|name| !name.is_empty() && !name.contains('/'))
    }

    /// Returns true if the URI is pinned to the checkpoint, or is `None` (AUDIT-7). The URI of a
    /// staged entry has neither pin nor checkpoint.
    pub fn is_pinned(&self) -> bool {
        let Some(uri) = &self.uri else { return true };
        let pin = uri.split('#').next().and_then(|uri| uri.split_once('@')).map(|(_, pin)| pin);
        match (pin, self.checkpoint) {
            (Some(pin), Some(number)) => pin == number.to_string(),
            (None, None) => uri::is_staged(uri),
            _ => false,
        }
    }

    /// Returns the anchor of the section that the URI names.
    pub fn anchor(&self) -> Option<&str> {
        self.uri.as_ref()?.split_once('#').map(|(_, anchor)| anchor)
    }

    /// Returns the URI; the id if `uri` is `None`.
    pub fn name(&self) -> &str {
        self.uri.as_deref().or(self.id.as_deref()).unwrap_or_default()
    }
}

/// A value that contains texts of documents. It is released only together with the records for the
/// to record of them. A front end cannot open it: it asks `Call::release`, and a program that uses the
/// library asks [`crate::service::workspace::Answer`].
#[derive(Debug)]
#[must_use]
pub struct Traced<T> {
    value: T,
    texts: Vec<Text>,
}

impl<T> Traced<T> {
    pub(in crate::library) fn new(value: T, texts: Vec<Text>) -> Self {
        Self { value, texts }
    }

    /// Returns the value, and adds to `texts` what is to be recorded of it.
    pub(in crate::library) fn release(self, texts: &mut Vec<Text>) -> T {
        texts.extend(self.texts);
        self.value
    }

    pub(in crate::library) fn map<U>(self, change: impl FnOnce(T) -> U) -> Traced<U> {
        Traced { value: change(self.value), texts: self.texts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_matches_the_document_of_its_uri_or_id() {
        let text = Text {
            uri: None,
            id: None,
            version: 1,
            checkpoint: None,
            chain_hash: String::new(),
            range: None,
            part: None,
            author: None,
            edited_by: String::new(),
            edited_at: String::new(),
            approved_by: Vec::new(),
            approved_at: None,
            steward: None,
            review_due: None,
            bytes: 0,
            sha256: String::new(),
        };
        let is_of = |uri: &str, document: &str| {
            Text { uri: Some(format!("contextnest://{uri}")), ..text.clone() }.is_of(document)
        };
        assert!(is_of("nodes/a@3#b", "nodes/a") && is_of("nodes/a%20b@3", "nodes/a b"));
        // The name of a vault may begin the path of the document, or equal its first folder.
        assert!(is_of("acme/nodes/a@3", "nodes/a") && is_of("acme/nodes/a@3", "acme/nodes/a"));
        for other in
            ["nodes/ab@3", "xnodes/a@3", "x/acme/nodes/a@3", "/nodes/a@3", "a@3", "nodes/b#nodes/a"]
        {
            assert!(!is_of(other, "nodes/a"), "{other}");
        }
        let is_pinned = |uri: &str, checkpoint| {
            let uri = Some(format!("contextnest://{uri}"));
            Text { uri, checkpoint, ..text.clone() }.is_pinned()
        };
        assert!(text.is_pinned() && is_pinned("a@3#b@4", Some(3)) && is_pinned("x/a@12", Some(12)));
        for (uri, checkpoint) in [
            ("a@4#b", Some(3)),
            ("a#b@3", Some(3)),
            ("a", Some(3)),
            ("a@3", None),
            ("a@03", Some(3)),
        ] {
            assert!(!is_pinned(uri, checkpoint), "{uri}");
        }
        let named = Text { id: Some("tag/a".to_owned()), ..text.clone() };
        assert!(named.is_of("tag/a") && !named.is_of("a") && !text.is_of(""));
    }
}
