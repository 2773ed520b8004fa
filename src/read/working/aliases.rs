//! Aliases of live documents (`spec/graph.md`, section 7).

use std::collections::HashMap;

use rayon::prelude::*;

use super::read as read_file;
use crate::files::vault::Vault;
use crate::text::document::links::Names;
use crate::text::document::obsidian::Markup;
use crate::values::model::id::{DocumentId, fold};

/// Returns each of some documents that has a live file, with its aliases. The result is empty if
/// the configuration does not support aliases. Reads the files.
pub(crate) fn read<'i>(
    vault: &Vault,
    ids: impl Iterator<Item = &'i DocumentId>,
) -> Vec<(DocumentId, Vec<String>)> {
    let markup = Markup::of(vault.config());
    if markup == Markup::Plain {
        return Vec::new();
    }
    let ids: Vec<&DocumentId> = ids.collect();
    let names = |id: &&DocumentId| {
        let file = read_file(vault, &id.live_path())?;
        let aliases = file.fields().map(|fields| markup.aliases(fields));
        Some(((*id).clone(), aliases.unwrap_or_default()))
    };
    ids.par_iter().filter_map(names).collect()
}

/// Returns the documents that each name means, by its folded text.
pub(crate) fn by_name(aliases: Vec<(DocumentId, Vec<String>)>) -> HashMap<String, Names> {
    let mut by_name: HashMap<String, Vec<DocumentId>> = HashMap::new();
    for (id, names) in aliases {
        for name in names {
            by_name.entry(fold(&name)).or_default().push(id.clone());
        }
    }
    by_name.into_iter().map(|(name, ids)| (name, Names::new(ids))).collect()
}
