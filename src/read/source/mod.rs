//! Source nodes: documents that say how an agent fetches live data (paper, section 10;
//! `spec/source.md`). A vault describes the calls and never makes them.
//!
//! `call` is what a published source says is to be called, `order` in which
//! sequence, `check` what is wrong with it, `received` what came back, and `claim` what a caller
//! states of it, compared with the source. `fresh` says whether a result may be used again, and
//! `fetch` what a program of the user is told.

pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod claim;
pub(crate) mod fetch;
pub(crate) mod fresh;
pub(crate) mod order;
pub(crate) mod received;

pub(crate) use call::SourceCall;
pub(crate) use claim::{Claim, ClaimError};
pub(crate) use fresh::{Freshness, RecordedResult};
pub(crate) use order::{HydrationPlan, Lack, MissingDependency, PlannedSource};
pub(crate) use received::{ReceiveError, Received};
