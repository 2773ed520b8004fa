//! Tags, which selectors name with a `#`.

/// Whether a tag (without `#`) is inside the grammar.
pub fn is_tag(tag: &str) -> bool {
    tag.starts_with(|c: char| c.is_ascii_alphabetic())
        && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
