//! Live pack files of a vault, checked together and against the live documents.
//!
//! A selector names sealed packs. This module checks the files that the next publication seals.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Bound, Range};

use super::{LiveFile, all_tagged};
use crate::files::vault::Vault;
use crate::text::document::obsidian::{Markup, TagSet};
use crate::text::document::sections::anchors;
use crate::text::document::utf8;
use crate::text::pack::{self, Pack, PackProblem, Placed, ProblemKind, Reading};
use crate::text::selector::matches::Drafts;
use crate::text::selector::{Atom, Expr, Node, Term, eval};
use crate::text::uri::{Target, Uri};
use crate::values::model::layout::limit;
use crate::values::model::tag::Tag;
use crate::values::text_util::Nearest;

/// A live pack file.
#[derive(Debug)]
pub struct PackFile {
    /// Path in the vault.
    pub path: String,
    /// Content of the file, and every problem.
    pub reading: Reading,
}

/// Reads every live pack file, in byte order of paths, without reading any other file.
pub fn read_all(vault: &Vault) -> Vec<PackFile> {
    let is_pack = |path: &String| path.starts_with("packs/");
    let paths = vault.governance_files().into_iter().filter(is_pack);
    let read = |path: String| {
        let limit = limit::FRONTMATTER as u64;
        let text = vault.files().read(&path, limit).map_err(|why| why.to_string());
        let text = text.and_then(|bytes| {
            utf8(&bytes).map(str::to_owned).map_err(|why| format!("the file is {why}"))
        });
        let reading = match text {
            Ok(text) => pack::read(&text, &vault.config().authorities),
            Err(why) => {
                let kind = ProblemKind::Yaml(why);
                let problems = vec![PackProblem { line: 1, column: 1, kind }];
                Reading { problems, ..Reading::default() }
            }
        };
        PackFile { path, reading }
    };
    paths.map(read).collect()
}

/// Reads every live pack file, and reports repeated ids, URIs that name no live document, and
/// sections that live documents do not have.
pub fn check(vault: &Vault) -> Vec<PackFile> {
    let mut files = read_all(vault);
    if files.is_empty() {
        return files;
    }
    let live = all_tagged(vault);
    let drafts = live.iter().filter_map(|file| Some((file.id.as_ref()?, file.fields()?)));
    let drafts = Drafts::new(drafts);
    let mut live = Live::new(&live, Markup::of(vault.config()));
    let mut first: HashMap<String, String> = HashMap::new();
    for file in &mut files {
        if let Some(pack) = &file.reading.pack {
            let found = references(pack).filter_map(|uri| live.dead(&uri)).collect::<Vec<_>>();
            let unmatched = match found.is_empty() {
                true => unmatched(pack, &live, &drafts),
                false => Vec::new(),
            };
            file.reading.problems.extend(found.into_iter().chain(unmatched));
        }
        let Some(id) = &file.reading.id else { continue };
        match first.get(id) {
            Some(other) => {
                let kind = ProblemKind::Twice { id: id.clone(), other: other.clone() };
                file.reading.problems.push(PackProblem { line: 1, column: 1, kind });
            }
            None => {
                first.insert(id.clone(), file.path.clone());
            }
        }
        file.reading.problems.sort_by_key(|problem| (problem.line, problem.column));
    }
    files
}

/// Returns the parts of a pack that match no live document: its whole query, all that it selects,
/// or tags.
fn unmatched(pack: &Pack, live: &Live<'_>, drafts: &Drafts<'_>) -> Vec<PackProblem> {
    let at = |(line, column), kind| PackProblem { line, column, kind };
    let mut found = Vec::new();
    if let Some(Placed { value: query, line, column }) = &pack.query {
        let place = (*line, *column);
        if selects_nothing(&query.expr, drafts) {
            return vec![at(place, ProblemKind::Unmatched)];
        }
        let unknown = query.expr.leaves().into_iter().filter_map(|(term, _)| match term {
            Term::Set(Atom::Tag(tag)) if !live.tags.selects(tag) => Some(tag),
            _ => None,
        });
        let unknown: BTreeSet<&Tag> = unknown.collect();
        found.extend(unknown.into_iter().map(|tag| at(place, ProblemKind::Tag(tag.to_string()))));
    }
    let query = pack.query.as_ref().map(|query| (query.line, query.column));
    let excluded = pack.excludes.first().map(|uri| (uri.line, uri.column));
    if let Some(place) = excluded.or(query).filter(|_| selects_nothing(&pack.expr(), drafts)) {
        found.push(at(place, ProblemKind::Emptied));
    }
    found
}

