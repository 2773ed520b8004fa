//! Reading a pack file within limits; all problems are found, and none ends the reading.

use std::ops::Range;

use super::{Pack, PackProblem, Placed, ProblemKind};
use crate::files::vault::federation::Authorities;
use crate::text::document::frontmatter::NodeType;
use crate::text::selector::{self, Selector, Term};
use crate::text::uri::{Target, Uri};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::name::{MAX_NAME_BYTES, is_name};
use crate::values::model::visible::Invisible;
use crate::values::text_util::nearest;
use crate::values::yaml::{self, Dialect, Node};

/// Beginning of a text that is a URI, valid or not, and not the id of a document.
const SCHEME: &str = "contextnest:";

const KEYS: [&str; 9] = [
    "id",
    "label",
    "description",
    "query",
    "includes",
    "excludes",
    "filters",
    "audiences",
    "agent_instructions",
];

const _: () = assert!(MAX_NAME_BYTES == 200, "the message says so");

/// The result of reading a pack file.
#[derive(Debug, Default)]
pub struct Reading {
    /// Id, if the file has one.
    pub id: Option<String>,
    /// Pack, if no problem is fatal.
    pub pack: Option<Pack>,
    /// Problems, in the order of the file.
    pub problems: Vec<PackProblem>,
}

/// Parses the text of a pack file.
pub fn read(text: &str, authorities: &Authorities) -> Reading {
    let mut reader = Reader { authorities, problems: Vec::new() };
    let mut pack = Pack::default();
    match root(text) {
        Ok(root) => reader.pack(&root, &mut pack),
        Err(why) => {
            let (line, column, kind) = (why.line, why.column, ProblemKind::Yaml(why.problem));
            reader.problems.push(PackProblem { line, column, kind });
        }
    }
    let mut problems = reader.problems;
    problems.sort_by_key(|problem| (problem.line, problem.column));
    let id = Some(pack.id.clone()).filter(|id| !id.is_empty());
    let usable = !problems.iter().any(PackProblem::is_fatal);
    Reading { id, pack: usable.then_some(pack), problems }
}

/// Returns the instructions for agents in the text of a pack file, and the range of their value
/// in YAML.
pub(crate) fn instructions(text: &str) -> Option<(String, Range<usize>)> {
    let root = root(text).ok()?;
    let value = root.get("agent_instructions").filter(|value| !value.is_null())?;
    Some((value.text()?.to_owned(), value.span.clone()))
}

fn root(text: &str) -> Result<Node, yaml::Error> {
    if text.len() > limit::FRONTMATTER {
        let problem = format!("a pack has at most 64 KiB, but this one has {} bytes", text.len());
        return Err(yaml::Error { line: 1, column: 1, problem });
    }
    yaml::parse(text, Dialect::Format)
}

struct Reader<'a> {
    authorities: &'a Authorities,
    problems: Vec<PackProblem>,
}

