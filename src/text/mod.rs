//! Documents, URIs, selectors and packs: pure functions of bytes.

pub mod document;
pub mod pack;
pub mod selector;
pub mod uri;
