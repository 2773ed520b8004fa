//! Builds the tree of a YAML text from the events of a parser, within the limits of this module.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::{Dialect, Error, List, MAX_ALIAS_BYTES, MAX_DEPTH, MAX_NODES, Node, Value};

/// Builds the tree of a text and passes on the items of `list`.
pub(super) fn build(text: &str, dialect: Dialect, list: Option<List<'_>>) -> Result<Node, Error> {
    let options = granit_parser::options! {
        disallow_directives: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let parser = Parser::new_from_str_with_options(text, options);
    let mut builder = Builder::new(dialect, text.len(), list);
    let mut ends = OtherLineEnds::new(text);
    for next in parser {
        let (event, span) = next.map_err(|e| Error {
            line: e.marker().line(),
            column: e.marker().col() + 1,
            problem: e.info().to_string(),
        })?;
        ends.pass(&event, &span)?;
        builder.accept(event, &span)?;
    }
    ends.finish()?;
    Ok(builder.root.unwrap_or(Node {
        value: Value::Scalar { text: String::new(), plain: true },
        span: text.len()..text.len(),
        line: 1,
        column: 1,
        decorated: false,
    }))
}

/// Finds the characters that end a line, and with it a comment, in readers of YAML 1.1 but not of
/// 1.2 (YAML-9). They are allowed between double quotes only.
struct OtherLineEnds<'t> {
    text: &'t str,
    /// Position of the first such character that was not passed yet.
    next: Option<usize>,
}

impl<'t> OtherLineEnds<'t> {
    fn new(text: &'t str) -> Self {
        let mut ends = Self { text, next: None };
        ends.seek(0);
        ends
    }

    /// Finds the next one from this byte on.
    fn seek(&mut self, from: usize) {
        // All three begin with one of two bytes, which text in ASCII does not have.
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        let is_one = |at: &usize| {
            let bytes = &rest[*at..];
            [&b"\xc2\x85"[..], b"\xe2\x80\xa8", b"\xe2\x80\xa9"]
                .iter()
                .any(|c| bytes.starts_with(c))
        };
        self.next = memchr::memchr2_iter(0xc2, 0xe2, rest).find(is_one).map(|at| from + at);
    }

    /// Passes over a scalar in double quotes.
    fn pass(&mut self, event: &Event<'_>, span: &Span) -> Result<(), Error> {
        let Some(next) = self.next else { return Ok(()) };
        if !matches!(event, Event::Scalar(_, ScalarStyle::DoubleQuoted, ..)) {
            return Ok(());
        }
        let (Some(start), Some(end)) = (span.start.byte_offset(), span.end.byte_offset()) else {
            return Ok(());
        };
        if next < start {
            return self.finish();
        }
        if next < end {
            self.seek(end);
        }
        Ok(())
    }

    /// Refuses the first one that is left.
    fn finish(&self) -> Result<(), Error> {
        let Some((at, before)) = self.next.and_then(|at| Some((at, self.text.get(..at)?))) else {
            return Ok(());
        };
        let found = self.text[at..].chars().next().map_or(0, u32::from);
        // A lone CR ends a line too.
        let bytes = before.as_bytes();
        let ends = memchr::memchr2_iter(b'\n', b'\r', bytes)
            .filter(|n| bytes[*n] == b'\r' || n.checked_sub(1).is_none_or(|n| bytes[n] != b'\r'));
        let line = before.rfind(['\n', '\r']).map_or(before, |n| &before[n + 1..]);
        // A byte order mark at the beginning of the text is not part of its first line.
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        Err(Error {
            line: 1 + ends.count(),
            column: 1 + line.chars().count(),
            problem: format!(
                "U+{found:04X} ends a line for some readers and not for others; remove it, or write it as \
                 an escape in double quotes"
            ),
        })
    }
}

/// A collection that is still open.
struct Open {
    node: Node,
    anchor: usize,
    /// Key of a mapping whose value is not read yet.
    key: Option<Node>,
    /// Hashes of the keys of a mapping: if two are equal, the keys themselves are compared.
    keys: HashSet<u64>,
}

struct Builder<'l> {
    dialect: Dialect,
    list: Option<List<'l>>,
    /// Number of values in memory, or made since the last item was passed on.
    nodes: usize,
    hashes: RandomState,
    length: usize,
    stack: Vec<Open>,
    anchors: HashMap<usize, Node>,
    expanded: usize,
    documents: usize,
    root: Option<Node>,
}

impl<'l> Builder<'l> {
    fn new(dialect: Dialect, length: usize, list: Option<List<'l>>) -> Self {
        Self {
            dialect,
            list,
            nodes: 0,
            hashes: RandomState::new(),
            length,
            stack: Vec::new(),
            anchors: HashMap::new(),
            expanded: 0,
            documents: 0,
            root: None,
        }
    }

    fn node(&self, value: Value, span: &Span, decorated: bool) -> Node {
        let at = |marker: &granit_parser::Marker| marker.byte_offset().unwrap_or(self.length);
        let (start, end) = (at(&span.start), at(&span.end));
        Node {
            value,
            span: start..end.max(start),
            line: span.start.line(),
            column: span.start.col() + 1,
            decorated,
        }
    }

