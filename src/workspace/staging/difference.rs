//! How staged contents of a source differ (STAGE-20).

use super::view::{Content, StagedView, lines_of};
use crate::chain::diff::print_between;
use crate::document::Document;
use crate::model::id::DocumentId;
use crate::report::failure::{Code, Failure};
use crate::resolve::{CheckpointSource, Snapshot};
use crate::staging::{Canonical, PartChange, StagedEntry, changes, json};
use crate::vault::Vault;
use crate::workspace::Workspace;

/// What two contents are compared by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Difference {
    /// JSON values: by their parts.
    Json(Vec<PartChange>),
    /// Texts: a diff of their lines, empty where they are equal.
    Text(String),
    /// One is no text: by their bytes.
    Bytes,
}

impl Difference {
    /// From the content of an older entry to that of a newer one.
    pub(crate) fn between(
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

    /// Its word.
    pub(crate) fn form(&self) -> &'static str {
        match self {
            Self::Json(_) => "json",
            Self::Text(_) => "text",
            Self::Bytes => "bytes",
        }
    }

    /// It in lines: of JSON a line for each part, of bytes none.
    pub(crate) fn lines(&self) -> String {
        match self {
            Self::Json(changes) => changes.iter().map(|change| format!("{change}\n")).collect(),
            Self::Text(diff) => diff.clone(),
            Self::Bytes => String::new(),
        }
    }
}

/// A document that holds a content which the source has replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromotedFrom {
    /// The document.
    pub(crate) document: DocumentId,
    /// The entry that it was promoted from.
    pub(crate) entry: String,
    /// The version that the last checkpoint publishes; none where a submission of it awaits a
    /// reviewer, or it was retired.
    pub(crate) published: Option<u64>,
}

impl StagedView {
    /// The last two live entries of a source, the older one first; of the viewer in the named session
    /// alone, where only the own ones are asked for.
    ///
    /// # Errors
    /// The viewer sees fewer.
    pub(crate) fn last_two(
        &self,
        source: &DocumentId,
        is_own: bool,
    ) -> Result<(&StagedEntry, &StagedEntry), Failure> {
        let mut live = self.visible();
        live.retain(|entry| {
            entry.source == *source && entry.is_live() && (!is_own || self.is_own(entry))
        });
        match live[..] {
            [.., old, new] => Ok((old, new)),
            [_] if is_own => Err(too_few(source, "has one staged result of yours in this session")),
            [] if is_own => Err(too_few(source, "has no staged result of yours in this session")),
            [_] => Err(too_few(source, "has one staged result, and nothing to compare it with")),
            _ => Err(too_few(source, "has no staged result that you may see")),
        }
    }
}

fn too_few(source: &DocumentId, what: &str) -> Failure {
    let message = format!("`{source}` {what}: two are compared");
    Failure::new(Code::UnknownStaged, message).hint(format!(
        "results are staged by `ctx source record`, and listed with \
         `ctx stage list --source {source} --every-session --all`"
    ))
}

impl Workspace<'_> {
    /// The documents that were promoted from an entry, or from another one of the source with the
    /// same content, and of which the published text still says so. Those that the reader may not
    /// read are left out.
    ///
    /// # Errors
    /// What is published cannot be read.
    pub(crate) fn promoted_from(
        &self,
        (vault, source): (&Vault, &CheckpointSource),
        (view, old): (&StagedView, &StagedEntry),
    ) -> Result<Vec<PromotedFrom>, Failure> {
        let content =
            |entry: &StagedEntry| (entry.entry.canonical, entry.entry.content_hash.clone());
        let mut found = Vec::new();
        let head = Snapshot::of(vault, source, None)?;
        let same = view.visible().into_iter().filter(|entry| content(entry) == content(old));
        for entry in same.filter(|entry| entry.source == old.source) {
            let uri = entry.name().to_string();
            for document in entry.promoted.iter().map(|promotion| &promotion.document) {
                let published = match head.get(document) {
                    Some(Ok(served)) if is_from(&served.text, &uri) => Some(served.entry.version.0),
                    Some(Ok(_)) => continue,
                    Some(Err(_)) => None,
                    None if head.hides_anything() => continue,
                    None => None,
                };
                let (document, entry) = (document.clone(), uri.clone());
                found.push(PromotedFrom { document, entry, published });
            }
        }
        found.sort_by(|a, b| (&a.document, &a.entry).cmp(&(&b.document, &b.entry)));
        found.dedup();
        Ok(found)
    }
}

/// Whether a document says that it was promoted from an entry.
fn is_from(text: &str, uri: &str) -> bool {
    let document = Document::parse(text).ok();
    document.is_some_and(|document| document.frontmatter.promoted_from() == Some(uri))
}
