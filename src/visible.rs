//! Text from a vault made visible: what would steer a terminal, or turn the direction of a line, is
//! spelled out.

use std::borrow::Cow;

/// A text from the vault, fit to stand in a line.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, steers)
}

/// Whether a character steers a terminal or the direction of a line.
pub(crate) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{61c}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a character makes a name look like another one, or like a longer one: no name of ours has
/// it. Joiners and direction marks, which some scripts need, are not among them.
pub(crate) fn hides(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with every harmful character spelled out.
pub(crate) fn escaped(text: &str, harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' if harmful(c) => out.push_str("\\n"),
            '\t' if harmful(c) => out.push_str("\\t"),
            '\r' if harmful(c) => out.push_str("\\r"),
            c if harmful(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}
