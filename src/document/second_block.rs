//! Text of a body that looks like a frontmatter, and attributes at the end of a heading
//! (`spec/document.md`, DOC-43).

use std::ops::Range;

use crate::model::layout::limit;

/// Returns the place of a second block of fields: the first lines of a body that are not blank, if they
/// have the form of a frontmatter in YAML or TOML.
pub(crate) fn second_block(body: &str) -> Option<Range<usize>> {
    let mut lines = body.split_inclusive('\n');
    let mut at = 0;
    let (start, mark) = loop {
        let line = lines.next()?;
        let (start, text) = (at, line.trim_start_matches('\u{feff}').trim_end());
        at += line.len();
        match text {
            "" => {}
            "---" => break (start, ("---", ':')),
            "+++" => break (start, ("+++", '=')),
            _ => return None,
        }
    };
    let mut has_field = false;
    for line in lines {
        at += line.len();
        let text = line.trim_end();
        if text == mark.0 || (mark.0 == "---" && text == "...") {
            return has_field.then_some(start..at);
        }
        let is_field = is_field(text, mark.1);
        has_field |= is_field;
        let goes_on = text.is_empty() || text.starts_with([' ', '\t', '#', '-', '[', ']', '}']);
        if !(is_field || goes_on) || at - start > limit::FRONTMATTER {
            return None;
        }
    }
    None
}

/// Whether a line begins with a key.
fn is_field(line: &str, separator: char) -> bool {
    let Some((key, value)) = line.split_once(separator) else { return false };
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !key.is_empty()
        && key.chars().all(is_key)
        && (value.is_empty() || separator == '=' || value.starts_with([' ', '\t']))
}

/// Returns a heading without the attributes at its end, such as `{#id}`, `{: #id .class }` or
/// `{/* #id */}`.
pub(crate) fn without_attributes(heading: &str) -> &str {
    let Some((title, block)) = heading.strip_suffix('}').and_then(|rest| rest.rsplit_once('{'))
    else {
        return heading;
    };
    let comment = block.trim().strip_prefix("/*").and_then(|rest| rest.strip_suffix("*/"));
    let words = comment.unwrap_or_else(|| block.strip_prefix(':').unwrap_or(block));
    let is_attribute = |word: &str| match word.split_at_checked(1) {
        Some(("#" | ".", name)) => !name.is_empty(),
        _ => comment.is_none() && word.split_once('=').is_some_and(|(key, _)| !key.is_empty()),
    };
    let has_some = words.split_whitespace().next().is_some();
    match has_some && words.split_whitespace().all(is_attribute) {
        true => title.trim_end(),
        false => heading,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_block_is_the_first_text_of_a_body_and_has_fields() {
        for body in [
            "---\ntitle: A\ntags:\n  - b\n- c\n---\n# B\n",
            "\r\n\r\n---\r\ntitle: A\r\n---\r\n",
            "+++\ntitle = 'A'\n[menu]\n+++\n",
            "---\nstatus:\n...\n",
        ] {
            let found = second_block(body).expect(body);
            assert_eq!(body[found].lines().last().map(str::len), Some(3), "{body:?}");
        }
        for body in [
            "",
            "---\n\nText.\n\n---\n",
            "---\nSee: this\ntext goes on\n---\n",
            "---\nhttp://x\n---\n",
            "---\n---\n",
            "---\ntitle: A\n",
            "# A\n---\ntitle: B\n---\n",
        ] {
            assert_eq!(second_block(body), None, "{body:?}");
        }
    }

    #[test]
    fn attributes_are_no_part_of_a_heading() {
        for heading in [
            "A {#id}",
            "A {: #id }",
            "A {:#id .c k=v}",
            "A {/* #id */}",
            "A {/*#id*/}",
            "A {.c}",
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
