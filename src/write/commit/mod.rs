//! The write transaction (`spec/transactions.md`): clean up after an interrupted writer, write the
//! versions of an event, commit by the checkpoint's line, bring the live files up to date.
//!
//! A writer commits by the checkpoint's line in the log. A writer that is interrupted before the
//! commit leaves bytes that no checkpoint seals and no reader serves: `uncommitted` finds them, and
//! `keep` moves them out of the way without deleting them. A writer that is interrupted after the
//! commit leaves live files behind: `behind` brings them up to date. `hint` names the places to
//! look at; it is not trusted for anything else.

mod behind;
mod beyond;
pub mod expect;
pub(crate) mod hint;
mod item;
pub(crate) mod keep;
pub(crate) mod point;
mod settle;
pub(crate) mod stale;
pub(crate) mod uncommitted;

pub use item::{Change, Item, Live, Step};
pub use point::{AfterCommit, Committed, StepFailure};
pub use settle::{CleanupPlan, Recovered, Scope, SettleError, carry_out, plan};
pub use uncommitted::{Uncleared, UncommittedFile, UncommittedKind};

pub(crate) use beyond::{Beyond, is_whole, standing};
pub(crate) use item::Extension;
pub(crate) use settle::{complete, interrupted_lives, settled_log};
pub(crate) use uncommitted::{are_of, events_from, sealed_form};
