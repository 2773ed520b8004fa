//! Parts of a text that a rendered page does not show, and conflict markers of a merge
//! (`spec/document.md`, section 5).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::text::BOM;
use crate::values::model::hint::Hint;
use crate::values::model::visible::{is_zero_width, turns_line};

/// A conflict, or a part of a text that a page does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) code: &'static str,
    pub(crate) is_error: bool,
    /// Line of the first one in the text, from 1.
    pub(crate) line: usize,
    pub(crate) message: String,
    pub(crate) hint: Hint,
}

/// The positions of code blocks, code spans and comments in a text.
struct Structure {
    code: Vec<Range<usize>>,
    comments: Vec<usize>,
}

impl Structure {
    fn of(text: &str) -> Self {
        let (mut code, mut comments) = (Vec::new(), Vec::new());
        let mut block = None;
        for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(_)) => block = Some(range.start),
                Event::End(TagEnd::CodeBlock) => {
                    code.extend(block.take().map(|start| start..range.end));
                }
                Event::Code(_) => code.push(range),
                Event::Html(html) | Event::InlineHtml(html) => {
                    let starts = html.match_indices("<!--").map(|(at, _)| range.start + at);
                    comments.extend(starts);
                }
                _ => {}
            }
        }
        Self { code, comments }
    }

    fn is_code(&self, at: usize) -> bool {
        let after = self.code.partition_point(|range| range.start <= at);
        after > 0 && self.code[after - 1].contains(&at)
    }
}

/// Finds the conflict that a merge left: three markers in order, each at the beginning of a line.
/// If `examples` is true, a conflict inside a block of code is not an error.
pub(crate) fn conflict(text: &str, examples: bool) -> Option<Found> {
    let mut places = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let mark = line.trim_end();
        let wanted = match places.len() {
            0 => "<<<<<<<",
            1 => "=======",
            _ => ">>>>>>>",
        };
        let is_mark = mark.strip_prefix(wanted).is_some_and(|rest| {
            // The middle marker has nothing after it; the others have the name of a side.
            rest.is_empty() || (wanted != "=======" && rest.starts_with(' '))
        });
        if is_mark {
            places.push(at);
        }
        if places.len() == 3 {
            break;
        }
        at += line.len();
    }
    let [first, _, last] = places[..] else { return None };
    let is_example = || {
        let structure = Structure::of(text);
        let block = structure.code.iter().find(|block| block.contains(&first));
        block.is_some_and(|block| block.contains(&last))
    };
    Some(Found {
        code: "conflict-markers",
        is_error: !(examples && is_example()),
        line: line_of(text, first),
        message: "a merge left its conflict markers in the text".to_owned(),
        hint:
            "choose one side, or join them, and remove the three lines; if they are an example in \
               a block of code, list the document in `hidden_text.exclude`"
                .into(),
    })
}

/// Finds the parts of a text that a rendered page does not show: characters, comments, and
/// placeholders of templates.
pub(crate) fn hidden(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut add = |code, what: &str, places: &[usize], hint: &'static str| {
        if let Some(first) = places.first() {
            let message = match places.len() {
                1 => what.to_owned(),
                many => format!("{what}, the first of {many}"),
            };
            let (line, hint) = (line_of(text, *first), hint.into());
            found.push(Found { code, is_error: false, line, message, hint });
        }
    };
    let characters = hidden_characters(text);
    if let Some((_, first)) = characters.first() {
        let places: Vec<usize> = characters.iter().map(|(at, _)| *at).collect();
        let what = format!("the invisible character U+{:04X}", u32::from(*first));
        let hint = "remove it; agents read it, and people do not see it";
        add("hidden-character", &what, &places, hint);
    }
    let has_comment = text.contains("<!--")
        || text.contains("/*")
        || COMMENT_LABELS.iter().any(|label| text.contains(label));
    let has_template = text.contains("{{") || text.contains("{%");
    if has_comment || has_template {
        let structure = Structure::of(text);
        let hint = "agents read it, and readers of the page do not; delete it, or list the document in \
                    `hidden_text.exclude`";
        let mut comments: Vec<(usize, &str)> =
            structure.comments.iter().map(|at| (*at, "an HTML comment")).collect();
        let others = other_comments(text).into_iter();
        comments.extend(others.filter(|(at, _)| !structure.is_code(*at)));
        comments.sort_unstable();
        let places: Vec<usize> = comments.iter().map(|(at, _)| *at).collect();
        add("hidden-comment", comments.first().map_or("", |(_, what)| what), &places, hint);
        let mut places = placeholders(text);
        places.retain(|at| !structure.is_code(*at));
        let hint = "fill it in, or write it as code";
        add("placeholder", "a placeholder of a template", &places, hint);
    }
    found
}

