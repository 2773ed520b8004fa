//! Reads the spelling that `emit` writes, and refuses any other. Each function returns the text
//! whose only spelling is its argument.

use std::borrow::Cow;

use super::emit;

/// Returns the text that [`emit::scalar`] spells this way.
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
    // Quotes are used only if the text needs them.
    (emit::scalar(&text) == spelled).then_some(text)
}

/// Returns the text that [`emit::long_text`] spells this way in double quotes, on one line.
pub(crate) fn long_text(spelled: &str) -> Option<String> {
    double_quoted(spelled).filter(|text| !emit::is_exact_block(text))
}

/// Returns the text that [`emit::double_quoted`] spells this way: only characters that need an
/// escape have one, and each escape is the one that `emit` writes.
fn double_quoted(spelled: &str) -> Option<String> {
    let mut rest = spelled.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = rest.bytes().position(|b| b == b'\\') {
        let (before, escape) = rest.split_at(at);
        push(&mut text, before)?;
        let (c, length) = escaped(escape.as_bytes())?;
        // A short escape is the only one of its character; a long one may have another form.
        if length > 2
            && emit::double_quoted(c.encode_utf8(&mut [0; 4]))
                != format!("\"{}\"", escape.get(..length)?)
        {
            return None;
        }
        text.push(c);
        rest = escape.get(length..)?;
    }
    push(&mut text, rest)?;
    Some(text)
}

/// Appends characters that are not escaped; `None` if one of them needs an escape.
fn push(text: &mut String, plain: &str) -> Option<()> {
    let stands = !plain.bytes().fold(false, |found, b| found | (b == b'"'))
        && !emit::any_needs_escape(plain, |_| false);
    stands.then(|| text.push_str(plain))
}

/// Returns the character of an escape, and the length of the escape.
fn escaped(escape: &[u8]) -> Option<(char, usize)> {
    let digits = match escape.get(1)? {
        b'n' => return Some(('\n', 2)),
        b'r' => return Some(('\r', 2)),
        b't' => return Some(('\t', 2)),
        b'"' => return Some(('"', 2)),
        b'\\' => return Some(('\\', 2)),
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        _ => return None,
    };
    let code = std::str::from_utf8(escape.get(2..2 + digits)?).ok()?;
    Some((char::from_u32(u32::from_str_radix(code, 16).ok()?)?, 2 + digits))
}
