//! The parser of selectors. [`MAX_NESTING`] limits recursion, and [`MAX_SELECTOR_BYTES`]
//! limits work.
//!
//! There are three levels of precedence, from high to low: intersection (`+` or nothing),
//! difference (`-`), union (`|`). A `-` directly after a word is part of the word. A text in quotes
//! is a single word, whatever it contains.

use std::ops::Range;

use super::ast::{Atom, Expr, Node, Selector, StatusFilter, Term, is_plain_name};
use super::error::{ErrorKind, Feature, ParseError};
use crate::files::vault::federation::Authorities;
use crate::text::document::frontmatter::NodeType;
use crate::text::uri::{Target, Uri};
use crate::values::model::name;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::transport::Transport;

/// Maximum length of a selector in bytes.
pub const MAX_SELECTOR_BYTES: usize = 8192;

/// Maximum nesting of parentheses.
pub const MAX_NESTING: usize = 64;

/// Words before the colon of a filter.
pub(super) const FILTERS: [&str; 6] = ["tag", "type", "status", "transport", "server", "pack"];

const OPERAND: &str = "a tag, a filter, a URI or `(`";

/// Parses a selector of a vault that names no other vaults.
///
/// # Errors
/// The first place where the text leaves the grammar.
pub fn parse(text: &str) -> Result<Selector, ParseError> {
    parse_in(text, &Authorities::default())
}

/// Parses a selector with the names of vaults in a configuration.
///
/// # Errors
/// The first place where the text leaves the grammar.
pub fn parse_in(text: &str, authorities: &Authorities) -> Result<Selector, ParseError> {
    read(text, authorities, false)
}

/// Parses a selector for an answer that can contain staged results (SEL-9).
///
/// # Errors
/// The first place where the text leaves the grammar.
pub fn parse_with_staged(text: &str, authorities: &Authorities) -> Result<Selector, ParseError> {
    read(text, authorities, true)
}

fn read(text: &str, authorities: &Authorities, staged: bool) -> Result<Selector, ParseError> {
    if text.len() > MAX_SELECTOR_BYTES {
        let kind = ErrorKind::TooLong { found: text.len() };
        let span = 0..0;
        return Err(ParseError { kind, span });
    }
    let mut parser = Parser { text, at: 0, depth: 0, authorities, staged };
    let read = parser.union().and_then(|expr| match parser.peek() {
        None => Ok(expr),
        Some(_) => Err(parser.expected("an operator or the end")),
    });
    let expr = read.or_else(|why| lone_search(text, authorities).ok_or(why))?;
    let checkpoint = one_checkpoint(&expr)?;
    no_section_is_taken_away(&expr)?;
    Ok(Selector { expr, checkpoint })
}

/// Parses a whole text as the URI of a search, in which `+` is a blank.
fn lone_search(text: &str, authorities: &Authorities) -> Option<Expr<Term>> {
    let uri = Uri::parse_in(text.trim_matches(is_blank), authorities).ok()?;
    let is_search = matches!(uri.target, Target::Search(_));
    is_search.then(|| Expr::atom(Term::Uri(uri), 0..text.len()))
}

/// Returns the checkpoint that all pinned URIs name.
fn one_checkpoint(expr: &Expr<Term>) -> Result<Option<CheckpointNumber>, ParseError> {
    let mut pinned = None;
    for (term, span) in expr.leaves() {
        let Term::Uri(uri) = term else { continue };
        let Target::Document { checkpoint: Some(second), .. } = uri.target else { continue };
        let first = *pinned.get_or_insert(second);
        if first != second {
            let kind = ErrorKind::Pins { first, second };
            return Err(ParseError { kind, span: span.clone() });
        }
    }
    Ok(pinned)
}

