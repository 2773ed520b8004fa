//! Links from the root of a web site: the documents that a path may resolve to, and the paths that
//! may resolve to a document (`spec/graph.md`, GRAPH-17 and GRAPH-21).

use super::read::is_document;
use super::{folder, last_segment};
use crate::files::vault::site::SiteLinks;
use crate::values::model::id::DocumentId;

/// Names of documents that represent their folder, in the order of precedence.
const PAGES: [&str; 3] = ["index", "_index", "README"];

/// Returns true if a path, without its first `/`, is that of a folder on the site.
pub fn is_site_folder(path: &str) -> bool {
    path.is_empty() || path.ends_with('/')
}

/// Returns the documents that a path from the root may resolve to; the first that exists is used.
/// Empty if no document can have the path.
pub fn site_targets(path: &str, links: &SiteLinks) -> Vec<DocumentId> {
    let mapped = links.map(path);
    let (name, pages) = match is_site_folder(path) {
        true => (mapped.trim_end_matches('/'), &PAGES[..]),
        false => (&*mapped, &[][..]),
    };
    let pages = pages.iter().map(|page| format!("{mapped}{page}"));
    let names = [name.to_owned()].into_iter().chain(pages);
    names.filter_map(|name| name.parse().ok()).filter(is_document).collect()
}

/// Returns the paths from the root that may resolve to a document, each without its first `/`.
pub fn site_sources(id: &DocumentId, links: &SiteLinks) -> Vec<String> {
    let mut found = links.sources(id.as_str());
    found.extend(links.sources(&format!("{id}/")));
    if PAGES.contains(&last_segment(id.as_str())) {
        found.extend(links.sources(folder(id.as_str())));
    }
    found
}

/// Returns the paths of a document for a link that had another path, that of its folder first. At
/// each of them, another document may have precedence.
pub(super) fn moved_paths(old: &str, new: &DocumentId, links: &SiteLinks) -> Vec<String> {
    if !is_site_folder(old) {
        return links.sources(new.as_str());
    }
    let mut paths = match PAGES.contains(&last_segment(new.as_str())) {
        true => links.sources(folder(new.as_str())),
        false => Vec::new(),
    };
    paths.extend(links.sources(&format!("{new}/")));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::vault::config::Config;
    use proptest::prelude::*;

    fn links(yaml: &str) -> SiteLinks {
        Config::parse(&format!("links: {yaml}\n")).unwrap().links
    }

    #[test]
    fn site_folder_resolves_to_its_document_or_its_index() {
        let links = links("{/docs/: nodes/docs/}");
        let targets = |path: &str| -> Vec<String> {
            site_targets(path, &links).iter().map(ToString::to_string).collect()
        };
        assert_eq!(targets("docs/a"), ["nodes/docs/a"]);
        let expected =
            ["nodes/docs/a", "nodes/docs/a/index", "nodes/docs/a/_index", "nodes/docs/a/README"];
        assert_eq!(targets("docs/a/"), expected);
        assert_eq!(targets(""), ["index", "_index", "README"]);
        let moved = |old: &str, new: &str| {
            let mut paths = moved_paths(old, &new.parse().unwrap(), &links);
            paths.retain(|path| path.starts_with("docs/"));
            paths
        };
        assert_eq!(moved("docs/a/", "nodes/docs/b"), ["docs/b/"]);
        assert_eq!(moved("docs/a/", "nodes/docs/b/_index"), ["docs/b/", "docs/b/_index/"]);
        assert_eq!(moved("docs/a", "nodes/docs/b/index"), ["docs/b/index"]);
    }

    proptest! {
        #[test]
        fn site_sources_are_exactly_the_paths_that_may_resolve(
            prefixes in prop::collection::btree_map("/([ab]/){0,2}", "([ab]/){0,2}", 0..4),
            paths in prop::collection::vec("([ab]/){0,3}([ab]|index|README)?", 1..40),
            wanted in "([ab]/){0,3}([ab]|index|_index|README)",
        ) {
            let entries = prefixes.iter().map(|(k, v)| format!("{k}: '{v}'"));
            let links = links(&format!("{{{}}}", entries.collect::<Vec<_>>().join(", ")));
            let wanted: DocumentId = wanted.parse().unwrap();
            let sources = site_sources(&wanted, &links);
            for path in paths.iter().filter(|_| is_document(&wanted)) {
                let may_mean = site_targets(path, &links).contains(&wanted);
                prop_assert_eq!(may_mean, sources.contains(path), "{}", path);
            }
        }
    }
}
