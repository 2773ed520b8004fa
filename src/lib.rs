//! A governed knowledge vault in a folder of Markdown.
pub mod chain;
pub mod checkpoint;
pub mod document;
mod suggest;
pub mod uri;
pub mod vault;
pub mod yaml;