/// Refuses sections on the right of a difference. A section limits the output of a document, and is
/// not a set of documents.
fn no_section_is_taken_away(expr: &Expr<Term>) -> Result<(), ParseError> {
    if let Node::Difference(_, right) = &expr.node {
        let terms = right.iter().flat_map(Expr::leaves);
        let section = |term: &Term| {
            matches!(term, Term::Uri(uri)
                if matches!(uri.target, Target::Document { anchor: Some(_), .. }))
        };
        if let Some((_, span)) = terms.into_iter().find(|(term, _)| section(term)) {
            return Err(ParseError { kind: ErrorKind::Section, span: span.clone() });
        }
    }
    expr.operands().into_iter().try_for_each(no_section_is_taken_away)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    authorities: &'t Authorities,
    /// True if the selector may name staged results.
    staged: bool,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Skips blanks, and returns true if there were any.
    fn blanks(&mut self) -> bool {
        let rest = self.rest();
        let word = rest.trim_start_matches(is_blank);
        self.at += rest.len() - word.len();
        word.len() < rest.len()
    }

    /// Skips a sign that [`Self::peek`] has seen, and the blanks after it.
    fn sign(&mut self) {
        self.at += 1;
        self.blanks();
    }

    /// Takes everything before the first blank or character of `ends`.
    fn run(&mut self, ends: &str) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| is_blank(c) || ends.contains(c));
        let run = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.at += run.len();
        run
    }

    /// Makes the error for an unexpected next character.
    fn expected(&self, expected: &'static str) -> ParseError {
        let found = self.peek().map(String::from).unwrap_or_default();
        let span = self.at..self.at + found.len();
        ParseError { kind: ErrorKind::Expected { expected, found }, span }
    }

    fn union(&mut self) -> Result<Expr<Term>, ParseError> {
        let first = self.difference()?;
        let mut others = Vec::new();
        while self.peek() == Some('|') {
            self.sign();
            others.push(self.difference()?);
        }
        Ok(Expr::union(first, others))
    }

    fn difference(&mut self) -> Result<Expr<Term>, ParseError> {
        let first = self.intersection()?;
        let mut others = Vec::new();
        while self.peek() == Some('-') {
            self.sign();
            others.push(self.intersection()?);
        }
        Ok(Expr::difference(first, others))
    }

    /// Parses an intersection, which ends, like the levels above it, at the end or before `)`, `|`
    /// or `-`.
    fn intersection(&mut self) -> Result<Expr<Term>, ParseError> {
        self.blanks();
        let first = self.operand()?;
        let mut others = Vec::new();
        loop {
            let closed = self.text[..self.at].ends_with([')', '"']);
            let apart = self.blanks() || closed;
            match self.peek() {
                None | Some(')' | '|' | '-') => return Ok(Expr::intersection(first, others)),
                Some('+') => self.sign(),
                Some('(' | '*' | '/') => {}
                Some(_) if apart => {}
                Some(_) => return Err(self.expected("a blank or an operator")),
            }
            others.push(self.operand()?);
        }
    }

    fn operand(&mut self) -> Result<Expr<Term>, ParseError> {
        let start = self.at;
        let sign = |kind| {
            let span = start..start + 1;
            Err(ParseError { kind, span })
        };
        match self.peek() {
            Some('(') if self.depth == MAX_NESTING => sign(ErrorKind::TooDeep),
            Some('(') => {
                self.depth += 1;
                self.at += 1;
                let inner = self.union()?;
                if self.peek() != Some(')') {
                    return Err(self.expected("`)`"));
                }
                self.at += 1;
                self.depth -= 1;
                let span = start..self.at;
                Ok(Expr { span, ..inner })
            }
            Some('-') => sign(ErrorKind::MinusUnary),
            Some(reserved @ ('*' | '/')) => sign(ErrorKind::Reserved { sign: reserved }),
            None | Some('+' | '|' | ')') => Err(self.expected(OPERAND)),
            Some(_) => {
                let atom = self.atom()?;
                Ok(Expr::atom(atom, start..self.at))
            }
        }
    }

    fn atom(&mut self) -> Result<Term, ParseError> {
        let start = self.at;
        if self.peek() == Some('#') {
            self.at += 1;
            let name = self.run("()|+*#");
            self.minus_apart(start)?;
            let tag = self.tag(name);
            return tag.map_err(|kind| self.error(start..self.at, kind));
        }
        if self.peek() == Some('"') {
            let text = self.quoted()?;
            let found = || self.text.get(start..self.at).unwrap_or_default().to_owned();
            let read = match is_uri(&text) {
                true => self.uri(&text),
                false if text.ends_with('/') => self.folder(&text),
                false => Err(ErrorKind::BareWord { found: found() }),
            };
            return read.map_err(|kind| self.error(start..self.at, kind));
        }
        if is_uri(self.rest()) {
            let text = self.run("()|+*");
            self.minus_apart(start)?;
            return self.uri(text).map_err(|kind| self.error(start..self.at, kind));
        }
        let key = FILTERS
            .into_iter()
            .find(|key| self.rest().strip_prefix(key).is_some_and(|rest| rest.starts_with(":\"")));
        if let Some(key) = key {
            self.at += key.len() + 1;
            let value = self.at;
            let text = self.quoted()?;
            let term = self.filter(key, &text, name::is_name);
            return term.map_err(|kind| self.error(value..self.at, kind));
        }
        let word = self.run("()|+*#");
        self.minus_apart(start)?;
        if word.ends_with('/') && !word.contains(':') {
            return self.folder(word).map_err(|kind| self.error(start..self.at, kind));
        }
        let Some((key, value)) = word.split_once(':') else {
            let found = word.to_owned();
            return Err(self.error(start..self.at, ErrorKind::BareWord { found }));
        };
        let colon = start + key.len() + 1;
        self.filter(key, value, is_plain_name).map_err(|kind| match kind {
            ErrorKind::UnknownKey { .. } => self.error(start..colon, kind),
            ErrorKind::Unsupported(_) => self.error(start..self.at, kind),
            _ => self.error(colon..self.at, kind),
        })
    }

    /// Takes a text in quotes; an inner quote is doubled.
    fn quoted(&mut self) -> Result<String, ParseError> {
        let start = self.at;
        let mut text = String::new();
        loop {
            // The opening quote, or the second of a doubled one.
            self.at += 1;
            let rest = self.rest();
            let Some(end) = rest.find('"') else {
                return Err(self.error(start..self.text.len(), ErrorKind::Quote));
            };
            text.push_str(rest.get(..end).unwrap_or_default());
            self.at += end + 1;
            if self.peek() != Some('"') {
                return Ok(text);
            }
            text.push('"');
        }
    }

    fn tag(&self, name: &str) -> Result<Term, ErrorKind> {
        let tag = name.parse().map_err(|_| ErrorKind::Tag { found: self.found(name) })?;
        Ok(Term::Set(Atom::Tag(tag)))
    }

    /// Parses a filter; `is_name` decides which types, and which names of servers and packs, are
    /// allowed in this spelling.
    fn filter(&self, key: &str, value: &str, is_name: fn(&str) -> bool) -> Result<Term, ErrorKind> {
        let unknown = |filter| ErrorKind::UnknownWord { filter, found: self.found(value) };
        let expected = |expected| ErrorKind::Expected { expected, found: self.found(value) };
        let atom = match key {
            "tag" => return self.tag(value),
            "pack" if is_name(value) => return Ok(Term::Pack(value.to_owned())),
            "pack" => return Err(expected("the id of a pack")),
            "type" if is_name(value) => {
                NodeType::from_word(value).map(Atom::Type).ok_or_else(|| expected("a type"))
            }
            "type" => Err(expected("a type")),
            "status" if value == "staged" && self.staged => Ok(Atom::Status(StatusFilter::Staged)),
            "status" if value == "staged" => Err(ErrorKind::Unsupported(Feature::Staged)),
            "status" => {
                let status = StatusFilter::ALL.iter().find(|(word, _)| *word == value);
                status.map(|(_, status)| Atom::Status(*status)).ok_or_else(|| unknown("status"))
            }
            "transport" => {
                Transport::from_word(value).map(Atom::Transport).ok_or_else(|| unknown("transport"))
            }
            "server" if is_name(value) => Ok(Atom::Server(value.to_owned())),
            "server" => Err(expected("the name of a server")),
            _ => Err(ErrorKind::UnknownKey { found: format!("{key}:") }),
        };
        atom.map(Term::Set)
    }

    /// Returns the URI of the folder with this path, which ends in `/`.
    fn folder(&self, path: &str) -> Result<Term, ErrorKind> {
        self.uri(&Uri::from(Target::Folder(path.to_owned())).to_string())
    }

    fn uri(&self, text: &str) -> Result<Term, ErrorKind> {
        Uri::parse_in(text, self.authorities).map(Term::from).map_err(ErrorKind::Uri)
    }

    /// Refuses a `-` at the end of the word from `start`, or inside it, that was meant as
    /// a difference.
    fn minus_apart(&self, start: usize) -> Result<(), ParseError> {
        let word = self.text.get(start..self.at).unwrap_or_default();
        let at_end = word.ends_with('-') && matches!(self.peek(), Some('#' | '('));
        let inside = || {
            let (before, _) = word.split_once(':').filter(|_| word.starts_with('#'))?;
            before.rfind('-')
        };
        let minus = if at_end { Some(word.len() - 1) } else { inside() };
        let Some(minus) = minus else { return Ok(()) };
        let left = word.get(..minus).unwrap_or_default().to_owned();
        let span = start + minus..start + minus + 1;
        Err(self.error(span, ErrorKind::MinusJoined { left }))
    }

    /// Returns the text to show for `run`: if it is empty, the next character.
    fn found(&self, run: &str) -> String {
        match run {
            "" if self.text[..self.at].ends_with('"') => "\"\"".to_owned(),
            "" => self.peek().map(String::from).unwrap_or_default(),
            _ => run.to_owned(),
        }
    }

    fn error(&self, span: Range<usize>, kind: ErrorKind) -> ParseError {
        ParseError { kind, span }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Returns true if a text begins like a URI.
fn is_uri(text: &str) -> bool {
    let scheme = text.get(.."contextnest:".len());
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("contextnest:"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn precedence_is_intersection_then_difference_then_union() {
        let cases = [
            "#a",
            "#a #b",
            "#a + #b",
            "#a+#b",
            "#a|#b",
            "#a - #b",
            "#a -#b",
            "#a -(#b)",
            "(#a)-#b",
            "#payments-service",
            "#a- #b",
            "#a + #b - #c #d",
            "#a | #b - #c",
            "#a - #b | #c",
            "#a - #b - #c",
            "#a - (#b - #c)",
            "(#a - #b) - #c",
            "(#a | #b) #c",
            "#a(#b)#c",
            "((#a))",
            "#a + (#b + #c)",
            "(#a - #b) + #c",
            "#a | (#b | #c)",
            " \t#a\n\r",
            "type:skill status:draft transport:mcp server:jira.eu-1 | status:published",
            "ContextNest://a/./b contextnest://x/ | contextnest://tag/t",
            "contextnest://a-b -#c",
            "tag:a tag:\"b\" #c-",
            "pack:sprint.standup server:\"a \"\"b\"\"\"-#c",
            "pack:\"x\"(#a)\"contextnest://R(1)\"",
            "contextnest://a@3#b | contextnest://c@3",
            "\"contextnest://search/a+b\"|contextnest://search/a%20b",
            " contextnest://search/a+b",
            "contextnest://search/a+type:tool",
        ];
        let report: Vec<String> = cases
            .iter()
            .map(|text| {
                let selector = parse(text).unwrap();
                format!("{} -> {} -> {selector}", text.escape_debug(), selector.expr.tree())
            })
            .collect();
        insta::assert_snapshot!(report.join("\n"), @r#"
        #a -> #a -> #a
        #a #b -> (+ #a #b) -> #a + #b
        #a + #b -> (+ #a #b) -> #a + #b
        #a+#b -> (+ #a #b) -> #a + #b
        #a|#b -> (| #a #b) -> #a | #b
        #a - #b -> (- #a #b) -> #a - #b
        #a -#b -> (- #a #b) -> #a - #b
        #a -(#b) -> (- #a #b) -> #a - #b
        (#a)-#b -> (- #a #b) -> #a - #b
        #payments-service -> #payments-service -> #payments-service
        #a- #b -> (+ #a- #b) -> #a- + #b
        #a + #b - #c #d -> (- (+ #a #b) (+ #c #d)) -> #a + #b - #c + #d
        #a | #b - #c -> (| #a (- #b #c)) -> #a | #b - #c
        #a - #b | #c -> (| (- #a #b) #c) -> #a - #b | #c
        #a - #b - #c -> (- #a #b #c) -> #a - #b - #c
        #a - (#b - #c) -> (- #a (- #b #c)) -> #a - (#b - #c)
        (#a - #b) - #c -> (- #a #b #c) -> #a - #b - #c
        (#a | #b) #c -> (+ (| #a #b) #c) -> (#a | #b) + #c
        #a(#b)#c -> (+ #a #b #c) -> #a + #b + #c
        ((#a)) -> #a -> #a
        #a + (#b + #c) -> (+ #a #b #c) -> #a + #b + #c
        (#a - #b) + #c -> (+ (- #a #b) #c) -> (#a - #b) + #c
        #a | (#b | #c) -> (| #a #b #c) -> #a | #b | #c
         \t#a\n\r -> #a -> #a
        type:skill status:draft transport:mcp server:jira.eu-1 | status:published -> (| (+ type:skill status:draft transport:mcp server:jira.eu-1) status:published) -> type:skill + status:draft + transport:mcp + server:jira.eu-1 | status:published
        ContextNest://a/./b contextnest://x/ | contextnest://tag/t -> (| (+ contextnest://a/b contextnest://x/) #t) -> contextnest://a/b + contextnest://x/ | #t
        contextnest://a-b -#c -> (- contextnest://a-b #c) -> contextnest://a-b - #c
        tag:a tag:\"b\" #c- -> (+ #a #b #c-) -> #a + #b + #c-
        pack:sprint.standup server:\"a \"\"b\"\"\"-#c -> (- (+ pack:sprint.standup server:"a ""b""") #c) -> pack:sprint.standup + server:"a ""b""" - #c
        pack:\"x\"(#a)\"contextnest://R(1)\" -> (+ pack:x #a contextnest://R%281%29) -> pack:x + #a + contextnest://R%281%29
        contextnest://a@3#b | contextnest://c@3 -> (| contextnest://a@3#b contextnest://c@3) -> contextnest://a@3#b | contextnest://c@3
        \"contextnest://search/a+b\"|contextnest://search/a%20b -> (| "contextnest://search/a+b" "contextnest://search/a+b") -> "contextnest://search/a+b" | "contextnest://search/a+b"
         contextnest://search/a+b -> "contextnest://search/a+b" -> "contextnest://search/a+b"
        contextnest://search/a+type:tool -> (+ contextnest://search/a type:tool) -> contextnest://search/a + type:tool
        "#);
    }

    #[test]
    fn spans_name_the_bytes_of_each_part() {
        let text = " #a (#b | #c)";
        let expr = parse(text).unwrap().expr;
        assert_eq!(&text[expr.span.clone()], "#a (#b | #c)");
        let Node::Intersection(parts) = &expr.node else {
            panic!("{expr:?}");
        };
        let parts: Vec<&str> = parts.iter().map(|p| &text[p.span.clone()]).collect();
        assert_eq!(parts, ["#a", "(#b | #c)"]);
    }

    #[test]
    fn limits_hold_at_their_edge() {
        let nested = |n: usize| format!("{}#a{}", "(".repeat(n), ")".repeat(n));
        let code = |text: &str| parse(text).map_or_else(|why| why.code(), |_| "ok");
        assert_eq!(code(&nested(64)), "ok");
        assert_eq!(code(&nested(65)), "selector-too-deep");
        assert_eq!(code(&"#a ".repeat(2730)), "ok");
        assert_eq!(code(&"#a ".repeat(2731)), "selector-too-long");
        for text in ["(", ")", "#a|", "-", "#a - ", "contextnest://", "#\u{e9}"] {
            assert_eq!(code(&text.repeat(50_000)), "selector-too-long");
        }
    }

    pub(in crate::library::text::selector) fn expressions() -> impl Strategy<Value = Expr<Term>> {
        let text = prop_oneof![
            "#[a-c]-?",
            "(type:tool|status:(draft|published)|transport:cli|server:[a-b][.-]?)",
            "contextnest://(a|%7E|a%2Bb|-)(/b)?/?",
        ];
        algebra(text)
    }

    /// Expressions of sets alone.
    pub(in crate::library::text::selector) fn plain(expr: &Expr<Term>) -> Expr {
        let atom = |term: &Term, span: &Range<usize>| {
            Ok::<_, ()>(Expr::atom(term.atom().unwrap(), span.clone()))
        };
        expr.expand(&mut { atom }).unwrap()
    }

    /// Expressions with packs, quoted names, pins and searches among their terms.
    fn any_expressions() -> impl Strategy<Value = Expr<Term>> {
        algebra(prop_oneof![
            "#[a-c]-?",
            "pack:[a-b][.-]?",
            r#"(pack|server):"([a-b(|+*#-]|\"\"|[a-b] [a-b]){1,3}""#,
            r#""contextnest://[a-b()+*-]{1,4}(@7)?""#,
            "contextnest://(a|%7E|a%2Bb|-)(/b)?(/|@7)?",
            "contextnest://search/[a-c]%(20|2B|28)[a-c]?",
        ])
    }

    fn algebra(text: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = Expr<Term>> {
        let atom = text.prop_map(|text| parse(&text).unwrap().expr);
        atom.prop_recursive(5, 60, 4, |inner| {
            let parts = (inner.clone(), prop::collection::vec(inner, 1..4));
            (0..3, parts).prop_map(|(kind, (first, others))| match kind {
                0 => Expr::intersection(first, others),
                1 => Expr::difference(first, others),
                _ => Expr::union(first, others),
            })
        })
    }

    proptest! {
        #[test]
        fn parsing_undoes_display(expr in any_expressions()) {
            let text = expr.to_string();
            prop_assert_eq!(&parse(&text).unwrap().expr, &expr, "{}", text);
        }

        #[test]
        fn parse_never_panics(
            text in "([ -+|()*/#a\"]|#a |#b-|type:|tool|pack:|contextnest://|@1|\u{e9}|\u{202e}|\n){0,20}"
        ) {
            match parse(&text) {
                Ok(selector) => {
                    prop_assert_eq!(parse(&selector.to_string()), Ok(selector));
                }
                Err(why) => {
                    prop_assert!(text.get(why.span.clone()).is_some());
                    prop_assert_eq!(why.caret(&text).lines().count(), 2);
                    prop_assert!(!why.to_string().contains(char::is_control));
                }
            }
        }
    }
}
