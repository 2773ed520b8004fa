//! Problems of the links of live documents: missing targets and sections, ambiguous names, and
//! sources that wait for each other (`spec/graph.md`).
//!
//! Targets are searched among the live files and the documents of the head, which the caller passes
//! as a [`Published`]. Only `derived_from` and a URI with a checkpoint may name a document that
//! existed only in the past.

use crate::values::model::hint::{Call, Hint, Verb};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::images::ImageFolders;
use super::{LiveFile, aliases, is_known, read};
use crate::files::vault::Vault;
use crate::files::vault::site::SiteLinks;
use crate::read::graph::{name_key, order};
use crate::text::document::Document;
use crate::text::document::frontmatter::{Frontmatter, NodeType};
use crate::text::document::links::{
    self, Image, Link, LinkKind, LinkTarget, Links, MAX_LINKS, Names, OwnSection, is_other_file,
    is_site_folder, site_targets,
};
use crate::text::document::obsidian::Markup;
use crate::text::document::sections::{anchors, has_section};
use crate::text::document::validate::{Problem, Severity};
use crate::values::model::id::{DocumentId, fold};
use crate::values::model::layout;
use crate::values::text_util::Nearest;

/// Documents of the head.
pub trait Published {
    /// Returns their ids.
    fn ids(&self) -> Vec<DocumentId>;

    /// Returns the text of one of them, if it can be read.
    fn text(&self, id: &DocumentId) -> Option<String>;
}

/// Codes of problems with links, in the order of the specification.
pub const CODES: [&str; 8] = [
    "link-broken",
    "link-anchor",
    "link-ambiguous",
    "image-missing",
    "links-truncated",
    "dependency-cycle",
    "dependency-kind",
    "dependency-unlisted",
];

/// Checker of the links of live documents.
pub struct Surroundings<'v> {
    vault: &'v Vault,
    published: &'v dyn Published,
    images: ImageFolders,
    ids: BTreeSet<DocumentId>,
    named: HashMap<String, Names>,
    /// Documents by the folded text of an alias, read when a name is not that of a file.
    aliased: OnceCell<HashMap<String, Names>>,
    /// Ids by their folded text, collected when a path of a site leads nowhere.
    folded: OnceCell<HashMap<String, DocumentId>>,
    /// Folded folders of documents, collected when a folder does not exist as written.
    folders: OnceCell<HashSet<String>>,
    /// Cached anchors of documents.
    anchors: RefCell<HashMap<DocumentId, Rc<BTreeSet<String>>>>,
    near: RefCell<Nearest>,
    /// Cached results: true if a document is a source.
    sources: RefCell<HashMap<DocumentId, Option<bool>>>,
}