impl Reader<'_> {
    fn problem(&mut self, node: &Node, kind: ProblemKind) {
        self.problems.push(PackProblem { line: node.line, column: node.column, kind });
    }

    fn pack(&mut self, root: &Node, pack: &mut Pack) {
        let Some(entries) = root.entries() else {
            return self.problem(root, ProblemKind::Value("`key: value` lines"));
        };
        for (key, value) in entries {
            let name = key.text().unwrap_or_default();
            if value.is_null() && KEYS.contains(&name) {
                continue;
            }
            match name {
                "id" => self.id(value, pack),
                "label" => pack.label = self.text(value),
                "description" => pack.description = self.text(value),
                "query" => pack.query = self.query(value),
                "includes" => pack.includes = self.references(value, true),
                "excludes" => pack.excludes = self.references(value, false),
                "filters" => self.filters(value, pack),
                "audiences" => pack.audiences = self.texts(value),
                "agent_instructions" => pack.agent_instructions = self.text(value),
                unknown => self.unknown(key, unknown, &KEYS),
            }
        }
        for required in ["id", "label"] {
            if root.get(required).is_none_or(Node::is_null) {
                self.problem(root, ProblemKind::Missing(required));
            }
        }
        let names_something = ["query", "includes"].iter().any(|key| {
            root.get(key).is_some_and(|value| {
                !value.is_null() && value.items().is_none_or(|items| !items.is_empty())
            })
        });
        if !names_something {
            self.problem(root, ProblemKind::Empty);
        }
    }

    fn id(&mut self, node: &Node, pack: &mut Pack) {
        let text = node.text().unwrap_or_default();
        if is_name(text) {
            pack.id = text.to_owned();
            return;
        }
        let kind = match Invisible::first_in(text) {
            Some(found) => ProblemKind::Invisible { id: text.to_owned(), found },
            None => ProblemKind::Value("a name of at most 200 bytes on one line"),
        };
        self.problem(node, kind);
    }

    fn unknown(&mut self, key: &Node, found: &str, known: &[&'static str]) {
        let near = nearest(found, known.iter().copied());
        let near = known.iter().copied().find(|key| Some(*key) == near);
        self.problem(key, ProblemKind::UnknownKey { found: found.to_owned(), near });
    }

    fn text(&mut self, node: &Node) -> Option<String> {
        let text = node.text().map(str::to_owned);
        if text.is_none() {
            self.problem(node, ProblemKind::Value("a text"));
        }
        text
    }

    fn items<'n>(&mut self, node: &'n Node, expected: &'static str) -> &'n [Node] {
        let items = node.items();
        if items.is_none() {
            self.problem(node, ProblemKind::Value(expected));
        }
        items.unwrap_or_default()
    }

    fn texts(&mut self, node: &Node) -> Vec<String> {
        let items = self.items(node, "a list of texts");
        items.iter().filter_map(|item| self.text(item)).collect()
    }

    fn filters(&mut self, node: &Node, pack: &mut Pack) {
        let Some(entries) = node.entries() else {
            return self.problem(node, ProblemKind::Value("the key `node_types`"));
        };
        for (key, value) in entries {
            match key.text().unwrap_or_default() {
                "node_types" => pack.node_types = self.types(value),
                unknown => self.unknown(key, unknown, &["node_types"]),
            }
        }
    }

    fn types(&mut self, node: &Node) -> Vec<NodeType> {
        let mut found = Vec::new();
        let items = self.items(node, "a list of types");
        // An empty list selects nothing. Without this error, it would select every type.
        if node.items().is_some_and(<[Node]>::is_empty) {
            self.problem(node, ProblemKind::Value("at least one type"));
        }
        for item in items {
            let word = item.text().unwrap_or_default();
            if let Some(node_type) = NodeType::from_word(word) {
                found.push(node_type);
            } else {
                self.problem(item, ProblemKind::Value("a type"));
            }
        }
        found
    }

    fn query(&mut self, node: &Node) -> Option<Placed<Selector>> {
        let text = self.text(node)?;
        match selector::parse_in(&text, self.authorities) {
            Ok(selector) => {
                for (term, _) in selector.expr.leaves() {
                    match term {
                        Term::Pack(id) => self.problem(node, ProblemKind::Nested(id.clone())),
                        Term::Uri(uri) => self.uri(node, uri, true),
                        Term::Set(_) => {}
                    }
                }
                Some(placed(node, selector))
            }
            Err(why) => {
                self.problem(node, ProblemKind::Query { why, text });
                None
            }
        }
    }

    fn references(&mut self, node: &Node, with_sections: bool) -> Vec<Placed<Uri>> {
        let mut found = Vec::new();
        for item in self.items(node, "a list of URIs") {
            let Some(text) = self.text(item) else { continue };
            // The reference implementation writes the ids of documents.
            let plain = text.parse().ok().filter(|id: &DocumentId| id.is_document());
            let plain = plain.filter(Uri::can_name).filter(|id| !id.as_str().starts_with(SCHEME));
            let plain = plain.map(Uri::document);
            match plain.map_or_else(|| Uri::parse_in(&text, self.authorities), Ok) {
                Ok(uri) => {
                    self.uri(item, &uri, with_sections);
                    found.push(placed(item, uri));
                }
                Err(why) => self.problem(item, ProblemKind::Uri { why, text }),
            }
        }
        found
    }

    /// Checks that a URI is allowed in a pack.
    fn uri(&mut self, node: &Node, uri: &Uri, with_sections: bool) {
        if let Err(why) = uri.local() {
            self.problem(node, ProblemKind::Foreign(why));
        }
        if let Target::Document { checkpoint, anchor, .. } = &uri.target {
            if let Some(checkpoint) = checkpoint {
                self.problem(node, ProblemKind::Pinned(*checkpoint));
            }
            if anchor.is_some() && !with_sections {
                self.problem(node, ProblemKind::Section);
            }
        }
    }
}

