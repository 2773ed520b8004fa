//! The selector grammar: which documents are meant, as set algebra over tags, types, sources
//! and URIs (paper, section 5; `spec/selector.md`).
//!
//! [`parse()`] turns a text into a [`Selector`] and never touches the disk; [`eval()`] computes its
//! set over a [`Universe`], which alone knows the documents. The same selector over the same
//! universe gives the same set. What a pack, a section or a search stands for is not known here:
//! [`Term`]s name them, and [`crate::read::snapshot::plan`] puts expressions of [`Atom`]s in their place.

pub mod ast;
pub mod error;
pub mod eval;
pub mod excerpt;
pub mod matches;
pub mod parse;

pub use ast::{Atom, Expr, Node, Selector, StatusFilter, Term};
pub use error::{ErrorKind, ParseError};
pub use eval::{Universe, eval};
pub use parse::{MAX_NESTING, MAX_SELECTOR_BYTES, parse, parse_in, parse_with_staged};
