//! The binary from outside: output, exit codes, and what is in the vault afterwards.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a test may fail, and writes what a vault must not hold"
)]

mod harness;

mod acknowledged;
mod add;
mod adopted;
mod anchored;
mod answerable;
mod as_of;
mod audit;
mod blame;
mod budget;
mod cache;
mod changes;
mod checkout;
mod checkpoint;
mod choice;
mod concurrent;
mod converted;
mod delegated;
mod demo;
mod disk;
mod edges;
mod everyday;
mod evidence;
mod expected;
mod explain;
mod exports;
mod failures;
mod fetched;
mod followed;
mod foreign;
mod forged;
mod governance;
mod governed;
mod graph;
mod hostile;
mod hydration;
mod index;
mod init;
mod interleaved;
mod interop;
mod invisible;
mod json;
mod kept_in_vault;
mod library;
mod look;
mod lost_lines;
mod merged;
mod moved;
mod naming;
mod obsidian;
mod packs;
mod produced;
mod properties;
mod provenance;
mod prune;
mod publish;
mod questions;
mod readme;
mod readonly;
mod reads;
mod rebuild;
mod recovery;
mod reference;
mod replayed;
mod resolve;
mod respelled;
mod restore;
mod retire;
mod review;
mod review_faults;
mod review_model;
mod review_properties;
mod review_queue;
mod reviewed_fixture;
mod search;
mod sections;
mod shared;
mod source;
mod source_diff;
mod stage;
mod stage_cache;
mod stage_faults;
mod stage_properties;
mod staged;
mod staged_evidence;
mod status;
mod stewards;
mod submission;
mod tamper;
mod tampering;
mod trace;
mod unrecorded_head;
mod untouched;
mod validate;
mod vaults;
mod verify;
mod walkthrough;
mod withheld;
