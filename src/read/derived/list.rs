//! The text of `INDEX.md`: published documents, folder by folder.

use std::collections::BTreeMap;

use super::{Derived, DerivedInput, MARKS};
use crate::read::snapshot::Listed;
use crate::text::uri;
use crate::values::model::id::{DocumentId, folder_of};
use crate::values::model::layout;
use crate::values::text_util::{count, markdown};

/// Documents by folder, without a final `/`; the root is the empty string.
type Folders<'s> = BTreeMap<&'s str, Vec<&'s Listed>>;

fn by_folder<'s>(source: &'s DerivedInput<'_>) -> Folders<'s> {
    let mut folders = Folders::new();
    for listed in &source.published {
        folders.entry(folder(&listed.id)).or_default().push(listed);
    }
    folders
}

/// Returns the folder of a document, without a final `/`.
pub(super) fn folder(id: &DocumentId) -> &str {
    folder_of(id.as_str()).unwrap_or_default()
}

/// Returns the index of the whole vault.
pub(super) fn root(source: &DerivedInput<'_>) -> Derived {
    let mut text = head(source, &source.name, source.published.len());
    for (folder, documents) in by_folder(source) {
        let heading = if folder.is_empty() { "(root)".to_owned() } else { markdown(folder) };
        text.push_str(&format!("\n## {heading}\n\n"));
        documents.iter().for_each(|listed| text.push_str(&line(listed, "")));
    }
    Derived { path: layout::INDEX.to_owned(), text }
}

/// Returns an index for each folder, except the root, that contains documents or contained
/// `removed` ones.
pub(super) fn folders(source: &DerivedInput<'_>, removed: &[DocumentId]) -> Vec<Derived> {
    let file = |(folder, documents): (&str, Vec<&Listed>)| {
        let mut text = head(source, folder, documents.len());
        text.push('\n');
        documents.iter().for_each(|listed| text.push_str(&line(listed, folder)));
        Derived { path: format!("{folder}/{}", layout::INDEX), text }
    };
    let mut all = by_folder(source);
    for id in removed {
        all.entry(folder(id)).or_default();
    }
    all.into_iter().filter(|(folder, _)| !folder.is_empty()).map(file).collect()
}

fn head(source: &DerivedInput<'_>, name: &str, documents: usize) -> String {
    let at = source.snapshot.made_at().map(|at| at.to_string()).unwrap_or_default();
    let number = source.snapshot.checkpoint();
    let (mark, count) = (MARKS[1], count(documents, "document"));
    format!(
        "{mark}; do not edit -->\n# {}\n\n{count} at checkpoint {number} of {at}.\n",
        markdown(name)
    )
}

/// Returns the line of one document: a link as seen from `folder`, its type and its description.
fn line(listed: &Listed, folder: &str) -> String {
    let path = listed.id.live_path();
    let path = path.strip_prefix(folder).map_or(path.as_str(), |rest| rest.trim_start_matches('/'));
    let description = listed.metadata.description.as_deref().unwrap_or_default();
    let description = match description.trim() {
        "" => String::new(),
        text => format!(": {}", markdown(text)),
    };
    let (title, target) = (markdown(listed.title()), uri::encode_path(path));
    format!("- [{title}]({target}) ({}){description}\n", listed.metadata.node_type.as_str())
}
