//! The only writer of YAML: one fixed spelling for each text, exact in YAML 1.1 and 1.2 readers.

use super::{Node, Value};

/// Spells a text as a scalar: plain if no reader could misread it, else in single quotes, else in
/// double quotes with escapes.
pub(crate) fn scalar(text: &str) -> String {
    if is_safe_plain(text) {
        text.to_owned()
    } else if any_needs_escape(text, |_| false) {
        double_quoted(text)
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Spells a value in flow form, on one line. Plain numbers and words stay plain.
pub(crate) fn flow(node: &Node) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match &node.value {
        Value::Scalar { text, plain } => {
            let simple = !text.is_empty()
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
                && !text.starts_with('-');
            if *plain && simple { text.clone() } else { in_flow(text) }
        }
        Value::Sequence { items, .. } => format!("[{}]", list(items.iter().map(flow).collect())),
        Value::Mapping { entries, .. } => {
            let pairs = entries.iter().map(|(k, v)| format!("{}: {}", flow(k), flow(v)));
            format!("{{{}}}", list(pairs.collect()))
        }
    }
}

/// Spells a scalar inside a flow collection, where `:` and blanks have a meaning.
pub(crate) fn in_flow(text: &str) -> String {
    let spelled = scalar(text);
    if spelled == text && text.contains([':', ' ']) { format!("'{text}'") } else { spelled }
}

/// Spells a long text as the value of a key whose entry is indented by `indent` blanks: as a
/// literal block if that is exact, else in double quotes. The result starts after the colon and
/// ends with a newline.
pub(crate) fn long_text(text: &str, indent: usize) -> String {
    if !is_exact_block(text) {
        return format!(" {}\n", double_quoted(text));
    }
    let mut out = String::with_capacity(text.len() + 64);
    out.push_str(" |\n");
    for line in text.split_inclusive('\n') {
        if line != "\n" {
            out.extend(std::iter::repeat_n(' ', indent + 2));
        }
        out.push_str(line);
    }
    out
}

/// Returns true if a literal block with clip chomping yields exactly this text in every reader.
pub(crate) fn is_exact_block(text: &str) -> bool {
    let starts_well = !text.starts_with([' ', '\t', '\n']);
    let ends_well = text.ends_with('\n') && !text.ends_with("\n\n");
    starts_well
        && ends_well
        && !text.as_bytes().windows(2).any(|pair| matches!(pair, b" \n" | b"\t\n"))
        && !any_needs_escape(text, |b| matches!(b, b'\t' | b'\n'))
}

/// Returns true if some character needs an escape; `allowed` exempts control characters. Diffs are
/// long and mostly ASCII, so bytes are checked before characters.
pub(super) fn any_needs_escape(text: &str, allowed: impl Fn(u8) -> bool) -> bool {
    let control = |b: u8| (b < 0x20 || b == 0x7f) && !allowed(b);
    if text.bytes().fold(false, |found, b| found | control(b)) {
        return true;
    }
    !text.is_ascii() && text.chars().any(|c| !c.is_ascii() && needs_escape(c))
}

/// Returns true if a text starts with a letter and has only characters without meaning in YAML.
pub(crate) fn is_safe_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let keyword = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    let inner = |c: char| c.is_ascii_alphanumeric() || "_./@+- :".contains(c);
    first.is_ascii_alphabetic()
        && !keyword
        && text.chars().all(inner)
        && !text.contains(": ")
        && !text.ends_with([' ', ':'])
}

/// Returns true if some reader does not preserve a character in a single-quoted scalar.
fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
        || (u32::from(c) & 0xfffe) == 0xfffe
}

/// Spells a text between double quotes, with escapes where they are needed.
pub(crate) fn double_quoted(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() + 16);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => {
                let code = u32::from(c);
                let written = match code {
                    0..=0xff => write!(out, "\\x{code:02X}"),
                    0x100..=0xffff => write!(out, "\\u{code:04X}"),
                    _ => write!(out, "\\U{code:08X}"),
                };
                written.expect("writing into a string does not fail");
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::yaml::{Dialect, parse};
    use proptest::prelude::*;

    fn ours(yaml: &str) -> String {
        parse(yaml, Dialect::Format).unwrap().get("k").unwrap().text().unwrap().to_owned()
    }

    fn theirs(yaml: &str) -> String {
        let value: serde_yaml::Value = serde_yaml::from_str(yaml).unwrap();
        value["k"].as_str().unwrap_or_else(|| panic!("{yaml:?} is no string")).to_owned()
    }

    #[test]
    fn spellings_are_fixed() {
        let cases = [
            ("ana@example.com", "ana@example.com"),
            ("sha256:00ff", "sha256:00ff"),
            ("2026-11-21T20:06:06.689Z", "'2026-11-21T20:06:06.689Z'"),
            ("yes", "'yes'"),
            ("No", "'No'"),
            ("12", "'12'"),
            ("it's", "'it''s'"),
            ("a: b", "'a: b'"),
            ("", "''"),
            ("two\nlines", "\"two\\nlines\""),
            ("\u{2028}\u{feff}\u{85}", "\"\\u2028\\uFEFF\\x85\""),
            ("été", "'été'"),
        ];
        for (text, spelling) in cases {
            assert_eq!(scalar(text), spelling);
        }
    }

    #[test]
    fn a_block_is_used_only_where_it_is_exact() {
        assert_eq!(long_text("--- v1\n+x\n", 4), " |\n      --- v1\n      +x\n");
        assert_eq!(long_text("a \n", 4), " \"a \\n\"\n");
        assert_eq!(long_text("a", 4), " \"a\"\n");
        assert_eq!(long_text("a\r\n", 4), " \"a\\r\\n\"\n");
    }

    proptest! {
        #[test]
        fn emitted_yaml_is_read_back(text in "(?s)[ -~\t\n\r\u{85}\u{2028}\u{feff}é😀]{0,40}|.{0,20}") {
            let short = format!("k: {}\n", scalar(&text));
            prop_assert_eq!(&ours(&short), &text);
            prop_assert_eq!(&theirs(&short), &text);
            let long = format!("k:{}", long_text(&text, 0));
            prop_assert_eq!(&ours(&long), &text);
            prop_assert_eq!(&theirs(&long), &text);
        }
    }
}
