//! Every vector of `spec/vectors`, run through the public face of the library.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail, and writes what a vault must not hold"
)]

mod audit;
mod blame;
mod bundle;
mod checkpoint;
mod context;
mod document;
mod errors;
mod fuzzed;
mod history;
mod interop;
mod layers;
mod links;
mod merge;
mod obsidian;
mod pack;
mod publish;
mod review;
mod rules;
mod sections;
mod selector;
mod staging;
mod stewards;
mod uri;
mod vault;
mod vectors;
mod verify;
mod words;
mod worked;
mod yaml;