/// Beginning of the lines of a block that are not text (`spec/resolve.md`, section 3).
const BLOCK_LINE: &str = "<!-- ctx:";

/// Escapes the hidden characters of a text as `\u{hexadecimal}`, and the first character of
/// anything that looks like a line of a block. Returns the text and the number of
/// escaped characters.
pub(crate) fn shown(text: &str) -> (Cow<'_, str>, usize) {
    if is_plain(text) && !text.contains(BLOCK_LINE) {
        return (Cow::Borrowed(text), 0);
    }
    // One character after the other, without a list of hidden ones: a result may consist of
    // them only.
    let (mut out, mut rest, mut escaped) = (String::new(), 0, 0);
    for (at, c) in text.char_indices() {
        let is_line = c == '<' && text[at..].starts_with(BLOCK_LINE);
        if is_line || is_hidden(text, at, c) {
            out.push_str(&text[rest..at]);
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            rest = at + c.len_utf8();
            escaped += 1;
        }
    }
    if escaped == 0 {
        return (Cow::Borrowed(text), 0);
    }
    out.push_str(&text[rest..]);
    (Cow::Owned(out), escaped)
}

/// Returns true if a text has only ASCII characters that a page shows.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii() && !is_control(char::from(byte)))
}

/// Returns the characters of a text that a page does not show, with their positions.
fn hidden_characters(text: &str) -> Vec<(usize, char)> {
    if is_plain(text) {
        return Vec::new();
    }
    text.char_indices().filter(|(at, c)| *c == BOM || is_hidden(text, *at, *c)).collect()
}

/// Returns true for a control character other than a tab or a line end.
fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r')
}

/// Returns true if a page does not show a character of a text. Exempt are joiners between
/// characters of a script, selectors after a sign, and a byte order mark at the very beginning.
fn is_hidden(text: &str, at: usize, c: char) -> bool {
    if turns_line(c) || is_control(c) {
        return true;
    }
    if !is_zero_width(c) || (at == 0 && c == '\u{feff}') {
        return false;
    }
    let joined = |neighbour: Option<char>| neighbour.is_some_and(|c| !c.is_ascii());
    let is_joiner = matches!(c, '\u{200c}' | '\u{200d}');
    let is_selector = matches!(c, '\u{fe00}'..='\u{fe0f}');
    let before = text[..at].chars().next_back();
    let after = text[at + c.len_utf8()..].chars().next();
    let is_script = is_joiner && joined(before) && joined(after);
    // A selector also makes signs of `#` and digits.
    let is_sign = is_selector && before.is_some_and(|c| !is_zero_width(c) && !c.is_whitespace());
    !is_script && !is_sign
}

/// Finds the start of each `{{ ... }}` or `{% ... %}` that is not empty and ends on its line.
fn placeholders(text: &str) -> Vec<usize> {
    let (mut found, mut start) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        for (opening, end) in [("{{", "}}"), ("{%", "%}")] {
            // The last closing mark of a line is enough for every opening before it.
            let Some(last) = line.rfind(end) else { continue };
            let opened = line.match_indices('{').map(|(at, _)| at);
            let is_one = |at: &usize| {
                let is_empty = || [1, 2].iter().any(|n| line[at + n..].starts_with(end));
                line[*at..].starts_with(opening) && last > at + 2 && !is_empty()
            };
            found.extend(opened.filter(is_one).map(|at| start + at));
        }
        start += line.len();
    }
    found.sort_unstable();
    found
}

/// Labels of link definitions that serve as comments.
const COMMENT_LABELS: [&str; 3] = ["[//]:", "[comment]:", "[_]:"];