fn placed<T>(node: &Node, value: T) -> Placed<T> {
    Placed { value, line: node.line, column: node.column }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::model::hint::{Mode, Spell};

    fn report(text: &str) -> String {
        let reading = read(text, &Authorities::default());
        let usable = if reading.pack.is_some() { "usable" } else { "not usable" };
        let problem = |p: &PackProblem| {
            let (line, column, code) = (p.line, p.column, p.code());
            format!(
                "  {line}:{column} [{code}] {} ({})",
                p.kind,
                p.hint().render(Spell::new(|_| String::new(), Mode::Publishes))
            )
        };
        let problems: Vec<String> = reading.problems.iter().map(problem).collect();
        format!("{usable}\n{}", problems.join("\n"))
    }

    #[test]
    fn a_pack_is_query_and_includes_without_excludes_of_its_types() {
        let text = "id: a\nlabel: A\nquery: '#x | #y'\nincludes: ['contextnest://n/a#s', \
                    contextnest://tag/t]\nexcludes: [contextnest://old/]\nfilters:\n  node_types: \
                    [document, skill]\naudiences: [buyers]\nagent_instructions: |\n  Ask.\n";
        let reading = read(text, &Authorities::default());
        assert_eq!(reading.problems, []);
        let pack = reading.pack.unwrap();
        insta::assert_snapshot!(pack.expr(), @"((#x | #y | contextnest://n/a#s | #t) - contextnest://old/) + (type:document | type:skill)");
        assert_eq!(pack.agent_instructions.as_deref(), Some("Ask.\n"));
    }

    #[test]
    fn pack_problems_have_a_place_and_a_hint() {
        let report: Vec<String> = [
            "id: [",
            "- a",
            "label: A\nquery: '#a'\n",
            "id: a\nlabel: A\nqeury: '#a'\n",
            "id: a\nlabel: A\nquery: '#a + typ:tool'\nincludes: [nodes//a, 'contextnest://a@3', \
             contextnest://a//b]\nexcludes: ['contextnest://a#b']\n",
            "id: a\nlabel: A\nquery: pack:b | pack:c\n",
            "id: \"a\\tb\"\nlabel: [x]\nincludes: contextnest://a\nfilters: {node_types: ['']}\n",
            "id: a\nlabel: A\nincludes: []\nfilters: {node_types: []}\n",
            "id: a\nid: b\n",
            "id: &x a\n",
        ]
        .iter()
        .map(|text| report(text))
        .collect();
        insta::assert_snapshot!(report.join("\n"), @"
        not usable
          1:5 [pack-yaml] unclosed bracket '[' (fix the line; spec/vault.md lists the keys)
        not usable
          1:1 [pack-value] expected `key: value` lines (fix the line; spec/vault.md lists the keys)
        not usable
          1:1 [pack-value] expected a key `id` (fix the line; spec/vault.md lists the keys)
        usable
          1:1 [pack-empty] the pack has neither `query` nor `includes`, so it selects nothing (fix the line; spec/vault.md lists the keys)
          3:1 [pack-key] unknown key `qeury` (fix the line; spec/vault.md lists the keys)
        not usable
          3:8 [pack-query] the query is not a selector: expected a tag, a filter, `pack:` or a URI, but found `typ:` (did you mean `type:`?)
          4:12 [pack-uri] `nodes//a` is not a URI: expected `contextnest://` (write `contextnest://` and the path of the document, without `.md`)
          4:22 [pack-pinned] a pack cannot name a checkpoint, but found `@3` (remove the `@` and the number)
          4:43 [pack-uri] `contextnest://a//b` is not a URI: expected a name between two `/` (write `contextnest://` and the path of the document, without `.md`)
          5:12 [pack-uri] `excludes` removes whole documents, not sections (remove the `#` and the name after it)
        not usable
          3:8 [pack-nested] a pack cannot contain another pack, but found `pack:b` (copy the query of the other pack)
          3:8 [pack-nested] a pack cannot contain another pack, but found `pack:c` (copy the query of the other pack)
        not usable
          1:5 [pack-value] expected a name of at most 200 bytes on one line (fix the line; spec/vault.md lists the keys)
          2:8 [pack-value] expected a text (fix the line; spec/vault.md lists the keys)
          3:11 [pack-value] expected a list of URIs (fix the line; spec/vault.md lists the keys)
          4:24 [pack-value] expected a type (fix the line; spec/vault.md lists the keys)
        not usable
          1:1 [pack-empty] the pack has neither `query` nor `includes`, so it selects nothing (fix the line; spec/vault.md lists the keys)
          4:23 [pack-value] expected at least one type (fix the line; spec/vault.md lists the keys)
        not usable
          2:1 [pack-yaml] duplicate key `id`, first on the line above (fix the line; spec/vault.md lists the keys)
        not usable
          1:8 [pack-yaml] anchors and aliases are not allowed here (fix the line; spec/vault.md lists the keys)
        ");
    }

    #[test]
    fn size_is_limited() {
        let big = format!("id: a\nlabel: '{}'\nquery: '#a'\n", "x".repeat(limit::FRONTMATTER));
        assert!(report(&big).contains("at most 64 KiB"));
        let deep = format!("id: a\nlabel: A\nquery: {}\n", "[".repeat(5000));
        assert!(report(&deep).contains("[pack-yaml]"));
        let long = format!("id: a\nlabel: A\nquery: '{}'\n", "#a ".repeat(3000));
        assert!(report(&long).contains("at most 8192 bytes"));
    }
}
