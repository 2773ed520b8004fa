//! One document, and what a text may ask for: selectors, packs and URIs.

pub mod document;
pub mod pack;
pub mod selector;
pub mod uri;