/// Returns true if a set contains no live document. The results of a search are unknown before it
/// runs, and another pack reports its own selection.
fn selects_nothing(set: &Expr<Term>, drafts: &Drafts<'_>) -> bool {
    let atom = |term: &Term, span: &Range<usize>| {
        let atom = match term {
            Term::Set(atom) => atom.clone(),
            Term::Pack(_) => return Err(Unknown),
            Term::Uri(uri) => match &uri.target {
                Target::Document { id, .. } => Atom::Document(id.clone()),
                Target::Folder(folder) => Atom::Folder(folder.clone()),
                Target::Tag(tag) => Atom::Tag(tag.clone()),
                Target::Search(_) => return Err(Unknown),
            },
        };
        Ok(Expr { node: Node::Atom(atom), span: span.clone() })
    };
    let Ok(expr) = set.expand(&mut { atom }) else { return false };
    let Ok(found) = eval(&expr, drafts);
    found.is_empty()
}

/// Error for a part of a query whose selection is unknown here.
struct Unknown;

/// Returns every URI of a pack, including those of its query.
pub(super) fn references(pack: &Pack) -> impl Iterator<Item = Placed<Uri>> {
    let query = pack.query.iter().flat_map(|query| {
        let uris = query.value.expr.leaves().into_iter().filter_map(|(term, _)| match term {
            Term::Uri(uri) => Some(uri.clone()),
            Term::Set(_) | Term::Pack(_) => None,
        });
        let placed = |value| Placed { value, line: query.line, column: query.column };
        uris.map(placed).collect::<Vec<_>>()
    });
    query.chain(pack.includes.iter().cloned()).chain(pack.excludes.iter().cloned())
}

/// Live documents, indexed for the URIs of packs, because there may be very many of both.
struct Live<'f> {
    by_id: BTreeMap<&'f str, &'f LiveFile>,
    tags: TagSet,
    markup: Markup,
    /// Cached anchors of documents.
    anchors: HashMap<&'f str, BTreeSet<String>>,
    near: Nearest,
}

impl<'f> Live<'f> {
    fn new(files: &'f [LiveFile], markup: Markup) -> Self {
        let by_id = files.iter().filter_map(|file| Some((file.id.as_ref()?.as_str(), file)));
        let by_id = by_id.collect();
        let fields = files.iter().filter_map(LiveFile::fields);
        let tags = TagSet::new(markup, fields.flat_map(|f| &f.tags).map(Tag::to_string));
        let (anchors, near) = (HashMap::new(), Nearest::default());
        Self { by_id, tags, markup, anchors, near }
    }

    /// Returns the problem of a URI that names nothing here.
    fn dead(&mut self, uri: &Placed<Uri>) -> Option<PackProblem> {
        let is_here = match &uri.value.target {
            Target::Document { id, anchor, .. } => match self.by_id.get_key_value(id.as_str()) {
                Some((id, file)) => {
                    let (id, file) = (*id, *file);
                    let kind = self.missing(id, file, anchor.as_deref()?)?;
                    return Some(problem(uri, kind));
                }
                None => false,
            },
            Target::Folder(folder) => {
                let from = (Bound::Included(folder.as_str()), Bound::Unbounded);
                let first = self.by_id.range::<str, _>(from).next();
                first.is_some_and(|(id, _)| id.starts_with(folder.as_str()))
            }
            Target::Tag(tag) => self.tags.selects(tag),
            Target::Search(_) => true,
        };
        (!is_here).then(|| problem(uri, ProblemKind::Dead(uri.value.to_string())))
    }

    /// Returns the problem of an anchor that a live document does not have.
    fn missing(&mut self, id: &'f str, file: &LiveFile, anchor: &str) -> Option<ProblemKind> {
        let content = file.content.as_ref().ok()?;
        let body = content.text.get(content.document.parts.body..)?;
        let markup = self.markup;
        let list = || anchors(markup.sections(body));
        let known = self.anchors.entry(id).or_insert_with(list);
        if known.contains(anchor) {
            return None;
        }
        let near = self.near.find(anchor, known.iter().map(String::as_str));
        let (id, near) = (id.to_string(), near.map(str::to_owned));
        Some(ProblemKind::Anchor { id, anchor: anchor.to_owned(), near })
    }
}

fn problem(uri: &Placed<Uri>, kind: ProblemKind) -> PackProblem {
    PackProblem { line: uri.line, column: uri.column, kind }
}
