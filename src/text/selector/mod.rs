//! The selector grammar: set algebra over tags, types, sources and URIs (paper, section
//! 5; `spec/selector.md`).
//!
//! [`parse()`] turns a text into a [`Selector`] without disk access; [`eval()`] computes its set
//! over a [`Universe`], which has the documents. One selector over one universe always yields the
//! same set. The content of packs, sections and searches is not known here: [`Term`]s name them,
//! and [`crate::read::snapshot::plan`] replaces them with expressions of [`Atom`]s.

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
