//! The write transaction (`spec/transactions.md`): clear away what an interrupted writer left,
//! write the versions of an event, commit by the checkpoint's line, bring the live files up to
//! date.
//!
//! A writer commits by the checkpoint's line in the log. One that is interrupted before it leaves
//! bytes that no checkpoint seals, which no reader serves: `uncommitted` finds them, `keep` moves
//! them out of the way and never drops them. One that is interrupted after it leaves live files
//! behind: `behind` brings them up to date. `hint` names the places to look at; nothing in the
//! vault is trusted about what happened there.

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
