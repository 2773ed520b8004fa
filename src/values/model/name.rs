//! Names in selectors: of servers, packs and types.

use super::visible::steers;

/// Maximum number of bytes of a name.
pub const MAX_NAME_BYTES: usize = 200;

/// Returns true if a text can be a type, or the name of a server or pack, in a selector
/// (`spec/selector.md`, SEL-12).
pub fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.trim() == name && !name.contains(steers)
}
