//! Reads back what `emit` writes, and nothing else: each function gives the text of which its
//! argument is the one spelling.

use std::borrow::Cow;

use super::emit;

/// The text that [`emit::scalar`] spells so.
pub(crate) fn scalar(spelled: &str) -> Option<Cow<'_, str>> {
    if emit::is_safe_plain(spelled) {
        return Some(Cow::Borrowed(spelled));
    }
    let text = match spelled.strip_prefix('\'') {
        Some(quoted) => {
            let inner = quoted.strip_suffix('\'')?;
            match inner.contains('\'') {
                true => Cow::Owned(inner.replace("''", "'")),
                false => Cow::Borrowed(inner),
            }
        }
        None => Cow::Owned(double_quoted(spelled)?),
    };
    (emit::scalar(&text) == spelled).then_some(text)
}

/// The text that [`emit::long_text`] spells so in double quotes, on one line.
pub(crate) fn long_text(spelled: &str) -> Option<String> {
    let text = double_quoted(spelled)?;
    (!emit::is_exact_block(&text) && emit::double_quoted(&text) == spelled).then_some(text)
}

/// Undoes the escapes that a text in double quotes has; the caller compares the spelling.
fn double_quoted(spelled: &str) -> Option<String> {
    let mut rest = spelled.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let mut chars = after.chars();
        let code = |digits| {
            let (code, after) = (after.get(1..=digits)?, &after[1 + digits..]);
            Some((char::from_u32(u32::from_str_radix(code, 16).ok()?)?, after))
        };
        let (c, after) = match chars.next()? {
            'n' => ('\n', chars.as_str()),
            'r' => ('\r', chars.as_str()),
            't' => ('\t', chars.as_str()),
            'x' => code(2)?,
            'u' => code(4)?,
            'U' => code(8)?,
            c @ ('"' | '\\') => (c, chars.as_str()),
            _ => return None,
        };
        text.push(c);
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}
