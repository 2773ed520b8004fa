//! `links` of the configuration: folders of the vault for paths from the root of a web site
//! (`spec/graph.md`, GRAPH-17).

use std::borrow::Cow;

use super::Vault;
use crate::values::yaml::{self, Node};

/// Configuration files of a Hugo site, in its root.
const HUGO: [&str; 4] = ["hugo.toml", "hugo.yaml", "hugo.yml", "hugo.json"];

/// Older names of such files, next to the folder `content`.
const OLD_HUGO: [&str; 3] = ["config.toml", "config.yaml", "config.json"];

/// Number of folders, from a vault upwards, that may be the root of a site.
const ABOVE: usize = 4;

impl Vault {
    /// Returns true if the vault is, or is in, a Hugo site, whose page paths are compared
    /// without case.
    pub(crate) fn is_in_hugo(&self) -> bool {
        self.root().ancestors().take(ABOVE).any(|folder| {
            let has = |name: &&str| folder.join(name).is_file();
            let is_old = || folder.join("content").is_dir() && OLD_HUGO.iter().any(has);
            HUGO.iter().any(has) || is_old()
        })
    }
}

/// Maximum number of prefixes.
const MAX_PREFIXES: usize = 64;

/// Prefixes of paths on a site with the folders that they are mapped to; the longest prefix has
/// precedence. Neither begins with `/`, and each ends in `/` or is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteLinks {
    /// The longest prefix first, without duplicates.
    prefixes: Vec<(String, String)>,
}

impl SiteLinks {
    /// Parses the mapping of a configuration.
    ///
    /// # Errors
    /// A key or a value is not a folder, or there are too many.
    pub(super) fn read(node: &Node) -> Result<Self, yaml::Error> {
        let mut prefixes = Vec::new();
        if node.is_null() {
            return Ok(Self::default());
        }
        let expected = "expected a mapping such as `/docs/: nodes/docs/`";
        for (key, value) in node.entries().ok_or_else(|| node.error(expected))? {
            let prefix = key.text().and_then(|text| folder(text.strip_prefix('/')?));
            let prefix = prefix.ok_or_else(|| {
                key.error("expected a path that begins and ends with `/`, such as `/docs/`")
            })?;
            let target = value.text().map(|text| text.strip_prefix('/').unwrap_or(text));
            let target = target.and_then(folder).ok_or_else(|| {
                value
                    .error("expected a folder of the vault that ends in `/`, such as `nodes/docs/`")
            })?;
            prefixes.push((prefix.to_owned(), target.to_owned()));
        }
        if prefixes.len() > MAX_PREFIXES {
            return Err(node.error(format!("at most {MAX_PREFIXES} prefixes can be mapped")));
        }
        prefixes.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Ok(Self { prefixes })
    }

    /// Returns the path in the vault for a path on the site without its first `/`.
    pub fn map<'p>(&self, path: &'p str) -> Cow<'p, str> {
        self.mapped(path).map_or(Cow::Borrowed(path), Cow::Owned)
    }

    /// Returns the path in the vault, if a prefix of the path is mapped.
    pub fn mapped(&self, path: &str) -> Option<String> {
        let mut fits = self.prefixes.iter();
        let fit = |(prefix, target): &(String, String)| {
            Some(format!("{target}{}", path.strip_prefix(&**prefix)?))
        };
        fits.find_map(fit)
    }

    /// Returns the paths on the site that lead to a path in the vault, each without its first `/`.
    pub fn sources(&self, path: &str) -> Vec<String> {
        let mapped = self.prefixes.iter().filter_map(|(prefix, target)| {
            Some(format!("{prefix}{}", path.strip_prefix(&**target)?))
        });
        let mut found: Vec<String> = mapped.chain([path.to_owned()]).collect();
        found.retain(|source| self.map(source) == path);
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Returns a text that is empty or names a folder with a final `/`; `None` for any other.
fn folder(text: &str) -> Option<&str> {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
    match text.strip_suffix('/') {
        None => text.is_empty().then_some(text),
        Some(names) => names.split('/').all(is_name).then_some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::vault::config::Config;
    use proptest::prelude::*;

    fn links(yaml: &str) -> Result<SiteLinks, String> {
        let text = format!("links: {yaml}\n");
        Config::parse(&text).map(|config| config.links).map_err(|why| why.to_string())
    }

    #[test]
    fn the_longest_prefix_wins() {
        let links = links("{/docs/: nodes/docs/, /docs/api/: sources/api/, /: ''}").unwrap();
        assert_eq!(links.map("docs/a"), "nodes/docs/a");
        assert_eq!(links.map("docs/api/a"), "sources/api/a");
        assert_eq!(links.map("docs"), "docs");
        assert_eq!(links.sources("nodes/docs/a"), ["docs/a", "nodes/docs/a"]);
        // A path with the longer prefix leads elsewhere.
        assert_eq!(links.sources("nodes/docs/api/a"), ["nodes/docs/api/a"]);
        assert_eq!(SiteLinks::default().sources("a"), ["a"]);
    }

    #[test]
    fn site_links_refuse_paths_that_are_not_folders() {
        for (yaml, expected) in [
            ("{docs/: nodes/}", "line 1, column 9: expected a path that begins"),
            ("{/docs: nodes/}", "line 1, column 9: expected a path that begins"),
            ("{/a/../: nodes/}", "line 1, column 9: expected a path that begins"),
            ("{/docs/: nodes}", "line 1, column 17: expected a folder"),
            ("{/docs/: ../x/}", "line 1, column 17: expected a folder"),
            ("[/docs/]", "line 1, column 8: expected a mapping"),
        ] {
            let why = links(yaml).unwrap_err();
            assert!(why.starts_with(expected), "{yaml}: {why}");
        }
        let many: Vec<String> = (0..65).map(|n| format!("/{n}/: x/")).collect();
        assert!(links(&format!("{{{}}}", many.join(", "))).unwrap_err().contains("at most 64"));
    }

    proptest! {
        #[test]
        fn the_sources_of_a_path_are_exactly_those_that_map_to_it(
            prefixes in prop::collection::btree_map("/([ab]/){0,2}", "([ab]/){0,2}", 0..4),
            paths in prop::collection::vec("([ab]/){0,3}[ab]?", 1..40), wanted in "([ab]/){0,3}[ab]?",
        ) {
            let entries = prefixes.iter().map(|(k, v)| format!("{k}: '{v}'"));
            let links = links(&format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))).unwrap();
            let sources = links.sources(&wanted);
            for path in paths {
                prop_assert_eq!(links.map(&path) == wanted, sources.contains(&path), "{}", path);
            }
        }
    }
}
