//! Events of the access log and change log, with their keys (AUDIT-6).

use serde::{Deserialize, Serialize};

use super::canonical::{MemberFault, Members};
use super::change::{Change, MAX_DOCUMENTS};
use super::hydration::Hydration;
use super::produced::Produced;
use super::text::Text;
use crate::values::codes::words;
use crate::values::model::digest::Digest;

/// Maximum number of bytes for the documents of one line. A line may have a third more.
const MAX_TEXTS: usize = 12 << 20;
/// Maximum number of values for the documents of one line. A line may have some more.
const MAX_VALUES: usize = 60_000;

words! {
    /// A kind of line of the access log.
    pub enum EventKind {
        /// See [`Event::Change`].
        Change = "change",
        /// See [`Event::Access`].
        Access = "access",
        /// See [`Event::Listing`].
        Listing = "listing",
        /// See [`Event::Refused`].
        Refused = "refused",
        /// See [`Event::Output`].
        Output = "output",
        /// See [`Event::Hydration`].
        Hydration = "hydration",
    }
}

/// An answer or a change that a line records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// Texts of documents were handed out.
    Access(Access),
    /// Names were listed, without texts.
    Listing(Listing),
    /// Nothing was handed out, because governance does not allow it.
    Refused(Refused),
    /// The vault was changed, or the head that is trusted for it.
    Change(Change),
    /// An agent recorded an output that it made from earlier answers.
    Output(Produced),
    /// An agent called the tools of a source.
    Hydration(Hydration),
}

/// Texts were handed out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The class of the answer: `direct`, `set` or `delegated`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The query.
    #[serde(flatten)]
    pub query: Query,
    /// The texts, in their order.
    pub documents: Vec<Text>,
    /// Number of withheld documents by reason.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub withheld: Vec<WithheldCount>,
    /// The whole output.
    #[serde(flatten)]
    pub output: Output,
}

/// A query in canonical form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// The selector, URI or search words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The SHA-256 of the query, if it is too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_sha256: Option<String>,
}

impl Query {
    /// Maximum length in bytes; a longer query is recorded by its hash.
    const MAX_BYTES: usize = 8 << 10;

    /// Returns a query that is recorded by its hash.
    pub fn hashed(text: &str) -> Self {
        Self { query: None, query_sha256: Some(Digest::of(text.as_bytes()).to_string()) }
    }
}

impl From<&str> for Query {
    fn from(text: &str) -> Self {
        match text.len() > Self::MAX_BYTES {
            true => Self::hashed(text),
            false => Self { query: Some(text.to_owned()), query_sha256: None },
        }
    }
}

/// Number of documents that were withheld for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithheldCount {
    /// The reason code.
    pub reason: String,
    /// The number of documents.
    pub count: u64,
}

/// The bytes of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Number of bytes.
    pub bytes: u64,
    /// The SHA-256 of the bytes.
    pub sha256: String,
    /// Duration of the command in microseconds.
    pub elapsed_us: u64,
}

/// Names were listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The query.
    #[serde(flatten)]
    pub query: Query,
    /// Number of names.
    pub count: u64,
    /// Number of withheld documents by reason.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub withheld: Vec<WithheldCount>,
    /// The whole output.
    #[serde(flatten)]
    pub output: Output,
}

/// Nothing was handed out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The code of the failure.
    pub code: String,
}

impl Event {
    /// Splits the event into parts with at most [`MAX_DOCUMENTS`] documents each, and with fewer if
    /// the line would be too long: `author` may fill the frontmatter of each document.
    pub(super) fn parts(self) -> Vec<Self> {
        let access = match self {
            Self::Access(access) => access,
            Self::Change(change) => return change.parts().into_iter().map(Self::Change).collect(),
            whole => return vec![whole],
        };
        let mut parts: Vec<Vec<Text>> = vec![Vec::new()];
        let (mut bytes, mut values) = (0, 0);
        for text in access.documents {
            let (more, further) = (text.most_bytes(), text.most_values());
            let part = parts.last_mut().filter(|part| {
                let fits = bytes + more <= MAX_TEXTS && values + further <= MAX_VALUES;
                part.is_empty() || part.len() < MAX_DOCUMENTS && fits
            });
            match part {
                Some(part) => {
                    bytes += more;
                    values += further;
                    part.push(text);
                }
                None => {
                    (bytes, values) = (more, further);
                    parts.push(vec![text]);
                }
            }
        }
        let Access { class, query, withheld, output, .. } = access;
        let part = |documents| {
            let (class, query, withheld) = (class.clone(), query.clone(), withheld.clone());
            Self::Access(Access { class, query, documents, withheld, output: output.clone() })
        };
        parts.into_iter().map(part).collect()
    }

    /// Returns the duration of the command in microseconds; 0 if it is not recorded.
    pub fn elapsed_us(&self) -> u64 {
        match self {
            Self::Access(access) => access.output.elapsed_us,
            Self::Listing(listing) => listing.output.elapsed_us,
            Self::Hydration(hydration) => hydration.duration_ms.unwrap_or(0).saturating_mul(1000),
            Self::Refused(_) | Self::Output(_) | Self::Change(_) => 0,
        }
    }

    /// Returns the kind of the line.
    pub fn kind(&self) -> EventKind {
        match self {
            Self::Change(_) => EventKind::Change,
            Self::Access(_) => EventKind::Access,
            Self::Listing(_) => EventKind::Listing,
            Self::Refused(_) => EventKind::Refused,
            Self::Output(_) => EventKind::Output,
            Self::Hydration(_) => EventKind::Hydration,
        }
    }
}

