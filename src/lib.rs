//! A governed knowledge vault in a folder of Markdown.
//!
//! Agents act on documents. A vault says which version an agent read, who published it, whether it
//! was current, that the record was not altered since, and gives exactly that context back later.
//! All state is plain files; the rules are in `spec/`, one statement each.
//!
//! Data flows one way, and each room has one job:
//!
//! ```text
//!        cli                                words in, words out; no rule lives here
//!         |
//!   publish resolve verify recover convert status derived   one verb of the domain each
//!         |     |
//!   index selector pack uri graph search   what may be asked, and how it is found
//!         |
//!   txn  checkpoint  chain  document  head  what is true, what was, and how it is written
//!         |
//!       vault  yaml                         where bytes lie, and how they are read and written
//!         |
//!       model                               ids, digests, timestamps, principals, names of files
//! ```
//!
//! The truth is the checkpoint log and the histories. Live files are working copies: compared with
//! what is published, never served. [`publish`] is the only write path, [`resolve::Snapshot`] the
//! only place that serves a text; [`search`] finds what it may serve. [`verify::verify`] recomputes
//! everything and trusts nothing.

pub mod chain;
pub mod checkpoint;
pub mod cli;
pub mod codes;
pub mod convert;
pub mod derived;
pub mod document;
pub mod govern;
pub mod graph;

pub mod index;
pub mod live;
pub mod model;
pub mod pack;

pub mod recover;
pub mod report;
pub mod resolve;
pub mod search;
pub mod selector;
mod starter;
pub mod status;
mod torn;
pub mod trust;
pub mod txn;
pub mod uri;
pub mod vault;
pub mod verify;
mod words;
pub mod workspace;
pub mod yaml;
