//! What sources returned, kept as evidence until a steward decides about it (paper, section 10.4;
//! `spec/staging.md`).
//!
//! A result is an [`Entry`] of a hash chain, one for each source and writer, and a payload that
//! equal entries share. What is done to an entry later, an [`Act`], is a line of the chain of the
//! writer who did it. `line` is a line and its spelling, `canonical` the hash of a payload's content,
//! `payload` its file, `chain` how a chain is read and checked, `damage` of which sources one is
//! damaged, `append` how a line gets there, `tails` what is kept in mind of it outside the vault, and
//! `ends` what a checkpoint binds of it. `record` stages a result, `raw` hands lines on, `collected`
//! says what became of each entry, `difference` what changed from one JSON content to the next, `name`
//! how one is named, `policy` what is staged at all, and `unfinished` marks that a command was
//! interrupted.

mod append;
mod canonical;
mod chain;
mod collected;
mod damage;
mod difference;
mod ends;
mod line;
mod name;
mod payload;
mod policy;
mod raw;
mod record;
mod tails;
mod unfinished;

pub use append::StagingError;
pub(crate) use append::{append, torn};
pub use canonical::Canonical;
pub(crate) use canonical::json;
pub use chain::{Chain, Chains, StrayFile};
pub(crate) use chain::{MAX_CHAIN, Owned, found as found_chains, go_on, path_of as chain_path};
pub use collected::{
    DisputedAct, Ended, EntryState, JudgedAct, Promotion, Staged, StagedEntry, Standing, VoidAct,
};
pub(crate) use damage::{SeenChain, damaged_sources, share_names};
pub use difference::{PartChange, changes};
pub(crate) use ends::unbound_ends;
pub use line::{Act, ActKind, Entry, EntryRef, LineKind, StagedLine};
pub use name::{StagedName, parse_name};
pub(crate) use payload::{
    FoundPayload, all as all_payloads, path_of as payload_path, read as read_payload,
    remove as remove_payloads, text as payload_text,
};
pub use policy::{days_kept, retention_until};
pub(crate) use raw::raw_lines;
pub use record::{Captured, Hydrated, stage};
pub use tails::forget;
pub(crate) use tails::{accept, given_up, lost, lost_sources};
pub(crate) use unfinished::{Acting, MOST_ACTS, Promoting, Unfinished};