impl Event {
    /// Parses the event of a line from its members.
    pub(super) fn of(members: &Members<'_>) -> Result<Self, MemberFault> {
        let query = || -> Result<_, MemberFault> {
            let (query, query_sha256) = (members.get("query")?, members.get("query_sha256")?);
            Ok(Query { query, query_sha256 })
        };
        let withheld = || Ok(members.get("withheld")?.unwrap_or_default());
        let output = || -> Result<_, MemberFault> {
            Ok(Output {
                bytes: members.need("bytes")?,
                sha256: members.need("sha256")?,
                elapsed_us: members.need("elapsed_us")?,
            })
        };
        Ok(match members.need("event")? {
            Kind::Access => Self::Access(Access {
                class: members.get("class")?,
                query: query()?,
                documents: texts_of(members)?,
                withheld: withheld()?,
                output: output()?,
            }),
            Kind::Listing => Self::Listing(Listing {
                query: query()?,
                count: members.need("count")?,
                withheld: withheld()?,
                output: output()?,
            }),
            Kind::Refused => Self::Refused(Refused { code: members.need("code")? }),
            Kind::Change => Self::Change(members.whole()?),
            Kind::Output => Self::Output(Produced {
                bytes: members.need("bytes")?,
                sha256: members.need("sha256")?,
                model: members.get("model")?,
            }),
            Kind::Hydration => Self::Hydration(Hydration {
                source: members.need("source")?,
                uri: members.get("uri")?,
                source_version: members.need("source_version")?,
                checkpoint: members.need("checkpoint")?,
                chain_hash: members.need("chain_hash")?,
                server: members.get("server")?,
                tools: members.need("tools")?,
                cache: members.get("cache")?,
                duration_ms: members.get("duration_ms")?,
                media_type: members.get("media_type")?,
                bytes: members.need("bytes")?,
                result_hash: members.need("result_hash")?,
                error: members.get("error")?,
                depends_on: members.get("depends_on")?.unwrap_or_default(),
            }),
        })
    }
}

/// Parses the texts of an access. Fails if the URI of a text contradicts its checkpoint.
fn texts_of(members: &Members<'_>) -> Result<Vec<Text>, MemberFault> {
    let texts: Vec<Text> = members.need("documents")?;
    match texts.iter().position(|text| !text.is_pinned()) {
        Some(n) => Err(MemberFault::NotPinned(n + 1)),
        None => Ok(texts),
    }
}

/// The values of the member `event`.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Access,
    Listing,
    Refused,
    Change,
    Output,
    Hydration,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::audit::StagedStep;

    #[test]
    fn query_records_a_long_text_by_its_hash() {
        let long = "x".repeat(Query::MAX_BYTES + 1);
        let recorded = Query::from(long.as_str());
        assert_eq!(recorded.query_sha256, Some(Digest::of(long.as_bytes()).to_string()));
        assert_eq!(recorded.query, None);
        assert_eq!(Query::from("#a").query.as_deref(), Some("#a"));
    }

    #[test]
    fn event_splits_an_erasure_of_many_entries() {
        let staged = vec!["contextnest://staged/sources/p/0a1b2c3d-1".to_owned(); 2500];
        let step = StagedStep { staged, reason: Some("r".to_owned()), ..StagedStep::default() };
        let parts = Event::Change(Change::Erase(step)).parts().into_iter().map(|part| {
            let Event::Change(Change::Erase(step)) = part else { panic!("an erasure") };
            (step.staged.len(), step.reason.unwrap())
        });
        assert_eq!(parts.collect::<Vec<_>>(), [1000, 1000, 500].map(|n| (n, "r".to_owned())));
    }

    #[test]
    fn event_splits_an_access_so_that_lines_are_short_enough() {
        let text = |author: String| Text {
            uri: Some("contextnest://nodes/a@1".to_owned()),
            id: None,
            version: 1,
            checkpoint: Some(1),
            chain_hash: "c".to_owned(),
            range: None,
            part: None,
            author: Some(author),
            edited_by: "e".to_owned(),
            edited_at: "t".to_owned(),
            approved_by: Vec::new(),
            approved_at: None,
            steward: None,
            review_due: None,
            bytes: 1,
            sha256: "s".to_owned(),
        };
        let parts = |documents: Vec<Text>| {
            let lengths = Event::Access(Access { documents, ..Access::default() }).parts();
            let lengths = lengths.into_iter().map(|part| {
                assert!(serde_jcs::to_vec(&part).unwrap().len() <= 13 << 20);
                let Event::Access(access) = part else { panic!("an access") };
                access.documents.len()
            });
            lengths.collect::<Vec<_>>()
        };
        assert_eq!(parts(Vec::new()), [0]);
        assert_eq!(parts(vec![text("Ana".to_owned()); 2500]), [1000, 1000, 500]);
        // Each of these characters needs six bytes in JSON.
        let hostile = text("\u{1}".repeat(900_000));
        assert_eq!(parts(vec![hostile; 5]), [2, 2, 1]);
        // The number of values in a line is also limited.
        let approved = Text { approved_by: vec!["kim".to_owned(); 100], ..text("Ana".to_owned()) };
        assert_eq!(parts(vec![approved; 1000]), [454, 454, 92]);
    }
}