/// Returns true if an anchor differs from one of these only in the number of repeated `-`. For the
/// heading `X & Y`, MkDocs makes `x-y`, and GitHub `x--y`.
fn is_of_other_site(anchors: &BTreeSet<String>, anchor: &str) -> bool {
    let parts = |anchor: &str| -> Vec<String> {
        anchor.split('-').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let named = parts(anchor);
    !named.is_empty() && anchors.iter().any(|anchor| parts(anchor) == named)
}

impl<'v> Surroundings<'v> {
    /// Makes a checker for the live files of a vault, the published documents, and the folders
    /// of images.
    pub fn new(vault: &'v Vault, published: &'v dyn Published, images: ImageFolders) -> Self {
        let paths = vault.documents().documents;
        let live = paths.iter().filter_map(|path| DocumentId::of_document_file(path).ok());
        let ids: BTreeSet<DocumentId> = live.chain(published.ids()).collect();
        let mut named: HashMap<String, Vec<DocumentId>> = HashMap::new();
        for id in &ids {
            named.entry(name_key(id.as_str())).or_default().push(id.clone());
        }
        let named = named.into_iter().map(|(key, ids)| (key, Names::new(ids))).collect();
        let (anchors, near, aliased) = (RefCell::default(), RefCell::default(), OnceCell::new());
        let sources = RefCell::default();
        let (folded, folders) = (OnceCell::new(), OnceCell::new());
        Self {
            vault,
            published,
            images,
            ids,
            named,
            aliased,
            folded,
            folders,
            anchors,
            near,
            sources,
        }
    }

    /// Returns the ids of the live and the published documents.
    pub fn ids(&self) -> &BTreeSet<DocumentId> {
        &self.ids
    }

    /// Returns the problems of the links of one live document, in the order of its lines.
    pub fn problems(&self, file: &LiveFile) -> Vec<Problem> {
        let (Some(id), Ok(content)) = (&file.id, &file.content) else { return Vec::new() };
        let document = &content.document;
        let found = links::read(id, &content.text, &document.frontmatter, document.parts.body);
        let is_source = document.frontmatter.node_type == NodeType::Source;
        let needed = is_source.then(|| order::needed(id, &document.frontmatter));
        let links = found.links.iter();
        let mut problems: Vec<Problem> =
            links.filter_map(|link| self.problem(id, link, needed.as_ref())).collect();
        problems.extend(unusable(&found));
        problems.extend(found.own_sections.iter().filter_map(|own| self.own_section(id, own)));
        problems.extend(found.images.iter().filter_map(|image| self.image(image)));
        problems.sort_by_key(|problem| problem.line);
        problems.dedup();
        if found.truncated {
            let message =
                format!("only the first {MAX_LINKS} links and 4 MiB of the text are read");
            let hint = "split the document";
            problems.push(warning("links-truncated", None, message, hint));
        }
        problems
    }

    /// Returns the problems of the dependencies of a live source.
    pub fn dependency_problems(&self, file: &LiveFile) -> Vec<Problem> {
        let (Some(id), Ok(content)) = (&file.id, &file.content) else { return Vec::new() };
        let document = &content.document;
        let found = links::read(id, &content.text, &document.frontmatter, document.parts.body);
        let needed = order::needed(id, &document.frontmatter);
        let mut problems = Vec::new();
        for link in &found.links {
            let found = self.problem(id, link, Some(&needed));
            let is_wanted = |problem: &Problem| {
                link.kind == LinkKind::DependsOn || problem.code == "dependency-unlisted"
            };
            problems.extend(found.filter(is_wanted));
        }
        problems
    }

    /// Returns the problem of a link; `needed` contains the dependencies of the document, if it is
    /// a source.
    fn problem(
        &self,
        from: &DocumentId,
        link: &Link,
        needed: Option<&BTreeSet<DocumentId>>,
    ) -> Option<Problem> {
        let target = match self.target(from, link) {
            Ok(target) => target?,
            Err(problem) => return Some(problem),
        };
        let of_source = needed.and_then(|needed| self.dependency(from, link, &target, needed));
        of_source.or_else(|| {
            let anchor = link.anchor.as_deref().filter(|_| link.checkpoint.is_none())?;
            let outline = || Call::new(Verb::Read).value(target.as_str()).word("--outline");
            let lists = || Hint::call("{} lists its sections", outline());
            self.section(&target, anchor, link.line, &format!("`{target}`"), lists)
        })
    }

    /// Returns the document that a link leads to; `None` if there is nothing more to check.
    fn target(&self, from: &DocumentId, link: &Link) -> Result<Option<DocumentId>, Problem> {
        match &link.target {
            LinkTarget::Document(name) => match name.parse::<DocumentId>() {
                Ok(id) if self.holds(&id, link) => Ok(Some(id)),
                Ok(id) if self.recased(&id, link).is_some() => Ok(self.recased(&id, link)),
                // A README that is not a document exists all the same.
                Ok(id) if layout::is_readme(&id.live_path()) => Ok(None),
                _ => self.on_site(name).ok_or_else(|| self.broken(name, link)),
            },
            LinkTarget::Site(path) => {
                let targets = site_targets(path, &self.vault.config().links);
                let found = targets.iter().find(|id| self.holds(id, link)).cloned();
                let of_hugo = || self.page_of_hugo(&self.vault.config().links.map(path));
                match found.or_else(|| self.in_another_case(&targets)).or_else(of_hugo) {
                    Some(id) => Ok(Some(id)),
                    None if let Some(found) = self.on_site(&format!("@site/{path}")) => Ok(found),
                    None if is_site_folder(path) && !self.lacks_folder(path) => Ok(None),
                    None => match targets.first() {
                        Some(first) => Err(self.broken(first.as_str(), link)),
                        None => Ok(None),
                    },
                }
            }
            LinkTarget::Name(name) => {
                let names = self.named.get(&name_key(name));
                let found = names.and_then(|names| names.resolve(name, from));
                match found.or_else(|| self.aliased(name)?.nearest(from)) {
                    Some(found) if found.others == 0 => Ok(Some(found.id.clone())),
                    Some(found) => {
                        let fits = found.others + 1;
                        let message =
                            format!("`{name}` matches {fits} documents; `{}` is used", found.id);
                        let hint = format!("write `[[{}]]`, or the id of another", found.id);
                        Err(warning("link-ambiguous", Some(link.line), message, hint))
                    }
                    None if is_other_file(name) || layout::is_readme(&format!("{name}.md")) => {
                        Ok(None)
                    }
                    None => Err(self.broken(name, link)),
                }
            }
        }
    }

    /// Returns the problem of a link of a source as a dependency (SRC-3, SRC-4).
    fn dependency(
        &self,
        from: &DocumentId,
        link: &Link,
        target: &DocumentId,
        needed: &BTreeSet<DocumentId>,
    ) -> Option<Problem> {
        match link.kind {
            LinkKind::DependsOn if self.is_source(target) == Some(false) => {
                Some(order::not_a_source(target, Some(link.line)))
            }
            LinkKind::Reference
                if target != from
                    && !needed.contains(target)
                    && self.is_source(target) == Some(true) =>
            {
                Some(order::unlisted(target, link.line))
            }
            _ => None,
        }
    }

    /// Returns true if a document is a source, by its live file or else by the head; `None` if it
    /// cannot be read.
    fn is_source(&self, id: &DocumentId) -> Option<bool> {
        if let Some(known) = self.sources.borrow().get(id) {
            return *known;
        }
        let is_one = |fields: &Frontmatter| fields.node_type == NodeType::Source;
        let found = match read(self.vault, &id.live_path()) {
            Some(file) => file.fields().map(is_one),
            None => {
                let text = self.published.text(id);
                let document = text.and_then(|text| Document::parse(&text).ok());
                document.map(|document| is_one(&document.frontmatter))
            }
        };
        self.sources.borrow_mut().insert(id.clone(), found);
        found
    }

    /// Returns the target of a path that only the generator of a site knows; `None` if there is
    /// none. A page of MDX is not a document (`Some(None)`). In a site of Docusaurus, the path
    /// begins at the root of the site, which may be above the vault. In a site of Hugo, it is in
    /// another case, or names the folder of a page.
    fn on_site(&self, path: &str) -> Option<Option<DocumentId>> {
        let from_root = path.rsplit_once("@site/").map(|(_, path)| path);
        let folder = self.vault.root().file_name().and_then(|name| name.to_str());
        let below = from_root
            .zip(folder)
            .and_then(|(path, folder)| path.strip_prefix(folder)?.strip_prefix('/'));
        let is_page = |path: &str| self.vault.files().is_file(&format!("{path}.mdx"));
        let paths = [Some(from_root.unwrap_or(path)), below].into_iter().flatten();
        paths.filter(|path| !path.is_empty()).find_map(|path| {
            let id = path.parse::<DocumentId>().ok();
            let of_hugo = || self.page_of_hugo(path);
            let found = id.clone().filter(|id| self.ids.contains(id)).or_else(of_hugo);
            found.map(Some).or_else(|| is_page(path).then_some(None))
        })
    }

    /// Returns the document of a path in a site of Hugo: in another case, or the page of
    /// that folder.
    fn page_of_hugo(&self, path: &str) -> Option<DocumentId> {
        let pages = site_targets(&format!("{path}/"), &SiteLinks::default());
        self.in_another_case(&pages).filter(|_| self.vault.is_in_hugo())
    }

    /// Returns the first of some documents that exists under an id that differs in case. Generators
    /// of sites, such as Hugo, make the paths of pages lower case.
    fn in_another_case(&self, targets: &[DocumentId]) -> Option<DocumentId> {
        let all = || self.ids.iter().map(|id| (id.folded(), id.clone())).collect();
        let folded: &HashMap<String, DocumentId> = self.folded.get_or_init(all);
        targets.iter().find_map(|target| folded.get(&target.folded()).cloned())
    }

    /// Returns true if the configuration maps a path of the site to a missing folder. The generator
    /// of the site may make a page for an unmapped path.
    fn lacks_folder(&self, path: &str) -> bool {
        let mapped = self.vault.config().links.mapped(path);
        mapped.is_some_and(|folder| {
            let folder = folder.trim_end_matches('/');
            let in_any_case = || {
                let folders = self.ids.iter().flat_map(|id| id.with_folders().skip(1));
                let all = || folders.map(fold).collect::<HashSet<String>>();
                self.folders.get_or_init(all).contains(&fold(folder))
            };
            !self.vault.files().exists(folder) && !in_any_case()
        })
    }

    /// Returns the documents with this alias, by their live files or else the published texts.
    fn aliased(&self, name: &str) -> Option<&Names> {
        let read = || {
            let mut read = aliases::read(self.vault, self.ids.iter());
            let live: BTreeSet<DocumentId> = read.iter().map(|(id, _)| id.clone()).collect();
            let markup = Markup::of(self.vault.config());
            for id in self.ids.iter().filter(|_| markup == Markup::Obsidian) {
                let text = (!live.contains(id)).then(|| self.published.text(id)).flatten();
                if let Some(Ok(document)) = text.as_deref().map(Document::parse) {
                    let names = markup.aliases(&document.frontmatter);
                    read.push((id.clone(), names));
                }
            }
            aliases::by_name(read)
        };
        self.aliased.get_or_init(read).get(&fold(name))
    }

    fn own_section(&self, id: &DocumentId, own: &OwnSection) -> Option<Problem> {
        let rename = || "name a heading of this document".into();
        self.section(id, &own.anchor, own.line, "the document", rename)
    }

    /// Returns the problem of an anchor that names no section of a document.
    fn section(
        &self,
        target: &DocumentId,
        anchor: &str,
        line: usize,
        what: &str,
        otherwise: impl FnOnce() -> Hint,
    ) -> Option<Problem> {
        let anchors = self.anchors_of(target);
        if has_section(&anchors, anchor) || is_of_other_site(&anchors, anchor) {
            return None;
        }
        let message = format!("{what} does not have a section `#{anchor}`");
        let near = self.hint(anchor, anchors.iter().map(String::as_str));
        let hint = near.map_or_else(otherwise, |near| format!("did you mean `#{near}`?").into());
        Some(warning("link-anchor", Some(line), message, hint))
    }

    fn image(&self, image: &Image) -> Option<Problem> {
        let path = match image.from_root && image.above == 0 {
            true => self.vault.config().links.map(&image.path),
            false => image.path.as_str().into(),
        };
        // A document may have such a name, too: `Drawing.excalidraw` is the name of a Markdown
        // file.
        let is_document = || image.by_name && self.named.contains_key(&name_key(&image.path));
        if self.images.hold(image, &path) || is_document() {
            return None;
        }
        let message = format!("the file of the image `{}` does not exist", image.text);
        let hint = "add the file to the vault or its git repository, or fix the path";
        Some(warning("image-missing", Some(image.line), message, hint))
    }

    /// Returns the document whose live file has exactly the path of `id`, which differs from its
    /// own id in case (VAULT-65).
    fn recased(&self, id: &DocumentId, link: &Link) -> Option<DocumentId> {
        let recorded = self.vault.recorded_in_other_case(id)?;
        let is_meant = link.kind == LinkKind::Reference
            && self.ids.contains(&recorded)
            && self.vault.files().spelled(&recorded.live_path()) == id.live_path();
        is_meant.then_some(recorded)
    }

    fn holds(&self, id: &DocumentId, link: &Link) -> bool {
        let is_past = link.checkpoint.is_some() || link.kind == LinkKind::DerivedFrom;
        self.ids.contains(id) || (is_past && is_known(self.vault, id))
    }

    fn broken(&self, name: &str, link: &Link) -> Problem {
        let what = match link.kind {
            LinkKind::Reference => "the link",
            LinkKind::DependsOn => "`source.depends_on`",
            LinkKind::DerivedFrom => "`derived_from`",
        };
        let message = format!("{what} leads to `{name}`, which is neither live nor published");
        let near = self.hint(name, self.ids.iter().map(DocumentId::as_str));
        let hint = near.map_or_else(
            || Hint::from("name an existing document, or remove the link"),
            |near| format!("did you mean `{near}`?").into(),
        );
        warning("link-broken", Some(link.line), message, hint)
    }

    fn hint<'k>(&self, name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
        self.near.borrow_mut().find(name, known)
    }

    /// Returns the anchors of a document, of its live file if it has one.
    fn anchors_of(&self, id: &DocumentId) -> Rc<BTreeSet<String>> {
        if let Some(known) = self.anchors.borrow().get(id) {
            return Rc::clone(known);
        }
        let live = read(self.vault, &id.live_path()).and_then(|file| file.content.ok());
        let body = match live {
            Some(content) => Some(content.text[content.document.parts.body..].to_owned()),
            None => self.published.text(id).map(|text| match Document::parse(&text) {
                Ok(document) => text[document.parts.body..].to_owned(),
                Err(_) => text,
            }),
        };
        let sections = Markup::of(self.vault.config()).sections(&body.unwrap_or_default());
        let found = Rc::new(anchors(sections));
        self.anchors.borrow_mut().insert(id.clone(), Rc::clone(&found));
        found
    }

    /// Returns the cycles that live sources are part of, reported for each source: path
    /// and problem.
    pub fn cycles(&self, files: &[LiveFile]) -> Vec<(String, Problem)> {
        let needed = |file: &LiveFile| {
            let (id, content) = (file.id.as_ref()?, file.content.as_ref().ok()?);
            Some(order::needed(id, &content.document.frontmatter))
        };
        let live: HashMap<&DocumentId, &LiveFile> =
            files.iter().filter_map(|file| Some((file.id.as_ref()?, file))).collect();
        let found = order::closure(live.keys().map(|id| (*id).clone()), |id| {
            let known = match live.get(id) {
                Some(file) => needed(file),
                None if !self.ids.contains(id) => None,
                None => match read(self.vault, &id.live_path()) {
                    Some(file) => needed(&file),
                    None => {
                        self.published.text(id).and_then(|text| order::needed_by_text(id, &text))
                    }
                },
            };
            known.unwrap_or_default()
        });
        let mut problems = Vec::new();
        for group in order::cyclic_groups(&found) {
            let members: Vec<&&LiveFile> = group.iter().filter_map(|id| live.get(id)).collect();
            let Some(through) = members.first().and_then(|file| file.id.as_ref()) else { continue };
            let cycle = order::cycle(&found, &group, through);
            for file in members {
                problems.push((file.path.clone(), cycle.problem(depends_on_line(file))));
            }
        }
        problems
    }
}

/// Returns the line of `depends_on`.
fn depends_on_line(file: &LiveFile) -> Option<usize> {
    let node = file.fields()?.get("source")?.get("depends_on")?;
    Some(node.line + 1)
}

fn unusable(found: &Links) -> impl Iterator<Item = Problem> {
    found.broken.iter().map(|broken| {
        let message =
            format!("the link `{}` does not name a document: {}", broken.text, broken.why);
        let hint = "write a path in the vault, or `contextnest://` and an id";
        warning("link-broken", Some(broken.line), message, hint)
    })
}

pub(super) fn warning(
    code: &'static str,
    line: Option<usize>,
    message: String,
    hint: impl Into<Hint>,
) -> Problem {
    Problem { code, severity: Severity::Warning, line, message, hint: hint.into() }
}
