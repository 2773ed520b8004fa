//! Source nodes: documents that describe how an agent fetches live data (paper, section 10;
//! `spec/source.md`). A vault describes the calls and never makes them.
//!
//! `call` reads the calls of a published source, `order` sorts sources, and `check` reports their
//! problems. `received` reads a result, and `claim` compares the claims of a caller with the
//! source. `fresh` decides if a result may be used again, and `fetch` writes the message to a
//! program of the user.

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
