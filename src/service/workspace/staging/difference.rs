//! Compares staged contents of a source (STAGE-20).

use super::view::{Content, StagedView, content, lines_of, recorded};
use crate::files::vault::Vault;
use crate::read::snapshot::{CheckpointSource, Snapshot};
use crate::record::audit::{Part, Text, Traced};
use crate::record::chain::diff::print_between;
use crate::record::staging::{Canonical, PartChange, StagedEntry, changes, json};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::source::ComparedAs;
use crate::service::workspace::Workspace;
use crate::text::document::Document;
use crate::values::model::id::DocumentId;

/// The difference of two contents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Difference {
    /// The changed parts of two JSON values.
    Json(Vec<PartChange>),
    /// The diff of two texts by lines; empty if they are equal.
    Text(String),
    /// At least one content is not a text, so only the bytes can be compared.
    Bytes,
}

impl Difference {
    /// Compares the content of an older entry with that of a newer one.
    ///
    /// # Errors
    /// A content is gone, or is not what was received.
    pub(crate) fn of(vault: &Vault, old: &StagedEntry, new: &StagedEntry) -> Result<Self, Failure> {
        let (old_content, new_content) = (content(vault, old)?, content(vault, new)?);
        Ok(Self::between((old, &old_content), (new, &new_content)))
    }

    fn between(
        (old, old_content): (&StagedEntry, &Content),
        (new, new_content): (&StagedEntry, &Content),
    ) -> Self {
        let both = [old.entry.canonical, new.entry.canonical];
        if both == [Canonical::Jcs, Canonical::Jcs]
            && let (Some(old), Some(new)) = (json(&old_content.bytes), json(&new_content.bytes))
        {
            return Self::Json(changes(&old, &new));
        }
        let names = [old, new].map(|entry| entry.name().to_string());
        match (lines_of(old_content, None), lines_of(new_content, None)) {
            (Some(old), Some(new)) if old == new => Self::Text(String::new()),
            (Some(old), Some(new)) => Self::Text(print_between(&old, &new, &names[0], &names[1])),
            _ => Self::Bytes,
        }
    }

    /// Returns the form of the comparison.
    pub(crate) fn form(&self) -> ComparedAs {
        match self {
            Self::Json(_) => ComparedAs::Json,
            Self::Text(_) => ComparedAs::Text,
            Self::Bytes => ComparedAs::Bytes,
        }
    }

    /// Returns lines with their ends: one per part of JSON, those of the diff of texts, and none
    /// for bytes.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Self::Json(changes) => changes.iter().map(|change| format!("{change}\n")).collect(),
            Self::Text(diff) => diff.split_inclusive('\n').map(str::to_owned).collect(),
            Self::Bytes => Vec::new(),
        }
    }
}

/// A diff of the contents of two entries, with what is recorded of it.
pub(crate) fn handed_out(diff: String, (old, new): (&StagedEntry, &StagedEntry)) -> Traced<String> {
    let of_diff =
        |entry: &StagedEntry| Text { part: Some(Part::Diff), ..recorded(entry, diff.as_bytes()) };
    let texts = if diff.is_empty() { Vec::new() } else { vec![of_diff(old), of_diff(new)] };
    Traced::new(diff, texts)
}

/// A document that was promoted from an earlier result of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromotedFrom {
    /// The document.
    pub(crate) document: DocumentId,
    /// The entry that it was promoted from.
    pub(crate) entry: String,
    /// The version that the head publishes; `None` if a submission of it awaits a decision, or it
    /// was retired.
    pub(crate) published: Option<u64>,
    /// True if the last result has the same content as the entry.
    pub(crate) is_current: bool,
}

impl StagedView {
    /// Returns the last live entry of a source, and before it the last live one of the same server
    /// and tools. If `is_own` is set, only entries of the viewer in the named session are used.
    ///
    /// # Errors
    /// The viewer sees fewer than two such entries.
    pub(crate) fn last_two(
        &self,
        source: &DocumentId,
        is_own: bool,
    ) -> Result<(&StagedEntry, &StagedEntry), Failure> {
        let mut live = self.visible();
        live.retain(|entry| {
            entry.source == *source && entry.is_live() && (!is_own || self.is_own(entry))
        });
        let (new, earlier) = match live.split_last() {
            Some((new, earlier)) => (*new, earlier),
            None if is_own => {
                return Err(too_few(source, "lacks staged results of yours in this session"));
            }
            None => return Err(too_few(source, "lacks staged results that you may see")),
        };
        match earlier.iter().rfind(|old| is_same_call(old, new)) {
            Some(old) => Ok((old, new)),
            None if !earlier.is_empty() => {
                Err(too_few(source, "lacks an earlier staged result of the same server and tools"))
            }
            None if is_own => {
                Err(too_few(source, "has only one staged result of yours in this session"))
            }
            None => Err(too_few(source, "has only one staged result that you may see")),
        }
    }
}

/// Returns true if two results came from the same server by the same tools. The arguments of the
/// tools are not recorded.
fn is_same_call(a: &StagedEntry, b: &StagedEntry) -> bool {
    (&a.entry.server, &a.entry.tools) == (&b.entry.server, &b.entry.tools)
}

/// Returns true if two entries have the same content, in the form in which it is compared.
fn is_same_content(a: &StagedEntry, b: &StagedEntry) -> bool {
    (a.entry.canonical, &a.entry.content_hash) == (b.entry.canonical, &b.entry.content_hash)
}

fn too_few(source: &DocumentId, what: &str) -> Failure {
    let message = format!("`{source}` {what}, but two are needed");
    Failure::new(Code::UnknownStaged, message).hint(format!(
        "results are staged by `ctx source record`, and listed with \
         `ctx stage list --source {source} --every-session --all`; `ctx stage diff NEWER OLDER` \
         compares any two"
    ))
}

impl Workspace<'_> {
    /// Returns the documents that were promoted from an earlier result of the same server and
    /// tools, and whose published texts still name it. Documents that the reader may not read are
    /// left out.
    ///
    /// # Errors
    /// The published documents cannot be read.
    pub(crate) fn promoted_before(
        &self,
        (vault, source): (&Vault, &CheckpointSource),
        (view, last): (&StagedView, &StagedEntry),
    ) -> Result<Vec<PromotedFrom>, Failure> {
        let mut found = Vec::new();
        let head = Snapshot::of(vault, source, None)?;
        let mut earlier = view.visible();
        earlier.retain(|entry| {
            entry.source == last.source && entry.name() != last.name() && is_same_call(entry, last)
        });
        for entry in earlier {
            let uri = entry.name().to_string();
            for document in entry.promoted.iter().map(|promotion| &promotion.document) {
                let published = match head.get(document) {
                    Some(Ok(served)) if is_from(&served.text, &uri) => Some(served.entry.version.0),
                    Some(Ok(_)) => continue,
                    Some(Err(_)) => None,
                    None if head.hides_anything() => continue,
                    None => None,
                };
                let is_current = is_same_content(entry, last);
                let (document, entry) = (document.clone(), uri.clone());
                found.push(PromotedFrom { document, entry, published, is_current });
            }
        }
        found.sort_by(|a, b| (&a.document, &a.entry).cmp(&(&b.document, &b.entry)));
        found.dedup();
        Ok(found)
    }
}

/// Returns true if the frontmatter names an entry as the origin of its promotion.
fn is_from(text: &str, uri: &str) -> bool {
    let document = Document::parse(text).ok();
    document.is_some_and(|document| document.frontmatter.promoted_from() == Some(uri))
}
