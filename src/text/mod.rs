//! One document, and what may be asked for: URIs, selectors and packs. Pure functions of bytes.

pub mod document;
pub mod pack;
pub mod selector;
pub mod uri;