/// Finds MDX comments, except for ids of headings, and link definitions that serve as comments.
fn other_comments(text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("/*").map(|at| from + at) {
        from = at + 2;
        let before = text[..at].trim_end();
        if !before.ends_with('{') {
            continue;
        }
        let Some(end) = text[from..].find("*/").map(|end| from + end) else { break };
        let inner = text[from..end].trim();
        from = end + 2;
        let Some(after) = text[from..].trim_start().strip_prefix('}') else { continue };
        let after = after.trim_start_matches([' ', '\t', '\r']);
        let ends_line = after.is_empty() || after.starts_with('\n');
        let is_id = ends_line && inner.starts_with('#') && !inner.contains(char::is_whitespace);
        if !is_id {
            found.push((before.len() - 1, "an MDX comment"));
        }
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let inner = line.trim_start_matches(' ');
        let is_comment = COMMENT_LABELS.iter().any(|label| inner.starts_with(label));
        if is_comment && line.len() - inner.len() < 4 {
            found.push((start, "a definition of a link that is a comment"));
        }
        start += line.len();
    }
    found
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> String {
        let all = conflict(text, true).into_iter().chain(hidden(text));
        let lines = all.map(|found| {
            let kind = if found.is_error { "error" } else { "warning" };
            format!("{kind} {}: [{}] {}", found.line, found.code, found.message)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn conflict_needs_its_three_markers_in_order() {
        let text = "# A\n\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> other\n";
        insta::assert_snapshot!(report(text), @"error 3: [conflict-markers] a merge left its conflict markers in the text");
        let diff3 = "<<<<<<< HEAD\r\none\r\n||||||| base\r\n=======\r\ntwo\r\n>>>>>>> o\r\n";
        assert!(report(diff3).starts_with("error 1:"));
        insta::assert_snapshot!(report(&format!("```\n{text}```\n")), @"warning 4: [conflict-markers] a merge left its conflict markers in the text");
        // The conflict begins before a block of code and ends in it.
        assert!(
            report("<<<<<<< a\n```\nx\n=======\n```\ny\n>>>>>>> b\n```\n").starts_with("error")
        );
        assert_eq!(report("Heading\n=======\n\n>>>>>>> quoted\n\n<<<<<<<\n"), "");
        assert_eq!(report("<<<<<<<< a\n=======\n>>>>>>> b\n"), "");
    }

    #[test]
    fn hidden_text_is_reported_once_for_each_kind() {
        let text =
            "a\u{202e}b\u{2066}c\n\u{200b}\n<!-- act -->\nx <!-- more --> {{ name }} {% if %}\n";
        insta::assert_snapshot!(report(text), @"
        warning 1: [hidden-character] the invisible character U+202E, the first of 3
        warning 3: [hidden-comment] an HTML comment, the first of 2
        warning 4: [placeholder] a placeholder of a template, the first of 2
        ");
        insta::assert_snapshot!(report("A\u{e0041}\u{e0042}"), @"warning 1: [hidden-character] the invisible character U+E0041, the first of 2");
        assert_eq!(
            report("`{{ x }}` and `<!-- a -->`\n\n    {{ y }}\n\n```\n<!-- b -->\n```\n"),
            ""
        );
        insta::assert_snapshot!(report("a {/* one */}\n\n{ /*\ntwo */ }\n"), @"warning 1: [hidden-comment] an MDX comment, the first of 2");
        insta::assert_snapshot!(report("a\n\n[//]: # (act)\n"), @"warning 3: [hidden-comment] a definition of a link that is a comment");
        assert_eq!(
            report("# A {/* #a */}\n\n`{/* b */}` /* c */ {x}\n\n```\n{/* d */}\n```\n"),
            ""
        );
        // The time grows linearly with the length.
        assert_eq!(report(&("{/*".repeat(1 << 18) + "*/")), "");
        assert_ne!(report(&"{/*#a*/}".repeat(1 << 16)), "");
        assert_eq!(report("{} {{}} {{ open\n }} a {b} \\(x\\)\n"), "");
        assert_eq!(placeholders("{{}} {{ x }} {%} {% y %}\n{{ z\n}}"), [5, 17]);
        // The time grows linearly with the length.
        let braces = "{".repeat(1 << 20);
        assert!(placeholders(&braces).is_empty());
        assert_eq!(placeholders(&format!("{braces}}}}}")).len(), (1 << 20) - 2);
    }

    #[test]
    fn joiners_of_scripts_and_signs_are_not_reported() {
        for text in
            ["می\u{200c}خواهم", "👩\u{200d}🚀", "❤\u{fe0f} #\u{fe0f}\u{20e3}", "soft\u{a0}space　"]
        {
            assert_eq!(report(text), "", "{text:?}");
        }
        assert_ne!(report("a\u{200d}b"), "");
        assert_ne!(report("a \u{fe0f}b"), "");
        assert_ne!(report("a\u{feff}b"), "");
        // A byte order mark before the frontmatter is allowed.
        assert_ne!(report("\u{feff}# A"), "");
    }
}
