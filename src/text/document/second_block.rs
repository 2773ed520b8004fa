//! Text in a body that looks like a frontmatter, and attributes at the end of a heading
//! (`spec/document.md`, DOC-43).

use std::ops::Range;

use crate::values::model::layout::limit;

/// Maximum number of lines of text, without comments, before a second block.
const LINES_BEFORE: usize = 10;

/// A block of fields in the body, which is text.
#[derive(Debug)]
pub(crate) struct SecondBlock {
    /// From the first delimiter to the end of the second one.
    pub(crate) range: Range<usize>,
    /// Lines between the delimiters.
    pub(crate) fields: Range<usize>,
    /// True if the lines are TOML.
    pub(crate) is_toml: bool,
}

/// Returns the first block of a body in the form of a YAML or TOML frontmatter. Only a few lines of
/// text and no heading may precede it.
pub(crate) fn second_block(body: &str) -> Option<SecondBlock> {
    let (mut at, mut before, mut in_comment) = (0, 0, false);
    for line in body.split_inclusive('\n') {
        let text = line.trim_start_matches('\u{feff}').trim();
        if let Some(is_toml) = delimiter(line).filter(|_| !in_comment)
            && let Some(found) = block_at(body, at, is_toml)
        {
            return Some(found);
        }
        at += line.len();
        if in_comment || text.starts_with("<!--") {
            in_comment = !text.contains("-->");
            continue;
        }
        before += usize::from(!text.is_empty());
        if text.starts_with(['#', '`', '~']) || before > LINES_BEFORE {
            return None;
        }
    }
    None
}

/// Returns true for a delimiter of TOML and false for one of YAML; `None` for other lines.
fn delimiter(line: &str) -> Option<bool> {
    let line = line.trim_start_matches('\u{feff}').trim();
    match line {
        "+++" => Some(true),
        _ => (line.len() >= 3 && line.bytes().all(|b| b == b'-')).then_some(false),
    }
}

/// Returns the block whose first delimiter is the line at this byte.
fn block_at(body: &str, start: usize, is_toml: bool) -> Option<SecondBlock> {
    let mut lines = body[start..].split_inclusive('\n');
    let mut at = start + lines.next()?.len();
    let first = at;
    let mut has_field = false;
    for line in lines {
        let text = line.trim_end();
        let is_end = delimiter(line) == Some(is_toml) || (!is_toml && text == "...");
        if is_end {
            let (range, fields) = (start..at + line.len(), first..at);
            return has_field.then_some(SecondBlock { range, fields, is_toml });
        }
        at += line.len();
        let is_field = is_field(text, if is_toml { '=' } else { ':' });
        has_field |= is_field;
        let begins = [" ", "\t", "#", "-", "[", "]", "}", "{{", "{%", "<%", "<!--"];
        let goes_on = text.is_empty() || begins.iter().any(|begin| text.starts_with(begin));
        if !(is_field || goes_on) || at - first > limit::FRONTMATTER {
            return None;
        }
    }
    None
}

/// Maximum number of words in a key of a second block.
const KEY_WORDS: usize = 4;

/// Returns true if a line begins with a key.
fn is_field(line: &str, separator: char) -> bool {
    let Some((key, value)) = line.split_once(separator) else { return false };
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    (1..=KEY_WORDS).contains(&key.split_whitespace().count())
        && key.chars().all(is_key)
        && (value.is_empty() || separator == '=' || value.starts_with([' ', '\t']))
}

/// Returns a heading without the attributes at its end, such as `{#id}`, `{: #id .class }` or
/// `{/* #id */}`, and without the `#` that close it.
pub(crate) fn without_attributes(heading: &str) -> &str {
    match attributes(heading) {
        Some((title, _)) => closed(title),
        None => heading,
    }
}

/// Splits a heading, or a line after it, into its text and the words of the attributes at its end;
/// `None` without attributes.
pub(crate) fn attributes(heading: &str) -> Option<(&str, Vec<&str>)> {
    let (title, block) = closed(heading).strip_suffix('}')?.rsplit_once('{')?;
    let comment = block.trim().strip_prefix("/*").and_then(|rest| rest.strip_suffix("*/"));
    let words = comment.unwrap_or_else(|| block.strip_prefix(':').unwrap_or(block));
    let is_attribute = |word: &&str| match word.split_at_checked(1) {
        Some(("#" | ".", name)) => !name.is_empty(),
        _ => comment.is_none() && word.split_once('=').is_some_and(|(key, _)| !key.is_empty()),
    };
    let words: Vec<&str> = words.split_whitespace().collect();
    (!words.is_empty() && words.iter().all(is_attribute)).then(|| (title.trim_end(), words))
}

/// Returns a heading without the closing `#`, which must follow a blank.
fn closed(heading: &str) -> &str {
    let rest = heading.trim_end();
    let text = rest.trim_end_matches('#');
    match text.ends_with([' ', '\t']) || text.is_empty() {
        true => text.trim_end(),
        false => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_block_begins_a_body_and_has_fields() {
        for body in [
            "---\ntitle: A\ntags:\n  - b\n- c\n---\n# B\n",
            "\r\n\r\n---\r\ntitle: A\r\n---\r\n",
            "+++\ntitle = 'A'\n[menu]\n+++\n",
            "---\nstatus:\n...\n",
            "<!-- licence\n\n# no heading\n-->\n\n---\ntitle: A\n---\n# B\n",
            "---\nOwner name: x\n---\n",
            "---\ntitle: A\n{{ var }}\n{% if x %}\n---\n",
            " ---\ntitle: A\n ---\n",
            "--- \nstatus: x\n--- \n",
            "----\ntitle: A\n----\n",
            "An introduction.\n---\ntitle: A\n---\n",
            "Two lines\nof text.\n\n---\ntitle: A\n---\n",
            "Intro.\n\n***\n\n---\ntitle: A\n---\n",
        ] {
            let found = second_block(body).expect(body);
            assert!(body[found.fields].contains([':', '=']), "{body:?}");
            let last = body[found.range].lines().last().map(str::trim);
            assert!(matches!(last, Some("---" | "+++" | "----" | "...")), "{body:?}");
        }
        for body in [
            "",
            "---\n\nText.\n\n---\n",
            "---\nSee: this\ntext goes on\n---\n",
            "---\nhttp://x\n---\n",
            "---\n---\n",
            "---\ntitle: A\n",
            "# A\n---\ntitle: B\n---\n",
            "A\n---\n\nText.\n\nNote: x\n---\n",
            "---\nAs you may well know by now: this\n---\n",
            "```\n---\ntitle: A\n---\n```\n",
            "<!--\n---\ntitle: A\n---\n-->\n",
        ] {
            assert!(second_block(body).is_none(), "{body:?}");
        }
    }

    #[test]
    fn attributes_are_not_part_of_a_heading() {
        for heading in [
            "A {#id}",
            "A {: #id }",
            "A {:#id .c k=v}",
            "A {/* #id */}",
            "A {/*#id*/}",
            "A {.c}",
            "A {: id=\"mk\" }",
            "A {#id} ##",
            "A ## {#id}",
            "A",
        ] {
            assert_eq!(without_attributes(heading), "A", "{heading}");
        }
        for heading in
            ["A {b}", "A {}", "The set {1, 2}", "A {/* b */}", "A {/* */}", "A {#id} b", "}"]
        {
            assert_eq!(without_attributes(heading), heading);
        }
    }
}
