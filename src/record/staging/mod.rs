//! Staged entries: results of sources, kept as evidence until a steward decides about them (paper,
//! section 10.4; `spec/staging.md`).
//!
//! A result is an [`Entry`] in a hash chain, one for each source and writer, and a payload that
//! equal entries share. A later [`Act`] on an entry is a line in the chain of the writer who
//! did it.
//!
//! - Chains: `line` is a line and its spelling, `chain` reads and checks chains, and `append` adds
//!   lines. `tails` records the last lines outside of the vault, `ends` are the ends for a
//!   checkpoint to bind, and `damage` finds the sources with a damaged chain.
//! - Entries: `record` stages a result, `collected` computes the state of each entry, `name` parses
//!   and prints names, and `policy` decides which results are staged.
//! - Payloads: `payload` is the file of a payload, `canonical` hashes its content, and `difference`
//!   compares two contents.
//! - `raw` returns lines byte for byte, and `unfinished` marks interrupted commands.

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
