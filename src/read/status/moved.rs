//! Files that were moved without ctx: a published document whose file is missing, and a file that
//! was never published and has the same content. The texts are compared, and only a unique match
//! is used.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use rayon::prelude::*;

use crate::files::vault::Vault;
use crate::read::snapshot::{Served, Snapshot};
use crate::read::working;
use crate::record::chain::replay;
use crate::text::document::live_form::LiveForm;
use crate::text::document::text::normalise;
use crate::values::model::id::DocumentId;

/// Returns the missing documents whose content is in exactly one new file: the old id and the new
/// one. `new` are the paths of files that the head does not contain.
pub(crate) fn moves<'p>(
    vault: &Vault,
    head: &Snapshot<'_>,
    missing: &[&DocumentId],
    new: impl IntoParallelIterator<Item = &'p str>,
) -> Vec<(DocumentId, DocumentId)> {
    if missing.is_empty() {
        return Vec::new();
    }
    let candidate = |path: &str| {
        let file = working::read(vault, path)?;
        let (id, content) = (file.id.as_ref()?, file.content.as_ref().ok()?);
        let is_new = !replay::has_files(vault.files(), id);
        let body = normalise(&content.text[content.document.parts.body..]).into_owned();
        is_new.then(|| Content {
            id: id.clone(),
            text: normalise(&content.text).into_owned(),
            body,
        })
    };
    let mut new: Vec<Content> = new.into_par_iter().filter_map(candidate).collect();
    if new.is_empty() {
        return Vec::new();
    }
    let served = missing.par_iter().filter_map(|id| head.get(id)?.ok());
    let mut old: Vec<Content> = served.map(Content::of).collect();
    let mut found = pairs(&old, &new, |content| Some(content.text.as_str()));
    let taken: HashSet<&DocumentId> = found.iter().flat_map(|(old, new)| [old, new]).collect();
    old.retain(|content| !taken.contains(&content.id));
    new.retain(|content| !taken.contains(&content.id));
    found.extend(pairs(&old, &new, |content| {
        Some(content.body.as_str()).filter(|body| !body.trim().is_empty())
    }));
    found
}

/// Content that identifies a moved document.
struct Content {
    id: DocumentId,
    /// Whole text, in normal form.
    text: String,
    body: String,
}

impl Content {
    fn of(served: Served) -> Self {
        let body = served.body().to_owned();
        Self { id: served.id, text: LiveForm::of(&served.text).into_text(), body }
    }
}

/// Returns the pairs of documents that are the only ones with a key on both sides.
fn pairs<'c, K: Eq + Hash>(
    old: &'c [Content],
    new: &'c [Content],
    key: impl Fn(&'c Content) -> Option<K>,
) -> Vec<(DocumentId, DocumentId)> {
    let mut sides: HashMap<K, [Vec<&DocumentId>; 2]> = HashMap::new();
    for (side, contents) in [old, new].into_iter().enumerate() {
        for content in contents {
            if let Some(key) = key(content) {
                sides.entry(key).or_default()[side].push(&content.id);
            }
        }
    }
    let alone = sides.into_values().filter_map(|sides| match [&sides[0][..], &sides[1][..]] {
        [[old], [new]] => Some(((*old).clone(), (*new).clone())),
        _ => None,
    });
    alone.collect()
}
