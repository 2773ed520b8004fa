//! Text to tree. Recursion is bounded by [`MAX_NESTING`], work by [`MAX_SELECTOR_BYTES`].
//!
//! Three levels, tightest first: intersection (`+` or nothing), difference (`-`), union (`|`).
//! A `-` that touches a word on its left is part of the word.

use std::ops::Range;

use super::ast::{Atom, Expr, Selector, StatusFilter};
use super::error::{ErrorKind, Feature, ParseError};
use crate::document::frontmatter::{NodeType, Transport, is_tag};
use crate::uri::{Target, Uri};

/// The longest selector in bytes.
pub const MAX_SELECTOR_BYTES: usize = 8192;

/// The deepest nesting of parentheses.
pub const MAX_NESTING: usize = 64;

const OPERAND: &str = "a tag, a filter, a URI or `(`";

/// Reads a selector.
///
/// # Errors
/// The first place where the text leaves the grammar.
pub fn parse(text: &str) -> Result<Selector, ParseError> {
    if text.len() > MAX_SELECTOR_BYTES {
        let kind = ErrorKind::TooLong { found: text.len() };
        let span = 0..0;
        return Err(ParseError { kind, span });
    }
    let mut parser = Parser { text, at: 0, depth: 0 };
    let expr = parser.union()?;
    match parser.peek() {
        None => Ok(Selector { expr }),
        Some(_) => Err(parser.expected("an operator or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Steps over blanks, and says whether there were any.
    fn blanks(&mut self) -> bool {
        let rest = self.rest();
        let word = rest.trim_start_matches(is_blank);
        self.at += rest.len() - word.len();
        word.len() < rest.len()
    }

    /// Steps over a sign that [`Self::peek`] has seen, and over the blanks behind it.
    fn sign(&mut self) {
        self.at += 1;
        self.blanks();
    }

    /// Takes everything before the first of `ends` or blank.
    fn run(&mut self, ends: &str) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| is_blank(c) || ends.contains(c));
        let run = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.at += run.len();
        run
    }

    /// The error that something else stands at the next character.
    fn expected(&self, expected: &'static str) -> ParseError {
        let found = self.peek().map(String::from).unwrap_or_default();
        let span = self.at..self.at + found.len();
        ParseError { kind: ErrorKind::Expected { expected, found }, span }
    }

    fn union(&mut self) -> Result<Expr, ParseError> {
        let first = self.difference()?;
        let mut others = Vec::new();
        while self.peek() == Some('|') {
            self.sign();
            others.push(self.difference()?);
        }
        Ok(Expr::union(first, others))
    }

    fn difference(&mut self) -> Result<Expr, ParseError> {
        let first = self.intersection()?;
        let mut others = Vec::new();
        while self.peek() == Some('-') {
            self.sign();
            others.push(self.intersection()?);
        }
        Ok(Expr::difference(first, others))
    }

    /// Ends, like the levels above it, at the end or before `)`, `|` or `-`.
    fn intersection(&mut self) -> Result<Expr, ParseError> {
        self.blanks();
        let first = self.operand()?;
        let mut others = Vec::new();
        loop {
            let apart = self.blanks() || self.text[..self.at].ends_with(')');
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

    fn operand(&mut self) -> Result<Expr, ParseError> {
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

    fn atom(&mut self) -> Result<Atom, ParseError> {
        let start = self.at;
        if self.peek() == Some('#') {
            self.at += 1;
            let name = self.run("()|+*/#");
            self.minus_apart(start)?;
            if is_tag(name) {
                return Ok(Atom::Tag(name.to_owned()));
            }
            let found = self.found(name);
            return Err(self.error(start..self.at, ErrorKind::Tag { found }));
        }
        let rest = self.rest();
        let scheme = rest.get(.."contextnest:".len());
        if scheme.is_some_and(|s| s.eq_ignore_ascii_case("contextnest:")) {
            let text = self.run("()|+*");
            self.minus_apart(start)?;
            return uri(text).map_err(|kind| self.error(start..self.at, kind));
        }
        let word = self.run("()|+*#");
        self.minus_apart(start)?;
        let Some((key, value)) = word.split_once(':') else {
            let found = word.to_owned();
            return Err(self.error(start..self.at, ErrorKind::BareWord { found }));
        };
        let colon = start + key.len() + 1;
        self.filter(key, value).map_err(|kind| match kind {
            ErrorKind::UnknownKey { .. } => self.error(start..colon, kind),
            ErrorKind::Unsupported(_) => self.error(start..self.at, kind),
            _ => self.error(colon..self.at, kind),
        })
    }

    fn filter(&self, key: &str, value: &str) -> Result<Atom, ErrorKind> {
        let unknown = |filter| ErrorKind::UnknownWord { filter, found: self.found(value) };
        match key {
            "type" => NodeType::from_word(value).map(Atom::Type).ok_or_else(|| unknown("type")),
            "status" if value == "staged" => Err(ErrorKind::Unsupported(Feature::Staged)),
            "status" => {
                let status = StatusFilter::ALL.iter().find(|(word, _)| *word == value);
                status.map(|(_, status)| Atom::Status(*status)).ok_or_else(|| unknown("status"))
            }
            "transport" => {
                Transport::from_word(value).map(Atom::Transport).ok_or_else(|| unknown("transport"))
            }
            "server" if is_server(value) => Ok(Atom::Server(value.to_owned())),
            "server" => Err(ErrorKind::Expected {
                expected: "the name of a server",
                found: self.found(value),
            }),
            "pack" => Err(ErrorKind::Unsupported(Feature::Pack)),
            _ => Err(ErrorKind::UnknownKey { found: format!("{key}:") }),
        }
    }

    /// Refuses a `-` that ends the word from `start`, or stands in it, but was meant to take
    /// away what follows.
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

    /// What to show where `run` was found: the next character if that is empty.
    fn found(&self, run: &str) -> String {
        match run {
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

fn is_server(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

/// The set that a URI names, if it names one at the selector's own checkpoint.
fn uri(text: &str) -> Result<Atom, ErrorKind> {
    let uri: Uri = text.parse().map_err(ErrorKind::Uri)?;
    Err(ErrorKind::Unsupported(match uri.target {
        Target::Tag(name) => return Ok(Atom::Tag(name)),
        Target::Folder(path) => return Ok(Atom::Folder(path)),
        Target::Document { checkpoint: Some(_), .. } => Feature::Checkpoint,
        Target::Document { anchor: Some(_), .. } => Feature::Section,
        Target::Document { id, .. } => return Ok(Atom::Document(id)),
        Target::Search(_) => Feature::Search,
    }))
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
        ];
        let report: Vec<String> = cases
            .iter()
            .map(|text| {
                let selector = parse(text).unwrap();
                format!("{} -> {} -> {selector}", text.escape_debug(), selector.expr.tree())
            })
            .collect();
        insta::assert_snapshot!(report.join("\n"), @r"
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
        ");
    }

    #[test]
    fn spans_name_the_bytes_of_each_part() {
        let text = " #a (#b | #c)";
        let expr = parse(text).unwrap().expr;
        assert_eq!(&text[expr.span.clone()], "#a (#b | #c)");
        let crate::selector::Node::Intersection(parts) = &expr.node else {
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

    pub(in crate::selector) fn expressions() -> impl Strategy<Value = Expr> {
        let text = prop_oneof![
            "#[a-c]-?",
            "(type:tool|status:(draft|published)|transport:cli|server:[a-b][.-]?)",
            "contextnest://(a|%7E|a%2Bb|-)(/b)?/?",
        ];
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
        fn parsing_undoes_display(expr in expressions()) {
            let text = expr.to_string();
            prop_assert_eq!(&parse(&text).unwrap().expr, &expr, "{}", text);
        }

        #[test]
        fn any_text_gives_a_verdict(
            text in "([ -+|()*/#a]|#a |#b-|type:|tool|pack:x|contextnest://|@1|\u{e9}|\u{202e}|\n){0,20}"
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
