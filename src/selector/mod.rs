//! The selector grammar: which documents are meant, as set algebra over tags, types, sources
//! and URIs (paper, section 5; `spec/selector.md`).
//!
//! [`parse()`] turns a text into a [`Selector`] and never touches the disk; [`eval()`] computes its
//! set over a [`Universe`], which alone knows the documents. The same selector over the same
//! universe gives the same set. Packs, sections and search are named by typed errors here, since
//! they are not sets that this algebra can compute.

pub mod ast;
pub mod error;
pub mod eval;
pub mod parse;

pub use ast::{Atom, Expr, Node, Selector, StatusFilter};
pub use error::{ErrorKind, ParseError};
pub use eval::{Universe, eval};
pub use parse::{MAX_NESTING, MAX_SELECTOR_BYTES, parse};
