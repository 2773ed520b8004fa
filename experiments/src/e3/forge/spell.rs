//! The one spelling of a value (YAML-11 to YAML-16).

/// Returns the spelling of a short text.
pub(in crate::e3) fn scalar(text: &str) -> String {
    let words = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_./@+-: ".contains(c))
        && !text.contains(": ")
        && !text.ends_with([' ', ':'])
        && !words.contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        text.to_owned()
    } else if text.chars().any(is_escaped) {
        escaped(text)
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Returns the spelling of a diff, after its key, with its line end; the lines of a block begin
/// with six blanks.
pub(in crate::e3) fn long(text: &str) -> String {
    let is_exact = text.ends_with('\n')
        && !text.ends_with("\n\n")
        && !text.starts_with([' ', '\t', '\n'])
        && !text.lines().any(|line| line.ends_with([' ', '\t']))
        && !text.chars().any(|c| !"\n\t".contains(c) && is_escaped(c));
    if !is_exact {
        return format!(" {}\n", escaped(text));
    }
    let mut out = " |\n".to_owned();
    for line in text.lines() {
        if !line.is_empty() {
            out += "      ";
        }
        out += line;
        out.push('\n');
    }
    out
}

fn is_escaped(c: char) -> bool {
    c.is_control() || "\u{2028}\u{2029}\u{feff}".contains(c) || u32::from(c) & 0xfffe == 0xfffe
}

fn escaped(text: &str) -> String {
    let mut out = "\"".to_owned();
    for c in text.chars() {
        match (c, u32::from(c)) {
            ('"' | '\\', _) => out.extend(['\\', c]),
            ('\n', _) => out += "\\n",
            ('\r', _) => out += "\\r",
            ('\t', _) => out += "\\t",
            (c, n) if !is_escaped(c) => out.push(char::from_u32(n).unwrap_or(c)),
            (_, n @ ..=0xff) => out += &format!("\\x{n:02X}"),
            (_, n @ ..=0xffff) => out += &format!("\\u{n:04X}"),
            (_, n) => out += &format!("\\U{n:08X}"),
        }
    }
    out.push('"');
    out
}