    fn accept(&mut self, event: Event<'_>, span: &Span) -> Result<(), Error> {
        let fail = |problem: &str| {
            Err(Error {
                line: span.start.line(),
                column: span.start.col() + 1,
                problem: problem.to_owned(),
            })
        };
        let (anchor, tagged) = (event.anchor_id().unwrap_or(0), event.tag().is_some());
        if self.dialect == Dialect::Format {
            if anchor != 0 || event.is_alias() {
                return fail("anchors and aliases are not allowed here");
            }
            if tagged {
                return fail("tags are not allowed here");
            }
        }
        let decorated = anchor != 0 || tagged;
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return fail("expected one YAML document, but found a second");
                }
            }
            Event::Scalar(text, style, ..) => {
                let plain = matches!(style, ScalarStyle::Plain) && !tagged;
                let value = Value::Scalar { text: text.into_owned(), plain };
                let node = self.node(value, span, decorated);
                self.count(&node)?;
                self.finish(node, anchor)?;
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if self.stack.len() >= MAX_DEPTH {
                    return fail("nesting is deeper than 32 levels");
                }
                let flow = self.length > 0 && span.start.byte_offset() != span.end.byte_offset();
                let value = match event {
                    Event::SequenceStart(..) => Value::Sequence { items: Vec::new(), flow },
                    _ => Value::Mapping { entries: Vec::new(), flow },
                };
                let node = self.node(value, span, decorated);
                self.count(&node)?;
                self.stack.push(Open { node, anchor, key: None, keys: HashSet::new() });
                let key = self.list.as_ref().map(|list| list.key);
                if self.stack.len() == 2 && key.is_some_and(|key| self.in_list(key)) {
                    // The values before the list have a limit of their own.
                    self.nodes = 0;
                }
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(mut open) = self.stack.pop() {
                    let end = span.end.byte_offset().unwrap_or(self.length);
                    open.node.span.end = end.max(open.node.span.start);
                    self.finish(open.node, open.anchor)?;
                }
            }
            Event::Alias(id) => {
                let Some(target) = self.anchors.get(&id) else {
                    return fail("an alias inside the value that it names");
                };
                self.expanded += target.weight();
                if self.expanded > MAX_ALIAS_BYTES {
                    return fail("aliases expand to more than 64 KiB");
                }
                let node = self.node(target.value.clone(), span, true);
                self.count(&node)?;
                self.finish(node, 0)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Counts a value before it is kept.
    fn count(&mut self, node: &Node) -> Result<(), Error> {
        self.nodes += 1;
        let most = match &self.list {
            Some(list) if self.in_list(list.key) => list.nodes,
            _ => MAX_NODES,
        };
        if self.nodes > most {
            return Err(node.error(format!("more than {most} values")));
        }
        Ok(())
    }

    /// Returns true if the next value is in the list under `key`.
    fn in_list(&self, key: &str) -> bool {
        let [root, list, ..] = self.stack.as_slice() else {
            return false;
        };
        matches!(list.node.value, Value::Sequence { .. })
            && root.key.as_ref().and_then(Node::text) == Some(key)
    }

    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), Error> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
            self.expanded += node.weight();
            if self.expanded > 4 * MAX_ALIAS_BYTES {
                return Err(node.error("anchored values are larger than 256 KiB"));
            }
        }
        if self.stack.len() == 2
            && let Some(key) = self.list.as_ref().map(|list| list.key)
            && self.in_list(key)
            && let Some(list) = &mut self.list
        {
            self.nodes = 0;
            return (list.take)(node);
        }
        let Some(open) = self.stack.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.node.value {
            Value::Sequence { items, .. } => items.push(node),
            Value::Mapping { entries, .. } => match open.key.take() {
                Some(key) => entries.push((key, node)),
                None => {
                    let Some(text) = node.text() else {
                        return Err(
                            node.error("a key is a collection, but keys must be plain texts")
                        );
                    };
                    if text == "<<" && self.dialect == Dialect::Format {
                        return Err(node.error("merge keys are not allowed here"));
                    }
                    let is_new = open.keys.insert(self.hashes.hash_one(text));
                    let duplicate = |(key, _): &&(Node, Node)| key.text() == Some(text);
                    let duplicate = if is_new { None } else { entries.iter().find(duplicate) };
                    if let Some(first) = duplicate.map(|(key, _)| key.line) {
                        // Relative, because callers count lines from the start of a document.
                        let place = match node.line.saturating_sub(first) {
                            0 => "on this line".to_owned(),
                            1 => "on the line above".to_owned(),
                            n => format!("{n} lines above"),
                        };
                        return Err(node.error(format!(
                            "duplicate key `{}`, first {place}",
                            text.escape_debug()
                        )));
                    }
                    open.key = Some(node);
                }
            },
            Value::Scalar { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_line_ends_are_allowed_in_double_quotes_only() {
        let refusal = |text: &str| match build(text, Dialect::Frontmatter, None) {
            Ok(_) => None,
            Err(why) => Some((why.line, why.column)),
        };
        for c in ['\u{85}', '\u{2028}', '\u{2029}'] {
            for (text, place) in [
                ("a: draft # é@a: published\n", (1, 13)),
                ("a: 1\r\nb: 2\rc: |\n  x@\n", (4, 4)),
                ("'k@': 1\n", (1, 3)),
                ("a: x@y\n", (1, 5)),
                ("a: \"x\" # @\n", (1, 10)),
                ("\u{feff}a: \"x\" #@\n", (1, 9)),
                ("a: >\n  b@\n", (2, 4)),
                ("# only @\n", (1, 8)),
                ("a: \"@\"\nb: '@'\n", (2, 5)),
            ] {
                let text = text.replace('@', &c.to_string());
                assert_eq!(refusal(&text), Some(place), "{text:?}");
            }
            for text in [
                "a: \"x@y\"\nb: [\"@\", \"\"]\n",
                "\"@\": \"@\" # é\n",
                "a: \"\\u2028\\x85\"\n",
                "\u{feff}a: \"@\"\n",
            ] {
                assert_eq!(refusal(&text.replace('@', &c.to_string())), None, "{text:?}");
            }
        }
        // Others begin with the same bytes.
        assert_eq!(refusal("a: \u{a9}\u{2027}\u{202f}\u{20ac}\n"), None);
    }
}
