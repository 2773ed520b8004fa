//! `spec/vectors/links`: links, and the documents that they name.

use contextnest::files::vault::config::Config;
use contextnest::model::id::DocumentId;
use contextnest::model::number::CheckpointNumber;
use contextnest::text::document::Document;
use contextnest::text::document::links::{LinkTarget, Names, read, site_targets};
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    id: String,
    text: String,
    config: Option<String>,
    links: Vec<Expected>,
    /// Lines of links that name nothing.
    #[serde(default)]
    broken: Vec<usize>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    line: usize,
    kind: String,
    document: Option<String>,
    /// Alternatives, in order, if the documents before them do not exist.
    #[serde(default)]
    or: Vec<String>,
    name: Option<String>,
    anchor: Option<String>,
    checkpoint: Option<CheckpointNumber>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
    link: String,
    from: String,
    ids: Vec<String>,
    /// The ids that have the name as an alias.
    #[serde(default)]
    aliased: Vec<String>,
    means: Option<String>,
    ambiguous: bool,
}

#[test]
fn every_text_has_these_links() {
    let cases: Vec<Case> = load("links/cases.json");
    for case in cases {
        let config = Config::parse(case.config.as_deref().unwrap_or_default()).unwrap();
        let id: DocumentId = case.id.parse().unwrap();
        let document = Document::parse(&case.text).unwrap();
        let found = read(&id, &case.text, &document.frontmatter, document.parts.body);
        let links: Vec<Expected> = found
            .links
            .into_iter()
            .filter_map(|link| {
                let mut or = Vec::new();
                let (document, name) = match link.target {
                    LinkTarget::Document(id) => (Some(id), None),
                    LinkTarget::Site(path) => {
                        let targets = site_targets(&path, &config.links);
                        let mut targets = targets.iter().map(ToString::to_string);
                        let first = targets.next()?;
                        or.extend(targets);
                        (Some(first), None)
                    }
                    LinkTarget::Name(name) => (None, Some(name)),
                };
                let kind = link.kind.as_str().to_owned();
                let (line, anchor, checkpoint) = (link.line, link.anchor, link.checkpoint);
                Some(Expected { line, kind, document, or, name, anchor, checkpoint })
            })
            .collect();
        assert_eq!(links, case.links, "{}", case.name);
        let broken: Vec<usize> = found.broken.iter().map(|broken| broken.line).collect();
        assert_eq!(broken, case.broken, "{}", case.name);
        assert!(!found.truncated, "{}", case.name);
    }
}

#[test]
fn every_name_leads_where_it_should() {
    let cases: Vec<Name> = load("links/names.json");
    for case in cases {
        let names = |ids: &[String]| Names::new(ids.iter().map(|id| id.parse().unwrap()).collect());
        let (named, aliased) = (names(&case.ids), names(&case.aliased));
        let from = case.from.parse().unwrap();
        let found = named.resolve(&case.link, &from).or_else(|| aliased.nearest(&from));
        let means = found.as_ref().map(|found| found.id.to_string());
        assert_eq!(means, case.means, "{}", case.name);
        let ambiguous = found.is_some_and(|found| found.others > 0);
        assert_eq!(ambiguous, case.ambiguous, "{}", case.name);
    }
}

#[test]
fn the_specification_lists_every_code_of_a_link() {
    let text = include_str!("../../spec/graph.md");
    for code in contextnest::read::working::linked::CODES {
        assert!(text.contains(&format!("| `{code}` |")), "{code}");
    }
}
