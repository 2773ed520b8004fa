//! Notes on the names in a selector that match nothing published, each with the nearest known name.

use std::collections::BTreeSet;

use crate::read::snapshot::{Known, Resolution, Snapshot};
use crate::service::report::failure::Failure;
use crate::text::document::frontmatter::NodeType;
use crate::text::document::obsidian::TagSet;
use crate::text::selector::{Atom, Expr, Term};
use crate::values::model::id::DocumentId;
use crate::values::model::tag::Tag;
use crate::values::text_util::Nearest;

/// Returns a note for each document and folder in a selector that is not published, and for each
/// tag, server or type among `words` that no published document has.
pub(super) fn names(
    snapshot: &Snapshot<'_>,
    expr: &Expr<Term>,
    words: &[&Term],
    resolution: &Resolution,
) -> Result<Vec<String>, Failure> {
    let mut names =
        Names { snapshot, near: Nearest::default(), tags: None, servers: None, types: None };
    let (mut notes, mut seen) = (Vec::new(), BTreeSet::new());
    for (term, _) in expr.leaves() {
        let Some(atom) = term.atom() else { continue };
        if !seen.insert(atom.to_string()) {
            continue;
        }
        let note = match &atom {
            Atom::Document(id) => names.document(id)?,
            Atom::Folder(folder) => names.folder(folder, resolution),
            Atom::Tag(_) | Atom::Server(_) | Atom::Type(_) if !words.contains(&term) => None,
            Atom::Tag(tag) if has_tag(resolution, tag) => None,
            Atom::Tag(tag) => names.tag(tag)?,
            Atom::Server(name) => names.word(Known::Servers, &atom, name)?,
            Atom::Type(wanted) if has_type(resolution, wanted) => None,
            // An empty answer for a known type needs no explanation.
            Atom::Type(NodeType::Other(word)) => names.word(Known::Types, &atom, word)?,
            _ => None,
        };
        notes.extend(note);
    }
    Ok(notes)
}

/// Returns true if a document of the answer has a tag, so that the vault need not be asked.
fn has_tag(resolution: &Resolution, tag: &Tag) -> bool {
    resolution.documents.iter().any(|served| served.fields.has_tag(tag))
}

fn has_type(resolution: &Resolution, wanted: &NodeType) -> bool {
    resolution.documents.iter().any(|served| served.fields.node_type == *wanted)
}

struct Names<'s, 'v> {
    snapshot: &'s Snapshot<'v>,
    near: Nearest,
    tags: Option<TagSet>,
    servers: Option<BTreeSet<String>>,
    types: Option<BTreeSet<String>>,
}

impl Names<'_, '_> {
    fn document(&mut self, id: &DocumentId) -> Result<Option<String>, Failure> {
        if self.snapshot.holds(id)? {
            return Ok(None);
        }
        let near = match self.snapshot.documents() {
            Ok(known) => self.near.find(id.as_str(), known.map(DocumentId::as_str)),
            Err(_) => None,
        };
        let at = self.snapshot.checkpoint();
        Ok(Some(format!("`{id}` is not published at checkpoint {at}{}", meant(near, quoted))))
    }

    /// Searches a folder in the answer, then in the log. If the log cannot be read, an answer from
    /// an index still succeeds.
    fn folder(&mut self, folder: &str, resolution: &Resolution) -> Option<String> {
        let is_in = |id: &DocumentId| id.as_str().starts_with(folder);
        if resolution.documents.iter().any(|served| is_in(&served.id))
            || self.snapshot.documents().ok()?.any(is_in)
        {
            return None;
        }
        let ids = self.snapshot.documents().ok()?;
        let known: BTreeSet<&str> = ids.flat_map(|id| id.with_folders().skip(1)).collect();
        // Prefer a folder with this name elsewhere, then one with a similar path.
        let wanted = folder.trim_end_matches('/');
        let same = known.iter().find(|known| known.rsplit('/').next() == Some(wanted)).copied();
        let near = same.or_else(|| self.near.find(wanted, known));
        let near = meant(near, |near| format!("`{near}/`"));
        Some(format!("no published document is in `{folder}`{near}"))
    }

    fn tag(&mut self, tag: &Tag) -> Result<Option<String>, Failure> {
        let known = match &mut self.tags {
            Some(known) => known,
            None => {
                let known = self.snapshot.known(Known::Tags)?;
                self.tags.insert(TagSet::new(self.snapshot.markup(), known))
            }
        };
        if known.selects(tag) {
            return Ok(None);
        }
        let near = meant(self.near.find(tag.as_str(), known.iter()), |near| format!("#{near}"));
        Ok(Some(format!("no published document has #{tag}{near}")))
    }

    fn word(&mut self, what: Known, atom: &Atom, word: &str) -> Result<Option<String>, Failure> {
        let (known, spell): (_, fn(String) -> Atom) = match what {
            Known::Types => (&mut self.types, |word| Atom::Type(NodeType::Other(word))),
            _ => (&mut self.servers, Atom::Server),
        };
        let known = match known {
            Some(known) => known,
            None => known.insert(self.snapshot.known(what)?),
        };
        if known.contains(word) {
            return Ok(None);
        }
        let near = self.near.find(word, known.iter().map(String::as_str));
        let near = meant(near, |near| spell(near.to_owned()).to_string());
        Ok(Some(format!("no published document has {atom}{near}")))
    }
}

fn quoted(near: &str) -> String {
    format!("`{near}`")
}

fn meant(near: Option<&str>, spell: impl Fn(&str) -> String) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean {}?", spell(near)))
}
